"""Models on disk, with the notes of a command beside them, and what a model is in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sureline.cli.controls import show_label
from sureline.cli.groups import Given
from sureline.cli.options import FileOptions
from sureline.data import as_text
from sureline.data.table import TEXT
from sureline.errors import InvalidParameter, ModelFileError
from sureline.estimators import OnlineClassifier, TextClassifier
from sureline.estimators.file import restore
from sureline.estimators.validation import settings_of
from sureline.model.drift import Change
from sureline.model.file import read, verify

SHOWN = 8  # so many classes are named
MOVED = 3  # so many features that moved are named
WENT_ON = {
    "new": "a new model is right more often and goes on",
    "earlier": "a model of an earlier time is right more often and goes on",
    "swapped": "the model is right more often with its two classes swapped and so goes on",
    "same": "no other model was right more often, so it goes on",
}


def open_model(path: str, memory: Given, verified: bool = False) -> tuple[Any, dict[str, Any]]:
    """The model in a file, and the notes beside it; none are an empty dictionary.

    `memory` has the most memory that it may take, now and as it learns. A file from which another
    is made is `verified` by its checksum, since the new one will have a checksum that is right.
    """
    opened = verify(path) if verified else read(path)
    notes = opened.metadata.get("notes")
    limit_gb = memory.values["memory_limit_gb"]
    model = restore(path, opened, limit_gb)
    if not hasattr(model, "predict"):
        raise ModelFileError(
            f"{path} holds a {type(model).__name__}, which classifies nothing; give a model that "
            "train has written"
        )
    online = getattr(model, "estimator_", model)
    if isinstance(online, OnlineClassifier):
        online.memory_limit_gb = model.model_.memory_limit_gb = limit_gb
    return model, notes if isinstance(notes, dict) else {}


def columns_of(notes: dict[str, Any]) -> dict[str, Any]:
    """The columns that a model was trained on, by what they hold; those that make sense."""
    stored = notes.get("columns")
    if not isinstance(stored, dict):
        return {}
    kinds = {"text": str, "label": str, "header": bool, "label_separator": str}
    return {
        name: stored[name]
        for name, kind in kinds.items()
        if isinstance(stored.get(name), kind) and stored[name] != ""
    }


def is_multilabel(loaded: Any) -> bool:
    """Whether a model predicts any number of labels per row."""
    learner = getattr(getattr(loaded, "model_", None), "learner", None)
    return bool(getattr(learner, "multilabel", False))


def reader_arguments(reading: FileOptions, notes: dict[str, Any], model: Any) -> dict[str, Any]:
    """How files are read for a model, which knows the columns that it was trained on."""
    given = reading.arguments(columns_of(notes))
    columns = getattr(model, "columns_", None)
    if columns is None:
        if given.get("columns") is not None:
            raise InvalidParameter(
                "the model reads texts alone; leave out what names several columns"
            )
        return given
    named = given.get("columns") or ({} if given.get("text") is None else {given["text"]: TEXT})
    if named and dict(named) != columns:
        words = ", ".join(f"{name} ({kind})" for name, kind in columns.items())
        raise InvalidParameter(
            f"the model reads the columns {words}, which are found by name; leave out --text"
        )
    if list(columns.values()) == [TEXT]:
        return {**given, "text": next(iter(columns))}
    return {**given, "text": None, "columns": columns}


def parse_rows(model: Any, strings: Sequence[str], what: str) -> Any:
    """Texts given on the command line; of several columns, JSON objects."""
    columns = getattr(model, "columns_", None)
    if columns is None or list(columns.values()) == [TEXT]:
        return as_text(list(strings))
    rows = list[Any]()
    for each in strings:
        try:
            rows.append(json.loads(each))
        except ValueError:
            rows.append(None)
        if not isinstance(rows[-1], dict):
            example = json.dumps(dict.fromkeys(columns, "..."))
            raise InvalidParameter(
                f"the model reads several columns, so {what} is a JSON object such as {example}, "
                f"got {each[:40]!r}"
            )
    return model.as_input(rows)


def describe_model(model: Any) -> dict[str, Any]:
    """The kind of a model, its rule and the rule's parameters."""
    rule, settings = settings_of(getattr(model, "estimator_", model))
    return {
        "kind": "texts" if isinstance(model, TextClassifier) else "numbers",
        "rule": rule.name,
        "parameters": settings,
    }


def enumerate_classes(classes: Sequence[Any]) -> str:
    """How many classes there are, and the first few of them."""
    words = [show_label(each) for each in classes[:SHOWN]]
    more = len(classes) - len(words)
    return f"{len(classes)}: {', '.join(words)}" + (f" and {more} more" if more > 0 else "")


def describe_change(change: Change) -> str:
    """What has changed in a stream, in a sentence."""
    words = [describe_moved(*each) for each in change.moved[:MOVED]]
    more = len(change.moved) - len(words)
    words += [f"{more} more"] if more else []
    return (
        f"change at example {change.at:,} (by chance once in {show_rarity(change.rarity)} examples "
        f"at most): {WENT_ON[change.model]}" + (f"; moved: {', '.join(words)}" if words else "")
    )


def show_rarity(examples: float) -> str:
    """Once in how many examples, in words."""
    return f"{round(examples):,}" if examples < 1e9 else "a billion or more"


def describe_moved(feature: str, before: Any, after: Any) -> str:
    """Which class a feature indicated before a change, and which one it indicates now."""
    return f"{feature!r} from {show_label(before)} to {show_label(after)}"
