"""Labels that are probably wrong, and duplicates: the function and its result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone

from sureline.data import as_labels, as_text
from sureline.errors import DataError, InvalidParameter, show
from sureline.estimators import TextClassifier
from sureline.evaluation.label_errors.cross_scores import cross_scores
from sureline.evaluation.label_errors.duplicates import Duplicates, find_duplicates
from sureline.evaluation.label_errors.features import read_rows
from sureline.evaluation.label_errors.findings import (
    DuplicateGroup,
    LabelPair,
    Place,
    Suspect,
)
from sureline.evaluation.label_errors.noise_model import fit_noise
from sureline.evaluation.report.features import LeadContribution, lead_contributions

THRESHOLD = 0.5
MOST_WORDS = 6  # of a suspect
TABLES = 5  # of a number per text and class
LONGEST_TEXT = 20_000  # characters of a text that are explained


@dataclass(frozen=True, eq=False)
class Audit:
    """What `audit` found.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        The labels as they were given.
    suggested : array of shape (n_samples,)
        For each text the most probable other label.
    probability_wrong : float64 array of shape (n_samples,)
        The probability that the label of each text is wrong.
    classes : array of shape (n_classes,)
        The distinct labels, sorted.
    wrong_counts : float64 array of shape (n_classes, n_classes)
        How many texts of each label (row) probably belong to each other one (column).
    sources : array of shape (n_samples,) or None
        Where each text is from, if that was given.
    duplicates : list of DuplicateGroup
        Groups of identical texts.
    conflicts : list of DuplicateGroup
        Groups of texts that are the same or nearly so and have different labels.
    leaks : list of DuplicateGroup
        Groups of texts that are the same or nearly so and come from different sources.
    """

    labels: NDArray[Any]
    suggested: NDArray[Any]
    probability_wrong: NDArray[np.float64]
    classes: NDArray[Any]
    wrong_counts: NDArray[np.float64]
    sources: NDArray[Any] | None
    duplicates: list[DuplicateGroup]
    conflicts: list[DuplicateGroup]
    leaks: list[DuplicateGroup]
    _texts: pa.LargeStringArray = field(repr=False)
    _classifier: TextClassifier = field(repr=False)

    @property
    def share_wrong(self) -> float:
        """The estimated share of wrong labels."""
        return float(self.probability_wrong.mean())

    @property
    def duplicate_rows(self) -> int:
        """How many texts are identical to another one."""
        return sum(len(group.rows) for group in self.duplicates)

    def ranked(self, threshold: float = THRESHOLD) -> NDArray[np.intp]:
        """The rows whose labels are wrong with this probability or more, the most probable first.

        Parameters
        ----------
        threshold : float, default=0.5
            The least probability; 0 gives all rows.

        Returns
        -------
        int array
            Rows, from 0.
        """
        _check_threshold(threshold, "ranked")
        order = np.argsort(-self.probability_wrong, kind="stable")
        return order[self.probability_wrong[order] >= threshold]

    def suspects(self, threshold: float = THRESHOLD, limit: int | None = None) -> list[Suspect]:
        """The texts whose labels are probably wrong, the most probable first.

        Parameters
        ----------
        threshold : float, default=0.5
            The least probability of being wrong.
        limit : int, default=None
            How many to give at most.

        Returns
        -------
        list of Suspect
            Their rows, labels and suggested labels, and the words that speak for these.
        """
        found = list[Suspect]()
        for row in self.ranked(threshold)[:limit].tolist():
            words = tuple(each.feature for each in self.contributions(row) if each.share > 0.0)
            given, other = self.labels[row], self.suggested[row]
            chance = float(self.probability_wrong[row])
            found.append(Suspect(row, _plain(given), _plain(other), chance, words[:MOST_WORDS]))
        return found

    def contributions(self, row: int) -> list[LeadContribution]:
        """What the features of a text add to the lead of the suggested label, the largest first.

        The weights are those of a model that has not learned the texts with wrong labels.

        Parameters
        ----------
        row : int
            The place of the text, from 0.

        Returns
        -------
        list of LeadContribution
            Features, with their share and where in the text they are.
        """
        given, other = np.searchsorted(self.classes, [self.labels[row], self.suggested[row]])
        return lead_contributions(self._model, self.text(row), int(other), int(given))

    def text(self, row: int) -> str:
        """A text, or its beginning if it is very long.

        Parameters
        ----------
        row : int
            The place of the text, from 0.

        Returns
        -------
        str
            At most 20,000 characters.
        """
        return str(self._texts[row].as_py())[:LONGEST_TEXT]

    def place(self, row: int) -> Place:
        """Where a text is from.

        Parameters
        ----------
        row : int
            The place of the text among all, from 0.

        Returns
        -------
        Place
            Its source, None if there are none, and its number there, from 1.
        """
        source = None if self.sources is None else _plain(self.sources[row])
        return Place(source, int(self._numbers[row]))

    def write_report(
        self, path: str | os.PathLike[str], *, name: str = "Labels", threshold: float = THRESHOLD
    ) -> None:
        """Write an HTML page to read the suspects on, and to choose what is corrected.

        It is one file that loads nothing from elsewhere. Corrections are downloaded from it as
        ``fixes.csv``.

        Parameters
        ----------
        path : str or path
            The file to write; an existing one is replaced once the new one is complete.
        name : str, default="Labels"
            What the page calls the texts.
        threshold : float, default=0.5
            The least probability of being wrong of the texts on the page.
        """
        from sureline.evaluation.label_errors.page import save_page

        save_page(path, name, self, threshold)

    @cached_property
    def _numbers(self) -> NDArray[np.intp]:
        """The number of each text within its source, from 1."""
        if self.sources is None:
            return np.arange(1, self.labels.size + 1)
        numbers = np.empty(self.labels.size, np.intp)
        for source in np.unique(self.sources):
            own = np.flatnonzero(self.sources == source)
            numbers[own] = np.arange(1, own.size + 1)
        return numbers

    def pairs(self) -> list[LabelPair]:
        """The estimated wrong labels by label and suggested label, the most frequent first.

        Returns
        -------
        list of LabelPair
            Pairs with at least one text that is probably wrong, as an expectation of a half.
        """
        totals = np.bincount(
            np.searchsorted(self.classes, self.labels), minlength=len(self.classes)
        )
        names = self.classes.tolist()
        left, right = np.nonzero(self.wrong_counts >= 0.5)
        found = [
            LabelPair(names[j], names[k], float(count), float(count / totals[j]))
            for j, k, count in zip(left, right, self.wrong_counts[left, right], strict=True)
        ]
        return sorted(found, key=lambda each: -each.wrong)

    @cached_property
    def _model(self) -> TextClassifier:
        """A model that has learned all texts but those whose labels are probably wrong.

        Its labels are the numbers of the classes.
        """
        trusted = self.probability_wrong < THRESHOLD
        if np.unique(self.labels[trusted]).size < 2:
            trusted = np.ones_like(trusted)
        model = clone(self._classifier).set_params(max_iter=1, n_jobs=None)
        fitted: TextClassifier = model.fit(
            self._texts,
            np.searchsorted(self.classes, self.labels),
            sample_weight=trusted.astype(np.float64),
        )
        return fitted


def audit(
    texts: Any,
    labels: Any,
    *,
    sources: Any = None,
    model: TextClassifier | None = None,
    random_state: int = 0,
) -> Audit:
    """Find labels that are probably wrong, and duplicates.

    Every text is scored by models that have not learned it: the texts are learned in a random
    order, each scored just before, forwards and then backwards. From the scores and the given
    labels it is estimated how often which label is given in place of which, and so the probability
    that each is wrong.

    Parameters
    ----------
    texts : list, array or column of str
        The texts.
    labels : array of shape (n_samples,)
        Their labels, of two classes or more.
    sources : array of shape (n_samples,), default=None
        Where each text is from, such as ``"train"`` and ``"test"``: texts that occur in several
        are reported as leaks.
    model : TextClassifier, default=None
        How texts are read and learned; it is cloned and not changed. None: ``TextClassifier()``.
    random_state : int, default=0
        The random seed of the orders; the same seed gives the same result.

    Returns
    -------
    Audit
        The probability of being wrong and the suggested label of each text; duplicates.

    Examples
    --------
    >>> from sureline.data import sms_spam
    >>> from sureline.evaluation import audit
    >>> texts, labels = sms_spam()
    >>> labels = ["spam" if row % 100 == 0 else label for row, label in enumerate(labels)]
    >>> found = audit(texts, labels)
    >>> rows = found.ranked()
    >>> len(rows), sum(row % 100 == 0 for row in rows.tolist())
    (50, 41)
    >>> found.suspects(limit=1)[0].suggested
    'ham'
    """
    classifier = _classifier(model, random_state)
    rows, given = as_text(texts), as_labels(labels)
    if given.shape != (len(rows),):
        raise DataError(
            f"audit: there are {len(rows):,} texts but labels have the shape {given.shape}"
        )
    classes, codes = np.unique(given, return_inverse=True)
    if classes.size < 2:
        raise DataError(
            "audit needs texts of two classes; there is "
            + (f"one only, {show(_plain(classes[0]))}" if classes.size else "none")
        )
    _check_memory(classifier, codes.size, classes.size)
    origin = None if sources is None else as_labels(sources)
    if origin is not None and origin.shape != given.shape:
        raise DataError(f"audit: there are {given.size:,} labels but {origin.size:,} sources")
    read = read_rows(classifier, rows)
    duplicates = find_duplicates(rows, read)
    rng = np.random.default_rng(random_state)
    scores = cross_scores(classifier, read, codes, classes.size, duplicates.similar, rng)
    truth = fit_noise(scores, codes).probabilities
    own = np.arange(codes.size), codes
    wrong = np.clip(1.0 - truth[own], 0.0, 1.0)
    others = truth.copy()
    others[own] = 0.0
    expected = np.zeros((classes.size, classes.size))
    np.add.at(expected, codes, others)
    others[own] = -1.0
    suggested = classes[others.argmax(axis=1)]
    same = _groups(duplicates, duplicates.identical, given, origin)
    near = _groups(duplicates, duplicates.similar, given, origin)
    conflicts = [group for group in near if len(set(group.labels)) > 1]
    leaks = [group for group in near if len(set(group.sources)) > 1]
    return Audit(
        given, suggested, wrong, classes, expected, origin, same, conflicts, leaks, rows, classifier
    )


def _groups(
    duplicates: Duplicates, of: NDArray[np.intp], labels: NDArray[Any], sources: NDArray[Any] | None
) -> list[DuplicateGroup]:
    """The groups of two or more texts, with what is known of each."""
    found = list[DuplicateGroup]()
    for rows in duplicates.groups(of):
        identical = duplicates.identical[rows]
        some = labels[rows].tolist()
        origin: Sequence[Any] = [] if sources is None else sources[rows].tolist()
        same = bool((identical == identical[0]).all())
        found.append(DuplicateGroup(tuple(rows.tolist()), tuple(some), tuple(origin), same))
    return found


def _classifier(model: TextClassifier | None, random_state: Any) -> TextClassifier:
    """An unfitted classifier that reads and learns as `model` does."""
    if model is not None and not isinstance(model, TextClassifier):
        raise InvalidParameter(f"audit takes a TextClassifier as model, got {show(model)}")
    if not isinstance(random_state, int | np.integer) or not 0 <= random_state < 2**32:
        raise InvalidParameter(
            f"audit: random_state must be a whole number from 0 to 2**32 - 1, got "
            f"{show(random_state)}"
        )
    chosen: TextClassifier = TextClassifier() if model is None else clone(model)
    chosen.set_params(random_state=int(random_state))
    chosen.begin()  # checks all parameters
    return chosen


def _check_memory(classifier: TextClassifier, texts: int, classes: int) -> None:
    """Refuse so many texts and classes that their scores take more memory than a model may."""
    limit = classifier.chosen_estimator().memory_limit_gb
    needed = TABLES * 8e-9 * texts * classes
    if needed > limit:
        raise DataError(
            f"audit: the scores of {texts:,} texts of {classes:,} classes take {needed:,.1f} GB, "
            f"more than {limit:g}; audit a part of the texts, or set memory_limit_gb of the "
            "model's estimator"
        )


def _check_threshold(threshold: Any, owner: str) -> None:
    if not isinstance(threshold, int | float) or not 0.0 <= threshold <= 1.0:
        raise InvalidParameter(
            f"{owner}: threshold must be a probability from 0 to 1, got {show(threshold)}"
        )


def _plain(label: Any) -> Any:
    """A label as a plain Python object."""
    return label.item() if isinstance(label, np.generic) else label
