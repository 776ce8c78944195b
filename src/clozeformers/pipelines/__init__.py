"""Pipelines: from text to text."""
