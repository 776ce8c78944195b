"""`python -m clozeformers.cli`."""

import sys

from . import main

sys.exit(main())
