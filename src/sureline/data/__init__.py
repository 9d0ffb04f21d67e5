"""Files and tables in, batches of rows out: texts or sparse features, with labels and weights."""

from sureline.data.bad_rows import BadRow, BadRows
from sureline.data.batch import Batch, Given
from sureline.data.embedded import sms_spam
from sureline.data.formats.detect import FORMATS
from sureline.data.from_python import as_labels, as_text
from sureline.data.labels import LABEL_TYPES
from sureline.data.reader import Reader
from sureline.data.shuffle import LongestRun, mix

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
