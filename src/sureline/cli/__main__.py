"""``python -m sureline.cli`` is the command ``sureline``."""

import sys

from sureline.cli import main

sys.exit(main())
