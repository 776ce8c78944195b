"""The training scripts, one a task."""
