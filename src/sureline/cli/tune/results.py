"""The results of a search, and the command that trains the winner."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sureline.cli.settings import settable
from sureline.cli.values import write_value
from sureline.evaluation import Majority, majority_baseline
from sureline.evaluation.search.dataset import Dataset, Protocol
from sureline.evaluation.search.halving import Tried
from sureline.rules import rules

MODEL = "model.sureline"


@dataclass(frozen=True, eq=False)
class Results:
    """All results of ``sureline tune``."""

    dataset: Dataset
    tried: Sequence[Tried]  # the best first
    failures: Mapping[str, str]  # by rule, why some settings failed
    protocol: str  # in words
    seed: int
    seconds: float
    command: str  # what trains the winner

    @cached_property
    def majority(self) -> Majority:
        """The most frequent label, and its error."""
        return majority_baseline(self.dataset.labels)

    def as_dict(self) -> dict[str, Any]:
        """All results, for JSON."""
        return {
            "rows": len(self.dataset),
            "classes": int(self.dataset.classes.size),
            "majority": self.majority.label,
            "majority_error": self.majority.error,
            "protocol": self.protocol,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "command": self.command,
            "tried": [each._asdict() for each in self.tried],
            "left_out": dict(self.failures),
        }


def train_command(
    given: Sequence[str], pairs: Sequence[str], best: Tried, protocol: Protocol
) -> str:
    """The command line that trains a rule with these settings on the same rows.

    `given` has the files and the options that training takes as well, `pairs` the values of
    ``--set``.
    """
    words = ["sureline", "train", *given, "--rule", best.rule]
    known = settable(rules()[best.rule])
    for pair in pairs:
        if pair.partition("=")[0].strip() in known:
            words += ["--set", pair]
    for name, value in best.settings.items():
        words += ["--set", f"{name}={write_value(value)}"]
    words += ["--passes", str(best.passes), "--seed", str(protocol.seed)]
    if not protocol.shuffle:
        words.append("--no-shuffle")
    return shlex.join([*words, "-o", MODEL])
