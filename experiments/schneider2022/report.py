"""What the cells of the slides say: tables and the verdict on every claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from experiments.cells import Cell, Record
from experiments.claims import (
    FAILS,
    HOLDS,
    IN_PART,
    Claim,
    Duel,
    Found,
    compare_rows,
    decide,
    settle,
    weigh,
)
from experiments.ends import Chosen
from experiments.learners import show as show_setting
from experiments.protocol import unpack
from experiments.schneider2022.contest import ABLATED, BLOCKS, LEARNERS, PASSES, STOPPED
from experiments.tables import Figure, Figures, make_table
from experiments.tasks import TASKS


@dataclass(frozen=True)
class Results:
    """The records by task and learner, those of stopped learners, and those without a block."""

    of: dict[tuple[str, str], Record]
    stopped: dict[tuple[str, str], Record]
    without: dict[tuple[str, str], Record]  # by learner and block
    tasks: tuple[str, ...]

    def accuracy(self, task: str, learner: str) -> float:
        """On the test rows, in %."""
        return float(self.of[task, learner]["accuracy"])

    def compare(self, first: str, second: str) -> Duel:
        """On how many tasks a learner is significantly better, and worse, than another."""
        return compare_records((self.of[t, first], self.of[t, second]) for t in self.tasks)

    def list_choices(self) -> list[Chosen]:
        """What was chosen for every cell that had a choice."""
        found = [(name, one) for (_, name), one in self.of.items()]
        found += [(name, one) for (name, _), one in self.without.items()]
        return [
            Chosen(LEARNERS[name], one["setting"], one["tuning"])
            for name, one in found
            if len(LEARNERS[name].grid) > 1
        ]


def compare_records(pairs: Iterator[tuple[Record, Record]]) -> Duel:
    """McNemar's test of pairs of records."""
    return compare_rows((unpack(a["right"]), unpack(b["right"])) for a, b in pairs)


def sort_out(found: Mapping[Cell, Record]) -> Results:
    """The records by what they are about, without tasks whose data is missing."""
    known = {cell: record for cell, record in found.items() if "missing" not in record}
    return Results(
        {(c.task, c.learner): r for c, r in known.items() if c.stage == "test"},
        {(c.task, c.learner): r for c, r in known.items() if c.stage == "stopped"},
        {
            (c.learner, c.stage.removeprefix("without ")): r
            for c, r in known.items()
            if c.stage.startswith("without ")
        },
        tuple(dict.fromkeys(c.task for c in known if c.stage == "test")),
    )


def title(task: str) -> str:
    """A task as the tables call it."""
    return TASKS[task].title


def list_figures(results: Results) -> Figures:
    """What goes into ours.csv."""
    found: Figures = {}
    for (task, name), record in results.of.items():
        note = show_setting(record["setting"])
        found["accuracy", task, name] = Figure(record["accuracy"], note=note)
        found["training accuracy", task, name] = Figure(record["training"])
    for (task, name), record in results.stopped.items():
        note = f"{record['passes']} passes"
        found["stopped early", task, name] = Figure(record["accuracy"], note=note)
    for (name, block), record in results.without.items():
        found["ablation", f"without {block}", name] = Figure(record["accuracy"])
    return found


# -- Markdown ----------------------------------------------------------------------------------


def table_accuracies(results: Results) -> str:
    """Test accuracies, the highest of a row in bold; in brackets those on training rows."""
    rows = []
    for task in results.tasks:
        found = [results.of[task, name] for name in LEARNERS]
        best = max(one["accuracy"] for one in found)
        cells = []
        for one in found:
            text = f"{one['accuracy']:.2f}"
            text = f"**{text}**" if one["accuracy"] == best else text
            cells.append(f"{text} ({one['training']:.2f})")
        rows.append((title(task), *cells))
    return make_table(("test (training)", *(one.title for one in LEARNERS.values())), rows)


def table_seconds(results: Results) -> str:
    """CPU seconds of learning with the chosen parameters."""
    rows = [
        (title(task), *(f"{results.of[task, name]['seconds']:.2f}" for name in LEARNERS))
        for task in results.tasks
    ]
    return make_table(("seconds", *(one.title for one in LEARNERS.values())), rows)


def table_stopped(results: Results) -> str:
    """Perceptrons after all passes, and stopped early."""
    rows = []
    for task in results.tasks:
        cells = []
        for name in STOPPED:
            early = results.stopped[task, name]
            cells.append(f"{results.accuracy(task, name):.2f}")
            cells.append(f"{early['accuracy']:.2f} ({early['passes']})")
        rows.append((title(task), *cells))
    heads = [
        text
        for name in STOPPED
        for text in (f"{LEARNERS[name].title}, {PASSES} passes", "stopped early (passes)")
    ]
    return make_table(("accuracy in %", *heads), rows)


def table_ablation(results: Results) -> str:
    """Accuracies without one block of features each."""
    rows = []
    for block in ("nothing", *BLOCKS):
        found = [results.without[name, block] for name in ABLATED]
        cells = [f"{one['accuracy']:.2f} ({one['training']:.2f})" for one in found]
        rows.append((f"without {block}", f"{found[0]['features']:,}", *cells))
    heads = (LEARNERS[name].title for name in ABLATED)
    return make_table(("test (training)", "features", *heads), rows)


# -- claims ------------------------------------------------------------------------------------


def list_claims(results: Results) -> list[Claim]:
    """Every claim with its verdict; could not be tested, where its data is not at hand."""
    tasks, n = results.tasks, len(results.tasks)

    def better(first: str, seconds: Sequence[str]) -> Found:
        """Ahead of each of the others on all tasks but one of eight."""
        said, verdicts = [], set()
        for second in seconds:
            wins = sum(results.accuracy(t, first) > results.accuracy(t, second) for t in tasks)
            sure = results.compare(first, second)
            said.append(f"against {LEARNERS[second].title} {wins} of {n} tasks, {sure}")
            verdicts.add(weigh(wins, n, 1.0, sure.ahead))
        return "; ".join(said), _join(verdicts)

    def ahead(seconds: Sequence[str], firsts: Sequence[str]) -> Found:
        found = [better(first, seconds) for first in firsts]
        said = (f"{LEARNERS[f].title} {what}" for f, (what, _) in zip(firsts, found, strict=True))
        return "; ".join(said), _join({verdict for _, verdict in found})

    def fits() -> Found:
        found = [results.of[t, "perceptron"]["training"] for t in tasks]
        said = ", ".join(f"{title(t)} {x:.2f} %" for t, x in zip(tasks, found, strict=True))
        done = sum(each == 100 for each in found)
        return said, HOLDS if done == n else IN_PART if done > n / 2 else FAILS

    def stops(names: Sequence[str]) -> Found:
        said, verdicts = [], set()
        for name in names:
            pairs = [(results.stopped[t, name], results.of[t, name]) for t in tasks]
            wins = sum(early["accuracy"] > late["accuracy"] for early, late in pairs)
            sure = compare_records(iter(pairs))
            said.append(f"{LEARNERS[name].title} {wins} of {n} tasks, {sure}")
            verdicts.add(weigh(wins, n, 1.0, sure.ahead))
        return "; ".join(said), _join(verdicts)

    def cheap() -> Found:
        others = [name for name in LEARNERS if name not in ("majority", "naive-bayes")]
        ratios = [
            min(results.of[t, o]["seconds"] for o in others)
            / max(results.of[t, "naive-bayes"]["seconds"], 1e-4)
            for t in tasks
        ]
        said = ", ".join(f"{title(t)} {r:.1f}" for t, r in zip(tasks, ratios, strict=True))
        return f"the fastest other learner takes so many times as long: {said}", _all(ratios, 1.0)

    def sparse() -> Found:
        pairs = [(results.of[t, "maxent-l1"], results.of[t, "maxent-l2"]) for t in tasks]
        said = ", ".join(
            f"{title(t)} {100 * a['nonzero']:.2f} % against {100 * b['nonzero']:.0f} %"
            for t, (a, b) in zip(tasks, pairs, strict=True)
        )
        few = [a["nonzero"] < b["nonzero"] / 10 for a, b in pairs]
        return f"nonzero weights: {said}", HOLDS if all(few) else IN_PART if any(few) else FAILS

    def zero() -> Found:
        counts = [one for t in tasks if (one := results.of[t, "perceptron"]["zero"]) is not None]
        total, uneven = (sum(each) for each in zip(*counts, strict=True))
        return (
            f"of {total:,} features of weight 0 (two classes) {uneven:,} occur more often in one",
            decide(uneven > 0),
        )

    def wide() -> Found:
        said, more = [], []
        for name in ABLATED:
            full, narrow = (results.without[name, b] for b in ("nothing", BLOCKS[-1]))
            gaps = [one["training"] - one["accuracy"] for one in (full, narrow)]
            more.append(full["training"] >= narrow["training"] and gaps[0] > gaps[1])
            said.append(
                f"{LEARNERS[name].title}: training {narrow['training']:.2f} to "
                f"{full['training']:.2f} %, test {narrow['accuracy']:.2f} to "
                f"{full['accuracy']:.2f} %"
            )
        verdict = HOLDS if all(more) else IN_PART if any(more) else FAILS
        return f"with pairs of words, {'; '.join(said)}", verdict

    def make(measure: Callable[..., Found], *given: Sequence[str]) -> Callable[[], Found] | None:
        return (lambda: measure(*given)) if n else None

    strong = ("perceptron", "averaged", "maxent-l2", "svm")
    listed: tuple[tuple[str, Callable[[], Found] | None], ...] = (
        (
            "the perceptron has better accuracy than naive Bayes",
            make(ahead, ("naive-bayes",), ("perceptron",)),
        ),
        (
            "discriminative learners are more accurate than generative ones",
            make(ahead, ("naive-bayes",), strong),
        ),
        ("learning is cheap in naive Bayes: it is the fastest", make(cheap)),
        (
            "the perceptron adjusts weights until the training data is classified correctly "
            f"({PASSES} passes)",
            make(fits),
        ),
        ("averaging improves generalization", make(ahead, ("perceptron",), ("averaged",))),
        (
            f"early stopping improves generalization (against {PASSES} passes)",
            make(stops, STOPPED),
        ),
        (
            "maxent without a penalty may overfit; an l2 penalty is better",
            make(ahead, ("maxent-free",), ("maxent-l2",)),
        ),
        ("an l1 penalty pushes many weights to 0, an l2 penalty does not", make(sparse)),
        (
            "the SVM has potentially the best accuracy",
            make(better, "svm", ("perceptron", "averaged", "maxent-l2", "maxent-l1")),
        ),
        (
            "all are better than the majority baseline",
            make(ahead, ("majority",), ("naive-bayes", *strong, "maxent-l1")),
        ),
        (
            "a weight of 0 does not mean that a feature is as frequent in either class (the "
            "question for discussion)",
            make(zero)
            if any(results.of[t, "perceptron"]["zero"] is not None for t in tasks)
            else None,
        ),
        (
            "more features are more flexible and overfit more (two newsgroups)",
            make(wide) if results.without else None,
        ),
    )
    return [settle(text, "no figures", measure) for text, measure in listed]


def _join(verdicts: set[str]) -> str:
    """The verdict on several parts of a claim."""
    return verdicts.pop() if len(verdicts) == 1 else IN_PART


def _all(ratios: Sequence[float], least: float) -> str:
    """Whether all ratios are above the least, or some."""
    above = np.array(ratios) > least
    return HOLDS if above.all() else IN_PART if above.any() else FAILS
