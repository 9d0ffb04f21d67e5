"""What the cells of the multi-class paper say: tables, figures and the verdict on every claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from experiments.cells import Cell, Record
from experiments.claims import (
    FAILS,
    HOLDS,
    IN_PART,
    SURE,
    UNTESTED,
    Claim,
    Duel,
    Found,
    compare_rows,
    decide,
    order,
    rank_test,
    settle,
    show_p,
    weigh,
)
from experiments.copies import show_both
from experiments.crammer2009multiclass.contest import (
    BASELINES,
    BINS,
    COPIED,
    CURVES,
    CW,
    DOUBTS,
    LEARNERS,
    ONLINE_BASELINES,
    SAMPLES,
    WAYS,
    WITH_COPIES,
)
from experiments.ends import Chosen
from experiments.figures import draw_curves
from experiments.folds import COPIES, thin
from experiments.protocol import Marks, unpack
from experiments.tables import NONE, Figure, Figures, Key, make_table
from experiments.tasks import TASKS

from sureline.evaluation import mcnemar

MANY = ("cw-all", "cw-all-parallel", "cw-all-exact", "cw-all-projected", "cw-all-repeated")
SHOWN_IN_FIGURE_1 = ("cw-1", "cw-5", *MANY)
TABLE_3 = (*ONLINE_BASELINES, *CW, "svm-pairs", "svm-joint", "maxent")
LEVELS = (0.001, 0.05)  # the paper's
SHOWN = (1, 2, 4, 7, 10)  # passes that the bars of Figure 2 show
NAMED = (1, 2, 3, 4, 5, 10)  # passes that are named in its first panel
SIDES = ("right", "wrong")
NOT_HAD = {"NYTD": "NYTD", "NYTO": "NYTO", "NYTS": "NYTS", "Reuters": "Reuters (RCV1)"}


@dataclass(frozen=True)
class Results:
    """The records by task and learner, and those of the probabilities by learner.

    `once` are those of learners whose parameter was chosen for a single pass, `copies` those of
    tasks with all rows, `predictions` the ways to predict by task.
    """

    of: dict[tuple[str, str], Record]
    once: dict[tuple[str, str], Record]
    copies: dict[tuple[str, str], Record]
    predictions: dict[str, Record]
    doubts: dict[str, Record]
    tasks: tuple[str, ...]  # those whose data is at hand
    missing: tuple[str, ...]  # the others

    def accuracy(self, task: str, learner: str) -> float:
        """In %."""
        return float(self.of[task, learner]["accuracy"])

    def first(self, task: str, learner: str) -> float:
        """Accuracy after one pass, in %."""
        return float(self.of[task, learner]["curve"][0])

    def passes(self, learner: str) -> float:
        """The mean number of passes chosen."""
        return float(np.mean([self.of[task, learner]["passes"] for task in self.tasks]))

    def right(self, task: str, learner: str) -> Marks:
        """Which rows it gets right."""
        return unpack(self.of[task, learner]["right"])

    def compare(self, first: str, second: str, among: Sequence[str] | None = None) -> Duel:
        """On how many tasks a learner is significantly better, and worse, than another."""
        tasks = self.tasks if among is None else among
        return compare_rows((self.right(t, first), self.right(t, second)) for t in tasks)

    def list_choices(self, most: int) -> list[Chosen]:
        """What was chosen for every cell, from grids of so many settings at most, 0 for all."""
        found = [*self.of.items(), *self.once.items(), *self.copies.items()]
        found += [((DOUBTS, name), record) for name, record in self.doubts.items()]
        return [
            Chosen(thin(LEARNERS[name], most), one["setting"], one["tuning"])
            for (_, name), one in found
        ]


def sort_out(found: Mapping[Cell, Record]) -> Results:
    """The records by what they are about, without tasks whose data is missing."""
    known = {cell: record for cell, record in found.items() if "missing" not in record}
    tasks = tuple(dict.fromkeys(c.task for c in known if c.stage == "folds"))
    of, once, copies = (
        {(c.task, c.learner): record for c, record in known.items() if c.stage == stage}
        for stage in ("folds", "once", COPIES)
    )
    return Results(
        of,
        once,
        copies,
        {c.task: record for c, record in known.items() if c.stage == "predictions"},
        {c.learner: record for c, record in known.items() if c.stage == "doubts"},
        tasks,
        tuple(dict.fromkeys(c.task for c in found if c.task not in tasks)),
    )


def title(task: str) -> str:
    """A task as the tables call it."""
    return TASKS[task].title


# -- figures of the tables ---------------------------------------------------------------------


def mark(results: Results, task: str, learner: str) -> Figure:
    """The accuracy; of a CW learner with the level at which it beats the baselines, as printed.

    The level is against all baselines, or, where there is none, against the online ones.
    """
    accuracy = results.accuracy(task, learner)
    if learner not in CW:
        return Figure(accuracy)
    for names, note in ((BASELINES, "all"), (ONLINE_BASELINES, "online")):
        if all(accuracy > results.accuracy(task, other) for other in names):
            right = results.right(task, learner)
            worst = max(mcnemar(right, results.right(task, o)).p_value for o in names)
            level = next((each for each in LEVELS if worst < each), None)
            if level is not None:
                return Figure(accuracy, level, f"against {note} baselines")
    return Figure(accuracy)


def list_figures(results: Results, parts: Sequence[str]) -> Figures:
    """What goes into ours.csv of these tables and figures."""
    makers = {
        "table1": _figures_of_table_1,
        "table2": _figures_of_table_2,
        "table3": _figures_of_table_3,
        "figure1": _figures_of_figure_1,
        "figure2": _figures_of_figure_2,
        "predictions": _figures_of_predictions,
        "copies": _figures_of_copies,
    }
    return {key: figure for part in parts for key, figure in makers[part](results)}


def once(part: str) -> str:
    """The part of ours.csv that holds a table's accuracies after one pass."""
    return f"{part}, one pass"


def _figures_of_table_1(results: Results) -> Iterator[tuple[Key, Figure]]:
    for task in results.tasks:
        for name in ("rows", "features", "labels", "spread"):
            yield ("table1", title(task), name), Figure(results.of[task, "cw-1"][name])


def _figures_of_table_2(results: Results) -> Iterator[tuple[Key, Figure]]:
    for task, name in product(results.tasks, MANY):
        figure = Figure(results.accuracy(task, name), note=_choice(results.of[task, name]))
        yield ("table2", title(task), LEARNERS[name].title), figure
        if name != "cw-all":  # which is in Table 3 too
            key = (once("table2"), title(task), LEARNERS[name].title)
            yield key, Figure(results.first(task, name))


def _figures_of_table_3(results: Results) -> Iterator[tuple[Key, Figure]]:
    for task, name in product(results.tasks, TABLE_3):
        figure = mark(results, task, name)
        note = "; ".join(filter(None, (figure.note, _choice(results.of[task, name]))))
        key = ("table3", title(task), LEARNERS[name].title)
        yield key, Figure(figure.value, figure.level, note)
        if LEARNERS[name].online:
            key = (once("table3"), title(task), LEARNERS[name].title)
            yield key, Figure(results.first(task, name))
    for (task, name), record in results.once.items():
        key = (once("table3"), title(task), f"{LEARNERS[name].title}, chosen for it")
        yield key, Figure(record["accuracy"], note=_choice(record))


def _figures_of_figure_1(results: Results) -> Iterator[tuple[Key, Figure]]:
    for name in SHOWN_IN_FIGURE_1 if CURVES in results.tasks else ():
        for k, value in enumerate(results.of[CURVES, name]["curve"], start=1):
            yield ("figure1", title(CURVES), f"{LEARNERS[name].title}, pass {k}"), Figure(value)


def _figures_of_figure_2(results: Results) -> Iterator[tuple[Key, Figure]]:
    for name, record in results.doubts.items():
        for label, stage in _stages(name, record):
            for fact in ("error", "entropy", "sure_when_right", "sure_when_wrong"):
                key = ("figure2", title(DOUBTS), f"{label}: {fact.replace('_', ' ')}")
                yield key, Figure(stage[fact])
            for part in ("rows", "mistakes"):
                for low, count in enumerate(stage[part]):
                    key = ("figure2", title(DOUBTS), f"{label}: {part} from {low / 10:.1f}")
                    yield key, Figure(count)


def _figures_of_predictions(results: Results) -> Iterator[tuple[Key, Figure]]:
    for task, record in results.predictions.items():
        for way in WAYS:
            accuracy = 100.0 * float(unpack(record[way]).mean())
            yield ("predictions", title(task), way), Figure(accuracy)


def _figures_of_copies(results: Results) -> Iterator[tuple[Key, Figure]]:
    for (task, name), record in results.copies.items():
        key = ("copies", title(task), LEARNERS[name].title)
        yield key, Figure(record["accuracy"], note=_choice(record))


def _stages(name: str, record: Record) -> Iterator[tuple[str, Record]]:
    """What was found after every pass, or with every prior, with its name."""
    for k, stage in enumerate(record["stages"]):
        what = f"pass {k + 1}" if LEARNERS[name].online else f"prior {_prior(record, k)}"
        chosen = ", chosen" if k == record["chosen"] else ""
        yield f"{LEARNERS[name].title}, {what}{chosen}", stage


def _prior(record: Record, k: int) -> str:
    """The variance of maxent's prior at a stage."""
    return f"{record['settings'][k]['variance']:g}"


def _choice(record: Record) -> str:
    """What was chosen for it, as a note."""
    chosen = [f"{name} = {value:.4g}" for name, value in record["setting"].items()]
    if record["passes"]:
        chosen.append(f"{record['passes']} passes" if record["passes"] > 1 else "1 pass")
    return ", ".join(chosen)


# -- Markdown ----------------------------------------------------------------------------------


def show(figure: Figure | None) -> str:
    """An accuracy with the paper's marks."""
    if figure is None or figure.value is None:
        return NONE
    signs = {0.001: 2, 0.05: 1}.get(figure.level or 0.0, 0)
    sign = ("†" if "online" in figure.note else r"\*") * signs
    return f"{figure.value:.2f}{sign}"


def table_1(paper: Figures, ours: Figures, results: Results) -> str:
    """What the tasks are; printed figures in brackets."""
    rows = []
    for name in _titles(results):
        cells = []
        for fact, printed in (
            ("rows", "instances"),
            ("features", "features"),
            ("labels", "labels"),
        ):
            mine, theirs = ours.get(("table1", name, fact)), paper.get(("table1", name, printed))
            cells.append(
                (f"{mine.value:,.0f}" if mine and mine.value else NONE)
                + (f" ({theirs.value:,.0f})" if theirs and theirs.value else "")
            )
        spread = ours.get(("table1", name, "spread"))
        cells.append(f"{spread.value:.1f}" if spread and spread.value else NONE)
        rows.append((NOT_HAD.get(name, name), *cells))
    head = ("ours (paper)", "instances", "features", "labels", "largest label / smallest")
    return make_table(head, rows)


def _titles(results: Results) -> list[str]:
    """The tasks at hand, then the others."""
    return [*(title(task) for task in (*results.tasks, *results.missing)), *NOT_HAD]


def accuracies(
    part: str, names: tuple[str, ...], paper: Figures, ours: Figures, results: Results
) -> str:
    """Accuracies in %, printed ones in brackets, our best of every row in bold."""
    rows = []
    for task in _titles(results):
        mine = [ours.get((part, task, LEARNERS[name].title)) for name in names]
        best = max((each.value for each in mine if each and each.value), default=None)
        cells = []
        for name, figure in zip(names, mine, strict=True):
            text = show(figure)
            if figure and figure.value == best:
                text = f"**{text}**"
            printed = paper.get((part, task, LEARNERS[name].title))
            cells.append(f"{text} ({show(printed)})" if printed else text)
        rows.append((NOT_HAD.get(task, task), *cells))
    return make_table(("ours (paper)", *(LEARNERS[name].title for name in names)), rows)


def table_passes(paper: Figures, results: Results) -> str:
    """Passes chosen, accuracy after one pass, and CPU seconds per pass."""
    names = (*ONLINE_BASELINES, "cw-1", "cw-5", *MANY)
    head = ["", *(LEARNERS[name].title for name in names)]
    rows = []
    for task in results.tasks:
        cells = [f"{results.first(task, n):.2f}; {results.of[task, n]['passes']}" for n in names]
        rows.append((title(task), *cells))
    if results.tasks:
        rows.append(("mean passes", *(f"{results.passes(name):.2f}" for name in names)))
    printed = [paper.get(("text", "all", f"passes {LEARNERS[name].title}")) for name in names]
    rows.append(("printed", *(f"{each.value:.2f}" if each else NONE for each in printed)))
    if CURVES in results.tasks:
        rows.append(
            (
                f"seconds per pass, {title(CURVES)}",
                *(f"{_a_pass(results, name):.2f}" for name in names),
            )
        )
        printed = [
            paper.get(("text", title(CURVES), f"seconds {LEARNERS[name].title}")) for name in names
        ]
        rows.append(("printed", *(f"{each.value:.0f}" if each else NONE for each in printed)))
    return make_table(head, rows)


def table_curves(results: Results) -> str:
    """The picture of Figure 1 and its figures, or that there are none."""
    if CURVES not in results.tasks:
        return f"{title(CURVES)} has not been run."
    curves = {name: results.of[CURVES, name]["curve"] for name in SHOWN_IN_FIGURE_1}
    rows = [
        (LEARNERS[name].title, *(f"{value:.2f}" for value in curve))
        for name, curve in curves.items()
    ]
    head = ("accuracy in % after pass", *map(str, range(1, 1 + max(map(len, curves.values())))))
    return f"![Accuracy after each pass](figure1.png)\n\n{make_table(head, rows)}"


def _a_pass(results: Results, learner: str) -> float:
    """Mean CPU seconds of a pass over the training part of a fold, on the task of Figure 1."""
    record = results.of[CURVES, learner]
    return float(record["seconds"] / record["passes"])


def table_doubts(results: Results) -> str:
    """Error, entropy and probabilities after every pass."""
    rows = []
    for name, record in results.doubts.items():
        for label, stage in _stages(name, record):
            low, high = sum(stage["rows"][:3]), stage["rows"][-1]
            rows.append(
                (
                    label,
                    f"{stage['error']:.2f}",
                    f"{stage['entropy']:.3f}",
                    _chance(stage["sure_when_right"]),
                    _chance(stage["sure_when_wrong"]),
                    f"{low:,}",
                    f"{high:,}",
                    f"{stage['mistakes'][-1]:,}",
                )
            )
    head = (
        "",
        "error in %",
        "normalized entropy",
        "probability when right",
        "when wrong",
        "rows below 0.3",
        "rows from 0.9",
        "of them wrong",
    )
    return make_table(head, rows)


def table_predictions(results: Results) -> str:
    """Accuracies of CW k=1 by the way to predict."""
    rows = [
        (title(task), *(f"{100.0 * unpack(record[way]).mean():.2f}" for way in WAYS))
        for task, record in results.predictions.items()
    ]
    head = ("accuracy in %", "highest mean", "highest probability", f"vote of {SAMPLES} samples")
    return make_table(head, rows)


def table_copies(results: Results) -> str:
    """Accuracies with and without copies of rows."""
    tasks = {task: title(task) for task in COPIED if task in results.tasks}
    both = {key: (record, results.of.get(key)) for key, record in results.copies.items()}
    return show_both(tasks, {n: LEARNERS[n].title for n in WITH_COPIES}, both, "accuracy")


def _chance(value: float | None) -> str:
    """A probability, or a dash."""
    return NONE if value is None else f"{value:.2f}"


# -- claims ------------------------------------------------------------------------------------


def list_claims(results: Results, paper: Figures) -> list[Claim]:
    """Every claim with its verdict; could not be tested, where its data is not at hand."""
    return [
        *_claims_of_rivals(results),
        *_claims_of_schemes(results, paper),
        *_claims_of_curves(results),
        *_claims_of_predictions(results),
        *_claims_of_doubts(results),
    ]


def _claims_of_rivals(results: Results) -> Iterator[Claim]:
    """Table 3: how many rivals, and the baselines."""
    tasks, n = results.tasks, len(results.tasks)

    def best(task: str, names: tuple[str, ...]) -> float:
        return max(results.accuracy(task, name) for name in names)

    def against_baselines() -> Found:
        ahead = {t for t in tasks if best(t, CW) > best(t, BASELINES)}
        behind = sorted(title(t) for t in set(tasks) - ahead)
        sure = sum("all" in mark(results, t, "cw-1").note for t in tasks)
        but = f" (not on {', '.join(behind)})" if behind else ""
        return (
            f"{len(ahead)} of {n}{but}; k = 1 significantly (p < 0.05) on {sure}",
            weigh(len(ahead), n, 8 / 9, sure > 0),
        )

    def duel(first: str, second: str, share: float, among: tuple[str, ...]) -> Found:
        leads = [results.accuracy(t, first) - results.accuracy(t, second) for t in among]
        sure = results.compare(first, second, among)
        return _count(leads, share, str(sure), sure.ahead)

    def early() -> Found:
        leads = [results.first(t, "cw-5") - results.first(t, "cw-1") for t in tasks]
        p = rank_test(leads)
        return _count(leads, 8 / 9, show_p(p), p < SURE)

    def once() -> Found:
        one, five = ([results.once[t, name] for t in tasks] for name in ("cw-1", "cw-5"))
        leads = [b["accuracy"] - a["accuracy"] for a, b in zip(one, five, strict=True)]
        sure = compare_rows(
            (unpack(b["right"]), unpack(a["right"])) for a, b in zip(one, five, strict=True)
        )
        return _count(leads, 8 / 9, str(sure), sure.ahead)

    def passes() -> Found:
        five, one, every = (results.passes(name) for name in ("cw-5", "cw-1", "cw-all"))
        verdicts = {_fewer_passes(results, "cw-5", name)[1] for name in ("cw-1", "cw-all")}
        verdict = FAILS if FAILS in verdicts else HOLDS if verdicts == {HOLDS} else IN_PART
        return f"{five:.2f} against {one:.2f} and {every:.2f}", verdict

    yield settle(
        "CW (k = 1, 5 or ∞) is better than every online and batch baseline on eight of nine tasks",
        "8 of 9",
        against_baselines if n else None,
    )
    yield settle(
        "k = 1 is better than k = 5 on seven of nine tasks",
        "7 of 9",
        partial(duel, "cw-1", "cw-5", 7 / 9, tasks) if n else None,
    )
    # With six labels or fewer k = 5 is k = ∞, though the printed figures differ there too.
    large = tuple(t for t in tasks if results.of[t, "cw-5"]["labels"] > 6)
    yield settle(
        "k = 5 is better than k = ∞ on nearly every task (with more than six labels)",
        "6 of 7",
        partial(duel, "cw-5", "cw-all", 6 / 7, large) if large else None,
    )
    yield settle(
        "after a single pass k = 5 is better than k = 1 on eight of nine tasks (φ chosen for a "
        "single pass)",
        "8 of 9",
        once if n and results.once else None,
    )
    yield settle(
        "the same with the φ that was chosen for several passes",
        "8 of 9",
        early if n else None,
    )
    yield settle(
        "k = 5 needs fewer passes than k = 1 and than k = ∞",
        "2.22 against 6.67 and 4.33",
        passes if n else None,
    )


def _claims_of_schemes(results: Results, paper: Figures) -> Iterator[Claim]:
    """Table 2: sequential, parallel, exact."""
    tasks, n = results.tasks, len(results.tasks)
    printed_gap = _gap(paper, [title(task) for task in tasks])

    def alike() -> Found:
        pairs = ((results.accuracy(t, "cw-all"), results.accuracy(t, MANY[1])) for t in tasks)
        gap = float(np.mean([abs(first - second) for first, second in pairs]))
        return f"apart by {gap:.2f} points on average", decide(gap <= max(1.0, printed_gap or 0))

    def faster() -> Found:
        sequential, parallel = results.passes("cw-all"), results.passes("cw-all-parallel")
        p, verdict = _fewer_passes(results, "cw-all", "cw-all-parallel")
        return f"{sequential:.2f} against {parallel:.2f}; {show_p(p)}", verdict

    def worst(name: str) -> Found:
        lowest = sum(
            all(results.accuracy(t, name) < results.accuracy(t, other) for other in MANY[:2])
            for t in tasks
        )
        lead = _mean_lead(results, name, "cw-all")
        sure = results.compare("cw-all", name)
        return (
            f"{lowest} of {n}; {lead:+.2f} points against sequential on average, which is {sure}",
            weigh(lowest, n, 8 / 9, sure.ahead),
        )

    def settled() -> Found:
        exact, sequential = results.passes("cw-all-exact"), results.passes("cw-all")
        return (
            f"{exact:.2f} passes, sequential {sequential:.2f}",
            decide(exact <= min(2.0, sequential)),
        )

    yield settle(
        "the sequential and the parallel update are about equally accurate",
        NONE if printed_gap is None else f"apart by {printed_gap:.2f} points on average",
        alike if n else None,
    )
    yield settle(
        "the sequential update needs fewer passes than the parallel one",
        "4.33 against 7.56",
        faster if n else None,
    )
    for name, what in (
        ("cw-all-exact", "solved among diagonal matrices"),
        ("cw-all-projected", "solved in full, then projected"),
        ("cw-all-repeated", "by repeated projection, as the text describes it"),
    ):
        yield settle(
            f"the exact update over-fits: lowest of the three on almost every task ({what})",
            "8 of 9",
            partial(worst, name) if n else None,
        )
    yield settle(
        "the exact update has converged after one pass or two",
        "1.25 passes",
        settled if n else None,
    )


def _claims_of_curves(results: Results) -> Iterator[Claim]:
    """Figure 1."""
    known = CURVES in results.tasks

    def change() -> Found:
        curve = {name: results.of[CURVES, name]["curve"] for name in MANY}
        gains = [max(curve[name]) - curve[name][0] for name in MANY[:2]]
        lost = curve["cw-all-exact"][-1] - curve["cw-all-exact"][0]
        return (
            f"sequential {gains[0]:+.2f}, parallel {gains[1]:+.2f} to their best pass; exact "
            f"{lost:+.2f} from pass 1 to {len(curve['cw-all-exact'])}",
            decide(min(gains) > 0 and lost < 0),
        )

    def cost() -> Found:
        one, five, exact = (_a_pass(results, name) for name in ("cw-1", "cw-5", "cw-all-exact"))
        return (
            f"{five / one:.1f} and {exact / one:.1f} times",
            decide(exact > 4 * five > 4 * one),
        )

    yield settle(
        "on Amazon 7 sequential and parallel improve over the passes, exact degrades after the "
        "first",
        "Figure 1",
        change if known else None,
    )
    yield settle(
        "a pass of k = 5 takes a few times as long as one of k = 1, one of exact far longer",
        "3, 10 and over 240 s: 3.3 and 80 times",
        cost if known else None,
    )


def _claims_of_predictions(results: Results) -> Iterator[Claim]:
    """Section 5: other ways to predict."""
    for way, what in (
        ("probability", "predicting the likeliest label, which is sensitive to the variance,"),
        ("samples", f"predicting by sampled weights (here the vote of {SAMPLES})"),
    ):

        def measure(way: str = way) -> Found:
            pairs = [
                (unpack(record[way]), unpack(record["means"]))
                for record in results.predictions.values()
            ]
            gap = 100.0 * float(np.mean([a.mean() - b.mean() for a, b in pairs]))
            sure = compare_rows(pairs)
            verdict = HOLDS if not sure.better else IN_PART if not sure.ahead else FAILS
            return f"{gap:+.2f} points on average; {sure} of {len(pairs)} tasks", verdict

        yield settle(
            f"{what} does not improve on the means",
            "no figures",
            measure if results.predictions else None,
        )


def _claims_of_doubts(results: Results) -> Iterator[Claim]:
    """Section 7.

    What is said of CW and maxent depends on maxent's prior. It holds if it is true with the prior
    that was chosen and with that of the lowest test error; in part if with one of them.
    """
    known = {"cw-1", "maxent"} <= set(results.doubts)
    cw = results.doubts["cw-1"] if known else {}
    stages: list[Record] = cw["stages"] if known else []
    chosen: Record = stages[cw["chosen"]] if known else {}
    passes = cw["passes"] if known else 1
    errors = [stage["error"] for stage in stages]
    doubts = [stage["entropy"] for stage in stages]

    def over_priors(agrees: Callable[[Record], bool], tell: Callable[[Record], str]) -> Found:
        """What is found with the chosen prior and the best one, and with which priors it holds."""
        maxent = results.doubts["maxent"]
        priors: list[Record] = maxent["stages"]
        best = min(range(len(priors)), key=lambda k: priors[k]["error"])
        looked = {maxent["chosen"]: "chosen", best: "lowest error"}
        if len(looked) == 1:
            looked = {best: "chosen, lowest error"}
        true = [k for k, prior in enumerate(priors) if agrees(prior)]
        listed = ", ".join(_prior(maxent, k) for k in true) or "none"
        told = "; ".join(
            f"{tell(priors[k])} (prior {_prior(maxent, k)}, {why})" for k, why in looked.items()
        )
        right = [k in true for k in looked]
        verdict = HOLDS if all(right) else IN_PART if any(right) else FAILS
        return f"{told}; true with the priors {listed}", verdict

    def falls() -> Found:
        calmer, better = (int(np.sum(np.diff(each) < 0)) for each in (doubts, errors))
        steps = len(stages) - 1
        verdict = HOLDS if calmer == better == steps else IN_PART
        return (
            f"entropy falls with {calmer} of {steps} further passes ({doubts[0]:.2f} to "
            f"{doubts[-1]:.2f}), error with {better} ({errors[0]:.2f} % to {errors[-1]:.2f} %)",
            verdict if calmer == steps and errors[-1] < errors[0] else FAILS,
        )

    def peaked() -> Found:
        return over_priors(
            lambda maxent: maxent["entropy"] < min(doubts),
            lambda maxent: (
                f"{maxent['entropy']:.2f} against {doubts[0]:.2f} after one pass and "
                f"{doubts[-1]:.2f} after {len(stages)}"
            ),
        )

    def overtakes() -> Found:
        def when(maxent: Record) -> int | None:
            return next((k for k, e in enumerate(errors, start=1) if e < maxent["error"]), None)

        return over_priors(
            lambda maxent: (when(maxent) or len(errors) + 1) <= 2,
            lambda maxent: (
                f"{'never' if when(maxent) is None else f'from pass {when(maxent)} on'}; maxent "
                f"errs on {maxent['error']:.2f} %"
            ),
        )

    def modest() -> Found:
        def pairs(maxent: Record) -> list[tuple[float, float]]:
            return [(chosen[f"sure_when_{how}"], maxent[f"sure_when_{how}"]) for how in SIDES]

        if any(None in pair for one in results.doubts["maxent"]["stages"] for pair in pairs(one)):
            return "without a mistake, or without a row that is right", UNTESTED
        return over_priors(
            lambda maxent: all(mine < theirs for mine, theirs in pairs(maxent)),
            lambda maxent: ", ".join(
                f"{how} {mine:.2f} against {theirs:.2f}"
                for how, (mine, theirs) in zip(SIDES, pairs(maxent), strict=True)
            ),
        )

    def crowded() -> Found:
        late = stages[min(6, len(stages) - 1)]
        first, seventh = stages[0]["rows"][-1], late["rows"][-1]
        return over_priors(
            lambda maxent: first < seventh < maxent["rows"][-1],
            lambda maxent: (
                f"{maxent['rows'][-1]:,}; {first:,}; {seventh:,} of {sum(late['rows']):,}"
            ),
        )

    def misplaced() -> Found:
        def share(stage: Record) -> float:
            return 100.0 * stage["mistakes"][-1] / max(1, sum(stage["mistakes"]))

        return over_priors(
            lambda maxent: share(maxent) > max(100.0 / (BINS - 1), 2 * share(chosen)),
            lambda maxent: f"{share(maxent):.0f} % against {share(chosen):.0f} %",
        )

    def unimodal() -> Found:
        peaks = [_count_peaks(stage["mistakes"]) for stage in stages]
        single = sum(each == 1 for each in peaks)
        verdict = HOLDS if single == len(peaks) else IN_PART if single > len(peaks) / 2 else FAILS
        return f"one peak after {single} of {len(peaks)} passes", verdict

    def monotone() -> Found:
        mine = _falls(chosen)
        return over_priors(
            lambda maxent: mine and _falls(maxent),
            lambda maxent: (
                f"CW {'yes' if mine else 'no'}, maxent {'yes' if _falls(maxent) else 'no'}"
            ),
        )

    def rises() -> Found:
        better, compared = _compare_bins(stages[0], stages[-1])
        return (
            f"lower after the first than after the last pass in {better} of {compared} bins",
            weigh(better, compared, 0.9, True),
        )

    def safer() -> Found:
        return over_priors(
            lambda maxent: weigh(*_compare_bins(chosen, maxent), 0.9, True) == HOLDS,
            lambda maxent: "in {} of {} bins".format(*_compare_bins(chosen, maxent)),
        )

    after = f"CW after {passes} passes, as chosen"
    for claim, printed, measure in (
        ("every pass of CW lowers both error and entropy", "Figure 2, first panel", falls),
        (
            "maxent's label distributions have a lower entropy than CW's",
            "Figure 2, first panel",
            peaked,
        ),
        ("CW is more accurate than maxent after its second pass", "2 passes", overtakes),
        (
            f"CW gives its predictions less probability than maxent, right or wrong ({after})",
            "right 0.75 against 0.83, wrong 0.44 against 0.56",
            modest,
        ),
        (
            "maxent is sure (0.9 and more) of very many examples, CW of hardly any after one pass "
            "and of fewer than maxent even after seven",
            "over 1,200; 100; almost 1,000 of 3,000",
            crowded,
        ),
        (
            "much of maxent's error comes from its highest bin, little of CW's (here: more than "
            f"a ninth of its mistakes, and more than twice CW's share; {after})",
            "Figure 2, third panel",
            misplaced,
        ),
        (
            "CW's mistakes have a single peak over the bins, after every pass",
            "Figure 2, third panel",
            unimodal,
        ),
        (
            f"the higher the probability, the lower the error, for both ({after})",
            "Figure 2, fourth panel",
            monotone,
        ),
        (
            "with further passes CW's error at the same probability rises",
            "Figure 2, fourth panel",
            rises,
        ),
        (
            f"at the same probability CW errs less than maxent, in nearly all bins ({after})",
            "Figure 2, fourth panel",
            safer,
        ),
    ):
        yield settle(claim, printed, measure if known else None)


def _count_peaks(values: Sequence[int]) -> int:
    """How many local maxima a histogram has; rises and falls of ten or less do not count."""
    peaks, rising, last = 0, True, 0
    for value in [*values, 0]:
        if rising and value < last - 10:
            peaks, rising, last = peaks + 1, False, value
        elif not rising and value > last + 10:
            rising, last = True, value
        else:
            last = max(last, value) if rising else min(last, value)
    return peaks + int(rising and last > 0)


def _falls(stage: Record) -> bool:
    """Whether the error falls from bin to bin, of those with at least ten rows."""
    rates = [m / n for m, n in zip(stage["mistakes"], stage["rows"], strict=True) if n >= 10]
    return all(second <= first for first, second in pairwise(rates))


def _count(leads: list[float], share: float, tested: str, sure: bool) -> Found:
    """On how many tasks a learner is ahead, of the share of tasks that is printed."""
    wins = sum(lead > 0 for lead in leads)
    return (
        f"{wins} of {len(leads)}; mean difference {np.mean(leads):+.2f}; {tested}",
        weigh(wins, len(leads), share, sure),
    )


def _fewer_passes(results: Results, first: str, second: str) -> tuple[float, str]:
    """Whether the first learner needs fewer passes: a p value and the verdict."""
    fewer, more = (
        [results.of[t, name]["passes"] for t in results.tasks] for name in (first, second)
    )
    return rank_test(np.subtract(fewer, more)), order(fewer, more)


def _compare_bins(cw: Record, maxent: Record) -> tuple[int, int]:
    """In how many bins CW's error is lower, of those in which both have at least ten rows."""
    pairs = [
        (cw["mistakes"][k] / cw["rows"][k], maxent["mistakes"][k] / maxent["rows"][k])
        for k in range(len(cw["rows"]))
        if min(cw["rows"][k], maxent["rows"][k]) >= 10
    ]
    return sum(mine < theirs for mine, theirs in pairs), len(pairs)


def _mean_lead(results: Results, first: str, second: str) -> float:
    """By how many points the first is ahead, on average."""
    return float(
        np.mean([results.accuracy(t, first) - results.accuracy(t, second) for t in results.tasks])
    )


def _gap(paper: Figures, titles: list[str]) -> float | None:
    """How far sequential and parallel are apart in the printed Table 2, on average."""
    names = [LEARNERS[name].title for name in MANY[:2]]
    pairs = [[paper.get(("table2", task, name)) for name in names] for task in titles]
    known = [abs(a.value - b.value) for a, b in pairs if a and b and a.value and b.value]
    return float(np.mean(known)) if known else None


# -- figures -----------------------------------------------------------------------------------


def draw_figure_1(path: Path, results: Results) -> None:
    """Accuracy on test rows after each pass."""
    lines = {LEARNERS[name].title: results.of[CURVES, name]["curve"] for name in SHOWN_IN_FIGURE_1}
    passes = range(1, 1 + max(map(len, lines.values())))
    draw_curves(path, {title(CURVES): lines}, list(passes), "passes", "test accuracy, %")


def draw_figure_2(path: Path, results: Results) -> None:
    """The four panels: error against entropy, and what bins of probability hold."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plots

    priors = results.doubts["maxent"]
    stages, maxent = results.doubts["cw-1"]["stages"], priors["stages"][priors["chosen"]]
    figure, axes = plots.subplots(2, 2, figsize=(10, 7))
    (first, second), (third, fourth) = axes
    doubts, errors = zip(*((s["entropy"], s["error"]) for s in stages), strict=True)
    first.plot(doubts, errors, "o-", color="0.15", markersize=4, linewidth=1, label="CW k=1")
    for k in (k for k in NAMED if k <= len(stages)):  # the others lie too close
        place = (doubts[k - 1], errors[k - 1])
        aside = (4, 4) if k < len(stages) else (-6, -11)
        first.annotate(str(k), place, xytext=aside, textcoords="offset points", fontsize=8)
    places = [(stage["entropy"], stage["error"]) for stage in priors["stages"]]
    first.plot(*zip(*places, strict=True), "s-", color="0.55", markersize=5, label="maxent")
    for k, place in enumerate(places):
        first.annotate(
            _prior(priors, k), place, xytext=(4, 4), textcoords="offset points", fontsize=7
        )
    first.set(xlim=(0, 1), xlabel="normalized entropy of the labels", ylabel="test error, %")
    first.margins(y=0.12)
    first.set_title("Error and entropy; numbers are passes and priors", fontsize=9)
    first.legend(fontsize=8)
    shown = [k for k in SHOWN if k <= len(stages)]
    bars = {f"maxent, prior {_prior(priors, priors['chosen'])}": maxent} | {
        f"CW k=1, pass {k}": stages[k - 1] for k in shown
    }
    greys = ["white", *(str(round(0.85 - 0.75 * k / len(shown), 2)) for k in range(len(shown)))]
    total = sum(maxent["rows"])
    panels = (
        (second, "Test rows by probability", "test rows", lambda s: s["rows"]),
        (
            third,
            "What each bin adds to the error",
            "share of all test rows, %",
            lambda s: [100.0 * each / total for each in s["mistakes"]],
        ),
        (
            fourth,
            "Error within each bin",
            "error in the bin, %",
            lambda s: [
                100.0 * wrong / rows if rows else 0.0
                for wrong, rows in zip(s["mistakes"], s["rows"], strict=True)
            ],
        ),
    )
    handles = []
    for ax, heading, label, values in panels:
        width = 0.86 / len(bars)
        handles = [
            ax.bar(
                [low - 0.43 + width * (k + 0.5) for low in range(1, 10)],
                values(stage)[1:],
                width,
                color=greys[k],
                hatch="////" if name.startswith("maxent") else "",
                edgecolor="black",
                linewidth=0.4,
            )
            for k, (name, stage) in enumerate(bars.items())
        ]
        ax.set_xticks(range(1, 10), [f"{low / 10:.1f}" for low in range(1, 10)])
        ax.set(xlabel="probability of the predicted label, from", ylabel=label)
        ax.set_title(heading, fontsize=9)
    figure.tight_layout()
    figure.legend(
        handles,
        list(bars),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=len(bars),
        fontsize=8,
        frameon=False,
    )
    figure.savefig(path, dpi=110, metadata={"Software": None}, bbox_inches="tight")
    plots.close(figure)
