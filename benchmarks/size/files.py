"""How large model files are, what is in them, and how far a compact one differs.

Models of texts with the default settings, with ``min_count=3`` and with hashed features are trained
on the training part of each data set and saved in three ways: with all arrays as they are in memory
(``mapped``), as `save` does, and compact. What the compact model says of the test part is compared
with what the model itself says.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from sureline import TextClassifier, load
from sureline.data import sms_spam
from sureline.estimators import save
from sureline.model.file import read

KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "min_count=3": {"min_count": 3},
    "hash": {"features": "hash"},
}
PARTS = {
    "weights": ("table", "rest", "row_gaps", "which"),
    "class counts": ("tallies", "tokens"),
    "fingerprints": ("keys", "key_counts"),
    "names": ("names", "name_lengths", "named_columns"),
    "text counts": ("seen",),
    "waiting": ("waiting", "waiting_counts"),
}


def data_sets(folder: Path) -> dict[str, tuple[list[str], list[Any], list[str]]]:
    """Texts and labels to train on, and texts to predict."""
    texts, labels = sms_spam()
    made = {"SMS": (texts[:4000], labels[:4000], texts[4000:])}
    for name, file, label in (("20 News", "20news-bydate", "group"), ("IMDb", "imdb", "label")):
        path = folder / f"{file}.parquet"
        if path.exists():
            table = pq.read_table(path, columns=["split", "text", label])
            train = np.array(table["split"].to_pylist()) == "train"
            parts = table.filter(train), table.filter(~train)
            made[name] = (*(parts[0][each].to_pylist() for each in ("text", label)),
                          parts[1]["text"].to_pylist())  # fmt: skip
    return made


def measure(name: str, data: Any, kind: str, folder: Path) -> tuple[str, str]:
    """One line of each table, for a data set and a kind of model."""
    texts, labels, others = data
    model = TextClassifier(max_iter=1, random_state=0, **KINDS[kind]).fit(texts, labels)
    sizes = []
    for options in ({"mapped": True}, {}, {"compact": True}):
        path = folder / "model.sureline"
        save(model, path, **options)
        sizes.append(path.stat().st_size / 1e6)
        loaded = load(path)
        if not options:
            stored = {key: each.nbytes for key, each in read(path).tensors.items()}
    bytes_ = {part: sum(stored.get(key, 0) for key in PARTS[part]) / 1e6 for part in PARTS}
    apart = np.abs(loaded.predict_proba(others) - model.predict_proba(others)).max()
    differ = int((loaded.predict(others) != model.predict(others)).sum())
    in_memory, default, compact = sizes
    first = [name, kind, f"{model.n_features_:,}", f"{in_memory:.1f}", f"{default:.1f}",
             f"{compact:.2f}", f"{apart:.5f}", f"{differ} of {len(others):,}"]  # fmt: skip
    second = [name, kind, *(f"{each:.1f}" if each else "" for each in bytes_.values())]
    return line(first), line(second)


def line(cells: list[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = os.environ.get("SURELINE_DATA", ".")
    parser.add_argument("--data", type=Path, default=Path(known), help="the folder of data sets")
    parser.add_argument("--only", nargs="*", help="the names of data sets")
    arguments = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, data in data_sets(arguments.data).items():
            if not arguments.only or name in arguments.only:
                lines += [measure(name, data, kind, Path(folder)) for kind in KINDS]
    heads = (
        ["data", "model", "features", "as in memory, MB", "default, MB", "compact, MB",
         "largest difference of a probability", "labels that differ"],
        ["data", "model", *(f"{part}, MB" for part in PARTS)],
    )  # fmt: skip
    for head, rows in zip(heads, zip(*lines, strict=True), strict=True):
        print(line(head), line(["---", "---", *["---:"] * (len(head) - 2)]), *rows, "", sep="\n")


if __name__ == "__main__":
    main()
