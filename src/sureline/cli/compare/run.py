"""One comparison: learners, rows, trainings, and results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import pyarrow as pa

from sureline.cli.compare.command import COVARIANCES, Learners, Output, Tasks
from sureline.cli.compare.render import WRITERS, as_csv, as_json, render
from sureline.cli.compare.results import Results
from sureline.cli.controls import escape_controls
from sureline.cli.groups import Given
from sureline.cli.options import TrainingInput
from sureline.cli.screen import result_console, show
from sureline.cli.search import (
    RuleSettings,
    check_candidates,
    check_no_texts,
    check_text_options,
    read_dataset,
    show_progress,
    split_words,
    type_class_weights,
)
from sureline.data import Batch, sms_spam
from sureline.data.atomic_write import atomic_write
from sureline.data.paths import find_files
from sureline.errors import InvalidParameter
from sureline.evaluation.search import BASELINES
from sureline.evaluation.search.candidates import (
    Candidate,
    baseline_candidates,
    box_candidates,
    default_candidate,
    rule_candidates,
)
from sureline.evaluation.search.comparison import compare
from sureline.evaluation.search.dataset import Dataset, Protocol
from sureline.evaluation.search.trials import Runner
from sureline.rules import batch_rules

DEMO = "SMS Spam Collection"


def run(
    files: list[str],
    reading: TrainingInput,
    learners: Learners,
    tasks: Tasks,
    features: Given,
    memory: Given,
    output: Output,
) -> None:
    """Compare all learners on all tasks, and show the results."""
    start = perf_counter()
    boxes, online = _split_rules(learners.rules)
    chosen = RuleSettings.parse(online, learners.settings, memory)
    options = {**features.changed, **chosen.texts}
    check_text_options(options, "compare")
    candidates = _candidates(chosen, boxes, learners)
    joined = _joined(reading, tasks)
    datasets = _read_tasks(files, tasks, reading)
    test = read_dataset(tasks.test, reading, ", ".join(tasks.test)) if tasks.test else None
    protocol = Protocol(tasks.name, tasks.folds, learners.passes, tasks.seed, tasks.shuffle)
    comparisons = []
    with show_progress(output.quiet) as progress:
        for dataset in datasets:
            _check_features(options, dataset)
            runner = Runner(dataset, options, output.jobs or -1, progress)
            entered = type_class_weights(candidates, dataset)
            if learners.default:
                columns = {} if reading.table is None else {"columns": reading.table}
                own = {**options, **columns}
                usual = default_candidate(dataset.has_texts, own, memory.changed)
                entered = [usual, *entered]
            comparisons.append(compare(runner, entered, protocol, test))
    seconds = perf_counter() - start
    _show(Results(comparisons, tasks.describe(), tasks.seed, seconds, joined), output)


def _split_rules(given: list[str] | None) -> tuple[list[str], list[str] | None]:
    """The boxes among the rules to compare, and the others; None for all of these."""
    words = split_words(given)
    boxes = [name for name in batch_rules() if not words or name in map(str.lower, words)]
    others = [word for word in words if word.lower() not in batch_rules()]
    return boxes, others if words else None


def _joined(reading: TrainingInput, tasks: Tasks) -> list[str]:
    """The columns of texts that are joined for learners of one text, if there are several."""
    if reading.table is None:
        return []
    if tasks.demo:
        raise InvalidParameter("--demo brings its own rows; leave out what names their columns")
    if not reading.texts:
        raise InvalidParameter(
            "compare gives most learners the columns of texts as one text, and there are none; "
            "name one (--text)"
        )
    return reading.texts


def _candidates(chosen: RuleSettings, boxes: list[str], learners: Learners) -> list[Candidate]:
    """The rules and the baselines that take part; all settings are checked."""
    wanted = tuple(dict.fromkeys(split_words(learners.covariances))) or ("diagonal-kl",)
    words = [word.lower() for word in split_words(learners.baselines)] or list(BASELINES)
    if words == ["none"]:
        words = []
    _check_words("covariance", wanted, COVARIANCES)
    _check_words("baseline", words, BASELINES, ", or none")
    online = rule_candidates(chosen.names, wanted, chosen.fixed)
    check_candidates(online)
    return [*online, *box_candidates(boxes), *baseline_candidates(dict.fromkeys(words))]


def _check_words(what: str, words: Iterable[str], known: Sequence[str], more: str = "") -> None:
    for word in words:
        if word not in known:
            raise InvalidParameter(
                f"--{what}s: there is no {what} {word!r}; there are {', '.join(known)}{more}"
            )


def _read_tasks(files: list[str], tasks: Tasks, reading: TrainingInput) -> list[Dataset]:
    """The rows to compare on, as one task or several."""
    if tasks.demo:
        texts, labels = (pa.array(each, pa.large_string()) for each in sms_spam())
        return [Dataset(DEMO, Batch(text=texts, label=labels))]
    if not tasks.each:
        name = Path(files[0]).name if len(files) == 1 else f"{len(files)} inputs"
        return [read_dataset(files, reading, "stdin" if files == ["-"] else name)]
    found = find_files(files)
    stems = [Path(file).name.partition(".")[0] or file for file in found]
    unique = len(set(stems)) == len(stems)
    return [
        read_dataset([file], reading, stem if unique else file)
        for file, stem in zip(found, stems, strict=True)
    ]


def _check_features(options: dict[str, Any], dataset: Dataset) -> None:
    """Refuse options of texts that do not fit the rows."""
    check_no_texts(options, dataset)
    if options.get("weighting") == "nb" and dataset.classes.size > 2:
        raise InvalidParameter(
            f"--weighting nb compares two classes, but {dataset.name} has {dataset.classes.size}; "
            "choose idf or none"
        )


def _show(results: Results, output: Output) -> None:
    """Write the files, and print the table."""
    if output.path is not None:
        write = as_json if output.path.lower().endswith(".json") else as_csv
        with atomic_write(output.path) as file:
            file.write(write(results).encode("utf-8"))
    if output.plot is not None:
        from sureline.evaluation.plots import compare_figure

        compare_figure(results.rows(), output.plot)
    name = "json" if output.json else output.output_format
    if name != "table":
        print(escape_controls(WRITERS[name](results)), end="")
    else:
        show(render(results, result_console().width))
