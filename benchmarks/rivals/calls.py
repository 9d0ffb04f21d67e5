"""Single calls: texts to classify, timed one by one, and rows to learn."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from benchmarks.rivals.data import Rows, Split
from benchmarks.rivals.entries import Clocked, Entry


def single_calls(name: str, predict: Callable[[str], Any], split: Split) -> Entry:
    """An entry that times every call of its own."""
    texts, truth = split.test.listed, split.test.labels.tolist()

    def run() -> Clocked:
        times, answers = np.empty(len(texts)), []
        for k, one in enumerate(texts):
            start = perf_counter()
            answer = predict(one)
            times[k] = perf_counter() - start
            answers.append(answer)
        middle, late = np.quantile(times, [0.5, 0.99]) * 1e6
        figures = {"median, µs": float(middle), "99 % below, µs": float(late)}
        return Clocked(float(times.sum()), answers, figures)

    return Entry(
        name,
        "finds words and pairs in one text, and classifies it",
        run,
        accuracy=lambda answers: np.mean([a == b for a, b in zip(answers, truth, strict=True)]),
        count=len(texts),
    )


def single_rows(
    name: str, work: str, make: Callable[[], Any], given: tuple[Rows, int], tag: str = ""
) -> Entry:
    """An entry that learns one sparse row per call; all classes are named in the first."""
    rows, count = given
    single = [rows.X[i : i + 1] for i in range(count)]

    def run() -> Any:
        model = make()
        model.partial_fit(single[0], rows.y[:1], classes=np.unique(rows.y))
        for i in range(1, count):
            model.partial_fit(single[i], rows.y[i : i + 1])
        return model

    return Entry(
        name,
        work,
        run,
        accuracy=lambda model: model.score(rows.X_test, rows.y_test),
        tag=tag,
        count=count,
    )
