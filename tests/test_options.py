"""Every declared option reaches the Python class, the command line, Spark, the model file, docs."""

import dataclasses
import inspect
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_origin

import pytest
import typer.main
from typer.testing import CliRunner

import sureline
from sureline import AROWClassifier, InvalidParameter, TextClassifier, TextFeatures, options
from sureline.cli import build_app
from sureline.cli.settings import settable
from sureline.cli.values import write_value
from sureline.declaration import Option, declared, validate
from sureline.rules import rules

# Who offers the options of each group, and the command that has their flags.
OWNERS: dict[type, tuple[type, str | None]] = {
    options.TextOptions: (TextClassifier, "train"),
    options.TextLearningOptions: (TextClassifier, "train"),
    options.TextFeaturesOptions: (TextFeatures, "compare"),
    options.OnlineOptions: (AROWClassifier, "train"),
    options.CovarianceOptions: (AROWClassifier, None),
}
EVERY = [(group, option) for group in OWNERS for option in declared(group).values()]
FLAGGED = [each for each in EVERY if each[1].flag is not None]
DOCS = Path(__file__).parents[1] / "docs"
TEXTS = ["win a free prize", "Free money now, the prize", "lunch at noon", "see you at lunch"] * 10
LABELS = ["spam", "spam", "ham", "ham"] * 10


def named(group_and_option: Any) -> str:
    group, option = group_and_option
    return f"{group.__name__}.{option.name}"


def walk(cases: list[Any]) -> Any:
    return pytest.mark.parametrize(("group", "option"), cases, ids=map(named, cases))


def another(option: Option) -> Any:
    """An allowed value that is not the default."""
    if option.name == "random_state":
        return 7
    if option.name == "n_jobs":
        return 2
    if option.name == "max_features":
        return 1000
    if option.name == "drift":
        return options.Drift(memory=2)
    if option.default == "auto" and int in option.kinds:
        return 3
    kind = option.kinds[0]
    if option.optional and option.default is not None:
        return None if option.name == "calibration" else another_choice(option)
    if option.choices and option.name != "competitors":
        return another_choice(option)
    if kind is bool:
        return not option.default
    if get_origin(kind) is tuple:
        return (2, 3)
    if get_origin(kind) is Sequence:
        return ["the"]
    return option.default / 2 if kind is float else option.default + 1


def another_choice(option: Option) -> Any:
    others = [choice for choice in option.choices if choice != option.default]
    return others[-1] if others else (2, 3)


def test_every_group_of_options_is_walked():
    groups = {each for each in vars(options).values() if dataclasses.is_dataclass(each)}
    bases = {base for group in OWNERS for base in group.__mro__}
    groups -= {options.Drift}  # the settings of an option
    assert {each for each in groups if each.__module__ == options.__name__} <= bases


@walk(EVERY)
def test_python_has_the_option_with_its_default_and_its_sentence(group, option):
    owner, _ = OWNERS[group]
    parameter = inspect.signature(owner).parameters[option.name]
    assert parameter.default == option.default or parameter.default is option.default
    assert f"{option.name} : " in (owner.__doc__ or "")
    assert option.meaning in (owner.__doc__ or "")
    assert option.none in (owner.__doc__ or "")
    assert option.meaning.rstrip().endswith(".")


@walk(EVERY)
def test_python_refuses_what_is_not_allowed(group, option):
    owner, _ = OWNERS[group]
    wrong = object()
    texts = owner is not AROWClassifier
    X = TEXTS if texts else [[float(i % 2), 1.0] for i in range(40)]
    with pytest.raises(ValueError, match=r".") as caught:
        owner(**{option.name: wrong}).fit(X, LABELS)
    if option.name in ("random_state", "class_weight", "columns"):  # checked where they are used
        return
    expected = f"{owner.__name__}: {option.name} must be {option.allowed}, got {wrong!r}"
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("bits", 0),
        ("bits", 31),
        ("bits", True),
        ("min_length", 1.0),
        ("max_features", 0),
        ("ngrams", (2, 1)),
        ("ngrams", (1, 17)),
        ("ngrams", (1,)),
        ("chars", "12"),
        ("chars", (0, 1)),
        ("stop_words", [1]),
        ("lowercase", 1),
        ("counts", "many"),
    ],
)
def test_ranges_are_checked(name, wrong):
    with pytest.raises(InvalidParameter, match=f"TextClassifier: {name} must be .*got "):
        TextClassifier(**{name: wrong}).fit(TEXTS, LABELS)


def test_all_defaults_are_allowed():
    for owner, _ in OWNERS.values():
        validate(owner())


@walk(EVERY)
def test_the_option_is_kept_in_the_model_file(group, option, tmp_path):
    owner, _ = OWNERS[group]
    value = {"text": "text", "sender": "category"} if option.name == "columns" else another(option)
    given = {option.name: value}
    if option.name == "class_weight":
        given = {"class_weight": {"spam": 2.0}}
    if option.name in ("random_state", "n_jobs"):
        given["shuffle"] = True
    if owner is AROWClassifier:
        X: Any = [[float(i % 4 < 2), 1.0] for i in range(40)]
    else:
        X = (
            [{"text": text, "sender": "me"} for text in TEXTS]
            if option.name == "columns"
            else TEXTS
        )
    if owner is TextFeatures:
        given.pop("shuffle", None)
    if option.name == "device":  # learning needs a GPU, nothing else does
        model = owner(covariance="full").fit(X, LABELS).set_params(**given)
    else:
        model = owner(**given).fit(X, LABELS)
    model.save(tmp_path / "m.sureline")
    loaded = sureline.load(tmp_path / "m.sureline")
    assert getattr(loaded, option.name) == given[option.name]
    assert loaded.get_params(deep=False).keys() == model.get_params(deep=False).keys()


def command_parameters(name: str) -> dict[str, Any]:
    command: Any = typer.main.get_command(build_app())
    return {each.name: each for each in command.commands[name].params}


@walk(FLAGGED)
def test_the_command_line_has_the_flag_with_its_default_and_its_sentence(group, option):
    _, command = OWNERS[group]
    assert command is not None
    parameter = command_parameters(command)[option.name]
    flag = option.flag
    assert flag.name in (*parameter.opts, *parameter.secondary_opts)
    expected = option.default if flag.default is None else flag.default
    if isinstance(parameter.default, str):
        expected = write_value(expected)
    if option.name == "drift":  # the default depends on what is read; the sentence names both
        expected = None
        assert "Default: auto for texts" in parameter.help
    assert parameter.default == expected
    assert parameter.help.startswith(flag.help or option.meaning.replace("``", ""))


def test_what_has_no_flag_is_set_by_name():
    known = settable(rules()["arow"])
    not_for_streams = {"early_stopping", "validation_fraction", "n_iter_no_change"}
    flags = {"columns"} | {option.name for _, option in FLAGGED}
    for group, option in EVERY:
        if group is not options.TextFeaturesOptions and option.flag is None:
            assert (option.name in known) == (option.name not in not_for_streams | flags)


@walk([each for each in FLAGGED if OWNERS[each[0]][1] == "train"])
def test_the_command_line_passes_the_value_on(group, option, tmp_path):
    rows = "".join(f'"{text}",{label}\n' for text, label in zip(TEXTS, LABELS, strict=True))
    (tmp_path / "rows.csv").write_text("text,label\n" + rows)
    value = another(option)
    words = [option.flag.name]
    if not isinstance(value, bool):
        words.append(write_value(value))
    if option.name == "stop_words":
        words[1] = str(tmp_path / "stops.txt")
        Path(words[1]).write_text("the\n")
    if option.name == "drift":
        words.append("--no-shuffle")
    model = str(tmp_path / "m.sureline")
    arguments = ["train", str(tmp_path / "rows.csv"), "-q", "-o", model, *words]
    result = CliRunner().invoke(build_app(), arguments)
    assert result.exit_code == 0, result.output
    loaded = sureline.load(model)
    holder = loaded if hasattr(loaded, option.name) else loaded.estimator_
    assert getattr(holder, option.name) == value


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--bits", "31"], "--bits must be a whole number from 1 to 30, got 31"),
        (["--min-count", "0"], "--min-count must be a whole number of at least 1, got 0"),
        (["--passes", "0"], "--passes must be 'auto' or a whole number of at least 1, got 0"),
        (["--seed", "-1"], "--seed must be a whole number from 0 to 4294967295, got -1"),
        (["--weighting", "tf"], "--weighting must be none, auto, idf or nb, got 'tf'"),
        (
            ["--ngrams", "2,1"],
            "--ngrams must be two whole numbers from 1 to 16 in order, such as 1,2 or none, got "
            "2,1",
        ),
        (
            ["--chars", "2,1"],
            "--chars must be two whole numbers from 1 to 16 in order, such as 1,2, auto or none, "
            "got 2,1",
        ),
    ],
)
def test_the_command_line_names_the_flag_that_is_wrong(words, message):
    result = CliRunner().invoke(build_app(), ["train", "x.csv", "-o", "m.sureline", *words])
    assert isinstance(result.exception, InvalidParameter)
    assert str(result.exception) == message


@walk(EVERY)
def test_spark_has_the_option(group, option):
    params = pytest.importorskip("sureline.spark.params")
    if group in (options.TextFeaturesOptions, options.TextLearningOptions):
        return  # the first is no part of Spark's stages; the second is its own rounds and seed
    if option.name in params.NOT_DISTRIBUTED:
        return
    name = params.ELSEWHERE.get(option.name, params.camel(option.name))
    param = getattr(params.Parameters, name)
    assert param.name == name
    if option.name not in params.ELSEWHERE:
        assert option.meaning.replace("`", "") in param.doc
        assert hasattr(params.Parameters, f"set{name[0].upper()}{name[1:]}")


@walk(FLAGGED)
def test_the_documentation_of_the_command_line_names_the_flag(group, option):
    assert option.flag.name in (DOCS / "cli.md").read_text(encoding="utf-8")


def test_ranges_in_words():
    made = {each.name: each.allowed for each in declared(options.FeatureOptions).values()}
    assert made["bits"] == "a whole number from 1 to 30"
    assert made["max_features"] == "a whole number of at least 1 or None"
    assert made["counts"] == "'binary', 'counts' or 'log'"
    assert Option("share", float, 0.5, "", low=0.0, high=math.inf).allowed == "a number in (0, inf)"
