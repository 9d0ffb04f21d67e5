"""The charts of a report: inline SVG, drawn in the colours of the page, readable in grey."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

import numpy as np
from scipy.stats import binom, binomtest

from sureline.evaluation.reliability import Calibration
from sureline.evaluation.report.confidence import Covered
from sureline.evaluation.report.markup import Markup, element, joined

WIDTH, HEIGHT = 480, 330
LEFT, RIGHT, TOP, BOTTOM = 58, 22, 12, 46
MOST_BLOCKS = 24  # of the error along the rows
EXPECTED = 5  # mistakes that a block has on average, if there are as many


def interval(part: int, whole: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share.

    Parameters
    ----------
    part, whole : int
        So many of so many; at least one of how many.

    Examples
    --------
    >>> from sureline.evaluation.report.charts import interval
    >>> [round(end, 3) for end in interval(1, 10)]
    [0.018, 0.404]
    """
    found = binomtest(part, whole).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


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

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers on the axis."""
        if self.log:
            powers = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
            steps = (1,) if len(powers) > 3 else (1, 2, 5)
            every = max(1, ceil(len(powers) / most))
            marks = [step * 10.0**power for power in powers[::every] for step in steps]
            return [mark for mark in marks if self.low <= mark <= self.high]
        return round_steps(self.low, self.high, most)


def round_steps(low: float, high: float, most: int) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two numbers, not too many.

    Parameters
    ----------
    low, high : float
        The numbers.
    most : int
        How many steps, at most.

    Examples
    --------
    >>> from sureline.evaluation.report.charts import round_steps
    >>> round_steps(0.0, 0.37, 5)
    [0.0, 0.1, 0.2, 0.3]
    """
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


def drawing(
    name: str, title: str, text: str, width: float, height: float, *parts: Any, class_: str = ""
) -> Markup:
    """An SVG with a title and a description for those who do not see it."""
    return element(
        "svg",
        element("title", title, id=f"{name}-title"),
        element("desc", text, id=f"{name}-text"),
        parts,
        viewBox=f"0 0 {round(width)} {round(height)}",
        role="img",
        aria_labelledby=f"{name}-title {name}-text",
        class_=f"chart {class_}".strip(),
    )


def _axes(
    x: Axis,
    y: Axis,
    labels: tuple[str, str],
    written: tuple[Callable[[float], str], Callable[[float], str]],
) -> Markup:
    """Grid lines, numbers and names of both axes."""
    parts = list[Markup]()
    for tick in y.ticks():
        at = y.at(tick)
        parts.append(element("line", x1=x.start, x2=x.stop, y1=at, y2=at, class_="grid"))
        parts.append(element("text", written[1](tick), x=x.start - 7, y=at + 4, text_anchor="end"))
    for tick in x.ticks():
        at = x.at(tick)
        parts.append(element("line", x1=at, x2=at, y1=y.start, y2=y.start + 4, class_="axis"))
        parts.append(element("text", written[0](tick), x=at, y=y.start + 18, text_anchor="middle"))
    parts.append(element("line", x1=x.start, x2=x.stop, y1=y.start, y2=y.start, class_="axis"))
    middle = (y.start + y.stop) / 2
    parts.append(
        element("text", labels[0], x=(x.start + x.stop) / 2, y=y.start + 38, class_="name")
    )
    parts.append(
        element(
            "text",
            labels[1],
            x=0,
            y=0,
            transform=f"translate(13 {middle:g}) rotate(-90)",
            class_="name",
        )
    )
    return joined(parts)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _top(largest: float) -> float:
    """The end of an axis of shares that holds the largest."""
    largest = min(max(largest, 1e-4), 1.0)
    step = round_steps(0.0, largest, 5)
    step_size = step[1] if len(step) > 1 else largest
    return min(1.0, step_size * ceil(largest / step_size - 1e-9))


def reliability_chart(found: Calibration) -> Markup:
    """How often answers are right against how sure the model is of them, and how many there are.

    Parameters
    ----------
    found : Calibration
        The bins.
    """
    filled = np.flatnonzero(found.counts)
    least = min(float(found.edges[filled[0]]), float(found.accuracy[filled].min()), 0.5)
    low = floor(10 * least + 1e-9) / 10
    height = 420
    x = Axis(low, 1.0, LEFT, WIDTH - RIGHT)
    y = Axis(low, 1.0, height - BOTTOM - 84, TOP)
    parts = [_axes(x, y, ("", "share that is right"), (percent, percent))]
    parts.append(
        element("line", x1=x.at(low), y1=y.at(low), x2=x.at(1), y2=y.at(1), class_="diagonal")
    )
    parts.append(
        element(
            "text",
            "as sure as right",
            x=0,
            y=16,
            class_="aside",
            text_anchor="middle",
            transform=_along(x, y),
        )
    )
    places = list[tuple[float, float]]()
    for k in filled.tolist():
        count, right = int(found.counts[k]), round(found.accuracy[k] * found.counts[k])
        at, value = x.at(found.confidence[k]), y.at(found.accuracy[k])
        places.append((at, value))
        ends = [y.at(max(end, y.low)) for end in interval(right, count)]
        told = (
            f"{count:,} answers of mean probability {found.confidence[k]:.1%}: "
            f"{found.accuracy[k]:.1%} right"
        )
        parts.append(element("line", x1=at, x2=at, y1=ends[0], y2=ends[1], class_="whisker"))
        parts.append(element("circle", element("title", told), cx=at, cy=value, r=5, class_="dot"))
    if len(places) > 1:
        parts.insert(3, element("path", d=_path(places), class_="thin line"))
    parts.append(_histogram(found, filled.tolist(), x, height))
    text = (
        f"Expected calibration error {found.expected_error:.4f}. "
        "The same numbers stand in the table below."
    )
    return drawing("reliability", "How sure and how right", text, WIDTH, height, parts)


def _along(x: Axis, y: Axis) -> str:
    """A place on the diagonal, and its slope."""
    a, b = (x.start, y.start), (x.stop, y.stop)
    angle = float(np.degrees(np.arctan2(b[1] - a[1], b[0] - a[0])))
    at = 0.75
    where = a[0] + at * (b[0] - a[0]), a[1] + at * (b[1] - a[1])
    return f"translate({where[0]:.1f} {where[1]:.1f}) rotate({angle:.1f})"


def _histogram(found: Calibration, filled: list[int], x: Axis, height: float) -> Markup:
    """How many answers lie in each bin, below the diagram."""
    base, room = height - 30, 48
    most = int(found.counts.max())
    parts = [element("line", x1=x.start, x2=x.stop, y1=base, y2=base, class_="axis")]
    for k in filled:
        left, right = x.at(found.edges[k]), x.at(found.edges[k + 1])
        count = int(found.counts[k])
        size = max(1.0, room * count / most)
        parts.append(
            element(
                "rect",
                element("title", f"{count:,} answers"),
                x=left + 1.5,
                y=base - size,
                width=right - left - 3,
                height=size,
                class_="bar",
            )
        )
        written = short_count(count)
        parts.append(
            element("text", written, x=(left + right) / 2, y=base - size - 4, class_="small")
        )
    parts.append(
        element(
            "text",
            "probability of the answer; bars count answers",
            x=(x.start + x.stop) / 2,
            y=height - 8,
            class_="name",
        )
    )
    return joined(parts)


def coverage_chart(curve: Sequence[Covered], overall: float) -> Markup:
    """The error among the surest answers, by how many of all are given.

    Parameters
    ----------
    curve : sequence of Covered
        From the surest answers to all.
    overall : float
        The error of all.
    """
    shown = [each for each in curve if each.rows >= max(10, curve[-1].rows / 500)] or curve[-1:]
    top = _top(max(each.error for each in shown))
    x = Axis(0.0, 1.0, LEFT, WIDTH - RIGHT)
    y = Axis(0.0, top, HEIGHT - BOTTOM, TOP)
    labels = ("share of rows answered, the surest first", "error among them")
    points = [(x.at(each.share), y.at(each.error)) for each in shown]
    line = _path([*_thinned(points), points[-1]])
    area = f"{line}L{points[-1][0]:.1f} {y.start:.1f}L{points[0][0]:.1f} {y.start:.1f}Z"
    parts = [
        _axes(x, y, labels, (percent, percent)),
        element("path", d=area, class_="area"),
        element("path", d=line, class_="line"),
    ]
    for share in (0.5, 0.8, 0.9, 1.0):
        each = next((one for one in shown if one.share >= share - 1e-12), None)
        if each is not None:
            told = f"the surest {each.share:.1%}: error {each.error:.2%}"
            at = x.at(each.share), y.at(each.error)
            parts.append(
                element("circle", element("title", told), cx=at[0], cy=at[1], r=4, class_="dot")
            )
    text = f"Of all rows {overall:.2%} are wrong. The table below lists some points of the curve."
    return drawing("coverage", "Error among the surest answers", text, WIDTH, HEIGHT, parts)


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points at least a pixel apart."""
    kept = points[:1]
    for point in points[1:]:
        if abs(point[0] - kept[-1][0]) + abs(point[1] - kept[-1][1]) >= 1.0:
            kept.append(point)
    return kept


def along_chart(blocks: Sequence[tuple[int, int]], overall: float) -> Markup:
    """The error along the rows, in blocks, and what chance alone would make of the error of all.

    Parameters
    ----------
    blocks : sequence of (rows, mistakes)
        The rows in order.
    overall : float
        The error of all.
    """
    merged = merge_blocks(blocks)
    ends = np.cumsum([rows for rows, _ in merged])
    errors = [wrong / rows for rows, wrong in merged]
    bands = [np.array(binom.interval(0.95, rows, overall)) / rows for rows, _ in merged]
    x = Axis(0.0, float(ends[-1]), LEFT, WIDTH - RIGHT)
    y = Axis(0.0, _top(max([*errors, *(band[1] for band in bands)])), HEIGHT - BOTTOM, TOP)
    upper, lower, line = (list[tuple[float, float]]() for _ in range(3))
    begin = 0.0
    for end, error, band in zip(ends.tolist(), errors, bands, strict=True):
        for at in (x.at(begin), x.at(end)):
            upper.append((at, y.at(min(band[1], y.high))))
            lower.append((at, y.at(band[0])))
            line.append((at, y.at(error)))
        begin = end
    labels = ("row, in the order of the files", "error in a block of rows")
    level = y.at(overall)
    parts = [
        _axes(x, y, labels, (short_count, percent)),
        element("path", d=_path(upper + lower[::-1]) + "Z", class_="area"),
        element("line", x1=x.start, x2=x.stop, y1=level, y2=level, class_="diagonal"),
        element("path", d=_path(line), class_="line"),
    ]
    odd = sum(not b[0] <= error <= b[1] for error, b in zip(errors, bands, strict=True))
    text = (
        f"{len(merged)} blocks; the error of {odd} of them lies outside the band in which 95 in "
        "100 blocks would lie if mistakes were spread evenly."
    )
    return drawing("along", "Error along the rows", text, WIDTH, HEIGHT, parts)


def merge_blocks(blocks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same rows in blocks that have mistakes enough to tell something.

    Parameters
    ----------
    blocks : sequence of (rows, mistakes)
        All but the last of one size; a short rest at the end joins the last.
    """
    wrong = sum(mistakes for _, mistakes in blocks)
    times = ceil(len(blocks) / min(max(wrong // EXPECTED, 4), MOST_BLOCKS))
    groups = [blocks[k : k + times] for k in range(0, len(blocks), times)]
    merged = [(sum(r for r, _ in g), sum(w for _, w in g)) for g in groups]
    if len(merged) > 1 and merged[-1][0] < merged[0][0] / 2:
        rows, wrong = merged.pop()
        merged[-1] = (merged[-1][0] + rows, merged[-1][1] + wrong)
    return merged


def training_chart(curve: Sequence[tuple[int, int]], passes: int) -> Markup:
    """The error while learning: of all examples so far, and of those since the point before.

    Parameters
    ----------
    curve : sequence of (examples, mistakes)
        Counts so far.
    passes : int
        How many passes training made.
    """
    examples = [point[0] for point in curve]
    so_far = [wrong / seen for seen, wrong in curve]
    begin = [(0, 0), *curve[:-1]]
    # A point of a few examples tells nothing of the error at that time.
    lately = [
        ((seen * before) ** 0.5, (wrong - missed) / (seen - before))
        for (seen, wrong), (before, missed) in zip(curve, begin, strict=True)
        if seen - before >= 50 and before
    ]
    first = max(1, next((n for n in examples if n >= 8), examples[-1]))
    high = max(examples[-1], first + 1)
    shown = [(n, e) for n, e in zip(examples, so_far, strict=True) if n >= first]
    top = _top(max(e for _, e in [*shown, *lately]))
    x = Axis(first, high, LEFT, WIDTH - RIGHT, log=True)
    y = Axis(0.0, top, HEIGHT - BOTTOM, TOP)
    labels = ("examples learned (logarithmic)", "error just before learning")
    parts = [
        _axes(x, y, labels, (short_count, percent)),
        element("path", d=_path([(x.at(n), y.at(e)) for n, e in shown]), class_="line"),
        [
            element("circle", cx=x.at(n), cy=y.at(e), r=3, class_="ring")
            for n, e in lately
            if n >= first
        ],
    ]
    if passes > 1:
        at = x.at(max(first, examples[-1] / passes))
        parts.append(element("line", x1=at, x2=at, y1=y.start, y2=y.stop, class_="diagonal"))
        parts.append(
            element(
                "text",
                "end of the first pass",
                x=at - 6,
                y=TOP + 12,
                class_="aside",
                text_anchor="end",
            )
        )
    text = f"{so_far[-1]:.2%} of {examples[-1]:,} examples were mistaken just before learning them."
    return drawing("training", "Error while learning", text, WIDTH, HEIGHT, parts)


def weight_bar(weight: float, deviation: float | None, widest: float) -> Markup:
    """A weight as a bar, with a whisker one standard deviation to both sides.

    Parameters
    ----------
    weight : float
        The weight, from 0 up.
    deviation : float or None
        Its standard deviation.
    widest : float
        The number at the right end.
    """
    width, height = 120, 14
    size = width * weight / widest
    parts = [element("rect", x=0, y=3, width=max(size, 0.5), height=8, class_="bar")]
    if deviation is not None:
        ends = [
            min(max(width * (weight + sign * deviation) / widest, 0.5), width - 0.5)
            for sign in (-1, 1)
        ]
        parts.append(
            element(
                "path",
                class_="whisker",
                d=f"M{ends[0]:.1f} 7H{ends[1]:.1f}M{ends[1]:.1f} 4V10M{ends[0]:.1f} 4V10",
            )
        )
    return element(
        "svg", parts, viewBox=f"0 0 {width} {height}", class_="spark", aria_hidden="true"
    )
