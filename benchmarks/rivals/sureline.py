"""sureline itself."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import version as installed
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.rivals.calls import single_calls, single_rows
from benchmarks.rivals.data import Rows, Split
from benchmarks.rivals.entries import Clocked, Entry
from benchmarks.rivals.timing import run_program
from benchmarks.speed.timing import memory_above
from sklearn.base import clone

from sureline import AROWClassifier, CWClassifier, TextClassifier
from sureline.data import Reader

NAME = "sureline"
COMMAND = [sys.executable, "-m", "sureline.cli"]
ROWS = AROWClassifier(r=0.1, max_iter=1, shuffle=False)  # for rows of numbers, or as bare as they


def missing() -> str:
    """Nothing to say: it is here."""
    return ""


def version() -> str:
    """The version that runs."""
    return installed("sureline")


def text(split: Split) -> list[Entry]:
    """TextClassifier from texts in memory, on one thread and on two, and from a file."""
    train, test = split.train, split.test

    def accuracy(model: TextClassifier) -> float:
        return float(np.mean(model.predict(test.column) == test.labels))

    def fit(given: Any, **settings: Any) -> TextClassifier:
        return TextClassifier(shuffle=False, **settings).fit(given, train.labels)

    entries = []
    work = "finds words and pairs in raw text, and learns; an Arrow column in memory"
    hashed = {"features": "hash"}
    bare = {**hashed, "estimator": ROWS, "weighting": None, "calibration": None}
    barely = f"{work}; no prior, no calibrator, r = 0.1"
    kinds: list[tuple[dict[str, Any], str, str, str]] = [
        ({}, "TextClassifier", work, "usual"),
        (hashed, 'TextClassifier("hash")', work, "usual"),
        *(
            (
                *({**bare, "bits": bits}, f'TextClassifier("hash", bits={bits}), bare', barely),
                f"{bits} bits",
            )
            for bits in (18, 22)
        ),
    ]
    for kind, title, does, tag in kinds:
        for jobs in (1, 2):
            settings: dict[str, Any] = {**kind, "n_jobs": jobs}
            entries.append(
                Entry(
                    f"{title}, n_jobs={jobs}",
                    does,
                    partial(fit, train.column, **settings),
                    threads=jobs,
                    accuracy=accuracy,
                    tag=tag,
                )
            )
    entries.append(
        Entry(
            "TextClassifier, n_jobs=1, strings",
            "the same from a list of Python's strings",
            partial(fit, train.listed, n_jobs=1),
            accuracy=accuracy,
            tag="list",
        )
    )
    path = train.write("train.txt", {label: f"__label__{label} " for label in train.names})
    entries += [
        Entry(
            f"TextClassifier, n_jobs={jobs}, file",
            "reads a file of plain words, finds words and pairs, and learns",
            partial(_fit_file, path, jobs),
            threads=jobs,
            accuracy=accuracy,
            tag="file",
        )
        for jobs in (1, 2)
    ]
    return entries


def _fit_file(path: Path, jobs: int) -> TextClassifier:
    """A model of a file in fastText's format."""
    batches = list(Reader([path], format="fasttext"))
    column = pa.concat_arrays([batch.text for batch in batches])
    labels = np.concatenate([np.asarray(batch.label) for batch in batches])
    return TextClassifier(shuffle=False, n_jobs=jobs).fit(column, labels)


def sparse(rows: Rows) -> list[Entry]:
    """Diagonal AROW and CW, one pass of `fit`."""
    found: dict[str, tuple[str, Callable[[], Any]]] = {
        "AROWClassifier": ("arow", lambda: clone(ROWS)),
        "CWClassifier, stdev": ("cw", lambda: CWClassifier(max_iter=1, shuffle=False)),
        "CWClassifier, variance": (
            "cw",
            lambda: CWClassifier(constraint="variance", max_iter=1, shuffle=False),
        ),
    }
    return _fits(rows, found)


def classes(rows: Rows) -> list[Entry]:
    """AROW and CW against the strongest rival class, and AROW class by class."""
    found: dict[str, tuple[str, Callable[[], Any]]] = {
        "AROWClassifier": ("arow", lambda: clone(ROWS)),
        "CWClassifier, stdev": ("cw", lambda: CWClassifier(max_iter=1, shuffle=False)),
        "AROWClassifier, one-vs-rest": (
            "one-vs-rest",
            lambda: AROWClassifier(r=0.1, max_iter=1, shuffle=False, scheme="one-vs-rest"),
        ),
    }
    return _fits(rows, found)


def _fits(rows: Rows, found: dict[str, tuple[str, Callable[[], Any]]]) -> list[Entry]:
    """One pass of each over sparse rows."""
    return [
        Entry(
            name,
            "learns means and variances from rows in memory; one pass",
            partial(_fit, make, rows.X, rows.y),
            accuracy=lambda model: model.score(rows.X_test, rows.y_test),
            tag=tag,
        )
        for name, (tag, make) in found.items()
    ]


def _fit(make: Callable[[], Any], X: Any, y: Any) -> Any:
    """A new model of the rows."""
    return make().fit(X, y)


def learn_one(split: Split) -> list[Entry]:
    """One text per call, from nothing."""
    texts, labels = split.train.listed, split.train.labels.tolist()

    def run(**settings: Any) -> TextClassifier:
        model = TextClassifier(**settings)
        for one, label in zip(texts, labels, strict=True):
            model.learn_one(one, label)
        return model

    return [
        Entry(
            name,
            "finds words and pairs, and learns means and variances",
            partial(run, **settings),
            accuracy=lambda model: model.score(split.test.listed, split.test.labels),
            count=len(texts),
        )
        for name, settings in {
            "TextClassifier.learn_one": {},
            'TextClassifier("hash").learn_one': {"features": "hash"},
        }.items()
    ]


def one_row(given: tuple[Rows, int]) -> list[Entry]:
    """`partial_fit` of one row per call."""
    work = "learns means and variances of one sparse row per call"
    make = partial(AROWClassifier, r=0.1)
    return [single_rows("AROWClassifier.partial_fit", work, make, given)]


def predict_one(split: Split) -> list[Entry]:
    """One text per call, with a fitted model."""
    model = TextClassifier(random_state=0).fit(split.train.column, split.train.labels)
    return [single_calls("TextClassifier.predict_one", model.predict_one, split)]


def predict(split: Split) -> list[Entry]:
    """Many texts at once, with a fitted model."""
    test = split.test
    entries = []
    kinds: dict[str, dict[str, Any]] = {
        "TextClassifier": {},
        'TextClassifier("hash")': {"features": "hash"},
    }
    for (title, settings), jobs in product(kinds.items(), (1, 2)):
        model = TextClassifier(shuffle=False, n_jobs=jobs, **settings)
        model.fit(split.train.column, split.train.labels)
        for kind, given in (("a list of strings", test.listed), ("an Arrow column", test.column)):
            entries.append(
                Entry(
                    f"{title}.predict, n_jobs={jobs}, {kind.split()[1]}",
                    f"finds words and pairs in {kind}, and classifies",
                    partial(model.predict, given),
                    threads=jobs,
                    accuracy=lambda answers: np.mean(answers == test.labels),
                    tag="list" if kind == "a list of strings" else "arrow",
                )
            )
    return entries


def full_covariance(given: dict[str, Any]) -> list[Entry]:
    """AROW with a full covariance."""
    make = partial(
        AROWClassifier,
        covariance="full",
        fit_intercept=False,
        dtype="float64",
        max_iter=1,
        shuffle=False,
    )
    return [
        Entry(
            "AROWClassifier, full",
            "learns means and the covariance of all weights",
            partial(_fit, make, *given["train"]),
            accuracy=partial(_score, *given["test"]),
            figures=partial(_memory, make, *given["large"]),
        )
    ]


def _score(X: Any, y: Any, model: Any) -> float:
    """How often the model is right."""
    return float(model.score(X, y))


def _memory(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Memory that further rows take beyond the model, as a share of the covariance."""
    model = make().partial_fit(X, y)
    above = memory_above(lambda: model.partial_fit(X, y))
    size = X.shape[1] ** 2 * X.itemsize / 1e6
    return {} if above is None else {"memory ÷ covariance": above / size}


def start_up(given: dict[str, Path]) -> list[Entry]:
    """Whole processes, with compiled code on disk."""

    def run(*arguments: str) -> None:
        run_program([*COMMAND, *arguments])

    train = ("train", str(given["file"]), "-o", str(given["folder"] / "start.sureline"))
    return [
        Entry(
            "sureline --help", "starts, and prints the commands", partial(run, "--help"), tag="help"
        ),
        Entry(
            "sureline train",
            "starts, reads a small file, learns it, and writes a model",
            partial(run, *train),
            threads=1,
            tag="train",
        ),
    ]


def cold(given: dict[str, Path]) -> list[Entry]:
    """Commands that find no compiled code on disk, and the same again, when they do."""
    file, model = str(given["file"]), str(given["folder"] / "cold.sureline")
    run_program([*COMMAND, "train", file, "-o", model])
    commands = {
        "train": ["train", file, "-o", str(given["folder"] / "other.sureline")],
        "train --jobs 2": ["train", file, "--jobs", "2", "-o", str(given["folder"] / "o.sureline")],
        "predict": ["predict", model, file],
        "evaluate": ["evaluate", model, file],
        "explain": ["explain", model, "You have WON a free prize"],
        "inspect": ["inspect", model],
        "merge": ["merge", model, model, "-o", str(given["folder"] / "both.sureline")],
        "compare": ["compare", file],
        "tune": ["tune", file],
        "demo": ["demo"],
    }

    def run(arguments: list[str]) -> Clocked:
        with tempfile.TemporaryDirectory() as folder:
            times = []
            for _ in range(2):
                start = perf_counter()
                run_program([*COMMAND, *arguments], NUMBA_CACHE_DIR=folder)
                times.append(perf_counter() - start)
        first, second = times
        return Clocked(first, None, {"second run": second, "compiling": first - second})

    return [
        Entry(
            f"sureline {name}",
            "a first run, which finds no compiled code",
            partial(run, arguments),
            threads=0,
            warm=False,
            once=True,
        )
        for name, arguments in commands.items()
    ]
