"""Compiled code: found on disk by the next process, made only where used, not remade for a rule."""

import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from cases import COMPILED, slow
from numba import types

import sureline
from sureline.kernels.code_cache import open_cache
from sureline.kernels.compiling import REAL, array, defer_signals, f8
from sureline.kernels.diagonal import LEARN_DIAGONAL
from sureline.kernels.informed_prior import SCORE_TWO
from sureline.kernels.numba_internals import compile_function
from sureline.kernels.text.vocabulary import FOLD_ROWS, LOOK_UP_ROWS

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled in this run")

LISTEN = """
import json, sys
from numba.core import event

class Listener(event.Listener):
    names = []
    def on_start(self, e):
        function = e.data["dispatcher"].py_func
        self.names.append(f"{function.__module__}.{function.__name__}")
    def on_end(self, e):
        pass

event.register("numba:compile", Listener())
"""
RULE = '''
"""A rule from elsewhere: PA with twice the margin."""
from sureline.rules.registry import Rule, register

def step(m, v, c, _a, _b):
    return max(0.0, 2.0 - m), 0.0

register(Rule(module=__name__, name="pa-twice", estimator="PATwiceClassifier", step=step,
              covariances=("identity",)))
'''


def compiled_by(code: str, cache: Path, **variables: str) -> list[str]:
    """The functions that a fresh Python process compiles while it runs `code`."""
    script = f"{LISTEN}\n{code}\nprint(json.dumps(Listener.names))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), **variables}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    names = json.loads(done.stdout.splitlines()[-1])
    return [name for name in names if name.startswith("sureline.")]  # not Numba's own builtins


FIT = """
from sureline import {0}
model = {0}({1}).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
"""


@pytest.mark.parametrize(
    ("model", "used"),
    [
        (
            ("AROWClassifier", ""),
            {"rules.arow.step", "kernels.diagonal.learn_diagonal"},
        ),
        pytest.param(
            ("CWClassifier", "covariance='diagonal-exact'"),
            {"rules.cw_stdev.step", "rules.cw_stdev.exact", "kernels.diagonal.learn_exact"},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ("SOPClassifier", ""),
            {"rules.sop.score", "rules.sop.update", "kernels.custom_rule.learn_custom"},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["diagonal", "exact", "own"],
)
def test_fit_compiles_what_it_uses_and_the_next_process_nothing(model, used, tmp_path):
    code = FIT.format(*model)
    first = {name.removeprefix("sureline.") for name in compiled_by(code, tmp_path)}
    assert used <= first
    inlined = {"shared", "dropped", "sum_row", "noise_of", "follow_error", "move_row"}
    inlined |= {"row_at", "next_row", "entry_at", "prefetch", "row_constant", "sign_of", "row_of"}
    inlined |= {"is_empty"}
    read = {"count_nonzeros", "take_nonzeros"}  # dense rows become sparse
    assert {name.rpartition(".")[2] for name in first - used} <= inlined | read
    assert compiled_by(code, tmp_path) == []


@pytest.mark.slow
def test_a_box_compiles_nothing_in_the_next_process(tmp_path):
    code = FIT.format("BoxClassifier", "tol=0.5") + "model.predict_proba([[1.0, 0.0]])"
    code += FIT.format("BoxClassifier", "tol=0.5, solver='comid'")
    assert "sureline.rules.box.max.primal" in compiled_by(code, tmp_path)
    assert compiled_by(code, tmp_path) == []


@pytest.mark.slow
def test_a_new_rule_compiles_its_own_step_and_nothing_else(tmp_path):
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "pa_twice.py").write_text(RULE)
    cache = tmp_path / "cache"
    compiled_by(FIT.format("PAClassifier", ""), cache)
    code = f"import sureline.rules; sureline.rules.__path__.append({str(folder)!r})"
    again = code + FIT.format("PATwiceClassifier", "")
    assert compiled_by(again, cache) == ["sureline.rules.pa_twice.step"]
    assert compiled_by(again, cache) == []
    pickled = again + (
        "import pickle\n"
        "copy = pickle.loads(pickle.dumps(model))\n"
        "assert copy.coef_.tolist() == model.coef_.tolist()\n"
        "assert model.decision_function([[1.0, 0.0]])[0] > 1.5\n"
    )
    compiled_by(pickled, cache)


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    code = FIT.format("PAClassifier", "") + "assert model.n_iter_ == 5"
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    script = (
        "import numba.core.caching as caching\ncaching.CacheImpl._locator_classes = []\n" + code
    )
    assert "sureline.rules.pa_i.step" in compiled_by(script, tmp_path)


@pytest.mark.parametrize("kernel", [FOLD_ROWS, *slow(LOOK_UP_ROWS, LEARN_DIAGONAL, SCORE_TWO)])
def test_loops_count_no_arrays(kernel):
    assert not counts(kernel.function, kernel.signature(REAL["float32"]), kernel.allocates)


def test_what_allocates_counts_arrays():
    assert counts(given_back, array(f8)(array(f8)), allocates=True)  # so that one would be found


def given_back(numbers):
    return numbers


def counts(function, signature, allocates):
    """Whether compiled code counts who holds an array."""
    made = compile_function(function, signature, allocates, None)
    return "NRT_incref(" in made.inspect_llvm(signature.args)


@pytest.mark.slow
def test_a_changed_helper_makes_the_code_of_its_callers_unused(tmp_path):
    shutil.copytree(
        Path(sureline.__file__).parent,
        tmp_path / "copy" / "sureline",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    cache, path = tmp_path / "cache", {"PYTHONPATH": str(tmp_path / "copy")}
    code = FIT.format("PAClassifier", "")
    loop = "sureline.kernels.identity.learn_spherical"
    assert loop in compiled_by(code, cache, **path)
    assert compiled_by(code, cache, **path) == []
    before = cached_code(cache, "learn_spherical")
    assert len(before) == 2
    helper = tmp_path / "copy" / "sureline" / "kernels" / "positions.py"
    helper.write_text(helper.read_text() + "\n# a change\n")
    assert loop in compiled_by(code, cache, **path)
    after = cached_code(cache, "learn_spherical")
    assert len(after) == 2
    assert not after & before  # what was replaced is gone
    assert compiled_by(code, cache, **path) == []


def cached_code(cache, name):
    return {path.name for path in cache.rglob(f"*{name}*.nb[ic]")}


def test_code_is_not_kept_if_its_sources_have_changed_since_they_were_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    helper = tmp_path / "helper.py"
    helper.write_text("def double(x):\n    return 2.0 * x\n")
    double = runpy.run_path(str(helper))["double"]
    kept = compile_function(double, f8(f8), False, open_cache(double, f8(f8)))
    assert kept(1.5) == 3.0
    assert len(cached_code(tmp_path, "double")) == 2
    helper.write_text("def double(x):\n    return 3.0 * x\n")
    other = f8(types.float32)
    again = compile_function(double, other, False, open_cache(double, other))
    assert again(1.5) == 3.0
    assert len(cached_code(tmp_path, "double")) == 2


def test_a_signal_is_handled_when_compiling_has_ended():
    def stop(number, frame):
        raise KeyboardInterrupt

    def compile_meanwhile():
        with defer_signals():
            signal.raise_signal(signal.SIGTERM)
            done.append("compiled")

    done, before = [], signal.signal(signal.SIGTERM, stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            compile_meanwhile()
        assert done
        assert signal.getsignal(signal.SIGTERM) is stop
    finally:
        signal.signal(signal.SIGTERM, before)
