"""What is kept of the rows: the error along them, and the mistakes the model was surest of."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_BLOCKS = 128


class ErrorAlongRows:
    """Counts mistakes in blocks of rows; when there are too many blocks, pairs become one.

    Examples
    --------
    >>> import numpy as np
    >>> from sureline.evaluation.report.rows import ErrorAlongRows
    >>> along = ErrorAlongRows()
    >>> along.add(np.array([True, False, False, True]))
    >>> along.blocks()
    [(1, 0), (1, 1), (1, 1), (1, 0)]
    """

    def __init__(self) -> None:
        self._size = 1
        self._wrong = list[int]()
        self._rest: NDArray[np.bool_] = np.zeros(0, bool)

    def add(self, right: NDArray[np.bool_]) -> None:
        """Count some more rows.

        Parameters
        ----------
        right : bool array
            Whether each was answered rightly.
        """
        wrong = np.concatenate([self._rest, ~right])
        start = 0
        while wrong.size - start >= self._size:
            room = MOST_BLOCKS - len(self._wrong)
            whole = min((wrong.size - start) // self._size, room)
            stop = start + whole * self._size
            blocks = wrong[start:stop].reshape(whole, self._size).sum(axis=1)
            self._wrong += blocks.tolist()
            start = stop
            if len(self._wrong) == MOST_BLOCKS:
                pairs = self._wrong
                self._wrong = [a + b for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
                self._size *= 2
        self._rest = wrong[start:]

    def blocks(self) -> list[tuple[int, int]]:
        """The rows and the mistakes of each block; the last may be shorter."""
        made = [(self._size, wrong) for wrong in self._wrong]
        if self._rest.size:
            made.append((int(self._rest.size), int(self._rest.sum())))
        return made


@dataclass(frozen=True)
class Mistake:
    """A row that was answered wrongly, and how sure the model was of that.

    `row` is a text, or for numbers an array of columns and one of values. `number` counts the
    rows of the source from 1. `times` tells how often the same was met.
    """

    row: Any
    true: Any
    predicted: Any
    probability: float | None
    margin: float
    source: str
    number: int
    times: int = 1


@dataclass
class SurestMistakes:
    """Keeps the mistakes that the model was surest of; equal texts with equal labels are one.

    Parameters
    ----------
    most : int
        How many to keep.
    """

    most: int = 20
    _heap: list[tuple[tuple[float, float, int], Any]] = field(default_factory=list)
    _held: dict[Any, Mistake] = field(default_factory=dict)
    _order: int = 0

    def wants(self, probability: float | None, margin: float) -> bool:
        """Whether a mistake of which the model is so sure would be kept."""
        return len(self._heap) < self.most or _rank(probability, margin) >= self._heap[0][0][:2]

    def add(self, mistake: Mistake) -> None:
        """Keep a mistake, if the model is surer of it than of one that is held."""
        row = mistake.row
        same = row if isinstance(row, str) else tuple(part.tobytes() for part in row)
        key = (same, str(mistake.true), str(mistake.predicted))
        if key in self._held:
            old = self._held[key]
            self._held[key] = Mistake(**{**vars(old), "times": old.times + 1})
            return
        self._order -= 1  # of equals, the first stays
        entry = ((*_rank(mistake.probability, mistake.margin), self._order), key)
        if len(self._heap) < self.most:
            heappush(self._heap, entry)
        else:
            dropped = heappushpop(self._heap, entry)[1]
            if dropped == key:
                return
            del self._held[dropped]
        self._held[key] = mistake

    def ranked(self) -> list[Mistake]:
        """The mistakes, the surest first."""
        return [self._held[key] for _, key in sorted(self._heap, reverse=True)]


def _rank(probability: float | None, margin: float) -> tuple[float, float]:
    """By probability first; many are as good as 1."""
    return 0.0 if probability is None else probability, margin
