"""What `compare` and `tune` share: rules and their settings, rows, progress, values as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sklearn.base import clone

from sureline.cli.controls import escape_controls
from sureline.cli.groups import FLAGS, Given
from sureline.cli.label_check import find_header, find_ids, find_spellings
from sureline.cli.options import TrainingInput
from sureline.cli.rules import find_rule
from sureline.cli.screen import message_console, say, warn_of_bad_rows
from sureline.cli.settings import settable, split_pairs, type_labels
from sureline.cli.values import parse_value, write_value
from sureline.data import Batch, Reader
from sureline.errors import InvalidParameter
from sureline.estimators import TextClassifier, TextFeatures, classifier_for
from sureline.estimators.validation import (
    balanced_weights,
    check_stream_parameters,
    choose_learner,
    choose_rule,
)
from sureline.evaluation import Majority
from sureline.evaluation.search.candidates import Candidate
from sureline.evaluation.search.dataset import Dataset
from sureline.evaluation.search.trials import Progress, no_progress
from sureline.rules import rules

ByRule = dict[str, dict[str, Any]]


def split_words(given: Sequence[str] | None) -> list[str]:
    """The words of an option that may be repeated and may hold several, with commas."""
    return [word.strip() for each in given or () for word in each.split(",") if word.strip()]


# -- rules and settings ------------------------------------------------------------------------


@dataclass(frozen=True)
class RuleSettings:
    """The rules that take part and, by rule, which parameters are fixed and which are searched.

    `texts` holds what is set of the features of texts.
    """

    fixed: ByRule
    searched: ByRule
    texts: dict[str, Any]

    @property
    def names(self) -> list[str]:
        """The names of the rules."""
        return list(self.fixed)

    @classmethod
    def parse(
        cls,
        chosen: Sequence[str] | None,
        pairs: Sequence[str] | None,
        memory: Given,
        tries: Sequence[str] | None = None,
    ) -> RuleSettings:
        """Read the rules (by default all), the values of ``--set`` and those of ``--try``.

        `memory` is set of all rules.
        """
        known = rules()
        names = list(dict.fromkeys(find_rule(word, known).name for word in split_words(chosen)))
        names = list(known) if chosen is None else names
        fixed, texts = _by_rule(pairs or (), names, "--set")
        searched, unsearchable = _by_rule(tries or (), names, "--try", several=True)
        if unsearchable:
            raise InvalidParameter(
                f"--try {next(iter(unsearchable))}: the features of texts cannot be searched; set "
                "it with --set"
            )
        both = [word for name in names for word in searched[name] if word in fixed[name]]
        if both:
            raise InvalidParameter(f"{both[0]} is given by --set and by --try; leave out one")
        fixed = {name: {**fixed[name], **memory.changed} for name in names}
        return cls(fixed, searched, texts)


def _by_rule(
    pairs: Sequence[str], names: Sequence[str], option: str, several: bool = False
) -> tuple[ByRule, dict[str, Any]]:
    """By rule, what ``NAME=VALUE`` sets of it; and what it sets of the features of texts.

    At least one of the rules must have the parameter. With `several`, values are lists, written
    with commas.
    """
    known = {name: settable(rules()[name]) for name in names}
    own = {name: parameters_of(classifier_for(name)) for name in names}
    by_rule: ByRule = {name: {} for name in names}
    texts = dict[str, Any]()
    example = "r=0.1,1,10" if several else "r=0.3"
    for word, value in split_pairs(pairs, option, example).items():
        having = [name for name in names if word in known[name]]
        if not having:
            every = sorted({each for some in known.values() for each in some})
            raise InvalidParameter(
                f"{option} {word}: no rule chosen has such a parameter; there are "
                f"{', '.join(every)}"
            )
        for name in having:
            parts = value.split(",") if several else [value]
            parsed = [parse_value(each, known[name][word], f"{option} {word}") for each in parts]
            place = by_rule[name] if word in own[name] else texts
            place[word] = tuple(parsed) if several else parsed[0]
    return by_rule, texts


def parameters_of(cls: Any) -> set[str]:
    """The names of a class's parameters."""
    return set(cls().get_params())


def check_text_options(options: Mapping[str, Any], command: str) -> None:
    """Refuse options of texts that do not apply to features computed once for all learners."""
    known = parameters_of(TextFeatures)
    for name in options:
        if name not in known:
            raise InvalidParameter(
                f"--set {name}: {command} computes features once for all learners, and this is a "
                "parameter of a single text classifier; leave it out"
            )
    TextFeatures(**options).tokenizer()


def check_candidates(candidates: Sequence[Candidate], streams: bool = False) -> None:
    """Refuse, before any work, settings that are invalid, or that a stream does not allow."""
    for candidate in candidates:
        for settings in candidate.grid:
            model = candidate.build(settings, 0)
            choose_learner(model)
            if streams:
                check_stream_parameters(model)


def type_class_weights(candidates: Sequence[Candidate], dataset: Dataset) -> list[Candidate]:
    """The same candidates with class weights by label as the rows have it, not as text."""
    made = list[Candidate]()
    for candidate in candidates:
        weights = getattr(candidate.estimator, "class_weight", None)
        if isinstance(weights, dict):
            typed = type_labels(weights, dataset.labels.dtype)
            estimator = clone(candidate.estimator).set_params(class_weight=typed)
            candidate = replace(candidate, estimator=estimator)
        made.append(candidate)
    return made


def balance_classes(candidates: Sequence[Candidate], counts: Counter[Any]) -> list[Candidate]:
    """The same candidates with the weights of balanced classes, for so many rows of each label."""
    made = list[Candidate]()
    for candidate in candidates:
        if getattr(candidate.estimator, "class_weight", None) == "balanced":
            weights = balanced_weights(counts)
            estimator = clone(candidate.estimator).set_params(class_weight=weights)
            candidate = replace(candidate, estimator=estimator)
        made.append(candidate)
    return made


def needs_texts(options: Mapping[str, Any]) -> bool:
    """Whether learners must read texts themselves, rather than features computed once.

    They must to weight features by counts as they learn, or where something is set that only a
    text classifier has.
    """
    weighting = options.get("weighting", TextClassifier().weighting)
    return weighting is not None or not set(options) <= parameters_of(TextFeatures)


def defaults_for_texts(rule: str) -> dict[str, Any]:
    """What `TextClassifier` sets of a rule other than its defaults, but for its own numbers."""
    default: Any = TextClassifier().chosen_estimator()
    usual = choose_rule(default)
    if usual.name != rule:
        return {}
    plain, searched = type(default)().get_params(), {each.name for each in usual.parameters}
    return {
        name: value
        for name, value in default.get_params().items()
        if value != plain[name] and name not in searched
    }


# -- rows --------------------------------------------------------------------------------------


def read_dataset(files: Sequence[str], reading: TrainingInput, name: str) -> Dataset:
    """Read all rows of the files into memory."""
    reader, headers = Reader(list(files), **reading.arguments()), list[str | None]()

    def rows() -> Iterator[Batch]:
        for batch in reader:
            headers.append(find_header(batch, reader.text_name, reader.label_name))
            yield batch

    dataset = Dataset.read(rows(), name, reading.texts)
    warn_of_bad_rows(reader.bad)
    counts = Counter(dataset.labels.tolist())
    ids = find_ids(counts, reader.label_name, complete=True, many=reading.many_labels)
    for warning in (next(filter(None, headers), None), ids, find_spellings(counts)):
        if warning is not None:
            say(warning)
    return dataset


def check_no_texts(options: Mapping[str, Any], dataset: Dataset) -> None:
    """Refuse options of texts where there are none."""
    if options and not dataset.has_texts:
        name = next(iter(options))
        option = FLAGS.get(name, f"--set {name}")
        raise InvalidParameter(
            f"{option} applies to texts, but {dataset.name} holds svmlight rows; leave it out"
        )


def describe_rows(rows: int, classes: int, majority: Majority, tested: int | None = None) -> str:
    """How many rows there are, and the error of the most frequent label."""
    some = "" if tested in (None, rows) else f", {tested:,} of them for testing"
    return (
        f"{rows:,} rows{some}, {classes} classes; always predicting “{majority.label}” gets "
        f"{majority.error:.2%} wrong"
    )


# -- values as text ----------------------------------------------------------------------------


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Settings as people write them, such as ``r=0.1, covariance=full``."""
    return ", ".join(f"{name}={write_value(value)}" for name, value in settings.items())


def as_sentence(words: str) -> str:
    """The words with a capital and a full stop."""
    return f"{words[0].upper()}{words[1:].rstrip('.')}."


# -- progress ----------------------------------------------------------------------------------


@contextmanager
def show_progress(quiet: bool) -> Iterator[Progress]:
    """Show progress on stderr: a bar on a terminal, a line per stage elsewhere."""
    console = message_console()
    if quiet:
        yield no_progress
        return
    if not console.is_terminal:
        yield _show_lines
        return
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(bar_width=30),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn("left"),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=console, transient=True) as shown:

        def replace_bar(stage: str, total: int) -> Callable[[], object]:
            for task in shown.task_ids:
                shown.remove_task(task)
            return partial(shown.advance, shown.add_task(escape_controls(stage), total=total))

        yield replace_bar


def _show_lines(stage: str, total: int) -> Callable[[], object]:
    say(f"{stage}: {total:,} training{'' if total == 1 else 's'}")
    return lambda: None
