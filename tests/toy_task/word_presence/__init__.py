"""Word presence, a toy task: a word reads a text, and the model says whether the text holds it."""
