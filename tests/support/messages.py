"""The messages that come with sureline, as rows in memory and as files of CSV."""

import csv
from pathlib import Path

import pyarrow as pa
from cases import several

from sureline.data import Batch, sms_spam
from sureline.evaluation.search.dataset import Dataset

TEXTS, LABELS = sms_spam()
ROWS = several(240, 60)


def dataset(n=ROWS, name="SMS") -> Dataset:
    """The first messages."""
    text, label = (pa.array(some[:n], pa.large_string()) for some in (TEXTS, LABELS))
    return Dataset(name, Batch(text=text, label=label))


def write_rows(path, texts=TEXTS, labels=LABELS, n=ROWS, first=0) -> None:
    """Some messages as a file of CSV."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        chosen = slice(first, first + n)
        writer.writerows(zip(texts[chosen], labels[chosen], strict=True))
