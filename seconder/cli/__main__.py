"""`python -m seconder.cli` is `seconder`."""

import sys

from seconder.cli import main

sys.exit(main())
