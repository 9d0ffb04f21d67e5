"""Streams that change, and streams that do not: drift="auto", None, others and what was tried.

Every text is predicted, then learned. Writes ours.csv, streams.png and the tables of README.md and
docs/drift.md between their markers. With --quick it writes to the cache and leaves these as they
are.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from experiments.cells import Cell, Record, Settings, read_arguments, run_cells, start
from experiments.defaults.texts import TASKS, open_texts
from experiments.drift.learners import AUTO, BAYES, LEARNERS, MAIN, NONE, SKLEARN, TRIED
from experiments.drift.streams import ALTERNATING, MADE, REAL, STREAMS
from experiments.drift.synthetic import BEFORE, CLASSIFIERS, change, stationary
from experiments.figures import draw_curves
from experiments.tables import Figure, Figures, fill_in, make_table, publish, write_figures

from sureline import TextClassifier
from sureline.evaluation import progressive

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
PARTS = ("made", "tried", "real", "stationary", "flips", "alarms")
ORDERS = 10
COMPARED = (*ALTERNATING, "gradual, over 500", "recurring, every 480", "no change")
LOOKED_AT = (*ALTERNATING, "gradual, over 500", "no change")
FLIP, NEW = "the opposite", "new ones"
DRAWN = "every 500 of 2,900"
FADED = 50  # texts over which the drawn share is taken
Found = Mapping[Cell, Record]


# -- what is run -------------------------------------------------------------------------------


def list_cells(orders: int) -> list[Cell]:
    """All cells; those that take longest come first."""
    cells = []
    for name, tasks in ((BAYES, ALTERNATING), (SKLEARN, COMPARED)):
        cells += [Cell(each, name, f"{k}") for each in tasks for k in range(orders)]
    cells += [Cell("synthetic", name, "alarms") for name in CLASSIFIERS]
    for kind in (FLIP, NEW):
        cells += [Cell("synthetic", name, f"{kind} {k}") for name in CLASSIFIERS for k in range(3)]
    cells += [Cell(each, "", f"shuffled {k}") for each in TASKS for k in range(3)]
    for name in (AUTO, NONE):
        cells += [Cell(each, name, f"{k}") for each in MADE for k in range(orders)]
        cells += [Cell(each, name, "0") for each in REAL]
    for name in TRIED:
        cells += [Cell(each, name, f"{k}") for each in LOOKED_AT for k in range(orders)]
        cells += [Cell(each, name, "0") for each in REAL]
    return cells


def work(cell: Cell, settings: Settings) -> Record:
    """What a learner is right about, in a stream or in rows."""
    folder = settings.get("data")
    if cell.task == "synthetic":
        kind, _, seed = cell.stage.rpartition(" ")
        if not kind:
            return dict(stationary(cell.learner, 0))
        return dict(change(cell.learner, int(seed), kind == FLIP))
    if cell.stage.startswith("shuffled"):
        return shuffled(cell.task, int(cell.stage.split()[1]), folder)
    stream = STREAMS[cell.task](folder, int(cell.stage))
    predictions, alarms = LEARNERS[cell.learner](stream.texts, stream.labels)
    truth = stream.labels if stream.truth is None else stream.truth
    right = (predictions == truth)[stream.judged :]
    found: Record = {"right": 100.0 * float(right.mean()), "alarms": len(alarms)}
    if cell.task == DRAWN and cell.learner in MAIN:
        found["each"] = "".join("01"[int(one)] for one in right)
    return found


def shuffled(task: str, order: int, folder: str | None) -> Record:
    """A task in random order: progressive and test accuracy with and without watching."""
    train, test = open_texts(task, folder)
    rows = np.random.default_rng(order).permutation(train.label.size)
    part = train.take(rows)
    found: Record = {"rows": int(rows.size)}
    for title, drift in (("auto", "auto"), ("None", None)):
        result = progressive(TextClassifier(drift=drift), part.text, part.label)
        right = result.model.predict(test.text) == test.label
        found[f"progressive, {title}"] = 100.0 * (1.0 - result.error)
        found[f"test, {title}"] = 100.0 * float(np.mean(right))
        found[f"alarms, {title}"] = len(result.model.changes_)
    return found


# -- tables ------------------------------------------------------------------------------------


def values(found: Found, task: str, learner: str, what: str = "right") -> list[float]:
    """A figure of every order."""
    return [
        float(record[what])
        for cell, record in found.items()
        if (cell.task, cell.learner) == (task, learner) and what in record
    ]


def mean(found: Found, task: str, learner: str, what: str = "right") -> float:
    """The mean over the orders; NaN where there is none."""
    several = values(found, task, learner, what)
    return float(np.mean(several)) if several else float("nan")


def show(value: float) -> str:
    """A share of texts in %."""
    return "–" if np.isnan(value) else f"{value:.1f}"


def table_made(found: Found) -> str:
    """The streams that were made, by learner."""
    rows = []
    for task in MADE:
        shares = [mean(found, task, name) for name in MAIN]
        best = np.nanmax(shares)
        cells = [f"**{show(one)}**" if one == best else show(one) for one in shares]
        alarms = values(found, task, AUTO, "alarms")
        spread = np.std(values(found, task, AUTO), ddof=1) if len(alarms) > 1 else 0.0
        rows.append((task, *cells, f"{spread:.1f}", f"{np.mean(alarms):.1f}"))
    return make_table(("% right", *MAIN, "deviation of the first", "its alarms"), rows)


def table_tried(found: Found) -> str:
    """What was tried, by stream."""
    rows = []
    for name in (AUTO, NONE, *TRIED):
        real = [mean(found, task, name) for task in REAL]
        rows.append(
            (name, *(show(mean(found, task, name)) for task in LOOKED_AT), f"{np.mean(real):.2f}")
        )
    return make_table(("% right", *LOOKED_AT, "real streams"), rows)


def table_real(found: Found) -> str:
    """Real streams in the order of time."""
    rows = []
    for task in REAL:
        auto, none = mean(found, task, AUTO), mean(found, task, NONE)
        alarms = int(mean(found, task, AUTO, "alarms"))
        rows.append((task, f"{auto:.2f}", f"{none:.2f}", f"{auto - none:+.2f}", str(alarms)))
    means = [np.mean([mean(found, task, name) for task in REAL]) for name in (AUTO, NONE)]
    rows.append(("mean", f"{means[0]:.2f}", f"{means[1]:.2f}", f"{means[0] - means[1]:+.2f}", ""))
    return make_table(("% right", "auto", "None", "difference", "alarms"), rows)


def table_stationary(found: Found) -> str:
    """The tasks of the defaults in random order."""
    records = [record for cell, record in found.items() if cell.stage.startswith("shuffled")]
    tasks = {cell.task for cell in found if cell.stage.startswith("shuffled")}
    rows = []
    for kind in ("progressive", "test"):
        auto, none = (
            np.array([r[f"{kind}, {each}"] for r in records]) for each in ("auto", "None")
        )
        rows.append(
            (
                f"{kind} accuracy in %",
                f"{auto.mean():.3f}",
                f"{none.mean():.3f}",
                f"{(auto - none).mean():+.3f}",
                f"{(auto - none).min():+.2f}",
            )
        )
    alarms, texts = (sum(r[each] for r in records) for each in ("alarms, auto", "rows"))
    head = (f"{len(tasks)} tasks, {len(records)} streams", "auto", "None", "difference", "worst")
    return make_table(head, rows) + f"\n\n{int(alarms)} alarms in {int(texts):,} texts."


def table_flips(found: Found) -> str:
    """A change after a million rows."""
    rows = []
    for name, kind in product(CLASSIFIERS, (FLIP, NEW)):
        several = [r for c, r in found.items() if c.learner == name and c.stage.startswith(kind)]
        auto, none, fresh, waited = (
            float(np.mean([record[each] for record in several]))
            for each in ("auto", "None", "fresh", "rows")
        )
        share = f"{100.0 * auto / fresh:.1f} %"
        rows.append(
            (name, kind, f"{fresh:.1f}", f"{auto:.1f}", share, f"{none:.1f}", f"{waited:.0f}")
        )
    head = (
        f"accuracy in %, 5,000 rows after {BEFORE:,}",
        "labels",
        "fresh",
        "auto",
        "of a fresh one",
        "None",
        "rows to the alarm",
    )
    return make_table(head, rows)


def table_alarms(found: Found) -> str:
    """Alarms where nothing changes."""
    rows = []
    for name in CLASSIFIERS:
        record = found[Cell("synthetic", name, "alarms")]
        total = record["long"] + record["short"]
        rows.append(
            (
                name,
                f"{record['rows']:,.0f}",
                f"{record['long']:.0f}",
                f"{record['short']:.0f}",
                f"{1e-4 * record['rows']:,.0f}",
                f"{total / record['rows']:.1e}",
            )
        )
    head = ("", "rows", "alarms, one stream", "in 1,000 streams", "stated, at most", "rate")
    return make_table(head, rows)


def list_figures(found: Found) -> Figures:
    """Every figure of every run."""
    return {
        (f"{cell.task}, {cell.stage}", cell.learner or "TextClassifier", name): Figure(float(value))
        for cell, record in found.items()
        for name, value in record.items()
        if name not in ("each", "cpu", "warnings", "missing")
    }


def draw(found: Found, path: Path) -> None:
    """The share right of the last texts, mean of all orders, along one stream."""
    lines = dict[str, list[float]]()
    for name in MAIN:
        runs = [
            np.array([one == "1" for one in record["each"]], float)
            for cell, record in found.items()
            if (cell.task, cell.learner) == (DRAWN, name) and "each" in record
        ]
        if runs:
            share = np.mean(runs, axis=0)
            recent = np.convolve(share, np.ones(FADED) / FADED, mode="valid")[::10]
            lines[name] = [100.0 * float(value) for value in recent]
    count = max(map(len, lines.values()))
    across = [float(FADED + 10 * k) for k in range(count)]
    title = f"interest turned round {DRAWN} posts; % right of the last {FADED}"
    draw_curves(path, {title: lines}, across, "posts", "%", columns=1, marked=False)


def main() -> None:
    """Run what is left, then write the results."""
    options = read_arguments(__doc__, HERE, PARTS)
    settings: dict[str, Any] = {"data": options.data and str(options.data)}
    cells = list_cells(2 if options.quick else ORDERS)
    if options.quick:
        slow = (BAYES, SKLEARN)
        cells = [c for c in cells if c.learner not in slow and c.task != "synthetic"]
    found = run_cells(cells, work, options.results, settings, options.jobs)
    missing = {record["missing"] for record in found.values() if "missing" in record}
    if missing:
        raise SystemExit(f"sureline: {'; '.join(sorted(missing))}")
    texts = {"made": table_made(found), "tried": table_tried(found), "real": table_real(found)}
    texts["stationary"] = table_stationary(found)
    if not options.quick:
        texts |= {"flips": table_flips(found), "alarms": table_alarms(found)}
    write_figures(options.output / "ours.csv", list_figures(found), 4)
    draw(found, options.output / "streams.png")
    publish(options.output, texts)
    if options.output == HERE:
        shutil.copyfile(HERE / "streams.png", DOCS / "_static" / "drift-streams.png")
        for name in ("made", "real", "flips"):
            fill_in(DOCS / "drift.md", f"drift {name}", texts[name])
    print("\n\n".join(texts.values()))
    print(f"written to {options.output}", file=sys.stderr)


if __name__ == "__main__":
    start(main)
