"""The charts of a report as shapes of SVG: this module computes places, the template writes markup.

Colours and strokes are classes in report.css, so that charts follow the light or dark setting and
stay readable in grey.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, floor, log10
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom

from sureline.evaluation.reliability import Calibration
from sureline.evaluation.report.statistics import CoveragePoint
from sureline.evaluation.report.thresholds import PrecisionRecall

Point = tuple[float, float]

WIDTH, HEIGHT = 480, 330
LEFT, RIGHT, TOP, BOTTOM = 58, 22, 12, 46
MOST_TICKS = 6
MOST_BLOCKS = 24  # of the error along the rows
MISTAKES_PER_BLOCK = 5  # on average, if there are enough
BAR = 120  # pixels of a weight's bar


class Shape(NamedTuple):
    """An element of SVG: its name, attributes, text, and the hint shown under the pointer.

    It may be a link to a place of the page.
    """

    tag: str
    attributes: dict[str, Any]
    text: str = ""
    hint: str = ""
    link: str = ""


class Chart(NamedTuple):
    """A drawing, with a title and a description for those who cannot see it."""

    name: str
    title: str
    description: str
    width: float
    height: float
    shapes: list[Shape]
    kind: str = "chart"


def shape(tag: str, kind: str, text: str = "", hint: str = "", **attributes: Any) -> Shape:
    """A shape of a class of the style sheet; numbers are rounded, `_` in names becomes `-`."""
    written = {
        name.replace("_", "-"): f"{round(value, 2) + 0.0:g}" if _is_number(value) else value
        for name, value in attributes.items()
    }
    return Shape(tag, {**written, "class": kind or None}, text, hint)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def rotated_text(kind: str, text: str, at: Point, angle: float = -90.0, **attributes: Any) -> Shape:
    """A text that begins at a point and runs in a direction."""
    place = f"translate({at[0]:.1f} {at[1]:.1f}) rotate({angle:.1f})"
    return shape("text", kind, text, transform=place, **attributes)


def _path(kind: str, points: Sequence[Point], end: str = "") -> Shape:
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return shape("path", kind, d=line + end)


@dataclass(frozen=True)
class Axis:
    """Numbers along one side of a chart, from pixel `start` to pixel `stop`."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def at(self, value: float) -> float:
        """The pixel of a number."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = log10(low), log10(high), log10(value)
        return self.start + (self.stop - self.start) * (value - low) / (high - low)

    def ticks(self) -> list[float]:
        """Round numbers on the axis."""
        if not self.log:
            return round_steps(self.low, self.high, MOST_TICKS)
        powers = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        steps = (1,) if len(powers) > 3 else (1, 2, 5)
        every = max(1, ceil(len(powers) / MOST_TICKS))
        marks = [step * 10.0**power for power in powers[::every] for step in steps]
        return [mark for mark in marks if self.low <= mark <= self.high]


def round_steps(low: float, high: float, most: int) -> list[float]:
    """At most so many multiples of 1, 2 or 5 times a power of ten between two numbers."""
    rough = (high - low) / most
    power = 10.0 ** floor(log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def percent(share: float) -> str:
    """A share on an axis."""
    return f"{round(100 * share, 4):g}%"


def short_count(number: float) -> str:
    """A number of rows on an axis: 20,000 is 20k."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def _share_axis(largest: float) -> Axis:
    """A vertical axis of shares from 0 that holds the largest."""
    largest = min(max(largest, 1e-4), 1.0)
    steps = round_steps(0.0, largest, 5)
    step = steps[1] if len(steps) > 1 else largest
    return Axis(0.0, min(1.0, step * ceil(largest / step - 1e-9)), HEIGHT - BOTTOM, TOP)


def _axes(
    x: Axis, y: Axis, x_name: str, y_name: str, write_x: Callable[[float], str] = percent
) -> list[Shape]:
    """Grid lines, numbers and names of both axes."""
    shapes = list[Shape]()
    for tick in y.ticks():
        at = y.at(tick)
        shapes.append(shape("line", "grid", x1=x.start, x2=x.stop, y1=at, y2=at))
        shapes.append(shape("text", "y-tick", percent(tick), x=x.start - 7, y=at + 4))
    for tick in x.ticks():
        at = x.at(tick)
        shapes.append(shape("line", "axis", x1=at, x2=at, y1=y.start, y2=y.start + 4))
        shapes.append(shape("text", "x-tick", write_x(tick), x=at, y=y.start + 18))
    shapes.append(shape("line", "axis", x1=x.start, x2=x.stop, y1=y.start, y2=y.start))
    shapes.append(shape("text", "name", x_name, x=(x.start + x.stop) / 2, y=y.start + 38))
    shapes.append(rotated_text("name", y_name, (13, (y.start + y.stop) / 2)))
    return shapes


def reliability_chart(calibration: Calibration, of_labels: bool = False) -> Chart:
    """Accuracy against confidence, with the number of predictions in each bin below.

    Or, `of_labels`: how often rows have a label against its probability, of all rows and labels.
    """
    counted, true = ("pairs of row and label", "true") if of_labels else ("predictions", "right")
    confidence = "probability" if of_labels else "confidence"
    bins = calibration.bins
    first = min(floor(10 * bins[0].low + 1e-9) / 10, 0.5)
    least = min(first, *(each.interval[0] for each in bins))
    height = 420
    x = Axis(first, 1.0, LEFT, WIDTH - RIGHT)
    y = Axis(max(0.0, floor(5 * least + 1e-9) / 5), 1.0, height - BOTTOM - 84, TOP)
    points = [(x.at(each.confidence), y.at(each.accuracy)) for each in bins]
    shapes = [
        *_axes(x, y, "", "share of rows with the label" if of_labels else "accuracy"),
        _path("diagonal", [(x.start, y.at(first)), (x.stop, y.stop)]),
        _path("thin line", points),
    ]
    for each, (at, value) in zip(bins, points, strict=True):
        ends = [y.at(end) for end in each.interval]
        hint = (
            f"{each.count:,} {counted} of mean {confidence} {each.confidence:.1%}: "
            f"{each.accuracy:.1%} {true}"
        )
        shapes.append(shape("line", "whisker", x1=at, x2=at, y1=ends[0], y2=ends[1]))
        shapes.append(shape("circle", "dot", "", hint, cx=at, cy=value, r=5))
    base, most = height - 30, max(each.count for each in bins)
    shapes.append(shape("line", "axis", x1=x.start, x2=x.stop, y1=base, y2=base))
    for each in bins:
        left, right = x.at(each.low), x.at(each.high)
        size = max(1.0, 48 * each.count / most)
        hint, middle, top = f"{each.count:,} {counted}", (left + right) / 2, base - size
        bar = {"x": left + 1.5, "y": top, "width": right - left - 3, "height": size}
        shapes.append(shape("rect", "bar", "", hint, **bar))
        shapes.append(shape("text", "small", short_count(each.count), x=middle, y=top - 4))
    name = f"{confidence}; bars count {counted}"
    shapes.append(shape("text", "name", name, x=(x.start + x.stop) / 2, y=height - 8))
    text = (
        f"Expected calibration error {calibration.expected_error:.4f}. "
        "The table below has the same numbers."
    )
    title = "Labels against their probability" if of_labels else "Accuracy against confidence"
    return Chart("reliability", title, text, WIDTH, height, shapes)


def coverage_chart(points: Sequence[CoveragePoint], error: float) -> Chart:
    """The error among the most confident predictions, by their share of the rows."""
    shown = [each for each in points if each.rows >= max(10, points[-1].rows / 500)] or points[-1:]
    x, y = Axis(0.0, 1.0, LEFT, WIDTH - RIGHT), _share_axis(max(each.error for each in shown))
    places = [(x.at(each.share), y.at(each.error)) for each in shown]
    line = [*_thinned(places), places[-1]]
    shapes = [
        *_axes(x, y, "coverage: share of rows, most confident first", "error among them"),
        _path("area", [*line, (line[-1][0], y.start), (line[0][0], y.start)], "Z"),
        _path("line", line),
    ]
    for share in (0.5, 0.8, 0.9, 1.0):
        reached = next((each for each in shown if each.share >= share - 1e-12), None)
        if reached is not None:
            hint = f"the most confident {reached.share:.1%}: error {reached.error:.2%}"
            at, height = x.at(reached.share), y.at(reached.error)
            shapes.append(shape("circle", "dot", "", hint, cx=at, cy=height, r=4))
    text = f"The error over all rows is {error:.2%}. The table below lists points of the curve."
    title = "Error among the most confident predictions"
    return Chart("coverage", title, text, WIDTH, HEIGHT, shapes)


def precision_recall_chart(curves: Sequence[PrecisionRecall], at: Sequence[Point]) -> Chart:
    """Precision against recall of one or two classes; `at` is where each is without a threshold."""
    least = min(precision for each in curves for precision in each.precision)
    low = max(0.0, floor(10 * min(least, *(precision for _, precision in at)) + 1e-9) / 10)
    x = Axis(0.0, 1.0, LEFT, WIDTH - RIGHT)
    y = Axis(min(low, 0.9), 1.0, HEIGHT - BOTTOM, TOP)
    shapes = _axes(x, y, "recall: share of the class’s rows that are found", "precision")
    for each, (recall, precision), kind in zip(curves, at, ("line", "second line"), strict=False):
        points = zip(each.recall, each.precision, strict=True)
        places = [(x.at(r), y.at(p)) for r, p in points]
        shapes.append(_path(kind, [*_thinned(places), places[-1]]))
        hint = f"as predicted: precision {precision:.1%}, recall {recall:.1%}"
        kind = kind.replace("line", "dot")
        shapes.append(shape("circle", kind, "", hint, cx=x.at(recall), cy=y.at(precision), r=5))
    text = "; ".join(f"{each.label}: average precision {each.average:.4f}" for each in curves)
    return Chart("precision-recall", "Precision and recall", text, WIDTH, HEIGHT, shapes)


def _thinned(points: list[Point]) -> list[Point]:
    """Points at least a pixel apart."""
    kept = points[:1]
    for point in points[1:]:
        if abs(point[0] - kept[-1][0]) + abs(point[1] - kept[-1][1]) >= 1.0:
            kept.append(point)
    return kept


def blocks_chart(blocks: Sequence[tuple[int, int]], error: float) -> Chart:
    """The error along the rows, with the band in which 95% of blocks would lie by chance."""
    merged = merge_blocks(blocks)
    ends = list(accumulate((rows for rows, _ in merged), initial=0))
    errors = [wrong / rows for rows, wrong in merged]
    bands = [np.array(binom.interval(0.95, rows, error)) / rows for rows, _ in merged]
    x = Axis(0.0, float(ends[-1]), LEFT, WIDTH - RIGHT)
    y = _share_axis(max([*errors, *(band[1] for band in bands)]))

    def steps(values: Sequence[float]) -> list[Point]:
        return [
            (x.at(end), y.at(min(value, y.high)))
            for k, value in enumerate(values)
            for end in ends[k : k + 2]
        ]

    band = steps([high for _, high in bands]) + steps([low for low, _ in bands])[::-1]
    shapes = [
        *_axes(x, y, "row, in file order", "error per block of rows", short_count),
        _path("area", band, "Z"),
        _path("diagonal", [(x.start, y.at(error)), (x.stop, y.at(error))]),
        _path("line", steps(errors)),
    ]
    outside = sum(not b[0] <= e <= b[1] for e, b in zip(errors, bands, strict=True))
    text = (
        f"{len(merged)} blocks; the error of {outside} of them is outside the band in which 95% "
        "would lie if mistakes were spread evenly."
    )
    return Chart("blocks", "Error along the rows", text, WIDTH, HEIGHT, shapes)


def merge_blocks(blocks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same rows in fewer blocks, with enough mistakes in each.

    All are of one size but the last: a short rest at the end joins the block before it.
    """
    wrong = sum(mistakes for _, mistakes in blocks)
    size = ceil(len(blocks) / min(max(wrong // MISTAKES_PER_BLOCK, 4), MOST_BLOCKS))
    groups = [blocks[k : k + size] for k in range(0, len(blocks), size)]
    merged = [(sum(r for r, _ in group), sum(w for _, w in group)) for group in groups]
    if len(merged) > 1 and merged[-1][0] < merged[0][0] / 2:
        rows, wrong = merged.pop()
        merged[-1] = (merged[-1][0] + rows, merged[-1][1] + wrong)
    return merged


def training_chart(
    curve: Sequence[tuple[int, int]], passes: int, changes: Sequence[int] = ()
) -> Chart:
    """The training error, from cumulative counts: so far, and since the previous point.

    `changes` are the numbers of examples after which the stream was seen to have changed.
    """
    so_far = [(examples, wrong / examples) for examples, wrong in curve]
    # The error of a few examples says nothing.
    recent = [
        ((examples * before) ** 0.5, (wrong - missed) / (examples - before))
        for (examples, wrong), (before, missed) in zip(curve[1:], curve, strict=False)
        if examples - before >= 50
    ]
    last = curve[-1][0]
    first = max(1, next((examples for examples, _ in curve if examples >= 8), last))
    line = [point for point in so_far if point[0] >= first]
    x = Axis(first, max(last, first + 1), LEFT, WIDTH - RIGHT, log=True)
    y = _share_axis(max(error for _, error in [*line, *recent]))
    shapes = [
        *_axes(x, y, "training examples (log scale)", "error before learning", short_count),
        _path("line", [(x.at(n), y.at(error)) for n, error in line]),
        *(
            shape("circle", "ring", cx=x.at(n), cy=y.at(error), r=3)
            for n, error in recent
            if n >= first
        ),
    ]
    if passes > 1:
        at = x.at(max(first, last / passes))
        shapes.append(_path("diagonal", [(at, y.start), (at, y.stop)]))
        shapes.append(shape("text", "aside end", "end of the first pass", x=at - 6, y=TOP + 12))
    for change in changes:
        if first <= change <= last:
            at = x.at(change)
            shapes.append(_path("change", [(at, y.start), (at, y.stop)]))
    text = f"{so_far[-1][1]:.2%} of {last:,} training examples were predicted wrongly beforehand."
    if changes:
        text += f" The stream changed after {', '.join(f'{each:,}' for each in changes)}."
    return Chart("training", "Training error", text, WIDTH, HEIGHT, shapes)


def weight_bar(
    weight: float, deviation: float | None, lowest: float, highest: float
) -> list[Shape]:
    """A positive weight as a bar, with a whisker of one standard deviation to both sides.

    All bars of a page reach from `lowest`, which is 0 or below, to `highest`; a line marks 0.
    """
    x = Axis(lowest, highest, 0.5, BAR - 0.5)
    zero = x.at(0.0)
    size = max(x.at(weight) - zero, 0.5)
    shapes = [shape("rect", "bar", x=zero, y=3, width=size, height=8)]
    if lowest < 0.0:
        shapes.append(shape("line", "zero", x1=zero, x2=zero, y1=0, y2=14))
    if deviation is not None:
        low, high = (x.at(weight + sign * deviation) for sign in (-1, 1))
        line = f"M{low:.1f} 7H{high:.1f}M{high:.1f} 4V10M{low:.1f} 4V10"
        shapes.append(shape("path", "whisker", d=line))
    return shapes
