"""What a box classifier has learned: its boxes, and where learning can go on from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sureline.kernels.box.solvers import StreamArrays

Floats = NDArray[np.float64]


@dataclass
class Stream:
    """The state of the stochastic solver, as `StreamArrays` describes it; one box per class."""

    clocks: Floats
    counts: Floats
    stamps: Floats
    boxes: Floats
    sums: Floats

    @property
    def arrays(self) -> StreamArrays:
        """The same as the kernel takes it."""
        return StreamArrays(self.clocks, self.counts, self.stamps, self.boxes, self.sums)

    def averages(self) -> Floats:
        """The average of all iterates, the t-th with weight t."""
        steps = self.clocks[0]
        if steps == 0.0:
            return self.boxes.copy()
        before = 0.5 * self.stamps * (self.stamps - 1.0)
        last = 0.5 * steps * (steps + 1.0)
        averaged: Floats = (self.sums + (last - before)[:, None] * self.boxes) / last
        # A feature never touched has not moved, whatever rounding makes of its average.
        averaged[:, self.stamps == 0.0] = self.boxes[:, self.stamps == 0.0]
        return averaged

    def writeable(self) -> Stream:
        """The stream itself, or a copy where its arrays were mapped from a file for reading."""
        return self if all(each.flags.writeable for each in vars(self).values()) else self.copy()

    def copy(self) -> Stream:
        """The same state in arrays of its own."""
        return Stream(*(array.copy() for array in vars(self).values()))

    def with_column(self, column: int, interval: tuple[float, float]) -> Stream:
        """A state with one more class, whose box has been `interval` everywhere so far."""
        before = 0.5 * self.stamps * (self.stamps - 1.0)
        box = np.tile(np.array(interval), (self.stamps.size, 1))
        boxes = np.insert(self.boxes, column, box, axis=0)
        sums = np.insert(self.sums, column, before[:, None] * box, axis=0)
        return Stream(self.clocks, self.counts, self.stamps, boxes, sums)

    def with_both_sides(self) -> Stream:
        """The state of two classes that share a box, with a box each: they mirror each other."""
        mirror = np.array([-1.0, 1.0])
        boxes, sums = (np.concatenate([each * mirror, each]) for each in (self.boxes, self.sums))
        return Stream(self.clocks, self.counts, self.stamps, boxes, sums)


@dataclass
class BoxState:
    """The boxes of all classes after `fit`, `partial_fit` or both.

    `boxes` has a box per problem, with the constant feature's interval first; after `partial_fit`
    it is None until somebody needs the averages of the `stream`. `seen` describes the examples of
    the last `fit`: their number, the largest squared norm, and by feature how many have it. `duals`
    is where a warm start begins.
    """

    constant: float
    boxes: Floats | None = None
    stream: Stream | None = None
    seen: tuple[float, float, Floats] | None = None
    duals: Floats | None = None

    def table(self) -> Floats:
        """The boxes by class; row 0 is the constant feature's, slots are centre and half width."""
        if self.boxes is None:
            self.boxes = self.continued().averages()
        return self.boxes

    def continued(self) -> Stream:
        """The stream; after the exact solver, one that has stayed at its boxes for one pass."""
        if self.stream is not None:
            return self.stream
        if self.seen is None:
            raise ValueError("neither a stream nor a fit to continue")
        (steps, largest, counts), boxes = self.seen, self.table()
        stamps = np.where(counts > 0, steps, 0.0)
        sums = (0.5 * stamps * (stamps - 1.0))[:, None] * boxes
        return Stream(np.array([steps, steps, largest]), counts, stamps, boxes.copy(), sums)
