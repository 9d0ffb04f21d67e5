"""Trials: one candidate with given settings trained on one split, many of them at a time."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from sklearn import config_context  # type: ignore[attr-defined]
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from sureline.errors import SurelineError
from sureline.estimators import TextClassifier
from sureline.estimators.validation import choose_rule
from sureline.evaluation.learning_curves import learn_in_steps
from sureline.evaluation.prequential import progressive
from sureline.evaluation.protocols import Split
from sureline.evaluation.search.candidates import Candidate, Settings
from sureline.evaluation.search.dataset import Dataset, Protocol, split_features

# Called with the name of a stage and its number of trainings; gives what is called after each.
Progress = Callable[[str, int], Callable[[], object]]


def no_progress(stage: str, total: int) -> Callable[[], object]:
    """Show nothing."""
    return lambda: None


class Trial(NamedTuple):
    """A candidate, its settings, the passes to make if it learns online, and the random seed."""

    candidate: Candidate
    settings: Settings
    passes: int = 1
    seed: int = 0

    def build(self) -> Any:
        """Return an unfitted classifier."""
        return self.candidate.build(self.settings, self.seed)


class SplitData(NamedTuple):
    """The training rows and the test rows of a split, as matrices or texts."""

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    X_test: Any
    y_test: NDArray[Any]


class Mistakes(NamedTuple):
    """How many of the test rows were predicted wrongly after each pass, and how many there are."""

    wrong: NDArray[np.int64]
    judged: int


class Prediction(NamedTuple):
    """Predicted labels, the processor time of the training, and whether its solver converged."""

    labels: NDArray[Any]
    seconds: float
    converged: bool


def grid_trials(candidates: Iterable[Candidate], protocol: Protocol) -> list[Trial]:
    """Return a trial for all settings of all candidates."""
    return [
        Trial(candidate, settings, protocol.passes, protocol.seed)
        for candidate in candidates
        for settings in candidate.grid
    ]


# -- what is done with a split -----------------------------------------------------------------


def count_by_pass(data: SplitData, trial: Trial) -> Mistakes:
    """Learn the training rows and count the mistakes on the test rows, after each pass."""
    model, candidate = trial.build(), trial.candidate
    if candidate.online:
        stops = data.y.size * np.arange(1, trial.passes + 1)
        models: Any = learn_in_steps(model, data.X, data.y, stops, data.weight)
    else:
        models = [_fit(model, candidate, data)]
    wrong = [int((trained.predict(data.X_test) != data.y_test).sum()) for trained in models]
    return Mistakes(np.array(wrong, np.int64), int(data.y_test.size))


def count_progressive(data: SplitData, trial: Trial) -> Mistakes:
    """Learn the training rows in order, each predicted just before, and count the mistakes.

    Learning counts them itself, as `n_mistakes_`. Only a classifier that predicts by the average of
    its weights, but learns by the last, must predict row by row.
    """
    model, y, weight = trial.build(), data.y, data.weight
    classes = np.unique(y)
    rule = choose_rule(model.estimator if isinstance(model, TextClassifier) else model)
    if rule.average:
        found = progressive(model, data.X, y, classes=classes, sample_weight=weight)
        return Mistakes(np.array([(~found.right[0]).sum()]), y.size)
    model.partial_fit(data.X, y, classes, sample_weight=weight)
    # Rows of weight 0 are not learned, and so not tested.
    return Mistakes(np.array([model.n_mistakes_]), int(model.n_seen_))


def predict_split(data: SplitData, trial: Trial) -> Prediction:
    """Learn the training rows and predict the test rows."""
    model, candidate = trial.build(), trial.candidate
    if candidate.online:
        model.set_params(max_iter=trial.passes)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        start = process_time()
        _fit(model, candidate, data)
        seconds = process_time() - start
        labels = np.asarray(model.predict(_convert(data.X_test, candidate)))
    return Prediction(labels, seconds, not caught)


def _fit(model: Any, candidate: Candidate, data: SplitData) -> Any:
    weights = {} if data.weight is None else {"sample_weight": data.weight}
    with config_context(enable_metadata_routing=bool(weights)):
        return model.fit(_convert(data.X, candidate), data.y, **weights)


def _convert(matrix: Any, candidate: Candidate) -> Any:
    """The matrix in double precision for scikit-learn, whose solvers need it."""
    return matrix.astype(np.float64) if candidate.baseline else matrix


# -- many trials at a time ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Runner:
    """Runs trials on splits of a dataset, in several processes.

    The features of a split are computed once for all trials, while earlier trials are running.
    joblib shares large matrices with the processes by memory-mapped files.
    """

    dataset: Dataset
    options: Mapping[str, Any] = field(default_factory=dict)  # the parameters of `TextFeatures`
    jobs: int = 1  # processes; -1 for one per core. The results do not depend on it
    progress: Progress = no_progress
    unknown: bool = False  # whether features of test rows alone count in the length of a text

    def run(
        self,
        stage: str,
        function: Callable[[SplitData, Trial], Any],
        splits: Sequence[Split],
        trials: Sequence[Trial],
    ) -> tuple[dict[int, list[Any]], dict[int, str]]:
        """Apply `function` to every split and trial.

        Return, by the number of the trial, its results on all splits, and why it failed, if it did.
        Training rows are learned in the order of the split.
        """
        advance = self.progress(stage, len(splits) * len(trials))
        calls = (
            delayed(_attempt)(function, data, trial)
            for split in (splits if trials else ())
            for data in (self._load(split, trials),)
            for trial in trials
        )
        found = list[tuple[Any, str]]()
        for each in self._in_parallel(calls):
            advance()
            found.append(each)
        results, failures = dict[int, list[Any]](), dict[int, str]()
        for number in range(len(trials)):
            outcomes, reasons = zip(*found[number :: len(trials)], strict=True)
            if any(reasons):
                failures[number] = next(filter(None, reasons))
            else:
                results[number] = list(outcomes)
        return results, failures

    def compile(self, candidates: Sequence[Candidate]) -> None:
        """Compile what the candidates need, once, before several processes need it.

        Numba's cache on disk is shared by processes, but two that fill it at the same moment may
        compile the same code twice, or undo what the other wrote.
        """
        compiled = [candidate for candidate in candidates if not candidate.baseline]
        if effective_n_jobs(self.jobs) == 1 or not compiled:
            return
        advance = self.progress("compiling", len(compiled))
        _, firsts = np.unique(self.dataset.labels, return_index=True)
        few = np.concatenate([firsts[:3], firsts[:3]])
        trials = [Trial(candidate, candidate.grid[0]) for candidate in compiled]
        data = self._load((few, few), trials)
        for trial in trials:
            count_by_pass(data, trial)
            advance()

    def _load(self, split: Split, trials: Sequence[Trial]) -> SplitData:
        """The rows of a split, as all of `trials` read them."""
        train, test = split
        dataset, weight = self.dataset, self.dataset.rows.weight
        if any(trial.candidate.reads_texts for trial in trials):
            X, X_test = (dataset.rows.take(some).text for some in split)
        else:
            X, X_test = split_features(dataset, split, self.options, self.unknown)
        own = None if weight is None else weight[train]
        return SplitData(X, dataset.labels[train], own, X_test, dataset.labels[test])

    def _in_parallel(self, calls: Iterator[Any]) -> Iterator[Any]:
        """The results of the calls, in order."""
        parallel = Parallel(self.jobs, return_as="generator", mmap_mode="c")
        first = list(islice(calls, 1))  # its features are computed where Ctrl-C still works
        try:
            with _ignore_interrupts():
                results = parallel(chain(first, calls))
            with warnings.catch_warnings():
                # joblib's, where Ctrl-C comes while a result is being used.
                warnings.filterwarnings("ignore", r"\d+ tasks ", UserWarning)
                yield from results
        except BrokenProcessPool:
            raise SurelineError(
                "a worker process was killed, perhaps for lack of memory; use fewer processes, or "
                "fewer rows"
            ) from None


def _attempt(function: Callable[..., Any], data: SplitData, trial: Trial) -> tuple[Any, str]:
    """The result, or why there is none; in one thread, as the processes share the cores."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(data, trial), ""
        except (SurelineError, ValueError) as problem:
            return None, str(problem)


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Processes that start now ignore Ctrl-C for good and leave it to this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
