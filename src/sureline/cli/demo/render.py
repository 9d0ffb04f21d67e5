"""How the demonstration's results look on a screen of 80 columns, in colour or in a pipe."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from sureline.cli.screen import grid, indented

SPAM, HAM, STRONG = "bold red", "bold green", "bold"
DIRECTIONS = (("spam", 1.0), ("ham", -1.0))
MARKED = 6
BAR = 12


def render(results: dict[str, Any], coloured: bool) -> RenderableType:
    """The results for a screen; without colour, words are marked by signs."""
    return Group(
        *_result(results),
        "",
        *_weights(results),
        "",
        *_explanation(results["explanation"], coloured),
        "",
        *_times(results),
        "",
        f"The model is {results['classifier']}.",
        f"More about its rule: sureline rules {results['rule']}",
    )


def _result(results: dict[str, Any]) -> list[RenderableType]:
    messages, spam = sum(results["labels"].values()), results["labels"]["spam"]
    seen = "once" if results["passes"] == 1 else f"{results['passes']} times"
    wrong = Text.assemble(
        (f"{results['errors']:,} ({results['errors'] / results['tested']:.1%})", STRONG),
        f"; always predicting “{results['majority']}” gets {results['majority_errors']:,} "
        f"({results['majority_errors'] / results['tested']:.1%}) wrong",
    )
    table = grid()
    table.add_row("learned from", f"{results['trained']:,} messages, each read {seen}")
    table.add_row("tested on", f"{results['tested']:,} other messages")
    table.add_row(Text("wrong", STRONG), wrong)
    table.add_row("spam caught", f"{results['spam_caught']:,} of {results['spam_tested']:,}")
    table.add_row("ham flagged", f"{results['ham_flagged']:,} of {results['ham_tested']:,}")
    title = f": {messages:,} real text messages, {spam:,} spam, the others “ham”"
    return [Text.assemble((results["data"], STRONG), title), indented(table)]


def _weights(results: dict[str, Any]) -> list[RenderableType]:
    longest = max(
        abs(w["weight"]) + w["deviation"] for w in (*results["for_spam"], *results["for_ham"])
    )
    table = grid()
    for _ in range(3):
        table.add_column()
    for column in (table.columns[0], table.columns[2]):
        column.no_wrap = True  # rather lose the bars
    head = Text("weight ± standard deviation", "dim", no_wrap=True, overflow="crop")
    table.add_row(Text("spam", SPAM), head, Text("ham", HAM), head)
    for spam, ham in zip(results["for_spam"], results["for_ham"], strict=True):
        table.add_row(*_weight(spam, longest, SPAM), *_weight(ham, longest, HAM))
    title = f": the strongest of {results['features']:,} words and pairs (░ uncertain)"
    return [Text.assemble(("What it learned", STRONG), title), indented(table)]


def _weight(weight: dict[str, Any], longest: float, style: str) -> tuple[str, Text]:
    """The name, then the numbers and a bar whose light end goes one deviation either way."""
    size = abs(weight["weight"])
    sure, most = (
        round(BAR * max(0.0, end) / longest)
        for end in (size - weight["deviation"], size + weight["deviation"])
    )
    numbers = f"{weight['weight']:+.2f} ± {weight['deviation']:.2f}  "
    bar = "█" * sure + "░" * (most - sure), style
    return weight["feature"], Text.assemble(numbers, bar, no_wrap=True, overflow="crop")


def _explanation(explained: dict[str, Any], coloured: bool) -> list[RenderableType]:
    pieces = explained["pieces"]
    strongest = sorted(range(len(pieces)), key=lambda k: -abs(pieces[k]["share"]))[:MARKED]
    message = Text.assemble(
        *(
            _marked(each, coloured) if k in strongest else each["text"]
            for k, each in enumerate(pieces)
        )
    )
    table = grid()
    longest = abs(pieces[strongest[0]]["share"])
    for piece in (pieces[k] for k in strongest):
        bar = Text("█" * round(BAR * abs(piece["share"]) / longest), _style(piece["share"]))
        table.add_row(piece["text"], f"{piece['share']:+.2f}", bar)
    others = sum(piece["share"] for k, piece in enumerate(pieces) if k not in strongest)
    table.add_row("all other words", f"{others:+.2f}")
    table.add_row("before reading", f"{explained['constant']:+.2f}")
    total = Text.assemble(
        f"± {explained['deviation']:.2f}; the probability of spam is ",
        (f"{explained['probability']:.1%}", SPAM),
    )
    table.add_row(Text("score", STRONG), Text(f"{explained['score']:+.2f}", STRONG), total)
    marks = [
        _marked({"text": f"for {label}", "share": sign}, coloured) for label, sign in DIRECTIONS
    ]
    title = Text.assemble(
        ("One test message explained", STRONG),
        f": {explained['label']}, and predicted {explained['prediction']} (",
        Text(", ").join(marks),
        ")",
    )
    return [title, indented(message), indented(table)]


def _marked(piece: dict[str, Any], coloured: bool) -> Text:
    """A text with its direction: by colour where there is one, else by a sign on either side."""
    if coloured:
        return Text(piece["text"], _style(piece["share"]))
    sign = "*" if piece["share"] > 0 else "_"
    return Text(f"{sign}{piece['text']}{sign}")


def _style(share: float) -> str:
    return SPAM if share > 0 else HAM


def _times(results: dict[str, Any]) -> list[RenderableType]:
    seconds, compiled = results["seconds"], results["functions_compiled"]
    loops = (
        f"compiling {compiled} functions, as the first run does; later ones load them"
        if compiled
        else "loading compiled functions; only the first run compiles them"
    )
    table = grid()
    table.columns[0].justify = "right"
    loading = "loading NumPy, scikit-learn, Numba and the messages"
    table.add_row(_duration(seconds["loading"]), loading)
    table.add_row(_duration(seconds["compiling"]), loops)
    learning = (
        f"finding words and pairs and learning, {_rate(results['trained'], seconds['learning'])}"
    )
    table.add_row(_duration(seconds["learning"]), learning)
    predicting = f"predicting, {_rate(results['tested'], seconds['predicting'])}"
    table.add_row(_duration(seconds["predicting"]), predicting)
    return [Text("How long it took", STRONG), indented(table)]


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.1f} ms"


def _rate(messages: int, seconds: float) -> str:
    """Messages per second, rounded to two digits."""
    return f"{float(f'{messages / seconds:.1e}'):,.0f} messages per second"
