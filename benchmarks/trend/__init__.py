"""What asv measures, commit by commit."""

import sys
from pathlib import Path

# asv knows this folder only; the code that draws rows is next to it.
sys.path.insert(0, str(Path(__file__).parents[1]))
