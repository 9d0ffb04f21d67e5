"""What the large-scale experiment found: averages over its splits, tables, figures and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    decide,
    paired_test,
    show_p,
)
from experiments.combining import HOWS
from experiments.figures import draw_bars, draw_curves
from experiments.tables import NONE, Figure, Figures, make_table
from experiments.tasks import TASKS, at_hand

REVIEWS, STORIES = "imdb", "reuters/corporate"
LARGE = (REVIEWS, STORIES)
EQUAL = 0.25  # points; combinations that differ by more are not equivalent

Large = Mapping[str, Record]


def list_splits(quick: bool, data: Path | None) -> list[Cell]:
    """The cells of the experiment: four random splits of both tasks, or one of the smaller.

    A task whose data is not at hand has none.
    """
    tasks, count = ((STORIES,), 1) if quick else (LARGE, 4)
    at = [task for task in tasks if at_hand(task, data)]
    return [Cell(task, "", f"split {k}") for task in at for k in range(count)]


def choose_sizes(quick: bool, seed: int, data: Path | None) -> dict[str, object]:
    """The settings of those cells."""
    sizes: dict[str, object] = {
        "seed": seed,
        "test": 10_000,
        "tuning": 5_000,
        "parts": [10, 50, 100],
        "steps": 40,
        "grid": 0,
        "data": str(data) if data else None,
    }
    return sizes | ({"test": 2_000, "tuning": 2_000, "steps": 8, "grid": 3} if quick else {})


def average_splits(records: Mapping[Cell, Record]) -> dict[str, Record]:
    """The results of every task that is at hand, averaged over its splits."""
    found: dict[str, Record] = {}
    for task in LARGE:
        some = [r for cell, r in records.items() if cell.task == task and "missing" not in r]
        if not some:
            continue
        first = some[0]
        found[task] = {
            "rows": first["rows"],
            "features": first["features"],
            "tested": first["tested"],
            "splits": some,
            "single": {k: np.mean([r["single"][k] for r in some]) for k in first["single"]},
            "seconds": {k: np.mean([r["seconds"][k] for r in some]) for k in first["seconds"]},
            "parts": {
                n: {k: np.mean([r["parts"][n][k] for r in some]) for k in values}
                for n, values in first["parts"].items()
            },
            "curve": [
                (rows, np.mean([r["curve"][k][1] for r in some]))
                for k, (rows, _) in enumerate(first["curve"])
            ],
        }
    return found


def collect_combinations(part: str, large: Large) -> Figures:
    """Test accuracies in % of single models and combinations."""
    found: Figures = {}
    for task, one in large.items():
        for name, value in one["single"].items():
            found[part, task, f"single {name}"] = Figure(value)
        for n, values in one["parts"].items():
            for name, value in values.items():
                found[part, task, f"{name} of {n}"] = Figure(value)
    return found


def collect_stream(part: str, large: Large) -> Figures:
    """Test accuracies in % by training rows."""
    return {
        (part, task, f"after {rows}"): Figure(value)
        for task, one in large.items()
        for rows, value in one["curve"]
    }


def show_combinations(large: Large) -> str:
    """A Markdown table of single models and combinations."""
    rows = []
    for task, one in large.items():
        for n, values in one["parts"].items():
            cells = [f"{values[name]:.2f}" for name in ("average", *HOWS)]
            single = [f"{one['single'][name]:.2f}" for name in ("cw-var-kl", "pa")]
            rows.append((f"{TASKS[task].title}, n = {n}", *cells, *single))
    if not rows:
        return "The data is not at hand."
    head = ("test accuracy in %", "average", *HOWS, "single var KL", "single PA")
    return make_table(head, rows)


def show_sizes(large: Large) -> str:
    """A Markdown table of the tasks' sizes."""
    rows = [
        (
            TASKS[task].title,
            f"{one['rows']:,}",
            f"{one['tested']:,}",
            f"{one['features']:,}",
            f"{one['features'] / (one['rows'] + one['tested']):.1f}",
        )
        for task, one in large.items()
    ]
    return make_table(("", "training rows", "test rows", "features", "features per row"), rows)


def draw_combinations(path: Path, large: Large) -> None:
    """Single models as lines, combinations as bars."""
    panels, lines, groups = {}, {}, list[str]()
    for task, one in large.items():
        title = f"{TASKS[task].title} ({one['rows']:,} training rows)"
        groups = [f"n = {n}" for n in one["parts"]]
        names = ("average", *HOWS)
        panels[title] = {name: [v[name] for v in one["parts"].values()] for name in names}
        lines[title] = {
            "single var KL": one["single"]["cw-var-kl"],
            "single PA": one["single"]["pa"],
        }
    if panels:
        draw_bars(path, panels, groups, "number of parts", "test accuracy (%)", lines)


def draw_stream(path: Path, large: Large) -> None:
    """Test accuracy by training rows, one pass of var KL."""
    panels = {TASKS[t].title: {"var KL": [a for _, a in r["curve"]]} for t, r in large.items()}
    x = {TASKS[t].title: [rows for rows, _ in r["curve"]] for t, r in large.items()}
    if panels:
        draw_curves(
            path, panels, x, "training rows, one pass", "test accuracy (%)", columns=2, marked=False
        )


# -- claims ------------------------------------------------------------------------------------


def claim_combinations(large: Large) -> list[Claim]:
    """What both papers say of large data and of combining, tested on stand-ins."""
    return [
        claim_single(large, REVIEWS, "CW ahead of PA", lambda gap: gap > 0),
        claim_single(large, STORIES, "PA ahead of CW", lambda gap: gap < 0),
        claim_gains(large),
        claim_weights(large, REVIEWS, "weighted is better", lambda gap, p: gap > 0 and p < SURE),
        claim_weights(large, STORIES, "equivalent", lambda gap, p: abs(gap) < EQUAL and p >= SURE),
        claim_ten(large, REVIEWS, "above PA, below one CW model", lambda t, cw, pa: pa < t < cw),
        claim_ten(large, STORIES, "the best of all", lambda ten, cw, pa: ten > max(cw, pa)),
        claim_seconds(large),
    ]


def _say(task: str) -> str:
    """What the papers' data was, and what replaces it."""
    what = "one million reviews" if task == REVIEWS else "804,411 Reuters stories"
    return f"{what} (here {TASKS[task].title})"


def claim_single(large: Large, task: str, printed: str, agrees: Callable[[float], bool]) -> Claim:
    """Which of the single models is better."""
    claim = f"{_say(task)}: a single CW model against PA, one pass"
    if task not in large:
        return Claim(claim, printed, NONE, UNTESTED)
    one = large[task]["single"]
    gap = one["cw-var-kl"] - one["pa"]
    cw, pa = (
        [each["single"][name] for each in large[task]["splits"]] for name in ("cw-var-kl", "pa")
    )
    p = paired_test(cw, pa)
    ours = f"CW {one['cw-var-kl']:.2f} %, PA {one['pa']:.2f} % accuracy; {show_p(p)}"
    return Claim(claim, printed, ours, FAILS if not agrees(gap) else HOLDS if p < SURE else IN_PART)


def claim_gains(large: Large) -> Claim:
    """Whether combinations are better than the models that they are made of."""
    claim = "combining improves over the models of the parts"
    gains = [
        values[how] > values["average"]
        for one in large.values()
        for values in one["parts"].values()
        for how in ("uniform", "weighted")
    ]
    if not gains:
        return Claim(claim, "in every case", NONE, UNTESTED)
    verdict = HOLDS if all(gains) else IN_PART if sum(gains) > len(gains) / 2 else FAILS
    return Claim(claim, "in every case", f"in {sum(gains)} of {len(gains)} cases", verdict)


def claim_weights(
    large: Large, task: str, printed: str, agrees: Callable[[float, float], bool]
) -> Claim:
    """Whether weighting by confidence helps a combination."""
    claim = f"{_say(task)}: the weighted (KL) against the uniform combination"
    if task not in large:
        return Claim(claim, printed, NONE, UNTESTED)
    gaps = {n: v["weighted"] - v["uniform"] for n, v in large[task]["parts"].items()}
    chances = {
        n: paired_test(
            *(
                [r["parts"][n][how] for r in large[task]["splits"]]
                for how in ("weighted", "uniform")
            )
        )
        for n in gaps
    }
    listed = ", ".join(f"{gap:+.2f} (n = {n}, {show_p(chances[n])})" for n, gap in gaps.items())
    right = [agrees(gap, chances[n]) for n, gap in gaps.items()]
    verdict = HOLDS if all(right) else IN_PART if any(right) else FAILS
    return Claim(claim, printed, f"weighted − uniform, points: {listed}", verdict)


def claim_ten(
    large: Large, task: str, printed: str, agrees: Callable[[float, float, float], bool]
) -> Claim:
    """Where ten combined models stand."""
    claim = f"{_say(task)}: ten models combined by weight"
    if task not in large:
        return Claim(claim, printed, NONE, UNTESTED)
    one = large[task]
    ten, cw, pa = one["parts"]["10"]["weighted"], one["single"]["cw-var-kl"], one["single"]["pa"]
    ours = f"combined {ten:.2f} %, one CW model {cw:.2f} %, PA {pa:.2f} %"
    return Claim(claim, printed, ours, decide(agrees(ten, cw, pa)))


def claim_loss(large: Large) -> Claim:
    """What ten combined models lose on the reviews, also in training rows."""
    claim = f"{_say(REVIEWS)}: what ten combined models lose against one"
    printed = "1 %, as if 22 % of the data were used"
    if REVIEWS not in large:
        return Claim(claim, printed, NONE, UNTESTED)
    one = large[REVIEWS]
    ten, single = one["parts"]["10"]["weighted"], one["single"]["cw-var-kl"]
    rows = next((rows for rows, accuracy in one["curve"] if accuracy >= ten), one["rows"])
    share = 100 * rows / one["rows"]
    ours = f"{single - ten:.2f} points, as if {share:.0f} % were used"
    near = abs(single - ten - 1) < 0.5 and 10 < share < 40
    return Claim(claim, printed, ours, HOLDS if near else IN_PART if ten < single else FAILS)


def claim_seconds(large: Large) -> Claim:
    """Whether CW takes longer than PA."""
    claim = "on large data CW takes as long as PA"
    ratios = [one["seconds"]["cw-var-kl"] / one["seconds"]["pa"] for one in large.values()]
    if not ratios:
        return Claim(claim, "indistinguishable", NONE, UNTESTED)
    ours = " and ".join(f"{ratio:.1f}" for ratio in ratios) + " times as long"
    near = [0.8 < ratio < 1.25 for ratio in ratios]
    verdict = HOLDS if all(near) else IN_PART if max(ratios) < 2 else FAILS
    return Claim(claim, "indistinguishable", ours, verdict)
