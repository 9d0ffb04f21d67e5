"""Which compiled loop learns, by rule, covariance and scheme, and what it is given."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sureline.kernels import rivals
from sureline.kernels.arguments import (
    EXACT,
    JOINT,
    STEP,
    Examples,
    ModelArrays,
    Prior,
    Scheme,
    StepRule,
)
from sureline.kernels.class_columns import class_buffers
from sureline.kernels.compiling import pointer
from sureline.kernels.copied_rows import LEARN_MANY_COPIED, LEARN_TWO_COPIED, row_copy
from sureline.kernels.custom_rule import LEARN_CUSTOM, LEARN_CUSTOM_RIVALS
from sureline.kernels.diagonal import LEARN_DIAGONAL, LEARN_EXACT
from sureline.kernels.full import LEARN_FULL, full_buffers
from sureline.kernels.full_blocks import (
    STEPS_OF_ONE_VS_REST,
    STEPS_OF_RIVALS,
    STEPS_OF_TWO,
    Block,
)
from sureline.kernels.full_classes import LEARN_FULL_ONE_VS_REST, LEARN_FULL_RIVALS
from sureline.kernels.identity import LEARN_SPHERICAL
from sureline.kernels.informed_prior import rest_buffers, two_buffers
from sureline.kernels.informed_update import LEARN_REST, LEARN_TWO
from sureline.kernels.label_sets import FIXED, FOLLOWED, GIVEN, LEARN_LABELS, LabelledRows
from sureline.kernels.noise import noise_of
from sureline.kernels.one_vs_rest import LEARN_CUSTOM_ONE_VS_REST, LEARN_ONE_VS_REST
from sureline.kernels.sparse_classes import shares_of
from sureline.kernels.sparse_update import (
    COUNT_ROWS,
    LEARN_OPENED_PAIRS,
    LEARN_PAIRS,
    pair_buffers,
)
from sureline.model import State
from sureline.model.blocks import CPU, BlockTask, learn_blocks, rows_in_block
from sureline.model.device import open_device
from sureline.model.scorer import Scorer
from sureline.model.sparse_state import MOST_CLASSES, SparseState

# A variance on the diagonal of a full covariance never falls below the first share of the initial
# one; a scale-free full covariance is rescaled at the second.
FULL_FLOOR = 1e-30
RESCALE = 1e-20

PROJECTIONS = {
    "identity": rivals.SPHERICAL,
    "diagonal-kl": rivals.KL,
    "diagonal-l2": rivals.L2,
    "diagonal-exact": rivals.BEST,
}
ONE_VS_REST = "one-vs-rest"
SCHEMES = {
    "sequential": rivals.SEQUENTIAL,
    "parallel": rivals.PARALLEL,
    "exact": rivals.TOGETHER,
    ONE_VS_REST: rivals.ONE_VS_REST,
}
MOST_DENSE = 256  # class_storage="auto": with more classes than this, weights are pairs
REST_RIVALS = 3  # rivals of a row's class where the scheme is one-vs-rest and weights are pairs
UNLIMITED = 2**62
EMPTY = np.zeros(0)
NO_OUTCOMES = np.zeros((0, 0))
NO_MATRICES = np.zeros((0, 0, 0))  # loops over rows of blocks do not need them


class Turn(NamedTuple):
    """What an earlier pass has done with rows, and what happens now.

    `counted` and `learned` say whether an earlier pass has done so; `learning` whether this pass
    learns the rows, or only counts them; `ordered` whether they come in an order in which change
    can be noticed.
    """

    counted: bool = False
    learned: bool = False
    learning: bool = True
    ordered: bool = True


NEW, COUNTED, AGAIN = Turn(), Turn(counted=True), Turn(counted=True, learned=True)
COUNT_ONLY = Turn(learning=False)


class Loops(Scorer):
    """Which compiled loop learns, by rule, covariance and scheme, and what it is given."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.a, self.b = (*self.constants, 0.0, 0.0)[:2]
        self.share = self.rule.weight == "share"
        self.projection = PROJECTIONS.get(self.covariance, -1)  # a full covariance has none

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

    def constant_of(self, state: State) -> float:
        """The rule's first constant, as a state has estimated it where it does."""
        return float(noise_of(state.noise_sums)) if self.adaptive else self.a

    # -- what loops are given ------------------------------------------------------------------

    def _model(self, state: State, turn: Turn, table: NDArray[Any] | None = None) -> ModelArrays:
        """The arrays of a state; those of what does not learn in this turn are empty."""
        new = not turn.learned
        return ModelArrays(
            state.table if table is None else table,
            state.covariance if self.device == CPU else NO_MATRICES,
            state.last_changed,
            state.counts,
            state.class_counts,
            state.class_tokens,
            state.calibrator if self.calibrated and new else EMPTY,
            state.noise_sums if self.adaptive and new else EMPTY,
            state.outcomes if self.calibrated and new else NO_OUTCOMES,
            state.novelty if self.calibrated and new else EMPTY,
        )

    def _step_rule(self, state: State, turn: Turn, floor: float | None = None) -> StepRule:
        """The rule with its constants; what was estimated stays fixed in later passes."""
        a = self.constant_of(state) if turn.learned else self.a
        lowest = self.floor if floor is None else floor
        return StepRule(self._step, a, self.b, self.share, lowest, self.constant)

    def _prior(self, turn: Turn) -> Prior:
        return Prior(self.informed, not turn.counted, 1.0 / self.initial_variance)

    def _many(self, state: State) -> Scheme:
        competitors = min(self.competitors, state.table.shape[2])
        return Scheme(SCHEMES[self.scheme], self.projection, competitors, self.rule.average)

    # -- which loop learns; each returns the row that overflowed, or -1 -----------------------
    # A full covariance that is no longer one gives -2 less the row.

    def _learn_two(self, state: State, examples: Examples, turn: Turn) -> int:
        """Learn two classes."""
        model = self._model(state, turn, state.table[:, :, 0])
        rule, longest = self._step_rule(state, turn), examples.rows.longest
        if self.projection == rivals.SPHERICAL:
            learn = LEARN_SPHERICAL.loop(self.dtype)
            return int(learn(examples, model, rule, self.rule.average, state.clock))
        if self.projection == rivals.BEST:
            learn = LEARN_EXACT.loop(self.dtype)
            return int(learn(examples, model, rule, self._exact, np.empty(longest + 1)))
        learn = LEARN_DIAGONAL.loop(self.dtype)
        l2 = self.projection == rivals.L2
        return int(learn(examples, model, rule, l2, np.empty(longest)))

    def _learn_many(self, state: State, examples: Examples, turn: Turn) -> int:
        """Learn many classes."""
        model, rule = self._model(state, turn), self._step_rule(state, turn)
        scheme, columns, longest = self._many(state), state.table.shape[2], examples.rows.longest
        exact, used, clock = self._exact, state.used, state.clock
        if self.scheme == ONE_VS_REST:
            learn, buffers = LEARN_ONE_VS_REST.loop(self.dtype), class_buffers(longest, columns, 0)
            return int(learn(examples, model, rule, exact, scheme, used, clock, buffers))
        several = 1 if self.scheme == "sequential" else scheme.competitors
        learn, joint = rivals.LEARN_RIVALS.loop(self.dtype), self._joint
        buffers = class_buffers(longest, columns, several)
        return int(learn(examples, model, rule, exact, joint, scheme, used, clock, buffers))

    def _learn_custom(self, state: State, examples: Examples) -> int:
        """Learn with a rule that brings its own row functions."""
        model = self._model(state, AGAIN)
        if not state.wide:
            learn = LEARN_CUSTOM.loop(self.dtype)
            return int(learn(examples, model, self._custom, state.clock))
        rest = self.scheme == ONE_VS_REST
        learn = (LEARN_CUSTOM_ONE_VS_REST if rest else LEARN_CUSTOM_RIVALS).loop(self.dtype)
        return int(learn(examples, model, self._custom, state.used, state.clock))

    def _learn_full(self, state: State, examples: Examples, turn: Turn) -> int:
        """Learn with a full covariance."""
        state.move_to(None if self.device == CPU else open_device(self.device))
        model = self._model(state, turn)
        rule = self._step_rule(state, turn, FULL_FLOOR * self.initial_variance)
        below = RESCALE * self.initial_variance if self.rule.scale_free else 0.0
        size, _, columns = state.table.shape
        if self.device != CPU or (self.rows_at_once(state) > 1 and examples.order.size > 1):
            return self._learn_blocks(state, examples, model, rule, below)
        several = state.wide and self.scheme != ONE_VS_REST
        buffers = full_buffers(size, 2 if several else 1)
        if not state.wide:
            return int(LEARN_FULL.loop(self.dtype)(examples, model, rule, below, buffers))
        if not several:
            learn = LEARN_FULL_ONE_VS_REST.loop(self.dtype)
            return int(learn(examples, model, rule, below, state.used, buffers))
        learn, competitors = LEARN_FULL_RIVALS.loop(self.dtype), min(self.competitors, columns)
        return int(learn(examples, model, rule, below, state.used, competitors, buffers))

    @property
    def takes_dense(self) -> bool:
        """Whether rows may be `DenseRows`; their zeros would count as features of a row."""
        apart = self.calibrated or self.layout.weighting is not None or self.forgetting is not None
        return self.device != CPU and not apart

    def rows_at_once(self, state: State) -> int:
        """How many rows make a block of a full covariance; 1 where there are none."""
        if state.layout.covariance != "full":
            return 1
        columns, rivals = state.table.shape[2], self._rivals(state)
        return rows_in_block(state.features, columns, rivals, self.device)

    def _rivals(self, state: State) -> int | None:
        """With how many rivals a class is compared; 0 one against the rest, None for two."""
        if not state.wide:
            return None
        columns = state.table.shape[2]
        return 0 if self.scheme == ONE_VS_REST else min(self.competitors, columns)

    def _learn_blocks(
        self, state: State, examples: Examples, model: ModelArrays, rule: StepRule, below: float
    ) -> int:
        """Learn with a full covariance, a block of rows at once."""
        rivals, free = self._rivals(state), below > 0.0

        def steps(examples: Examples, known: int, block: Block) -> int:
            if rivals is None:
                return int(STEPS_OF_TWO.loop(self.dtype)(examples, model, rule, free, block))
            if rivals == 0:
                loop = STEPS_OF_ONE_VS_REST.loop(self.dtype)
                return int(loop(examples, model, rule, free, known, block))
            loop = STEPS_OF_RIVALS.loop(self.dtype)
            return int(loop(examples, model, rule, free, known, rivals, block))

        task = BlockTask(
            steps, model, state.matrices(), self.dtype, self.constant, rule.floor, below, rivals
        )
        return learn_blocks(task, examples, state.used, self.rows_at_once(state))

    def _learn_informed(self, state: State, examples: Examples, turn: Turn) -> int:
        """Learn under an informed prior, with a calibrator, or both."""
        model, rule = self._model(state, turn), self._step_rule(state, turn)
        prior, longest, columns = self._prior(turn), examples.rows.longest, state.table.shape[2]
        fast = self.projection == rivals.KL
        if not state.wide and fast:
            two = two_buffers(longest, self.informed)
            return int(LEARN_TWO.loop(self.dtype)(examples, model, rule, prior, two))
        if not state.wide:
            learn, copied = LEARN_TWO_COPIED.loop(self.dtype), row_copy(longest, 1)
            return int(
                learn(
                    examples, model, rule, self._exact, prior, self.projection, copied,
                    np.empty(longest + 1),
                )
            )  # fmt: skip
        if self.scheme == ONE_VS_REST and fast:
            rest = rest_buffers(longest, columns, self.informed)
            return int(LEARN_REST.loop(self.dtype)(examples, model, rule, prior, state.used, rest))
        learn, scheme = LEARN_MANY_COPIED.loop(self.dtype), self._many(state)
        return int(
            learn(
                examples, model, rule, self._exact, self._joint, scheme, prior, state.used,
                row_copy(longest, columns), class_buffers(longest, columns, scheme.competitors),
            )
        )  # fmt: skip

    def _learn_labels(self, state: State, examples: LabelledRows, turn: Turn) -> int:
        """Learn rows with sets of labels, each label against the rest."""
        model, rule = self._model(state, turn), self._step_rule(state, turn)
        longest, columns = examples.rows.longest, state.table.shape[2]
        buffers = rest_buffers(longest, columns, self.informed, pooled=True)
        adaptive = GIVEN if not self.adaptive else FIXED if turn.learned else FOLLOWED
        learn = LEARN_LABELS.loop(self.dtype)
        prior, fits = self._prior(turn), state.fits
        return int(learn(examples, model, fits, rule, prior, state.used, adaptive, buffers))

    # -- pairs of feature and class ------------------------------------------------------------

    @property
    def most_dense(self) -> int:
        """With more classes than this, weights are kept as pairs of feature and class."""
        return {"auto": MOST_DENSE, "sparse": 2}.get(self.class_storage, UNLIMITED)

    @property
    def rivals(self) -> int:
        """With how many rivals a row's class is compared where weights are pairs."""
        return REST_RIVALS if self.scheme == ONE_VS_REST else self.competitors

    def _learn_sparse(self, state: SparseState, examples: Examples, turn: Turn) -> int:
        """Learn many classes whose weights are pairs."""
        opened = self.informed or (self.calibrated and not turn.learned)
        dtype = "float64" if opened else self.dtype
        longest, columns = examples.rows.longest, state.table.shape[2]
        rivals_, several = self.rivals, 1 + self.rivals
        kind = SCHEMES["sequential" if self.scheme == ONE_VS_REST else self.scheme]
        scheme = Scheme(kind, self.projection, rivals_, self.rule.average)
        buffers = pair_buffers(longest, columns, rivals_, state.initial, dtype)
        inner, shares = class_buffers(longest, several, rivals_), shares_of(columns)
        learn = (LEARN_OPENED_PAIRS if opened else LEARN_PAIRS).loop(self.dtype)
        rest, learned = examples, 0
        while True:
            failed = int(
                learn(
                    rest, self._model(state, turn), state.pairs, self._step_rule(state, turn),
                    self._exact, self._joint, scheme, self._prior(turn), opened,
                    self._most_met, state.used, state.clock + learned, shares, buffers, inner,
                )
            )  # fmt: skip
            if failed != -2:
                return failed
            done = int(buffers.learned[0])
            learned += done
            known = rest.codes[rest.order[:done]].max(initial=-1) + 1
            state.used = max(state.used, int(known))
            rest = rest._replace(order=np.ascontiguousarray(rest.order[done:]))
            state.grow_pool(rest.rows, int(rest.order[0]), several + 2)
            state.check_size(self.rule.name)

    @property
    def _most_met(self) -> int:
        """How many classes a feature may have met before its pairs are dropped: texts only."""
        return MOST_CLASSES if self.layout.counted else UNLIMITED

    def _count_sparse(
        self, state: SparseState, rows: Any, codes: NDArray[np.int64], order: NDArray[np.int64]
    ) -> None:
        """Count rows by class, and learn nothing."""
        if self.weighting == "idf":
            self.pairs.weighted(state, rows, order, counting=True)
            return
        count, model = COUNT_ROWS.loop(self.dtype), self._model(state, AGAIN)
        while order.size:
            initial, most = state.initial, self._most_met
            done = int(count(rows, codes, order, model, state.pairs, initial, most))
            order = np.ascontiguousarray(order[done:])
            if order.size:
                state.grow_pool(rows, int(order[0]), 1)
