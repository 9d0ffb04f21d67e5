"""Does the model know what it does not know? Texts with missing and unknown words, and sets.

Three questions, each on at least twelve tasks: are probabilities calibrated when only a part of a
text is left, or words are replaced by unknown ones; do sets of labels cover as often as asked; is
novelty what it says. Writes ours.csv and the tables of README.md.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from experiments.defaults.texts import TASKS, Texts, open_texts
from experiments.tasks import MissingData
from numpy.typing import NDArray

from sureline import TextClassifier
from sureline.evaluation import calibration
from sureline.kernels.calibration import LOG_TAU, NO_TAU, SCALED
from sureline.model import state

HERE = Path(__file__).resolve().parent
CHOSEN = (
    "sms", "books", "dvd", "electronics", "kitchen", "mr", "ecml0", "ecml1", "comp", "sci", "talk",
    "imdb", "reuters", "enron-a", "enron-b", "amazon7", "20news",
)  # fmt: skip
BY_DATE = ("comp", "sci", "talk", "20news", "reuters")  # the test texts are later ones
LEVELS = {
    "whole": (1.0, 0.0),
    "50 %": (0.5, 0.0),
    "20 %": (0.2, 0.0),
    "5 %": (0.05, 0.0),
    "0 %": (0.0, 0.0),
    "50 % unknown": (1.0, 0.5),
    "100 % unknown": (1.0, 1.0),
}
SEEDS = 3
DRAWS = 50  # how often the calibration error by chance is drawn
COVERAGES = (0.9, 0.95, 0.99)
HELD_OUT = 0.2
MOST_TESTED = 4000
KOREAN = ("안녕하세요", "오늘", "회의", "시간이", "바뀌었습니다", "내일", "점심", "같이", "먹어요")
WORD = re.compile(r"\w+")
Floats = NDArray[np.float64]
Figures = dict[tuple[str, str, str], float]  # part, task, what


# -- texts of which less is known --------------------------------------------------------------


def reduce(text: str, keep: float, replace: float, rng: np.random.Generator) -> str:
    """A random part of the words, of which a part is replaced by words that nobody knows."""
    words = [word for word in WORD.findall(text) if rng.random() < keep]
    letters = np.array(list("bcdfghjklmnpqrstvwxz"))
    return " ".join(
        "".join(rng.choice(letters, 10)) if rng.random() < replace else word for word in words
    )


@contextmanager
def without_knowledge() -> Iterator[None]:
    """Calibrate as before: by the score alone, and the slope of the first pass for all passes."""
    first = state.first_calibrator

    def blind(*arguments: Any) -> Floats:
        calibrator = first(*arguments)
        calibrator[LOG_TAU], calibrator[SCALED] = NO_TAU, 0.0
        return calibrator

    with mock.patch.object(state, "first_calibrator", blind):
        yield


def excess(probability: Floats, truth: NDArray[Any], classes: NDArray[Any], seed: int) -> Floats:
    """The expected calibration error, less what perfectly calibrated probabilities would show."""
    rng = np.random.default_rng(seed)
    found = calibration(probability, truth, classes).expected_error
    best, sure = probability.argmax(axis=1), probability.max(axis=1)
    by_chance = []
    for _ in range(DRAWS):
        right = rng.random(best.size) < sure
        other = (best + 1) % classes.size
        drawn = classes[np.where(right, best, other)]
        by_chance.append(calibration(probability, drawn, classes).expected_error)
    return np.array([found - np.mean(by_chance), found])


def judge_levels(name: str, train: Texts, test: Texts) -> Figures:
    """Calibration and accuracy at every level, now and before, mean of the seeds."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        reduced = {
            level: test.text.to_pylist()
            if level == "whole"
            else [reduce(text, *how, rng) for text in test.text.to_pylist()]
            for level, how in LEVELS.items()
        }
        model = TextClassifier(random_state=seed).fit(train.text, train.label)
        with without_knowledge():
            before = TextClassifier(random_state=seed).fit(train.text, train.label)
        for when, each in (("now", model), ("before", before)):
            for level, texts in reduced.items():
                probability = each.predict_proba(texts)
                truth = np.searchsorted(each.classes_, test.label)
                over, error = excess(probability, test.label, each.classes_, seed)
                chance = np.maximum(probability[np.arange(truth.size), truth], 1e-12)
                values = {
                    "excess": over,
                    "error": error,
                    "loss": float(-np.log(chance).mean()),
                    "accuracy": float(np.mean(each.predict(texts) == test.label)),
                }
                for what, value in values.items():
                    found.setdefault((f"{level}, {when}", name, what), []).append(value)
            shares = np.array([np.mean(train.label == label) for label in each.classes_])
            for text, part in (("", "empty"), (" ".join(KOREAN), "foreign")):
                off = float(np.abs(each.predict_proba([text])[0] - shares).max())
                found.setdefault((f"{part}, {when}", name, "off"), []).append(off)
            sure = min(shares.max() + 0.02, 1.0)
            foreign = [" ".join(rng.choice(KOREAN, 6)) for _ in range(100)]
            kept = np.mean([label is not None for label in each.predict(foreign, sure)])
            found.setdefault((f"foreign, {when}", name, "predicted"), []).append(float(kept))
    return {key: float(np.mean(values)) for key, values in found.items()}


# -- sets of labels ----------------------------------------------------------------------------


def judge_sets(name: str, train: Texts, test: Texts) -> Figures:
    """Coverage and size of sets, ours and crepes' from a held-out part, mean of the seeds."""
    from crepes import ConformalClassifier
    from crepes.extras import hinge

    found: dict[tuple[str, str, str], list[float]] = {}

    def add(part: str, what: str, value: float) -> None:
        found.setdefault((part, name, what), []).append(value)

    for seed in range(SEEDS):
        model = TextClassifier(random_state=seed).fit(train.text, train.label)
        order = np.random.default_rng(seed).permutation(train.label.size)
        held = order[: int(HELD_OUT * order.size)]
        rest, kept = train.take(order[held.size :]), train.take(held)
        part = TextClassifier(random_state=seed).fit(rest.text, rest.label)
        known = np.isin(kept.label, part.classes_)
        kept = kept.take(np.flatnonzero(known))
        conformal = ConformalClassifier()
        conformal.fit(hinge(part.predict_proba(kept.text), part.classes_, kept.label))
        alphas = hinge(part.predict_proba(test.text))
        for coverage in COVERAGES:
            for per_class in (False, True):
                sets = model.predict_set(test.text, coverage, per_class)
                title = f"sets {coverage:g}" + (", per class" if per_class else "")
                right = [label in labels for label, labels in zip(test.label, sets, strict=True)]
                add(title, "coverage", float(np.mean(right)))
                add(title, "size", float(np.mean([len(labels) for labels in sets])))
            theirs = conformal.predict_set(alphas, confidence=coverage).astype(bool)
            column = np.searchsorted(part.classes_, test.label)
            column = np.minimum(column, part.classes_.size - 1)
            inside = theirs[np.arange(column.size), column] & (part.classes_[column] == test.label)
            add(f"crepes {coverage:g}", "coverage", float(inside.mean()))
            add(f"crepes {coverage:g}", "size", float(theirs.sum(axis=1).mean()))
        novelty = np.array(
            [model.predict_one(text, details=True).novelty for text in test.text.to_pylist()]
        )
        add("novelty", "above 0.95", float(np.mean(novelty > 0.95)))
        add("novelty", "above 0.99", float(np.mean(novelty > 0.99)))
    return {key: float(np.mean(values)) for key, values in found.items()}


def judge_drift(train: Texts) -> Figures:
    """Coverage on a stream whose labels become noisier, in five parts of it, after the first."""
    rng = np.random.default_rng(0)
    train = train.take(rng.permutation(train.label.size))
    classes = np.unique(train.label)
    noise = rng.random(train.label.size) < np.linspace(0.0, 0.3, train.label.size)
    label = np.where(noise, rng.choice(classes, train.label.size), train.label)
    texts, model = train.text.to_pylist(), TextClassifier()
    step, found = 200, list[float]()
    for begin in range(0, label.size, step):
        part = slice(begin, begin + step)
        if begin >= label.size // 6:
            sets = model.predict_set(texts[part], 0.9)
            pairs = zip(label[part], sets, strict=True)
            found.append(float(np.mean([each in labels for each, labels in pairs])))
        model.partial_fit(texts[part], label[part])
    parts = np.array_split(np.array(found), 5)
    return {
        ("drift 0.9", f"part {k + 1}", "coverage"): float(p.mean()) for k, p in enumerate(parts)
    }


# -- the page ----------------------------------------------------------------------------------


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are right-aligned."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def levels_page(figures: Figures, tasks: Sequence[str]) -> str:
    """Calibration errors by task and level, and the means of now and before."""
    rows = []
    for name in tasks:
        over = [figures[f"{level}, now", name, "excess"] for level in LEVELS]
        rows.append(
            [
                TASKS[name].title,
                *(f"**{value:+.3f}**" if value > 0.03 else f"{value:+.3f}" for value in over),
                f"{figures['empty, now', name, 'off']:.3f}",
                f"{figures['foreign, now', name, 'predicted']:.2f}",
            ]
        )

    def mean(level: str, when: str, what: str) -> float:
        return float(np.mean([figures[f"{level}, {when}", name, what] for name in tasks]))

    head = ["calibration error less chance", *LEVELS, "empty, off", "foreign, labelled"]
    blank = ["", ""]
    for when in ("now", "before"):
        means = [f"{mean(level, when, 'excess'):+.3f}" for level in LEVELS]
        off = f"{mean('empty', when, 'off'):.3f}", f"{mean('foreign', when, 'predicted'):.2f}"
        rows.append([f"mean, {when}", *means, *off])
    shown: list[tuple[str, str, Callable[[float], str]]] = [
        ("log loss", "loss", lambda value: f"{value:.3f}"),
        ("accuracy", "accuracy", lambda value: f"{100 * value:.2f}"),
    ]
    for title, what, write in shown:
        for when in ("now", "before"):
            means = [write(mean(level, when, what)) for level in LEVELS]
            rows.append([f"{title}, {when}", *means, *blank])
    return table(head, rows)


def sets_page(figures: Figures, tasks: Sequence[str]) -> str:
    """Coverage and size of sets by task, ours and those with a held-out part."""
    head = ["coverage (labels per set)"]
    for coverage in COVERAGES:
        head += [f"{coverage:g}", f"{coverage:g}, per class", f"{coverage:g}, held out"]
    head += ["novelty above 0.95"]
    rows = []
    parts = [
        part
        for coverage in COVERAGES
        for part in (f"sets {coverage:g}", f"sets {coverage:g}, per class", f"crepes {coverage:g}")
    ]
    exchangeable = [name for name in tasks if name not in BY_DATE]
    for title, names in (
        *((TASKS[name].title, [name]) for name in tasks),
        ("mean, random split", exchangeable),
        ("mean, split by date", [name for name in tasks if name in BY_DATE]),
    ):
        if not names:
            continue

        def mean(part: str, what: str, names: Sequence[str] = names) -> float:
            return float(np.mean([figures[part, name, what] for name in names]))

        cells = [f"{mean(part, 'coverage'):.3f} ({mean(part, 'size'):.2f})" for part in parts]
        rows.append([title, *cells, f"{mean('novelty', 'above 0.95'):.3f}"])
    return table(head, rows)


def drift_page(figures: Figures) -> str:
    """Coverage by part of the stream."""
    found = {task: value for (part, task, _), value in figures.items() if part == "drift 0.9"}
    return table(["", *found], [["coverage", *(f"{value:.3f}" for value in found.values())]])


def write_page(figures: Figures, tasks: Sequence[str]) -> None:
    """Put the tables between their marks in README.md."""
    path = HERE / "README.md"
    page = path.read_text(encoding="utf-8")
    parts = {
        "levels": levels_page(figures, tasks),
        "sets": sets_page(figures, tasks),
        "drift": drift_page(figures),
    }
    for name, content in parts.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        before, rest = page.split(begin)
        page = before + begin + content + "\n" + end + rest.split(end)[1]
    path.write_text(page, encoding="utf-8")


def main() -> None:
    """Compute all figures, or some tasks, and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", default=",".join(CHOSEN), help="names, with commas between them")
    parser.add_argument("--data", default=None, help="the folder of data sets")
    arguments = parser.parse_args()
    figures: Figures = {}
    tasks = []
    for name in arguments.tasks.split(","):
        try:
            train, test = open_texts(name, arguments.data)
        except MissingData as problem:
            print(problem)
            continue
        chosen = np.random.default_rng(0).permutation(test.label.size)[:MOST_TESTED]
        test = test.take(chosen)
        figures |= judge_levels(name, train, test) | judge_sets(name, train, test)
        tasks.append(name)
        print(name, "done", flush=True)
    if "imdb" in tasks:
        figures |= judge_drift(open_texts("imdb", arguments.data)[0])
    if tasks == list(CHOSEN):
        with (HERE / "ours.csv").open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(("part", "task", "what", "figure"))
            out.writerows((*key, f"{value:.6f}") for key, value in figures.items())
        write_page(figures, tasks)
    else:
        print(levels_page(figures, tasks), sets_page(figures, tasks), sep="\n\n")


if __name__ == "__main__":
    main()
