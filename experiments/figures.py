"""The papers' kinds of figures: curves by pass, points against a diagonal, bars in groups.

Lines differ in dashes and markers and bars in hatching, so that all can be distinguished without
colour. Legends are outside the axes, where they hide nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
MARKERS = ("o", "s", "^", "D", "v", "x", "P", "*")
GREYS = ("0.15", "0.55", "0.8", "0.95", "0.35", "0.7")
HATCHES = ("", "///", "...", "xx", "\\\\\\", "++")
COLOURS = ("#1b3a5c", "#c4561e", "#3d8b57", "#8a5aa3", "#7a7a1e", "#444444")


def _plots() -> Any:
    """Matplotlib without a screen, or a sentence on how to get it."""
    try:
        import matplotlib
    except ImportError:
        raise SystemExit(
            "the figures need matplotlib: install it with pip install 'sureline[plots]'"
        ) from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plots

    return plots


def _finish(plots: Any, figure: Any, path: Path) -> None:
    """Write the figure; the same figures give the same bytes."""
    figure.savefig(path, dpi=110, metadata={"Software": None}, bbox_inches="tight")
    plots.close(figure)


def draw_curves(
    path: Path,
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    x: Sequence[float] | Mapping[str, Sequence[float]],
    x_label: str,
    y_label: str,
    columns: int = 3,
    marked: bool = True,
) -> None:
    """Panels of lines with one legend below.

    Parameters
    ----------
    path : Path
        The PNG file.
    panels : mapping of titles to mappings of line names to y values
        What to draw; a line name looks the same in every panel.
    x : sequence, or mapping of titles to sequences
        The x values, of all panels or of each.
    x_label, y_label : str
        The axes, with units.
    columns : int
        Panels in a row.
    marked : bool
        Whether every point has a marker.
    """
    plots = _plots()
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    size = (3.1 * columns + 0.6, 2.5 * rows + 0.7)
    figure, axes = plots.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    handles: dict[str, Any] = {}
    for ax, (title, lines) in zip(axes.flat, panels.items(), strict=False):
        across = x[title] if isinstance(x, Mapping) else x
        for name, values in lines.items():
            k = names.index(name)
            handles[name] = ax.plot(
                across[: len(values)],
                values,
                linestyle=DASHES[k % len(DASHES)],
                marker=MARKERS[k % len(MARKERS)] if marked else None,
                color=COLOURS[k % len(COLOURS)],
                markersize=3.5,
                linewidth=1.2,
            )[0]
        ax.set_title(title, fontsize=9)
        ax.tick_params(labelsize=8)
        ax.grid(alpha=0.25)
        if max(across) <= 12 and all(float(one).is_integer() for one in across):
            ax.set_xticks(list(across))
    for ax in list(axes.flat)[len(panels) :]:
        ax.set_visible(False)
    for k, ax in enumerate(list(axes.flat)[: len(panels)]):
        if k + columns >= len(panels):
            ax.set_xlabel(x_label, fontsize=9)
        if k % columns == 0:
            ax.set_ylabel(y_label, fontsize=9)
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="outside lower center",
        ncols=min(len(names), 2 * columns),
        fontsize=8,
        handlelength=3.5,
        frameon=False,
    )
    _finish(plots, figure, path)


def draw_pairs(
    path: Path,
    panels: Mapping[str, Mapping[str, tuple[float, float]]],
    x_label: str,
    y_label: str,
    numbered: bool = True,
    logarithmic: bool = False,
) -> None:
    """Panels of points, x against y, with the diagonal where both are equal.

    Parameters
    ----------
    path : Path
        The PNG file.
    panels : mapping of titles to mappings of point names to (x, y)
        What to draw.
    x_label, y_label : str
        The axes, with units.
    numbered : bool
        Whether points are numbered, with a list of their names next to the panels.
    logarithmic : bool
        Whether both axes are logarithmic; a panel with a value of 0 stays as it is.
    """
    plots = _plots()
    size = (3.6 * len(panels) + 0.4, 3.6)
    figure, axes = plots.subplots(1, len(panels), figsize=size, squeeze=False)
    names = list(dict.fromkeys(name for points in panels.values() for name in points))
    for ax, (title, points) in zip(axes.flat, panels.items(), strict=True):
        values = [value for point in points.values() for value in point]
        margin = 0.06 * (max(values) - min(values)) or 1.0
        limits = (min(values) - margin, max(values) + margin)
        if logarithmic and min(values) > 0:
            ax.set(xscale="log", yscale="log")
            limits = (min(values) / 1.3, max(values) * 1.3)
            ticks = [each for each in (0.5, 1, 2, 5, 10, 20, 50) if limits[0] < each < limits[1]]
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_ticks(ticks, [f"{each:g}" for each in ticks])
                axis.set_ticks([], minor=True)
        ax.plot(limits, limits, color="0.6", linewidth=1, zorder=1)
        ax.scatter(*zip(*points.values(), strict=True), s=16, color="0.1", zorder=2)
        if numbered:
            for name, point in points.items():
                ax.annotate(
                    str(names.index(name) + 1),
                    point,
                    xytext=(3, 3),
                    textcoords="offset points",
                    fontsize=7,
                )
        ax.set(xlim=limits, ylim=limits, aspect="equal")
        ax.set_title(title, fontsize=9)
        ax.set_xlabel(x_label, fontsize=9)
        ax.set_ylabel(y_label, fontsize=9)
        ax.tick_params(labelsize=8)
        ax.grid(alpha=0.25)
    figure.tight_layout()
    if numbered:
        listing = "\n".join(f"{k}  {name}" for k, name in enumerate(names, start=1))
        figure.text(1.0, 0.5, listing, fontsize=8, va="center")
    _finish(plots, figure, path)


def draw_bars(
    path: Path,
    panels: Mapping[str, Mapping[str, Sequence[float]]],
    groups: Sequence[str],
    x_label: str,
    y_label: str,
    lines: Mapping[str, Mapping[str, float]] | None = None,
    bottom: float | None = None,
) -> None:
    """Panels of bars in groups, and level lines across.

    Parameters
    ----------
    path : Path
        The PNG file.
    panels : mapping of titles to mappings of bar names to a value a group
        What to draw.
    groups : sequence of str
        The groups' names, along the x axis.
    x_label, y_label : str
        The axes, with units.
    lines : mapping of titles to mappings of line names to values, default=None
        Level lines of each panel.
    bottom : float, default=None
        Where the y axis begins; by default a little below the lowest value.
    """
    plots = _plots()
    lines = lines or {}
    size = (4.0 * len(panels) + 0.4, 3.3)
    figure, axes = plots.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained")
    handles: dict[str, Any] = {}
    for ax, (title, bars) in zip(axes.flat, panels.items(), strict=True):
        width = 0.8 / len(bars)
        levels = lines.get(title, {})
        for k, (name, values) in enumerate(bars.items()):
            across = [group - 0.4 + width * (k + 0.5) for group in range(len(groups))]
            handles[name] = ax.bar(
                across,
                values,
                width,
                color=GREYS[k % len(GREYS)],
                hatch=HATCHES[k % len(HATCHES)],
                edgecolor="black",
                linewidth=0.6,
            )
        for k, (name, value) in enumerate(levels.items()):
            dashes = DASHES[k % len(DASHES)]
            handles[name] = ax.axhline(value, linestyle=dashes, color=COLOURS[k], linewidth=1.4)
        known = [v for values in bars.values() for v in values] + list(levels.values())
        gap = 0.15 * (max(known) - min(known)) or 1.0
        ax.set_ylim(min(known) - gap if bottom is None else bottom, max(known) + gap)
        ax.set_xticks(range(len(groups)), groups, fontsize=8)
        ax.set_title(title, fontsize=9)
        ax.set_xlabel(x_label, fontsize=9)
        ax.set_ylabel(y_label, fontsize=9)
        ax.tick_params(labelsize=8)
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=min(len(handles), 3 * len(panels)),
        fontsize=8,
        handlelength=3.0,
        frameon=False,
    )
    _finish(plots, figure, path)
