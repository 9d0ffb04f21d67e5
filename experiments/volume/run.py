"""USPS digits, pair by pair, with wrong labels: boxes of weights against SVM and AROW.

For each of the 45 pairs of digits and each level of label noise, every learner's parameters are
chosen on one random split of the noisy training set; the learner is then trained on all of it and
judged on the standard test set. Prints Markdown and writes results.csv; README.md discusses both.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from sureline import AROWClassifier, BoxClassifier

HERE = Path(__file__).resolve().parent
FILE = "usps.npz"
NOISE = (0.0, 0.1, 0.2, 0.3)
# Within this of the optimum, in units of the average loss, test errors no longer change.
TOL = 1e-2

Settings = dict[str, float]


@dataclass(frozen=True)
class Contestant:
    """A learner and the grid that its parameters are chosen from."""

    name: str
    make: Callable[[], Any]
    grid: tuple[Settings, ...]


def grid(**values: Iterable[float]) -> tuple[Settings, ...]:
    """Every combination, the first parameter's values slowest."""
    return tuple(dict(zip(values, each, strict=True)) for each in product(*values.values()))


# Strong regularisation first: where two do equally well, the first is taken, and each fit of a box
# starts from the one before it.
BOX = grid(D=(0.1, 0.03, 0.01), C=(0.1, 0.01, 0.001, 0.0001))
CONTESTANTS = (
    Contestant(
        "BoW-M",
        lambda: BoxClassifier(regularizer="max", tol=TOL, random_state=0, warm_start=True),
        BOX,
    ),
    Contestant(
        "BoW-S",
        lambda: BoxClassifier(regularizer="sum", tol=TOL, random_state=0, warm_start=True),
        BOX,
    ),
    Contestant(
        "SVM",
        lambda: LinearSVC(loss="hinge", random_state=0),
        grid(C=tuple(10.0 ** (k / 2.0) for k in range(-8, -1))),
    ),
    Contestant(
        "AROW",
        lambda: AROWClassifier(random_state=0),
        grid(r=tuple(10.0**k for k in range(6, -1, -1))),
    ),
    # Without choosing; it may be what the paper compared with.
    Contestant("SVM, C = 1", lambda: LinearSVC(loss="hinge", random_state=0), grid(C=(1.0,))),
    Contestant("AROW, r = 1", lambda: AROWClassifier(random_state=0), grid(r=(1.0,))),
)


@dataclass(frozen=True)
class Digits:
    """Two digits: rows of pixels, and which of the two each shows."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]


@dataclass(frozen=True)
class Result:
    """One learner on one pair with one draw of the noise."""

    learner: str
    pair: tuple[int, int]
    noise: float
    seed: int
    chosen: Settings
    validation_error: float | None  # None where there was nothing to choose
    test_error: float
    seconds: float


def find(folder: Path | None, name: str = FILE) -> Path:
    """The data file, in the folder given or in the usual places; or a sentence and exit code 2."""
    places = [folder] if folder else []
    if not folder:
        if os.environ.get("SURELINE_DATA"):
            places.append(Path(os.environ["SURELINE_DATA"]))
        places.append(HERE.parents[1].parent / "shared" / "data")
    for place in places:
        if (place / name).is_file():
            return place / name
    print(
        f"{name} was not found in {' or in '.join(map(str, places))}: name the folder that holds "
        "it with --data or in the environment variable SURELINE_DATA",
        file=sys.stderr,
    )
    raise SystemExit(2)


def load(path: Path) -> tuple[Digits, Digits]:
    """The standard training and test sets, all ten digits."""
    with np.load(path) as arrays:
        return (
            Digits(arrays["X_train"].astype(np.float64), arrays["y_train"].astype(np.int64)),
            Digits(arrays["X_test"].astype(np.float64), arrays["y_test"].astype(np.int64)),
        )


def pick(digits: Digits, pair: tuple[int, int]) -> Digits:
    """The rows of two digits, labelled 0 and 1."""
    rows = np.isin(digits.y, pair)
    return Digits(digits.X[rows], (digits.y[rows] == pair[1]).astype(np.int64))


def spoil(train: Digits, pair: tuple[int, int], noise: float, seed: int) -> Digits:
    """The training set with each label flipped with probability `noise`."""
    rng = np.random.default_rng([seed, *pair])  # higher levels flip the labels of lower ones too
    return Digits(train.X, np.where(rng.random(train.y.size) < noise, 1 - train.y, train.y))


def contest(
    contestant: Contestant,
    train: Digits,
    test: Digits,
    pair: tuple[int, int],
    noise: float,
    seed: int,
) -> Result:
    """Choose on 80 % and 20 % of the noisy training set, train on all of it, test."""
    begun = perf_counter()
    order = np.random.default_rng([seed, 1, *pair]).permutation(train.y.size)
    held, kept = order[: order.size // 5], np.sort(order[order.size // 5 :])
    model, errors = contestant.make(), []
    for settings in contestant.grid if len(contestant.grid) > 1 else ():
        model.set_params(**settings).fit(train.X[kept], train.y[kept])
        errors.append(float((model.predict(train.X[held]) != train.y[held]).mean()))
    best = int(np.argmin(errors)) if errors else 0
    model = contestant.make().set_params(**contestant.grid[best]).fit(train.X, train.y)
    wrong = float((model.predict(test.X) != test.y).mean())
    seconds = perf_counter() - begun
    chosen = contestant.grid[best]
    return Result(
        contestant.name, pair, noise, seed, chosen, errors[best] if errors else None, wrong, seconds
    )


def error_table(results: list[Result], noises: tuple[float, ...]) -> Iterator[str]:
    """The mean test error over pairs, with its deviation over seeds."""
    yield "| mean test error in % | " + " | ".join(f"{n:.0%} noise" for n in noises) + " | s |"
    yield "|---" + "|---:" * (len(noises) + 1) + "|"
    for one in CONTESTANTS:
        cells = []
        for noise in noises:
            errors: dict[int, list[float]] = {}
            for r in results:
                if r.learner == one.name and r.noise == noise:
                    errors.setdefault(r.seed, []).append(100.0 * r.test_error)
            means = [np.mean(each) for each in errors.values()]
            spread = np.std(means, ddof=1) if len(means) > 1 else 0.0
            cells.append(f"{np.mean(means):.2f} ± {spread:.2f}")
        took = sum(r.seconds for r in results if r.learner == one.name)
        yield f"| {one.name} | " + " | ".join(cells) + f" | {took:.0f} |"


def wins_table(results: list[Result], noises: tuple[float, ...]) -> Iterator[str]:
    """On how many pairs a box has the lower, the same or the higher test error, over seeds."""
    yield (
        "| better / equal / worse, of the pairs | "
        + " | ".join(f"{n:.0%} noise" for n in noises)
        + " |"
    )
    yield "|---" + "|---:" * len(noises) + "|"
    by_key = {(r.learner, r.pair, r.noise, r.seed): r.test_error for r in results}
    seeds, pairs = sorted({r.seed for r in results}), sorted({r.pair for r in results})
    rivals = ("SVM", "AROW", "SVM, C = 1", "AROW, r = 1")
    for ours, theirs in product(("BoW-M", "BoW-S"), rivals):
        cells = []
        for noise in noises:
            signs = [
                np.sign(by_key[theirs, pair, noise, seed] - by_key[ours, pair, noise, seed])
                for seed in seeds
                for pair in pairs
            ]
            counts = [signs.count(sign) / len(seeds) for sign in (1, 0, -1)]
            cells.append(" / ".join(f"{count:.1f}" for count in counts))
        yield f"| {ours} against {theirs} | " + " | ".join(cells) + " |"


def choices_table(results: list[Result], noises: tuple[float, ...]) -> Iterator[str]:
    """The most frequent choice of every learner."""
    yield "| most frequent choice | " + " | ".join(f"{n:.0%} noise" for n in noises) + " |"
    yield "|---" + "|---:" * len(noises) + "|"
    for one in (one for one in CONTESTANTS if len(one.grid) > 1):
        cells = []
        for noise in noises:
            chosen = [show(r.chosen) for r in results if r.noise == noise and r.learner == one.name]
            often = max(sorted(set(chosen)), key=chosen.count)
            cells.append(f"{often} ({chosen.count(often) / len(chosen):.0%})")
        yield f"| {one.name} | " + " | ".join(cells) + " |"


def show(settings: Settings) -> str:
    """Settings as the tables print them."""
    return " ".join(f"{name}={value:.3g}" for name, value in settings.items())


def write(path: Path, results: list[Result]) -> None:
    """All that the tables say, except times, so that the same seeds give the same file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        heads = ("learner", "pair", "noise", "seed", "chosen", "validation_error", "test_error")
        out.writerow(heads)
        for r in results:
            pair = f"{r.pair[0]}-{r.pair[1]}"
            judged = "" if r.validation_error is None else f"{r.validation_error:.6f}"
            errors = (judged, f"{r.test_error:.6f}")
            out.writerow((r.learner, pair, r.noise, r.seed, show(r.chosen), *errors))


def main() -> None:
    """Run all pairs, or with --quick every fifth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder that holds usps.npz")
    parser.add_argument("--seeds", type=int, default=2, help="draws of the noise (default 2)")
    parser.add_argument("--quick", action="store_true", help="nine pairs and one seed; no file")
    arguments = parser.parse_args()
    train, test = load(find(arguments.data))
    pairs = list(combinations(range(10), 2))[:: 5 if arguments.quick else 1]
    seeds = range(1, 2 if arguments.quick else arguments.seeds + 1)
    warnings.simplefilter("ignore", ConvergenceWarning)  # LinearSVC's, on noisy labels
    results: list[Result] = []
    for seed, pair, noise in product(seeds, pairs, NOISE):
        spoiled = spoil(pick(train, pair), pair, noise, seed)
        judged = pick(test, pair)
        results += [contest(one, spoiled, judged, pair, noise, seed) for one in CONTESTANTS]
        if noise == NOISE[-1]:
            print(f"seed {seed}, {pair[0]} against {pair[1]}", file=sys.stderr)
    for table in (error_table, wins_table, choices_table):
        print("\n".join(table(results, NOISE)), end="\n\n")
    if not arguments.quick:
        write(HERE / "results.csv", results)


if __name__ == "__main__":
    main()
