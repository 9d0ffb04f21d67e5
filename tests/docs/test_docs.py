"""What the documentation shows is run: its code, its example of a new rule, its lists of names."""

import importlib
import importlib.util
import inspect
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pages import ROOT, blocks, text
from typer.testing import CliRunner

import sureline
from sureline import data, estimators, evaluation
from sureline.cli import build_app
from sureline.cli.program import COMMANDS
from sureline.estimators import PAClassifier, classifier_for
from sureline.rules import Rule, batch_rules, registry, rules

PAGES = [
    "README.md",
    "docs/index.md",
    "docs/quickstart.md",
    "docs/tables.md",
    "docs/text.md",
    "docs/weighting.md",
    "docs/serve.md",
    "docs/files.md",
    "docs/model-file.md",
    "docs/merging.md",
    "docs/evaluation.md",
    "docs/audit.md",
    "docs/report.md",
    "docs/concepts.md",
    "docs/many-classes.md",
    "docs/box.md",
]
DOCS = sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
WITH_COMMANDS = ["README.md", "docs/index.md", "docs/quickstart.md"]
CLASSIFIERS = [name for name in sureline.__all__ if name.endswith("Classifier")]


def python_files() -> list[Path]:
    folders = ("benchmarks", "docs", "experiments", "src", "tests", "tools")
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]


@pytest.fixture
def rule_pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rule_pages", ROOT / "docs/rule_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def contributed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rule]:
    """The rule that CONTRIBUTING shows, registered for the length of one test."""
    (tmp_path / "contributed_rule.py").write_text(blocks("CONTRIBUTING.md")[0].code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    before = dict(registry._rules)
    try:
        importlib.import_module("contributed_rule")
        yield rules()["pa-margin"]
    finally:
        for name in set(registry._rules) - set(before):
            if registry._rules[name].module == "contributed_rule":
                del registry._rules[name]
        sys.modules.pop("contributed_rule", None)
        classifier_for.cache_clear()
        estimators._made.cache_clear()


@pytest.fixture
def plain_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands print as they do into a pipe."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("page", PAGES)
def test_code_on_a_page_prints_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found, names = blocks(page), dict[str, Any]()
    assert found
    for block in found:
        assert block.run(names) == block.printed, f"{page}, line {block.line}"


@pytest.mark.usefixtures("plain_screen")
@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_commands_on_a_page_print_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks("docs/quickstart.md")[0].run({})  # writes the files that the commands read
    found = [block for block in blocks(page, "sh") if "sureline " in block.code]
    assert found
    for block in found:
        printed = []
        for command in block.code.splitlines():
            name, *arguments = shlex.split(command, comments=True)
            assert name == "sureline"
            done = CliRunner().invoke(build_app(), arguments)
            assert done.exit_code == 0, f"{command}: {done.stderr}"
            printed += done.stdout.splitlines()
        if block.printed:
            # How long it took is another number each time, so pages leave it out.
            lasting = [line for line in printed if not line.startswith("seconds ")]
            assert lasting == block.printed.splitlines(), f"{page}, line {block.line}"


@pytest.mark.usefixtures("plain_screen")
def test_readme_shows_what_the_demo_prints() -> None:
    shown = re.search(r"^`make demo` .*?^```text\n(.*?)^```$", text("README.md"), re.M | re.S)
    assert shown is not None
    assert CliRunner().invoke(build_app(), ["demo"]).stdout.startswith(shown[1])


@pytest.mark.slow
def test_the_speed_on_a_page_can_be_measured() -> None:
    (command, _), *_ = [
        block.code.splitlines() for block in blocks("docs/text.md", "sh") if "speed" in block.code
    ]
    python, script, option, _ = command.split()
    assert python == "python"
    done = subprocess.run(
        [sys.executable, ROOT / script, option, "1"], capture_output=True, text=True, check=True
    )
    for name in ("CountVectorizer", "HashingVectorizer", "TextFeatures, a column each"):
        assert name in done.stdout


def test_contributed_rule_is_optimal(contributed: Rule) -> None:
    rng = np.random.default_rng(0)
    assert contributed.step is not None
    assert contributed.residual is not None
    for _ in range(1000):
        m, (v, C, rho) = 3.0 * rng.normal(), np.exp(2.0 * rng.normal(size=3))
        t, E = contributed.step(m, v, 1.0, C, rho)
        assert contributed.residual(m, v, t, E, C, rho) < 1e-12
        assert (t > 0.0) == (m < rho)


def test_contributed_rule_has_a_working_class(contributed: Rule) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 4)), rng.integers(0, 2, 50)
    made = classifier_for("pa-margin")
    assert made is sureline.PAMarginClassifier
    assert made is not classifier_for("pa-i")
    for labels in (y, np.arange(50) % 3):
        ours = made(C=0.3, random_state=0).fit(X, labels)
        theirs = PAClassifier(variant=1, C=0.3, random_state=0).fit(X, labels)
        np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    assert not hasattr(ours, "predict_proba")
    assert "The required margin." in made.__doc__
    with pytest.raises(sureline.InvalidParameter, match=r"rho must be a number in \(0, inf\)"):
        made(rho=-1.0).fit(X, y)
    usage = blocks("CONTRIBUTING.md")[1]
    assert usage.run({}) == usage.printed


def test_contributed_rule_gets_a_page(
    contributed: Rule, rule_pages: ModuleType, tmp_path: Path
) -> None:
    rule_pages.write_pages(tmp_path / "pages")
    page = (tmp_path / "pages/pa-margin.md").read_text("utf-8")
    assert "PAMarginClassifier" in page
    assert "[`pa-margin`](pa-margin.md)" in (tmp_path / "pages/index.md").read_text("utf-8")


def test_contributed_rule_is_gone_after_its_test() -> None:
    assert "pa-margin" not in rules()
    assert not hasattr(sureline, "PAMarginClassifier")


def test_every_rule_has_a_page_with_its_source(rule_pages: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "of-a-rule-now-gone.md").write_text("old")
    rule_pages.write_pages(tmp_path)
    assert {path.stem for path in tmp_path.glob("*.md")} == {"index", *rules(), *batch_rules()}
    for name, rule in batch_rules().items():
        page = (tmp_path / f"{name}.md").read_text("utf-8")
        for function in (rule.prox, rule.primal, rule.cost, rule.residual, rule.primal_residual):
            assert page.count(inspect.getsource(function).rstrip()) == 1
        assert rule.estimator in page
        assert page.count("\n1. ") == 1
    for name, rule in rules().items():
        page = (tmp_path / f"{name}.md").read_text("utf-8")
        functions = [rule.step, rule.exact, rule.residual, rule.exact_residual]
        functions += [*rule.joint.values(), *rule.inlined]
        if rule.kernel is not None:
            functions += [rule.kernel.score, rule.kernel.update, rule.kernel.slots]
        for function in filter(None, functions):
            assert page.count(inspect.getsource(function).rstrip()) == 1
        for scheme, kept in rule.schemes.items():
            assert (f"\n| `{scheme}` |" in page) == (rule.several and bool(kept))
        for choice in rule.choices:
            assert f"\n| `{choice}` |" in page
        assert page.count("\n1. ") == bool(rule.paragraphs("Differs"))
        assert rule.estimator in page


def test_table_of_rules_shows_every_combination(rule_pages: ModuleType) -> None:
    combinations, _ = rule_pages.index_page(rules()).split("## The weight of an example")
    lines, shown = combinations.splitlines(), set()
    for name in rules():
        (row,) = [line for line in lines if line.startswith(f"| [`{name}`]")]
        marks = [cell.strip() for cell in row.split("|")[3:-1]]
        for covariance, mark in zip([*registry.COVARIANCES, "identity"], marks, strict=True):
            shown |= {(name, covariance, letter) for letter in mark.split() if letter != "–"}
    letters = {"sequential": "S", "parallel": "P", "exact": "E", "one-vs-rest": "O"}
    assert shown == {
        (name, covariance, "1" if scheme == "sequential" and not rule.several else letters[scheme])
        for name, rule in rules().items()
        for scheme, kept in rule.schemes.items()
        for covariance in kept
    }


def test_table_of_weights_says_what_one_means_for_every_rule(rule_pages: ModuleType) -> None:
    rows = {row[0].split("`")[1]: row[1:] for row in rule_pages.weights(rules())}
    assert set(rows) == set(rules())
    assert all(re.search(r"weight", told) for _, told in rows.values())
    assert rows["arow"] == [
        "a cost",
        "A weight c multiplies the two costs, which is r/c in place of r.",
    ]
    shares = {name for name, (kind, _) in rows.items() if kind.startswith("a share")}
    assert shares == {"cw-stdev", "cw-variance"}


@pytest.mark.parametrize(
    ("page", "names"),
    [
        (
            "docs/api.rst",
            sorted(
                {*sureline.__all__, *evaluation.__all__, *data.__all__, "PACBayesBound"}
                - {"__version__"}
            ),
        ),
        ("README.md", CLASSIFIERS),
        ("CHANGELOG.md", CLASSIFIERS),
    ],
)
def test_page_names_every_public_class(page: str, names: list[str]) -> None:
    assert [name for name in names if not re.search(rf"\b{name}\b", text(page))] == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *DOCS])
def test_page_names_files_that_exist(page: str) -> None:
    named = set(re.findall(r"`([\w./-]+\.py)`", text(page)))
    files = [f"/{path.relative_to(ROOT).as_posix()}" for path in python_files()]
    missing = {name for name in named if not any(file.endswith(f"/{name}") for file in files)}
    assert missing == ({"src/sureline/rules/pa_margin.py"} if page == "CONTRIBUTING.md" else set())


def test_the_table_of_commands_is_complete() -> None:
    """`reproduce` was missing."""
    table = re.findall(r"^\| \[?`(\w+)`", text("docs/cli.md"), re.M)
    assert table == list(COMMANDS)


def test_make_help_lists_every_target() -> None:
    make = shutil.which("make")
    if make is None:
        pytest.skip("there is no make")
    command = [make, "--no-print-directory", "help"]  # make may have started the tests itself
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    listed = [line.split()[1] for line in done.stdout.splitlines()]
    targets = re.search(r"^\.PHONY: (.*)$", text("Makefile"), re.M)
    assert targets is not None
    assert sorted(listed) == sorted(targets[1].split())


def test_no_list_of_the_front_page_is_split_by_a_blank_line() -> None:
    assert not re.search(r"\n(- |  )[^\n]*\n\n- ", text("README.md"))


def test_version_is_the_same_everywhere() -> None:
    assert f"\nversion: {sureline.__version__}\n" in text("CITATION.cff")
    assert f"\n## [{sureline.__version__}]" in text("CHANGELOG.md")
