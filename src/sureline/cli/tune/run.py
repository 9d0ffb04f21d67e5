"""One search: candidates, rows, trainings, and results."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from sureline.cli.controls import escape_controls
from sureline.cli.groups import Given
from sureline.cli.options import TrainingInput
from sureline.cli.screen import print_json, say, show
from sureline.cli.search import (
    RuleSettings,
    balance_classes,
    check_candidates,
    check_no_texts,
    check_text_options,
    defaults_for_texts,
    needs_texts,
    read_dataset,
    show_progress,
    type_class_weights,
)
from sureline.cli.settings import settable
from sureline.cli.tune.command import Learners, Output, TuneProtocol
from sureline.cli.tune.render import render
from sureline.cli.values import write_value
from sureline.errors import DataError, InvalidParameter
from sureline.estimators import TextClassifier
from sureline.evaluation import majority_baseline
from sureline.evaluation.search.candidates import Candidate, rule_candidates
from sureline.evaluation.search.dataset import Dataset, Protocol
from sureline.evaluation.search.halving import Tried, tune
from sureline.evaluation.search.trials import Runner
from sureline.rules import rules

MODEL = "model.sureline"


def run(
    files: list[str],
    reading: TrainingInput,
    learners: Learners,
    evaluation: TuneProtocol,
    texts: Given,
    memory: Given,
    output: Output,
) -> None:
    """Search all candidates, and show the best."""
    start = perf_counter()
    chosen = RuleSettings.parse(learners.rule or None, learners.settings, memory, learners.tries)
    # Reports what is wrong before rows are read.
    columns = {} if reading.table is None else {"columns": reading.table}
    _candidates(chosen, {**texts.changed, **chosen.texts, **columns}, evaluation.shuffle)
    dataset = read_dataset(files, reading, ", ".join(files))
    check_no_texts({**texts.changed, **chosen.texts}, dataset)
    if dataset.rows.named_features is not None:
        texts = _without_weighting(texts, dataset, chosen, output.quiet)
    options = {**texts.changed, **chosen.texts, **columns}
    candidates, refused = _able(_candidates(chosen, options, evaluation.shuffle, dataset), dataset)
    name: Any = evaluation.protocol
    protocol = Protocol(
        name, evaluation.folds, learners.passes, evaluation.seed, evaluation.shuffle
    )
    with show_progress(output.quiet) as progress:
        runner = Runner(dataset, options, output.jobs or -1, progress)
        found = tune(runner, candidates, protocol, learners.halving)
    given = [*files, *reading.words, *texts.words, *memory.words]
    majority = majority_baseline(dataset.labels)
    results = {
        "rows": len(dataset),
        "classes": int(dataset.classes.size),
        "majority": majority.label,
        "majority_error": majority.error,
        "protocol": evaluation.describe(learners.passes),
        "seed": evaluation.seed,
        "seconds": round(perf_counter() - start, 1),
        "command": train_command(given, learners.settings or (), found.tried[0], protocol),
        "tried": [each._asdict() for each in found.tried],
        "left_out": {**refused, **found.failures},
    }
    if output.json:
        print_json(results)
        return
    show(render(results, dataset.name, output.top))
    print(f"\n{escape_controls(results['command'])}")  # not wrapped, so that it can be copied


def _candidates(
    chosen: RuleSettings, options: dict[str, Any], shuffle: bool, dataset: Dataset | None = None
) -> list[Candidate]:
    """The rules to tune, each over its grid; all settings are checked."""
    texts = dataset is None or dataset.has_texts
    fixed = dict[str, dict[str, Any]]()
    for name, given in chosen.fixed.items():
        usual = defaults_for_texts(name) if texts else {}
        kept = {word: value for word, value in usual.items() if word not in chosen.searched[name]}
        fixed[name] = {**kept, **given, "shuffle": shuffle}
    made = rule_candidates(chosen.names, fixed=fixed, tried=chosen.searched)
    if dataset is not None:
        made = type_class_weights(made, dataset)
    labels = [] if dataset is None else dataset.labels.tolist()
    made = balance_classes(made, Counter(labels))  # by all rows, as train does
    check_candidates(made, streams=True)
    if not texts or not needs_texts(options):
        check_text_options(options, "tune")
        return made
    TextClassifier(**options).tokenizer()
    return [candidate.around_texts(options) for candidate in made]


def _without_weighting(texts: Given, dataset: Dataset, chosen: RuleSettings, quiet: bool) -> Given:
    """The same options without weighting: features given with values are not weighted by counts."""
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
