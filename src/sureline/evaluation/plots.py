"""Figures for papers and slides, drawn by matplotlib: labelled, and readable in greyscale.

Each function returns a matplotlib figure and, given a path, saves it; the format (PNG, PDF or SVG)
is inferred from the name. They need the extra ``plots``: ``pip install 'sureline[plots]'``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sureline.errors import DataError, InvalidParameter
from sureline.evaluation.plot_style import (
    INK,
    OURS,
    PALE,
    STYLES,
    drawing,
    learner_style,
    legend_beside,
    save_figure,
    series_style,
    show_name,
    show_plain,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sureline.evaluation.metrics import Confusion
    from sureline.evaluation.reliability import Calibration

Place = str | os.PathLike[str] | None

COUNTED = 25  # up to this many labels, each cell shows its count
NAMED = 60  # up to this many, labels have their names


def reliability_figure(found: Calibration, path: Place = None) -> Figure:
    """Draw the reliability diagram: accuracy against confidence, and the rows in each bin.

    Whiskers are 95% intervals; the bars below count rows.
    """
    bins = found.bins
    if not bins:
        raise DataError("reliability_figure: there are no rows in any bin")
    with drawing(4.6, 5.0) as figure:
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[4, 1])
        upper.plot([0, 1], [0, 1], "--", color=INK, linewidth=1, label="perfectly calibrated")
        accuracy = np.array([each.accuracy for each in bins])
        ends = np.array([each.interval for each in bins])
        upper.errorbar(
            np.array([each.confidence for each in bins]),
            accuracy,
            np.abs(ends - accuracy[:, None]).T,
            color=OURS,
            marker="o",
            linewidth=1.2,
            capsize=2.5,
            label=f"model (calibration error {found.expected_error:.3f})",
        )
        low = bins[0].low
        upper.set(xlim=(low - 0.01, 1.01), ylabel="accuracy")
        upper.set_ylim(min(low, float(ends[:, 0].min())) - 0.01, 1.02)
        # Above the axes, so that it hides no point.
        upper.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
        lower.bar(
            [each.low for each in bins],
            [each.count for each in bins],
            [each.high - each.low for each in bins],
            align="edge",
            color=PALE,
            edgecolor=INK,
            linewidth=0.6,
        )
        lower.set(xlabel="confidence", ylabel="rows")
        return save_figure(figure, path)


def learning_curve_figure(
    curves: Mapping[str, Any], path: Place = None, *, by: Literal["example", "pass"] = "example"
) -> Figure:
    """Draw the error of models during training, by their names.

    A curve is what `learning_curve` or `Progression.curve` gives, or a pair of sequences: numbers
    of examples (or passes) and errors. Examples are drawn on a logarithmic scale where they spread
    over more than a factor of 50.
    """
    if by not in ("example", "pass"):
        raise InvalidParameter(f"learning_curve_figure: by must be 'example' or 'pass', got {by!r}")
    if not curves:
        raise DataError("learning_curve_figure: there are no curves to draw")
    points = {name: _points(name, curve, by) for name, curve in curves.items()}
    with drawing(5.6, 3.8) as figure:
        axes = figure.subplots()
        for k, (name, (at, error)) in enumerate(points.items()):
            axes.plot(
                at,
                100 * error,
                STYLES[k % len(STYLES)],
                markersize=4.5,
                linewidth=1.4,
                label=show_name(name),
                **series_style(k),
            )
        every = np.concatenate([at for at, _ in points.values()])
        if by == "example" and every.min() > 0 and every.max() > 50 * every.min():
            axes.set_xscale("log")
        axes.set(ylabel="error (%)", xlabel="passes" if by == "pass" else "examples learned")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        legend_beside(axes)
        return save_figure(figure, path)


def confusion_figure(found: Confusion, path: Place = None) -> Figure:
    """Draw the confusion matrix, as shares of each true label.

    Up to 25 labels each cell has its count, up to 60 they have their names.
    """
    n = len(found.labels)
    if not n:
        raise DataError("confusion_figure: there are no labels")
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(found.counts / found.counts.sum(axis=1, keepdims=True))
    size = min(max(3.4, 0.36 * n + 1.6), 11.0)
    with drawing(size + 0.8, size) as figure:
        axes = figure.subplots()
        # The root of the share shows rare mistakes beside frequent right predictions.
        image = axes.imshow(np.sqrt(share), cmap="Greys", vmin=0.0, vmax=1.0)
        axes.set(xlabel="predicted label", ylabel="true label")
        if n <= NAMED:
            names = [show_name(label) for label in found.labels.tolist()]
            small = 9 if n <= COUNTED else 6
            axes.set_xticks(np.arange(n), names, rotation=90, fontsize=small)
            axes.set_yticks(np.arange(n), names, fontsize=small)
            show_plain(axes.get_xticklabels())
            show_plain(axes.get_yticklabels())
        if n <= COUNTED:
            for i, j in np.argwhere(found.counts > 0).tolist():
                dark = share[i, j] > 0.3
                axes.text(
                    j,
                    i,
                    f"{found.counts[i, j]:,}",
                    ha="center",
                    va="center",
                    fontsize=8 if n <= 12 else 6,
                    color="white" if dark else "black",
                )
        bar = figure.colorbar(image, ax=axes, shrink=0.7)
        ticks = [0.0, 0.01, 0.05, 0.2, 0.5, 1.0]
        bar.set_ticks(np.sqrt(ticks).tolist(), labels=[f"{tick:.0%}" for tick in ticks])
        bar.set_label("share of the true label's rows")
        return save_figure(figure, path)


def compare_figure(rows: Sequence[Mapping[str, Any]], path: Place = None) -> Figure:
    """Draw the errors and training times of several learners, task by task, the best on top.

    A row has `task`, `learner` and `error` (a share), and, where they are known, `deviation` of the
    error over folds, `seconds` of training, and `baseline`, whether the learner is one to compare
    with. Filled circles are learners, empty squares baselines.
    """
    tasks = dict[str, list[Mapping[str, Any]]]()
    for row in rows:
        if not {"learner", "error"} <= set(row):
            raise DataError(f"compare_figure: a row needs 'learner' and 'error', got {sorted(row)}")
        tasks.setdefault(str(row.get("task", "")), []).append(row)
    if not tasks:
        raise DataError("compare_figure: there are no rows to draw")
    timed = any(row.get("seconds") for row in rows)
    most = [len(held) for held in tasks.values()]
    with drawing(8.6 if timed else 5.6, 1.1 * len(tasks) + 0.24 * sum(most) + 0.7) as figure:
        grid = figure.subplots(
            len(tasks), 1 + timed, squeeze=False, height_ratios=[count + 1 for count in most]
        )
        for line, (task, held) in zip(grid, tasks.items(), strict=True):
            ranked = sorted(held, key=lambda row: float(row["error"]))
            _errors(line[0], ranked)
            if len(tasks) > 1 or task:
                line[0].set_title(show_name(task), loc="left", fontsize=10, parse_math=False)
            if timed:
                _seconds(line[1], ranked)
        kinds = {bool(row.get("baseline")) for row in rows}
        if len(kinds) == 2:
            marks = [
                grid[0][0].plot([], [], label=name, **learner_style(baseline))[0]
                for baseline, name in ((False, "learner"), (True, "baseline"))
            ]
            figure.legend(handles=marks, loc="outside lower center", ncols=2, frameon=False)
        return save_figure(figure, path)


def errors_scatter(
    x: ArrayLike,
    y: ArrayLike,
    path: Place = None,
    *,
    labels: tuple[str, str] = ("x", "y"),
    names: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
) -> Figure:
    """Draw the errors of one learner against those of another, as shares, one point per task.

    `labels` are the names of the two learners; `names` are written beside the points, and `groups`
    have markers of their own. Points below the diagonal are tasks on which the second is better.
    """
    first, second = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if first.ndim != 1 or first.shape != second.shape or not first.size:
        raise DataError(
            "errors_scatter takes two lists of errors, as many of each; got the shapes "
            f"{first.shape} and {second.shape}"
        )
    for what, given in (("names", names), ("groups", groups)):
        if given is not None and len(given) != first.size:
            raise DataError(f"errors_scatter: there are {first.size} tasks but {len(given)} {what}")
    with drawing(4.4, 4.4) as figure:
        axes = figure.subplots()
        top = 100 * float(max(first.max(), second.max(), 1e-3)) * 1.06
        axes.plot([0, top], [0, top], "--", color=INK, linewidth=1)
        kinds = [""] * first.size if groups is None else [str(group) for group in groups]
        for k, kind in enumerate(dict.fromkeys(kinds)):
            chosen = [i for i, each in enumerate(kinds) if each == kind]
            axes.plot(
                100 * first[chosen],
                100 * second[chosen],
                linestyle="none",
                markersize=5,
                label=show_name(kind),
                **series_style(k),
            )
        for i, name in enumerate(names or ()):
            axes.annotate(
                show_name(name),
                (100 * first[i], 100 * second[i]),
                xytext=(4, 3),
                textcoords="offset points",
                fontsize=7,
                parse_math=False,
            )
        wins = int((second < first).sum()), int((second > first).sum())
        axes.set_title(
            f"lower: {show_name(labels[1])} {wins[0]}, {show_name(labels[0])} {wins[1]}",
            fontsize=9,
            parse_math=False,
        )
        axes.set(xlim=(0, top), ylim=(0, top), aspect="equal")
        axes.set_xlabel(f"error of {show_name(labels[0])} (%)", parse_math=False)
        axes.set_ylabel(f"error of {show_name(labels[1])} (%)", parse_math=False)
        axes.grid(alpha=0.3)
        if groups is not None:
            legend_beside(axes)
        return save_figure(figure, path)


# -- parts -------------------------------------------------------------------------------------


def _errors(axes: Axes, ranked: Sequence[Mapping[str, Any]]) -> None:
    """The errors of the learners of one task, the lowest on top."""
    for place, row in enumerate(ranked):
        spread = row.get("deviation")
        axes.errorbar(
            100 * float(row["error"]),
            place,
            xerr=None if spread is None else 100 * float(spread),
            capsize=2.5,
            linewidth=1.0,
            **learner_style(bool(row.get("baseline"))),
        )
    _learners(axes, ranked)
    spread_known = any(row.get("deviation") is not None for row in ranked)
    axes.set_xlabel("error (%), ± standard deviation over folds" if spread_known else "error (%)")
    axes.set_xlim(left=max(0.0, axes.get_xlim()[0]))


def _seconds(axes: Axes, ranked: Sequence[Mapping[str, Any]]) -> None:
    """Their training times."""
    for place, row in enumerate(ranked):
        if row.get("seconds"):
            axes.plot(float(row["seconds"]), place, **learner_style(bool(row.get("baseline"))))
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("training time (s)")
    _learners(axes, [{"learner": ""} for _ in ranked])


def _learners(axes: Axes, ranked: Sequence[Mapping[str, Any]]) -> None:
    """Names of learners on the vertical axis."""
    axes.set_yticks(np.arange(len(ranked)), [show_name(row["learner"]) for row in ranked])
    show_plain(axes.get_yticklabels())
    axes.set_ylim(len(ranked) - 0.4, -0.6)
    axes.grid(axis="both", alpha=0.3)


def _points(name: str, curve: Any, by: str) -> tuple[Any, Any]:
    """The two lists of numbers of a curve."""
    if hasattr(curve, "examples") and hasattr(curve, "error"):
        at = curve.passes if by == "pass" and hasattr(curve, "passes") else curve.examples
        pair = at, curve.error
    else:
        pair = curve
    try:
        at, error = (np.asarray(part, np.float64) for part in pair)
    except (TypeError, ValueError):
        at, error = np.zeros(0), np.zeros(1)
    if at.ndim != 1 or at.shape != error.shape or not at.size:
        raise DataError(
            f"learning_curve_figure: the curve {name!r} is no pair of lists of the same length"
        )
    return at, error
