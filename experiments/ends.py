"""How often a chosen parameter lies at an end of its grid, and whether the end matters.

A choice at an end may be cut short: a value beyond might be better. It is not where an inner value
of the grid does as well on the validation rows. Every page shows this table for all its grids.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from experiments.learners import Learner, Setting, show
from experiments.tables import make_table


@dataclass(frozen=True)
class Chosen:
    """A learner, the setting that was chosen for it, and the lowest error of every setting."""

    learner: Learner
    setting: Setting
    tuning: list[float]


def show_ends(choices: Iterable[Chosen]) -> str:
    """A Markdown table of the choices at the ends of every grid that has several values."""
    groups: dict[tuple[str, str], list[Chosen]] = {}
    for one in choices:
        for name, values in list_values(one.learner).items():
            if len(values) > 1:
                groups.setdefault((one.learner.title, name), []).append(one)
    rows = []
    for (title, name), some in groups.items():
        values = list_values(some[0].learner)[name]
        cells = [f"{len(some)}"]
        for end in (values[0], values[-1]):
            here = [one for one in some if one.setting[name] == end]
            lost = sum(not is_matched(one, name) for one in here)
            cells.append(f"{len(here)}" + (f", {lost} of them strictly better" if lost else ""))
        ends = (show({name: value}).partition(" = ") for value in (values[0], values[-1]))
        (letter, _, low), (_, _, high) = ends
        rows.append((f"{title}: {letter} from {low} to {high}", *cells))
    return make_table(("grid", "choices", "at the lower end", "at the upper end"), rows)


def list_values(learner: Learner) -> dict[str, list[float]]:
    """The values of every parameter of a learner's grid, ascending."""
    return {name: sorted({setting[name] for setting in learner.grid}) for name in learner.grid[0]}


def is_matched(one: Chosen, name: str) -> bool:
    """Whether a setting whose parameter is not at an end does as well as the chosen one."""
    ends = list_values(one.learner)[name]
    best = one.tuning[one.learner.grid.index(one.setting)]
    return any(
        error <= best
        for setting, error in zip(one.learner.grid, one.tuning, strict=True)
        if setting[name] not in (ends[0], ends[-1])
    )
