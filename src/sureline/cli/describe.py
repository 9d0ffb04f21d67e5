"""What a model is, in words: shared by the commands that show one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SHOWN = 8


def describe_model(model: Any) -> dict[str, Any]:
    """The kind of a model, its rule and the rule's parameters."""
    from sureline.estimators import TextClassifier
    from sureline.estimators.validation import settings_of

    rule, settings = settings_of(getattr(model, "estimator_", model))
    return {
        "kind": "texts" if isinstance(model, TextClassifier) else "numbers",
        "rule": rule.name,
        "parameters": settings,
    }


def enumerate_classes(classes: Sequence[Any]) -> str:
    """How many classes there are, and the first few of them."""
    words = [str(each) for each in classes[:SHOWN]]
    more = len(classes) - len(words)
    return f"{len(classes)}: {', '.join(words)}" + (f" and {more} more" if more > 0 else "")
