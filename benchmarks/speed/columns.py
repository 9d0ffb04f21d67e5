"""What columns cost: a table of texts beside the same texts joined to one string per row.

Both are learned and predicted in turns, all rows at once and some of them one by one. What is
printed is the median ratio of processor times. Without a file, each message that comes with
sureline is cut into three columns.
"""

from __future__ import annotations

import argparse
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
from text import read

from sureline import TextClassifier

NAMES = ("first", "second", "rest")
SINGLE = 1000  # rows that are learned and predicted one by one
WORK = ("learn", "predict", "learn_one", "predict_one")


def cut(text: str) -> list[str]:
    """A text in three columns: three words, three more, and the rest."""
    words = text.split(" ")
    return [" ".join(words[:3]), " ".join(words[3:6]), " ".join(words[6:])]


def main() -> None:
    """Print a line for learning and one for predicting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", help="a CSV, Parquet or other file with texts")
    parser.add_argument("--text", default="text", metavar="COLUMN")
    parser.add_argument("--label", default="label", metavar="COLUMN")
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    texts, labels = read(options.file, options.text, options.label)
    columns = list(zip(*map(cut, texts.to_pylist()), strict=True))
    table = pa.table(dict(zip(NAMES, columns, strict=True)))
    joined, y = pa.array(["\n".join(row) for row in zip(*columns, strict=True)]), np.array(labels)

    def learn(X: Any, kinds: dict[str, str] | None) -> TextClassifier:
        return TextClassifier(columns=kinds).partial_fit(X, y)

    given = {"joined string": (joined, None), "columns": (table, dict.fromkeys(NAMES, "text"))}
    models = {name: learn(*each) for name, each in given.items()}  # warms up, too
    rows: dict[str, list[Any]] = {
        "joined string": joined[:SINGLE].to_pylist(), "columns": table[:SINGLE].to_pylist()
    }  # fmt: skip
    taken = {(what, name): list[float]() for what in WORK for name in given}
    for _ in range(options.repeats):
        for name, each in given.items():
            begun = process_time()
            learn(*each)
            taken["learn", name].append(process_time() - begun)
            begun = process_time()
            models[name].predict(each[0])
            taken["predict", name].append(process_time() - begun)
            begun = process_time()
            for row, label in zip(rows[name], labels[:SINGLE], strict=False):
                models[name].learn_one(row, label)
            taken["learn_one", name].append(process_time() - begun)
            begun = process_time()
            for row in rows[name]:
                models[name].predict_one(row)
            taken["predict_one", name].append(process_time() - begun)
    print(f"{'':<12} {'':<14} {'seconds':>8} {'ratio':>7}")
    for (what, name), times in taken.items():
        ratio = np.median(np.array(times) / np.array(taken[what, "joined string"]))
        print(f"{what:<12} {name:<14} {min(times):>8.3f} {ratio:>7.3f}")


if __name__ == "__main__":
    main()
