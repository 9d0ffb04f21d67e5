"""Change in a stream: the alarm, the trial of models that follows it, and what was decided.

**The alarm.** A model predicts every row before it learns it. While nothing changes, it is wrong on
a share q of the rows, which falls as it learns; an alarm looks for a higher one. For odds of a
mistake that are ρ times those of q, with ρ in `RATIOS`, the likelihood ratio of every row is known,
and so are the Shiryaev-Roberts statistics

    R ← (R + 1) · p(mistake or not | higher odds) / p(mistake or not | q),

whose expectation grows by 1 per row while q is right. Hence their mean reaches 1/α once in 1/α rows
or less often. q is estimated from the rows since the last alarm, and two standard errors are added.
Rows are counted in blocks, and R is updated at the end of a block: blocks are short at first, and
longer the longer nothing has changed, so that they cost next to nothing.

**The trial.** What has changed is not known, so the model goes on, and others learn beside it for
`TRIAL` rows: a new one, models of earlier times, and, of two classes, the model with its classes
swapped. After every block the one with the fewest mistakes in the trial predicts, and those far
behind are dropped. The model of before the alarm is kept, unless it wins.

Where rows are cut makes no difference: blocks end at given rows of the stream.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sureline.errors import InvalidParameter
from sureline.features.rows import Rows
from sureline.kernels.compiling import defer_signals
from sureline.model.learner import Floats, Integers
from sureline.model.predictions import Labels
from sureline.options import Drift

if TYPE_CHECKING:
    from sureline.model.linear import LinearModel

RATIOS = (3.0, 9.0, 27.0)  # of the odds of a mistake
TRIAL = 200  # rows
BEHIND = 9  # so many mistakes more than the leader's end a model's part in the trial
MARGIN = 2.0  # standard errors
MOST = 1e300  # of a statistic
FIRST_BLOCK, LAST_BLOCK = 4, 128  # rows
ROWS_PER_BLOCK = 64  # a block has a row for so many rows since the last alarm
WINDOW = 20_000  # rows after which older ones count half
STRONGEST = 2_000  # features of each model among which those that moved are looked for
MOVED = 10  # features that are listed

Kind = Literal["same", "new", "earlier", "swapped"]
KINDS: tuple[Kind, ...] = ("same", "new", "earlier", "swapped")


class Moved(NamedTuple):
    """A feature that has come to indicate another class."""

    feature: str
    before: Any
    after: Any


class Change(NamedTuple):
    """An alarm, and what followed from it.

    Attributes
    ----------
    at : int
        The number of examples that had been learned when the alarm was raised.
    decided : int
        The number of examples that had been learned when the trial was over.
    model : str
        Which model went on: ``"new"``, one that began at the alarm; ``"earlier"``, one of an
        earlier time; ``"swapped"``, the same with its two classes swapped; or ``"same"``: nothing
        was better.
    rarity : float
        Once in how many examples, at most, there is such an alarm while nothing changes.
    moved : list of Moved
        The features that most certainly indicate another class than before: `feature`, `before`
        and `after`.
    """

    at: int
    decided: int
    model: Kind
    rarity: float
    moved: tuple[Moved, ...] = ()


@dataclass
class Candidate:
    """A model in a trial; that of the leader is the one that predicts, and is None here."""

    kind: Kind
    model: LinearModel | None
    mistakes: int = 0
    source: int = -1  # which of the earlier models it was


@dataclass
class Trial:
    """Models that learn side by side after an alarm; `before` is that of before it."""

    at: int
    rarity: float
    before: LinearModel
    candidates: list[Candidate]
    leader: int = 0
    rows: int = 0

    @property
    def leading(self) -> Candidate:
        """The candidate whose model predicts."""
        return self.candidates[self.leader]


@dataclass(eq=False)
class Monitor:
    """Watches the mistakes of a model that learns a stream, and replaces what no longer fits.

    `rows` and `mistakes` are those since the last alarm, `pending` and `wrong` those of the block
    that is not complete.
    """

    drift: Drift
    rows: float = 0.0
    mistakes: float = 0.0
    pending: int = 0
    wrong: int = 0
    evidence: list[float] = field(default_factory=lambda: [0.0] * len(RATIOS))
    trial: Trial | None = None
    earlier: list[LinearModel] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    # -- counting ------------------------------------------------------------------------------

    @property
    def block(self) -> int:
        """How many rows the present block has."""
        least = math.ceil(self.rows / ROWS_PER_BLOCK)
        return min(max(1 << (least - 1).bit_length(), FIRST_BLOCK), LAST_BLOCK)

    @property
    def remaining(self) -> int:
        """How many more rows the present block has."""
        return max(self.block - self.pending, 1)  # an exception may have come before `act`

    def count(self, rows: int, mistakes: int) -> bool:
        """Count rows of the present block that the model has learned; whether to `act` on them."""
        self.pending += rows
        self.wrong += mistakes
        return self.trial is not None or self.pending >= self.block

    def expected(self, classes: int) -> float:
        """The share of mistakes to expect, and two standard errors more; guessing has no more."""
        some = self.mistakes + 1.0
        return min((some + MARGIN * math.sqrt(some)) / (self.rows + 4.0), 1.0 - 1.0 / classes)

    # -- acting --------------------------------------------------------------------------------

    def act(
        self, model: LinearModel, rows: Rows, y: Labels, weight: Floats, order: Integers
    ) -> bool:
        """Decide what follows from the rows in `order`; whether the model is another now."""
        if self.trial is not None:
            kept = np.zeros_like(weight)
            kept[order] = weight[order]
            self._try(self.trial, model, rows, y, kept)
        if self.pending < self.block:
            return False
        learned, wrong, expected = self.pending, self.wrong, self.expected(model.classes.size)
        self.pending = self.wrong = 0
        if self.trial is not None:
            with defer_signals():  # what is decided must not be left half done
                return self._judge(self.trial, model, learned, wrong)
        if self.rows + learned > WINDOW:
            self.rows, self.mistakes = self.rows / 2.0, self.mistakes / 2.0
        self.rows += learned
        self.mistakes += wrong
        rate = self.drift.false_alarms
        if rate is None or model.classes.size < 2:
            return False
        for k, ratio in enumerate(RATIOS):
            raised = ratio * expected / (1.0 - expected)
            raised /= 1.0 + raised
            odds = wrong * math.log(raised / expected)
            odds += (learned - wrong) * math.log((1.0 - raised) / (1.0 - expected))
            grown = math.log(learned + self.evidence[k]) + odds
            self.evidence[k] = math.exp(min(grown, math.log(MOST)))
        rarity = sum(self.evidence) / len(RATIOS)
        if rarity * rate >= 1.0:
            with defer_signals():
                self._begin(model, rarity)
        return False

    def _begin(self, model: LinearModel, rarity: float) -> None:
        """Begin a trial, with as many models as memory allows."""
        state, labels = model.state, model.labels
        # Less this model, a copy of it, and those of earlier times.
        left = model.memory_limit_gb - _size_gb(model, model, *self.earlier)
        several = int(left / max(_size_gb(model), 1e-9))
        others = [Candidate("new", model.fresh())]
        if labels.size == 2 and not state.wide:
            others.append(Candidate("swapped", model.on(model.learner.swapped(state))))
        for k in reversed(range(len(self.earlier))):
            earlier = self.earlier[k]
            again = earlier.state.resized(state.features).copy()
            others.append(Candidate("earlier", model.on(again, earlier.labels), source=k))
        candidates = [Candidate("same", None), *others[: max(several, 0)]]
        before = model.on(state.trimmed(state.extent).copy())
        self.trial = Trial(int(state.counts[2]), rarity, before, candidates)
        self._forget_evidence(0, 0)

    def _try(self, trial: Trial, model: LinearModel, rows: Rows, y: Labels, weight: Floats) -> None:
        """Let the other models learn what the one that predicts has learned."""
        for candidate in trial.candidates:
            other = candidate.model
            if other is not None:
                other.learner, before = model.learner, int(other.state.counts[1])
                other.learn(rows, y, weight, features=model.state.features)
                candidate.mistakes += int(other.state.counts[1]) - before

    def _judge(self, trial: Trial, model: LinearModel, learned: int, wrong: int) -> bool:
        """Let the best model predict, drop those far behind, and end the trial when it is time."""
        trial.rows += learned
        before = trial.leading
        before.mistakes += wrong
        least = min(each.mistakes for each in trial.candidates)
        best = before
        if before.mistakes > least:
            best = next(each for each in trial.candidates if each.mistakes == least)
            self._replace(model, before, best)
        trial.candidates = [each for each in trial.candidates if each.mistakes <= least + BEHIND]
        trial.leader = trial.candidates.index(best)
        if trial.rows >= TRIAL or len(trial.candidates) == 1:
            self._end(trial, model)
        return best is not before

    def _replace(self, model: LinearModel, before: Candidate, best: Candidate) -> None:
        """Make the state of a candidate that of the model."""
        other = best.model
        if other is None:
            return
        other.know(model.labels)
        state = other.state.resized(model.state.features)
        before.model, best.model = model.on(model.state), None
        state.counts = model.state.counts.copy()
        with model.lock.write():
            model.publish(state, other.labels)

    def _end(self, trial: Trial, model: LinearModel) -> None:
        """End a trial: note what has changed, and keep the model of before."""
        best = trial.leading
        moved: tuple[Moved, ...] = ()
        if best.kind != "same":
            moved = find_moved(trial.before, model)
            if best.source >= 0:
                del self.earlier[best.source]
            self.earlier.append(trial.before)
            del self.earlier[: max(0, len(self.earlier) - self.drift.memory)]
            while self.earlier and _size_gb(model, *self.earlier) > model.memory_limit_gb:
                del self.earlier[0]
        at = int(model.state.counts[2])
        self.changes.append(Change(trial.at, at, best.kind, trial.rarity, moved))
        self.trial = None
        self._forget_evidence(trial.rows, min(best.mistakes, trial.rows))

    def _forget_evidence(self, rows: int, mistakes: int) -> None:
        """Count the rows since an alarm from here."""
        self.rows, self.mistakes = float(rows), float(mistakes)
        self.evidence = [0.0] * len(RATIOS)

    # -- what the model does elsewhere ---------------------------------------------------------

    def others(self) -> list[LinearModel]:
        """All models beside the one that predicts."""
        trial = self.trial
        if trial is None:
            return self.earlier
        tried = [each.model for each in trial.candidates if each.model is not None]
        return [*self.earlier, trial.before, *tried]  # files have them in this order

    def clear(self) -> None:
        """Forget all other models, and begin to count anew."""
        self.trial, self.earlier, self.pending, self.wrong = None, [], 0, 0
        self._forget_evidence(0, 0)


def watch(model: LinearModel, drift: Drift | Literal["auto"] | None) -> None:
    """Let a model be watched as the parameter says; what is known already is kept."""
    settings = Drift() if drift == "auto" else drift
    half_life = settings.half_life if isinstance(settings, Drift) else None
    if half_life != model.learner.half_life and not model.learner.compact:
        raise InvalidParameter(
            f"{model.owner}: a model learns with one half_life, which was "
            f"{model.learner.half_life} and would be {half_life}; fit again, or change drift back"
        )
    if not isinstance(settings, Drift):
        model.monitor = None
    elif model.monitor is None:
        model.monitor = Monitor(settings)
    else:
        model.monitor.drift = settings


def find_moved(before: LinearModel, after: LinearModel) -> tuple[Moved, ...]:
    """The features that most certainly indicate another class in a model than in one before it."""
    if before.classes.size < 2 or not np.array_equal(before.classes, after.classes):
        return ()
    features = min(before.n_features, after.n_features)
    among = np.intersect1d(_strongest(before, features), _strongest(after, features))
    if not among.size:
        return ()
    (old, old_spread), (new, new_spread) = before.weights(among), after.weights(among)
    first, second = old.argmax(axis=1), new.argmax(axis=1)
    every = np.arange(among.size)
    was, now = old[every, first], new[every, second]
    if old_spread is not None and new_spread is not None:
        was = was / np.sqrt(old_spread[every, first])
        now = now / np.sqrt(new_spread[every, second])
    certain = np.where(first != second, np.minimum(was, now), 0.0)
    best = [k for k in np.argsort(-certain, kind="stable")[:MOVED].tolist() if certain[k] > 0.0]
    names, classes = [after.name(int(among[k])) for k in best], after.classes.tolist()
    pairs = zip(names, best, strict=True)
    return tuple(Moved(name, classes[first[k]], classes[second[k]]) for name, k in pairs)


def _size_gb(*models: LinearModel) -> float:
    """The memory that the states of models take, in GB."""
    shapes = [(each.state, each.state.table.shape[2]) for each in models]
    return sum(state.layout.size_gb(state.features, columns) for state, columns in shapes)


def _strongest(model: LinearModel, features: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """The features of a model whose weights are largest."""
    table = model.state.table[1 : features + 1, 0, : model.state.used]
    size = np.abs(table).max(axis=1, initial=0.0)
    count = min(STRONGEST, int(np.count_nonzero(size)))
    return np.sort(np.argpartition(-size, count - 1)[:count]) if count else np.zeros(0, np.intp)
