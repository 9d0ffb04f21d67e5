"""What the sections of a report's page show, put together from what was collected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.evaluation.metrics import METRICS, ClassMetrics, Evaluation
from sureline.evaluation.reliability import Calibration
from sureline.evaluation.report.collect import ReportData
from sureline.evaluation.report.features import UnknownWords
from sureline.evaluation.report.heat_map import heat_map, order_by_confusion
from sureline.evaluation.report.mistakes import TABLE_TEXT, MistakeTable
from sureline.evaluation.report.text import clip
from sureline.evaluation.significance import wilson_interval
from sureline.model.explanation import FeatureWeight

FILES = 6  # that are named
MATRIX = 12  # up to this many labels, confusions are a table
MAPPED = 400  # labels in a heat map, at most
LISTED = 30  # up to this many classes, all are listed
SORTED = 1000  # up to this many classes can be sorted
WORST = 20  # of more, those with the most mistakes come first
CONFUSIONS = 20  # pairs that are listed
CARDS = 12  # classes whose features are shown first
MANY_UNKNOWN = 0.2  # the share of unknown words from which a text is one of many

Links = Mapping[tuple[Any, Any], str]


def write_interval(count: int, total: int) -> str:
    """The 95% interval of a share, in words."""
    low, high = wilson_interval(count, total)
    return f"{low:.2%} to {high:.2%}"


def tile_contents(report: ReportData) -> list[tuple[str, str, str]]:
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


def describe_inputs(inputs: Sequence[str], rows: int, supports: Iterable[int]) -> dict[str, str]:
    """How much was evaluated, how many labels have rows, and which files it came from."""
    labels = sum(each > 0 for each in supports)
    described = {"Rows": f"{rows:,}", "Labels": f"{labels:,}"}
    if inputs:
        names = ["standard input" if name == "-" else clip(name, 120) for name in inputs]
        more = f" and {len(names) - FILES} more" if len(names) > FILES else ""
        described["Files"] = ", ".join(names[:FILES]) + more
    return described


def class_contents(evaluation: Evaluation) -> dict[str, Any]:
    """The classes with the most mistakes, if there are many, and what each is mistaken for."""
    mistaken_for = dict[Any, tuple[Any, int]]()
    for true, predicted, count in evaluation.confusion:
        if true != predicted and count > mistaken_for.get(true, (None, 0))[1]:
            mistaken_for[true] = (predicted, count)
    worst = sorted(
        evaluation.classes,
        key=lambda each: (round(each.recall * each.support) - each.support, -each.support),
    )
    classes = evaluation.classes
    orders = {"name": classes}
    if 1 < len(classes) <= SORTED:
        orders["F1"] = sorted(classes, key=lambda each: each.f1)
        orders["rows"] = sorted(classes, key=lambda each: -each.support)
    return {
        "mistaken_for": mistaken_for,
        "worst_classes": worst[:WORST] if len(classes) > LISTED else [],
        "orders": orders,
        "macro": _macro(classes),
    }


def _macro(classes: Sequence[ClassMetrics]) -> ClassMetrics:
    """The means over all classes, and how many rows and predictions there are."""
    means = np.mean([(each.precision, each.recall, each.f1) for each in classes], axis=0)
    precision, recall, f1 = means.tolist()
    support, predicted = (sum(getattr(each, name) for each in classes)
                          for name in ("support", "predicted"))  # fmt: skip
    return ClassMetrics(None, precision, recall, f1, support, predicted)


def confusion_contents(evaluation: Evaluation, links: Links) -> dict[str, Any]:
    """The confusion matrix of few labels, or the heat map and the most frequent pairs of many."""
    labels = [each.label for each in evaluation.classes]
    if len(labels) <= MATRIX:
        counts = _matrix(evaluation, labels)
        shades = np.ceil(5 * np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)))
        kinds = [[f"c{shade:.0f}" if shade else None for shade in row] for row in shades.tolist()]
        for k in range(len(labels)):
            kinds[k][k] = "right"
        to = [[links.get((true, predicted)) for predicted in labels] for true in labels]
        rows = zip(counts.tolist(), kinds, to, strict=True)
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
        "heat_map": heat_map(
            [str(mapped[k]) for k in order],
            counts[np.ix_(order, order)],
            {(str(true), str(predicted)): place for (true, predicted), place in links.items()},
        ),
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


def summarize_calibration(calibration: Calibration, evaluation: Evaluation) -> str:
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


def feature_contents(
    cards: Sequence[tuple[Any, list[FeatureWeight]]], support: Mapping[Any, int]
) -> dict[str, Any]:
    """The features of each class: at first those of the largest classes, if there are many."""
    found = [each for _, features in cards for each in features]
    if not found:
        return {"top_cards": []}
    top, others = cards, list[Any]()
    if len(top) > CARDS:
        ranked = sorted(top, key=lambda card: -support.get(card[0], 0))[:CARDS]
        first = {label for label, _ in ranked}
        others = [card for card in cards if card[0] not in first]
        top = ranked
    return {
        "top_cards": top,
        "support": support,
        "other_cards": others,
        "bar_ends": (
            min(0.0, *(each.weight - sqrt(each.variance or 0.0) for each in found)),
            max(each.weight + sqrt(each.variance or 0.0) for each in found),
        ),
        "with_variance": any(each.variance is not None for each in found),
    }


def threshold_contents(report: ReportData) -> dict[str, Any]:
    """Two classes with their metrics, and where each is on its curve of precision and recall."""
    known = {each.label: each for each in report.evaluation.classes}
    nothing = ClassMetrics(None, 0.0, 0.0, 0.0, 0, 0)
    two = [known.get(label, replace(nothing, label=label)) for label in report.classes]
    drawn = [known[each.label] for each in report.precision_recall]
    return {
        "two_classes": two if len(two) == 2 else [],
        "as_predicted": [(each.recall, each.precision) for each in drawn],
    }


def unknown_contents(found: UnknownWords) -> list[str]:
    """What unknown words imply, in sentences."""
    few = [(rows, wrong) for _, high, rows, wrong in found.shares if high <= MANY_UNKNOWN]
    many = [(rows, wrong) for _, high, rows, wrong in found.shares if high > MANY_UNKNOWN]
    (rows, wrong), (more_rows, more_wrong) = (np.sum(each, axis=0).tolist() for each in (few, many))
    if found.ignored:
        said = ["Unknown words are left out: a text is judged by its other words alone."]
    else:
        others = (
            "; each of the other words of its text counts a little less" if found.scaled else ""
        )
        said = [f"An unknown word moves no score, and makes it less certain{others}."]
    if rows and more_rows:
        least, most = wilson_interval(wrong, rows), wilson_interval(more_wrong, more_rows)
        pair = f"{more_wrong / more_rows:.2%} against {wrong / rows:.2%}"
        share = f"more than {MANY_UNKNOWN:.0%} unknown words"
        if most[0] > least[1]:
            said.append(
                f"Rows with {share} are wrong more often than the others: {pair}. Labels for some "
                "of them, learned in addition, are likely to help."
            )
        elif most[1] < least[0]:
            said.append(f"Rows with {share} are wrong less often than the others: {pair}.")
        else:
            said.append(
                f"Rows with {share} are wrong about as often as the others: {pair}, a difference "
                "that may be chance."
            )
    return said


def table_contents(table: MistakeTable) -> dict[str, Any]:
    """The table of all mistakes, and what is in it."""
    notes = list[str]()
    if table.longest > TABLE_TEXT:
        notes.append(f"texts end after {TABLE_TEXT:,} characters")
    if table.without_text:
        notes.append(f"the last {table.without_text:,} have no text, for the size of this page")
    if table.left_out:
        notes.append(f"{table.left_out:,} more are left out, for the size of this page")
    return {"table_url": table.data_url(), "table_rows": table.rows, "table_notes": notes}
