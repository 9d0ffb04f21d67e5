"""The confusions of many labels as a map of shaded squares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sureline.evaluation.report.charts import Chart, Shape, rotated_text, shape
from sureline.evaluation.report.text import clip

NAMED_LABELS = 60  # a heat map of more labels has no names
NAME_LENGTH = 26  # characters of a name
SHADES = 8


def heat_map(
    labels: Sequence[str],
    counts: NDArray[np.int64],
    links: Mapping[tuple[str, str], str] | None = None,
) -> Chart:
    """The confusions of many labels: a row per true label, a column per predicted one.

    Cells are shaded by their share of the row. With many labels the names are left out. `links` has
    the places of the page where the mistakes of true and predicted labels are.
    """
    n = len(labels)
    named = n <= NAMED_LABELS
    cell = max(10.0, min(24.0, 560 / n)) if named else max(3.0, 620 / n)
    names = [clip(name, NAME_LENGTH) for name in labels]
    margin = max(map(len, names)) * 6.4 + 12 if named else 20.0
    size = n * cell
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    level = np.ceil(np.sqrt(share) * SHADES).astype(int)
    diagonal = np.eye(n, dtype=bool)
    shapes = [shape("rect", "ground", x=margin, y=margin, width=size, height=size)]
    for kind, chosen in (("hit", diagonal), ("miss", ~diagonal)):
        for shade in range(1, SHADES + 1):
            places = np.argwhere((level == shade) & chosen).tolist()
            squares = (
                f"M{margin + j * cell:g} {margin + i * cell:g}h{cell:g}v{cell:g}h-{cell:g}z"
                for i, j in places
            )
            if places:
                shapes.append(shape("path", f"{kind} s{shade}", d="".join(squares)))
    if named:
        for k, name in enumerate(names):
            at = margin + (k + 0.5) * cell + 3.5
            shapes.append(shape("text", "row", name, x=margin - 6, y=at))
            shapes.append(rotated_text("column", name, (at, margin - 6)))
        shapes += _hints(labels, counts, margin, cell, links or {})
    else:
        middle = margin + size / 2
        shapes.append(rotated_text("name", "true label", (13, middle)))
        shapes.append(shape("text", "name", "predicted label", x=middle, y=13))
    wrong = int(counts.sum() - np.trace(counts))
    text = f"{n} labels, {wrong:,} mistakes. The table lists the most frequent ones."
    whole = round(margin + size + 4)
    return Chart("confusion", "Confusion matrix", text, whole, whole, shapes, "chart heat")


def _hints(
    labels: Sequence[str],
    counts: NDArray[np.int64],
    margin: float,
    cell: float,
    links: Mapping[tuple[str, str], str],
) -> list[Shape]:
    """What a cell holds, shown when the pointer rests on it."""
    shapes = list[Shape]()
    for i, j in np.argwhere(counts > 0).tolist():
        true, predicted = clip(labels[i], 80), clip(labels[j], 80)
        what = f"{true}, right" if i == j else f"{true}, predicted as {predicted}"
        place = {"x": margin + j * cell, "y": margin + i * cell, "width": cell, "height": cell}
        made = shape("rect", "hint", "", f"{what}: {counts[i, j]:,}", **place)
        shapes.append(made._replace(link=links.get((labels[i], labels[j]), "")))
    return shapes


def order_by_confusion(counts: NDArray[np.int64]) -> list[int]:
    """An order in which labels that are mistaken for each other are neighbours."""
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    distance = 1.0 - np.clip(np.maximum(share, share.T), 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    condensed = squareform(distance, checks=False)
    tree = linkage(condensed, "average")
    if len(counts) <= NAMED_LABELS:  # the best order of many labels takes too long
        tree = optimal_leaf_ordering(tree, condensed)
    return [int(k) for k in leaves_list(tree)]
