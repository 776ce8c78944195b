"""Drawings of results: HTML for notebooks and the page, marks for terminals."""
