"""The sections of a report about classes and which of them are taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sureline.evaluation.report.charts import weight_bar
from sureline.evaluation.report.counts import Facts, OfClass
from sureline.evaluation.report.heat_map import heat_map, order_by_confusion
from sureline.evaluation.report.markup import Markup, element, joined
from sureline.evaluation.report.parts import (
    build_table,
    head_section,
    show_label,
)

SQUARE = 12  # so many classes fit into a table of confusions
DRAWN = 400  # the heat map shows at most so many, those with the most mistakes
LISTED = 30  # so many classes are listed at once
WORST = 20  # of more, those with the most mistakes
FREQUENT = 20  # confusions that are listed


def show_classes(facts: Facts) -> Markup:
    """Precision, recall and F1 of each class, and what it is most often taken for."""
    mostly = _mostly(facts)
    every = facts.classes
    parts: list[Any] = [head_section("classes", "Classes")]
    parts.append(
        element(
            "p",
            "Precision is the share of right ones among the answers of a class, recall the share "
            "of its rows that are found, F1 their harmonic mean.",
            class_="note",
        )
    )
    if len(every) <= LISTED:
        return joined(parts, _class_table(every, mostly, "All classes"))
    worst = sorted(every, key=lambda each: (-_missed(each), -each.support))[:WORST]
    title = f"The {WORST} classes with the most mistakes"
    return joined(
        parts,
        _class_table(worst, mostly, title),
        element(
            "details",
            element("summary", f"All {len(every):,} classes"),
            _class_table(every, mostly, "All classes, sorted by name"),
        ),
    )


def _missed(each: OfClass) -> int:
    return each.support - round(each.recall * each.support)


def _mostly(facts: Facts) -> dict[Any, tuple[Any, int]]:
    """For each label, what it is most often taken for by mistake, and how often."""
    mostly = dict[Any, tuple[Any, int]]()
    for true, guess, count in facts.confusion:
        if true != guess and count > mostly.get(true, (None, 0))[1]:
            mostly[true] = (guess, count)
    return mostly


def _class_table(
    classes: Sequence[OfClass], mostly: dict[Any, tuple[Any, int]], title: str
) -> Markup:
    rows = []
    for each in classes:
        taken = mostly.get(each.label)
        cells = [
            element("td", f"{each.precision:.4f}", class_="n"),
            element("td", f"{each.recall:.4f}", class_="n"),
            element("td", f"{each.f1:.4f}", class_="n"),
            element("td", weight_bar(each.f1, None, 1.0), class_="bars"),
            element("td", f"{each.support:,}", class_="n"),
            element("td", f"{each.predicted:,}", class_="n"),
            element("td", (show_label(taken[0]), f" ({taken[1]:,})") if taken else "–"),
        ]
        rows.append(element("tr", element("th", show_label(each.label), scope="row"), cells))
    names = (
        *("Class", "Precision", "Recall", "F1", "", "Rows", "Answers"),
        "Most often taken for",
    )
    kinds = (None, "n", "n", "n", "bars", "n", "n", None)
    return build_table(names, kinds, rows, title)


def show_confusions(facts: Facts) -> Markup:
    """Which labels are taken for which: a table for few, a heat map for many."""
    labels = [each.label for each in facts.classes]
    wrong = sorted((each for each in facts.confusion if each[0] != each[1]), key=lambda e: -e[2])
    parts: list[Any] = [head_section("confusions", "Confusions")]
    if len(labels) <= SQUARE:
        parts.append(
            element(
                "p",
                "A row is a true label, a column an answer; shades show mistakes as a share of "
                "the row.",
                class_="note",
            )
        )
        return joined(parts, _square(facts, labels))
    if not wrong:
        return joined(parts, element("p", "There are none."))
    chosen = _with_most_mistakes(facts, DRAWN)
    counts = _counts(facts, chosen)
    order = order_by_confusion(counts)
    names = [str(chosen[k]) for k in order]
    note = (
        "A row is a true label, a column an answer. Labels that are taken for each other stand "
        "next to each other. Blue squares are right answers, orange ones mistakes; the stronger "
        "the colour, the larger the share of the row."
    )
    if len(chosen) < len(labels):
        note += f" Shown are the {len(chosen)} labels with the most mistakes, of {len(labels):,}."
    frequent = [
        element(
            "tr",
            element("td", show_label(true)),
            element("td", show_label(guess)),
            element("td", f"{count:,}", class_="n"),
            element("td", _share(count, facts, true), class_="n"),
        )
        for true, guess, count in wrong[:FREQUENT]
    ]
    total = sum(count for _, _, count in wrong)
    told = sum(count for _, _, count in wrong[:FREQUENT])
    head = ("True", "Answer", "Rows", "Of the class")
    caption = f"The most frequent confusions: {told / total:.0%} of the {total:,} mistakes"
    return joined(
        parts,
        element(
            "figure",
            element("div", heat_map(names, counts[np.ix_(order, order)]), class_="wide"),
            element("figcaption", note),
        ),
        element("div", build_table(head, (None, None, "n", "n"), frequent, caption), class_="wide"),
    )


def _share(count: int, facts: Facts, true: Any) -> str:
    support = next(each.support for each in facts.classes if each.label == true)
    return f"{count / support:.0%}"


def _with_most_mistakes(facts: Facts, most: int) -> list[Any]:
    """The labels that take part in most mistakes, in the order of the classes."""
    labels = [each.label for each in facts.classes]
    part = dict.fromkeys(labels, 0)
    for true, guess, count in facts.confusion:
        if true != guess:
            part[true] += count
            part[guess] += count
    ranked = set(sorted(labels, key=lambda label: -part[label])[:most])
    return [label for label in labels if label in ranked]


def _counts(facts: Facts, labels: list[Any]) -> NDArray[np.int64]:
    """The counts of pairs of labels as a square."""
    place = {label: k for k, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), np.int64)
    for true, guess, count in facts.confusion:
        if true in place and guess in place:
            counts[place[true], place[guess]] = count
    return counts


def _square(facts: Facts, labels: list[Any]) -> Markup:
    counts = _counts(facts, labels)
    sums = np.maximum(counts.sum(axis=1), 1)
    rows = []
    for i, label in enumerate(labels):
        cells = []
        for j in range(len(labels)):
            shade = int(np.ceil(5 * (counts[i, j] / sums[i]) ** 0.5))
            kind = "right" if i == j else f"c{min(shade, 5)}" if shade else None
            cells.append(element("td", f"{counts[i, j]:,}", class_=kind))
        rows.append(element("tr", element("th", show_label(label), scope="row"), cells))
    head = element(
        "tr",
        element("th", "true ↓ answer →", class_="corner", scope="col"),
        [element("th", show_label(label), scope="col") for label in labels],
    )
    table = element("table", element("thead", head), element("tbody", rows), class_="square")
    return element(
        "div", table, class_="wide", tabindex="0", role="region", aria_label="Table of confusions"
    )
