"""`python -m plefka`: the command, where its script is not on the path."""

import sys

from plefka.cli import main

sys.exit(main())
