"""What the runs say: the choice, tables, significance, calibration, and a verdict on each goal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from experiments.cells import Cell, Record
from experiments.claims import FAILS, HOLDS, IN_PART, Claim, Found, decide, settle
from experiments.defaults.contest import (
    BASELINES,
    BINS,
    C_OF_SVM,
    CANDIDATES,
    FIRST,
    NOISE,
    NOISE_TO_CHOOSE,
    PASSES,
    SVM,
    VW,
    Run,
    title,
)
from experiments.defaults.texts import CHOOSING, TASKS, count_copies
from experiments.figures import draw_curves
from experiments.protocol import unpack
from experiments.tables import NONE, Figure, Figures, make_table, show_gap
from numpy.typing import NDArray
from scipy.stats import binom, wilcoxon

from sureline.evaluation import McNemar, mcnemar, mean_rank

SURE = 0.05  # the level at which a difference counts as significant
FEW = 10  # test texts; a bin with fewer is not drawn
BEST_SVM, OWN_SVM = "svm-best", "svm-own"  # not runs of their own: the best of several C

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Results:
    """Records by task, learner and run, and the tasks in the order of the tables."""

    runs: Mapping[tuple[str, str, Run], Record]
    tasks: tuple[str, ...]
    missing: tuple[str, ...]

    def records(self, part: str, task: str, learner: str, noise: int, passes: int) -> list[Record]:
        """All orders of a learner on a task."""
        found, order = list[Record](), 0
        while (
            record := self.runs.get((task, learner, Run(part, noise, passes, order)))
        ) is not None:
            found.append(record)
            order += 1
        return found

    def error(self, task: str, learner: str, noise: int = 0, passes: int = 1) -> float:
        """The mean test error over orders, in %; NaN where there is no run."""
        if learner == BEST_SVM:
            learner = self.best_svm(noise)
        if learner == OWN_SVM:
            return min(self.error(task, f"svm-{C}", noise) for C in C_OF_SVM)
        found = self.records("test", task, learner, noise, passes)
        return float(np.mean([one["error"] for one in found])) if found else float("nan")

    def mean(self, tasks: Iterable[str], learner: str, noise: int = 0, passes: int = 1) -> float:
        """The mean over tasks; NaN if one of them is missing."""
        found = [self.error(task, learner, noise, passes) for task in tasks]
        return float(np.mean(found)) if found else float("nan")

    def best_svm(self, noise: int = 0) -> str:
        """The C, one for all main tasks, whose mean test error is the lowest."""
        means = {f"svm-{C}": self.mean(self.main, f"svm-{C}", noise) for C in C_OF_SVM}
        known = {name: mean for name, mean in means.items() if not np.isnan(mean)}
        return min(known, key=lambda name: known[name]) if known else SVM

    def right(
        self, task: str, learner: str, passes: int = 1, noise: int = 0
    ) -> NDArray[np.bool_] | None:
        """Which test texts a learner got right, in its first order."""
        record = self.runs.get((task, learner, Run("test", noise, passes, 0)))
        return unpack(record["right"]) if record else None

    @property
    def main(self) -> tuple[str, ...]:
        """The tasks that everybody was run on."""
        return tuple(task for task in self.tasks if TASKS[task].kind != "further")

    @property
    def two(self) -> tuple[str, ...]:
        """Those of them with two classes."""
        return tuple(task for task in self.main if not TASKS[task].many)

    @property
    def many(self) -> tuple[str, ...]:
        """Those of them with more."""
        return tuple(task for task in self.main if TASKS[task].many)

    @property
    def further(self) -> tuple[str, ...]:
        """The other tasks."""
        return tuple(task for task in self.tasks if TASKS[task].kind == "further")

    @property
    def fresh(self) -> tuple[str, ...]:
        """The tasks that took no part in choosing."""
        return tuple(task for task in self.tasks if task not in CHOOSING)


def sort_out(found: Mapping[Cell, Record]) -> Results:
    """The records by what they are about."""
    runs, missing = {}, list[str]()
    for cell, record in found.items():
        if "missing" in record:
            missing.append(f"{TASKS[cell.task].title}: {record['missing']}")
        else:
            runs[cell.task, cell.learner, Run.read(cell.stage)] = record
    judged = {task for task, _, run in runs if run.part != "choose"}
    tasks = tuple(task for task in TASKS if task in judged)
    return Results(runs, tasks, tuple(dict.fromkeys(missing)))


def list_figures(results: Results) -> Figures:
    """Every run: test or validation error in %, or expected calibration error."""
    figures: Figures = {}
    for (task, learner, run), record in results.runs.items():
        if run.part == "reliability":
            for way in ("online", "none"):
                part = f"{run}, calibration {way}"
                figures[part, task, learner] = Figure(record[way]["error"])
        else:
            figures[str(run), task, learner] = Figure(record["error"])
    return figures


# -- the choice --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """Validation errors in %: one row a candidate, then by task, noise and order."""

    names: tuple[str, ...]
    levels: tuple[int, ...]  # of noise
    errors: Floats

    @property
    def means(self) -> Floats:
        """The mean error of each candidate."""
        return np.asarray(self.errors.mean(axis=(1, 2, 3)))

    @property
    def best(self) -> str:
        """The candidate of the lowest mean; of equals the first."""
        return self.names[int(np.argmin(self.means))]

    def behind(self, name: str) -> tuple[float, float]:
        """How far a candidate is behind the best, and the standard error of that."""
        best, one = (self.names.index(each) for each in (self.best, name))
        return mean_gap(self.errors[one], self.errors[best])


def mean_gap(mine: Floats, others: Floats) -> tuple[float, float]:
    """The mean difference of errors by task, noise and order, and the standard error of that.

    An order holds out a part of its own and serves all levels of noise, so that the means over
    noise are what varies: by order, within a task.
    """
    gaps = (mine - others).mean(axis=1)
    orders = gaps.shape[1]
    if orders < 2:
        return float(gaps.mean()), float("nan")
    spread = gaps.var(axis=1, ddof=1) / orders
    return float(gaps.mean()), float(np.sqrt(spread.sum()) / gaps.shape[0])


def choose(results: Results, names: Iterable[str]) -> Choice | None:
    """The choice among candidates, or None without a task to choose by."""
    kept = [key for key in results.runs if key[2].part == "choose"]
    tasks = [task for task in CHOOSING if any(key[0] == task for key in kept)]
    levels = tuple(x for x in NOISE_TO_CHOOSE if any(key[2].noise == x for key in kept))
    if not tasks:
        return None
    each = tuple(names)
    errors = [
        [
            [
                [one["error"] for one in results.records("choose", task, name, level, 1)]
                for level in levels
            ]
            for task in tasks
        ]
        for name in each
    ]
    return Choice(each, levels, np.array(errors))


def table_choice(choice: Choice, present: str) -> str:
    """The candidates by validation error."""
    rows = []
    for k in np.argsort(choice.means, kind="stable"):
        name = choice.names[k]
        gap, spread = choice.behind(name)
        behind = NONE if name == choice.best else show_gap(gap)
        if name != choice.best and not np.isnan(spread):
            behind += f" ± {spread:.2f}"
        label = f"**{title(name)}**" if name == present else title(name)
        by_level = choice.errors[k].mean(axis=(0, 2))
        rows.append((label, _show(choice.means[k]), behind, *map(_show, by_level)))
    noisy = [f"{level} % noise" for level in choice.levels]
    return make_table(("one pass", "mean", "behind the best", *noisy), rows)


def describe_choice(choice: Choice, present: str) -> str:
    """What is chosen, and whether it is the present default."""
    orders = choice.errors.shape[3]
    described = f"Chosen from {orders} random order{'s' * (orders > 1)}: {title(choice.best)}. "
    if choice.best == present:
        described += "It is the default of `TextClassifier`."
    else:
        gap, spread = choice.behind(present)
        more = "" if np.isnan(spread) else f" ± {spread:.2f}"
        described += (
            f"**It is not the default of `TextClassifier`**, which is {title(present)}, "
            f"{gap:.2f}{more} points behind."
        )
    if orders > 1:
        gaps = {name: choice.behind(name) for name in choice.names if name != choice.best}
        near = [title(name) for name, (gap, spread) in gaps.items() if gap <= 2 * spread]
        described += f" Within two standard errors of it: {'; '.join(near) or 'none'}."
    return described


# -- tables ------------------------------------------------------------------------------------


def _show(value: float, digits: int = 2) -> str:
    return NONE if np.isnan(value) else f"{value:.{digits}f}"


def _name(learner: str, results: Results) -> str:
    """A learner as the tables call it."""
    if learner == BEST_SVM:
        C = float(results.best_svm().removeprefix("svm-"))
        return f"LinearSVC at its best C for all tasks, {C:g}"
    return "LinearSVC, each task at its best C" if learner == OWN_SVM else title(learner)


def _entries(results: Results, short: Sequence[str]) -> list[tuple[str, int]]:
    """Learners and passes that have a figure for every main task."""
    known = {learner for _, learner, run in results.runs if run.part == "test"}
    ours = [name for name in CANDIDATES if name in known]
    ours += [name for name in short if name.endswith(FIRST) and name in known]
    svm = [f"svm-{C}" for C in C_OF_SVM]
    wide = set(svm) <= known
    others = [name for name in BASELINES if name in known and (name not in svm or name == SVM)]
    others[1:1] = [BEST_SVM, OWN_SVM] if wide and SVM in known else []
    pairs = [(name, 1) for name in ours] + [(name, PASSES) for name in short]
    for name in others:
        batch = name not in BASELINES or BASELINES[name].batch
        pairs += [(name, 1)] if batch else [(name, 1), (name, PASSES)]
    return [
        pair
        for pair in dict.fromkeys(pairs)
        if not np.isnan(results.mean(results.main, pair[0], 0, pair[1]))
    ]


def _passes(learner: str, passes: int) -> str:
    batch = learner not in CANDIDATES and not learner.endswith(FIRST) and learner not in VW
    return "batch" if batch else str(passes)


def duel(results: Results, learner: str, passes: int, rival: str = SVM) -> tuple[int, int, int]:
    """On how many tasks a learner is significantly better, neither, and worse: McNemar's test."""
    signs = []
    for task in results.tasks:
        found = compare(results, task, learner, passes, rival)
        if found is not None:
            sure = found.p_value < SURE
            signs.append(int(np.sign(found.only_a - found.only_b)) if sure else 0)
    return signs.count(1), signs.count(0), signs.count(-1)


def compare(
    results: Results, task: str, learner: str, passes: int, rival: str = SVM, noise: int = 0
) -> McNemar | None:
    """McNemar's test of a learner against another on a task, in the first order."""
    a = results.right(task, learner, passes, noise)
    b = results.right(task, rival, noise=noise)
    return None if a is None or b is None else mcnemar(a, b)


def _show_chance(p: float) -> str:
    return NONE if np.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def rank_sum(
    results: Results,
    learner: str,
    passes: int,
    tasks: Iterable[str],
    rival: str = SVM,
    noise: int = 0,
) -> float:
    """The p value of Wilcoxon's signed rank test over tasks, two-sided; NaN without a test."""
    pairs = [
        (results.error(task, learner, noise, passes), results.error(task, rival, noise))
        for task in tasks
    ]
    # Rounded, so that errors which are equal are seen to be.
    gaps = np.array([round(a - b, 9) for a, b in pairs if not np.isnan(a + b)])
    return float(wilcoxon(gaps).pvalue) if np.count_nonzero(gaps) > 1 else float("nan")


def table_all(results: Results, short: Sequence[str], present: str) -> str:
    """Everybody without noise: means, mean rank, and significance against LinearSVC."""
    entries = _entries(results, short)
    if not entries:
        return "Nothing has been run on all tasks."
    errors = [[results.error(task, *_turn(pair)) for task in results.main] for pair in entries]
    ranks = mean_rank(errors)
    rows = []
    for (name, passes), rank in zip(entries, ranks, strict=True):
        groups = [results.two, results.many, _outside(results), results.further]
        means = [_show(results.mean(some, name, 0, passes)) for some in groups]
        against, chance = NONE, NONE
        if name not in (SVM, BEST_SVM, OWN_SVM):
            against = " / ".join(map(str, duel(results, name, passes)))
            chance = _show_chance(rank_sum(results, name, passes, results.main))
        label = _name(name, results)
        label = f"**{label}**" if name == present else label
        rows.append((label, _passes(name, passes), *means, f"{rank:.1f}", against, chance))
    head = (
        "test error in %",
        "passes",
        f"{len(results.two)} of two classes",
        f"{len(results.many)} of many",
        f"{len(_outside(results))} that did not choose",
        f"{len(results.further)} further",
        "mean rank",
        "better / same / worse",
        "p",
    )
    return make_table(head, rows)


def _turn(pair: tuple[str, int]) -> tuple[str, int, int]:
    return pair[0], 0, pair[1]


def _outside(results: Results) -> tuple[str, ...]:
    """The main tasks that took no part in choosing."""
    return tuple(task for task in results.main if task not in CHOOSING)


def columns(results: Results, present: str, chosen: str) -> list[tuple[str, int]]:
    """The learners of the tables by task."""
    ours = [(name, n) for name in dict.fromkeys((present, chosen)) for n in (1, PASSES)]
    others = [(SVM, 1), (BEST_SVM, 1), (OWN_SVM, 1), ("maxent", 1), ("complement-nb", 1)]
    others += [(name, n) for name in VW for n in (1, PASSES)]
    wanted = set(_entries(results, (present, chosen)))
    return [pair for pair in (*ours, *others) if pair in wanted]


def table_tasks(results: Results, present: str, chosen: str) -> str:
    """Test errors by task without noise, the lowest in bold."""
    shown = columns(results, present, chosen)
    rows = []
    for task in results.tasks:
        values = [results.error(task, *_turn(pair)) for pair in shown]
        known = [round(value, 2) for value in values if not np.isnan(value)]
        cells = [
            f"**{_show(value)}**" if known and round(value, 2) == min(known) else _show(value)
            for value in values
        ]
        rows.append((TASKS[task].title + " ◦" * (task in CHOOSING), *cells))
    head = []
    for name, passes in shown:
        kind = _passes(name, passes)
        described = "" if kind == "batch" else ", 1 pass" if passes == 1 else f", {passes} passes"
        head.append(_name(name, results) + described)
    return make_table(("test error in %", *head), rows)


def table_noise(results: Results, tasks: Sequence[str], names: Iterable[str], present: str) -> str:
    """Mean test errors after one pass by share of wrong labels, of those who have them all."""
    rows = []
    for name in names:
        means = [results.mean(tasks, name, level) for level in NOISE]
        if not np.isnan(means).any():
            label = f"**{title(name)}**" if name == present else title(name)
            rows.append((label, *map(_show, means)))
    return make_table(("test error in %", *(f"{level} %" for level in NOISE)), rows)


def table_passes(results: Results, tasks: Sequence[str], names: Iterable[str], present: str) -> str:
    """Mean test errors of candidates after one pass and after more, in the first order."""
    rows = []
    for name in names:
        means = []
        for passes in (1, PASSES):
            found = [results.runs.get((t, name, Run("test", 0, passes))) for t in tasks]
            known = [one["error"] for one in found if one is not None]
            means.append(float(np.mean(known)) if len(known) == len(tasks) > 0 else float("nan"))
        if not np.isnan(means).any():
            label = f"**{title(name)}**" if name == present else title(name)
            rows.append((label, *map(_show, means)))
    return make_table(("test error in %", "one pass", f"{PASSES} passes"), rows)


def table_copies(tasks: Iterable[str], folder: Path | None) -> str:
    """How many texts of each task are copies of others."""
    rows, without = [], 0
    for task in tasks:
        texts, copies, largest = count_copies(task, str(folder) if folder else None)
        if copies:
            share = f"{100 * copies / texts:.1f} %"
            rows.append((TASKS[task].title, f"{texts:,}", f"{copies:,}", share, str(largest)))
        without += not copies
    table = make_table(("task", "texts", "copies", "share", "largest group"), rows)
    return f"{table}\n\nThe other {without} tasks have none."


# -- probabilities -----------------------------------------------------------------------------


def trust(results: Results, task: str, learner: str, way: str) -> float:
    """The expected calibration error on a task: the mean over orders; NaN where there is none."""
    found = results.records("reliability", task, learner, 0, 1)
    return float(np.mean([one[way]["error"] for one in found])) if found else float("nan")


def chance_error(described: Record) -> float:
    """The expected calibration error of a model that is right as often as it says, by chance alone.

    It is not 0: in a bin of n texts the share that is right varies. Its mean distance from p is
    2 m (1 − p) P(m) / n, with m the first whole number above n p and P binomial.
    """
    total = 0.0
    for count, sure in zip(described["counts"], described["confidence"], strict=True):
        if count:
            p = min(float(sure), 1.0)
            m = int(np.floor(count * p)) + 1
            total += 2.0 * m * (1.0 - p) * float(binom.pmf(m, count, p))
    return total / sum(described["counts"])


def trust_by_chance(results: Results, task: str, learner: str) -> float:
    """The same on a task, calibrated online: the mean over orders."""
    found = results.records("reliability", task, learner, 0, 1)
    return float(np.mean([chance_error(one["online"]) for one in found]))


def table_trust(results: Results, learner: str) -> str:
    """Expected calibration errors and log losses by task, with and without calibration."""
    rows = []
    for task in results.tasks:
        found = results.records("reliability", task, learner, 0, 1)
        if not found:
            continue
        losses = [np.mean([one[way]["log loss"] for one in found]) for way in ("online", "none")]
        errors = [trust(results, task, learner, way) for way in ("online", "none")]
        worst = max(one["online"]["error"] for one in found)
        chance = trust_by_chance(results, task, learner)
        described = [f"{value:.3f}" for value in (errors[0], worst, chance, errors[1], *losses)]
        rows.append((TASKS[task].title, *described))
    head = (
        "",
        "online",
        "its worst order",
        "by chance alone",
        "without",
        "log loss, online",
        "log loss, without",
    )
    return make_table(head, rows)


def draw_trust(path: Path, results: Results, learner: str) -> None:
    """Accuracy against confidence on the test split of every main task, first order."""
    middle = [(k + 0.5) / BINS for k in range(BINS)]
    panels = {}
    for task in results.main:
        found = results.records("reliability", task, learner, 0, 1)
        if not found:
            continue
        lines = {"as it should be": [float(x) for x in middle]}
        for way, name in (("online", 'calibration="online"'), ("none", "calibration=None")):
            described = found[0][way]
            pairs = zip(described["accuracy"], described["counts"], strict=True)
            lines[name] = [a if a is not None and n >= FEW else float("nan") for a, n in pairs]
        panels[TASKS[task].title] = lines
    if panels:
        draw_curves(path, panels, middle, "confidence", "share that is right", columns=4)


# -- goals -------------------------------------------------------------------------------------


def list_goals(results: Results, present: str, prefix: str = "") -> list[Claim]:
    """What a default should achieve, what it achieves, and whether that is enough.

    A goal is tested when all main tasks have been run. `prefix` begins the text of each.
    """
    two, many, fresh = results.two, results.many, results.fresh
    whole = [task for task, info in TASKS.items() if info.kind != "further"]
    if list(results.main) != whole:
        two = many = fresh = ()

    def versus(tasks: Sequence[str], rival: str, passes: int, rounds: int, slack: float) -> Found:
        mine, theirs = (
            results.mean(tasks, present, 0, passes),
            results.mean(tasks, rival, 0, rounds),
        )
        return f"{mine:.2f} against {theirs:.2f}", decide(mine < theirs + slack)

    def wabbit() -> Found:
        rival = min(VW, key=lambda name: results.mean(two, name, 0, PASSES))
        mine, theirs = results.mean(two, present), results.mean(two, rival, 0, PASSES)
        described = f"{mine:.2f} against {theirs:.2f} ({title(rival)})"
        return described, decide(mine <= theirs + 0.2)

    def within() -> Found:
        mine = results.mean(two, present, 0, PASSES)
        return f"{mine:.2f}", decide(mine <= 6.1)

    def each(tasks: Sequence[str], noise: int, near: float | None) -> Found:
        gaps = {
            task: results.error(task, SVM, noise) - results.error(task, present, noise)
            for task in tasks
        }

        def describe(task: str) -> str:
            found = compare(results, task, present, 1, noise=noise)
            described = f"{TASKS[task].title} {show_gap(gaps[task])}"
            if found is None:
                return described
            p = _show_chance(found.p_value)
            return f"{described}, p {p}" if p.startswith("<") else f"{described}, p = {p}"

        described = "; ".join(map(describe, gaps))
        if len(gaps) > 4:
            behind = [task for task, gap in gaps.items() if gap <= 0]
            described = f"above on {len(gaps) - len(behind)} of {len(gaps)}"
            described += f"; not {'; '.join(map(describe, behind))}" * bool(behind)
        if near is None:
            good = sum(gap > 0 for gap in gaps.values())
            verdict = HOLDS if good == len(gaps) else IN_PART if good > len(gaps) / 2 else FAILS
        else:
            least = min(gaps.values())
            verdict = HOLDS if least >= 0 else IN_PART if least >= -near else FAILS
        return described, verdict

    def honest() -> Found:
        errors = {task: trust(results, task, present, "online") for task in results.tasks}
        over = [f"{TASKS[task].title} {x:.3f}" for task, x in errors.items() if not x <= 0.03]
        mean = np.mean(list(errors.values()))
        chance = np.mean([trust_by_chance(results, task, present) for task in errors])
        described = f"on {len(errors) - len(over)} of {len(errors)}, mean {mean:.3f} "
        described += f"({chance:.3f} if all were right, by chance alone)"
        described += f"; above: {', '.join(over)}" * bool(over)
        good = len(errors) - len(over)
        verdict = HOLDS if not over else IN_PART if good > len(errors) / 2 else FAILS
        return described, verdict

    goals: list[tuple[str, str, Sequence[str], Callable[[], Found]]] = [
        (
            "two classes, one pass: below LinearSVC at its default C",
            "mean error of 12 tasks, 6.67 in a first look",
            two,
            lambda: versus(two, SVM, 1, 1, 0.0),
        ),
        (
            "two classes, one pass: no more than 0.2 above Vowpal Wabbit after five",
            "6.44 in a first look",
            two,
            wabbit,
        ),
        ("two classes, five passes: 6.1 or less", "6.1", two, within),
        (
            "two classes, five passes: below LinearSVC at its best C for all tasks",
            "6.39 in a first look",
            two,
            lambda: versus(two, BEST_SVM, PASSES, 1, 0.0),
        ),
        (
            "many classes, one pass: at least as accurate as LinearSVC on each task (in part: "
            "within 0.5 points)",
            "points above it",
            many,
            lambda: each(many, 0, 0.5),
        ),
        (
            "many classes, 20 % wrong labels: above LinearSVC on each task",
            "points above it",
            many,
            lambda: each(many, 20, None),
        ),
        (
            "two classes, 20 % wrong labels: above LinearSVC on each task",
            "every task",
            two,
            lambda: each(two, 20, None),
        ),
        (
            "tasks that took no part in choosing, one pass: below LinearSVC at its default C",
            "mean error",
            fresh,
            lambda: versus(fresh, SVM, 1, 1, 0.0),
        ),
        (
            "expected calibration error of 0.03 or less on every test split",
            "0.03",
            fresh,
            honest,
        ),
    ]
    return [
        settle(prefix + text, goal, measure if tasks else None)
        for text, goal, tasks, measure in goals
    ]


def show_goals(claims: Iterable[Claim]) -> str:
    """The goals as a Markdown table."""
    rows = [(one.claim, one.printed, one.ours, f"**{one.verdict}**") for one in claims]
    return make_table(("goal", "of", "found", ""), rows).replace("---:", "---")
