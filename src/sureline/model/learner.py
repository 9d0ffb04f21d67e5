"""Where rules and kernels meet: one object that learns rows into a state and scores them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from operator import attrgetter, is_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sureline.errors import DataError
from sureline.features.rows import Rows
from sureline.kernels import copied_rows, rivals
from sureline.kernels.calibration import CALIBRATE
from sureline.kernels.class_counts import COUNT, WEIGH_ROWS
from sureline.kernels.compiling import EXACT, JOINT, REAL, STEP, own_score, own_update, pointer
from sureline.kernels.copied_rows import LEARN_MANY_OPENED, LEARN_TWO_OPENED
from sureline.kernels.custom_rule import LEARN_OWN, LEARN_OWN_RIVALS, SCORE_OWN
from sureline.kernels.diagonal import LEARN_DIAGONAL, LEARN_EXACT
from sureline.kernels.full import LEARN_FULL, LEARN_FULL_RIVALS, SPREAD_FULL
from sureline.kernels.identity import LEARN_SPHERICAL
from sureline.kernels.informed_prior import (
    LEARN_REST,
    LEARN_TWO,
    OPEN_ENTRIES,
    SCORE_MANY,
    SCORE_TWO,
    open_rooms,
    rest_rooms,
    two_rooms,
)
from sureline.kernels.noise import noise_of
from sureline.kernels.one_vs_rest import (
    LEARN_FULL_ONE_VS_REST,
    LEARN_ONE_VS_REST,
    LEARN_OWN_ONE_VS_REST,
)
from sureline.kernels.probability import BENDS, NODES, WEIGHTS, WIN
from sureline.kernels.scoring import SCORE, SCORE_ONE, SPREAD
from sureline.model import Layout, State
from sureline.rules import OwnKernel, Rule, rules

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Tuned = tuple[float, float, Floats]  # a rule's two constants, and errors that the first follows

# A diagonal variance never falls below this share of the initial one, nor one on the diagonal of a
# full covariance below the second; a scale-free full covariance is rescaled at the third.
FLOOR = 1e-12
FULL_FLOOR = 1e-30
RESCALE = 1e-20

PROJECTIONS = {
    "identity": rivals.SPHERICAL,
    "diagonal-kl": rivals.KL,
    "diagonal-l2": rivals.L2,
    "diagonal-exact": rivals.BEST,
}
ONE_VS_REST = "one-vs-rest"
NO_ERRORS = NO_CURVE = np.zeros(0)
FIRST = np.zeros(1, np.int64)  # of one row
SHORT_ROW = 128  # one that is learned by itself has room for twice so many nonzeros at least
SCHEMES = {
    "sequential": rivals.SEQUENTIAL,
    "parallel": rivals.PARALLEL,
    "exact": rivals.TOGETHER,
    ONE_VS_REST: rivals.ONE_VS_REST,
}


class Turn(NamedTuple):
    """What happened to rows before, and what happens now.

    `counted` and `learned` say whether an earlier pass has done so; `learning` whether this pass
    learns the rows, or only counts them.
    """

    counted: bool = False
    learned: bool = False
    learning: bool = True


NEW, COUNTED, AGAIN = Turn(), Turn(counted=True), Turn(counted=True, learned=True)
COUNT_ONLY = Turn(learning=False)


class Examples(NamedTuple):
    """Rows to learn, one after the other as `order` names them.

    `codes` are columns where the state is wide, and 0 or 1 where two classes share one; `weight` is
    how much each row counts; `rank` tells where each column's label stands among the sorted ones;
    `before`, for messages, how many rows the caller learned before these.
    """

    rows: Rows
    codes: Integers
    weight: Floats
    order: Integers
    rank: Integers
    before: int = 0


class Repeat(NamedTuple):
    """How two classes learn one new row after the other, all of which lie in the same place.

    Finding out which loop to call and with what, and Numba's look at the types of that, take longer
    than to learn a short row. It holds as long as the `arrays` are those of the state.
    """

    rows: Rows
    room: int  # for so many nonzeros
    arrays: tuple[NDArray[Any], ...]
    loop: Any
    middle: tuple[Any, ...]  # the loop's arguments behind the row, up to its room
    end: tuple[Any, ...]  # and behind that

    def fits(self, state: State, rows: Rows) -> bool:
        """Whether it is about this place and this state, and has room for the row."""
        return (
            rows is self.rows
            and rows.longest <= self.room
            and all(map(is_, _arrays(state), self.arrays))
        )


# What a loop for two classes is given of a state.
_arrays: Callable[[State], tuple[NDArray[Any], ...]] = attrgetter(
    "table", "tallies", "tokens", "curve", "errors", "counts"
)


class Learner:
    """A rule with its constants, a covariance, a scheme and a kind of number, ready to learn."""

    def __init__(
        self,
        rule: Rule,
        parameters: Mapping[str, float],
        covariance: str,
        dtype: str,
        fit_intercept: bool,
        competitors: int,
        scheme: str,
        weighting: str | None = None,
        normalize: bool = False,
        calibrated: bool = False,
        adaptive: bool = False,
    ) -> None:
        self.rule = rule
        self._arguments = (
            *(dict(parameters), covariance, dtype, fit_intercept, competitors, scheme),
            *(weighting, normalize, calibrated, adaptive),
        )
        self.dtype = dtype
        self.constant = float(fit_intercept)
        self.competitors, self.scheme = competitors, scheme
        self.constants = rule.constants(**parameters)
        self.a, self.b = (*self.constants, 0.0, 0.0)[:2]
        self.p = np.array(self.constants, np.float64)
        self.share = rule.weight == "share"
        self.initial_variance = float(parameters.get("initial_variance", 1.0))
        if rule.kernel is not None:
            initial = tuple(rule.kernel.initial(*self.constants))
        elif covariance == "identity":
            initial = (0.0, 0.0) if rule.average else (0.0,)
        else:
            initial = (0.0, self.initial_variance)
        stamps = rule.kernel is not None and rule.kernel.stamps
        self.layout = Layout(
            rule.name, covariance, dtype, fit_intercept, initial, stamps, weighting
        )
        self.floor = FLOOR * self.initial_variance
        self.projection = PROJECTIONS.get(covariance, -1)  # a full covariance has none
        self.informed, self.normalize = weighting == "nb", normalize
        self.calibrated, self.adaptive = calibrated, adaptive
        self._repeat: Repeat | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """What makes an equal learner in another process, which compiled code does not reach."""
        return learner_of, (self.rule.name, *self._arguments)

    @property
    def has_variance(self) -> bool:
        """Whether there is a variance for every weight."""
        return self.layout.covariance != "identity"

    @cached_property
    def _step(self) -> Any:
        return pointer(self.rule.step, STEP)

    @cached_property
    def _exact(self) -> Any:
        return pointer(self.rule.exact or rivals.no_exact, EXACT)

    @cached_property
    def _joint(self) -> Any:
        joint = None
        if self.scheme == "exact":
            joint = self.rule.joint[self.layout.covariance]
        return pointer(joint or rivals.no_joint, JOINT, self.rule.inlined if joint else ())

    def _own(self, kernel: OwnKernel) -> tuple[Any, Any]:
        """The rule's own score and update, compiled."""
        real = REAL[self.dtype]
        return (
            pointer(kernel.score, own_score(real), kernel.inlined),
            pointer(kernel.update, own_update(real), kernel.inlined),
        )

    # -- learning ------------------------------------------------------------------------------

    def learn(self, state: State, examples: Examples, turn: Turn = NEW) -> None:
        """Learn examples, one after the other.

        Rows are counted, where they are, when they come first; curve and errors follow those that
        are learned for the first time.
        """
        self._repeat = None
        rows, codes, weight, order, rank, before = examples
        if state.layout.weighting == "idf":
            rows = self._weighed(state, rows, codes, order, not turn.counted)
        given = (*rows, codes, weight, order)
        tuned = self._tuned(state, turn)
        curve = self._curve(state, turn)
        if state.layout.covariance == "full":
            failed = self._learn_full(state, given, rank, tuned, curve)
        elif self.informed or curve.size:
            begin, end = self._informed(state, tuned, turn, curve)
            failed = self._learn_informed(state, (*given, *begin), rows.longest, rank, end)
        elif not state.wide:
            failed = self._learn_two(state, signed(given), rows.longest, tuned)
        elif self.scheme == ONE_VS_REST:
            failed = self._learn_one_vs_rest(state, given, rows.longest, tuned)
        else:
            failed = self._learn_rivals(state, given, rows.longest, rank, tuned)
        self._note(state, codes, order, failed, before)

    def learn_one(
        self, state: State, rows: Rows, codes: Integers, weight: Floats, rank: Integers
    ) -> None:
        """Learn a new row, as `learn` does; the next one in the same `rows` takes less time."""
        repeat = self._repeat
        if repeat is not None and repeat.fits(state, rows):
            failed = repeat.loop(*rows, codes, weight, FIRST, *repeat.middle, *repeat.end)
            self._note(state, codes, FIRST, failed, 0)
            return
        self.learn(state, Examples(rows, codes, weight, FIRST, rank))  # looks at the types, too
        if self.informed and not state.wide and self.projection == rivals.KL:
            tuned, curve = self._tuned(state, NEW), self._curve(state, NEW)
            begin, end = self._informed(state, tuned, NEW, curve)
            room = 2 * max(rows.longest, SHORT_ROW)
            loop, middle = LEARN_TWO.unchecked(self.dtype), (*begin, two_rooms(room))
            self._repeat = Repeat(rows, room, _arrays(state), loop, middle, end)

    def _note(
        self, state: State, codes: Integers, order: Integers, failed: int, before: int
    ) -> None:
        """Note that rows were learned, and raise what must be said if one of them overflowed."""
        count = order.size
        if state.wide:
            last = codes[order[0]] if count == 1 else codes[order].max(initial=-1)
            state.used = max(state.used, int(last) + 1)
        state.clock += count
        state.counts[2] += count
        if failed >= 0:
            raise DataError(
                f"learning row {before + failed} overflowed {self.dtype}: its values, or those of "
                "rows before it, are too large or too small; scale the features to about 1, for "
                "example with sklearn.preprocessing.MaxAbsScaler, and fit again"
            )

    def _tuned(self, state: State, turn: Turn) -> Tuned:
        """The rule's constants, and where errors are summed up if the first is to follow them."""
        if not self.adaptive:
            return self.a, self.b, NO_ERRORS
        if not turn.learned:
            return self.a, self.b, state.errors
        return self.constant_of(state), self.b, NO_ERRORS

    def _curve(self, state: State, turn: Turn) -> Floats:
        """The curve that follows rows which are learned for the first time, if one does."""
        curve: Floats = state.curve if self.calibrated and not turn.learned else NO_CURVE
        return curve

    def constant_of(self, state: State) -> float:
        """The rule's first constant, after what a state has seen."""
        return float(noise_of(state.errors)) if self.adaptive else self.a

    @property
    def _floors(self) -> tuple[float, float]:
        """For a full covariance: the least variance, and the mean variance to rescale at."""
        rescale = RESCALE if self.rule.scale_free else 0.0
        return FULL_FLOOR * self.initial_variance, rescale * self.initial_variance

    def _learn_two(
        self, state: State, examples: tuple[Any, ...], longest: int, tuned: Tuned
    ) -> int:
        """Learn two classes; return the row that overflowed, or -1."""
        a, b, errors = tuned
        table = state.table[:, :, 0]
        rule, covariance = self.rule, state.layout.covariance
        failed: int
        if rule.kernel is not None:
            arrays = (state.table, state.stamps, state.clock, self.constant, self.p)
            own = self._own(rule.kernel)
            failed = LEARN_OWN.compiled(self.dtype)(*examples, *arrays, *own, state.counts)
            return failed
        learned = (*examples, table, self.constant, self._step)
        if covariance == "identity":
            ending: tuple[Any, ...] = (a, b, rule.average, state.clock, state.counts)
            failed = LEARN_SPHERICAL.compiled(self.dtype)(*learned, *ending)
        elif covariance == "diagonal-exact":
            room = (self.floor, np.empty(longest + 1), errors, state.counts)
            ending = (self._exact, a, b, self.share, *room)
            failed = LEARN_EXACT.compiled(self.dtype)(*learned, *ending)
        else:
            room = (self.floor, np.empty(longest), errors, state.counts)
            ending = (a, b, self.share, covariance == "diagonal-l2", *room)
            failed = LEARN_DIAGONAL.compiled(self.dtype)(*learned, *ending)
        return failed

    def _learn_rivals(
        self,
        state: State,
        examples: tuple[Any, ...],
        longest: int,
        rank: Integers,
        tuned: Tuned,
    ) -> int:
        """Learn many classes; return the row that overflowed, or -1."""
        a, b, errors = tuned
        columns = state.table.shape[2]
        competitors = min(self.competitors, columns)
        failed: int
        if self.rule.kernel is not None:
            arrays = (state.table, state.stamps, rank, state.used, state.clock)
            own = (self.constant, self.p, *self._own(self.rule.kernel))
            failed = LEARN_OWN_RIVALS.compiled(self.dtype)(*examples, *arrays, *own, state.counts)
        else:
            width = 2 * (longest + 1)
            failed = rivals.LEARN_RIVALS.compiled(self.dtype)(
                *examples,
                state.table,
                rank,
                state.used,
                competitors,
                self.constant,
                self._step,
                self._exact,
                self._joint,
                a,
                b,
                self.share,
                SCHEMES[self.scheme],
                self.projection,
                self.rule.average,
                self.floor,
                state.clock,
                np.empty(width),
                np.empty(width),
                np.empty((1 if self.scheme == "sequential" else competitors, width)),
                np.empty((6, columns)),
                np.empty(columns, np.int64),
                errors,
                state.counts,
            )
        return failed

    def _learn_one_vs_rest(
        self, state: State, examples: tuple[Any, ...], longest: int, tuned: Tuned
    ) -> int:
        """Learn many classes, each against all others; return the row that overflowed, or -1."""
        a, b, errors = tuned
        columns = state.table.shape[2]
        rule = self.rule
        failed: int
        if rule.kernel is not None:
            arrays = (state.table, state.stamps, state.used, state.clock, self.constant, self.p)
            own = (*arrays, *self._own(rule.kernel), state.counts)
            failed = LEARN_OWN_ONE_VS_REST.compiled(self.dtype)(*examples, *own)
        else:
            failed = LEARN_ONE_VS_REST.compiled(self.dtype)(
                *examples,
                state.table,
                state.used,
                self.constant,
                self._step,
                self._exact,
                a,
                b,
                self.share,
                self.projection,
                rule.average,
                self.floor,
                state.clock,
                np.empty(longest + 1),
                np.empty(longest + 1),
                np.empty((5, columns)),
                np.empty(columns, np.int64),
                errors,
                state.counts,
            )
        return failed

    def _informed(
        self, state: State, tuned: Tuned, turn: Turn, curve: Floats
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """What loops under a prior or a curve are given besides rows and room for one.

        The first part comes before that room; the second, behind it, is that of `LEARN_TWO`.
        """
        a, b, errors = tuned
        begin = (
            *(state.table, state.tallies, state.tokens, self.informed),
            *(not turn.counted, curve),
        )
        end = (
            *(1.0 / self.initial_variance, self.constant, self._step),
            *(a, b, self.share, self.floor, errors, state.counts),
        )
        return begin, end

    def _learn_full(
        self,
        state: State,
        examples: tuple[Any, ...],
        rank: Integers,
        tuned: Tuned,
        curve: Floats,
    ) -> int:
        """Learn with a full covariance; return the row that overflowed, or -1."""
        a, b, errors = tuned
        size, _, columns = state.table.shape
        rule = (self.constant, self._step, a, b, self.share, *self._floors)
        end = (np.empty(size, self.dtype), curve, errors, state.counts)
        failed: int
        if not state.wide:
            learned: tuple[Any, ...] = (state.table[:, 0, 0], state.covariance[0])
            failed = LEARN_FULL.compiled(self.dtype)(
                *(*signed(examples), *learned, *rule, np.empty(size), *end)
            )
            return failed
        learned = (state.table, state.covariance)
        if self.scheme == ONE_VS_REST:
            failed = LEARN_FULL_ONE_VS_REST.compiled(self.dtype)(
                *(*examples, *learned, state.used, *rule, np.empty((1, size)), *end)
            )
        else:
            known = (rank, state.used, min(self.competitors, columns))
            failed = LEARN_FULL_RIVALS.compiled(self.dtype)(
                *(*examples, *learned, *known, *rule, np.empty((2, size)), *end)
            )
        return failed

    def _learn_informed(
        self,
        state: State,
        begin: tuple[Any, ...],
        longest: int,
        rank: Integers,
        end: tuple[Any, ...],
    ) -> int:
        """Learn under a prior that counts tell, or a curve that follows, or both.

        Returns the row that overflowed, or -1.
        """
        if not state.wide and self.projection == rivals.KL:
            rooms = two_rooms(longest, self.informed)
            return int(LEARN_TWO.compiled(self.dtype)(*begin, rooms, *end))
        inverse, *step = end[:3]
        rule, rest, columns = end[3:6], end[6:], state.table.shape[2]
        failed: int
        if not state.wide:
            rooms = copied_rows.two_rooms(longest)
            failed = LEARN_TWO_OPENED.compiled(self.dtype)(
                *(*begin, rooms, inverse, *step, self._exact, *rule, self.projection, *rest)
            )
        elif self.scheme == ONE_VS_REST and self.projection == rivals.KL:
            rooms = rest_rooms(longest, columns, self.informed)
            failed = LEARN_REST.compiled(self.dtype)(
                *(*begin, rooms, inverse, state.used, *step, *rule, *rest)
            )
        else:
            competitors = min(self.competitors, columns)
            rooms = copied_rows.many_rooms(longest, columns, competitors)
            failed = LEARN_MANY_OPENED.compiled(self.dtype)(
                *(*begin, rooms, inverse, rank, state.used, competitors),
                *(*step, self._exact, self._joint),
                *(*rule, SCHEMES[self.scheme], self.projection, *rest),
            )
        return failed

    def calibrate(self, state: State, scores: Floats) -> Floats:
        """Probabilities of classes from their scores, by the curve that has followed them."""
        out = np.empty(scores.shape)
        CALIBRATE.compiled("float64")(np.ascontiguousarray(scores), state.curve, out)
        return out

    def count(self, state: State, rows: Rows, codes: Integers, order: Integers) -> None:
        """Count the rows named by `order`, if rows are counted, and learn nothing."""
        if state.layout.weighting:
            COUNT.compiled(self.dtype)(*rows, codes, order, state.tallies, state.tokens)

    def _weighed(
        self, state: State, rows: Rows, codes: Integers, order: Integers, counting: bool
    ) -> Rows:
        """Rows scaled by inverse document frequencies, and counted if wished, in `order`."""
        values = np.zeros(int(rows.indptr[-1]), self.dtype)
        WEIGH_ROWS.compiled(self.dtype)(
            *(*rows, codes, order, state.tallies, state.tokens, counting, self.normalize, values)
        )
        return Rows(rows.indptr, rows.indices, values)

    def weighed(self, state: State, rows: Rows) -> Rows:
        """Rows as they are scored: scaled by inverse document frequencies, if they are."""
        if state.layout.weighting != "idf":
            return rows
        codes, order = np.zeros(0, np.int64), np.arange(len(rows))
        return self._weighed(state.writeable(), rows, codes, order, False)

    def widen(self, state: State, limit_gb: float, owner: str) -> State:
        """A wide state that goes on from one in which two classes share a column.

        The classes get the mean with its two signs, halved, and half of the variance each: the
        difference of their scores is distributed as the one score was. One against the rest, each
        gets all of it: both have learned the same problem. A third class starts from nothing, with
        a score of 0, which is below one of the two. Features that learning has not changed start
        from nothing for all, as those do that are met later.
        """
        part = 1.0 if self.scheme == ONE_VS_REST else 0.5
        roomy = self.layout.size_gb(state.features, 4) <= limit_gb
        wide = self.layout.allocate(state.features, 4 if roomy else 3, limit_gb, owner)
        wide.wide, wide.used = True, 2
        wide.clock, wide.counts, wide.merged = state.clock, state.counts, state.merged
        wide.tallies[:, :2], wide.tokens[:2] = state.tallies, state.tokens
        wide.curve, wide.errors = state.curve, state.errors
        if not state.counts[0]:  # nothing to carry over
            return wide
        changed = state.touched()
        changed[0] = True  # rules may treat row 0, the constant feature, by itself
        touched = np.flatnonzero(changed)
        kernel = self.rule.kernel
        values = state.table[touched, :, 0].astype(np.float64)
        if kernel is not None:
            stamps = state.stamps[touched, 0] if kernel.stamps else np.zeros(1)
            parts = kernel.weights(values, stamps, state.clock, self.p) * part
            values = kernel.slots(parts, values, values * part, state.clock, self.p)
            if kernel.stamps:
                wide.stamps[touched, :2] = state.clock
        else:
            values *= part
        signs = np.ones_like(values)
        signs[:, :: 1 if state.layout.covariance == "identity" and not kernel else 2] = -1.0
        wide.table[touched, :, 0], wide.table[touched, :, 1] = signs * values, values
        if state.covariance.size:
            block = touched[:, np.newaxis], touched
            wide.covariance[(slice(0, 2), *block)] = state.covariance[(0, *block)] * part
        return wide

    # -- predicting ----------------------------------------------------------------------------

    def scores(self, state: State, rows: Rows) -> Floats:
        """The mean scores of every row, by column; where two classes share one, for the second."""
        out = np.empty((len(rows), state.used))
        rows = self.weighed(state, rows)
        if self.informed:
            self._score_informed(state, rows, out, out[:0])
        elif self.rule.kernel is not None:
            score, _ = self._own(self.rule.kernel)
            arrays = (state.table, state.stamps, state.clock, self.constant, self.p)
            SCORE_OWN.compiled(self.dtype)(*rows, *arrays, score, out)
        else:
            shift = -1.0 / state.clock if self.rule.average and state.clock else 0.0
            kernel = SCORE if state.wide else SCORE_ONE
            kernel.compiled(self.dtype)(*rows, state.table, self.constant, shift, out)
        return out

    def deviations(self, state: State, rows: Rows) -> Floats:
        """The standard deviations of every row's scores, by column."""
        out = np.empty((len(rows), state.used))
        rows = self.weighed(state, rows)
        if self.informed:
            self._score_informed(state, rows, np.empty_like(out), out)
            np.sqrt(out, out=out)
        elif state.layout.covariance == "full":
            room = np.empty(state.table.shape[0])
            SPREAD_FULL.compiled(self.dtype)(*rows, state.covariance, self.constant, room, out)
        else:
            SPREAD.compiled(self.dtype)(*rows, state.table, self.constant, out)
        return out

    def moments(self, state: State, rows: Rows) -> tuple[Floats, Floats]:
        """The mean scores of every row and their standard deviations, by column."""
        if not self.informed:
            return self.scores(state, rows), self.deviations(state, rows)
        means, variances = np.empty((2, len(rows), state.used))
        self._score_informed(state, rows, means, variances)
        return means, np.sqrt(variances)

    def _score_informed(self, state: State, rows: Rows, means: Floats, variances: Floats) -> None:
        """The means and the variances of every row's scores under the prior that counts tell."""
        if state.wide:
            kernel, rooms = SCORE_MANY, rest_rooms(rows.longest, means.shape[1])
        else:
            kernel, rooms = SCORE_TWO, two_rooms(rows.longest)
        kernel.compiled(self.dtype)(
            *(*rows, state.table, state.tallies, state.tokens[: state.classes]),
            *(1.0 / self.initial_variance, self.constant, rooms, means, variances),
        )

    def opened(self, state: State, rows: NDArray[Any] | None = None) -> Floats:
        """Means and variances of some rows of the table or of all, under the prior, by column."""
        numbers = np.arange(state.features + 1) if rows is None else np.asarray(rows, np.int64)
        out = np.empty((numbers.size, 2, state.used))
        OPEN_ENTRIES.compiled(self.dtype)(
            *(numbers, state.table, state.tallies, state.tokens[: state.classes]),
            *(1.0 / self.initial_variance, open_rooms(state.used), out),
        )
        return out

    def variances(self, state: State, rows: NDArray[Any] | None = None) -> NDArray[Any]:
        """The variances of the weights, by column, as `weights` gives the weights."""
        chosen: Any = slice(None) if rows is None else rows
        if state.covariance.size:
            diagonals = np.diagonal(state.covariance[: state.used], axis1=1, axis2=2)
            return np.asarray(diagonals.T[chosen])
        if self.informed:
            return np.asarray(self.opened(state, rows)[:, 1], self.dtype)
        return np.asarray(state.table[chosen, 1, : state.used])

    def weights(self, state: State, rows: NDArray[Any] | None = None) -> NDArray[Any]:
        """The linear weights, by column, of some rows of the table or of all; row 0 is the 1's."""
        columns, kernel = state.used, self.rule.kernel
        if kernel is not None:
            # The rule takes the first row for the constant feature's.
            strange = rows is not None and (not rows.size or rows[0] != 0)
            every = np.concatenate([[0], rows]) if strange else rows
            table = state.table if every is None else state.table[every]
            stamps: NDArray[Any] = np.zeros((1, columns))
            if kernel.stamps:
                stamps = state.stamps if every is None else state.stamps[every]
            weights = np.stack(
                [
                    kernel.weights(
                        table[:, :, k].astype(np.float64), stamps[:, k], state.clock, self.p
                    )
                    for k in range(columns)
                ],
                axis=1,
            )[int(strange) :]
        elif self.informed:
            weights = self.opened(state, rows)[:, 0]
        else:
            chosen: Any = slice(None) if rows is None else rows
            weights = state.table[chosen, 0]
            if self.rule.average and state.clock:
                weights = weights.astype(np.float64) - state.table[chosen, 1] / state.clock
        return np.asarray(weights[:, :columns] + 0.0, self.dtype)  # + 0.0: no negative zeros


def learner_of(rule: str, *arguments: Any) -> Learner:
    """The learner of a rule by its name."""
    return Learner(rules()[rule], *arguments)


def signed(examples: tuple[Any, ...]) -> tuple[Any, ...]:
    """Examples of two classes with signs in place of columns."""
    *rows, codes, weight, order = examples
    return *rows, np.where(codes == 1, 1.0, -1.0), weight, order


def chances(mean: Floats, deviation: Floats) -> Floats:
    """The probability of each of many classes to have the highest score, by quadrature."""
    out = np.empty(mean.shape)
    WIN.compiled("float64")(
        np.ascontiguousarray(mean), np.ascontiguousarray(deviation), NODES, WEIGHTS, BENDS, out
    )
    return out
