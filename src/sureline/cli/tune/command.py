"""``sureline tune``: which rule, which settings and how many passes suit some rows best."""

from __future__ import annotations

from dataclasses import dataclass

from sureline.cli.groups import flag, with_options
from sureline.cli.options import Files, MemoryFlags, TextFlags, TrainingInput, complete_rules
from sureline.cli.search_options import (
    FOLDS,
    PROTOCOL,
    LearnerOptions,
    ProtocolOptions,
    SearchOutput,
)
from sureline.evaluation.search import PROTOCOLS


@dataclass(frozen=True)
class Learners(LearnerOptions):
    """What is searched."""

    rule: list[str] | None = flag(
        "--rule RULE",
        "Search this rule; may be repeated. Default: all, as sureline rules lists them.",
        complete=complete_rules,
    )
    tries: list[str] | None = flag(
        "--try NAME=A,B,C",
        "Try these values, such as r=0.1,1,10 or covariance=diagonal-kl,full, in place of those "
        "that the rule declares; may be repeated.",
    )
    halving: bool = flag(
        "--no-halving",
        "Evaluate all settings on all rows, rather than the better half of them on twice as many, "
        "round by round.",
        True,
    )


@dataclass(frozen=True)
class TuneProtocol(ProtocolOptions):
    """How settings are evaluated."""

    protocol: str = flag("--protocol P", PROTOCOL, "progressive", choices=PROTOCOLS)
    folds: int = flag("--folds K", FOLDS, 5, low=2)

    def describe(self, passes: int) -> str:
        """The protocol in words."""
        if self.protocol == "hold-out":
            return "evaluated on a random fifth of the rows"
        if self.protocol == "k-fold":
            return f"evaluated on {self.folds} stratified folds"
        if passes == 1:
            return "progressive: every row predicted just before it is learned"
        return "progressive: blocks of rows that double, each predicted before it is learned"


@dataclass(frozen=True)
class Output(SearchOutput):
    """What is printed."""

    top: int = flag("--top N", "How many of the best to list; --json has all.", 10, low=1)


@with_options
def tune(
    files: Files,
    reading: TrainingInput,
    learners: Learners,
    evaluation: TuneProtocol,
    texts: TextFlags,
    memory: MemoryFlags,
    output: Output,
) -> None:
    """Find the rule, the settings and the number of passes that suit your rows best.

    For example, from a CSV file with the columns message and kind:

        sureline tune mail.csv --text message --label kind

    The last line that it prints is the command that trains the winner.
    """
    from sureline.cli.screen import loading

    with loading(output.quiet):
        from sureline.cli.tune.run import run

    run(files, reading, learners, evaluation, texts, memory, output)
