"""Everything that sureline uses of pyspark beyond its documented interface.

Tried with pyspark 4.0.0 and 4.3.0. Where another release differs, this is the one file to look at.
What pyspark's classes offer to their subclasses, such as ``_set`` and ``_setDefault``, those call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.ml.param import Param, Params

if TYPE_CHECKING:
    from pyspark import SparkContext


class Hadoop(NamedTuple):
    """Hadoop's file systems: the class of paths and the configuration."""

    path: Any
    configuration: Any


def hadoop(context: SparkContext) -> Hadoop:
    """Access to the file systems that Spark knows."""
    jvm: Any = context._jvm
    return Hadoop(jvm.org.apache.hadoop.fs.Path, context._jsc.hadoopConfiguration())


def declare_param(name: str, doc: str, converter: Any) -> Any:
    """A parameter of a class of stages; `converter` checks and converts its values."""
    return Param(Params._dummy(), name, doc, typeConverter=converter)


def set_uid(stage: Params, uid: str) -> None:
    """Give a stage the identifier that it was saved with."""
    stage._resetUid(uid)


def is_classic(frame: Any) -> bool:
    """Whether a DataFrame belongs to a classic session, not to one of Spark Connect."""
    return hasattr(frame, "_jdf")


# The steps of a plan that keep the order of the rows that they are given.
ORDERED = {"Project", "Filter", "SubqueryAlias", "LocalLimit"}


def is_order_determined(frame: Any) -> bool:
    """Whether a task that runs again reads the same rows in the same order, as far as plans show.

    Rows from a shuffle come in the order in which other machines send them, unless they are sorted
    afterwards.
    """
    execution = frame._jdf.queryExecution()
    step = execution.optimizedPlan()
    while step.nodeName() in ORDERED:
        step = step.children().head()
    if step.nodeName() == "Sort":
        return True
    return not re.search(r"(?<!Broadcast)Exchange", execution.executedPlan().toString())
