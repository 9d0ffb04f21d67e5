"""How an explanation looks: words in colour on a terminal, between signs elsewhere."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sureline.cli.controls import show_label
from sureline.cli.explain.results import Piece, is_unsure
from sureline.cli.screen import grid, indented, listing

FOR, AGAINST, STRONG = "green", "red", "bold"
BAR = 12
STRONGEST = 0.5  # words with at least this share of the strongest are bold
WEAKEST = 0.1  # words with less than this share of the strongest are left unmarked


def render(results: dict[str, Any], coloured: bool) -> RenderableType:
    """The results for a screen."""
    parts: list[RenderableType] = [_head(results), ""]
    if any(piece.share for piece in results["pieces"]):
        parts += [_legend(results, coloured), indented(_text(results, coloured)), ""]
    parts.append(_features(results))
    return Group(*parts)


def _head(results: dict[str, Any]) -> RenderableType:
    table = grid()
    table.add_row(Text("label", STRONG), Text(show_label(results["label"]), STRONG))
    if results["label"] != results["predicted"]:
        table.add_row("predicted", Text(show_label(results["predicted"])))
    if results["probability"] is not None:
        table.add_row("probability", f"{results['probability']:.1%}")
    spread = "" if results["deviation"] is None else f" ± {results['deviation']:.3f}"
    table.add_row("score", f"{_signed(results['score'])}{spread}")
    return table


def _legend(results: dict[str, Any], coloured: bool) -> Text:
    pieces = [
        _marked(Piece(f"for {show_label(results['label'])}", 1.0), coloured),
        _marked(Piece("against it", -1.0), coloured),
    ]
    if results["deviation"] is not None:
        unsure = Text("unsure", "dim") if coloured else Text("unsure?")
        pieces.append(unsure)
    return Text.assemble(("The text", STRONG), " (", Text(", ").join(pieces), ")")


def _text(results: dict[str, Any], coloured: bool) -> Text:
    strongest = max(abs(piece.share) for piece in results["pieces"])
    return Text.assemble(
        *(
            _marked(piece, coloured, abs(piece.share) >= STRONGEST * strongest)
            if abs(piece.share) >= WEAKEST * strongest
            else Text(piece.text)
            for piece in results["pieces"]
        )
    )


def _marked(piece: Piece, coloured: bool, strong: bool = True) -> Text:
    """A word with its direction, in bold if it weighs much, dim if the model is unsure of it."""
    if coloured:
        colour = FOR if piece.share > 0 else AGAINST
        how = "dim " if piece.unsure else "bold " if strong else ""
        return Text(piece.text, how + colour)
    sign = "*" if piece.share > 0 else "_"
    return Text(f"{sign}{piece.text}{sign}" + "?" * piece.unsure)


def _features(results: dict[str, Any]) -> RenderableType:
    table = listing()
    table.add_column("feature", overflow="fold")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("weight", no_wrap=True)
    longest = max((abs(each["share"]) for each in results["features"]), default=0.0)
    for each in results["features"]:
        table.add_row(
            Text(each["feature"]), _signed(each["share"]), _bar(each, longest), _weight(each)
        )
    table.add_row(Text("other features", "dim"), _signed(results["rest"]))
    table.add_row(Text("constant", "dim"), _signed(results["constant"]))
    table.add_row(Text("score", STRONG), Text(_signed(results["score"]), STRONG))
    return table


def _bar(each: dict[str, Any], longest: float) -> Text:
    """A bar as long as the share; light where the model is unsure of the weight."""
    length = round(BAR * abs(each["share"]) / longest) if longest else 0
    return Text(
        ("░" if is_unsure(each["weight"], each["deviation"]) else "█") * length,
        FOR if each["share"] > 0 else AGAINST,
    )


def _weight(each: dict[str, Any]) -> str:
    spread = "" if each["deviation"] is None else f" ± {each['deviation']:.3f}"
    return f"{_signed(each['weight'])}{spread}"


def _signed(number: float) -> str:
    """A number with its sign; adding 0 turns a negative zero into a positive one."""
    return f"{round(number, 3) + 0.0:+.3f}"
