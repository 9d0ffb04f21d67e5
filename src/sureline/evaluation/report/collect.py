"""All that a report shows, collected batch by batch in memory that does not grow with the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sureline.data import Batch
from sureline.evaluation.metrics import Evaluation
from sureline.evaluation.reliability import BinCounts, Calibration
from sureline.evaluation.report.features import (
    ShownRow,
    UnknownWordCounter,
    UnknownWords,
    describe_model,
    lead_contributions,
    top_features,
)
from sureline.evaluation.report.highlight import highlight_words
from sureline.evaluation.report.mistakes import (
    Mistake,
    MistakeGroup,
    MistakeGroups,
    MistakeTable,
)
from sureline.evaluation.report.statistics import (
    CoverageCounts,
    CoveragePoint,
    ErrorBlocks,
    NoveltyBand,
    NoveltyCounts,
)
from sureline.evaluation.report.thresholds import (
    PrecisionRecall,
    ScoreCounts,
    ThresholdCounts,
    ThresholdPoint,
)
from sureline.model.drift import Change
from sureline.model.explanation import FeatureWeight
from sureline.model.predictions import Predictions

BINS = 10  # of the reliability diagram
TOP_FEATURES = 10  # of each class
TOP_CONTRIBUTIONS = 6  # of each mistake
UNKNOWN_WORDS = 40
LONGEST_TEXT = 20_000  # characters of a mistake's text that are kept and explained


class ReportData(NamedTuple):
    """All that a report shows."""

    evaluation: Evaluation
    calibration: Calibration | None  # None for rules without probabilities
    coverage: list[CoveragePoint]  # the most confident predictions first
    thresholds: list[ThresholdPoint]  # by probability; empty for rules without
    precision_recall: list[PrecisionRecall]  # of two classes
    blocks: list[tuple[int, int]]  # rows and mistakes along the rows
    training: list[tuple[int, int]]  # examples and mistakes so far; empty where not in the file
    changes: list[Change]  # in the stream that was learned
    passes: int
    classes: list[Any]  # that the model knows
    model: dict[str, str]  # its description
    features: list[tuple[Any, list[FeatureWeight]]]  # the top ones of each class
    mistakes: list[MistakeGroup]  # the most confident ones of each kind
    mistake_table: MistakeTable  # all of them
    unknown_words: UnknownWords | None  # None where they cannot be detected
    novelty: list[NoveltyBand]  # empty where the model is not calibrated
    named_features: bool = False  # whether rows have features with a value, outside the text


class ReportCollector:
    """Collects what a report shows from rows and their predictions."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._bins = BinCounts(np.linspace(0.0, 1.0, BINS + 1)) if model.has_variance else None
        self._coverage = CoverageCounts(model.has_variance)
        self._blocks, self._novelty = ErrorBlocks(), NoveltyCounts()
        classes = model.classes_.tolist()
        self._thresholds = ThresholdCounts(classes) if model.has_variance else None
        self._scores = ScoreCounts(classes, model.has_variance) if len(classes) == 2 else None
        self._mistakes, self._table = MistakeGroups(), MistakeTable()
        supported = UnknownWordCounter.supports(model)
        self._unknown = UnknownWordCounter(model) if supported else None
        self._named_features = False

    def add(self, batch: Batch, truth: Sequence[Any], predictions: Predictions) -> None:
        """Collect from some more rows, whose labels are as the model has them."""
        labels = predictions.label.tolist()
        right = np.array([true == guess for true, guess in zip(truth, labels, strict=True)], bool)
        confidence = predictions.margin
        if predictions.probability is not None:
            confidence = predictions.probability
        self._coverage.add(confidence, right)
        if self._bins is not None and self._thresholds is not None:
            self._bins.add(confidence, right)
            self._thresholds.add(confidence, labels, right)
        if self._scores is not None:
            second = predictions.label == self._model.classes_[1]
            other = -confidence if predictions.probability is None else 1.0 - confidence
            self._scores.add(np.where(second, confidence, other), truth)
        self._blocks.add(right)
        if predictions.novelty is not None:
            self._novelty.add(predictions.novelty, confidence, right)
        self._named_features |= batch.named_features is not None
        if self._unknown is not None:
            self._unknown.add(batch, right)
        for i in np.flatnonzero(~right).tolist():
            chances, margin = predictions.probability, float(predictions.margin[i])
            chance = None if chances is None else float(chances[i])
            row, cut = shown_row(self._model, batch, i)
            place = batch.source, batch.first_row + i + 1
            mistake = Mistake(row, truth[i], labels[i], chance, margin, *place)
            self._table.add(mistake)
            self._mistakes.add(replace(mistake, cut=cut))

    def data(self, evaluation: Evaluation, training: Sequence[tuple[int, int]] = ()) -> ReportData:
        """What was collected, with the metrics of the same rows and the course of training."""
        model, bins, unknown = self._model, self._bins, self._unknown
        scores = evaluation.log_loss, evaluation.brier
        named = getattr(model.model_, "named", True)  # a compact model has no names
        found = top_features(model, TOP_FEATURES) if named else []
        return ReportData(
            evaluation=evaluation,
            calibration=None if bins is None else bins.calibration(*scores),
            coverage=self._coverage.points(),
            thresholds=[] if self._thresholds is None else self._thresholds.points(),
            precision_recall=[] if self._scores is None else self._scores.curves(),
            blocks=self._blocks.counts(),
            training=list(training),
            changes=list(getattr(model, "changes_", [])),
            passes=int(model.n_iter_),
            classes=model.classes_.tolist(),
            model=describe_model(model),
            features=list(zip(model.classes_.tolist(), found, strict=named)),
            mistakes=[
                group._replace(mistakes=[self._explain(each) for each in group.mistakes])
                for group in self._mistakes.groups(evaluation.confusion)
            ],
            mistake_table=self._table,
            unknown_words=None if unknown is None else unknown.result(UNKNOWN_WORDS),
            novelty=self._novelty.bands(),
            named_features=self._named_features,
        )

    def _explain(self, mistake: Mistake) -> Mistake:
        """A mistake with its contributions."""
        row = mistake.row
        found = lead_contributions(self._model, row, mistake.predicted, mistake.true)
        if isinstance(row, str):
            unknown = set() if self._unknown is None else self._unknown.unknown_in(row)
            mistake = replace(mistake, words=highlight_words(row, found, unknown))
        top = [each for each in found if each.share][:TOP_CONTRIBUTIONS]
        return replace(mistake, contributions=top)


def shown_row(model: Any, batch: Batch, i: int) -> tuple[Any, bool]:
    """A row of a batch, its text or a sparse matrix of one row, and whether its text is cut."""
    if batch.text is None:
        return batch.matrix[[i]], False
    row = batch.text[i].as_py()
    if isinstance(row, str):
        return row[:LONGEST_TEXT], len(row) > LONGEST_TEXT
    long = [name for name, value in row.items() if len(str(value)) > LONGEST_TEXT]
    row |= {name: row[name][:LONGEST_TEXT] for name in long}
    tokenizer = model.model_.tokenizer
    return ShownRow(tokenizer.places(tokenizer.as_rows([row]))[0], row), bool(long)


def training_curve(notes: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The course of training from the notes in a model file; empty if they do not hold it.

    ``notes["curve"]`` is a list of pairs, the examples and the mistakes so far; neither decreases.
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
