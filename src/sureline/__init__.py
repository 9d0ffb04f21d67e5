"""Confidence-weighted linear classification of text: one pass, and it knows how sure it is.

Names are imported when they are first used, so that importing sureline costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sureline.errors import DataError, InvalidParameter, ModelFileError, SurelineError
    from sureline.estimators import (
        AdaGradClassifier,
        AROWClassifier,
        BoxClassifier,
        CWClassifier,
        NHERDClassifier,
        PAClassifier,
        PerceptronClassifier,
        SCWClassifier,
        SOPClassifier,
        TextClassifier,
        TextFeatures,
        load,
        merge,
    )
    from sureline.options import Drift

__all__ = [
    "AROWClassifier",
    "AdaGradClassifier",
    "BoxClassifier",
    "CWClassifier",
    "DataError",
    "Drift",
    "InvalidParameter",
    "ModelFileError",
    "NHERDClassifier",
    "PAClassifier",
    "PerceptronClassifier",
    "SCWClassifier",
    "SOPClassifier",
    "SurelineError",
    "TextClassifier",
    "TextFeatures",
    "__version__",
    "load",
    "merge",
]

_ELSEWHERE = {
    "DataError": "errors",
    "Drift": "options",
    "InvalidParameter": "errors",
    "ModelFileError": "errors",
    "SurelineError": "errors",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("sureline")
    if name in _ELSEWHERE:
        return getattr(import_module(f"sureline.{_ELSEWHERE[name]}"), name)
    if name.startswith("_"):
        raise AttributeError(f"module 'sureline' has no attribute {name!r}")
    try:
        return getattr(import_module("sureline.estimators"), name)
    except AttributeError:
        raise AttributeError(f"module 'sureline' has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return __all__
