"""Constants inside TextClassifier's default, each varied by itself on held-out training rows.

Which r, which weighting and which rule are candidates of the comparison in run.py. The constants
that r="auto", naive Bayes and the calibration are made with are varied here, on the same tasks,
held-out fifths, orders and levels of noise. No test split plays a part. Compiled code has constants
built in, so every variant runs in a process of its own, with compiled code of its own.

Writes constants.csv and what README.md says between its markers for constants. What has been run is
kept in the cache, and runs again when compiled loops or rules have changed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np
from experiments.cells import Cell, Record, Settings, read_arguments, run_cells, start
from experiments.defaults.contest import BINS, NOISE_TO_CHOOSE, ORDERS, candidate, find_default
from experiments.defaults.report import Floats, chance_error, mean_gap
from experiments.defaults.texts import CHOOSING, TASKS, VERSION, flip, hold_out, open_texts
from experiments.tables import NONE, Figure, Figures, make_table, publish, show_gap, write_figures
from experiments.tasks import MissingData

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "src" / "sureline"
PARTS = ("constants",)
PRESENT = "as it is"
KERNELS = "sureline.kernels."
QUICK_TASKS = ("sci", "sms")

Sums = Any  # an array of two sums, as r="auto" keeps them


@dataclass(frozen=True)
class Constant:
    """A constant of a module, what it is, and the values that it is given."""

    module: str
    name: str
    title: str
    values: tuple[float, ...]
    trust: bool = False  # whether it is about probabilities, not about labels

    @property
    def present(self) -> float:
        """Its value in the code."""
        return float(getattr(import_module(KERNELS + self.module), self.name))

    def variants(self) -> dict[str, float]:
        """Other values than the present one, by the name of the variant."""
        return {
            f"{self.module}.{self.name}={value:g}": value
            for value in self.values
            if value != self.present
        }


CONSTANTS = (
    Constant("noise", "FACTOR", "r auto: factor", (3.0, 4.0, 5.0, 6.0, 8.0, 12.0)),
    Constant("noise", "FIRST", "r auto: the share w it begins with", (0.05, 0.1, 0.25, 0.5)),
    Constant("noise", "WEIGHT", "r auto: what the beginning counts for", (0.3, 1.0, 3.0, 10.0)),
    Constant("noise", "FAR", "r auto: the largest score", (1.0, 2.0, 4.0)),
    Constant("informed_prior", "LEAST", "naive Bayes: β", (0.03, 0.1, 0.3)),
    Constant("informed_prior", "SPREAD_ROWS", "naive Bayes: α", (0.3, 1.0, 3.0)),
    Constant(
        "calibration", "MEMORY", "calibration: steps it remembers", (600.0, 2000.0, 6000.0), True
    ),
    Constant("calibration", "FIRM", "calibration: first precision", (1.0, 5.0, 20.0), True),
    Constant("calibration", "STEP", "calibration: longest step", (0.25, 0.5, 1.0), True),
)


# -- other formulas for r="auto" ---------------------------------------------------------------


def _mean_square(errors: Sums) -> float:
    return float(3.0 * (errors[0] + 3.0) / (errors[1] + 10.0))


def _add_square(errors: Sums, m: float) -> float:
    errors[0] += min(max(1.0 - m, 0.0), 2.0) ** 2
    errors[1] += 1.0
    return _mean_square(errors)


def _mistakes(errors: Sums) -> float:
    return float(8.0 * (errors[0] + 1.0) / (errors[1] + 10.0))


def _add_mistake(errors: Sums, m: float) -> float:
    errors[0] += 1.0 if m <= 0.0 else 0.0
    errors[1] += 1.0
    return _mistakes(errors)


def _add_both(errors: Sums, m: float) -> None:
    square = min(abs(m), 2.0) ** 2
    if m < 0.0:
        errors[0] += square
    errors[1] += square


def _whole_share(errors: Sums) -> float:
    return float(10.0 * (errors[0] + 0.25) / (errors[1] + 1.0))


def _add_whole(errors: Sums, m: float) -> float:
    _add_both(errors, m)
    return _whole_share(errors)


def _third_root(errors: Sums) -> float:
    return float(4.5 * ((errors[0] + 0.25) / (errors[1] + 1.0)) ** (1.0 / 3.0))


def _add_third(errors: Sums, m: float) -> float:
    _add_both(errors, m)
    return _third_root(errors)


def _root_of_sums(errors: Sums) -> float:
    return float(5.0 * sqrt((errors[0] + 0.25) / (errors[1] + 1.0)))


def _add_distance(errors: Sums, m: float) -> float:
    size = min(abs(m), 2.0)
    if m < 0.0:
        errors[0] += size
    errors[1] += size
    return _root_of_sums(errors)


@dataclass(frozen=True)
class Formula:
    """Another way from margins to r."""

    title: str
    r: Callable[[Sums], float]
    follow: Callable[[Sums, float], float]
    within: tuple[Callable[..., Any], ...] = ()


FORMULAS = {
    "mean-square": Formula("3 times the mean of (1 − m)² where m < 1", _mean_square, _add_square),
    "mistakes": Formula("8 times the share of mistakes", _mistakes, _add_mistake),
    "share": Formula("10 w", _whole_share, _add_whole, (_add_both,)),
    "third-root": Formula("4.5 times the third root of w", _third_root, _add_third, (_add_both,)),
    "distance": Formula("5 √w, with the size of m in place of m²", _root_of_sums, _add_distance),
}


# -- one variant, in a process of its own ------------------------------------------------------


def put_in(variant: str) -> None:
    """Make this process one of a variant; nothing may have been compiled in it."""
    if variant == PRESENT:
        return
    if variant in FORMULAS:
        from numba.extending import register_jitable

        formula, noise = FORMULAS[variant], import_module(KERNELS + "noise")
        for each in (*formula.within, formula.r, formula.follow):
            register_jitable(each)
        others = {noise.noise_of: formula.r, noise.follow_error: formula.follow}
        _load_all()
        for module in [one for name, one in sys.modules.items() if name.startswith("sureline.")]:
            for name in ("noise_of", "follow_error"):
                if getattr(module, name, None) in others:
                    setattr(module, name, others[getattr(module, name)])
        return
    for constant in CONSTANTS:
        if variant in constant.variants():
            module = import_module(KERNELS + constant.module)
            setattr(module, constant.name, constant.variants()[variant])
            return
    raise ValueError(f"there is no variant {variant!r}")


def _load_all() -> None:
    """Import whatever may have taken the functions of another module by name."""
    for path in (SOURCES / "kernels").glob("*.py"):
        if path.stem != "__init__":
            import_module(KERNELS + path.stem)
    import_module("sureline.model.learner")


def judge(variant: str, tasks: Sequence[str], folder: str | None) -> Record:
    """Errors in % by task, noise and order; without noise also log loss and calibration error."""
    from sureline.evaluation import calibration

    put_in(variant)
    one, found = candidate(find_default()), Record()
    for task in tasks:
        train, _ = open_texts(task, folder)
        for noise in NOISE_TO_CHOOSE:
            labels = flip(task, train.label, noise)
            for order in range(ORDERS):
                kept, held = hold_out(train, order)
                model = one.make(1, order, ngrams=TASKS[task].ngrams)
                model.fit(train.take(kept).text, labels[kept])
                judges = train.take(held)
                wrong = model.predict(judges.text) != judges.label
                record: Record = {"error": 100.0 * float(wrong.mean())}
                if not noise:
                    chances = model.predict_proba(judges.text)
                    result = calibration(chances, judges.label, model.classes_, bins=BINS)
                    record["log loss"] = result.log_loss
                    record["calibration error"] = result.expected_error
                    sure = [None if np.isnan(x) else float(x) for x in result.confidence]
                    record["by chance"] = chance_error(
                        {"counts": result.counts.tolist(), "confidence": sure}
                    )
                found[f"{task} {noise} {order}"] = record
    return found


def work(cell: Cell, settings: Settings) -> Record:
    """A variant's results, from a process that has compiled nothing yet."""
    given = {"variant": cell.learner, "tasks": settings["tasks"], "data": settings.get("data")}
    command = [sys.executable, "-m", "experiments.defaults.constants", "--alone"]
    with TemporaryDirectory() as compiled:
        done = subprocess.run(  # noqa: S603, ours
            [*command, json.dumps(given)],
            env={**os.environ, "NUMBA_CACHE_DIR": compiled},
            cwd=HERE.parents[1],
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{cell.learner} ended with {done.returncode}")
    result: Record = json.loads(done.stdout)
    if "missing" in result:
        raise MissingData(result["missing"])
    return result


# -- what they say -----------------------------------------------------------------------------


def gather(record: Record, tasks: Sequence[str], noise: Sequence[int], what: str) -> Floats:
    """One kind of figure, by task, noise and order."""
    return np.array(
        [
            [
                [record[f"{task} {level} {order}"][what] for order in range(ORDERS)]
                for level in noise
            ]
            for task in tasks
        ]
    )


def table_labels(found: Mapping[str, Record], tasks: Sequence[str]) -> str:
    """Validation errors of every variant that changes labels."""
    errors = {name: gather(one, tasks, NOISE_TO_CHOOSE, "error") for name, one in found.items()}
    rows = []

    def add(title: str, value: str, name: str) -> None:
        mine = errors[name]
        gap, spread = mean_gap(mine, errors[PRESENT])
        against = NONE if name == PRESENT else f"{show_gap(gap)} ± {spread:.2f}"
        by_level = [f"{x:.2f}" for x in mine.mean(axis=(0, 2))]
        rows.append((title, value, f"{mine.mean():.2f}", against, *by_level))

    for constant in CONSTANTS:
        if constant.trust:
            continue
        names = {value: name for name, value in constant.variants().items()}
        for value in constant.values:
            here = value == constant.present
            add(
                constant.title,
                f"**{value:g}**" if here else f"{value:g}",
                names.get(value, PRESENT),
            )
    add("r auto: formula", "**6 √w**", PRESENT)
    for name, formula in FORMULAS.items():
        add("r auto: formula", formula.title, name)
    noisy = [f"{level} % noise" for level in NOISE_TO_CHOOSE]
    return make_table(("validation error in %", "value", "mean", "against now", *noisy), rows)


def table_trust(found: Mapping[str, Record], tasks: Sequence[str]) -> str:
    """Log losses and calibration errors of every variant that changes probabilities."""
    kinds = ("log loss", "calibration error")
    figures = {
        name: [gather(one, tasks, (0,), what) for what in (*kinds, "by chance")]
        for name, one in found.items()
    }
    rows = []
    for constant in CONSTANTS:
        if not constant.trust:
            continue
        names = {value: name for name, value in constant.variants().items()}
        for value in constant.values:
            name = names.get(value, PRESENT)
            cells = []
            for mine, now in zip(figures[name][:2], figures[PRESENT][:2], strict=True):
                gap, spread = mean_gap(mine, now)
                cells.append(f"{mine.mean():.4f}")
                cells.append(NONE if name == PRESENT else f"{show_gap(gap, 4)} ± {spread:.4f}")
            shown = f"**{value:g}**" if name == PRESENT else f"{value:g}"
            rows.append((constant.title, shown, *cells, f"{figures[name][2].mean():.4f}"))
    head = ("", "value", "log loss", "against now", "calibration error", "against now", "by chance")
    return make_table(head, rows)


def list_figures(found: Mapping[str, Record]) -> Figures:
    """Every figure of every variant."""
    return {
        (f"{what}, noise {noise} order {order}", task, name): Figure(value)
        for name, record in found.items()
        for place, figures in record.items()
        if isinstance(figures, dict)
        for task, noise, order in [place.split(" ")]
        for what, value in figures.items()
    }


def fingerprint() -> int:
    """A number that changes with the code that variants are variants of."""
    paths = [*(SOURCES / "kernels").glob("*.py"), *(SOURCES / "rules").glob("*.py")]
    return crc32(b"".join(path.read_bytes() for path in sorted(paths)))


def main(given: list[str] | None = None) -> None:
    """Run the variants that are left, then write the results."""
    words = sys.argv[1:] if given is None else given
    if words[:1] == ["--alone"]:
        asked = json.loads(words[1])
        try:
            print(json.dumps(judge(asked["variant"], asked["tasks"], asked["data"])))
        except MissingData as error:
            print(json.dumps({"missing": str(error)}))
        return
    options = read_arguments(__doc__, HERE, PARTS, words, "constants")
    tasks: tuple[str, ...] = CHOOSING
    variants = [PRESENT, *(name for one in CONSTANTS for name in one.variants()), *FORMULAS]
    if options.quick:
        tasks = QUICK_TASKS
    settings = {"data": options.data and str(options.data), "tasks": tasks, "texts": VERSION}
    settings["code"] = fingerprint()
    cells = [Cell("choosing", name, "constants") for name in variants]
    records = run_cells(cells, work, options.results, settings, options.jobs)
    found = {cell.learner: record for cell, record in records.items()}
    missing = {record["missing"] for record in found.values() if "missing" in record}
    if missing:
        raise SystemExit(f"sureline: {'; '.join(sorted(missing))}")
    result = {"constants": f"{table_labels(found, tasks)}\n\n{table_trust(found, tasks)}"}
    write_figures(options.output / "constants.csv", list_figures(found), 5)
    publish(options.output, result)
    print("\n\n".join(result.values()))
    print(f"written to {options.output}", file=sys.stderr)


if __name__ == "__main__":
    start(main)
