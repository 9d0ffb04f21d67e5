"""All candidates under one protocol: tuned on one random split, then judged with that fixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sureline.errors import DataError, InvalidParameter
from sureline.evaluation.baselines import Majority, majority_baseline
from sureline.evaluation.learning_curves import learn_in_steps
from sureline.evaluation.protocols import (
    Judgement,
    Split,
    growing_blocks,
    split_folds,
    split_once,
)
from sureline.evaluation.search.candidates import Candidate
from sureline.evaluation.search.samples import Sample, join_samples, split_features
from sureline.evaluation.search.trials import (
    Study,
    Trial,
    Verdict,
    judge_settings,
    stored,
    try_settings,
)
from sureline.evaluation.search.workers import run_units
from sureline.evaluation.significance import mcnemar

Protocol = Literal["k-fold", "hold-out", "progressive"]
PROTOCOLS = ("k-fold", "hold-out", "progressive")
TUNING_SHARE = 0.2  # of the rows, on which settings are judged
LEVELS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


@dataclass(frozen=True, eq=False)
class Standing:
    """How a candidate did.

    Parameters
    ----------
    learner : str
        Its name.
    baseline : bool
        Whether it comes from scikit-learn.
    settings : dict
        The parameters it was given by tuning.
    passes : int or None
        The number of passes it was given; None where it makes none.
    judgement : Judgement
        What it said of every judged row.
    p_value : float
        McNemar's, against the best; 1 for the best itself.
    unfinished : int
        In how many folds its solver was stopped before it converged.
    alike : bool
        Whether the folds are of one size, so that their errors can be compared.
    """

    learner: str
    baseline: bool
    settings: Mapping[str, Any]
    passes: int | None
    judgement: Judgement
    p_value: float = 1.0
    unfinished: int = 0
    alike: bool = True

    @property
    def error(self) -> float:
        """The share of rows it got wrong."""
        return self.judgement.error

    @property
    def deviation(self) -> float:
        """The standard deviation of the error over the folds; NaN where these are not alike."""
        return self.judgement.deviation if self.alike else float("nan")

    @property
    def seconds(self) -> float:
        """The mean processor time of one training, features not counted."""
        return float(np.mean(self.judgement.seconds))

    @property
    def mark(self) -> str:
        """Stars for how significantly it is worse than the best."""
        return next((stars for level, stars in LEVELS if self.p_value < level), "")


@dataclass(frozen=True, eq=False)
class Contest:
    """How all candidates did on one task.

    Parameters
    ----------
    task : str
        The name of the rows.
    rows : int
        How many there are.
    judged : int
        How many were judged.
    classes : int
        How many labels there are.
    majority : Majority
        The most frequent label among those learned, and how often it is wrong.
    standings : list of Standing
        The best first.
    failures : dict
        Why some candidates could not take part, by name.
    """

    task: str
    rows: int
    judged: int
    classes: int
    majority: Majority
    standings: list[Standing]
    failures: dict[str, str]


class Watcher:
    """Is told how a contest gets on; this one shows nothing."""

    def begin(self, stage: str, total: int) -> None:
        """A stage with so many units begins."""

    def advance(self) -> None:
        """A unit is done."""


def run_contest(
    sample: Sample,
    candidates: Sequence[Candidate],
    *,
    protocol: Protocol = "k-fold",
    folds: int = 10,
    test: Sample | None = None,
    test_size: float = 0.2,
    passes: int = 10,
    seed: int = 0,
    shuffle: bool = True,
    options: Mapping[str, Any] | None = None,
    jobs: int = 1,
    watcher: Watcher | None = None,
) -> Contest:
    """Tune every candidate on one random split, fix that, and judge it by the protocol.

    Parameters
    ----------
    sample : Sample
        The rows.
    candidates : sequence of Candidate
        Who takes part.
    protocol : {"k-fold", "hold-out", "progressive"}, default="k-fold"
        How they are judged: on folds, on rows held out, or on blocks that grow, each predicted
        before it is learned.
    folds : int, default=10
        How many folds.
    test : Sample, default=None
        For ``"hold-out"``: the rows to judge on. None: a random part of `sample`.
    test_size : float, default=0.2
        For ``"hold-out"``: how large that part is.
    passes : int, default=10
        How many passes online learners may make.
    seed : int, default=0
        Where all randomness comes from.
    shuffle : bool, default=True
        For ``"progressive"``: whether rows are mixed first.
    options : dict, default=None
        The parameters of `TextFeatures`.
    jobs : int, default=1
        How many processes work.
    watcher : Watcher, default=None
        Who is told how it gets on.

    Returns
    -------
    Contest
        How all did, the best first.
    """
    told = watcher or Watcher()
    whole, splits = _splits(sample, protocol, folds, test, test_size, seed, shuffle)
    # Held-out rows take no part in tuning. With folds and blocks, all rows do, as in the papers.
    known = splits[0][0] if protocol == "hold-out" else np.arange(len(whole))
    inner_train, inner_test = split_once(whole.labels[known], TUNING_SHARE, seed)
    study = Study(whole, [(known[inner_train], known[inner_test]), *splits], options or {}, seed)
    failures = dict[str, str]()
    entered = list[Candidate]()
    for each in candidates:
        if whole.negative and not each.negative:
            failures[each.name] = "cannot learn from features below 0"
        else:
            entered.append(each)
    with stored(study) as path:
        chosen = _tune(path, entered, passes, jobs, told, failures)
        left = [each for each in entered if each.name in chosen]
        if not left:
            reasons = "; ".join(f"{name}: {why}" for name, why in failures.items())
            raise DataError(f"none of the learners could learn from {sample.name}: {reasons}")
        standings = _judge(path, study, left, chosen, jobs, told, failures)
    standings.sort(key=lambda each: each.error)
    best = standings[0]
    ranked = [
        replace(
            each,
            p_value=mcnemar(best.judgement.right, each.judgement.right).p_value,
            alike=protocol == "k-fold",
        )
        for each in standings
    ]
    truth = best.judgement.truth
    learned = whole.labels[splits[0][0]] if len(splits) == 1 else whole.labels
    return Contest(
        task=sample.name,
        rows=len(whole),
        judged=int(truth.size),
        classes=int(whole.classes.size),
        majority=majority_baseline(learned, truth),
        standings=ranked,
        failures=failures,
    )


def _splits(
    sample: Sample,
    protocol: str,
    folds: int,
    test: Sample | None,
    test_size: float,
    seed: int,
    shuffle: bool,
) -> tuple[Sample, list[Split]]:
    """All rows, and how the protocol splits them."""
    if protocol == "k-fold":
        return sample, split_folds(sample.labels, folds, seed)
    if protocol == "progressive":
        splits = growing_blocks(len(sample), random_state=seed if shuffle else None)
        kept = [(train, rest) for train, rest in splits if np.unique(sample.labels[train]).size > 1]
        if not kept:
            raise DataError(
                f"{sample.name}: the rows begin with one label only, so that nothing can be "
                "learned before the last block; leave out --no-shuffle, or mix the rows beforehand"
            )
        return sample, kept
    if protocol != "hold-out":
        raise InvalidParameter(
            f"protocol must be {' or '.join(map(repr, PROTOCOLS))}, got {protocol!r}"
        )
    if test is None:
        return sample, [split_once(sample.labels, test_size, seed)]
    whole = join_samples(sample, test)
    n = len(sample)
    return whole, [(np.arange(n), np.arange(n, len(whole)))]


def _tune(
    path: str,
    candidates: Sequence[Candidate],
    passes: int,
    jobs: int,
    watcher: Watcher,
    failures: dict[str, str],
) -> dict[str, tuple[Mapping[str, Any], int]]:
    """The settings and the number of passes with the least error on the tuning split, by name."""
    units = [
        (path, 0, candidate, settings, passes)
        for candidate in candidates
        for settings in candidate.grid
    ]
    watcher.begin("tuning", len(units))
    trials = dict[int, Trial]()
    for number, trial in run_units(try_settings, units, jobs):
        trials[number] = trial
        watcher.advance()
    best = dict[str, tuple[int, int, Mapping[str, Any]]]()
    for number, (_, _, candidate, settings, _) in enumerate(units):
        trial, name = trials[number], candidate.name
        if trial.failure:
            failures.setdefault(name, trial.failure)
            continue
        after = int(np.argmin(trial.wrong))
        wrong = int(trial.wrong[after])
        if name not in best or wrong < best[name][0]:
            best[name] = wrong, after + 1, settings
    for name in best:
        failures.pop(name, None)
    return {name: (settings, after) for name, (_, after, settings) in best.items()}


def _judge(
    path: str,
    study: Study,
    candidates: Sequence[Candidate],
    chosen: Mapping[str, tuple[Mapping[str, Any], int]],
    jobs: int,
    watcher: Watcher,
    failures: dict[str, str],
) -> list[Standing]:
    """How each candidate does on the splits of the protocol, with what tuning chose."""
    folds = range(1, len(study.splits))
    # One split after the other, so that its features are made once for all candidates.
    units = [
        (path, number, candidate, *chosen[candidate.name])
        for number in folds
        for candidate in candidates
    ]
    watcher.begin("judging", len(units))
    verdicts = dict[int, Verdict]()
    for number, verdict in run_units(judge_settings, units, jobs):
        verdicts[number] = verdict
        watcher.advance()
    standings = list[Standing]()
    for at, candidate in enumerate(candidates):
        own = [verdicts[k] for k in range(at, len(units), len(candidates))]
        failed = next((each.failure for each in own if each.failure), "")
        if failed:
            failures[candidate.name] = failed
            continue
        settings, passes = chosen[candidate.name]
        standings.append(
            Standing(
                learner=candidate.name,
                baseline=candidate.baseline,
                settings=settings,
                passes=passes if candidate.passes else None,
                judgement=_collected(own, study),
                unfinished=sum(not each.converged for each in own),
            )
        )
    if not standings:
        reasons = "; ".join(f"{name}: {why}" for name, why in failures.items())
        raise DataError(f"none of the learners could learn: {reasons}")
    return standings


def _collected(verdicts: Iterable[Verdict], study: Study) -> Judgement:
    """What a candidate said of all judged rows."""
    some = list(verdicts)
    tests = [test for _, test in study.splits[1:]]
    judged = np.concatenate(tests)
    order = np.argsort(judged, kind="stable")
    fold = np.repeat(np.arange(len(tests)), [test.size for test in tests])
    predictions: NDArray[Any] = np.concatenate([each.predictions for each in some])
    return Judgement(
        rows=judged[order],
        truth=study.sample.labels[judged[order]],
        predictions=predictions[order],
        fold=fold[order],
        seconds=tuple(each.seconds for each in some),
    )


def warm_up(
    candidates: Iterable[Candidate],
    sample: Sample,
    options: Mapping[str, Any],
    raw: bool = False,
    watcher: Watcher | None = None,
) -> None:
    """Compile what the candidates need, here and once, before several processes need it at a time.

    Numba's cache on disk is shared by processes, but two that fill it at the same moment may
    compile the same code twice, or undo what the other wrote.
    """
    _, firsts = np.unique(sample.labels, return_index=True)
    few = np.concatenate([firsts[:3], firsts[:3]])
    tiny = Sample(sample.name, sample.rows.take(few))
    X: Any = tiny.rows.text
    if not raw:
        X, _ = split_features(tiny, np.arange(few.size), np.arange(few.size), options)
    stops = np.array([few.size])
    compiled = [candidate for candidate in candidates if not candidate.baseline]
    told = watcher or Watcher()
    told.begin("preparing", len(compiled))
    for candidate in compiled:
        told.advance()
        model = candidate.make(candidate.grid[0], 0)
        for trained in learn_in_steps(model, X, tiny.labels, stops):
            trained.predict(X)
