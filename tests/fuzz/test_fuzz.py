"""Fuzzers, for a short while; ``make fuzz MINUTES=60`` runs them for longer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cases import ALL, COMPILED, several

FUZZERS = Path(__file__).parent
pytestmark = [
    pytest.mark.skipif(not COMPILED, reason="too slow where nothing is compiled"),
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc"),
]


def fuzz(script: str, cases: int, **environment: str) -> None:
    """Try so many cases; the process ends with 1 if one of them fails."""
    command = [sys.executable, str(FUZZERS / script), "--cases", str(cases), "--patience", "60"]
    environment = {**os.environ, "SURELINE_CHECK_TYPES": "0", **environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_crafted_model_files_are_refused_or_can_be_used():
    bounds = {}
    if ALL:  # compiled anew, with code that checks the bounds of arrays
        bounds = {"NUMBA_BOUNDSCHECK": "1"}
        bounds["NUMBA_CACHE_DIR"] = str(Path(os.environ["NUMBA_CACHE_DIR"], "bounds"))
    fuzz("model_files.py", several(10_000, 500), **bounds)


def test_hostile_lines_and_damaged_tables_mean_the_same_however_they_are_read():
    fuzz("input_files.py", several(3_000, 100))


def test_a_fuzzer_that_had_to_compile_first_failed_for_lack_of_time(tmp_path):
    script = tmp_path / "slow_start.py"
    script.write_text(
        "import time\n"
        "from harness import main\n"
        "class SlowStart:\n"
        "    def __init__(self, folder):\n"
        "        time.sleep(0.2)\n"
        "    def try_case(self, rng):\n"
        "        return 'tried'\n"
        "main(SlowStart, None)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script), "--minutes", "0.001"],
        env={**os.environ, "PYTHONPATH": str(FUZZERS)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(" tried\n")
