"""One candidate with given settings on one split: what `compare` and `tune` do many times.

These functions run in other processes. A study is written to a file once, and each process reads it
once; the features of a split are made once, for all candidates that come to it one after the other.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn._config import config_context
from sklearn.exceptions import ConvergenceWarning

from sureline.errors import SurelineError
from sureline.estimators import TextClassifier
from sureline.estimators.validation import choose_rule
from sureline.evaluation.learning_curves import learn_in_steps
from sureline.evaluation.prequential import progressive
from sureline.evaluation.protocols import Split
from sureline.evaluation.search.candidates import Candidate
from sureline.evaluation.search.samples import Sample, split_features

Settings = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Study:
    """Rows, how they are split, and how texts become features.

    Parameters
    ----------
    sample : Sample
        The rows.
    splits : list of (train, test)
        Row numbers; they are learned in the order in which `train` has them.
    options : dict
        The parameters of `TextFeatures`.
    seed : int
        Where the random orders come from.
    raw : bool
        Whether candidates learn from the texts themselves.
    unknown : bool
        Whether words count in the length of a judged text that no learned one has.
    """

    sample: Sample
    splits: list[Split]
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    raw: bool = False
    unknown: bool = False


@dataclass(frozen=True, eq=False)
class Trial:
    """How often a candidate was wrong about the judged rows of a split.

    Parameters
    ----------
    wrong : int array of shape (passes,)
        How many rows it got wrong after each pass; one number for those that make none.
    judged : int
        How many rows that is of.
    failure : str
        Why it could not learn, if it could not.
    """

    wrong: NDArray[np.int64]
    judged: int
    failure: str = ""


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a candidate said of the judged rows of a split.

    Parameters
    ----------
    predictions : array
        Its labels for them.
    seconds : float
        The processor time it took to learn, features not counted.
    converged : bool
        Whether it came to its end, or had to be stopped.
    failure : str
        Why it could not learn, if it could not.
    """

    predictions: NDArray[Any]
    seconds: float
    converged: bool
    failure: str = ""


@contextmanager
def stored(study: Study) -> Iterator[str]:
    """The path of a file that holds the study, for as long as it is needed."""
    with TemporaryDirectory(prefix="sureline-") as folder:
        path = Path(folder, "study")
        path.write_bytes(pickle.dumps(study, protocol=pickle.HIGHEST_PROTOCOL))
        yield str(path)
    _study.cache_clear()
    _parts.cache_clear()


@lru_cache(maxsize=1)
def _study(path: str) -> Study:
    study: Study = pickle.loads(Path(path).read_bytes())  # noqa: S301, written just before, by us
    return study


@dataclass(frozen=True, eq=False)
class _Parts:
    """The two parts of a split, as matrices or texts."""

    learned: Any
    labels: NDArray[Any]
    weight: NDArray[np.float64] | None
    judged: Any
    truth: NDArray[Any]


@lru_cache(maxsize=1)
def _parts(path: str, number: int) -> _Parts:
    study = _study(path)
    train, test = study.splits[number]
    if study.raw:
        learned, judged = (study.sample.rows.take(some).text for some in (train, test))
    else:
        learned, judged = split_features(study.sample, train, test, study.options, study.unknown)
    weight = study.sample.rows.weight
    return _Parts(
        learned,
        study.sample.labels[train],
        None if weight is None else weight[train],
        judged,
        study.sample.labels[test],
    )


def try_settings(
    path: str, number: int, candidate: Candidate, settings: Settings, passes: int
) -> Trial:
    """Learn one part of a split and judge on the other, after each pass.

    Parameters
    ----------
    path : str
        Where the study is stored.
    number : int
        Which of its splits.
    candidate : Candidate
        Who learns.
    settings : dict
        With which parameters.
    passes : int
        How many passes to make, if it learns online.
    """
    study, parts = _study(path), _parts(path, number)
    failure = ""
    wrong = list[int]()
    model = candidate.make(settings, study.seed)
    try:
        with _quietly():
            if candidate.passes:
                stops = parts.labels.size * np.arange(1, passes + 1)
                steps = learn_in_steps(model, parts.learned, parts.labels, stops, parts.weight)
                wrong += [_count_wrong(trained, parts) for trained in steps]
            else:
                _fit(model, candidate, parts)
                wrong.append(_count_wrong(model, parts))
    except (SurelineError, ValueError) as problem:
        failure = str(problem)
    counts = np.array(wrong or [parts.truth.size], np.int64)
    return Trial(counts, int(parts.truth.size), failure)


def count_mistakes(
    path: str, number: int, candidate: Candidate, settings: Settings, passes: int
) -> Trial:
    """Learn the rows of a split in order, each predicted just before, and count the mistakes.

    The parameters are those of `try_settings`; `passes` is 1. Learning counts the mistakes itself,
    as `n_mistakes_`. Only a classifier that predicts by the average of its weights, but learns by
    the last, is asked row by row.
    """
    study, parts = _study(path), _parts(path, number)
    model = candidate.make(settings, study.seed)
    n, classes = parts.labels.size, np.unique(parts.labels)
    weight = parts.weight
    try:
        with _quietly():
            online = model._chosen() if isinstance(model, TextClassifier) else model
            rule = choose_rule(online)
            if rule.average:
                found = progressive(
                    model, parts.learned, parts.labels, classes=classes, sample_weight=weight
                )
                wrong = int((~found.right[0]).sum())
            else:
                model.partial_fit(parts.learned, parts.labels, classes, sample_weight=weight)
                # Rows of weight 0 are not learned, and so not judged.
                n, wrong = int(model.n_seen_), int(model.n_mistakes_)
    except (SurelineError, ValueError) as problem:
        return Trial(np.array([n]), n, str(problem))
    return Trial(np.array([wrong], np.int64), n)


def judge_settings(
    path: str, number: int, candidate: Candidate, settings: Settings, passes: int
) -> Verdict:
    """Learn one part of a split and say what the candidate makes of the other.

    The parameters are those of `try_settings`.
    """
    study, parts = _study(path), _parts(path, number)
    model = candidate.make(settings, study.seed)
    if candidate.passes:
        model.set_params(max_iter=passes)
    try:
        with _quietly() as unfinished:
            begun = process_time()
            _fit(model, candidate, parts)
            seconds = process_time() - begun
            told = model.predict(_kind_of_number(candidate, parts.judged))
    except (SurelineError, ValueError) as problem:
        return Verdict(parts.truth[:0], 0.0, False, str(problem))
    return Verdict(np.asarray(told), seconds, not unfinished)


def _fit(model: Any, candidate: Candidate, parts: _Parts) -> None:
    own = {} if parts.weight is None else {"sample_weight": parts.weight}
    # With routing, scikit-learn's one-against-rest hands weights on.
    with config_context(enable_metadata_routing=bool(own)):
        model.fit(_kind_of_number(candidate, parts.learned), parts.labels, **own)


def _kind_of_number(candidate: Candidate, matrix: Any) -> Any:
    """The same numbers in double precision for scikit-learn, whose solvers need it."""
    return matrix.astype(np.float64) if candidate.baseline else matrix


def _count_wrong(model: Any, parts: _Parts) -> int:
    return int((model.predict(parts.judged) != parts.truth).sum())


@contextmanager
def _quietly() -> Iterator[list[Any]]:
    """Note, rather than print, that a solver was stopped before it converged."""
    noted: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ConvergenceWarning)
        yield noted
        noted += caught
