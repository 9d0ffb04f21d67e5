"""What it costs to watch a stream for change, and to forget, where nothing changes.

The same rows are learned with drift=None and with each setting, in turns. What is printed is the
median ratio of processor times, and the accuracy on texts that were held out. Without a file, the
texts are the messages that come with sureline.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from text import read

from sureline import AROWClassifier, Drift, TextClassifier

SETTINGS: dict[str, Any] = {
    "None": None,
    "auto": "auto",
    "half_life=10000": Drift(false_alarms=None, half_life=10_000),
}
ONE_BY_ONE = 3000  # texts that are learned by learn_one


def compare(name: str, learn: Callable[[Any], Any], score: Callable[[Any], float], n: int) -> None:
    """Print a line for each setting."""
    taken = dict[str, list[float]]({each: [] for each in SETTINGS})
    right = {each: score(learn(setting)) for each, setting in SETTINGS.items()}  # warms up, too
    for _ in range(n):
        for each, setting in SETTINGS.items():
            begun = process_time()
            learn(setting)
            taken[each].append(process_time() - begun)
    for each, times in taken.items():
        ratio = np.median(np.array(times) / np.array(taken["None"]))
        print(f"{name:<14} {each:<16} {min(times):>8.3f} {ratio:>7.3f} {100 * right[each]:>8.2f}%")


def one_by_one(texts: list[str], labels: list[Any], drift: Any) -> TextClassifier:
    """A model that learned texts one at a time."""
    model = TextClassifier(drift=drift)
    for text, label in zip(texts, labels, strict=True):
        model.learn_one(text, label)
    return model


def main() -> None:
    """Print a line for everything that is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", help="a CSV, Parquet or other file with texts")
    parser.add_argument("--text", default="text", metavar="COLUMN")
    parser.add_argument("--label", default="label", metavar="COLUMN")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    texts, labels = read(options.file, options.text, options.label)
    half = len(texts) // 2
    train, test, y = texts.slice(0, half), texts.slice(half), np.array(labels[:half])
    truth = np.array(labels[half:])
    some = train.slice(0, ONE_BY_ONE).to_pylist(), labels[: min(ONE_BY_ONE, half)]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 100))
    z = X @ rng.standard_normal(100) + rng.standard_normal(len(X)) > 0
    print(f"{'':<14} {'drift':<16} {'seconds':>8} {'ratio':>7} {'accuracy':>9}")
    compare(
        "partial_fit",
        lambda drift: TextClassifier(drift=drift).partial_fit(train, y),
        lambda model: float(np.mean(model.predict(test) == truth)),
        options.repeats,
    )
    compare(
        "learn_one",
        lambda drift: one_by_one(*some, drift),
        lambda model: float(np.mean(model.predict(test) == truth)),
        options.repeats,
    )
    compare(
        "100 numbers",
        lambda drift: AROWClassifier(drift=drift).partial_fit(X[:100_000], z[:100_000]),
        lambda model: float(model.score(X[100_000:], z[100_000:])),
        options.repeats,
    )


if __name__ == "__main__":
    main()
