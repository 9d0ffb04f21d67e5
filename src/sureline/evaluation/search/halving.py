"""A search for the best rule, settings and number of passes, by successive halving.

All settings begin on few rows. The better half goes on to a round with about twice as many, until
all rows are used. scikit-learn's halving searches draw the rows anew and train every candidate from
scratch inside cross-validation; here rows come as a stream does. A round judges the next rows of
the stream by what was learned from those before, and so no row is predicted after it was learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sureline.errors import DataError
from sureline.evaluation.protocols import Split
from sureline.evaluation.search.candidates import Candidate, Settings
from sureline.evaluation.search.dataset import Dataset, Protocol
from sureline.evaluation.search.trials import (
    Runner,
    count_by_pass,
    count_progressive,
    grid_trials,
)

FEW_ROWS = 500  # rounds on fewer rows would choose by chance
SHARE = 16  # the first round uses a 16th of the rows, unless that is too few
FINALISTS = 4  # at least so many settings see all rows
MOST_ROUNDS = 5


class Tried(NamedTuple):
    """How one setting of one rule did."""

    rule: str
    settings: Settings
    passes: int  # the number with the lowest error, the fewest of equal ones
    error: float
    judged: int  # the number of test rows
    rounds: int  # the number of rounds it took part in
    finished: bool  # whether it took part in all of them


class Search(NamedTuple):
    """What a search finds: all settings, the best first, and why some failed, by candidate."""

    tried: list[Tried]
    failures: dict[str, str]


class _Round(NamedTuple):
    """The splits of a round, and whether the mistakes of earlier rounds count as well."""

    splits: list[Split]
    pooled: bool = False


def tune(
    runner: Runner,
    candidates: Sequence[Candidate],
    protocol: Protocol,
    halving: bool = True,
) -> Search:
    """Search for the settings with the lowest error; later rounds come first, then the better ones.

    With the progressive protocol and one pass, every row is predicted just before it is learned;
    with more, growing blocks of rows are, each before it is learned. Without `halving`, all
    settings see all rows.
    """
    by_row = protocol.name == "progressive" and protocol.passes == 1
    rounds = _plan(runner.dataset, protocol, by_row, halving)
    runner = replace(runner, unknown=True)
    runner.compile(candidates)
    trials = grid_trials(candidates, protocol)
    alive = list(range(len(trials)))
    wrong = np.zeros((len(trials), protocol.passes), np.int64)
    judged, rounds_of = np.zeros((2, len(trials)), np.int64)
    failures = dict[str, str]()
    for number, each in enumerate(rounds, 1):
        found, failed = runner.run(
            f"round {number} of {len(rounds)}",
            count_progressive if by_row else count_by_pass,
            each.splits,
            [trials[k] for k in alive],
        )
        for place, reason in failed.items():
            failures.setdefault(trials[alive[place]].candidate.name, reason)
        alive = [alive[place] for place in found]
        if not alive:
            reasons = "; ".join(f"{name}: {why}" for name, why in failures.items())
            raise DataError(f"nothing could be learned from {runner.dataset.name}: {reasons}")
        for k, mistakes in zip(alive, found.values(), strict=True):
            kept = int(each.pooled)
            wrong[k] = kept * wrong[k] + sum(some.wrong for some in mistakes)
            judged[k] = kept * judged[k] + sum(some.judged for some in mistakes)
        rounds_of[alive] = number
        if halving and number < len(rounds):
            best = sorted(alive, key=lambda k: (wrong[k].min() / judged[k], k))
            alive = sorted(best[: max(ceil(len(alive) / 2), FINALISTS)])
    tried = [
        Tried(
            rule=trials[k].candidate.name,
            settings=trials[k].settings,
            passes=int(np.argmin(wrong[k])) + 1,
            error=float(wrong[k].min() / judged[k]),
            judged=int(judged[k]),
            rounds=int(rounds_of[k]),
            finished=bool(rounds_of[k] == len(rounds)),
        )
        for k in np.flatnonzero(rounds_of)
    ]
    # A stable sort: of equals, fewer passes, and what is nearer to the defaults.
    tried.sort(key=lambda each: (-each.rounds, each.error, each.passes))
    return Search(tried, failures)


def _plan(dataset: Dataset, protocol: Protocol, by_row: bool, halving: bool) -> list[_Round]:
    """The splits of each round."""
    n = len(dataset)
    if n < 4:
        raise DataError(f"{dataset.name} has {n} rows, which is too few to tune on; give more")
    splits = protocol.split(dataset.labels, min(max(n // SHARE, FEW_ROWS), n // 2))
    if by_row:
        order = np.concatenate([splits[0][0], *(test for _, test in splits)])
        ends = [train.size + test.size for train, test in splits]
        return [_Round([(order[:end], order[:0])]) for end in (ends if halving else ends[-1:])]
    if protocol.name == "progressive":
        return [_Round([split], pooled=True) for split in splits] if halving else [_Round(splits)]
    if protocol.shuffle:
        rng = check_random_state(protocol.seed)
        splits = [(rng.permutation(train), test) for train, test in splits]
    shares = [1.0]
    while halving and shares[0] / 2 * splits[0][0].size >= FEW_ROWS and len(shares) < MOST_ROUNDS:
        shares.insert(0, shares[0] / 2)
    return [
        _Round([(train[: int(share * train.size)], test) for train, test in splits])
        for share in shares
    ]
