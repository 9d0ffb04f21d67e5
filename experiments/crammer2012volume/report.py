"""What the cells of the volume paper say: tables, figures and the verdict on every claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from experiments.cells import Cell, Record
from experiments.claims import (
    FAILS,
    HOLDS,
    IN_PART,
    SURE,
    Claim,
    Duel,
    Found,
    compare_rows,
    order,
    rank_test,
    settle,
    show_p,
    weigh,
)
from experiments.copies import show_both
from experiments.crammer2012volume.contest import (
    COPIED,
    FIXED_PASSES,
    NOISE,
    ON_DIGITS,
    ON_TEXT,
    TRIED,
)
from experiments.ends import Chosen
from experiments.figures import draw_bars, draw_pairs
from experiments.folds import COPIES, thin
from experiments.learners import show
from experiments.protocol import unpack
from experiments.tables import NONE, Figure, Figures, Key, make_table
from experiments.tasks import TASKS

BOXES, RIVALS = ("bow-m", "bow-s"), ("svm", "arow")
FIXED = ("svm-1", "arow-1")
TITLES = {name: one.title for name, one in (ON_TEXT | TRIED).items()} | {
    f"arow, passes {n}": f"AROW, {n} {'pass' if n == 1 else 'passes'}" for n in FIXED_PASSES
}


@dataclass(frozen=True)
class Results:
    """Records of texts by task and learner; of digits by task, draw, noise and learner.

    `copies` are those of texts with all rows.
    """

    texts: dict[tuple[str, str], Record]
    copies: dict[tuple[str, str], Record]
    digits: dict[tuple[str, int, float, str], Record]
    missing: tuple[str, ...]  # tasks without data

    @property
    def tasks(self) -> tuple[str, ...]:
        """The text tasks that every learner was judged on."""
        return tuple(dict.fromkeys(task for task, _ in self.texts))

    @property
    def draws(self) -> tuple[int, ...]:
        """The draws of the noise."""
        return tuple(dict.fromkeys(draw for _, draw, _, _ in self.digits))

    @property
    def pairs(self) -> tuple[str, ...]:
        """The pairs of digits."""
        return tuple(dict.fromkeys(task for task, *_ in self.digits))

    def means(self, noise: float, learner: str) -> list[float]:
        """The mean test error over pairs, in %, for each draw of the noise."""
        return [
            float(np.mean([self.digits[p, draw, noise, learner]["error"] for p in self.pairs]))
            for draw in self.draws
        ]

    def duel(self, noise: float, box: str, rival: str) -> tuple[float, float, float]:
        """On how many pairs the box is better, equal and worse: means over draws."""
        signs = [
            np.sign(
                self.digits[p, draw, noise, rival]["error"]
                - self.digits[p, draw, noise, box]["error"]
            )
            for p in self.pairs
            for draw in self.draws
        ]
        better, equal, worse = (signs.count(sign) / len(self.draws) for sign in (1, 0, -1))
        return better, equal, worse

    def duel_on_texts(self, box: str, rival: str) -> tuple[int, int, int]:
        """On how many text tasks the box is better, equal and worse."""
        signs = [
            np.sign(self.texts[t, rival]["error"] - self.texts[t, box]["error"]) for t in self.tasks
        ]
        return signs.count(1), signs.count(0), signs.count(-1)

    def sure_on_texts(self, box: str, rival: str) -> Duel:
        """On how many text tasks the box is significantly better, and worse."""
        return compare_rows(
            (unpack(self.texts[t, box]["right"]), unpack(self.texts[t, rival]["right"]))
            for t in self.tasks
        )

    def gaps(self, noise: float, box: str, rival: str) -> list[float]:
        """By how many points the box errs more, on every pair of digits and draw."""
        return [
            self.digits[p, draw, noise, box]["error"] - self.digits[p, draw, noise, rival]["error"]
            for p in self.pairs
            for draw in self.draws
        ]

    def list_choices(self, most: int) -> list[Chosen]:
        """What was chosen for every cell, from grids of so many settings at most, 0 for all."""
        learners = ON_TEXT | TRIED
        found = [
            (learners[name.partition(",")[0]], one)
            for (_, name), one in (*self.texts.items(), *self.copies.items())
        ]
        found += [(ON_DIGITS[name], one) for (*_, name), one in self.digits.items()]
        return [
            Chosen(
                replace(thin(learner, most), title=f"{learner.title}, {place}"),
                one["setting"],
                one["tuning"],
            )
            for (learner, one), place in zip(
                found,
                ["texts"] * (len(found) - len(self.digits)) + ["digits"] * len(self.digits),
                strict=True,
            )
        ]


def sort_out(found: Mapping[Cell, Record]) -> Results:
    """The records by what they are about."""
    texts, copies, digits, missing = {}, {}, {}, []
    for cell, record in found.items():
        if "missing" in record:
            missing.append(cell.task)
        elif cell.stage == "folds":
            texts[cell.task, cell.learner] = record
        elif cell.stage == COPIES:
            copies[cell.task, cell.learner] = record
        elif cell.stage.startswith("passes "):
            texts[cell.task, f"{cell.learner}, {cell.stage}"] = record
        else:
            draw = int(cell.stage.removeprefix("draw "))
            for run in record["runs"]:
                digits[cell.task, draw, run["noise"], cell.learner] = run
    return Results(texts, copies, digits, tuple(dict.fromkeys(missing)))


def title(task: str) -> str:
    """A task as the tables call it."""
    kind, _, _ = task.partition("/")
    return f"{TASKS[task].title}, sentiment" if kind == "sentiment" else TASKS[task].title


def level_name(noise: float) -> str:
    """A level of noise as the tables call it."""
    return f"{100 * noise:.0f} %"


# -- figures of the tables ---------------------------------------------------------------------


def list_figures(results: Results, parts: Sequence[str]) -> Figures:
    """What goes into ours.csv of these figures."""
    makers = {"figure1": _figures_of_texts, "figure2": _figures_of_digits}
    return {key: figure for part in parts for key, figure in makers[part](results)}


def _figures_of_texts(results: Results) -> Iterator[tuple[Key, Figure]]:
    for part, records in (("figure1", results.texts), ("figure1, copies", results.copies)):
        for (task, learner), record in records.items():
            key = (part, title(task), TITLES[learner])
            yield key, Figure(record["error"], note=_choice(record))
    for task in results.missing:
        if not task.startswith("usps/"):
            for one in ON_TEXT.values():
                note = f"not tested: {TASKS[task].differences or 'the data file is not at hand'}"
                yield ("figure1", title(task), one.title), Figure(None, note=note)


def _figures_of_digits(results: Results) -> Iterator[tuple[Key, Figure]]:
    for (task, draw, noise, learner), record in results.digits.items():
        place = f"USPS {title(task)}, {level_name(noise)} noise, draw {draw + 1}"
        key = ("figure2", place, ON_DIGITS[learner].title)
        yield key, Figure(record["error"], note=_choice(record))


def _choice(record: Record) -> str:
    """What was chosen for it, as a note."""
    chosen = [show(record["setting"])]
    if record["passes"]:
        chosen.append(f"{record['passes']} passes" if record["passes"] > 1 else "1 pass")
    return ", ".join(chosen)


# -- Markdown ----------------------------------------------------------------------------------


def table_texts(results: Results) -> str:
    """Errors of every text task, the lowest in bold, and their means."""
    rows = []
    for task in results.tasks:
        errors = [results.texts[task, name]["error"] for name in ON_TEXT]
        cells = [f"**{e:.2f}**" if e == min(errors) else f"{e:.2f}" for e in errors]
        rows.append((title(task), *cells))
    rows += [
        (f"{title(task)} ({TASKS[task].differences or 'not at hand'})", *[NONE] * len(ON_TEXT))
        for task in results.missing
        if not task.startswith("usps/")
    ]
    if results.tasks:
        means = [
            float(np.mean([results.texts[task, name]["error"] for task in results.tasks]))
            for name in ON_TEXT
        ]
        rows.append((f"mean of {len(results.tasks)}", *(f"{mean:.2f}" for mean in means)))
    return make_table(("error in %", *(one.title for one in ON_TEXT.values())), rows)


def table_text_duels(results: Results, paper: Figures) -> str:
    """Better, equal and worse on text; in brackets what is printed for 30 tasks."""
    rows = []
    rivals = [name for name in TITLES if name not in BOXES and name not in TRIED]
    for box, rival in product(BOXES, rivals):
        names = (TITLES[box], TITLES[rival])
        better, equal, worse = results.duel_on_texts(box, rival)
        sure = results.sure_on_texts(box, rival)
        printed = [
            paper.get(("figure1", "30 NLP tasks", f"{names[0]} {how} than {names[1]}"))
            for how in ("better", "worse")
        ]
        wins, losses = (f" ({each.value:.0f})" if each and each.value else "" for each in printed)
        rows.append(
            (
                f"{names[0]} against {names[1]}",
                f"{better}{wins}",
                f"{equal}",
                f"{worse}{losses}",
                f"{sure.better}",
                f"{sure.worse}",
            )
        )
    head = (
        f"of {len(results.tasks)} tasks (of 30, printed)",
        "better",
        "equal",
        "worse",
        "better, p < 0.05",
        "worse, p < 0.05",
    )
    return make_table(head, rows)


def table_tried(results: Results) -> str:
    """Mean errors on text of what the paper tried, and how it compares."""
    rows = []
    for name, one in TRIED.items():
        mean = np.mean([results.texts[task, name]["error"] for task in results.tasks])
        cells = []
        for other in ON_TEXT:
            better, equal, worse = results.duel_on_texts(name, other)
            sure = results.sure_on_texts(name, other)
            cells.append(f"{better} / {equal} / {worse} ({sure.better} / {sure.worse})")
        rows.append((one.title, f"{mean:.2f}", *cells))
    head = (
        f"better / equal / worse of {len(results.tasks)} tasks (significantly)",
        "mean error in %",
        *(f"against {one.title}" for one in ON_TEXT.values()),
    )
    return make_table(head, rows)


def table_copies(results: Results) -> str:
    """Errors with and without copies of rows."""
    tasks = {task: title(task) for task in COPIED if task in results.tasks}
    both = {key: (record, results.texts.get(key)) for key, record in results.copies.items()}
    return show_both(tasks, {n: one.title for n, one in ON_TEXT.items()}, both, "error")


def table_noise(results: Results, paper: Figures) -> str:
    """Mean errors by noise, with the deviation over draws; printed ones in brackets."""
    rows = []
    for name, one in ON_DIGITS.items():
        cells = []
        for noise in NOISE:
            means = results.means(noise, name)
            text = f"{np.mean(means):.2f}"
            if len(means) > 1:
                text += f" ± {np.std(means, ddof=1):.2f}"
            printed = paper.get(("figure2", f"USPS {100 * noise:.0f}%", one.title))
            cells.append(f"{text} ({printed.value:g})" if printed and printed.value else text)
        rows.append((one.title, *cells))
    head = ("mean test error in % (paper)", *(f"{level_name(n)} noise" for n in NOISE))
    return make_table(head, rows)


def table_noise_duels(results: Results) -> str:
    """Better, equal and worse on pairs of digits, by noise."""
    rows = [
        (
            f"{ON_DIGITS[box].title} against {ON_DIGITS[rival].title}",
            *(" / ".join(f"{n:g}" for n in results.duel(noise, box, rival)) for noise in NOISE),
        )
        for box, rival in product(BOXES, (*RIVALS, *FIXED))
    ]
    head = (
        f"better / equal / worse, of {len(results.pairs)} pairs",
        *(f"{level_name(n)} noise" for n in NOISE),
    )
    return make_table(head, rows)


def table_choices(results: Results) -> str:
    """The most frequent choice of every learner that has one."""
    rows = []
    for name, one in ON_DIGITS.items():
        if len(one.grid) > 1:
            cells = []
            for noise in NOISE:
                chosen = [
                    show(record["setting"])
                    for (_, _, level, learner), record in results.digits.items()
                    if learner == name and level == noise
                ]
                often = max(sorted(set(chosen)), key=chosen.count)
                cells.append(f"{often} ({100 * chosen.count(often) / len(chosen):.0f} %)")
            rows.append((one.title, *cells))
    return make_table(("most frequent choice", *(f"{level_name(n)} noise" for n in NOISE)), rows)


# -- claims ------------------------------------------------------------------------------------


def list_claims(results: Results) -> list[Claim]:
    """Every claim with its verdict; could not be tested, where its data is not at hand."""
    return [*_claims_of_texts(results), *_claims_of_digits(results)]


def _claims_of_texts(results: Results) -> Iterator[Claim]:
    """Figure 1."""
    n = len(results.tasks)

    def duel(box: str, rival: str, share: float) -> Found:
        better, equal, worse = results.duel_on_texts(box, rival)
        sure = results.sure_on_texts(box, rival)
        return (
            f"better on {better} of {n}, equal on {equal}, worse on {worse}; {sure}",
            weigh(better, n, share, sure.ahead),
        )

    def boxes() -> Found:
        return duel("bow-m", "bow-s", 0.5)

    def worse(name: str, rivals: tuple[str, ...]) -> Found:
        """Worse than each rival on most tasks, and over all of them."""
        said, verdicts = [], set()
        for rival in rivals:
            _, _, behind = results.duel_on_texts(name, rival)
            sure = results.sure_on_texts(name, rival)
            mine, theirs = (
                np.array([results.texts[task, one]["error"] for task in results.tasks])
                for one in (name, rival)
            )
            p = rank_test(mine - theirs)
            said.append(
                f"worse than {ON_TEXT[rival].title} on {behind} of {n}, {sure}; {show_p(p)}"
            )
            verdicts.add(weigh(behind, n, 0.5, sure.worse > sure.better and p < SURE))
        verdict = HOLDS if verdicts == {HOLDS} else FAILS if verdicts == {FAILS} else IN_PART
        return "; ".join(said), verdict

    for box, rival, wins, losses in (
        ("bow-m", "svm", 26, "at most 3"),
        ("bow-s", "svm", 26, "at most 3"),
        ("bow-m", "arow", 20, "9"),
        ("bow-s", "arow", 19, "12"),
    ):
        yield settle(
            f"on text {ON_TEXT[box].title} errs less than {ON_TEXT[rival].title} on most tasks",
            f"better on {wins} of 30, worse on {losses}",
            partial(duel, box, rival, wins / 30) if n else None,
        )
    yield settle(
        "on text BoW-M errs less than BoW-S, in general",
        NONE,
        boxes if n else None,
    )
    for name, claim, rivals in (
        ("bow-m-huber", "BoW-M is slightly worse with the Huber loss", ("bow-m",)),
        ("bow-s-huber", "BoW-S is slightly worse with the Huber loss", ("bow-s",)),
        (
            "adagrad",
            "AdaGrad does not work as well (here AdaGrad of a single vector, against the boxes)",
            BOXES,
        ),
        ("maxent", "maxent is worse than SVM and AROW", RIVALS),
        ("sgd", "SGD on the Huber loss is worse than SVM and AROW", RIVALS),
    ):
        yield settle(f"on text {claim}", "no figures", partial(worse, name, rivals) if n else None)


def _claims_of_digits(results: Results) -> Iterator[Claim]:
    """Figure 2."""
    n, loud = len(results.pairs), NOISE[-1]

    def mean(name: str, noise: float) -> float:
        return float(np.mean(results.means(noise, name)))

    def quiet() -> Found:
        found = {name: mean(name, 0.0) for name in ("svm", "arow", "bow-s", "bow-m")}
        shown = (f"{ON_DIGITS[name].title} {value:.2f}" for name, value in found.items())
        if found["svm"] > min(found.values()):
            return ", ".join(shown), FAILS
        chances = {
            name: rank_test(results.gaps(0.0, "svm", name)) for name in found if name != "svm"
        }
        tested = ", ".join(f"{ON_DIGITS[name].title} {show_p(p)}" for name, p in chances.items())
        sure = max(chances.values()) < SURE
        return f"{', '.join(shown)}; against {tested}", HOLDS if sure else IN_PART

    def noisy(rival: str) -> Found:
        """Half the error or less holds; less, or half of what an untuned rival has, in part."""
        box, chosen, given = (mean(name, loud) for name in ("bow-s", rival, f"{rival}-1"))
        p = rank_test(results.gaps(loud, "bow-s", rival))
        fixed = ON_DIGITS[f"{rival}-1"].title.partition(", ")[2]
        part = IN_PART if box < chosen or 2 * box <= given else FAILS
        return (
            f"{box:.2f} (BoW-M {mean('bow-m', loud):.2f}) against {chosen:.2f}, {show_p(p)}; with "
            f"{fixed}, not chosen, {given:.2f}",
            HOLDS if 2 * box <= chosen else part,
        )

    def duel(box: str, rival: str, share: float) -> Found:
        better, equal, worse = results.duel(loud, box, rival)
        fixed, (wins, *_) = ON_DIGITS[f"{rival}-1"].title, results.duel(loud, box, f"{rival}-1")
        p = rank_test(results.gaps(loud, box, rival))
        return (
            f"{better:g} of {n}, equal on {equal:g}, worse on {worse:g}, {show_p(p)}; against "
            f"{fixed}, not chosen, {wins:g}",
            weigh(better, n, share, p < SURE and better > worse),
        )

    def boxes() -> Found:
        total = float(np.mean([mean("bow-s", noise) for noise in NOISE]))
        largest = float(np.mean([mean("bow-m", noise) for noise in NOISE]))
        by_pair = [
            [
                float(np.mean([results.digits[pair, draw, noise, box]["error"] for noise in NOISE]))
                for pair in results.pairs
                for draw in results.draws
            ]
            for box in ("bow-s", "bow-m")
        ]
        p = rank_test(np.subtract(*by_pair))
        return (
            f"{total:.2f} against {largest:.2f}, mean over the four levels; {show_p(p)}",
            order(*by_pair),
        )

    yield settle(
        "on USPS without noise SVM is best",
        "SVM 1.81, AROW 1.98, BoW-S 1.97",
        quiet if n else None,
    )
    for rival, printed in (("svm", "16.1"), ("arow", "14.8")):
        yield settle(
            f"with 30 % wrong labels BoW-S errs far less than {ON_DIGITS[rival].title}",
            f"6.1 against {printed}",
            partial(noisy, rival) if n else None,
        )
    for box, rival, wins in (
        ("bow-m", "svm", 27),
        ("bow-s", "svm", 38),
        ("bow-m", "arow", 27),
        ("bow-s", "arow", 40),
    ):
        names = (ON_DIGITS[box].title, ON_DIGITS[rival].title)
        yield settle(
            f"with 30 % wrong labels {names[0]} errs less than {names[1]} on most pairs",
            f"{wins} of 45",
            partial(duel, box, rival, wins / 45) if n else None,
        )
    yield settle(
        "on USPS BoW-S errs less than BoW-M, in general",
        NONE,
        boxes if n else None,
    )


# -- figures -----------------------------------------------------------------------------------


def draw_figure_1(path: Path, results: Results) -> None:
    """Errors of boxes against those of their rivals, one point per task."""
    panels = {}
    for rival, box in product(RIVALS, BOXES):
        points = {
            title(task): (results.texts[task, box]["error"], results.texts[task, rival]["error"])
            for task in results.tasks
        }
        panels[f"{ON_TEXT[rival].title} (up) against {ON_TEXT[box].title} (across)"] = points
    labels = ("error of the box, %", "error of its rival, %")
    draw_pairs(path, panels, *labels, numbered=False, logarithmic=True)


def draw_figure_2(path: Path, results: Results) -> None:
    """On how many pairs of digits who is better, by noise."""
    panels = {}
    for rival, box in product(RIVALS, BOXES):
        counts = [results.duel(noise, box, rival) for noise in NOISE]
        better, equal, worse = zip(*counts, strict=True)
        bars = {"box better": better, "rival better": worse, "equal": equal}
        panels[f"{ON_DIGITS[box].title} against {ON_DIGITS[rival].title}"] = bars
    label = f"pairs of digits, of {len(results.pairs)}"
    draw_bars(path, panels, list(map(level_name, NOISE)), "wrong labels", label, bottom=0.0)
