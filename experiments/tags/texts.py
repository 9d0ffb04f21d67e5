"""Texts with any number of labels: Reuters' topics, and the people whom mail is sent to.

Every text comes once, in the first part that has it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from email import message_from_string
from email.utils import getaddresses
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet
from experiments.tasks import ENRON, REUTERS, find_file
from numpy.typing import NDArray

NINETY, ALL, MAIL = "Reuters, 90 topics", "Reuters, all topics", "Enron, recipients"
TASKS = (NINETY, ALL, MAIL)
FREQUENT = 100  # training mails that a recipient must have been sent
LATER = 0.25  # the share of mails, the latest ones, that are test mails
FORWARDED = re.compile(r"-{5,} ?(?:Forwarded|Original)")


class TaggedTexts(NamedTuple):
    """Texts and the labels of each."""

    text: list[str]
    labels: list[list[str]]

    def take(self, rows: NDArray[Any]) -> TaggedTexts:
        """Some of them."""
        return TaggedTexts([self.text[k] for k in rows], [self.labels[k] for k in rows])

    def only(self, kept: Iterable[str]) -> TaggedTexts:
        """The same texts with these labels alone."""
        known = set(kept)
        return TaggedTexts(self.text, [[x for x in each if x in known] for each in self.labels])


def read_task(name: str, folder: str | None) -> tuple[TaggedTexts, TaggedTexts]:
    """The training and the test texts of a task."""
    place = Path(folder) if folder else None
    if name == MAIL:
        return _read_mail(find_file(ENRON, place))
    return _read_reuters(find_file(REUTERS, place), name == NINETY)


def _read_reuters(path: Path, ninety: bool) -> tuple[TaggedTexts, TaggedTexts]:
    """The ModApté split; 90 topics have a training and a test text."""
    rows = pyarrow.parquet.read_table(path).to_pylist()
    parts = []
    for split in ("TRAIN", "TEST"):
        some = [r for r in rows if r["lewissplit"] == split and r["topics_attr"] == "YES"]
        texts = [f"{r['title'] or ''}\n{r['body'] or ''}" for r in some]
        parts.append(TaggedTexts(texts, [_split(r["topics"]) for r in some]))
    train, test = parts
    if ninety:
        both = _labels(train) & _labels(test)
        train, test = train.only(both), test.only(both)
    return train, test


def _split(topics: Any) -> list[str]:
    return topics.split() if isinstance(topics, str) else list(topics or [])


def _labels(texts: TaggedTexts) -> set[str]:
    return {label for each in texts.labels for label in each}


def _read_mail(path: Path) -> tuple[TaggedTexts, TaggedTexts]:
    """Subject and body of mails in the order of time; the labels are whom they are sent to."""
    rows = pyarrow.parquet.read_table(path, columns=["timestamp", "raw"]).to_pylist()
    rows.sort(key=lambda row: row["timestamp"])
    mails = dict[str, set[str]]()
    for row in rows:
        mail = message_from_string(row["raw"])
        body = FORWARDED.split(str(mail.get_payload()))[0]
        text = f"{mail['Subject'] or ''}\n{body}"
        sent = getaddresses([str(mail.get(name) or "") for name in ("To", "Cc")])
        mails.setdefault(text, set()).update(each.lower() for _, each in sent if "@" in each)
    texts, labels = list(mails), [sorted(each) for each in mails.values()]
    cut = int(len(texts) * (1.0 - LATER))
    train, test = TaggedTexts(texts[:cut], labels[:cut]), TaggedTexts(texts[cut:], labels[cut:])
    counts = Counter(label for each in train.labels for label in each)
    frequent = [label for label, count in counts.items() if count >= FREQUENT]
    return train.only(frequent), test.only(frequent)


def hold_out(train: TaggedTexts, seed: int) -> tuple[TaggedTexts, TaggedTexts]:
    """Three quarters of the training texts, each once, and the others, to choose settings by."""
    _, first = np.unique(np.array(train.text, dtype=object), return_index=True)
    order = np.random.default_rng(seed).permutation(first)
    cut = int(0.75 * order.size)
    return train.take(order[:cut]), train.take(order[cut:])
