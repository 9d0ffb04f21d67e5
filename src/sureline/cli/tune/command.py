"""``sureline tune``: which rule, which settings and how many passes suit some rows best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sureline.cli.groups import flag, with_options
from sureline.cli.options import Files, LabelledInput, TextFlags, complete_rules
from sureline.cli.search_options import (
    FOLDS,
    PROTOCOL,
    LearnerOptions,
    ProtocolOptions,
    SearchOutput,
)
from sureline.evaluation.search import PROTOCOLS

if TYPE_CHECKING:
    from sureline.cli.groups import Given
    from sureline.cli.search import RuleSettings
    from sureline.evaluation.search.candidates import Candidate
    from sureline.evaluation.search.dataset import Dataset


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
            return "judged on a random fifth of the rows"
        if self.protocol == "k-fold":
            return f"judged on {self.folds} stratified folds"
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
    reading: LabelledInput,
    learners: Learners,
    evaluation: TuneProtocol,
    texts: TextFlags,
    output: Output,
) -> None:
    """Find the rule, the settings and the number of passes that suit your rows best.

    For example, from a CSV file with the columns message and kind:

        sureline tune mail.csv --text message --label kind

    The last line that it prints is the command that trains the winner.
    """
    from time import perf_counter

    start = perf_counter()

    from sureline.cli import screen

    with screen.loading(output.quiet):
        from sureline.cli import search
        from sureline.cli.tune.results import Results, train_command
        from sureline.evaluation.search.dataset import Protocol
        from sureline.evaluation.search.halving import tune as run
        from sureline.evaluation.search.trials import Runner

    chosen = search.RuleSettings.parse(learners.rule, learners.settings, learners.tries)
    # Reports what is wrong before rows are read.
    _candidates(chosen, {**texts.changed, **chosen.texts}, evaluation.shuffle)
    dataset = search.read_dataset(files, reading, ", ".join(files))
    search.check_no_texts({**texts.changed, **chosen.texts}, dataset)
    if dataset.rows.named_features is not None:
        texts = _without_weighting(texts, dataset, chosen, output.quiet)
    options = {**texts.changed, **chosen.texts}
    candidates, refused = _able(_candidates(chosen, options, evaluation.shuffle, dataset), dataset)
    name: Any = evaluation.protocol
    protocol = Protocol(
        name, evaluation.folds, learners.passes, evaluation.seed, evaluation.shuffle
    )
    with search.show_progress(output.quiet) as progress:
        runner = Runner(dataset, options, output.jobs or -1, progress)
        found = run(runner, candidates, protocol, learners.halving)
    given = [*files, *reading.words, *texts.words]
    results = Results(
        dataset=dataset,
        tried=found.tried,
        failures={**refused, **found.failures},
        protocol=evaluation.describe(learners.passes),
        seed=evaluation.seed,
        seconds=perf_counter() - start,
        command=train_command(given, learners.settings or (), found.tried[0], protocol),
    )
    if output.json:
        screen.print_json(results.as_dict())
        return

    from sureline.cli.tune.render import render

    screen.show(render(results, output.top))
    print(f"\n{results.command}")  # not wrapped, so that it can be copied


def _candidates(
    chosen: RuleSettings, options: dict[str, Any], shuffle: bool, dataset: Dataset | None = None
) -> list[Candidate]:
    """The rules to tune, each over its grid; all settings are checked."""
    from sureline.cli import search
    from sureline.estimators import TextClassifier
    from sureline.evaluation.search.candidates import rule_candidates

    texts = dataset is None or dataset.has_texts
    fixed = dict[str, dict[str, Any]]()
    for name, given in chosen.fixed.items():
        usual = search.defaults_for_texts(name) if texts else {}
        kept = {word: value for word, value in usual.items() if word not in chosen.searched[name]}
        fixed[name] = {**kept, **given, "shuffle": shuffle}
    made = rule_candidates(chosen.names, fixed=fixed, tried=chosen.searched)
    search.check_candidates(made, streams=True)
    if dataset is not None:
        made = search.type_class_weights(made, dataset)
    if not texts or not search.needs_texts(options):
        search.check_text_options(options, "tune")
        return made
    TextClassifier(**options).tokenizer()
    return [candidate.around_texts(options) for candidate in made]


def _without_weighting(texts: Given, dataset: Dataset, chosen: RuleSettings, quiet: bool) -> Given:
    """The same options without weighting: features given with values are not weighted by counts."""
    from sureline.cli.screen import say
    from sureline.cli.search import needs_texts
    from sureline.errors import InvalidParameter

    options = {**texts.changed, **chosen.texts}
    if not needs_texts(options):
        return texts
    if chosen.texts or "weighting" in options:
        option = f"--set {next(iter(chosen.texts))}" if chosen.texts else "--weighting"
        raise InvalidParameter(
            f"{dataset.name} gives features with values, which {option} cannot be tuned with; "
            "leave it out"
        )
    if not quiet:
        say(f"{dataset.name} gives features with values: these are tuned with --weighting none")
    return replace(
        texts,
        written={**texts.written, "weighting": "none"},
        values={**texts.values, "weighting": None},
    )


def _able(candidates: list[Candidate], dataset: Dataset) -> tuple[list[Candidate], dict[str, str]]:
    """The rules that can be trained with the rows' weights, and why others cannot."""
    from sureline.errors import DataError
    from sureline.rules import rules

    heaviest = 0.0 if dataset.rows.weight is None else float(dataset.rows.weight.max())
    if heaviest <= 1.0:
        return candidates, {}
    able = [each for each in candidates if rules()[each.name].weight == "cost"]
    names = [each.name for each in candidates if each not in able]
    if not able:
        raise DataError(
            f"{', '.join(names)} learn from weights from 0 to 1, but {dataset.name} has "
            f"{heaviest:g}; divide the weights by the largest"
        )
    why = f"cannot learn from a weight of {heaviest:g}, only from 0 to 1"
    return able, dict.fromkeys(names, why)
