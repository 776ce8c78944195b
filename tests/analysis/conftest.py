"""The questions that the analysis is tried on."""

from ..analysis_questions import files

__all__ = ["files"]
