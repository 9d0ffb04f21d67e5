"""What a search finds, and the command that trains the winner."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sureline.cli.search import write_value
from sureline.cli.settings import OWN_OPTIONS, settable
from sureline.estimators import TextClassifier
from sureline.evaluation import majority_baseline
from sureline.evaluation.search.halving import Tried
from sureline.evaluation.search.samples import Sample
from sureline.rules import rules

MODEL = "model.sureline"


@dataclass(frozen=True, eq=False)
class Facts:
    """All that a search finds.

    Parameters
    ----------
    sample : Sample
        The rows.
    tried : list of Tried
        Everything that was tried, the best first.
    failures : dict
        Why some settings could not be learned with, by rule.
    protocol : str
        How they were judged, in words.
    seed : int
        Where all randomness came from.
    seconds : float
        How long it took.
    command : str
        The command that trains the winner.
    """

    sample: Sample
    tried: Sequence[Tried]
    failures: Mapping[str, str]
    protocol: str
    seed: int
    seconds: float
    command: str

    def as_json(self) -> dict[str, Any]:
        """The facts for machines."""
        majority = majority_baseline(self.sample.labels)
        return {
            "rows": len(self.sample),
            "classes": int(self.sample.classes.size),
            "majority": majority.label,
            "majority_error": majority.error,
            "protocol": self.protocol,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "command": self.command,
            "tried": [
                {
                    "rule": each.learner,
                    "settings": {name: _plain(value) for name, value in each.settings.items()},
                    "passes": each.passes,
                    "error": each.error,
                    "judged": each.judged,
                    "rounds": each.rounds,
                    "finished": each.finished,
                }
                for each in self.tried
            ],
            "left_out": dict(self.failures),
        }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | dict | None) else str(value)


def train_command(
    files: Sequence[str],
    reading: Mapping[str, Any],
    of_texts: Mapping[str, Any],
    pairs: Sequence[str],
    best: Tried,
    seed: int,
    shuffle: bool,
) -> str:
    """The command line that trains a rule with these settings on the same rows.

    Parameters
    ----------
    files : sequence of str
        The inputs, as they were given.
    reading : dict
        The options of `Reader`, as they were given.
    of_texts : dict
        The options on the features of texts, as they were given.
    pairs : sequence of str
        What ``--set`` was given.
    best : Tried
        The rule, its settings and its passes.
    seed : int
        The seed.
    shuffle : bool
        Whether rows are mixed.
    """
    words = ["sureline", "train", *files]
    usual = {"quotes": True, "label_type": "auto", "encoding": "utf-8", "skip_bad": False}
    for name, value in reading.items():
        if value == usual.get(name):
            continue
        if name == "header":
            words.append("--header" if value else "--no-header")
        elif name == "quotes":
            words.append("--no-quotes")
        elif name == "skip_bad":
            words.append("--skip-bad")
        else:
            words += [f"--{name.replace('_', '-')}", str(value)]
    default: Any = TextClassifier()
    for name, value in of_texts.items():
        if isinstance(value, bool):
            words += [] if value else [OWN_OPTIONS[name]]
        elif value is not None and value != _written(getattr(default, name)):
            words += [OWN_OPTIONS[name], str(value)]
    words += ["--rule", best.learner]
    known = settable(rules()[best.learner])
    for pair in pairs:
        if pair.partition("=")[0].strip() in known:
            words += ["--set", pair]
    for name, value in best.settings.items():
        words += ["--set", f"{name}={write_value(value)}"]
    words += ["--passes", str(best.passes), "--seed", str(seed)]
    if not shuffle:
        words.append("--no-shuffle")
    return shlex.join([*words, "-o", MODEL])


def _written(value: Any) -> Any:
    """A default as its option writes it."""
    if value is None:
        return "none"
    return ",".join(map(str, value)) if isinstance(value, tuple) else value
