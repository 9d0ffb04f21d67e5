"""Models on disk, with the notes of a command beside them: columns, and the position of a run."""

from __future__ import annotations

from typing import Any

from sureline.errors import ModelFileError
from sureline.estimators.file import restore
from sureline.model.file import read


def open_model(path: str) -> tuple[Any, dict[str, Any]]:
    """The model in a file, and the notes beside it; none are an empty dictionary."""
    opened = read(path)
    notes = opened.metadata.get("notes")
    model = restore(path, opened)
    if not hasattr(model, "predict"):
        raise ModelFileError(
            f"{path} holds a {type(model).__name__}, which classifies nothing; give a model that "
            "train has written"
        )
    return model, notes if isinstance(notes, dict) else {}


def columns_of(notes: dict[str, Any]) -> dict[str, Any]:
    """The columns that a model was trained on, by what they hold; those that make sense."""
    stored = notes.get("columns")
    if not isinstance(stored, dict):
        return {}
    kinds = {"text": str, "label": str, "header": bool}
    return {
        name: stored[name]
        for name, kind in kinds.items()
        if isinstance(stored.get(name), kind) and stored[name] != ""
    }
