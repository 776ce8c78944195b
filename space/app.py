"""The page of clozeformers as a Hugging Face Space."""

import sys

from clozeformers.cli import main

sys.exit(main(["page"]))
