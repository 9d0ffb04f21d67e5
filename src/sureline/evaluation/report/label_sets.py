"""The report on a model of several labels per row: what it collects, and its page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from sureline.data import Batch
from sureline.data.atomic_write import atomic_write
from sureline.evaluation.label_sets import ComparedSets, LabelMetrics, LabelSetEvaluation
from sureline.evaluation.reliability import BinCounts, Calibration
from sureline.evaluation.report.collect import (
    BINS,
    TOP_CONTRIBUTIONS,
    TOP_FEATURES,
    shown_row,
)
from sureline.evaluation.report.contents import (
    LISTED,
    SORTED,
    WORST,
    describe_inputs,
    feature_contents,
    table_contents,
    write_interval,
)
from sureline.evaluation.report.features import describe_model, lead_contributions, top_features
from sureline.evaluation.report.highlight import highlight_words
from sureline.evaluation.report.mistakes import (
    EXTRA,
    MISSING,
    LabelMistake,
    Mistake,
    MistakeGroup,
    MistakeGroups,
    MistakeTable,
)
from sureline.evaluation.report.page import FEWEST_ROWS, page_environment, page_policy
from sureline.evaluation.report.statistics import (
    CoverageCounts,
    CoveragePoint,
    ErrorBlocks,
    at_usual_shares,
)
from sureline.model.explanation import FeatureWeight
from sureline.model.predictions import Predictions

SEPARATOR = "; "  # of labels in the table of mistakes


class LabelSetReport(NamedTuple):
    """All that a report on label sets shows."""

    evaluation: LabelSetEvaluation
    calibration: Calibration  # of the probability of each label
    coverage: list[CoveragePoint]  # by the probability that a whole set is right
    blocks: list[tuple[int, int]]  # rows and wrong sets along the rows
    model: dict[str, str]  # its description
    thresholds: dict[Any, float]  # by label
    features: list[tuple[Any, list[FeatureWeight]]]  # the top ones of each label
    mistakes: list[MistakeGroup]  # by label, missing or extra
    mistake_table: MistakeTable  # of all rows whose labels are not right


class LabelSetCollector:
    """Collects what a report shows from rows with several labels and their predictions."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._bins = BinCounts(np.linspace(0.0, 1.0, BINS + 1))
        self._coverage, self._blocks = CoverageCounts(True), ErrorBlocks()
        self._mistakes, self._table = MistakeGroups(), MistakeTable()
        self._counts: Counter[tuple[Any, str]] = Counter()

    def add(self, batch: Batch, compared: ComparedSets, predictions: Predictions) -> None:
        """Collect from some more rows, of which `compared` says how they were predicted."""
        chances, whole = predictions.probabilities, predictions.probability
        if chances is None or whole is None:
            return
        chosen = self._model.model_.chosen(chances)
        classes = self._model.classes_.tolist()
        self._bins.add(chances.ravel(), compared.truth.ravel())
        self._coverage.add(whole, compared.right)
        self._blocks.add(compared.right)
        known = compared.sets.tolist()
        for i in np.flatnonzero(~compared.right).tolist():
            row, cut = shown_row(self._model, batch, i)
            place = batch.source, batch.first_row + i + 1
            predicted = tuple(classes[k] for k in np.flatnonzero(chosen[i]))
            true, guess = (SEPARATOR.join(map(str, each)) for each in (known[i], predicted))
            score = float(predictions.margin[i])
            self._table.add(Mistake(row, true, guess, float(whole[i]), score, *place))
            for k in np.flatnonzero(compared.truth[i] != chosen[i]).tolist():
                missing, chance = bool(compared.truth[i, k]), float(chances[i, k])
                self._counts[classes[k], MISSING if missing else EXTRA] += 1
                self._mistakes.add(
                    LabelMistake(
                        row,
                        known[i],
                        predicted,
                        chance,
                        score,
                        *place,
                        cut=cut,
                        label=classes[k],
                        missing=missing,
                    )
                )

    def data(self, evaluation: LabelSetEvaluation) -> LabelSetReport:
        """What was collected, with the measures of the same rows."""
        model = self._model
        known, classes = model.model_, model.classes_.tolist()
        named = getattr(known, "named", True)  # a compact model has no names
        found = top_features(model, TOP_FEATURES) if named else []
        described = describe_model(model)
        described["Labels"] = described.pop("Classes")
        described["Threshold"] = str(model.threshold)
        pairs = [(label, kind, count) for (label, kind), count in self._counts.items()]
        return LabelSetReport(
            evaluation=evaluation,
            calibration=self._bins.calibration(),
            coverage=self._coverage.points(),
            blocks=self._blocks.counts(),
            model=described,
            thresholds=dict(zip(classes, known.thresholds().tolist(), strict=True)),
            features=list(zip(classes, found, strict=named)),
            mistakes=[
                group._replace(mistakes=[self._explain(each) for each in group.mistakes])
                for group in self._mistakes.groups(pairs)
            ],
            mistake_table=self._table,
        )

    def _explain(self, mistake: Mistake) -> Mistake:
        """A mistake with what its words add to the score of the label."""
        label = mistake.label if isinstance(mistake, LabelMistake) else mistake.predicted
        found = lead_contributions(self._model, mistake.row, label, None)
        words = highlight_words(mistake.row, found)
        top = [each for each in found if each.share][:TOP_CONTRIBUTIONS]
        return replace(mistake, words=words, contributions=top)


def save_label_set_page(
    path: str | os.PathLike[str], model: str, inputs: Sequence[str], report: LabelSetReport
) -> None:
    """Write the page of a report on label sets, complete or not at all."""
    from datetime import datetime

    import sureline

    made = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    page = render_label_set_page(report, model, inputs, made, sureline.__version__)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))


def render_label_set_page(
    report: LabelSetReport, model: str, inputs: Sequence[str], made: str, version: str
) -> str:
    """The whole page, as a string."""
    style = files("sureline.evaluation.report").joinpath("report.css").read_text("utf-8")
    evaluation = report.evaluation
    support = {each.label: each.support for each in evaluation.labels}
    blocks = report.blocks if evaluation.rows >= FEWEST_ROWS else []
    groups = [(f"mistakes-{k}", each) for k, each in enumerate(report.mistakes, 1)]
    contents = {
        "style": style,
        "policy": page_policy(style),
        "model": model,
        "made": made,
        "version": version,
        "inputs": describe_inputs(inputs, evaluation.rows, support.values()),
        "report": report,
        "evaluation": evaluation,
        "tiles": _tiles(report),
        "blocks": blocks,
        "coverage_points": at_usual_shares(report.coverage),
        "groups": groups,
        "links": {(each.true, each.predicted): place for place, each in groups},
        "words": [word for _, each in groups for one in each.mistakes for word in one.words],
        **_label_contents(evaluation.labels),
        **feature_contents(report.features, support),
        **table_contents(report.mistake_table),
    }
    sections = {
        "metrics": "Metrics",
        "labels": "Labels",
        "confidence": "Confidence",
        "features": "Features" if contents["top_cards"] else "",
        "mistakes": "Mistakes",
    }
    contents["sections"] = [(key, title) for key, title in sections.items() if title]
    return page_environment().get_template("label_sets.html").render(contents)


def _tiles(report: LabelSetReport) -> list[tuple[str, str, str]]:
    """Each measure in large figures: its title, the figure, and a note below."""
    found = report.evaluation
    exact = round(found.subset_accuracy * found.rows)
    tiles = [
        ("Micro F1", f"{found.micro_f1:.4f}", "all pairs of a row and a label together"),
        ("Macro F1", f"{found.macro_f1:.4f}", "the mean F1 of the labels"),
        (
            "Whole sets right",
            f"{found.subset_accuracy:.2%}",
            f"subset accuracy; 95% interval {write_interval(exact, found.rows)}",
        ),
        ("Hamming loss", f"{found.hamming_loss:.4f}", "share of wrong pairs; lower is better"),
    ]
    if found.ranking_precision is not None:
        note = "label ranking average precision; higher is better"
        tiles.append(("Ranking precision", f"{found.ranking_precision:.4f}", note))
    error = f"{report.calibration.expected_error:.4f}"
    tiles.append(("Expected calibration error", error, "of all pairs; lower is better"))
    tiles.append(("Labels per row", f"{found.labels_per_row:.2f}", "on average"))
    rate = f"{float(f'{found.rows / max(found.seconds, 1e-9):.2e}'):,.0f}"
    tiles.append(("Rows per second", rate, f"{found.seconds:.2f} s in total"))
    return tiles


def _label_contents(labels: Sequence[LabelMetrics]) -> dict[str, Any]:
    """All labels in several orders and, of many, first those with the most mistakes."""
    orders = {"name": labels}
    if 1 < len(labels) <= SORTED:
        orders["F1"] = sorted(labels, key=lambda each: each.f1)
        orders["rows"] = sorted(labels, key=lambda each: -each.support)
    worst = sorted(labels, key=lambda each: -_mistakes(each))[:WORST]
    return {"orders": orders, "worst_labels": worst if len(labels) > LISTED else []}


def _mistakes(label: LabelMetrics) -> int:
    """How many rows lack the label, or have it wrongly."""
    return label.support + label.predicted - 2 * round(label.recall * label.support)
