"""20 Newsgroups, many classes: how many rivals an example needs, and how many passes.

Trains every learner pass by pass on the by-date training split of 20 Newsgroups and measures the
accuracy on the test split, averaged over several random orders. Parameters are chosen on a random
part of the training split. Prints Markdown and writes by_date.csv; by_date.md discusses both.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow.parquet
import scipy.sparse
from experiments.tasks import find_or_leave, keep_headers
from numpy.typing import NDArray
from scipy.stats import binomtest
from sklearn.feature_extraction.text import CountVectorizer

from sureline import AROWClassifier, CWClassifier, PAClassifier, PerceptronClassifier

HERE = Path(__file__).resolve().parent
FILE = "20news-bydate.parquet"
HEADERS = ("From:", "Subject:")

CONFIDENCE = {  # the deviation needs more than the variance to move a margin as far
    "variance": (0.8, 0.9, 0.99, 0.999, 0.9999),
    "stdev": (0.99, 0.999, 0.9999, 0.99999, 0.999999),
}
R = (1.0, 3.0, 10.0, 30.0, 100.0)
C = (0.0003, 0.001, 0.003, 0.01, 0.03)


@dataclass(frozen=True)
class Contestant:
    """A learner whose one parameter, if it has any, is chosen from a grid."""

    name: str
    make: Callable[..., Any]
    parameter: str = ""
    grid: tuple[float, ...] = ()
    most: int = 1_000  # passes, where more would take too long

    def passes(self, asked: list[int]) -> list[int]:
        """Those numbers of passes that this learner is trained for."""
        return [count for count in asked if count <= self.most] or asked[:1]

    def model(self, value: float | None) -> Any:
        """The learner with that value of its parameter."""
        return self.make() if value is None else self.make(**{self.parameter: value})

    @property
    def values(self) -> tuple[float | None, ...]:
        """The grid, or None alone where there is nothing to choose."""
        return self.grid or (None,)


def contestants() -> list[Contestant]:
    """All learners, in the order of the tables."""
    found = []
    for constraint in ("variance", "stdev"):
        for competitors, scheme, covariance in (
            (1, "sequential", "diagonal-kl"),
            (5, "sequential", "diagonal-kl"),
            (5, "parallel", "diagonal-kl"),
            (5, "exact", "diagonal-kl"),
            (5, "exact", "diagonal-exact"),
            ("all", "sequential", "diagonal-kl"),
            ("all", "parallel", "diagonal-kl"),
            ("all", "exact", "diagonal-kl"),
        ):
            slow = covariance == "diagonal-exact" or (competitors == "all" and scheme == "exact")
            if constraint == "stdev" and slow:
                continue
            most = 2 if scheme == "exact" else 5 if competitors == "all" else 1_000
            settings = {
                "constraint": constraint,
                "competitors": competitors,
                "scheme": scheme,
                "covariance": covariance,
            }
            name = f"CW {constraint} k={competitors}"
            name += f" {scheme}" if competitors != 1 else ""
            name += " (exact diagonal)" if covariance == "diagonal-exact" else ""
            make = part(CWClassifier, **settings)
            found.append(Contestant(name, make, "confidence", CONFIDENCE[constraint], most))
    found += [
        Contestant("AROW k=1", AROWClassifier, "r", R),
        Contestant("AROW k=5 sequential", part(AROWClassifier, competitors=5), "r", R),
        Contestant("PA-I k=1", PAClassifier, "C", C),
        Contestant("PA-I k=5 exact", part(PAClassifier, competitors=5, scheme="exact"), "C", C),
        Contestant("averaged perceptron", PerceptronClassifier),
    ]
    return found


def part(make: Callable[..., Any], **settings: Any) -> Callable[..., Any]:
    """The same class with some parameters set."""
    return lambda **others: make(**settings, **others)


@dataclass(frozen=True)
class Posts:
    """One split: binary bags of words and the groups they belong to."""

    X: scipy.sparse.csr_matrix
    y: NDArray[Any]


def load(path: Path) -> tuple[Posts, Posts]:
    """The training and the test split; the vocabulary is the training split's."""
    table = pyarrow.parquet.read_table(path, columns=["split", "group", "text"])
    split, group = (np.array(table[name].to_pylist()) for name in ("split", "group"))
    texts = np.array(
        [keep_headers(text, HEADERS) for text in table["text"].to_pylist()], dtype=object
    )
    words = CountVectorizer(binary=True, dtype=np.float32)
    train, test = split == "train", split == "test"
    return (
        Posts(words.fit_transform(texts[train]), group[train]),
        Posts(words.transform(texts[test]), group[test]),
    )


def passes_over(train: Posts, seed: int, count: int) -> Iterator[Posts]:
    """The rows in a new random order each pass, the same for every learner."""
    for turn in range(count):
        order = np.random.default_rng([seed, turn]).permutation(train.y.size)
        yield Posts(train.X[order], train.y[order])


def right(
    model: Any, train: Posts, judged: Posts, seed: int, passes: list[int], classes: NDArray[Any]
) -> tuple[dict[int, NDArray[np.bool_]], float]:
    """Which judged rows are right after so many passes, and the seconds a pass took at best."""
    found, times = {}, []
    for turn, rows in enumerate(passes_over(train, seed, max(passes)), start=1):
        start = perf_counter()
        model.partial_fit(rows.X, rows.y, classes=classes)
        times.append(perf_counter() - start)
        if turn in passes:
            found[turn] = model.predict(judged.X) == judged.y
    return found, min(times)


def tune(
    contestant: Contestant, train: Posts, passes: list[int]
) -> dict[int, dict[float | None, float]]:
    """The validation accuracy of every grid value, by number of passes."""
    rows = np.random.default_rng(20090806).permutation(train.y.size)
    held, kept = rows[: rows.size // 5], np.sort(rows[rows.size // 5 :])
    learned, judged = (Posts(train.X[some], train.y[some]) for some in (kept, held))
    found: dict[int, dict[float | None, float]] = {count: {} for count in passes}
    for value in contestant.values:
        marks, _ = right(contestant.model(value), learned, judged, 0, passes, np.unique(train.y))
        for count in passes:
            found[count][value] = float(marks[count].mean())
    return found


@dataclass(frozen=True)
class Result:
    """One learner after so many passes: what was chosen, and the test marks of every seed."""

    contestant: Contestant
    passes: int
    validation: dict[float | None, float]
    marks: NDArray[np.bool_]  # (seeds, test rows)
    seconds: float

    @property
    def chosen(self) -> float | None:
        """The first grid value of the highest validation accuracy."""
        return max(self.validation, key=self.validation.__getitem__)

    @property
    def accuracies(self) -> NDArray[np.float64]:
        """The test accuracy of every seed, in %."""
        return np.asarray(100.0 * self.marks.mean(axis=1))

    @property
    def spread(self) -> float:
        """The standard deviation over the seeds; 0 for a single one."""
        return float(self.accuracies.std(ddof=1)) if len(self.marks) > 1 else 0.0


def run(
    contestant: Contestant, train: Posts, test: Posts, seeds: int, passes: list[int]
) -> list[Result]:
    """Choose the parameter for each number of passes, then train with it on every seed's orders."""
    passes = contestant.passes(passes)
    judged = tune(contestant, train, passes)
    chosen = {count: max(judged[count], key=judged[count].__getitem__) for count in passes}
    marks: dict[int, list[NDArray[np.bool_]]] = {count: [] for count in passes}
    times = []
    for seed in range(1, seeds + 1):
        for value in dict.fromkeys(chosen.values()):
            asked = [count for count in passes if chosen[count] == value]
            model = contestant.model(value)
            found, time = right(model, train, test, seed, asked, np.unique(train.y))
            times.append(time)
            for count in asked:
                marks[count].append(found[count])
    return [
        Result(contestant, count, judged[count], np.array(marks[count]), min(times))
        for count in passes
    ]


def best_passes(results: list[Result]) -> Result:
    """The number of passes with the highest validation accuracy, the fewest of equals."""
    return max(results, key=lambda one: one.validation[one.chosen])


def show(value: float | None) -> str:
    """A grid value as the tables print it."""
    return "" if value is None else f"{value:.7g}"


def accuracy_table(results: list[list[Result]]) -> Iterator[str]:
    """Test accuracy by learner and number of passes."""
    counts = [one.passes for one in results[0]]
    heads = [f"{count} pass{'es' if count > 1 else ''}" for count in counts]
    yield f"| test accuracy in % | {' | '.join(heads)} | passes by validation | s per pass |"
    yield "|---" + "|---:" * (len(counts) + 2) + "|"
    for row in results:
        cells = [
            f"{one.accuracies.mean():.2f} ± {one.spread:.2f}"
            + (f" ({show(one.chosen)})" if one.contestant.grid else "")
            for one in row
        ]
        cells += [""] * (len(counts) - len(row))
        best = best_passes(row)
        cells += [f"{best.passes}: {best.accuracies.mean():.2f}", f"{row[0].seconds:.2f}"]
        yield f"| {row[0].contestant.name} | {' | '.join(cells)} |"


def comparison_table(results: list[list[Result]]) -> Iterator[str]:
    """The paper's comparisons, seed by seed, with McNemar's exact test in the median seed."""
    found = {row[0].contestant.name: row for row in results}
    pairs = []
    for constraint in ("variance", "stdev"):
        k1, k5 = f"CW {constraint} k=1", f"CW {constraint} k=5 sequential"
        pairs += [
            (found[k5][0], found[k1][0]),
            (found[k5][0], found[f"CW {constraint} k=all sequential"][0]),
            (found[k5][0], found["PA-I k=1"][0]),
            (found[k5][0], found["PA-I k=5 exact"][0]),
            (found[k1][-1], found[k1][0]),
            (found[k1][-1], found[k5][0]),
            (best_passes(found[k1]), best_passes(found[k5])),
            (best_passes(found[k1]), best_passes(found["PA-I k=1"])),
            (best_passes(found[k1]), best_passes(found["PA-I k=5 exact"])),
            (best_passes(found[k1]), best_passes(found["AROW k=1"])),
            (found[k5][0], found[f"CW {constraint} k=5 exact"][0]),
            (found[k5][0], found[f"CW {constraint} k=5 parallel"][0]),
        ]
    pairs.append((found["AROW k=5 sequential"][0], found["AROW k=1"][0]))
    pairs.append((found["PA-I k=5 exact"][0], found["PA-I k=1"][0]))
    yield "| first | second | first - second | seeds first wins | McNemar p |"
    yield "|---|---|---:|---:|---:|"
    for first, second in pairs:
        difference = first.accuracies - second.accuracies
        spread = difference.std(ddof=1) if difference.size > 1 else 0.0
        chances = [mcnemar(*marks) for marks in zip(first.marks, second.marks, strict=True)]
        names = (f"{one.contestant.name}, {one.passes} p." for one in (first, second))
        yield (
            f"| {' | '.join(names)} | {difference.mean():+.2f} ± {spread:.2f} "
            f"| {(difference > 0).sum()} of {difference.size} | {np.median(chances):.2g} |"
        )


def mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """The chance of so uneven a split of the rows that only one of the two gets right."""
    only = int((first & ~second).sum()), int((~first & second).sum())
    return float(binomtest(only[0], sum(only)).pvalue) if sum(only) else 1.0


def write(path: Path, results: list[list[Result]]) -> None:
    """All that the tables say, except times, so that the same seeds give the same file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(
            (
                "learner",
                "passes",
                "parameter",
                "chosen",
                "validation_accuracy_by_grid_value",
                "passes_chosen_by_validation",
                "test_accuracy_mean",
                "test_accuracy_std",
                "test_accuracy_by_seed",
            )
        )
        for row in results:
            for one in row:
                grid = (f"{show(v) or 'none'}:{100 * a:.2f}" for v, a in one.validation.items())
                out.writerow(
                    (
                        one.contestant.name,
                        one.passes,
                        one.contestant.parameter,
                        show(one.chosen),
                        " ".join(grid),
                        int(one is best_passes(row)),
                        f"{one.accuracies.mean():.3f}",
                        f"{one.spread:.3f}",
                        " ".join(f"{accuracy:.3f}" for accuracy in one.accuracies),
                    )
                )


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, help="folder of the data; else SURELINE_DATA, else ../shared/data"
    )
    parser.add_argument("--seeds", type=int, default=5, help="how many random orders")
    parser.add_argument("--passes", type=int, nargs="+", default=[1, 2, 5, 10])
    parser.add_argument("--jobs", type=int, default=2, help="learners trained side by side")
    parser.add_argument(
        "--output", type=Path, help="where to write; by_date.csv next to this file unless --quick"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a short look: one seed, 1 and 2 passes, two grid values, no file unless --output",
    )
    options = parser.parse_args()
    if min(options.seeds, options.jobs, *options.passes) < 1:
        parser.error("--seeds, --passes and --jobs must be at least 1")
    return options


def main() -> None:
    """Run everything, print the tables and write the results."""
    options = arguments()
    start = perf_counter()
    seeds, passes = options.seeds, sorted(set(options.passes))
    entered = contestants()
    if options.quick:
        seeds, passes = 1, [1, 2]
        entered = [Contestant(c.name, c.make, c.parameter, c.grid[1:3], c.most) for c in entered]
    train, test = load(find_or_leave(FILE, options.data))
    print(
        f"{train.y.size:,} posts to learn, {test.y.size:,} to test, {train.X.shape[1]:,} words, "
        f"{np.unique(train.y).size} groups",
        file=sys.stderr,
    )
    entered[0].model(None).partial_fit(train.X[:9], train.y[:9])  # compiled code is warm

    def enter(contestant: Contestant) -> list[Result]:
        found = run(contestant, train, test, seeds, passes)
        said = ", ".join(f"{one.passes}: {one.accuracies.mean():.2f}" for one in found)
        print(
            f"{perf_counter() - start:4.0f} s  {contestant.name}, accuracy after passes {said}",
            file=sys.stderr,
            flush=True,
        )
        return found

    with ThreadPoolExecutor(options.jobs) as pool:  # the loops release Python's lock
        results = list(pool.map(enter, entered))
    print("\n".join([*accuracy_table(results), "", *comparison_table(results)]))
    output = options.output or (None if options.quick else HERE / "by_date.csv")
    if output:
        write(output, results)
        print(f"written: {output}", file=sys.stderr)
    print(f"{perf_counter() - start:.0f} s in all", file=sys.stderr)


if __name__ == "__main__":
    main()
