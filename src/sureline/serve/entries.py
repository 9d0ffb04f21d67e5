"""What the journal has: examples, predictions that wait for their labels, snapshots."""

from __future__ import annotations

import json
import secrets
import time
from typing import Any, NamedTuple

DIGITS = 4  # of the number at the end of an id
NUMBERS = tuple(f"{k:0{DIGITS}x}" for k in range(2**14))  # more than are predicted together

Label = str | int  # several labels of a text are a list as JSON text


def stored_label(label: Any) -> Label:
    """A label as the journal has it; sets of labels are equal if their texts are."""
    if isinstance(label, str | int):
        return label
    return json.dumps(sorted(set(label)), ensure_ascii=False)


class Example(NamedTuple):
    """An example to learn, as it comes from a client."""

    text: str
    label: Label
    author: str | None = None
    predicted: Label | None = None
    probability: float | None = None
    prediction: str | None = None


class Entry(NamedTuple):
    """An example of the journal."""

    number: int
    time: str
    author: str | None
    text: str | None
    label: Label
    counts: int
    predicted: Label | None
    probability: float | None
    prediction: str | None


class Asked(NamedTuple):
    """A prediction that was made, for a label that comes later."""

    id: str
    text: str
    predicted: Label | None
    probability: float | None
    version: str


class AskedTogether(NamedTuple):
    """Predictions that were made together; their ids are the key and a number each."""

    key: str
    texts: list[str]
    predicted: list[Label]
    probabilities: list[float | None]
    version: str

    @property
    def ids(self) -> list[str]:
        """The ids of the predictions; sorted as text, they are sorted by time."""
        return [self.key + number for number in NUMBERS[: len(self.texts)]]

    def find(self, id: str) -> Asked | None:  # noqa: A002
        """The prediction of an id that begins with the key."""
        try:
            k = int(id[-DIGITS:], 16)
            return Asked(id, self.texts[k], self.predicted[k], self.probabilities[k], self.version)
        except (ValueError, IndexError):
            return None


def new_key() -> str:
    """What the ids of predictions that are made together begin with."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(5)}"


class Snapshot(NamedTuple):
    """A model file that holds the examples up to a number, or replaces them."""

    number: int
    base: bool
    file: str
    sha256: str
