"""Runs a training command again and again, kills it at random moments, and lets it end at last.

``python kill_loop.py KILLS sureline-arguments...``: each run is a process of its own, forked from
one that has imported everything, so that a run costs little more than its work. The parent must
have no threads, so OPENBLAS_NUM_THREADS must be 1, and it trains nothing itself. The first two runs
are left alone: one compiles, the other measures how long a run takes. Whenever a run ends,
the next one starts from nothing. It prints how the runs ended, the number of examples that the
checkpoint held after each kill, and a digest of every model that was finished.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import sureline.cli.train.run
import sureline.estimators.stream  # noqa: F401  imported before the first fork
from sureline.cli import main
from sureline.model.file import verify


def run(arguments: list[str], seconds: float | None) -> int:
    """One run, killed after some time if one is given; its exit code, or minus the signal."""
    with warnings.catch_warnings():
        # The one thread left is that of Arrow's allocator, which knows about forks.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os._exit(main(arguments))
    if seconds is not None:
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


def cycles(kills: int, arguments: list[str]) -> dict[str, list[object]]:
    """What happened in so many kills, a run before them and one after them that were left alone."""
    rng = random.Random(0)  # noqa: S311
    model = Path(arguments[arguments.index("-o") + 1])
    checkpoint = Path(arguments[arguments.index("--checkpoint") + 1])
    codes, examples, digests = list[object](), list[object](), list[object]()
    run(arguments, None)
    checkpoint.unlink()
    begun = time.perf_counter()
    codes.append(run(arguments, None))
    longest = time.perf_counter() - begun
    digests.append(hashlib.sha256(model.read_bytes()).hexdigest())
    checkpoint.unlink()
    while True:
        last = codes.count(-signal.SIGKILL) >= kills
        codes.append(run(arguments, None if last else rng.uniform(0.0, longest)))
        if codes[-1] == -signal.SIGKILL:
            held = (
                verify(checkpoint).metadata["notes"]["run"]["position"]["examples"]
                if checkpoint.exists()
                else 0
            )
            examples.append(held)
        elif codes[-1] == 0:
            digests.append(hashlib.sha256(model.read_bytes()).hexdigest())
            checkpoint.unlink()
        if last or codes[-1] not in (-signal.SIGKILL, 0):
            return {"codes": codes, "examples": examples, "digests": digests}


if __name__ == "__main__":
    print(json.dumps(cycles(int(sys.argv[1]), sys.argv[2:])))
