"""Does an audit find wrong labels? Flipped labels, against Cleanlab, and suspects to read.

Labels of eight data sets are flipped, at random or to the most similar class. sureline's audit, and
Cleanlab with scikit-learn's logistic regression on tf-idf and five folds, rank the texts by how
probably their labels are wrong. Writes ours.csv, suspects.md and the tables of README.md.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from experiments.defaults.texts import TASKS, Texts, make_texts, open_texts
from experiments.tables import fill_in, make_table
from experiments.tasks import MissingData
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from sureline.evaluation import Audit, audit

HERE = Path(__file__).resolve().parent
CHOOSING = (
    "baby",
    "camera",
    "mr",
    "comp",
    "talk",
    "ecml1",
    "reuters",
    "enron-beck-s",
    "enron-lokay-m",
)
CHOSEN = ("sms", "electronics", "video", "imdb", "sci", "enron-a", "amazon7", "20news")
MOST = {"amazon7": 5000, "20news": 4000}  # texts, at random: the comparison would take long
SHARES = (0.05, 0.1, 0.2)
KINDS = {"uniform": "at random", "similar": "to similar classes"}
FOLDS = 5
SEED, CHOOSING_SEED = 11, 7
SHOWN, EXCERPT = 20, 90
BINS = 10
Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


class Result(NamedTuple):
    """What a method found in one data set with flipped labels."""

    task: str
    kind: str
    share: float
    method: str
    texts: int
    classes: int
    precision: float
    average_precision: float
    seconds: float
    estimated: float  # the share of wrong labels that the method reports
    calibration_error: float


# -- data --------------------------------------------------------------------------------------


def open_whole(name: str, folder: str | None) -> Texts:
    """All texts of a task, each once; of IMDb those for training."""
    train, test = open_texts(name, folder)
    if name == "imdb":
        return train
    text = pa.concat_arrays([train.text, test.text])
    every = Texts(text, np.concatenate([train.label, test.label]))
    order = np.random.default_rng(0).permutation(every.label.size)
    return every.take(order[: MOST.get(name, order.size)])


def most_similar(every: Texts) -> Codes:
    """For each class the other one whose mean text is most similar."""
    rows = TfidfVectorizer(sublinear_tf=True, max_features=50_000).fit_transform(
        every.text.to_pylist()
    )
    classes, codes = np.unique(every.label, return_inverse=True)
    means = np.stack(
        [np.asarray(rows[codes == k].mean(axis=0)).ravel() for k in range(len(classes))]
    )
    means -= means.mean(axis=0)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    similar = means @ means.T
    np.fill_diagonal(similar, -np.inf)
    return similar.argmax(axis=1)


def flip(codes: Codes, share: float, target: Codes | None, seed: Sequence[int]) -> Codes:
    """A share of labels as others: those of `target` by class, or any."""
    rng, classes = np.random.default_rng(seed), int(codes.max()) + 1
    at = rng.permutation(codes.size)[: round(share * codes.size)]
    flipped = codes.copy()
    shift = rng.integers(1, classes, at.size)
    flipped[at] = (codes[at] + shift) % classes if target is None else target[codes[at]]
    return flipped


# -- methods -----------------------------------------------------------------------------------


def by_sureline(texts: pa.LargeStringArray, labels: NDArray[Any]) -> Floats:
    """The probability that each label is wrong."""
    return audit(texts, labels).probability_wrong


def by_cleanlab(texts: pa.LargeStringArray, labels: NDArray[Any], ngrams: int = 1) -> Floats:
    """One less Cleanlab's label quality, which is the probability of the given label."""
    from cleanlab.rank import get_label_quality_scores

    codes = np.unique(labels, return_inverse=True)[1]
    rows = TfidfVectorizer(ngram_range=(1, ngrams)).fit_transform(texts.to_pylist())
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    model = LogisticRegression(max_iter=1000)
    chances = cross_val_predict(model, rows, codes, cv=folds, method="predict_proba")
    return 1.0 - get_label_quality_scores(codes, chances)


METHODS: dict[str, Callable[[pa.LargeStringArray, NDArray[Any]], Floats]] = {
    "sureline": by_sureline,
    "Cleanlab": by_cleanlab,
    "Cleanlab, pairs": partial(by_cleanlab, ngrams=2),
}
OURS, *RIVALS = METHODS
TWO_CLASSES = ("Cleanlab, pairs",)  # takes minutes where there are more


def calibration_error(chance: Floats, wrong: NDArray[np.bool_]) -> float:
    """The expected calibration error of probabilities to be wrong."""
    bins = np.minimum((BINS * chance).astype(int), BINS - 1)
    gaps = np.bincount(bins, chance - wrong, BINS)
    return float(np.abs(gaps).sum() / chance.size)


def compare(name: str, every: Texts, seed: int) -> list[Result]:
    """All methods on a task, with every kind and share of wrong labels."""
    classes, codes = np.unique(every.label, return_inverse=True)
    kinds = {"uniform": None}
    if classes.size > 2:  # two classes have one way to be wrong
        kinds["similar"] = most_similar(every)
    found = []
    for kind, target in kinds.items():
        for share in SHARES:
            flipped = flip(codes, share, target, [seed, round(100 * share)])
            wrong = flipped != codes
            for method, rank in METHODS.items():
                if method in TWO_CLASSES and classes.size > 2:
                    continue
                begun = process_time()
                chance = rank(every.text, classes[flipped])
                seconds = process_time() - begun
                first = np.argsort(-chance, kind="stable")[: int(wrong.sum())]
                result = Result(
                    name, kind, share, method, codes.size, classes.size,
                    float(wrong[first].mean()), float(average_precision_score(wrong, chance)),
                    seconds, float(chance.mean()), calibration_error(chance, wrong),
                )  # fmt: skip
                print(*result, flush=True)
                found.append(result)
    return found


# -- suspects to read --------------------------------------------------------------------------


def list_suspects(name: str, every: Texts) -> str:
    """The first suspects of a task as it comes, copies included, with excerpts."""
    found = audit(every.text, every.label)
    lines = [
        f"1. {100 * each.probability_wrong:.1f} %, row {each.row + 1}: {_plain(each.label)} → "
        f"**{_plain(each.suggested)}**, for {_plain(', '.join(each.words)) or 'no word'}: "
        f"{_plain(_excerpt(found, each.row))}"
        for each in found.suspects(0.0, SHOWN)
    ]
    return f"## {TASKS[name].title}\n\n{_describe(found)}\n\n" + "\n".join(lines) + "\n"


def _describe(found: Audit) -> str:
    same = "no text occurs twice"
    if found.duplicates:
        same = (
            f"**{found.duplicate_rows:,} exact duplicates** in {_groups(len(found.duplicates))}, "
            f"the largest of {max(len(each.rows) for each in found.duplicates)}"
        )
    pairs = "; ".join(
        f"{each.label} → {each.suggested} {each.wrong:.0f}" for each in found.pairs()[:5]
    )
    return (
        f"{found.labels.size:,} texts, {found.share_wrong:.1%} of the labels probably wrong"
        f"{f' ({pairs})' if pairs else ''}; {same}; {_groups(len(found.conflicts))} of equal "
        "or similar texts with different labels."
    )


def _groups(count: int) -> str:
    return "1 group" if count == 1 else f"{count:,} groups"


def _excerpt(found: Audit, row: int) -> str:
    text = " ".join(found.text(row).split())
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"


def _plain(text: Any) -> str:
    """Text that Markdown shows as it is."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>|#~$" else sign for sign in str(text))


# -- the page ----------------------------------------------------------------------------------


def mean(results: Sequence[Result], method: str, what: str) -> float:
    """The mean of a figure of a method; not a number where it was not run."""
    found = [getattr(each, what) for each in results if each.method == method]
    return float(np.mean(found)) if found else np.nan


def show(value: float, digits: int = 1) -> str:
    """A number, or a dash."""
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


FIGURES = ("precision", "average_precision")


def main_page(results: Sequence[Result]) -> str:
    """Precision, average precision and time by task, and their means."""
    tasks = list(dict.fromkeys(each.task for each in results))
    by_task = {name: [each for each in results if each.task == name] for name in tasks}
    rows = []
    for name, some in by_task.items():
        row = [TASKS[name].title, f"{some[0].texts:,}", f"{some[0].classes}"]
        for what in FIGURES:
            row += [show(100 * mean(some, method, what)) for method in METHODS]
        rows.append([*row, *(show(mean(some, method, "seconds"), 2) for method in METHODS)])
    two = [name for name, some in by_task.items() if some[0].classes == 2]
    for title, names in (("mean; total time", tasks), ("the same, two classes", two)):
        row = [title, "", ""]
        for what in FIGURES:
            for method in METHODS:
                values = [mean(by_task[name], method, what) for name in names]
                row.append(show(100 * float(np.mean(values))))
        chosen = [each for name in names for each in by_task[name]]
        counts = {m: sum(each.method == m for each in chosen) for m in METHODS}
        totals = {m: sum(each.seconds for each in chosen if each.method == m) for m in METHODS}
        complete = [m for m in METHODS if counts[m] == counts[OURS]]
        cells = [
            f"{totals[m]:.1f} ({totals[m] / totals[OURS]:.1f} ×)" if m in complete else "–"
            for m in METHODS
        ]
        rows.append([*row, *cells])
    head = ["", "texts", "classes", "precision", *RIVALS, "average precision", *RIVALS]
    return make_table([*head, "seconds", *RIVALS], rows)


def detail_page(results: Sequence[Result]) -> str:
    """The same by kind and share of wrong labels, and whether probabilities are right."""
    methods, rows = [method for method in METHODS if method not in TWO_CLASSES], []
    for kind, title in KINDS.items():
        for share in SHARES:
            some = [each for each in results if each.kind == kind and each.share == share]
            if not some:
                continue
            row = [f"{share:.0%} {title}"]
            for what in FIGURES:
                row += [show(100 * mean(some, method, what)) for method in methods]
            row.append(f"{mean(some, OURS, 'estimated'):.1%}")
            rows.append([*row, *(show(mean(some, m, "calibration_error"), 3) for m in methods)])
    head = ["wrong labels"]
    for what in ("precision", "average precision"):
        head += [what, *methods[1:]]
    return make_table([*head, "estimated", "calibration error", *methods[1:]], rows)


def calibration_page(results: Sequence[Result]) -> str:
    """The estimated share of wrong labels by task, and the calibration error."""
    rows = []
    for name in dict.fromkeys(each.task for each in results):
        some = [each for each in results if each.task == name and each.method == "sureline"]
        row = [TASKS[name].title]
        row += [f"{np.mean([e.estimated for e in some if e.share == s]):.1%}" for s in SHARES]
        rows.append([*row, f"{np.mean([e.calibration_error for e in some]):.3f}"])
    return make_table(
        ["", *(f"{share:.0%} flipped" for share in SHARES), "calibration error"], rows
    )


def main() -> None:
    """Compute all figures, or some tasks, and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", default=",".join(CHOSEN), help="names, with commas between them")
    parser.add_argument(
        "--choosing", action="store_true", help="print the tasks that settings were chosen on"
    )
    parser.add_argument("--data", default=None, help="the folder of data sets")
    arguments = parser.parse_args()
    names = CHOOSING if arguments.choosing else tuple(arguments.tasks.split(","))
    seed = CHOOSING_SEED if arguments.choosing else SEED
    results, lists = list[Result](), list[str]()
    with threadpool_limits(1):
        for name in names:
            try:
                every = open_whole(name, arguments.data)
            except MissingData as problem:
                print(problem)
                continue
            warm = np.random.default_rng(0).permutation(every.label.size)[:300]
            by_sureline(every.take(warm).text, every.label[warm])  # compiles
            results += compare(name, every, seed)
            if not arguments.choosing:
                lists.append(list_suspects(name, make_texts(name, arguments.data)[0]))
    pages = {"main": main_page(results), "detail": detail_page(results)}
    pages["calibration"] = calibration_page(results)
    if names != CHOSEN:
        print(*pages.values(), *lists, sep="\n\n")
        return
    with (HERE / "ours.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(Result._fields)
        out.writerows(results)
    title = "# The first suspects of each task as it comes\n\nRows are counted from 1.\n"
    (HERE / "suspects.md").write_text("\n".join([title, *lists]), encoding="utf-8")
    for part, content in pages.items():
        fill_in(HERE / "README.md", part, content)


if __name__ == "__main__":
    main()
