"""The options that `compare` and `tune` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sureline.cli.groups import flag
from sureline.cli.options import ResultOptions
from sureline.evaluation.search import PROTOCOLS

PROTOCOL = "k-fold, hold-out, or progressive: rows are predicted before they are learned."
FOLDS = "With k-fold: the number of folds."


@dataclass(frozen=True)
class LearnerOptions:
    """What is set of the learners."""

    PANEL: ClassVar[str] = "Learners"
    settings: list[str] | None = flag(
        "--set NAME=VALUE",
        "Set a parameter, of all rules that have it, instead of searching it; may be repeated.",
    )
    passes: int = flag("--passes N", "The most passes that online learners may make.", 10, low=1)


@dataclass(frozen=True)
class ProtocolOptions:
    """How learners are evaluated."""

    PANEL: ClassVar[str] = "Protocol"
    protocol: str | None = flag(
        "--protocol P", f"{PROTOCOL} Default: k-fold; with --test, hold-out.", choices=PROTOCOLS
    )
    folds: int = flag("--folds K", FOLDS, 10, low=2)
    shuffle: bool = flag(
        "--no-shuffle", "Keep the rows in order, as for streams in time; do not shuffle them.", True
    )
    seed: int = flag(
        "--seed S",
        "The random seed; the same seed gives the same errors.",
        0,
        low=0,
        high=2**32 - 1,
    )


@dataclass(frozen=True)
class SearchOutput(ResultOptions):
    """How results and progress are shown, and how many processes work."""

    jobs: int | None = flag("--jobs N", "The number of processes. Default: one per core.", low=1)
