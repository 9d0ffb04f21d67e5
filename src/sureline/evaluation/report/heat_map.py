"""A heat map of confusions, and the order of labels that makes it readable."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sureline.evaluation.report.charts import drawing
from sureline.evaluation.report.markup import Markup, clip, element, joined

LABELLED = 60  # labels whose names stand beside the map
SHADES = 8
LETTERS = 26  # of a name


def heat_map(labels: Sequence[str], counts: NDArray[np.int64]) -> Markup:
    """Which labels are taken for which: a row a true label, a column an answer.

    Cells are shaded by their share of the row; right answers stand in outlined squares. With many
    classes the names are left out.

    Parameters
    ----------
    labels : sequence of str
        The names, in the order of rows and columns.
    counts : int array of shape (n, n)
        The rows of each pair.
    """
    n = len(labels)
    named = n <= LABELLED
    cell = max(10.0, min(24.0, 560 / n)) if named else max(3.0, 620 / n)
    names = [clip(name, LETTERS) for name in labels]
    margin = min(max(map(len, names)), LETTERS) * 6.4 + 12 if named else 20
    size = n * cell
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(counts / counts.sum(axis=1, keepdims=True))
    level = np.ceil(np.sqrt(share) * SHADES).astype(int)
    parts = [
        element("rect", x=margin, y=margin, width=size, height=size, class_="ground"),
    ]
    diagonal = np.eye(n, dtype=bool)
    for kind, chosen in (("hit", diagonal), ("miss", ~diagonal)):
        for shade in range(1, SHADES + 1):
            places = np.argwhere((level == shade) & chosen)
            if places.size:
                squares = "".join(
                    f"M{margin + j * cell:g} {margin + i * cell:g}h{cell:g}v{cell:g}h-{cell:g}z"
                    for i, j in places.tolist()
                )
                parts.append(element("path", d=squares, class_=f"{kind} s{shade}"))
    if named:
        for k, name in enumerate(names):
            at = margin + (k + 0.5) * cell
            parts.append(element("text", name, x=margin - 6, y=at + 3.5, class_="row"))
            parts.append(
                element(
                    "text",
                    name,
                    x=0,
                    y=0,
                    class_="column",
                    transform=f"translate({at + 3.5:g} {margin - 6:g}) rotate(-90)",
                )
            )
        parts.append(_hints(labels, counts, margin, cell))
    else:
        parts.append(
            element(
                "text",
                "true label",
                x=0,
                y=0,
                class_="name",
                transform=f"translate(13 {margin + size / 2:g}) rotate(-90)",
            )
        )
        parts.append(element("text", "answer", x=margin + size / 2, y=13, class_="name"))
    wrong = int(counts.sum() - np.trace(counts))
    text = f"{n} labels, {wrong:,} mistakes. The most frequent ones are listed in the table."
    whole = margin + size + 4
    return drawing("confusion", "Confusions", text, whole, whole, parts, class_="heat")


def _hints(labels: Sequence[str], counts: NDArray[np.int64], margin: float, cell: float) -> Markup:
    """What a cell holds, shown when the pointer rests on it."""
    parts = list[Markup]()
    for i, j in np.argwhere(counts > 0).tolist():
        told = f"{clip(labels[i], 80)} taken for {clip(labels[j], 80)}: {counts[i, j]:,}"
        if i == j:
            told = f"{clip(labels[i], 80)}, right: {counts[i, j]:,}"
        parts.append(
            element(
                "rect",
                element("title", told),
                x=margin + j * cell,
                y=margin + i * cell,
                width=cell,
                height=cell,
                class_="hint",
            )
        )
    return joined(parts)


def order_by_confusion(counts: NDArray[np.int64]) -> list[int]:
    """An order in which labels that are taken for each other stand side by side.

    Parameters
    ----------
    counts : int array of shape (n, n)
        The rows of each pair of a true label and an answer.

    Examples
    --------
    >>> import numpy as np
    >>> from sureline.evaluation.report.heat_map import order_by_confusion
    >>> order = order_by_confusion(np.array([[9, 0, 3], [0, 9, 0], [4, 0, 9]]))
    >>> abs(order.index(0) - order.index(2))
    1
    """
    from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    rows = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    near = counts / rows
    near = np.maximum(near, near.T)
    distance = 1.0 - np.clip(near, 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    flat = squareform(distance, checks=False)
    tree = linkage(flat, "average")
    if len(counts) <= LABELLED:  # the best order of many takes too long
        tree = optimal_leaf_ordering(tree, flat)
    return [int(k) for k in leaves_list(tree)]
