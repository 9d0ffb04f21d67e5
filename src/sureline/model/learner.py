"""Where rules and kernels meet to learn: one object that learns rows into a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import attrgetter, is_
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sureline.data.label_sets import LabelSets
from sureline.errors import DataError, InvalidParameter
from sureline.features.rows import Rows
from sureline.kernels import rivals
from sureline.kernels.arguments import Examples, ModelArrays, Prior, StepRule
from sureline.kernels.class_counts import COUNT
from sureline.kernels.informed_prior import TwoBuffers, two_buffers
from sureline.kernels.informed_update import LEARN_TWO
from sureline.kernels.label_sets import COUNT_LABELS, LabelledRows
from sureline.model import State
from sureline.model.loops import AGAIN, COUNT_ONLY, COUNTED, NEW, ONE_VS_REST, SCHEMES, Loops, Turn
from sureline.model.scorer import INDEFINITE, Floats, Integers, chances
from sureline.model.sparse_state import SparseState
from sureline.rules import rules

__all__ = [
    "AGAIN",
    "COUNTED",
    "COUNT_ONLY",
    "NEW",
    "SCHEMES",
    "Examples",
    "Floats",
    "Integers",
    "Learner",
    "Turn",
    "chances",
]

FIRST = np.zeros(1, np.int64)  # of one row
NO_WEIGHTS = np.zeros(0)
LATE = 10  # rows per class before the first of one that comes late
FEW_ROWS = 3.0  # so many rows are worth as much as the prior
AGAINST = 0.2  # the score against a class that comes late, at most
SHORT_ROW = 128  # buffers for rows that are learned one per call take twice so many nonzeros


class OneRow(NamedTuple):
    """The prepared call that learns one new row of two classes after the other.

    Preparing a call takes longer than learning a short row. A prepared one is valid for rows in the
    same place, as long as the `arrays` are those of the state.
    """

    rows: Rows
    longest: int
    arrays: tuple[NDArray[Any], ...]
    loop: Any
    model: ModelArrays
    rule: StepRule
    prior: Prior
    buffers: TwoBuffers

    def suits(self, state: State, rows: Rows) -> bool:
        """Whether it is prepared for these rows and this state."""
        return (
            rows is self.rows
            and rows.longest <= self.longest
            and all(map(is_, _learned_arrays(state), self.arrays))
        )

    def learn(self, codes: Integers, weight: Floats, rank: Integers) -> int:
        """Learn the row; return 0 if it overflowed, else -1."""
        examples = Examples(self.rows, codes, weight, FIRST, rank)
        failed: int = self.loop(examples, self.model, self.rule, self.prior, self.buffers)
        return failed


# What the loop for two classes changes of a state.
_learned_arrays: Callable[[State], tuple[NDArray[Any], ...]] = attrgetter(
    "table",
    "class_counts",
    "class_tokens",
    "calibrator",
    "noise_sums",
    "outcomes",
    "novelty",
    "counts",
)


class Learner(Loops):
    """A rule with its constants, a covariance and a scheme for many classes, ready to learn."""

    _one_row: OneRow | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """How to make an equal learner in another process; compiled code is not pickled."""
        options = {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        return learner_of, (self.rule.name, options)

    # -- learning ------------------------------------------------------------------------------

    def check_learns(self, owner: str) -> None:
        """Refuse to learn or to merge where there are only weights to predict with."""
        if self.compact:
            raise InvalidParameter(
                f"{owner}: the model comes from a compact file and can only predict; to "
                "learn further or to merge, use a file that is not compact"
            )

    def learn(self, state: State, examples: Examples, turn: Turn = NEW) -> None:
        """Learn examples into a state, one after the other.

        Rows are counted, where they are, when they come first; calibrator and noise follow those
        that are learned for the first time.
        """
        self._one_row = None
        if self.multilabel:
            self._learn_sets(state, examples, turn)
            return
        if self.forgetting is not None and examples.order.size:  # within one step of its time
            self.forgetting.forget(state, Rows(*examples.rows), examples.order)
        if state.layout.weighting == "idf":
            rows, codes, order = examples.rows, examples.codes, examples.order
            if isinstance(state, SparseState):
                weighted = self.pairs.weighted(state, Rows(*rows), order, not turn.counted)
            else:
                weighted = self._weight_rows(state, rows, codes, order, not turn.counted)
            examples = examples._replace(rows=weighted)
        if isinstance(state, SparseState):
            failed = self._learn_sparse(state, examples, turn)
        elif state.layout.covariance == "full":
            failed = self._learn_full(state, examples, turn)
        elif self.rule.kernel is not None:
            failed = self._learn_custom(state, examples)
        elif self.informed or (self.calibrated and not turn.learned):
            failed = self._learn_informed(state, examples, turn)
        elif state.wide:
            failed = self._learn_many(state, examples, turn)
        else:
            failed = self._learn_two(state, examples, turn)
        self._count_learned(state, examples.codes, examples.order, failed, examples.before)

    def _learn_sets(self, state: State, examples: Examples, turn: Turn) -> None:
        """The same for examples whose codes are sets of columns."""
        rows, order, sets = examples.rows, examples.order, cast(LabelSets, examples.codes)
        if self.forgetting is not None and order.size:
            self.forgetting.forget(state, Rows(*rows), order)
        if state.layout.weighting == "idf":
            nothing = np.zeros(len(sets), np.int64)
            rows = self._weight_rows(state, rows, nothing, order, counting=not turn.counted)
        labelled = LabelledRows(rows, sets.starts, sets.codes, examples.weight, order)
        failed = self._learn_labels(state, labelled, turn)
        last = np.zeros(len(sets), np.int64)
        np.maximum.at(last, np.repeat(np.arange(len(sets)), sets.counts), sets.codes)
        self._count_learned(state, last, order, failed, examples.before)

    def learn_one(
        self, state: State, rows: Rows, codes: Integers, weight: Floats, rank: Integers
    ) -> None:
        """Learn a new row as `learn` does; the next one in the same `rows` takes less time."""
        one_row = self._one_row
        if one_row is not None and one_row.suits(state, rows):
            if self.forgetting is not None:
                self.forgetting.forget(state, rows, FIRST)
            failed = one_row.learn(codes, weight, rank)
            self._count_learned(state, codes, FIRST, failed, 0)
            return
        self.learn(state, Examples(rows, codes, weight, FIRST, rank))
        if self.informed and not state.wide and self.projection == rivals.KL:
            longest = 2 * max(rows.longest, SHORT_ROW)
            self._one_row = OneRow(
                rows,
                longest,
                _learned_arrays(state),
                LEARN_TWO.loop(self.dtype),
                self._model(state, NEW),
                self._step_rule(state, NEW),
                self._prior(NEW),
                two_buffers(longest),
            )

    def count(self, state: State, rows: Rows, codes: Integers, order: Integers) -> None:
        """Count the rows named by `order`, if rows are counted, and learn nothing."""
        if self.multilabel and state.layout.weighting:
            sets: Any = codes
            labelled = LabelledRows(rows, sets.starts, sets.codes, NO_WEIGHTS, order)
            COUNT_LABELS.loop(self.dtype)(labelled, state.class_counts, state.class_tokens)
        elif isinstance(state, SparseState) and state.layout.weighting:
            self._count_sparse(state, rows, codes, order)
        elif state.layout.weighting:
            COUNT.loop(self.dtype)(rows, codes, order, state.class_counts, state.class_tokens)

    def _count_learned(
        self, state: State, codes: Integers, order: Integers, failed: int, before: int
    ) -> None:
        """Count the rows that were learned, and raise an error if one of them failed."""
        count = order.size
        if state.wide:
            last = codes[order[0]] if count == 1 else codes[order].max(initial=-1)
            state.used = max(state.used, int(last) + 1)
        state.clock += count
        state.counts[2] += count
        if failed < -1:
            raise DataError(f"learning row {before - 2 - failed}: {INDEFINITE}")
        if failed >= 0:
            raise DataError(
                f"learning row {before + failed} overflowed {state.layout.dtype}: its values, or "
                "those of rows before it, are too large or too small; scale the features to about "
                "1, for example with sklearn.preprocessing.MaxAbsScaler, and fit again"
            )

    # -- a class that comes late ---------------------------------------------------------------

    def begin_class(self, state: State, column: int, sign: float, seen: int) -> None:
        """Let a class begin after so many rows of others: these count in its intercept.

        A class that begins with a score of 0 would win all rows after its first: nothing speaks
        against it yet, and the first row moves the intercept most. So the intercept begins with
        `sign` times a small score, as certain as so many rows make it. A class begins with 0 where
        there were fewer than `LATE` rows for each class before it, as where all come at random, and
        with rules without variances.
        """
        if seen < LATE * max(column, 1) or not self.has_variance or self.rule.kernel is not None:
            return
        whole = self.scheme == ONE_VS_REST or not state.wide
        share = FEW_ROWS / (seen + FEW_ROWS)
        state.table[0, 0, column] = sign * AGAINST * (1.0 if whole else 0.5) * (1.0 - share)
        if state.layout.covariance == "full":
            state.move_to(None)
            state.covariance[column, 0, 0] = share * self.initial_variance
        else:
            state.table[0, 1, column] = share * self.initial_variance

    # -- a third class -------------------------------------------------------------------------

    def widen(self, state: State, limit_gb: float, owner: str) -> State:
        """A wide state that goes on from one in which two classes share a column.

        The classes get the mean with its two signs, halved, and half of the variance each: the
        difference of their scores is distributed as the one score was. One against the rest, each
        gets all of it: both have learned the same problem. A third class starts from nothing, with
        a score of 0, which is below one of the two. Features that learning has not changed start
        from nothing for all, as those do that are met later.
        """
        if self.forgetting is not None:
            state = self.forgetting.settled(state)
        part = 1.0 if self.scheme == ONE_VS_REST else 0.5
        fits = self.layout.size_gb(state.features, 4) <= limit_gb
        wide = self.layout.allocate(state.features, 4 if fits else 3, limit_gb, owner)
        wide.wide, wide.used = True, 2
        wide.clock, wide.counts, wide.merged = state.clock, state.counts, state.merged
        wide.class_counts[:, :2], wide.class_tokens[:2] = state.class_counts, state.class_tokens
        wide.calibrator, wide.noise_sums = state.calibrator, state.noise_sums
        wide.outcomes[:, :2], wide.novelty = state.outcomes, state.novelty
        if self.forgetting is not None:
            wide.last_changed[state.known(), 0] = state.last_changed[0, 0]
        if not state.counts[0]:  # nothing to carry over
            return wide
        changed = state.touched()
        changed[0] = True  # rules may treat row 0, the constant feature, by itself
        touched = np.flatnonzero(changed)
        kernel = self.rule.kernel
        values = state.table[touched, :, 0].astype(np.float64)
        if kernel is not None:
            stamps = state.last_changed[touched, 0] if kernel.stamps else np.zeros(1)
            parts = kernel.weights(values, stamps, state.clock, self.p) * part
            values = kernel.slots(parts, values, values * part, state.clock, self.p)
            if kernel.stamps:
                wide.last_changed[touched, :2] = state.clock
        else:
            values *= part
        wide.table[touched, :, 0] = self._signs(state) * values
        wide.table[touched, :, 1] = values
        if state.covariance.size:
            block = touched[:, np.newaxis], touched
            wide.covariance[(slice(0, 2), *block)] = state.covariance[(0, *block)] * part
        return wide

    def swapped(self, state: State) -> State:
        """A copy of a state of two classes that share a column, with the two classes swapped."""
        made = state.copy()
        made.swap()
        made.table[:, :, 0] = made.table[:, :, 0] * self._signs(state) + 0.0  # no negative zeros
        return made

    def _signs(self, state: State) -> NDArray[Any]:
        """For every slot of the table, the sign that it has for the other one of two classes."""
        signs = np.ones(state.layout.slots, state.table.dtype)
        plain = state.layout.covariance == "identity" and self.rule.kernel is None
        signs[:: 1 if plain else 2] = -1.0
        return signs


def learner_of(rule: str, options: Mapping[str, Any]) -> Learner:
    """The learner of a rule by its name."""
    return Learner(rules()[rule], **options)
