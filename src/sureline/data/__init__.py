"""Files and tables in, batches of rows out: texts or sparse features, with labels and weights."""

from sureline.data.badrows import BadRow, BadRows
from sureline.data.batch import Batch, Given
from sureline.data.embedded import sms_spam
from sureline.data.formats import FORMATS
from sureline.data.labels import LABEL_TYPES
from sureline.data.mixing import LongestRun, mix
from sureline.data.python_input import as_labels, as_text
from sureline.data.reader import Reader

__all__ = [
    "FORMATS",
    "LABEL_TYPES",
    "BadRow",
    "BadRows",
    "Batch",
    "Given",
    "LongestRun",
    "Reader",
    "as_labels",
    "as_text",
    "mix",
    "sms_spam",
]
