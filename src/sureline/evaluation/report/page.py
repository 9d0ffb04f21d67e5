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

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sureline.data import as_labels
from sureline.data.atomic_write import atomic_write
from sureline.errors import DataError, InvalidParameter
from sureline.estimators import TextClassifier
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.stream import predict_batch
from sureline.evaluation.metrics import METRICS, Evaluation, Evaluator
from sureline.evaluation.reliability import Calibration
from sureline.evaluation.report.charts import (
    blocks_chart,
    coverage_chart,
    heat_map,
    order_by_confusion,
    reliability_chart,
    training_chart,
    weight_bar,
)
from sureline.evaluation.report.collect import ReportCollector, ReportData
from sureline.evaluation.report.features import as_batch
from sureline.evaluation.report.highlight import Word
from sureline.evaluation.report.statistics import at_usual_shares
from sureline.evaluation.report.text import clip, visible
from sureline.evaluation.significance import wilson_interval

BATCH = 4096  # rows predicted at once
FILES = 6  # that are named
MATRIX = 12  # up to this many labels, confusions are a table
MAPPED = 400  # labels in a heat map, at most
LISTED = 30  # up to this many classes, all are listed
WORST = 20  # of more, those with the most mistakes come first
CONFUSIONS = 20  # pairs that are listed
CARDS = 12  # classes whose features are shown first
FEWEST_ROWS = 40  # for the error along the rows
MARK_LEVELS = (0.25, 0.5, 0.75)  # where a mark becomes stronger


def write_report(
    model: TextClassifier | OnlineClassifier,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
) -> Evaluation:
    """Evaluate a model on labelled rows and write an HTML page about it.

    The page has the metrics, classes and confusions, calibration, the top features, and the most
    confident mistakes with their words marked. It is one file that loads nothing from elsewhere.

    Parameters
    ----------
    model : TextClassifier or one of the online classifiers
        The fitted model; it is not changed.
    X : list or column of str, or an array or sparse matrix of numbers
        The rows, of the kind that the model takes.
    y : array of shape (n_samples,)
        Their labels. Those that the model does not know count as errors.
    path : str or path
        The file to write; an existing one is replaced once the new one is complete.
    name : str, default=None
        What the page calls the model; by default, its class.

    Returns
    -------
    Evaluation
        The results: `error`, `log_loss`, `classes`, `confusion` and so on.

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
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    evaluation = report.evaluation
    blocks = report.blocks if evaluation.rows >= FEWEST_ROWS else []
    contents = {
        "style": style,
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        "model": model,
        "made": made,
        "version": version,
        "inputs": _describe_inputs(inputs, evaluation),
        "report": report,
        "evaluation": evaluation,
        "interval": write_interval(evaluation.rows - evaluation.correct, evaluation.rows),
        "tiles": _tiles(report),
        "blocks": blocks,
        "coverage_points": at_usual_shares(report.coverage),
        "words": [word for each in report.mistakes for word in each.words],
        **_classes(evaluation),
        **_confusions(evaluation),
        **_features(report),
    }
    if report.calibration is not None:
        contents["calibration_summary"] = _summarize(report.calibration, evaluation)
    sections = {
        "metrics": "Metrics",
        "classes": "Classes",
        "confusions": "Confusions",
        "confidence": "Confidence",
        "curves": "Curves" if report.training or blocks else "",
        "features": "Features" if contents["top_cards"] else "",
        "mistakes": "Mistakes",
        "unknown": "Unknown words" if report.unknown_words else "",
    }
    contents["sections"] = [(key, title) for key, title in sections.items() if title]
    return _environment().get_template("template.html").render(contents)


def _environment() -> Environment:
    """Jinja with all that templates call; everything they write is escaped."""
    environment = Environment(
        loader=PackageLoader("sureline.evaluation.report", "."),
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
    }
    charts = (blocks_chart, coverage_chart, reliability_chart, training_chart, weight_bar)
    environment.globals |= {each.__name__: each for each in (*charts, write_interval)}
    return environment


def _finalize(value: Any) -> Any:
    """What a template writes: strings that are no markup without what a page cannot show."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def write_interval(count: int, total: int) -> str:
    """The 95% interval of a share, in words."""
    low, high = wilson_interval(count, total)
    return f"{low:.2%} to {high:.2%}"


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


def _tiles(report: ReportData) -> list[tuple[str, str, str]]:
    """Each metric in large figures: its title, the figure, and a note below."""
    evaluation, calibration = report.evaluation, report.calibration
    rows, correct = evaluation.rows, evaluation.correct
    notes = {
        "accuracy": f"{correct:,} of {rows:,} rows",
        "error": f"95% interval {write_interval(rows - correct, rows)}",
    }
    tiles = list[tuple[str, str, str]]()
    for each in METRICS:
        value = evaluation.metrics[each.name]
        if value is not None:
            title = each.title[0].upper() + each.title[1:]
            tiles.append((title, format(value, each.format), notes.get(each.name, each.note)))
    if calibration is not None:
        error = f"{calibration.expected_error:.4f}"
        tiles.append(("Expected calibration error", error, "10 bins; lower is better"))
    rate = f"{float(f'{rows / max(evaluation.seconds, 1e-9):.2e}'):,.0f}"
    tiles.append(("Rows per second", rate, f"{evaluation.seconds:.2f} s in total"))
    return tiles


def _describe_inputs(inputs: Sequence[str], evaluation: Evaluation) -> dict[str, str]:
    labels = sum(each.support > 0 for each in evaluation.classes)
    described = {"Rows": f"{evaluation.rows:,}", "Labels": f"{labels:,}"}
    if inputs:
        names = ["standard input" if name == "-" else clip(name, 120) for name in inputs]
        more = f" and {len(names) - FILES} more" if len(names) > FILES else ""
        described["Files"] = ", ".join(names[:FILES]) + more
    return described


def _classes(evaluation: Evaluation) -> dict[str, Any]:
    """The classes with the most mistakes, if there are many, and what each is mistaken for."""
    mistaken_for = dict[Any, tuple[Any, int]]()
    for true, predicted, count in evaluation.confusion:
        if true != predicted and count > mistaken_for.get(true, (None, 0))[1]:
            mistaken_for[true] = (predicted, count)
    worst = sorted(
        evaluation.classes,
        key=lambda each: (round(each.recall * each.support) - each.support, -each.support),
    )
    many = len(evaluation.classes) > LISTED
    return {"mistaken_for": mistaken_for, "worst_classes": worst[:WORST] if many else []}


def _confusions(evaluation: Evaluation) -> dict[str, Any]:
    """The confusion matrix of few labels, or the heat map and the most frequent pairs of many."""
    labels = [each.label for each in evaluation.classes]
    if len(labels) <= MATRIX:
        counts = _matrix(evaluation, labels)
        shades = np.ceil(5 * np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)))
        kinds = [[f"c{shade:.0f}" if shade else None for shade in row] for row in shades.tolist()]
        for k in range(len(labels)):
            kinds[k][k] = "right"
        rows = zip(counts.tolist(), kinds, strict=True)
        return {"matrix": [list(zip(*row, strict=True)) for row in rows]}
    wrong = [each for each in evaluation.confusion if each[0] != each[1]]
    if not wrong:
        return {"matrix": None, "confusions": []}
    support = {each.label: each.support for each in evaluation.classes}
    frequent = sorted(wrong, key=lambda each: -each[2])[:CONFUSIONS]
    mistakes = dict.fromkeys(labels, 0)
    for true, predicted, count in wrong:
        mistakes[true] += count
        mistakes[predicted] += count
    chosen = set(sorted(labels, key=lambda label: -mistakes[label])[:MAPPED])
    mapped = [label for label in labels if label in chosen]
    counts = _matrix(evaluation, mapped)
    order = order_by_confusion(counts)
    return {
        "matrix": None,
        "heat_map": heat_map([str(mapped[k]) for k in order], counts[np.ix_(order, order)]),
        "mapped": len(mapped),
        "confusions": [(*each, each[2] / support[each[0]]) for each in frequent],
        "confusions_share": sum(each[2] for each in frequent) / sum(each[2] for each in wrong),
    }


def _matrix(evaluation: Evaluation, labels: list[Any]) -> NDArray[np.int64]:
    """The confusion matrix of some labels."""
    place = {label: k for k, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), np.int64)
    for true, predicted, count in evaluation.confusion:
        if true in place and predicted in place:
            counts[place[true], place[predicted]] = count
    return counts


def _summarize(calibration: Calibration, evaluation: Evaluation) -> str:
    """The mean confidence beside the accuracy, and what the difference means."""
    mean = sum(each.confidence * each.count for each in calibration.bins) / evaluation.rows
    low, high = wilson_interval(evaluation.correct, evaluation.rows)
    verdict = "well calibrated overall"
    if mean > high + 0.005:
        verdict = "overconfident"
    elif mean < low - 0.005:
        verdict = "underconfident"
    return (
        f"The mean confidence is {mean:.1%} and the accuracy {evaluation.accuracy:.1%}: "
        f"the model is {verdict}."
    )


def _features(report: ReportData) -> dict[str, Any]:
    """The features of each class: at first those of the largest classes, if there are many."""
    found = [each for _, features in report.features for each in features]
    if not found:
        return {"top_cards": []}
    support = {each.label: each.support for each in report.evaluation.classes}
    top, others = report.features, list[Any]()
    if len(top) > CARDS:
        ranked = sorted(top, key=lambda card: -support.get(card[0], 0))[:CARDS]
        first = {label for label, _ in ranked}
        others = [card for card in report.features if card[0] not in first]
        top = ranked
    return {
        "top_cards": top,
        "other_cards": others,
        "widest_weight": max(each.weight + (each.variance or 0.0) ** 0.5 for each in found),
        "with_variance": any(each.variance is not None for each in found),
    }
