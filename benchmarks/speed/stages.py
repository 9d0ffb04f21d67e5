"""Where the time goes between raw texts and a model, and between raw texts and labels.

Texts are read (words are found, and counted within each text), their features get columns (a table
of fingerprints is searched and grows) and their rows are learned; to classify, columns are looked
up and rows are scored. The same steps that `fit` and `predict` take are taken here one by one, a
chunk of the texts at a time, on one thread, and timed. The best of several runs counts. It prints
Markdown.

    python benchmarks/speed/stages.py imdb.parquet
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from text import read

from sureline import TextClassifier
from sureline.estimators.text.pipeline import TextPipeline
from sureline.features.tokenizer import chunk_texts


class Stopwatch:
    """Sums up times by name."""

    def __init__(self) -> None:
        self.times: Counter[str] = Counter()

    def take(self, name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        """Do some work, and add its time to the others of that name."""
        start = perf_counter()
        made = work(*arguments)
        self.times[name] += perf_counter() - start
        return made


def learn(texts: Any, labels: np.ndarray, settings: dict[str, Any]) -> tuple[Counter[str], int]:
    """The times of one pass, and how many nonzeros were learned."""
    watch, nonzeros = Stopwatch(), 0
    model = TextClassifier(shuffle=False, **settings).partial_fit(
        texts[:1], labels[:1], classes=np.unique(labels)
    )
    pipeline = TextPipeline(model.model_, texts, labels, np.ones(len(labels)))
    for chunk in pipeline.chunks:
        tokens, begin = watch.take("read", pipeline.read, chunk), 0
        while begin < len(tokens):
            capacity = watch.take("reserve", pipeline.reserve, tokens, begin)
            watch.take("reserve", pipeline.grow, capacity)
            rows, stop = watch.take("assign columns", pipeline.assign_columns, tokens, begin)
            part = slice(chunk.start + begin, chunk.start + stop)
            watch.take("learn", pipeline.learn, rows, part, capacity)
            nonzeros += int(rows.indptr[-1])
            begin = stop
            if model.model_.columns.full:
                watch.take("forget names", model.model_.prune)
    return watch.times, nonzeros


def classify(model: TextClassifier, texts: Any) -> tuple[Counter[str], int]:
    """The times of one classification, and how many nonzeros were scored."""
    watch, nonzeros, known = Stopwatch(), 0, model.model_
    for chunk in chunk_texts(texts):
        tokens = watch.take("read", known.tokenizer.read_chunk, texts, None, chunk)
        rows = watch.take("look up", known.rows, tokens)
        watch.take("score", known.learner.scores, known.state, rows)
        nonzeros += int(rows.indptr[-1])
    return watch.times, nonzeros


def show(title: str, runs: list[tuple[Counter[str], int]], megabytes: float) -> None:
    """Print the best run's stages."""
    times, nonzeros = min(runs, key=lambda run: sum(run[0].values()))
    total = sum(times.values())
    print(f"\n**{title}**, {nonzeros / 1e6:.1f} million nonzeros\n")
    print("| stage | seconds | share | MB/s | ns per nonzero |\n|---|---:|---:|---:|---:|")
    for name, seconds in (*times.items(), ("all", total)):
        print(
            f"| {name} | {seconds:.3f} | {seconds / total:.0%} | {megabytes / seconds:.0f} "
            f"| {seconds / nonzeros * 1e9:.1f} |"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", help="texts with the columns text and label")
    parser.add_argument("--repeats", type=int, default=5)
    found = parser.parse_args()
    texts, given = read(found.file, "text", "label")
    labels = np.asarray(given)
    megabytes = texts.nbytes / 1e6
    kinds: dict[str, dict[str, Any]] = {
        "A column for every feature": {},
        "Hashing to 2^22 columns": {"features": "hash"},
    }
    for title, settings in kinds.items():
        runs = [learn(texts, labels, settings) for _ in range(found.repeats + 1)]
        show(f"{title}: learning", runs[1:], megabytes)
        model = TextClassifier(shuffle=False, **settings).fit(texts, labels)
        classified = [classify(model, texts) for _ in range(found.repeats + 1)]
        show(f"{title}: classifying", classified[1:], megabytes)


if __name__ == "__main__":
    main()
