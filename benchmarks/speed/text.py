"""How fast TextClassifier is: fitting, predicting on one thread and on two, one text at a time.

The time of whole runs is the best of several, compiled code warm. Of single texts the median and
the 99th percentile count. Without a file, the texts are the messages that come with sureline.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from timing import best

import sureline
from sureline import TextClassifier
from sureline.data import Reader, as_text, sms_spam


def read(file: str | None, text: str, label: str) -> tuple[pa.Array, list[Any]]:
    """Texts and labels of a file, or the messages that come with sureline, in random order."""
    if file is None:
        texts, labels = sms_spam()
    else:
        texts, labels = [], []
        for batch in Reader([file], text=text, label=label):
            texts += batch.text.to_pylist()
            labels += batch.label.to_pylist()
    order = np.random.default_rng(0).permutation(len(texts))
    return as_text([texts[k] for k in order]), [labels[k] for k in order]


def together(jobs: list[Callable[[], Any]]) -> None:
    """Run jobs side by side."""
    threads = [Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def single(work: Callable[[int], Any], count: int) -> str:
    """The time of single calls, in microseconds, and how many per second that makes."""
    times = np.empty(count)
    for k in range(count):
        start = perf_counter()
        work(k)
        times[k] = perf_counter() - start
    middle, late = np.quantile(times, [0.5, 0.99]) * 1e6
    return f"{count / times.sum():,.0f}/s, median {middle:.0f} µs, 99 % below {late:.0f} µs"


def measure(texts: pa.Array, labels: list[Any], repeats: int, options: dict[str, Any]) -> Table:
    """The table."""
    size, half = texts.nbytes / 1e6, len(texts) // 2
    page = Table(title=f"{len(texts):,} texts, {size:.1f} MB, best of {repeats}; {options or ''}")
    page.add_column("")
    page.add_column("", justify="right")
    train, test = texts.slice(0, half), texts.slice(half)
    learned, truth = labels[:half], np.array(labels[half:])
    made = TextClassifier(random_state=0, **options)
    seconds = best(repeats, lambda: made.fit(train, learned))
    page.add_row("fit", f"{seconds:.3f} s, {train.nbytes / 1e6 / seconds:.0f} MB/s")
    one = best(repeats, lambda: made.predict(test))
    page.add_row("predict", f"{one:.3f} s, {test.nbytes / 1e6 / one:.0f} MB/s")
    quarter = len(test) // 2
    parts = [test.slice(0, quarter), test.slice(quarter)]
    jobs = [lambda part=part: made.predict(part) for part in parts]
    two = best(repeats, lambda: together(jobs))
    page.add_row("predict on two threads", f"{two:.3f} s, {one / two:.2f} times as fast")
    page.add_row("accuracy", f"{np.mean(made.predict(test) == truth):.4f}")
    words = test.slice(0, 2000).to_pylist()
    page.add_row("predict_one", single(lambda k: made.predict_one(words[k]), len(words)))
    page.add_row("learn_one", single(lambda k: made.learn_one(words[k], truth[k]), len(words)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.sureline"
        page.add_row("save", f"{1e3 * best(repeats, lambda: made.save(path)):.1f} ms")
        page.add_row("load", f"{1e3 * best(repeats, lambda: sureline.load(path)):.2f} ms")
        page.add_row("file", f"{path.stat().st_size / 1e6:.1f} MB, {made.n_features_:,} features")
    return page


def main() -> None:
    """Print a table for every kind of features."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", help="a CSV, Parquet or other file with texts")
    parser.add_argument("--text", default="text", metavar="COLUMN")
    parser.add_argument("--label", default="label", metavar="COLUMN")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    texts, labels = read(options.file, options.text, options.label)
    for kind in ({}, {"features": "hash"}):
        Console().print(measure(texts, labels, options.repeats, kind))


if __name__ == "__main__":
    main()
