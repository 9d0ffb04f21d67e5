"""All that a report shows, gathered batch by batch in memory that does not grow with the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.data import Batch
from sureline.estimators import TextClassifier
from sureline.estimators.prediction import has_variance
from sureline.estimators.stream import count_features
from sureline.estimators.validation import settings_of
from sureline.evaluation.reliability import Calibration
from sureline.evaluation.report.confidence import Covered, Sureness
from sureline.evaluation.report.counts import Facts
from sureline.evaluation.report.features import Pull, find_pulls, telling_features
from sureline.evaluation.report.rows import ErrorAlongRows, Mistake, SurestMistakes
from sureline.evaluation.report.texts import Strangeness, StrangeWords, Word, mark_words
from sureline.model.explanation import FeatureWeight
from sureline.model.linear import Predictions

TOP_FEATURES = 10  # of each class
TOP_PULLS = 6  # of each mistake
STRANGE_WORDS = 40
LONGEST_TEXT = 20_000  # characters of a mistake's text that are looked at


@dataclass(frozen=True)
class Told:
    """A mistake with its words marked, and what led to it, the strongest first."""

    mistake: Mistake
    words: list[Word]
    pulls: list[Pull]
    cut: bool


@dataclass(frozen=True)
class Findings:
    """All that a report shows.

    Parameters
    ----------
    facts : Facts
        Counts, losses, classes and confusions.
    calibration : Calibration or None
        How far probabilities can be trusted; None for rules without.
    coverage : list of Covered
        The error among the surest answers, from the surest on.
    along : list of (rows, mistakes)
        The mistakes along the rows, in blocks.
    training : list of (examples, mistakes)
        The mistakes made while learning, just before each example was learned, up to some numbers
        of examples; empty where the model does not tell.
    passes : int
        How many passes over the rows that training made.
    model : dict
        What the model is, in words.
    features : list of (label, list of FeatureWeight)
        The features that speak most surely for each class.
    mistakes : list of Told
        The mistakes that the model was surest of.
    strange : Strangeness or None
        Words that the model never met; None where it cannot tell.
    texts : bool
        Whether rows are texts.
    valued : bool
        Whether some rows have features that are written with a value, outside the text.
    """

    facts: Facts
    calibration: Calibration | None
    coverage: list[Covered]
    along: list[tuple[int, int]]
    training: list[tuple[int, int]]
    passes: int
    model: dict[str, str]
    features: list[tuple[Any, list[FeatureWeight]]]
    mistakes: list[Told]
    strange: Strangeness | None
    texts: bool
    valued: bool = False


class Gathering:
    """Looks at rows and answers as they go by, and keeps what a report needs.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        The model that answers; it is not changed.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._sureness = Sureness(has_variance(model))
        self._along = ErrorAlongRows()
        self._mistakes = SurestMistakes()
        self._strange = StrangeWords(model) if StrangeWords.can_tell(model) else None
        self._valued = False

    def add(self, batch: Batch, truth: Sequence[Any], answers: Predictions) -> None:
        """Look at some more rows.

        Parameters
        ----------
        batch : Batch
            The rows.
        truth : sequence
            Their labels, as the model has them.
        answers : Predictions
            What the model says of them.
        """
        told = answers.label.tolist()
        right = np.array([true == guess for true, guess in zip(truth, told, strict=True)], bool)
        sure = answers.margin if answers.probability is None else answers.probability
        self._sureness.add(np.asarray(sure, np.float64), right)
        self._along.add(right)
        self._valued |= batch.named_features is not None
        if self._strange is not None:
            self._strange.add(batch, right)
        self._keep_mistakes(batch, truth, answers, right)

    def _keep_mistakes(
        self, batch: Batch, truth: Sequence[Any], answers: Predictions, right: NDArray[np.bool_]
    ) -> None:
        chances, margins, told = answers.probability, answers.margin, answers.label.tolist()
        for i in np.flatnonzero(~right).tolist():
            chance = None if chances is None else float(chances[i])
            if self._mistakes.wants(chance, float(margins[i])):
                mistake = Mistake(
                    _row_of(batch, i),
                    truth[i],
                    told[i],
                    chance,
                    float(margins[i]),
                    batch.source,
                    batch.first_row + i + 1,
                )
                self._mistakes.add(mistake)

    def findings(self, facts: Facts, training: Sequence[tuple[int, int]] = ()) -> Findings:
        """What was found.

        Parameters
        ----------
        facts : Facts
            What was counted of the same rows.
        training : sequence of (examples, mistakes), default=()
            How training went, if that is known.
        """
        model = self._model
        found = telling_features(model, TOP_FEATURES)
        return Findings(
            facts=facts,
            calibration=self._sureness.calibration(facts.log_loss, facts.brier),
            coverage=self._sureness.curve(),
            along=self._along.blocks(),
            training=list(training),
            passes=int(model.n_iter_),
            model=describe(model),
            features=list(zip(model.classes_.tolist(), found, strict=True)),
            mistakes=[self._told(mistake) for mistake in self._mistakes.ranked()],
            strange=None if self._strange is None else self._strange.found(STRANGE_WORDS),
            texts=isinstance(model, TextClassifier),
            valued=self._valued,
        )

    def _told(self, mistake: Mistake) -> Told:
        """A mistake with its reasons; of a text without end, the beginning is looked at."""
        cut = isinstance(mistake.row, str) and len(mistake.row) > LONGEST_TEXT
        if cut:
            mistake = replace(mistake, row=mistake.row[:LONGEST_TEXT])
        pulls = find_pulls(self._model, mistake.row, mistake.predicted, mistake.true)
        words = list[Word]()
        if isinstance(mistake.row, str):
            strange = set() if self._strange is None else self._strange.strange_in(mistake.row)
            words = mark_words(mistake.row, pulls, strange)
        telling = [each for each in pulls if each.share]
        return Told(mistake, words, telling[:TOP_PULLS], cut)


def describe(model: Any) -> dict[str, str]:
    """What a model is, in words.

    Parameters
    ----------
    model : TextClassifier or OnlineClassifier
        A fitted model.
    """
    texts = isinstance(model, TextClassifier)
    rule, values = settings_of(getattr(model, "estimator_", model))
    settings = [f"{name} = {value}" for name, value in values.items()]
    seen, passes = model.n_seen_, int(model.n_iter_)
    told = {
        "Learns from": "texts" if texts else "numbers",
        "Rule": f"{rule.name}: {', '.join(settings)}" if settings else rule.name,
        "Classes": f"{model.classes_.size:,}",
        "Features": f"{count_features(model):,}",
        "Learned": f"{seen:,} examples" + (f" in {passes} passes" if passes > 1 else ""),
    }
    if seen:
        while_learning = f"{model.n_mistakes_ / seen:.2%}"
        told["Error while learning"] = f"{while_learning}, each just before it was learned"
    return told


def training_curve(notes: Mapping[str, Any]) -> list[tuple[int, int]]:
    """How training went, from the notes beside a model; empty where they do not tell.

    Parameters
    ----------
    notes : dict
        The notes: ``notes["curve"]`` is a list of pairs, examples so far and mistakes so far, both
        of which never fall.
    """
    stored = notes.get("curve")
    if not isinstance(stored, list):
        return []
    curve, last = list[tuple[int, int]](), (0, 0)
    for pair in stored:
        if not (isinstance(pair, list) and len(pair) == 2 and all(type(n) is int for n in pair)):
            return []
        examples, mistakes = pair
        if not (examples > last[0] and last[1] <= mistakes <= last[1] + examples - last[0]):
            return []
        last = (examples, mistakes)
        curve.append(last)
    return curve


def _row_of(batch: Batch, i: int) -> Any:
    """A row of a batch on its own: its text, or its columns and values."""
    if batch.text is not None:
        return batch.text[i].as_py()
    row = batch.matrix[[i]]
    order = np.argsort(row.indices, kind="stable")
    return row.indices[order].astype(np.int64), row.data[order].astype(np.float64)
