"""Readers of negation corpora: CD-SCO, BioScope, SFU Review and JSON lines."""
