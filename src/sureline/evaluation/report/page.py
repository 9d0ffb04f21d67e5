"""The HTML page of a report: one file that loads nothing and runs no scripts.

The markup is in template.html and macros.html, the style in report.css.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from datetime import datetime
from importlib.resources import files
from math import floor, isfinite
from time import perf_counter
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from sklearn.utils.validation import check_is_fitted

from sureline.data import as_labels
from sureline.data.atomic_write import atomic_write
from sureline.data.label_sets import are_label_sets, as_label_sets
from sureline.errors import DataError, InvalidParameter
from sureline.estimators import TextClassifier
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.stream import predict_batch
from sureline.evaluation.label_sets import LabelSetEvaluation, LabelSetEvaluator
from sureline.evaluation.metrics import Evaluation, Evaluator
from sureline.evaluation.report.charts import (
    blocks_chart,
    coverage_chart,
    precision_recall_chart,
    reliability_chart,
    training_chart,
    weight_bar,
)
from sureline.evaluation.report.collect import ReportCollector, ReportData
from sureline.evaluation.report.contents import (
    class_contents,
    confusion_contents,
    describe_inputs,
    feature_contents,
    summarize_calibration,
    table_contents,
    threshold_contents,
    tile_contents,
    unknown_contents,
    write_interval,
)
from sureline.evaluation.report.features import as_batch
from sureline.evaluation.report.highlight import Word
from sureline.evaluation.report.statistics import at_usual_shares
from sureline.evaluation.report.text import clip, visible
from sureline.model.label_sets import LabelSetModel

BATCH = 4096  # rows predicted at once
FEWEST_ROWS = 40  # for the error along the rows
MOST_CHANGES = 30  # of a stream
WENT_ON = {
    "new": "a new one",
    "earlier": "one of an earlier time",
    "swapped": "the same with its classes swapped",
    "same": "the same",
}
MARK_LEVELS = (0.25, 0.5, 0.75)  # where a mark becomes stronger


def write_report(
    model: TextClassifier | OnlineClassifier,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
) -> Evaluation | LabelSetEvaluation:
    """Evaluate a model on labelled rows and write an HTML page about it.

    The page has the metrics, classes and confusions, calibration, the top features, and the most
    confident mistakes with their words marked. It is one file that loads nothing from elsewhere.

    Parameters
    ----------
    model : TextClassifier or one of the online classifiers
        The fitted model; it is not changed.
    X : list or column of str, or an array or sparse matrix of numbers
        The rows, of the kind that the model takes.
    y : array of shape (n_samples,), or sets of labels
        Their labels, of the kind that the model learned. Those that it does not know count as
        errors.
    path : str or path
        The file to write; an existing one is replaced once the new one is complete.
    name : str, default=None
        What the page calls the model; by default, its class.

    Returns
    -------
    Evaluation or LabelSetEvaluation
        The results: `error`, `log_loss`, `classes`, `confusion` and so on; of sets of labels,
        `micro_f1`, `subset_accuracy`, `labels` and so on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sureline import TextClassifier
    >>> from sureline.evaluation import write_report
    >>> texts = ["win a prize", "lunch at noon", "a prize for you", "late for lunch"]
    >>> labels = ["spam", "ham", "spam", "ham"]
    >>> model = TextClassifier(random_state=0).fit(texts, labels)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.html"
    ...     result = write_report(model, texts, labels, page)
    ...     result.error, page.read_text("utf-8").startswith("<!doctype html>")
    (0.0, True)
    """
    if not isinstance(model, TextClassifier | OnlineClassifier):
        raise InvalidParameter(
            "write_report takes a TextClassifier or one of the online classifiers, got "
            f"{type(model).__name__}"
        )
    check_is_fitted(model)
    if isinstance(model.model_, LabelSetModel):
        return _write_label_sets(model, X, y, path, name or type(model).__name__)
    begun = perf_counter()
    rows, labels = as_batch(model, X), as_labels(y).tolist()
    if len(rows) != len(labels):
        raise DataError(f"write_report: there are {len(rows):,} rows but {len(labels):,} labels")
    evaluator, collector = Evaluator(model.classes_), ReportCollector(model)
    for start in range(0, len(rows), BATCH):
        batch = rows.slice(start, start + BATCH)
        predictions = predict_batch(model, batch)
        written = labels[start : start + BATCH]
        truth = evaluator.add(written, predictions.label, predictions.probabilities)
        collector.add(batch, truth, predictions)
    evaluation = evaluator.evaluation(perf_counter() - begun)
    save_page(path, name or type(model).__name__, [], collector.data(evaluation))
    return evaluation


def _write_label_sets(
    model: Any, X: Any, y: Any, path: str | os.PathLike[str], name: str
) -> LabelSetEvaluation:
    """Evaluate a model of sets of labels, and write a page about it."""
    from sureline.evaluation.report.label_sets import LabelSetCollector, save_label_set_page

    begun = perf_counter()
    rows = as_batch(model, X)
    if not are_label_sets(y):
        raise DataError("write_report: the model predicts sets of labels; give lists of labels")
    sets = as_label_sets(y)
    if len(rows) != len(sets):
        raise DataError(f"write_report: there are {len(rows):,} rows but {len(sets):,} labels")
    evaluator, collector = LabelSetEvaluator(model.classes_), LabelSetCollector(model)
    for start in range(0, len(rows), BATCH):
        batch = rows.slice(start, start + BATCH)
        predictions = predict_batch(model, batch)
        chances: Any = predictions.probabilities
        part = sets[start : start + BATCH]
        compared = evaluator.add(part, model.model_.chosen(chances), chances)
        collector.add(batch, compared, predictions)
    evaluation = evaluator.evaluation(perf_counter() - begun)
    save_label_set_page(path, name, [], collector.data(evaluation))
    return evaluation


def save_page(
    path: str | os.PathLike[str], model: str, inputs: Sequence[str], report: ReportData
) -> None:
    """Write the page of a report, complete or not at all."""
    import sureline

    made = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    page = render_page(report, model, inputs, made, sureline.__version__)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))


def render_page(
    report: ReportData, model: str, inputs: Sequence[str], made: str, version: str
) -> str:
    """The whole page, as a string."""
    style = files("sureline.evaluation.report").joinpath("report.css").read_text("utf-8")
    evaluation = report.evaluation
    blocks = report.blocks if evaluation.rows >= FEWEST_ROWS else []
    groups = [(f"mistakes-{k}", each) for k, each in enumerate(report.mistakes, 1)]
    links = {(each.true, each.predicted): place for place, each in groups}
    support = {each.label: each.support for each in evaluation.classes}
    contents = {
        "style": style,
        "policy": page_policy(style),
        "model": model,
        "made": made,
        "version": version,
        "inputs": describe_inputs(inputs, evaluation.rows, support.values()),
        "report": report,
        "evaluation": evaluation,
        "interval": write_interval(evaluation.rows - evaluation.correct, evaluation.rows),
        "tiles": tile_contents(report),
        "blocks": blocks,
        "changes": report.changes[-MOST_CHANGES:],
        "went_on": WENT_ON,
        "coverage_points": at_usual_shares(report.coverage),
        "groups": groups,
        "links": links,
        "words": [word for _, each in groups for one in each.mistakes for word in one.words],
        **class_contents(evaluation),
        **confusion_contents(evaluation, links),
        **feature_contents(report.features, support),
        **table_contents(report.mistake_table),
        **threshold_contents(report),
    }
    if report.calibration is not None:
        contents["calibration_summary"] = summarize_calibration(report.calibration, evaluation)
    if report.unknown_words is not None:
        contents["unknown_summary"] = unknown_contents(report.unknown_words)
    sections = {
        "metrics": "Metrics",
        "classes": "Classes",
        "confusions": "Confusions",
        "confidence": "Confidence",
        "curves": "Curves" if report.training or blocks or report.changes else "",
        "features": "Features" if contents["top_cards"] else "",
        "mistakes": "Mistakes",
        "unknown": "Unknown words" if report.unknown_words else "",
        "novelty": "Novelty" if report.novelty else "",
    }
    contents["sections"] = [(key, title) for key, title in sections.items() if title]
    return page_environment().get_template("template.html").render(contents)


def page_policy(style: str, script: str | None = None) -> str:
    """A content security policy that allows this style and this script, and nothing else."""

    def source(content: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    scripts = "" if script is None else f"script-src {source(script)}; "
    return (
        f"default-src 'none'; style-src {source(style)}; {scripts}img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def page_environment(*packages: str) -> Environment:
    """Jinja with all that templates call; everything they write is escaped.

    Templates are those of the report, and of other `packages`.
    """
    own = "sureline.evaluation.report"
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name, ".") for name in (*packages, own)]),
        autoescape=True,
        finalize=_finalize,
        keep_trailing_newline=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "clip": clip,
        "counted": lambda number, noun: f"{number:,} {noun}" + ("" if number == 1 else "s"),
        "fmt": format,
        "mark_class": _mark_class,
        "plus_minus": lambda deviation: (
            "" if deviation is None else f"\u00a0±\u00a0{deviation:.2f}"
        ),
        "probability": _write_probability,
        "signed": _write_signed,
        # rounded down, so that as many rows reach it
        "threshold": lambda value: f"{floor(1e4 * value) / 1e4:.4f}" if isfinite(value) else "–",
        "visible": visible,
    }
    charts = (
        *(blocks_chart, coverage_chart, precision_recall_chart, reliability_chart),
        *(training_chart, weight_bar),
    )
    environment.globals |= {each.__name__: each for each in (*charts, write_interval)}
    return environment


def _finalize(value: Any) -> Any:
    """What a template writes: strings that are no markup without what a page cannot show."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _write_signed(number: float) -> str:
    """A number with its sign; adding 0 turns a negative zero into a positive one."""
    return f"{round(number, 2) + 0.0:+.2f}".replace("-", "−")


def _write_probability(probability: float) -> str:
    """A probability that is never rounded to certainty."""
    if probability == 1.0:
        return "100%"
    return "over 99.9%" if probability >= 0.9995 else f"{probability:.1%}"


def _mark_class(word: Word) -> str:
    """The classes of a marked word: t towards the predicted label, a away from it, q uncertain."""
    kind = "t" if word.strength > 0 else "a"
    level = 1 + sum(abs(word.strength) >= limit for limit in MARK_LEVELS)
    return f"{kind} {kind}{level}" + (" q" if word.uncertain else "")
