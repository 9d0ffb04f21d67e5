"""Files and tables in, batches of rows out: texts or sparse features, with labels and weights.

Names are imported when they are first used, so that the names of formats cost no import of Arrow.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sureline.data.bad_rows import BadRow, BadRows
    from sureline.data.batch import Batch, NamedFeatures
    from sureline.data.conversion import as_labels, as_text
    from sureline.data.datasets import sms_spam
    from sureline.data.formats import FORMATS
    from sureline.data.read_options import LABEL_TYPES
    from sureline.data.reader import Reader
    from sureline.data.shuffle import LongestRun, shuffle_rows

_MODULES = {
    "FORMATS": "formats",
    "LABEL_TYPES": "read_options",
    "BadRow": "bad_rows",
    "BadRows": "bad_rows",
    "Batch": "batch",
    "LongestRun": "shuffle",
    "NamedFeatures": "batch",
    "Reader": "reader",
    "as_labels": "conversion",
    "as_text": "conversion",
    "shuffle_rows": "shuffle",
    "sms_spam": "datasets",
}

__all__ = [
    "FORMATS",
    "LABEL_TYPES",
    "BadRow",
    "BadRows",
    "Batch",
    "LongestRun",
    "NamedFeatures",
    "Reader",
    "as_labels",
    "as_text",
    "shuffle_rows",
    "sms_spam",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
