"""What all fuzzers share: numbered random cases, run in a process that may crash, hang or swell.

A fuzzer is a script with a class that makes and tries one case; ``python SCRIPT --cases 1000`` or
``--minutes 10`` tries many. Number and seed determine a case, which ``--only NUMBER --seed SEED``
tries again. Cases run in a process of their own; a crash ends that one and is counted.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Protocol

SPARE = 2 * 2**30  # bytes of address space that a case may take beyond those of an idle process
FAILED, MOST_FAILURES = "failed", 20


class Fuzzer(Protocol):
    """Makes a case from random numbers, and tries it."""

    def __init__(self, folder: Path) -> None: ...

    def try_case(self, rng: random.Random) -> str:
        """What became of the case, such as "refused"; whatever is wrong is raised."""


def parse_arguments(description: str | None) -> argparse.Namespace:
    """The options that every fuzzer has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--cases", type=int, default=0, help="how many cases to try")
    parser.add_argument("--minutes", type=float, default=0.0, help="how long to try cases")
    parser.add_argument("--seed", default="0", help="another seed makes other cases")
    parser.add_argument("--patience", type=float, default=10.0, help="seconds a case may take")
    parser.add_argument("--only", type=int, help="try this case alone, and show its traceback")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def main(fuzzer: type[Fuzzer], description: str | None) -> None:
    """Try cases as the command line says, and exit with 1 if any failed."""
    options = parse_arguments(description)
    if options.child:
        run_child(fuzzer, options)
        return
    if options.only is not None:
        with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
            print(fuzzer(Path(folder)).try_case(random.Random(f"{options.seed}-{options.only}")))  # noqa: S311
        return
    sys.exit(run_children(options))


def memory_folder() -> str | None:
    """Where files need no disk, if there is such a place."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108


def run_children(options: argparse.Namespace) -> int:
    """Run cases in one process after another, the next wherever one of them ended."""
    begun, number, outcomes = time.monotonic(), options.first, Counter[str]()
    last = options.first + options.cases if options.cases else None
    until = begun + 60 * options.minutes if options.minutes else None
    while (last is None or number < last) and (until is None or time.monotonic() < until):
        with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
            status = Path(folder, "status")
            child = [sys.executable, *sys.argv, "--first", str(number), "--child", str(status)]
            if until is not None:
                child += ["--minutes", str((until - time.monotonic()) / 60)]
            if last is not None:
                child += ["--cases", str(last - number)]
            ended = subprocess.run(child, check=False).returncode
            lines = status.read_text().split("\n") if status.exists() else []
        done = [line.partition(" ") for line in lines if line]
        number += len(done)
        if ended and done:  # in the middle of the last case
            if ended > 0 and runs_at_all(options, number - 1):  # it had to compile
                done[-1] = ("", "", "slow at first")
            else:
                how = f"signal {-ended}" if ended < 0 else f"exit {ended}"
                print(f"CASE {number - 1} of seed {options.seed} failed: {how}", flush=True)
        outcomes.update(outcome or FAILED for _, _, outcome in done)
        if not done or outcomes[FAILED] >= MOST_FAILURES:
            outcomes[FAILED] += not done
            print("stopped: too many failures, or nothing could be tried")
            break
    seconds = time.monotonic() - begun
    shown = ", ".join(f"{count:,} {name}" for name, count in outcomes.most_common())
    print(f"{number - options.first:,} cases in {seconds:,.0f} s: {shown}")
    return min(outcomes[FAILED], 1)


def runs_at_all(options: argparse.Namespace, number: int) -> bool:
    """Whether a case that took too long ends if there is more time for it."""
    with tempfile.TemporaryDirectory(dir=memory_folder()) as folder:
        status = Path(folder, "status")
        child = [sys.executable, *sys.argv, "--first", str(number), "--cases", "1"]
        child += ["--minutes", "0", "--patience", str(6 * options.patience), "--child", str(status)]
        ended = subprocess.run(child, check=False).returncode
        return ended == 0 and FAILED not in status.read_text()


def run_child(fuzzer: type[Fuzzer], options: argparse.Namespace) -> None:
    """Try cases until one fails; a line of the status file is begun before each, ended after it."""
    warnings.simplefilter("ignore")
    with open(options.child, "w", buffering=1) as status:  # noqa: PTH123
        trial = fuzzer(Path(options.child).parent)  # may compile for minutes, which do not count
        until = time.monotonic() + 60 * options.minutes if options.minutes else None
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + SPARE, resource.RLIM_INFINITY))
        number = options.first
        while not options.cases or number < options.first + options.cases:
            status.write(str(number))
            status.flush()
            faulthandler.dump_traceback_later(options.patience, exit=True)
            try:
                outcome = trial.try_case(random.Random(f"{options.seed}-{number}"))  # noqa: S311
            except BaseException:
                traceback.print_exc()
                print(f"CASE {number} of seed {options.seed} failed", file=sys.stderr, flush=True)
                outcome = FAILED
            faulthandler.cancel_dump_traceback_later()
            status.write(f" {outcome}\n")
            number += 1
            if until is not None and time.monotonic() > until:
                break
