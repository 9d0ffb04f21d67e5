"""All candidates under one protocol: tuned on one random split, then tested with these settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sureline.errors import DataError
from sureline.evaluation.metrics import Majority, majority_baseline
from sureline.evaluation.protocols import Judgement, Split, join_folds, split_once
from sureline.evaluation.search.candidates import Candidate, Settings
from sureline.evaluation.search.dataset import TEST_SHARE, Dataset, Protocol
from sureline.evaluation.search.trials import (
    Runner,
    Trial,
    count_by_pass,
    grid_trials,
    predict_split,
)
from sureline.evaluation.significance import mcnemar

LEVELS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


@dataclass(frozen=True, eq=False)
class Result:
    """How a candidate did."""

    learner: str
    baseline: bool  # whether it comes from scikit-learn
    settings: Settings  # as tuning chose them
    passes: int | None  # as tuning chose them; None for one that does not learn online
    judgement: Judgement
    deviation: float  # the standard deviation of the error over the folds; NaN without folds
    unconverged: int  # the number of trainings whose solver stopped before it converged
    p_value: float = 1.0  # McNemar's, against the best

    @property
    def error(self) -> float:
        """The share of rows it got wrong."""
        return self.judgement.error

    @property
    def seconds(self) -> float:
        """The mean processor time of one training, without computing the features."""
        return float(np.mean(self.judgement.seconds))

    @property
    def mark(self) -> str:
        """Stars for how significantly it is worse than the best."""
        return next((stars for level, stars in LEVELS if self.p_value < level), "")


class Comparison(NamedTuple):
    """How all candidates did on one task."""

    task: str
    rows: int
    judged: int  # the number of test rows
    classes: int
    majority: Majority  # the most frequent label of the training rows, and its error
    results: list[Result]  # the best first
    failures: dict[str, str]  # by name, why some candidates were left out


def compare(
    runner: Runner,
    candidates: Sequence[Candidate],
    protocol: Protocol,
    test: Dataset | None = None,
) -> Comparison:
    """Tune every candidate on one random split, then evaluate it with these settings.

    `test` has the rows to test on, for ``"hold-out"``; None: a random fifth of all rows.
    """
    dataset = runner.dataset
    splits = _split(dataset, protocol, test)
    whole = dataset if test is None else dataset.append(test)
    runner = replace(runner, dataset=whole)
    failures = {
        each.name: "cannot learn from features below 0"
        for each in candidates
        if whole.has_negative and not each.negative
    }
    if whole.rows.named_features is not None:
        why = "cannot learn here from features with values"
        failures |= {each.name: why for each in candidates if each.reads_texts}
    entered = [each for each in candidates if each.name not in failures]
    # Those that read texts have nothing to tune.
    readers = [each for each in entered if each.reads_texts]
    entered = [each for each in entered if not each.reads_texts]
    runner.compile(readers)
    runner.compile(entered)
    # Held-out rows take no part in tuning. With folds and blocks, all rows do, as in the papers.
    known = splits[0][0] if protocol.name == "hold-out" else np.arange(len(whole))
    train, rest = split_once(whole.labels[known], TEST_SHARE, protocol.seed)
    grid = grid_trials(entered, protocol)
    chosen = _tune(runner, (known[train], known[rest]), grid, failures)
    untuned = [Trial(each, each.grid[0], seed=protocol.seed) for each in readers]
    results = _judge("testing the default", runner, splits, untuned, protocol, failures)
    results += _judge("testing", runner, splits, chosen, protocol, failures)
    if not results:
        reasons = "; ".join(f"{name}: {why}" for name, why in failures.items())
        raise DataError(f"none of the learners could learn from {dataset.name}: {reasons}")
    results.sort(key=lambda each: each.error)
    best = results[0].judgement
    ranked = [
        replace(each, p_value=mcnemar(best.right, each.judgement.right).p_value) for each in results
    ]
    learned = whole.labels[splits[0][0]] if len(splits) == 1 else whole.labels
    return Comparison(
        task=dataset.name,
        rows=len(whole),
        judged=int(best.truth.size),
        classes=int(whole.classes.size),
        majority=majority_baseline(learned, best.truth),
        results=ranked,
        failures=failures,
    )


def _split(dataset: Dataset, protocol: Protocol, test: Dataset | None) -> list[Split]:
    """How the protocol splits the rows; those of `test` follow those of `dataset`."""
    n = len(dataset)
    if test is not None:
        return [(np.arange(n), np.arange(n, n + len(test)))]
    splits = protocol.split(dataset.labels)
    if protocol.name != "progressive":
        return splits
    kept = [(train, rest) for train, rest in splits if np.unique(dataset.labels[train]).size > 1]
    if not kept:
        raise DataError(
            f"{dataset.name}: the rows begin with one label only, so that nothing can be learned "
            "before the last block; shuffle the rows"
        )
    return kept


def _tune(
    runner: Runner, split: Split, grid: Sequence[Trial], failures: dict[str, str]
) -> list[Trial]:
    """The trial of each candidate with the fewest mistakes, with the passes that this took."""
    found, failed = runner.run("tuning", count_by_pass, [split], grid)
    best = dict[str, tuple[int, Trial]]()
    for number, [mistakes] in found.items():
        trial, passes = grid[number], int(np.argmin(mistakes.wrong))
        wrong = int(mistakes.wrong[passes])
        name = trial.candidate.name
        if name not in best or wrong < best[name][0]:
            best[name] = wrong, trial._replace(passes=passes + 1)
    for number, reason in failed.items():
        if grid[number].candidate.name not in best:
            failures.setdefault(grid[number].candidate.name, reason)
    return [trial for _, trial in best.values()]


def _judge(
    stage: str,
    runner: Runner,
    splits: Sequence[Split],
    chosen: Sequence[Trial],
    protocol: Protocol,
    failures: dict[str, str],
) -> list[Result]:
    """How each candidate does on the splits of the protocol."""
    if not chosen:
        return []
    found, failed = runner.run(stage, predict_split, splits, chosen)
    failures.update({chosen[number].candidate.name: reason for number, reason in failed.items()})
    results = list[Result]()
    for number, predictions in found.items():
        candidate, settings, passes, _ = chosen[number]
        guesses, seconds, converged = zip(*predictions, strict=True)
        judgement = join_folds(runner.dataset.labels, splits, guesses, seconds)
        results.append(
            Result(
                learner=candidate.name,
                baseline=candidate.baseline,
                settings=settings,
                passes=passes if candidate.online else None,
                judgement=judgement,
                # Blocks differ in size, and so do not compare.
                deviation=judgement.deviation if protocol.name == "k-fold" else float("nan"),
                unconverged=converged.count(False),
            )
        )
    return results
