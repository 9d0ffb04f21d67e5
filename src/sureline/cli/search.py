"""What `compare` and `tune` share: rules by name, settings for many rules, rows, progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from sureline.cli.describe import describe_bad
from sureline.cli.rules import find_rule
from sureline.cli.screen import messages, say, warn
from sureline.cli.settings import OWN_OPTIONS, settable
from sureline.cli.values import parse_value
from sureline.data import Reader
from sureline.errors import InvalidParameter
from sureline.estimators import TextClassifier, TextFeatures, classifier_for
from sureline.estimators.stream import typed_labels
from sureline.estimators.validation import choose_rule
from sureline.evaluation.search.candidates import Candidate
from sureline.evaluation.search.comparison import Watcher
from sureline.evaluation.search.samples import Sample, read_sample
from sureline.rules import rules

ByRule = dict[str, dict[str, Any]]


def split_words(given: Sequence[str] | None) -> list[str]:
    """The words of options that may be repeated and may hold several, with commas."""
    return [word.strip() for each in given or () for word in each.split(",") if word.strip()]


def choose_rules(given: Sequence[str] | None) -> list[str]:
    """The names of the rules asked for, or of all; each once."""
    known = rules()
    return list(dict.fromkeys(find_rule(word, known).name for word in split_words(given))) or list(
        known
    )


def settings_for(
    pairs: Sequence[str], names: Sequence[str], option: str = "--set", several: bool = False
) -> tuple[ByRule, dict[str, Any]]:
    """By rule, what ``NAME=VALUE`` sets of it; and what it sets of the reading of texts.

    A rule that has no such parameter is left alone, but one of them must have it. With `several`,
    values are lists, written with commas.
    """
    known = {name: settable(rules()[name]) for name in names}
    own = {name: _parameters(classifier_for(name)) for name in names}
    by_rule: ByRule = {name: {} for name in names}
    texts = dict[str, Any]()
    for pair in pairs:
        word, equals, value = (part.strip() for part in pair.partition("="))
        example = "r=0.1,1,10" if several else "r=0.3"
        if not equals or not value:
            raise InvalidParameter(f"{option} takes name=value, such as {example}, got {pair!r}")
        if word in OWN_OPTIONS:
            raise InvalidParameter(f"{option} {word}: use {OWN_OPTIONS[word]} instead")
        if word in texts or any(word in given for given in by_rule.values()):
            raise InvalidParameter(f"{option} {word} was given twice")
        having = [name for name in names if word in known[name]]
        if not having:
            every = sorted({each for some in known.values() for each in some})
            raise InvalidParameter(
                f"{option} {word}: no rule chosen has such a parameter; there are "
                f"{', '.join(every)}"
            )
        for name in having:
            hint, what = known[name][word], f"{option} {word}"
            if several:
                made: Any = tuple(parse_value(each, hint, what) for each in value.split(","))
            else:
                made = parse_value(value, hint, what)
            if word in own[name]:
                by_rule[name][word] = made
            else:
                texts[word] = made
    return by_rule, texts


def _parameters(cls: Any) -> set[str]:
    return set(cls().get_params())


def check_text_options(options: Mapping[str, Any], command: str) -> None:
    """Refuse what cannot be said of features that are made once for all learners."""
    known = _parameters(TextFeatures)
    for name in options:
        if name not in known:
            raise InvalidParameter(
                f"--set {name}: {command} makes features once for all learners, and this belongs "
                "to one classifier of texts; leave it out"
            )
    TextFeatures(**options)._checked()


def needs_texts(options: Mapping[str, Any]) -> bool:
    """Whether learners must read texts themselves, rather than features made of them once.

    They must to weigh features by counts as they learn, or where something is set that only a
    classifier of texts has.
    """
    weighting = options.get("weighting", TextClassifier().weighting)
    return weighting is not None or not set(options) <= _parameters(TextFeatures)


def usual_for_texts(rule: str) -> dict[str, Any]:
    """What is not a rule's default where texts are classified with it, but for its own numbers."""
    default: Any = TextClassifier()._chosen()
    usual = choose_rule(default)
    if usual.name != rule:
        return {}
    plain, chosen = type(default)().get_params(), default.get_params()
    searched = {parameter.name for parameter in usual.parameters}
    return {
        name: value
        for name, value in chosen.items()
        if value != plain[name] and name not in searched
    }


def check_candidates(candidates: Sequence[Candidate], streams: bool = False) -> None:
    """Refuse, before any work, settings that do not exist, or cannot be learned as a stream."""
    for candidate in candidates:
        if candidate.baseline:
            continue
        for settings in candidate.grid:
            model = candidate.make(settings, 0)
            model._learner()
            if streams:
                model._check_stream()


def type_class_weights(by_rule: ByRule, sample: Sample) -> ByRule:
    """The same with class weights by label as the rows have it, not as text."""
    made = {name: dict(given) for name, given in by_rule.items()}
    for given in made.values():
        weights = given.get("class_weight")
        if isinstance(weights, dict):
            labels = typed_labels(list(weights), sample.labels.dtype)
            given["class_weight"] = dict(zip(labels.tolist(), weights.values(), strict=True))
    return made


def read_rows(files: Sequence[str], reading: Mapping[str, Any], name: str) -> Sample:
    """All rows of the files, in memory."""
    reader = Reader(list(files), **reading)
    sample = read_sample(reader, name)
    if len(reader.bad):
        warn(describe_bad(reader.bad))
    return sample


def check_no_texts(options: Mapping[str, Any], sample: Sample) -> None:
    """Refuse options on texts where there are none."""
    if options and not sample.texts:
        name = next(iter(options))
        option = OWN_OPTIONS.get(name, f"--set {name}")
        raise InvalidParameter(
            f"{option} is about texts, but {sample.name} holds svmlight rows; leave it out"
        )


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Settings as people write them, such as ``r=0.1, covariance=full``."""
    return ", ".join(f"{name}={write_value(value)}" for name, value in settings.items())


def write_value(value: Any) -> str:
    """A value as ``--set`` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | np.floating):
        short = f"{value:g}"
        return short if float(short) == value else repr(float(value))
    if isinstance(value, dict):
        from json import dumps

        return dumps({str(key): weight for key, weight in value.items()})
    return str(value)


class Lines(Watcher):
    """A line a stage, for logs and pipes."""

    def begin(self, stage: str, total: int) -> None:
        """Tell what begins."""
        say(f"{stage}: {total:,} trainings")


class Bar(Watcher):
    """A bar on a terminal, one stage after the other."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task: Any = None

    def begin(self, stage: str, total: int) -> None:
        """Start a new bar."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(stage, total=total)

    def advance(self) -> None:
        """A unit is done."""
        self._progress.advance(self._task)


@contextmanager
def watching(quiet: bool) -> Iterator[Watcher]:
    """Who is told how the work gets on: a bar on a terminal, a line a stage elsewhere."""
    console = messages()
    if quiet:
        yield Watcher()
        return
    if not console.is_terminal:
        yield Lines()
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield Bar(progress)
