"""The protocol of a comparison or a search: how rows are split, and the random seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from sureline.errors import InvalidParameter
from sureline.evaluation.protocols import Split, growing_blocks, split_folds, split_once
from sureline.evaluation.search import PROTOCOLS

TEST_SHARE = 0.2


@dataclass(frozen=True)
class Protocol:
    """How learners are judged on rows that they have not learned from.

    Parameters
    ----------
    name : {"k-fold", "hold-out", "progressive"}
        On stratified folds, on a random fifth of the rows, or on growing blocks of rows, each
        predicted before it is learned.
    folds : int
        The number of folds.
    passes : int
        The most passes that online learners may make.
    seed : int
        The random seed of the splits and the learners.
    shuffle : bool
        Whether rows are shuffled where their order matters.
    """

    name: Literal["k-fold", "hold-out", "progressive"] = "k-fold"
    folds: int = 10
    passes: int = 10
    seed: int = 0
    shuffle: bool = True

    def __post_init__(self) -> None:
        if self.name not in PROTOCOLS:
            raise InvalidParameter(
                f"protocol must be {' or '.join(map(repr, PROTOCOLS))}, got {self.name!r}"
            )

    def split(self, labels: NDArray[Any], first: int | None = None) -> list[Split]:
        """Return the row numbers to learn from and to judge on.

        Parameters
        ----------
        labels : array of shape (n,)
            The label of each row.
        first : int, default=None
            For ``"progressive"``: the number of rows before the first block. None: an eighth.
        """
        if self.name == "k-fold":
            return split_folds(labels, self.folds, self.seed)
        if self.name == "hold-out":
            return [split_once(labels, TEST_SHARE, self.seed)]
        return growing_blocks(labels.size, first, random_state=self.seed if self.shuffle else None)
