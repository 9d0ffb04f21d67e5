"""Training, prediction and learning from streams on Spark, as `pyspark.ml` stages.

It needs pyspark 4 (``pip install 'sureline[spark]'``) and Java 17 or newer, and sureline must be
installed on every machine of the cluster. Names are imported when they are first used, so that
workers import only what they need, after it is settled where they keep compiled code.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if find_spec("pyspark") is None:
    raise ImportError(
        "sureline.spark needs pyspark, which is not installed: pip install 'sureline[spark]'"
    )

from pyspark import TaskContext

from sureline.spark.executor import share_compiled_code

if TaskContext.get() is not None:  # this process is a worker
    share_compiled_code()

if TYPE_CHECKING:
    from sureline.spark.estimator import SurelineClassifier
    from sureline.spark.model import SurelineModel

__all__ = ["SurelineClassifier", "SurelineModel"]

_MODULES = {"SurelineClassifier": "estimator", "SurelineModel": "model"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'sureline.spark' has no attribute {name!r}")
    return getattr(import_module(f"sureline.spark.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
