"""The command line: what it prints, where, and the exit codes."""

import io
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from time import perf_counter
from types import ModuleType

import numpy as np
import pytest
import typer
from rich.console import Console
from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

import sureline
from sureline import TextClassifier
from sureline.cli import build_app, main, program
from sureline.cli.demo.render import render
from sureline.cli.demo.results import Compilations, collect_results
from sureline.data import sms_spam
from sureline.estimators.validation import choose_learner, choose_rule
from sureline.rules import COVARIANCES, Parameter, Rule, batch_rules, rules

HEAVY = {"numpy", "scipy", "sklearn", "numba", "pyarrow"}


@pytest.fixture(autouse=True)
def _plain_screen(monkeypatch):
    """A screen of 80 columns without colour, whatever the terminal of whoever runs the tests."""
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "SURELINE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(build_app(), arguments)
    return result.exit_code, result.stdout


def cli(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "sureline.cli", *arguments]


# -- the program -------------------------------------------------------------------------------


def test_the_installed_command_is_main():
    [command] = entry_points(group="console_scripts", name="sureline")
    assert command.load() is main


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr() == (f"sureline {sureline.__version__}\n", "")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands_and_nothing_given_asks_for_it(arguments, capsys):
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "Usage: sureline [OPTIONS] COMMAND" in out
    assert {*COMMANDS, "--version", "--help", "--install-completion"} <= set(out.split())


COMMANDS = ["train", "predict", "evaluate", "explain", "inspect", "merge", "rules", "demo"]
COMMANDS += ["compare", "tune", "reproduce", "audit"]


def words_of(help_text: str) -> str:
    """A help page without its boxes and the names of types, which Typer's versions draw apart."""
    text = re.sub(r"<[\w\[\]]*>|[╭╮╰╯│─]", " ", help_text)
    return " ".join(text.split()) + "\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_listed_with_the_first_sentence_of_their_help(command):
    module, sentence = program.COMMANDS[command]
    found = getattr(import_module(module), command).__doc__
    assert found.partition("\n\n")[0] == sentence


def test_the_list_of_commands_imports_none_of_them(capfd):
    code = (
        "import sys, typer.rich_utils; before = {*sys.modules}; from sureline.cli import main; "
        "main(['--help']); print(*{*sys.modules} - before)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    modules = capfd.readouterr().out.splitlines()[-1].split()
    assert "sureline.cli.program" in modules
    assert not {"sureline.cli.groups", "sureline.cli.train", "json", "numpy"} & set(modules)


def test_completion_knows_the_options_of_commands(capfd):
    typed = {"COMP_WORDS": "sureline train --pas", "COMP_CWORD": "2"}
    environment = {**os.environ, **typed, "_SURELINE_COMPLETE": "complete_bash"}
    code = "import sys; from sureline.cli import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert "--passes" in capfd.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    """Kept whole in a file; to write the files anew, set SURELINE_WRITE_HELP.

    They are laid out as Typer does since 0.29.
    """
    code, out = run(command, "--help")
    assert code == 0
    assert "--json" in out
    pages = {command: out}
    if "--help-all" in out:
        code, pages[f"{command}-all"] = run(command, "--help-all")
        assert code == 0
        assert len(pages[f"{command}-all"]) > len(out)
    if [int(part) for part in typer.__version__.split(".")[:2]] < [0, 29]:
        pytest.skip("this version of Typer lays help out in another way")
    for name, page_ in pages.items():
        kept = Path(__file__).with_name("help") / f"{name}.txt"
        if "SURELINE_WRITE_HELP" in os.environ:
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(words_of(page_), encoding="utf-8")
        assert words_of(page_) == kept.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_no_option_without_a_value_is_shown_with_one(command):
    """--quiet <bool> invited --quiet true."""
    assert "<" not in run(*filter(None, [command]), "--help")[1].replace("<=", "")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("predict m x.csv --text a --text b", "--text"),
        ("evaluate m x.csv --label=a --label=b", "--label"),
        ("train x.csv -o m -o n", "--output"),
        ("explain m text --top 1 --top 2", "--top"),
    ],
)
def test_an_option_that_is_given_twice_does_not_lose_a_value(words, option, capsys):
    assert main(words.split()) == 2
    assert capsys.readouterr().err.startswith(f"sureline: {option} was given more than once; ")


def test_audit_reads_one_column_and_refuses_several(capsys, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b,label\nx,y,0\nz,w,1\n")
    assert main(["audit", str(path), "--text", "a", "--text", "b"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "--text was given 2 times, but this command reads one column of texts" in said


def test_help_shows_few_options_again_after_all_were_shown():
    assert "--encoding" not in run("train", "--help")[1]
    assert "--encoding" in run("train", "--help-all")[1]
    assert "--encoding" not in run("train", "--help")[1]


def complete(words: str, monkeypatch, capsys) -> list[str]:
    """What bash would offer after these words."""
    monkeypatch.setenv("_SURELINE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    with pytest.raises(SystemExit):
        main([])
    return capsys.readouterr().out.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("sureline tr", ["train"]),
        ("sureline train --rule ar", ["arow"]),
        ("sureline train --format s", ["svmlight"]),
        ("sureline train --label-type t", ["text"]),
        ("sureline train --enc", ["--encoding"]),
        ("sureline train --weighting n", ["nb", "none"]),
        ("sureline train --set sch", ["scheme="]),
        ("sureline train --rule pa-i --set s", ["slack=", "scheme="]),
        ("sureline train --rule nonsense --set s", []),
        ("sureline merge --how p", ["product", "product-prior"]),
        ("sureline predict --output-format p", ["parquet"]),
    ],
)
def test_the_shell_completes(words, offered, monkeypatch, capsys):
    assert complete(words, monkeypatch, capsys) == offered


def test_errors_of_the_system_are_one_line_and_exit_2(monkeypatch, capsys):
    problem = OSError(28, "No space left on device", "somewhere")
    monkeypatch.setattr("sureline.rules.rules", failing(problem))
    assert main(["rules"]) == 2
    assert capsys.readouterr() == ("", "sureline: somewhere: No space left on device\n")
    monkeypatch.setattr("sureline.rules.rules", failing(MemoryError()))
    assert main(["rules"]) == 2
    assert capsys.readouterr() == (
        "",
        "sureline: there is not enough memory; use fewer features or a smaller --buffer\n",
    )


def test_help_imports_nothing_heavy():
    program = (
        "import sys; from sureline.cli import main; code = main(['--help']); "
        "print(code, *sorted(set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    code, *modules = done.stderr.split()
    assert code == "0"
    assert not HEAVY & set(modules)


def test_the_reader_of_a_pipe_may_leave():
    for arguments in (["rules"], ["rules", "--json"], ["--help"]):
        process = subprocess.Popen(cli(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        with process.stderr as stderr:
            assert stderr.read() == b""
        assert process.wait() == 141


def test_a_terminal_that_lacks_letters_gets_question_marks():
    done = subprocess.run(
        cli("rules", "pa"), capture_output=True, env=os.environ | {"PYTHONIOENCODING": "ascii"}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"y w?x ? 1" in done.stdout


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["demoo"], "No such command 'demoo'. Did you mean 'demo'?"),
        (["rules", "arow", "pa"], "unexpected extra argument"),
        (["demo", "--jsn"], "No such option"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(arguments, words, capsys):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("sureline: ")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("arw", "did you mean arow?"),
        ("SCW", "did you mean scw-i or scw-ii?"),
        ("", "sureline rules lists them all"),
        ("random forest", "sureline rules lists them all"),
    ],
)
def test_an_unknown_rule_is_answered_by_those_like_it(name, hint, capsys):
    assert main(["rules", name]) == 2
    assert capsys.readouterr() == ("", f"sureline: there is no rule named {name!r}; {hint}\n")


def failing(error: BaseException):
    def rules() -> dict[str, Rule]:
        raise error

    return rules


def test_an_internal_error_is_one_line_and_exit_1(monkeypatch, capsys):
    monkeypatch.setattr("sureline.rules.rules", failing(RuntimeError("it broke\nin two")))
    assert main(["rules"]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        "sureline: internal error: RuntimeError: it broke in two; this is a bug in sureline: run "
        "the command again with SURELINE_DEBUG=1 set, and report what it prints\n",
    )


def test_the_traceback_of_an_internal_error_can_be_asked_for(monkeypatch, capsys):
    monkeypatch.setenv("SURELINE_DEBUG", "1")
    monkeypatch.setattr("sureline.rules.rules", failing(RuntimeError("it broke")))
    assert main(["rules"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("Traceback (most recent call last)")
    assert "sureline: internal error: RuntimeError: it broke; this is a bug" in err


def test_an_interruption_is_silent_and_exit_130(monkeypatch, capsys):
    monkeypatch.setattr("sureline.rules.rules", failing(KeyboardInterrupt()))
    assert main(["rules"]) == 130
    out, err = capsys.readouterr()
    assert (out, err.strip()) == ("", "")


def test_a_command_that_leaves_on_its_own_account_does_leave(monkeypatch):
    monkeypatch.setattr("sureline.rules.rules", failing(SystemExit(7)))
    with pytest.raises(SystemExit, match="7"):
        main(["rules"])


# -- rules -------------------------------------------------------------------------------------

HEAD = """The made-up rule (MU).

Problem: argmin ½‖w‖² subject to
y w·x ≥ 1.

Symbols: w, the weights.

Differs: not at all.

Differs: but for this one sentence, which is long enough to show that lines are wrapped.

Cite: Nobody. Never.
"""


@pytest.fixture
def made_up(monkeypatch):
    """One rule that no file holds, so that whole outputs can be compared."""
    module = ModuleType("made_up_rule", HEAD)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    rule = Rule(
        module=module.__name__,
        name="made-up",
        estimator="MadeUpClassifier",
        settings={"variant": "x", "level": 2, "average": False},
        parameters=(
            Parameter("C", 1.5, 0.0, float("inf"), "What it costs."),
            Parameter("share", 0.5, 0.0, 1.0, "How much of it.", closed="left"),
        ),
        choices={"mood": ("good", "bad")},
        covariances=("diagonal-kl", "full"),
        parallel=True,
    )
    monkeypatch.setattr("sureline.rules.rules", lambda: {rule.name: rule})
    monkeypatch.setattr("sureline.rules.batch_rules", dict)


@pytest.mark.usefixtures("made_up")
def test_the_table_of_rules():
    assert run("rules") == (
        0,
        """
 rule     title, class, parameters (default, range), covariances
 ───────────────────────────────────────────────────────────────
 made-up  The made-up rule (MU)
          MadeUpClassifier(variant="x", level=2, average=False)
          C = 1.5 in (0, inf)
          share = 0.5 in [0, 1)
          mood = good or bad
          diagonal-kl, full

""",
    )


@pytest.mark.usefixtures("made_up")
def test_one_rule_in_full():
    assert run("rules", "made-up") == (
        0,
        """made-up: The made-up rule (MU)

call         MadeUpClassifier(variant="x", level=2, average=False)
parameters   C = 1.5 in (0, inf): What it costs.
             share = 0.5 in [0, 1): How much of it.
             mood = good or bad
covariances  diagonal-kl, full
schemes      sequential with diagonal-kl, full
             parallel with diagonal-kl
             one-vs-rest with diagonal-kl, full
problem      argmin ½‖w‖² subject to y w·x ≥ 1.
symbols      w, the weights.
differences  not at all.
             but for this one sentence, which is long enough to show that lines
             are wrapped.
citations    Nobody. Never.
""",
    )


@pytest.mark.usefixtures("made_up")
def test_rules_for_machines():
    one = {
        "name": "made-up",
        "title": "The made-up rule (MU)",
        "call": 'MadeUpClassifier(variant="x", level=2, average=False)',
        "estimator": "MadeUpClassifier",
        "settings": {"variant": "x", "level": 2, "average": False},
        "parameters": [
            {
                "name": "C",
                "default": 1.5,
                "interval": "(0, inf)",
                "auto": False,
                "low": 0.0,
                "high": None,
                "closed": "neither",
                "meaning": "What it costs.",
            },
            {
                "name": "share",
                "default": 0.5,
                "interval": "[0, 1)",
                "auto": False,
                "low": 0.0,
                "high": 1.0,
                "closed": "left",
                "meaning": "How much of it.",
            },
        ],
        "choices": {"mood": ["good", "bad"]},
        "covariances": ["diagonal-kl", "full"],
        "schemes": {
            "sequential": ["diagonal-kl", "full"],
            "parallel": ["diagonal-kl"],
            "exact": [],
            "one-vs-rest": ["diagonal-kl", "full"],
        },
        "several": True,
        "problem": ["argmin ½‖w‖² subject to y w·x ≥ 1."],
        "symbols": ["w, the weights."],
        "differences": [
            "not at all.",
            "but for this one sentence, which is long enough to show that lines are wrapped.",
        ],
        "citations": ["Nobody. Never."],
    }
    for arguments, expected in (
        (["rules", "--json"], [one]),
        (["rules", "made-up", "--json"], one),
    ):
        code, out = run(*arguments)
        assert code == 0
        assert json.loads(out) == expected


def test_every_registered_rule_is_listed_and_its_call_makes_it():
    code, out = run("rules", "--json")
    listed = json.loads(out)
    assert code == 0
    known = {**rules(), **batch_rules()}
    assert [rule["name"] for rule in listed] == sorted(known)
    for described in listed:
        rule = known[described["name"]]
        assert described["title"] == rule.title
        assert set(described["covariances"]) <= {*COVARIANCES, "identity"}
        made = eval(described["call"], {rule.estimator: getattr(sureline, rule.estimator)})  # noqa: S307
        assert (
            made.make_solver().rule if rule.name in batch_rules() else choose_rule(made)
        ) is rule
        for parameter in described["parameters"]:
            assert getattr(made, parameter["name"]) == parameter["default"]
        for name, words in described["choices"].items():
            assert getattr(made, name) in words


def test_every_scheme_that_is_listed_exists_and_no_other():
    X, y = np.eye(3), [0, 1, 2]
    for described in json.loads(run("rules", "--json")[1]):
        made = getattr(sureline, described["estimator"])(**described["settings"])
        for scheme, kept in described["schemes"].items():
            for covariance in described["covariances"] or ["identity"]:
                if covariance != "identity":
                    made.set_params(covariance=covariance)
                rivals = 2 if described["several"] and scheme != "one-vs-rest" else 1
                made.set_params(scheme=scheme, competitors=rivals)
                if covariance in kept:
                    assert choose_learner(made).scheme == scheme
                else:
                    with pytest.raises(sureline.InvalidParameter):
                        made.fit(X, y)


@pytest.mark.parametrize("name", [*rules(), *batch_rules()])
def test_every_registered_rule_can_be_shown(name):
    code, out = run("rules", name)
    assert code == 0
    assert out.startswith(f"{name}: ")
    assert "citations" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_case_of_a_name_does_not_matter():
    assert run("rules", "AROW") == run("rules", "arow")


def test_a_rule_without_a_variance_says_so():
    out = run("rules", "pa")[1]
    assert "covariances  none: it keeps no variances\n" in out
    assert "schemes      sequential, parallel, exact, one-vs-rest\n" in out


def test_a_box_says_what_it_has_in_their_place():
    out = run("rules", "box-max")[1]
    assert "covariances  none: it keeps an interval for every weight\n" in out
    assert "schemes      none: every class against the rest, over all examples at once\n" in out


def test_a_rule_that_meets_one_rival_says_so():
    out = run("rules", "perceptron")[1]
    assert "schemes      sequential, with the strongest rival only; one-vs-rest\n" in out


# -- demo --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told() -> tuple[dict, list[str]]:
    said = list[str]()
    return collect_results(said.append, perf_counter()), said


@pytest.fixture
def facts(told) -> dict:
    return told[0]


def lasting(facts: dict[str, object]) -> dict[str, object]:
    """The facts that do not change from run to run."""
    return {k: v for k, v in facts.items() if k not in ("seconds", "functions_compiled")}


def test_the_demo_says_what_it_is_doing(told):
    _, said = told
    assert "learning" in said


def test_the_demo_counts_every_message(facts):
    texts, labels = sms_spam()
    assert facts["labels"] == {"ham": labels.count("ham"), "spam": labels.count("spam")}
    assert facts["trained"] + facts["tested"] == len(texts)
    assert facts["spam_tested"] + facts["ham_tested"] == facts["tested"]
    assert facts["errors"] == facts["spam_tested"] - facts["spam_caught"] + facts["ham_flagged"]
    assert (facts["majority"], facts["majority_errors"]) == ("ham", facts["spam_tested"])
    assert facts["passes"] >= 1


def test_the_demo_shows_what_a_text_classifier_learns(facts):
    texts, labels = sms_spam()
    train, test, y_train, y_test = train_test_split(
        texts, labels, test_size=0.3, stratify=labels, random_state=0
    )
    model = sureline.TextClassifier(random_state=0).fit(train, y_train)
    assert (facts["classifier"], facts["rule"]) == (repr(model), "arow")
    assert (facts["trained"], facts["features"]) == (len(train), model.n_features_)
    assert facts["errors"] == sum(model.predict(test) != y_test)
    for label, sign, weights in (("spam", 1, facts["for_spam"]), ("ham", -1, facts["for_ham"])):
        assert [
            (each["feature"], sign * each["weight"], each["deviation"] ** 2) for each in weights
        ] == [
            (each.feature, each.weight, pytest.approx(each.variance))
            for each in model.top_features(label, 6)
        ]
    told = facts["explanation"]
    reasons = model.explain(told["message"], top=1000).classes["spam"]
    assert [(each["text"], each["share"]) for each in told["features"]] == [
        (each.feature, each.share) for each in reasons.features
    ]
    assert told["probability"] == model.predict_proba_one(told["message"])["spam"]


def test_the_demo_is_right_about_most_spam(facts):
    assert facts["errors"] < facts["majority_errors"] / 4
    assert facts["spam_caught"] > facts["spam_tested"] / 2
    assert facts["ham_flagged"] < facts["ham_tested"] / 100


def test_the_telling_features_are_ranked_by_what_is_sure(facts):
    for sign, weights in ((1, facts["for_spam"]), (-1, facts["for_ham"])):
        sure = [sign * each["weight"] - each["deviation"] for each in weights]
        assert sure == sorted(sure, reverse=True)
        assert sure[-1] > 0
        assert all(each["deviation"] > 0 for each in weights)
    assert "txt" in [each["feature"] for each in facts["for_spam"]]


def test_the_explanation_adds_up(facts):
    told = facts["explanation"]
    texts, labels = sms_spam()
    assert labels[texts.index(told["message"])] == told["label"] == told["prediction"] == "spam"
    by_feature = sum(each["share"] for each in told["features"])
    assert by_feature + told["constant"] == pytest.approx(told["score"], abs=1e-5)
    assert sum(each["share"] for each in told["pieces"]) == pytest.approx(by_feature)
    assert "".join(each["text"] for each in told["pieces"]) == told["message"]
    model = TextClassifier(random_state=0)
    train, _, y, _ = train_test_split(texts, labels, test_size=0.3, stratify=labels, random_state=0)
    chance = model.fit(train, y).predict_proba_one(told["message"])["spam"]
    assert told["probability"] == pytest.approx(chance)
    sizes = np.abs([each["share"] for each in told["features"]])
    assert (np.diff(sizes) <= 0).all()


def test_the_parts_of_the_time_are_not_more_than_the_whole(facts):
    *parts, total = facts["seconds"].values()
    assert min(parts) >= 0
    assert sum(parts) <= total


def test_the_demo_for_machines_tells_the_same_facts_in_every_run(facts):
    code, out = run("demo", "--json")
    assert code == 0
    assert lasting(json.loads(out)) == lasting(facts)


def test_the_demo_page(facts):
    code, out = run("demo")
    lines = out.splitlines()
    assert code == 0
    assert "\x1b" not in out
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 40
    assert lines[0].startswith("SMS Spam Collection: 5,574 real text messages, 747 spam")
    assert f"  spam caught   {facts['spam_caught']} of {facts['spam_tested']}" in lines
    share = facts["errors"] / facts["tested"]
    wrong = f"  wrong         {facts['errors']} ({share:.1%}); always predicting"
    assert any(line.startswith(wrong) for line in lines)
    for each in (*facts["for_spam"], *facts["for_ham"]):
        assert f"{each['weight']:+.2f} ± {each['deviation']:.2f}  █" in out
        assert each["feature"] in out
    assert f"probability of spam is {facts['explanation']['probability']:.1%}" in out
    assert lines[-2:] == [
        f"The model is {facts['classifier']}.",
        f"More about its rule: sureline rules {facts['rule']}",
    ]


def rendered(facts: dict, *, coloured: bool, width: int = 80) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=coloured,
        color_system="standard" if coloured else None,
    )
    with console.capture() as captured:
        console.print(render(facts, coloured))
    return captured.get()


def test_telling_words_are_coloured_or_marked_by_signs(facts):
    word = max(facts["explanation"]["pieces"], key=lambda piece: piece["share"])["text"]
    assert f"*{word}*" in rendered(facts, coloured=False)
    coloured = rendered(facts, coloured=True)
    assert f"*{word}*" not in coloured
    assert f"\x1b[1;31m{word}\x1b[0m" in coloured


def test_a_narrow_screen_keeps_the_words_whole(facts):
    narrow = rendered(facts, coloured=False, width=50)
    for each in (*facts["for_spam"], *facts["for_ham"]):
        assert f" {each['feature']} " in narrow


def test_words_that_speak_for_ham_are_marked_otherwise(facts):
    told = facts["explanation"]
    turned = [{**piece, "share": -piece["share"]} for piece in told["pieces"]]
    facts = {**facts, "explanation": {**told, "pieces": turned}}
    word = min(turned, key=lambda piece: piece["share"])["text"]
    assert f"_{word}_" in rendered(facts, coloured=False)
    assert f"\x1b[1;32m{word}\x1b[0m" in rendered(facts, coloured=True)


def test_the_page_tells_a_run_that_compiled_from_one_that_loaded(facts):
    first = {**facts, "functions_compiled": 5}
    assert "compiling 5 functions, as the first run does" in rendered(first, coloured=False)
    later = {**facts, "functions_compiled": 0}
    assert "only the first run compiles them" in rendered(later, coloured=False)


def test_a_passes_count_of_several_is_told(facts):
    several = {**facts, "passes": 3}
    assert "each read 3 times" in rendered(several, coloured=False)


def test_compilations_are_counted_and_announced():
    said = list[str]()
    compilations = Compilations(said.append)
    compilations.on_start(None)
    compilations.on_end(None)
    assert (compilations.count, len(said)) == (1, 1)
