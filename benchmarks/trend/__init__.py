"""What asv measures, commit by commit."""

import sys
from pathlib import Path

# asv knows this folder alone; what rows are drawn with is beside it.
sys.path.insert(0, str(Path(__file__).parents[1]))
