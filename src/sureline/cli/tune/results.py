"""The results of a search, and the command that trains the winner."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sureline.cli.search import write_value
from sureline.cli.settings import OWN_OPTIONS, settable
from sureline.estimators import TextClassifier
from sureline.evaluation import Majority, majority_baseline
from sureline.evaluation.search.dataset import Dataset
from sureline.evaluation.search.halving import Tried
from sureline.rules import rules

MODEL = "model.sureline"


@dataclass(frozen=True, eq=False)
class Results:
    """All results of ``sureline tune``.

    Parameters
    ----------
    dataset : Dataset
        The rows.
    tried : list of Tried
        All settings, the best first.
    failures : dict
        Why some settings failed, by rule.
    protocol : str
        How they were judged, in words.
    seed : int
        The random seed.
    seconds : float
        How long it took.
    command : str
        The command that trains the winner.
    """

    dataset: Dataset
    tried: Sequence[Tried]
    failures: Mapping[str, str]
    protocol: str
    seed: int
    seconds: float
    command: str

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
            "tried": [
                {
                    "rule": each.learner,
                    "settings": dict(each.settings),
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


@dataclass(frozen=True)
class Given:
    """The options of ``sureline tune`` that training takes as well, as they were given.

    Parameters
    ----------
    files : sequence of str
        The inputs.
    reading : dict
        The options of `Reader`.
    texts : dict
        The options of the features of texts.
    pairs : sequence of str
        The values of ``--set``.
    seed : int
        The random seed.
    shuffle : bool
        Whether rows are shuffled.
    """

    files: Sequence[str]
    reading: Mapping[str, Any]
    texts: Mapping[str, Any]
    pairs: Sequence[str]
    seed: int
    shuffle: bool

    def train(self, best: Tried) -> str:
        """The command line that trains a rule with these settings on the same rows."""
        words = ["sureline", "train", *self.files, *self._reading(), *self._texts()]
        words += ["--rule", best.learner]
        known = settable(rules()[best.learner])
        for pair in self.pairs:
            if pair.partition("=")[0].strip() in known:
                words += ["--set", pair]
        for name, value in best.settings.items():
            words += ["--set", f"{name}={write_value(value)}"]
        words += ["--passes", str(best.passes), "--seed", str(self.seed)]
        if not self.shuffle:
            words.append("--no-shuffle")
        return shlex.join([*words, "-o", MODEL])

    def _reading(self) -> list[str]:
        defaults = {"quotes": True, "label_type": "auto", "encoding": "utf-8", "skip_bad": False}
        words = list[str]()
        for name, value in self.reading.items():
            option = name.replace("_", "-")
            if value == defaults.get(name):
                continue
            if isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            else:
                words += [f"--{option}", str(value)]
        return words

    def _texts(self) -> list[str]:
        default: Any = TextClassifier()
        words = list[str]()
        for name, value in self.texts.items():
            usual = getattr(default, name)
            written = ",".join(map(str, usual)) if isinstance(usual, tuple) else usual
            if value is True or value in (None, "none" if usual is None else written):
                continue
            words += [OWN_OPTIONS[name]] if value is False else [OWN_OPTIONS[name], str(value)]
        return words
