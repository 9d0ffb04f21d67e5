"""Tables of several columns: TextClassifier(columns=...), a joined string, and ColumnTransformer.

A draw is a random four fifths of a table's rows to learn from; all learners get the same, and the
test rows stay the same. Writes ours.csv and what README.md and docs/tables.md say between their
markers. With --quick it writes to the cache and leaves these as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from experiments.cells import Cell, Record, Settings, read_arguments, run_cells, start
from experiments.columns.rows import TABLES, Table, open_table
from experiments.tables import Figure, Figures, fill_in, make_table, publish, write_figures
from numpy.typing import NDArray
from scipy.stats import ttest_1samp
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from sureline import TextClassifier, TextFeatures

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
DRAWS = 5
SHARE = 0.8
LEVEL = 0.05
PARTS = ("columns",)
OURS, ONE_PASS, JOINED = "columns=", "columns=, 1 pass", "joined string"
FEATURES, TFIDF = "TextFeatures, LinearSVC", "TfidfVectorizer, LinearSVC"
OTHERS = (JOINED, FEATURES, TFIDF)
Found = Mapping[Cell, Record]
Rows = pd.DataFrame


def join(rows: Rows) -> list[str]:
    """Every row as one text."""
    return ["\n".join(map(str, each)) for each in rows.to_numpy()]


def transformer(kinds: Mapping[str, str], text: Callable[[], Any]) -> ColumnTransformer:
    """Every column by itself: words, one-hot categories, standardized numbers."""
    steps = list[tuple[str, Any, Any]]()
    for name, kind in kinds.items():
        if kind == "text":
            steps.append((name, text(), name))
        elif kind == "category":
            steps.append((name, OneHotEncoder(handle_unknown="ignore"), [name]))
        else:
            scaled = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
            steps.append((name, scaled, [name]))
    return ColumnTransformer(steps)


def predict(learner: str, table: Table, train: Any, test: Any, seed: int) -> NDArray[Any]:
    """The labels of the test rows, learned from some others."""
    rows, labels = table.rows.iloc[train], table.labels[train]
    tested = table.rows.iloc[test]
    if learner == JOINED:
        model = TextClassifier(random_state=seed).fit(join(rows), labels)
        return np.asarray(model.predict(join(tested)))
    if learner in (OURS, ONE_PASS):
        passes: Any = 1 if learner == ONE_PASS else "auto"
        model = TextClassifier(columns=table.kinds, max_iter=passes, random_state=seed)
        return np.asarray(model.fit(rows, labels).predict(tested))
    days = table.rows.select_dtypes("datetime").columns
    rows, tested = (
        each.assign(**{day: (each[day] - pd.Timestamp(0)).dt.days for day in days})
        for each in (rows, tested)
    )

    def words() -> Any:
        if learner == FEATURES:
            return TextFeatures(weighting="idf")
        return TfidfVectorizer(ngram_range=(1, 2))

    model = make_pipeline(transformer(table.kinds, words), LinearSVC(random_state=seed))
    return np.asarray(model.fit(rows, labels).predict(tested))


def work(cell: Cell, settings: Settings) -> Record:
    """Which test rows a learner is right about."""
    table, draw = open_table(cell.task, settings.get("data")), int(cell.stage)
    train, test = table.split()
    drawn = np.random.RandomState(1 + draw).permutation(train)[: int(SHARE * len(train))]
    right = predict(cell.learner, table, drawn, test, draw) == table.labels[test]
    return {
        "right": 100.0 * float(right.mean()),
        "each": "".join("01"[int(one)] for one in right),
        "learned": int(drawn.size),
        "tested": int(test.size),
    }


def marks(found: Found, task: str, learner: str) -> NDArray[np.float64]:
    """By draw and test row, whether a learner is right."""
    several = [
        [each == "1" for each in str(record["each"])]
        for cell, record in found.items()
        if (cell.task, cell.learner) == (task, learner) and "each" in record
    ]
    return np.array(several, float)


def p_value(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> float:
    """How probable so large a difference is by chance: a paired t-test over the test rows."""
    apart = (ours - theirs).mean(axis=0)
    return float(ttest_1samp(apart, 0.0).pvalue) if apart.any() else 1.0


def table_columns(found: Found) -> str:
    """Mean accuracy by table and learner, and whether the first differs from each other."""
    rows = []
    for task in TABLES:
        ours = marks(found, task, OURS)
        if not ours.size:
            continue
        record = next(iter(r for c, r in found.items() if c.task == task))
        cells = [f"{100.0 * ours.mean():.1f}", f"{100.0 * marks(found, task, ONE_PASS).mean():.1f}"]
        for name in OTHERS:
            theirs = marks(found, task, name)
            p = p_value(ours, theirs)
            sign = "" if p >= LEVEL else " ▾" if theirs.mean() < ours.mean() else " ▴"
            cells.append(f"{100.0 * theirs.mean():.1f}{sign}")
        rows.append((task, f"{record['learned']:,}", f"{record['tested']:,}", *cells))
    head = ("accuracy in %", "learned", "tested", OURS, ONE_PASS, *OTHERS)
    return make_table(head, rows)


def list_figures(found: Found) -> Figures:
    """The accuracy of every run."""
    return {
        (f"{cell.task}, draw {cell.stage}", cell.learner, "right"): Figure(float(record["right"]))
        for cell, record in found.items()
        if "right" in record
    }


def main() -> None:
    """Run what is left, then write the results."""
    options = read_arguments(__doc__, HERE, PARTS)
    settings: dict[str, Any] = {"data": options.data and str(options.data)}
    draws = 2 if options.quick else DRAWS
    learners = (OURS, ONE_PASS, *OTHERS)
    cells = [Cell(task, name, str(k)) for task in TABLES for name in learners for k in range(draws)]
    found = run_cells(cells, work, options.results, settings, options.jobs)
    missing = {record["missing"] for record in found.values() if "missing" in record}
    if missing:
        raise SystemExit(f"sureline: {'; '.join(sorted(map(str, missing)))}")
    texts = {"columns": table_columns(found)}
    write_figures(options.output / "ours.csv", list_figures(found), 4)
    publish(options.output, texts)
    if options.output == HERE:
        fill_in(DOCS / "tables.md", "columns", texts["columns"])
    print("\n\n".join(texts.values()))
    print(f"written to {options.output}", file=sys.stderr)


if __name__ == "__main__":
    start(main)
