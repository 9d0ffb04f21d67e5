"""How figures look: settings, names, legends, and files that are written whole."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sureline.data.atomic_write import atomic_write
from sureline.errors import InvalidParameter, SurelineError
from sureline.evaluation.report.text import clip, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, OURS, THEIRS, PALE = "#222222", "#1f5fbf", "#c96208", "#9db9e3"
COLOURS = ("#1f5fbf", "#c96208", "#2a7f62", "#7a3e9d", "#555555", "#b02a4c")
MARKERS = "osD^vPX<>"
STYLES = ("-", "--", "-.", ":")
FORMATS = ("png", "pdf", "svg")
NO_DATES = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
NAME_LENGTH = 32  # characters of a name on an axis


def series_style(k: int) -> dict[str, Any]:
    """The marker and colour of the k-th series; every second one has an open marker."""
    colour = COLOURS[k % len(COLOURS)]
    return {
        "color": colour,
        "marker": MARKERS[k % len(MARKERS)],
        "markerfacecolor": "white" if k % 2 else colour,
    }


def learner_style(baseline: bool) -> dict[str, Any]:
    """The marker and colour of a learner."""
    if baseline:
        return {"color": THEIRS, "marker": "s", "markerfacecolor": "none", "linestyle": "none"}
    return {"color": OURS, "marker": "o", "linestyle": "none"}


def legend_beside(axes: Axes) -> None:
    """A legend to the right of the axes, where it hides nothing."""
    handles, names = axes.get_legend_handles_labels()
    if len(handles) > 1:
        legend = axes.legend(
            handles, names, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False
        )
        show_plain(legend.get_texts())


def show_name(label: Any) -> str:
    """A label as a figure can show it; matplotlib would hide one that begins with an underscore."""
    text = clip(" ".join(visible(str(label)).split()), NAME_LENGTH)
    return f"\u200b{text}" if text.startswith("_") else text


def show_plain(texts: Iterable[Any]) -> None:
    """Draw texts as they are: a $ starts no formula."""
    for text in texts:
        text.set_parse_math(False)


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """An empty figure of so many inches, and settings that do not depend on the user's own."""
    try:
        import matplotlib as library
        from matplotlib.figure import Figure
    except ImportError:
        raise SurelineError(
            "figures need matplotlib, which is not installed; run: pip install 'sureline[plots]'"
        ) from None
    settings = {**library.rcParamsDefault, "svg.hashsalt": "sureline", "font.size": 10}
    settings |= {"axes.spines.top": False, "axes.spines.right": False}
    settings.pop("backend", None)
    with library.rc_context(settings):
        yield Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """The figure, saved if a path is given."""
    if path is None:
        return figure
    kind = Path(path).suffix[1:].lower()
    if kind not in FORMATS:
        raise InvalidParameter(
            f"the format of a figure is inferred from its name, but {os.fspath(path)!r} does not "
            "end in .png, .pdf or .svg"
        )
    content = io.BytesIO()
    with warnings.catch_warnings():
        # A letter that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(content, format=kind, dpi=200, metadata=NO_DATES[kind])
    with atomic_write(path) as file:
        file.write(content.getvalue())
    return figure
