"""A model from its journal: the last base or snapshot, and the examples that came after it."""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sureline.data.table import TEXT, as_table, check_present
from sureline.errors import DataError, InvalidParameter, ModelFileError, SurelineError
from sureline.estimators import TextClassifier, load
from sureline.estimators.file import save
from sureline.model.arrivals import check_characters
from sureline.serve.entries import Entry, Example, Snapshot
from sureline.serve.journal import Journal

LOGGER = logging.getLogger("sureline.serve")
JOURNAL = "journal.db"


def journal_folder(path: Path) -> Path:
    """The folder with the journal of a model file: ``mail.journal`` beside ``mail.sureline``."""
    return path.with_suffix(".journal")


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_texts(path: Path, limit_gb: float) -> TextClassifier:
    """The classifier of texts in a file, if it can be served."""
    model = load(path, memory_limit_gb=limit_gb)
    if not isinstance(model, TextClassifier):
        raise ModelFileError(
            f"{path} holds a {type(model).__name__}; texts are served by a TextClassifier"
        )
    label_kind(model)
    return model


def label_kind(model: TextClassifier) -> type[str] | type[int]:
    """Whether the labels of a model are text or whole numbers."""
    kind = model.classes_.dtype.kind
    if kind in "iu":
        return int
    if kind == "U" or all(isinstance(label, str) for label in model.classes_.tolist()):
        return str
    raise ModelFileError(
        "labels that are served are text or whole numbers, and the model's are "
        f"{', '.join(map(repr, model.classes_.tolist()[:4]))}"
    )


def has_label_sets(model: TextClassifier) -> bool:
    """Whether a model learns any number of labels per text."""
    return model.model_.learner.multilabel


def columns_of(model: TextClassifier) -> dict[str, str] | None:
    """The kinds of a model's columns by name, if it classifies rows; None if texts."""
    columns = getattr(model, "columns_", None)
    return None if columns is None or list(columns.values()) == [TEXT] else dict(columns)


def as_learned(inputs: list[Any], model: TextClassifier) -> list[Any]:
    """Texts or rows as the model takes them: a model of one named column of texts takes rows."""
    columns = getattr(model, "columns_", None)
    if columns is None or columns_of(model) is not None:
        return inputs
    return [dict.fromkeys(columns, each) for each in inputs]


def check_input(given: Any, model: TextClassifier) -> None:
    """Refuse a text where rows are classified, a row where texts are, and rows that are wrong."""
    columns = columns_of(model)
    if isinstance(given, str) != (columns is None):
        wanted = "texts" if columns is None else f"rows of {', '.join(map(repr, columns))}"
        raise DataError(f"this model classifies {wanted}")
    if columns is not None:
        check_present(list(given), columns)
        as_table([given], columns)


def stored_input(given: Any) -> str:
    """A text or a row as the journal has it."""
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def check_label(label: Any, model: TextClassifier) -> None:
    """Refuse a label of another kind than the model's."""
    several = has_label_sets(model)
    if isinstance(label, list) != several:
        wanted = "lists of labels" if several else "single labels"
        raise DataError(f"this model learns {wanted}, got {label!r}")
    kind = label_kind(model)
    for each in label if several else [label]:
        if type(each) is not kind:
            wanted = "text" if kind is str else "whole numbers"
            raise DataError(f"the labels of this model are {wanted}, got {each!r}")
        check_characters([each], "learn")


def inputs_of(examples: Sequence[Example | Entry], model: TextClassifier) -> list[Any]:
    """The texts or the rows of examples."""
    texts = [each.text or "" for each in examples]
    rows = columns_of(model) is not None
    return as_learned([json.loads(each) for each in texts] if rows else texts, model)


def learn(model: TextClassifier, examples: list[Example] | list[Entry]) -> None:
    """Let a model learn examples, in order; how they are split makes no difference."""
    labels = [each.label for each in examples]
    if has_label_sets(model):
        model.partial_fit(inputs_of(examples, model), [json.loads(str(each)) for each in labels])
    else:
        model.partial_fit(inputs_of(examples, model), np.array(labels))


class Store:
    """The folder of a journal: the database, bases and snapshots.

    Parameters
    ----------
    folder : path
        The folder.
    limit_gb : float
        The most memory that a model may take.
    create : bool, default=False
        Whether to make it if it is not there.
    """

    def __init__(self, folder: Path, limit_gb: float, create: bool = False) -> None:
        if create:
            folder.mkdir(exist_ok=True)
        self.folder, self.limit_gb = folder, limit_gb
        self.journal = Journal(folder / JOURNAL, create)

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def add(self, model: TextClassifier, number: int, base: bool = False) -> Snapshot:
        """Write a model to a file, as of a number of the journal."""
        kind = "base" if base else "snapshot"
        name = f"{kind}-{number:012}-{secrets.token_hex(4)}.sureline"
        save(model, self.folder / name)
        snapshot = Snapshot(number, base, name, sha256_of(self.folder / name))
        self.journal.add_snapshot(snapshot)
        return snapshot

    def remove_old(self, keep: int) -> None:
        """Keep the newest snapshots, and remove files that are none."""
        for old in [each for each in self.journal.snapshots() if not each.base][keep:]:
            self.journal.drop_snapshot(old)
        named = self.journal.files()
        for path in self.folder.glob("*.sureline"):
            if path.name not in named:
                path.unlink(missing_ok=True)

    def model(self, until: int | None = None) -> tuple[TextClassifier, int]:
        """The model as of a number, or now, and that number."""
        journal = self.journal
        last = journal.last if until is None else until
        if last < journal.removed:
            raise InvalidParameter(
                f"examples up to {journal.removed} were removed from the journal; it cannot give "
                f"the model as of {last}"
            )
        model, number = self._start(last)
        for entries in journal.entries(number, last):
            number = self._learn(model, entries)
            if number < entries[-1].number:  # one was refused, and the model is no longer right
                return self.model(until)
        return model, last

    def _start(self, last: int) -> tuple[TextClassifier, int]:
        """The newest base or snapshot up to a number that can be read."""
        problem: Exception = ModelFileError(f"{self.folder} has no base to begin with")
        for snapshot in self.journal.snapshots(last):
            path = self.folder / snapshot.file
            try:
                if sha256_of(path) != snapshot.sha256:
                    raise ModelFileError(f"{path} is damaged: its SHA-256 is not the journal's")
                return load_texts(path, self.limit_gb), snapshot.number
            except (OSError, ModelFileError) as error:
                problem = error
                LOGGER.warning("%s; going back to the snapshot before", error)
        raise ModelFileError(str(problem))

    def _learn(self, model: TextClassifier, entries: list[Entry]) -> int:
        """Learn examples; the number of the last, or of that before one that is refused."""
        try:
            learn(model, entries)
        except SurelineError:
            # Which one it was is found by learning one at a time from the same beginning.
            model, number = self._start(entries[0].number - 1)
            for some in self.journal.entries(number, entries[-1].number):
                for entry in some:
                    try:
                        learn(model, [entry])
                    except SurelineError as error:
                        LOGGER.warning("example %s is refused: %s", entry.number, error)
                        self.journal.refuse(entry.number, str(error))
                        return entry.number - 1
            raise
        return entries[-1].number
