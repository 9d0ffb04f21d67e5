"""The options that `compare` and `tune` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from sureline.cli.groups import complete_from
from sureline.cli.options import Processes, ResultOptions, any_of
from sureline.errors import InvalidParameter
from sureline.evaluation.search import PROTOCOLS

LEARNERS = "Learners"
PROTOCOL = "Protocol"


def protocol_flag(default: str) -> Any:
    """``--protocol``, with its default in words."""
    return typer.Option(
        "--protocol",
        metavar="P",
        show_default=False,
        help="k-fold, hold-out, or progressive: rows are predicted before they are learned. "
        f"Default: {default}.",
        autocompletion=complete_from(PROTOCOLS),
        rich_help_panel=PROTOCOL,
    )


Folds = Annotated[
    int,
    typer.Option(
        "--folds",
        min=2,
        metavar="K",
        help="With k-fold: the number of folds.",
        rich_help_panel=PROTOCOL,
    ),
]


@dataclass(frozen=True)
class LearnerOptions:
    """What is set of the learners."""

    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            show_default=False,
            help="Set a parameter, of all rules that have it, instead of searching it; may be "
            "repeated.",
            rich_help_panel=LEARNERS,
        ),
    ] = None
    passes: Annotated[
        int,
        typer.Option(
            "--passes",
            min=1,
            metavar="N",
            help="The most passes that online learners may make.",
            rich_help_panel=LEARNERS,
        ),
    ] = 10


@dataclass(frozen=True)
class ProtocolOptions:
    """How learners are judged."""

    protocol: Annotated[str | None, protocol_flag("k-fold; with --test, hold-out")] = None
    folds: Folds = 10
    shuffle: Annotated[
        bool,
        typer.Option(
            " /--no-shuffle",
            show_default=False,
            help="Keep the rows in order, as for streams in time; do not shuffle them.",
            rich_help_panel=PROTOCOL,
        ),
    ] = True
    seed: Annotated[
        int,
        typer.Option(
            "--seed",
            min=0,
            max=2**32 - 1,
            metavar="S",
            help="The random seed; the same seed gives the same errors.",
            rich_help_panel=PROTOCOL,
        ),
    ] = 0

    def __post_init__(self) -> None:
        if self.protocol is not None:
            check_choice("--protocol", self.protocol, PROTOCOLS)


@dataclass(frozen=True)
class SearchOutput(ResultOptions):
    """How results and progress are shown, and how many processes work."""

    jobs: Processes = None


def check_choice(option: str, value: str, choices: Sequence[str], hint: str = "") -> None:
    """Refuse a value that is not among the choices."""
    if value not in choices:
        raise InvalidParameter(f"{option} must be {any_of(choices)}, got {value!r}{hint}")
