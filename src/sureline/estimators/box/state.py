"""What a box classifier has learned: its boxes, and where learning can go on from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sureline.kernels.box.solvers import StreamArrays

Floats = NDArray[np.float64]


def averages(stream: StreamArrays) -> Floats:
    """The average of all iterates of the stochastic solver, the t-th with weight t."""
    steps = stream.clocks[0]
    if steps == 0.0:
        return np.array(stream.boxes)
    before = 0.5 * stream.stamps * (stream.stamps - 1.0)
    last = 0.5 * steps * (steps + 1.0)
    averaged: Floats = (stream.sums + (last - before)[:, None] * stream.boxes) / last
    # A feature never touched has not moved, whatever rounding makes of its average.
    averaged[:, stream.stamps == 0.0] = stream.boxes[:, stream.stamps == 0.0]
    return averaged


def copy_of(stream: StreamArrays) -> StreamArrays:
    """The same state in arrays of its own."""
    return StreamArrays(*(array.copy() for array in stream))


def with_column(stream: StreamArrays, column: int, interval: tuple[float, float]) -> StreamArrays:
    """A state with one more class, whose box has been `interval` everywhere so far."""
    before = 0.5 * stream.stamps * (stream.stamps - 1.0)
    box = np.tile(np.array(interval), (stream.stamps.size, 1))
    boxes = np.insert(stream.boxes, column, box, axis=0)
    sums = np.insert(stream.sums, column, before[:, None] * box, axis=0)
    return stream._replace(boxes=boxes, sums=sums)


def with_both_sides(stream: StreamArrays) -> StreamArrays:
    """The state of two classes that share a box, with a box each: they mirror each other."""
    mirror = np.array([-1.0, 1.0])
    boxes, sums = (np.concatenate([each * mirror, each]) for each in (stream.boxes, stream.sums))
    return stream._replace(boxes=boxes, sums=sums)


@dataclass
class BoxState:
    """The boxes of all classes after `fit`, `partial_fit` or both.

    `boxes` has a box per problem, with the constant feature's interval first; after `partial_fit`
    it is None until somebody needs the averages of the `stream`. `seen` describes the examples of
    the last `fit`: their number, the sum of their lengths, and by feature how many have it. `duals`
    is where a warm start begins.
    """

    constant: float
    boxes: Floats | None = None
    stream: StreamArrays | None = None
    seen: tuple[float, float, Floats] | None = None
    duals: Floats | None = None

    def table(self) -> Floats:
        """The boxes by class; row 0 is the constant feature's, slots are centre and half width."""
        if self.boxes is None:
            self.boxes = averages(self.continued())
        return self.boxes

    def continued(self) -> StreamArrays:
        """The stream; after the exact solver, one that has stayed at its boxes for one pass."""
        if self.stream is not None:
            return self.stream
        if self.seen is None:
            raise ValueError("neither a stream nor a fit to continue")
        (steps, lengths, counts), boxes = self.seen, self.table()
        stamps = np.where(counts > 0, steps, 0.0)
        sums = (0.5 * stamps * (stamps - 1.0))[:, None] * boxes
        return StreamArrays(np.array([steps, steps, lengths]), counts, stamps, boxes.copy(), sums)
