"""How the demonstration's facts look on a screen of 80 columns, in colour or in a pipe."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from sureline.cli.demo.results import Explanation, Facts, Share, Weight
from sureline.cli.screen import grid, indented

SPAM, HAM, STRONG = "bold red", "bold green", "bold"
DIRECTIONS = (("spam", 1.0), ("ham", -1.0))
MARKED = 6
BAR = 12


def page(facts: Facts, coloured: bool) -> RenderableType:
    """The whole page; without colour, words are marked by signs."""
    return Group(
        *_result(facts),
        "",
        *_weights(facts),
        "",
        *_explanation(facts.explanation, coloured),
        "",
        *_times(facts),
        "",
        f"The model is {facts.classifier}.",
        f"More about its rule: sureline rules {facts.rule}",
    )


def _result(facts: Facts) -> list[RenderableType]:
    messages, spam = sum(facts.labels.values()), facts.labels["spam"]
    seen = "once" if facts.passes == 1 else f"{facts.passes} times"
    wrong = Text.assemble(
        (f"{facts.errors:,} ({facts.errors / facts.tested:.1%})", STRONG),
        f"; always answering “{facts.majority}” gets {facts.majority_errors:,} "
        f"({facts.majority_errors / facts.tested:.1%}) wrong",
    )
    table = grid()
    table.add_row("learned from", f"{facts.trained:,} messages, each read {seen}")
    table.add_row("tested on", f"{facts.tested:,} other messages")
    table.add_row(Text("wrong", STRONG), wrong)
    table.add_row("spam caught", f"{facts.spam_caught:,} of {facts.spam_tested:,}")
    table.add_row("ham flagged", f"{facts.ham_flagged:,} of {facts.ham_tested:,}")
    title = f": {messages:,} real text messages, {spam:,} spam, the others “ham”"
    return [Text.assemble((facts.data, STRONG), title), indented(table)]


def _weights(facts: Facts) -> list[RenderableType]:
    longest = max(abs(w.weight) + w.deviation for w in (*facts.for_spam, *facts.for_ham))
    table = grid()
    for _ in range(3):
        table.add_column()
    for column in (table.columns[0], table.columns[2]):
        column.no_wrap = True  # rather lose the bars
    head = Text("weight ± standard deviation", "dim", no_wrap=True, overflow="crop")
    table.add_row(Text("spam", SPAM), head, Text("ham", HAM), head)
    for spam, ham in zip(facts.for_spam, facts.for_ham, strict=True):
        table.add_row(*_weight(spam, longest, SPAM), *_weight(ham, longest, HAM))
    title = f": the most telling of {facts.features:,} words and pairs (█ sure, ░ unsure)"
    return [Text.assemble(("What it learned", STRONG), title), indented(table)]


def _weight(weight: Weight, longest: float, style: str) -> tuple[str, Text]:
    """The name, then the numbers and a bar whose light end goes one deviation either way."""
    size = abs(weight.weight)
    sure, most = (
        round(BAR * max(0.0, end) / longest)
        for end in (size - weight.deviation, size + weight.deviation)
    )
    numbers = f"{weight.weight:+.2f} ± {weight.deviation:.2f}  "
    bar = "█" * sure + "░" * (most - sure), style
    return weight.feature, Text.assemble(numbers, bar, no_wrap=True, overflow="crop")


def _explanation(told: Explanation, coloured: bool) -> list[RenderableType]:
    pieces = told.pieces
    telling = sorted(range(len(pieces)), key=lambda k: -abs(pieces[k].share))[:MARKED]
    message = Text.assemble(
        *(_marked(each, coloured) if k in telling else each.text for k, each in enumerate(pieces))
    )
    table = grid()
    longest = abs(pieces[telling[0]].share)
    for piece in (pieces[k] for k in telling):
        bar = Text("█" * round(BAR * abs(piece.share) / longest), _style(piece.share))
        table.add_row(piece.text, f"{piece.share:+.2f}", bar)
    others = sum(piece.share for k, piece in enumerate(pieces) if k not in telling)
    table.add_row("all other words", f"{others:+.2f}")
    table.add_row("before reading", f"{told.constant:+.2f}")
    total = Text.assemble(
        f"± {told.deviation:.2f}; the probability of spam is ", (f"{told.probability:.1%}", SPAM)
    )
    table.add_row(Text("score", STRONG), Text(f"{told.score:+.2f}", STRONG), total)
    marks = [_marked(Share(f"for {label}", sign), coloured) for label, sign in DIRECTIONS]
    title = Text.assemble(
        ("One test message explained", STRONG),
        f": {told.label}, and predicted {told.prediction} (",
        Text(", ").join(marks),
        ")",
    )
    return [title, indented(message), indented(table)]


def _marked(piece: Share, coloured: bool) -> Text:
    """A text with its direction: by colour where there is one, else by a sign on either side."""
    if coloured:
        return Text(piece.text, _style(piece.share))
    sign = "*" if piece.share > 0 else "_"
    return Text(f"{sign}{piece.text}{sign}")


def _style(share: float) -> str:
    return SPAM if share > 0 else HAM


def _times(facts: Facts) -> list[RenderableType]:
    seconds, compiled = facts.seconds, facts.functions_compiled
    loops = (
        f"compiling {compiled} functions, as the first run does; later ones load them"
        if compiled
        else "loading compiled functions; only the first run compiles them"
    )
    table = grid()
    table.columns[0].justify = "right"
    loading = "loading NumPy, scikit-learn, Numba and the messages"
    table.add_row(_duration(seconds.loading), loading)
    table.add_row(_duration(seconds.compiling), loops)
    learning = f"finding words and pairs and learning, {_rate(facts.trained, seconds.learning)}"
    table.add_row(_duration(seconds.learning), learning)
    predicting = f"predicting, {_rate(facts.tested, seconds.predicting)}"
    table.add_row(_duration(seconds.predicting), predicting)
    return [Text("How long it took", STRONG), indented(table)]


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.1f} ms"


def _rate(messages: int, seconds: float) -> str:
    """Messages a second, to two digits: more are not worth reading."""
    return f"{float(f'{messages / seconds:.1e}'):,.0f} messages a second"
