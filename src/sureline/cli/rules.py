"""``sureline rules``: the update rules that there are, and what each one does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sureline.errors import InvalidParameter

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sureline.rules import BatchRule, Parameter, Rule

R = TypeVar("R")
# The labels of the paragraphs at the head of a rule's file, with the words shown for them.
PARAGRAPHS = {
    "Problem": "problem",
    "Symbols": "symbols",
    "Differs": "differences",
    "Cite": "citations",
}


def rules(
    name: Annotated[
        str | None, typer.Argument(help="Describe this rule in full.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print every detail as JSON.")] = False,
) -> None:
    """List the update rules, or describe one: problem, symbols, parameters, paper."""
    from sureline.rules import batch_rules
    from sureline.rules import rules as registered

    every: dict[str, Rule | BatchRule] = {**registered(), **batch_rules()}
    known = dict(sorted(every.items()))
    shown = list(known.values()) if name is None else [find_rule(name, known)]

    from sureline.cli.screen import print_json, show

    if json:
        described = [_describe(rule) for rule in shown]
        print_json(described if name is None else described[0])
    else:
        show(_overview(shown) if name is None else _whole(shown[0]))


def find_rule(name: str, known: dict[str, R]) -> R:
    """The rule of that name, or the error that names those like it."""
    wanted = name.lower()
    if wanted in known:
        return known[wanted]

    from difflib import get_close_matches

    from sureline.rules import batch_rules

    if wanted in batch_rules():
        raise InvalidParameter(
            f"the rule {wanted} is solved over all examples at once, not learned online; in Python "
            f"it is {_call(batch_rules()[wanted])}"
        )
    close = [each for each in known if wanted and wanted in each]
    close = close or get_close_matches(wanted, known)
    hint = f"did you mean {' or '.join(close)}?" if close else "sureline rules lists them all"
    raise InvalidParameter(f"there is no rule named {name!r}; {hint}")


def _call(rule: Rule | BatchRule) -> str:
    """The rule in Python, such as ``CWClassifier(constraint="variance")``."""
    from json import dumps

    settings = {
        key: dumps(value) if isinstance(value, str) else repr(value)
        for key, value in rule.settings.items()
    }
    return f"{rule.estimator}({', '.join(f'{key}={value}' for key, value in settings.items())})"


def _range(parameter: Parameter) -> str:
    preset = parameter.preset
    shown = preset if isinstance(preset, str) else f"{preset:g}"
    return f"{parameter.name} = {shown} in {parameter.allowed}"


def _choices(rule: Rule | BatchRule) -> list[str]:
    """The parameters that are words, such as ``slack = shared or each``."""
    return [f"{name} = {' or '.join(words)}" for name, words in rule.choices.items()]


def _describe(rule: Rule | BatchRule) -> dict[str, Any]:
    """The rule for machines; an interval without an end has a high of null."""
    from math import isfinite

    shown = ("name", "default", "interval", "auto", "low", "high", "closed", "meaning")
    parameters = [{key: getattr(each, key) for key in shown} for each in rule.parameters]
    for each, parameter in zip(parameters, rule.parameters, strict=True):
        each["high"] = each["high"] if isfinite(each["high"]) else None
        each["default"], each["auto"] = parameter.preset, bool(parameter.auto)
    return {
        "name": rule.name,
        "title": rule.title,
        "call": _call(rule),
        "estimator": rule.estimator,
        "settings": dict(rule.settings),
        "parameters": parameters,
        "choices": {name: list(words) for name, words in rule.choices.items()},
        "covariances": list(rule.covariances),
        "schemes": {scheme: list(kept) for scheme, kept in rule.schemes.items()},
        "several": rule.several,
        **{key: rule.paragraphs(label) for label, key in PARAGRAPHS.items()},
    }


def _covariances(rule: Rule | BatchRule) -> str:
    """The choices of `covariance`; the identity is no choice, but the lack of any."""
    return ", ".join(choice for choice in rule.covariances if choice != "identity")


def _without_covariance(rule: Rule | BatchRule) -> str:
    """What is shown in place of covariances."""
    if not rule.schemes:
        return "none: it keeps an interval for every weight"
    return "none: it keeps no variances"


def _schemes(rule: Rule | BatchRule) -> list[str]:
    """The ways to learn many classes, with the covariances each exists for."""
    if not rule.schemes:
        return ["none: every class against the rest, over all examples at once"]
    if not rule.several:
        return ["sequential, with the strongest rival only; one-vs-rest"]
    existing = {scheme: kept for scheme, kept in rule.schemes.items() if kept}
    if not _covariances(rule):
        return [", ".join(existing)]
    return [f"{scheme} with {', '.join(kept)}" for scheme, kept in existing.items()]


def _overview(shown: list[Rule | BatchRule]) -> RenderableType:
    """A table of all rules, with each rule's details below one another to fit 80 columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("rule", style="bold", no_wrap=True)
    table.add_column("title, class, parameters (default, range), covariances")
    for rule in shown:
        details = [Text(rule.title, "bold"), Text(_call(rule), "cyan")]
        details += [Text(_range(parameter)) for parameter in rule.parameters]
        details += [Text(choice) for choice in _choices(rule)]
        if _covariances(rule):
            details.append(Text(_covariances(rule), "dim"))
        table.add_row(rule.name, Text("\n").join(details))
    return table


def _whole(rule: Rule | BatchRule) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from sureline.cli.screen import grid

    table = grid()
    sections = {
        "call": [_call(rule)],
        "parameters": [
            *(f"{_range(each)}: {each.meaning}" for each in rule.parameters),
            *_choices(rule),
        ],
        "covariances": [_covariances(rule) or _without_covariance(rule)],
        "schemes": _schemes(rule),
        **{key: rule.paragraphs(label) for label, key in PARAGRAPHS.items()},
    }
    for key, paragraphs in sections.items():
        for k, paragraph in enumerate(paragraphs):
            table.add_row(Text("" if k else key, "bold"), Text(paragraph))
    return Group(Text.assemble((rule.name, "bold"), f": {rule.title}"), "", table)
