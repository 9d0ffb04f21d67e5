"""A search for the best rule, settings and number of passes, by successive halving.

All settings begin on few rows. The better half goes on to a round with about twice as many, until
all rows are used. scikit-learn's halving searches cut the rows anew and train every candidate from
scratch inside cross-validation; here rows come as a stream does. A round judges the next rows of
the stream by what was learned from those before, and so no row is predicted after it was learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from sureline.errors import DataError, InvalidParameter
from sureline.evaluation.protocols import Split, growing_blocks, split_folds, split_once
from sureline.evaluation.search.candidates import Candidate
from sureline.evaluation.search.comparison import Protocol, Watcher
from sureline.evaluation.search.samples import Sample
from sureline.evaluation.search.trials import Study, Trial, count_mistakes, stored, try_settings
from sureline.evaluation.search.workers import run_units

PROTOCOLS = ("progressive", "hold-out", "k-fold")
FEW_ROWS = 500  # rounds on fewer rows would choose by chance
PARTS = 16  # the first round takes such a part of the rows, unless these are too few
FINALISTS = 4  # so many settings, at least, see all rows


@dataclass(frozen=True, eq=False)
class Tried:
    """How one setting of one candidate did.

    Parameters
    ----------
    learner : str
        The candidate's name.
    settings : dict
        Its parameters.
    passes : int
        The number of passes with which it did best, the fewest of equal ones.
    error : float
        The share of rows it then got wrong.
    judged : int
        How many rows that is of.
    rounds : int
        Through how many rounds it came.
    finished : bool
        Whether it came through all of them.
    """

    learner: str
    settings: Mapping[str, Any]
    passes: int
    error: float
    judged: int
    rounds: int
    finished: bool


@dataclass(frozen=True, eq=False)
class Search:
    """What a search finds.

    Parameters
    ----------
    tried : list of Tried
        All settings: those that came through more rounds first, and among them the better ones.
    failures : dict
        Why some settings could not be learned with, by candidate.
    """

    tried: list[Tried]
    failures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Round:
    """Which splits a round judges on, and whether what earlier rounds found counts as well."""

    splits: tuple[int, ...]
    pooled: bool


def search(
    sample: Sample,
    candidates: Sequence[Candidate],
    *,
    protocol: Protocol = "progressive",
    passes: int = 10,
    folds: int = 5,
    test_size: float = 0.2,
    halving: bool = True,
    seed: int = 0,
    shuffle: bool = True,
    options: Mapping[str, Any] | None = None,
    raw: bool = False,
    jobs: int = 1,
    watcher: Watcher | None = None,
) -> Search:
    """Look for the settings with the least error.

    Parameters
    ----------
    sample : Sample
        The rows.
    candidates : sequence of Candidate
        Who is tuned, each over its grid.
    protocol : {"progressive", "hold-out", "k-fold"}, default="progressive"
        How they are judged. Progressive: with one pass, every row is predicted just before it is
        learned; with more, blocks of rows are predicted that grow, each before it is learned.
    passes : int, default=10
        How many passes may be made.
    folds : int, default=5
        How many folds, for ``"k-fold"``.
    test_size : float, default=0.2
        Which part of the rows is judged on, for ``"hold-out"``.
    halving : bool, default=True
        Whether the worse half is left out after each round, or all see all rows.
    seed : int, default=0
        Where all randomness comes from.
    shuffle : bool, default=True
        Whether rows are mixed, or kept in order.
    options : dict, default=None
        The parameters of `TextFeatures`, or of `TextClassifier` if `raw`.
    raw : bool, default=False
        Whether candidates learn from texts rather than from matrices.
    jobs : int, default=1
        How many processes work.
    watcher : Watcher, default=None
        Who is told how it gets on.

    Returns
    -------
    Search
        All that was tried, the best first.
    """
    told = watcher or Watcher()
    stepwise = protocol == "progressive" and passes == 1
    splits, rounds = _plan(sample, protocol, stepwise, folds, test_size, halving, seed, shuffle)
    study = Study(sample, splits, options or {}, seed, raw, unknown=True)
    entries = [(candidate, settings) for candidate in candidates for settings in candidate.grid]
    alive = list(range(len(entries)))
    wrong = np.zeros((len(entries), passes), np.int64)
    judged = np.zeros(len(entries), np.int64)
    came = np.zeros(len(entries), np.int64)
    failures = dict[str, str]()
    with stored(study) as path:
        for number, each in enumerate(rounds):
            units = [(path, split, *entries[k], passes) for split in each.splits for k in alive]
            told.begin(f"round {number + 1} of {len(rounds)}", len(units))
            if not each.pooled:
                wrong[alive], judged[alive] = 0, 0
            failed = set[int]()
            task = count_mistakes if stepwise else try_settings
            for unit, trial in run_units(task, units, jobs):
                told.advance()
                k = alive[unit % len(alive)]
                if trial.failure:
                    failures.setdefault(entries[k][0].name, trial.failure)
                    failed.add(k)
                else:
                    _add(wrong, judged, k, trial)
            alive = [k for k in alive if k not in failed]
            if not alive:
                reasons = "; ".join(f"{name}: {why}" for name, why in failures.items())
                raise DataError(f"nothing could be learned from {sample.name}: {reasons}")
            came[alive] = number + 1
            if halving and number + 1 < len(rounds):
                kept = max(ceil(len(alive) / 2), FINALISTS)
                order = sorted(alive, key=lambda k: (wrong[k].min() / judged[k], k))
                alive = sorted(order[:kept])
    tried = [
        Tried(
            learner=entries[k][0].name,
            settings=entries[k][1],
            passes=int(np.argmin(wrong[k])) + 1,
            error=float(wrong[k].min() / judged[k]),
            judged=int(judged[k]),
            rounds=int(came[k]),
            finished=bool(came[k] == len(rounds)),
        )
        for k in range(len(entries))
        if came[k]
    ]
    # A stable sort: of equals, fewer passes, and what is nearer to the defaults.
    tried.sort(key=lambda each: (-each.rounds, each.error, each.passes))
    return Search(tried, failures)


def _add(wrong: NDArray[np.int64], judged: NDArray[np.int64], k: int, trial: Trial) -> None:
    """Count what a trial found."""
    wrong[k] += trial.wrong
    judged[k] += trial.judged


def _plan(
    sample: Sample,
    protocol: str,
    stepwise: bool,
    folds: int,
    test_size: float,
    halving: bool,
    seed: int,
    shuffle: bool,
) -> tuple[list[Split], list[_Round]]:
    """All splits, and which of them each round judges on."""
    n = len(sample)
    if protocol not in PROTOCOLS:
        raise InvalidParameter(
            f"protocol must be {' or '.join(map(repr, PROTOCOLS))}, got {protocol!r}"
        )
    if n < 4:
        raise DataError(f"{sample.name} has {n} rows, which is too few to tune on; give more")
    rng = check_random_state(seed)
    if protocol == "progressive":
        first = min(max(n // PARTS, FEW_ROWS), n // 2)
        blocks = growing_blocks(n, first=first, random_state=seed if shuffle else None)
        if not stepwise:
            return blocks, _rounds(len(blocks), 1, halving, pooled=True)
        order = np.concatenate([blocks[0][0], *(test for _, test in blocks)])
        ends = [train.size + test.size for train, test in blocks]
        if not halving:
            ends = ends[-1:]
        prefixes = [(order[:end], order[:0]) for end in ends]
        return prefixes, _rounds(len(prefixes), 1, True, pooled=False)
    whole = (
        [split_once(sample.labels, test_size, seed)]
        if protocol == "hold-out"
        else split_folds(sample.labels, folds, seed)
    )
    mixed = [(rng.permutation(train) if shuffle else train, test) for train, test in whole]
    sizes = [1.0]
    while halving and sizes[0] / 2 * mixed[0][0].size >= FEW_ROWS and len(sizes) < 5:
        sizes.insert(0, sizes[0] / 2)
    splits = [(train[: int(share * train.size)], test) for share in sizes for train, test in mixed]
    return splits, _rounds(len(sizes), len(mixed), True, pooled=False)


def _rounds(count: int, width: int, separate: bool, pooled: bool) -> list[_Round]:
    """Rounds of `width` splits each, or, if they are not `separate`, one round of all."""
    every = [tuple(range(k * width, (k + 1) * width)) for k in range(count)]
    if not separate:
        return [_Round(tuple(k for some in every for k in some), pooled)]
    return [_Round(some, pooled) for some in every]
