"""What a run of `sureline train` is to do, as the options of the command say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import typer

from sureline.cli.groups import FLAGS, Given, flag
from sureline.cli.options import LEARNING, ResultOptions, TrainingInput, complete_rules
from sureline.errors import InvalidParameter, SurelineError

if TYPE_CHECKING:
    from sureline.cli.settings import Settings


def _complete_settings(context: typer.Context, incomplete: str) -> list[str]:
    """``name=`` for every parameter that the chosen rule has."""
    from sureline.cli.rules import find_rule
    from sureline.cli.settings import settable
    from sureline.estimators.text.classifier import default_estimator
    from sureline.estimators.validation import choose_rule
    from sureline.rules import rules

    name = (context.params or {}).get("rule")
    try:
        rule = find_rule(name, rules()) if name else choose_rule(default_estimator())
    except SurelineError:
        return []
    return [f"{each}=" for each in settable(rule) if each.startswith(incomplete)]


@dataclass(frozen=True)
class RuleOptions:
    """What is to be trained."""

    PANEL: ClassVar[str] = LEARNING
    rule: str | None = flag(
        "--rule RULE",
        "The update rule; sureline rules lists them. Default: the best for texts.",
        complete=complete_rules,
    )
    settings: list[str] | None = flag(
        "--set NAME=VALUE",
        "Set a parameter, such as r=0.3, covariance=full or calibration=none; may be repeated.",
        complete=_complete_settings,
    )
    continued: str | None = flag(
        "--continue MODEL", "Train this model further, instead of a new one."
    )
    classes: str | None = flag(
        "--classes A,B,C",
        "Labels to know from the beginning. Default: those of the shuffled rows; with "
        "--no-shuffle, as they come.",
        hidden=True,
    )
    buffer: float = flag(
        "--buffer MB",
        "The most memory for shuffling; larger inputs are shuffled within it.",
        256,
        low=0.001,
        hidden=True,
    )


@dataclass(frozen=True)
class CheckpointOptions:
    """Where and how often a run is saved."""

    PANEL: ClassVar[str] = "Long runs"
    checkpoint: str | None = flag(
        "--checkpoint PATH",
        "Save the run there from time to time, so that it can be resumed.",
        hidden=True,
    )
    every: int | None = flag(
        "--every N", "Save a checkpoint every N examples. Default: 100000.", low=1, hidden=True
    )
    resume: bool = flag(
        "--resume", "Continue from the checkpoint, if there is one.", False, hidden=True
    )


@dataclass(frozen=True)
class TrainOutput(ResultOptions):
    """Where the model is written, and what is shown."""

    output: str | None = flag(
        "--output -o MODEL", "Where to write the model, such as mail.sureline. Required."
    )
    compact: bool = flag(
        "--compact",
        "Write what predictions need and no more, in half precision: a file several times "
        "smaller, of a model that cannot be trained further.",
        False,
        hidden=True,
    )


@dataclass(frozen=True)
class Plan:
    """All options of a run."""

    files: list[str]
    input: TrainingInput
    rule: RuleOptions
    learning: Given
    texts: Given
    checkpoints: CheckpointOptions
    memory: Given
    model: str
    compact: bool = False

    def __post_init__(self) -> None:
        checkpoints = self.checkpoints
        if checkpoints.checkpoint is None and (checkpoints.resume or checkpoints.every is not None):
            option = "--resume" if checkpoints.resume else "--every"
            raise InvalidParameter(f"{option} needs --checkpoint PATH, the file to save the run in")
        given = ["--rule"] * (self.rule.rule is not None) + ["--set"] * bool(self.rule.settings)
        given += [FLAGS[name] for name in self.texts.changed]
        if self.rule.continued is not None and given:
            raise InvalidParameter(
                f"{given[0]} cannot be combined with --continue: the model keeps its rule and its "
                "features; leave it out, or train a new model"
            )
        if self.drift is not None and self.watches:
            self._check_order()
        classes = self.classes
        if classes is not None and ("" in classes or len(set(classes)) != len(classes)):
            raise InvalidParameter(
                f"--classes takes different labels such as ham,spam, got {self.rule.classes!r}"
            )

    @property
    def passes(self) -> int | Literal["auto"]:
        """How many passes to make, or "auto"."""
        passes: int | Literal["auto"] = self.learning.values["max_iter"]
        return passes

    @property
    def decides(self) -> bool:
        """Whether the rows decide how many passes are made; else "auto" means one."""
        return self.passes == "auto" and self.shuffle and self.rule.continued is None

    @property
    def drift(self) -> Any:
        """What is done when the stream changes."""
        return self.learning.values["drift"]

    @property
    def watches(self) -> bool:
        """Whether it was said what is done when the stream changes."""
        return self.learning.written["drift"] is not None

    @property
    def ordered(self) -> bool:
        """Whether rows are learned once, in their order, so that change can be noticed."""
        return not self.shuffle and self.passes in (1, "auto")

    def _check_order(self) -> None:
        """Refuse to look for change where there is no order."""
        if self.shuffle:
            raise InvalidParameter(
                "--drift is about rows in their order, but they are shuffled; give --no-shuffle, "
                "too, or leave it out"
            )
        if not self.ordered:
            raise InvalidParameter(
                f"--drift is about rows that are learned once, but --passes is {self.passes}; "
                "leave out one of them"
            )
        if self.counts_first and getattr(self.drift, "half_life", None) is not None:
            raise InvalidParameter(
                f"--drift half_life={self.drift.half_life} forgets older texts, but --count-first "
                "counts all of them before the first is learned; leave out one of them"
            )

    @property
    def seed(self) -> int:
        """The random seed."""
        return int(self.learning.values["random_state"])

    @property
    def shuffle(self) -> bool:
        """Whether rows are shuffled."""
        return bool(self.learning.values["shuffle"])

    @property
    def counts_first(self) -> bool:
        """Whether all texts are counted before the first is learned."""
        return bool(self.learning.values["counts_first"])

    @property
    def buffer_bytes(self) -> int:
        """The most memory for shuffling."""
        return int(self.rule.buffer * 2**20)

    @property
    def every(self) -> int:
        """How many examples lie between checkpoints."""
        return self.checkpoints.every or 100_000

    @property
    def classes(self) -> list[str] | None:
        """The labels to know from the beginning."""
        words = self.rule.classes
        return None if words is None else [word.strip() for word in words.split(",")]

    @cached_property
    def jobs(self) -> int:
        """How many threads learn."""
        from sureline.estimators.parallel.thread_pool import count_threads

        given = self.learning.values["n_jobs"]
        try:
            return count_threads(given, "--jobs")
        except InvalidParameter:
            raise InvalidParameter(
                f"--jobs takes a number of threads, or -1 for one per core, got {given}"
            ) from None

    def settings(self) -> Settings:
        """The settings of the model."""
        from sureline.cli.settings import Settings

        learning = dict(self.learning.values)
        if not self.watches:  # texts and rows of numbers have defaults of their own
            del learning["drift"]
        texts = self.texts.changed | (
            {"counts_first": True} if learning.pop("counts_first") else {}
        )
        if self.input.table is not None and self.rule.continued is None:
            texts["columns"] = self.input.table
        pairs = tuple(self.rule.settings or ())
        return Settings(self.rule.rule, pairs, texts, learning, self.memory.values)

    def run_options(self) -> dict[str, Any]:
        """What a resumed run must have in common with the one that wrote the checkpoint."""
        texts = {"stop_words": None, **self.texts.changed}
        several = {"jobs": self.jobs, "every": self.every}
        made = {
            **self.input.arguments(),
            **{name: _as_json(value) for name, value in texts.items()},
            "rule": self.rule.rule,
            "set": sorted(self.rule.settings or ()),
            "passes": self.passes,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "buffer": self.rule.buffer,
            "classes": self.classes,
            "continue": None if self.rule.continued is None else _checksum(self.rule.continued),
            **({"count_first": True} if self.counts_first else {}),
            **({"drift": repr(self.drift)} if self.watches else {}),
            # Checkpoints end rounds, so that what several jobs learn depends on where they are.
            **(several if self.jobs > 1 else {}),
        }
        return {name.replace("_", "-"): value for name, value in made.items()}


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _checksum(path: str) -> str | None:
    from sureline.model.file import read

    return read(path).checksum
