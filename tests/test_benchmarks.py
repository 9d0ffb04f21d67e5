"""The benchmarks run; what they print is for people, so only their tables are looked for."""

import subprocess
import sys
from pathlib import Path

import pytest

from cases import COMPILED

FOLDER = Path(__file__).parent.parent / "benchmarks" / "speed"


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled in this run")
@pytest.mark.skipif(not FOLDER.exists(), reason="the benchmarks are not part of an installation")
def test_speed_of_every_rule_can_be_measured():
    sizes = ["--rows", "120", "--length", "8", "--bits", "8", "--repeats", "1"]
    command = [sys.executable, str(FOLDER / "run.py"), *sizes]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("(read-only floor)", "scikit-learn SGD pa1", "arow diagonal-kl", "sop"):
        assert name in done.stdout


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled in this run")
@pytest.mark.skipif(not FOLDER.exists(), reason="the benchmarks are not part of an installation")
def test_speed_of_texts_can_be_measured():
    command = [sys.executable, str(FOLDER / "text.py"), "--repeats", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("predict on two threads", "learn_one", "load"):
        assert name in done.stdout


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled in this run")
@pytest.mark.skipif(not FOLDER.exists(), reason="the benchmarks are not part of an installation")
def test_speed_of_several_threads_can_be_measured():
    command = [sys.executable, str(FOLDER / "threads.py"), "--repeats", "1", "--passes", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name in ("texts, hash, passes: 1", "rows, passes: 1"):
        assert name in done.stdout
