"""Kills the service at random moments while clients learn, and looks for what was lost.

``python serve_kills.py MODEL KILLS [SEED]``: each service is a process of its own, forked from one
that has imported everything, on one socket that stays open; the clients are another process. Each
request has a key and is sent again until it is acknowledged. Then every acknowledged example must
be in the journal once, and the recovered model must be the one that learned the journal in order.
It prints how many examples were acknowledged, and what was wrong.
"""

import asyncio
import json
import os
import random
import signal
import socket
import sys
import threading
import time
import warnings
from pathlib import Path

import uvicorn
from serve_runs import LABELS, TEXTS

from sureline import load
from sureline.client import Client, ServiceError
from sureline.model.file import verify
from sureline.serve.application import make_application
from sureline.serve.calls import Settings
from sureline.serve.recovery import Store, journal_folder
from sureline.serve.requests import Limits
from sureline.serve.service import Service

CLIENTS = 6
LIMITS = Limits(snapshot_every=37, snapshot_seconds=0.2)


def fork(work) -> int:
    """Do something in a process of its own."""
    with warnings.catch_warnings():
        # The one thread left is that of Arrow's allocator, which knows about forks.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if process == 0:
        try:
            work()
        except BaseException as problem:
            print(repr(problem), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return process


def serve(model: Path, listening: socket.socket) -> None:
    """The service, until it is killed or asked to end."""
    service = Service(model, LIMITS)
    config = uvicorn.Config(
        make_application(service, Settings()), log_config=None, timeout_graceful_shutdown=5
    )
    asyncio.run(uvicorn.Server(config).serve([listening]))


def learn(url: str, log: Path, stop: Path) -> None:
    """Clients that learn until they are asked to end; what was acknowledged goes to a file."""
    lock = threading.Lock()

    def one(number: int) -> None:
        rng = random.Random(number)  # noqa: S311
        with Client(url, "mail", retries=200, timeout=10) as client:
            count = 0
            while not stop.exists():
                size = rng.choice((1, 1, 2, 20))
                chosen = [rng.randrange(len(TEXTS)) for _ in range(size)]
                texts = [f"{TEXTS[k]} id{number}x{count}x{j}" for j, k in enumerate(chosen)]
                key = f"{number}-{count}"
                count += 1
                try:
                    client.learn(texts, [LABELS[k] for k in chosen], key=key)
                except ServiceError:
                    if stop.exists():
                        return
                    raise
                with lock, log.open("a") as file:
                    file.writelines(f"{json.dumps(text)}\n" for text in texts)

    threads = [threading.Thread(target=one, args=[k]) for k in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main(model: Path, kills: int, seed: int) -> dict[str, object]:
    """Kill so often, end in order once, and look."""
    rng = random.Random(seed)  # noqa: S311
    listening = socket.create_server(("127.0.0.1", 0), backlog=64)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    log, stop = model.with_name("acknowledged"), model.with_name("stop")
    log.touch()
    clients = fork(lambda: learn(url, log, stop))
    codes = []
    for cycle in range(kills + 1):
        before = log.stat().st_size
        process = fork(lambda: serve(model, listening))
        while log.stat().st_size == before:  # it has learned something
            time.sleep(0.01)
        if cycle < kills:
            time.sleep(rng.uniform(0.0, 0.5))
            os.kill(process, signal.SIGKILL)
        else:
            stop.touch()
            os.waitpid(clients, 0)
            os.kill(process, signal.SIGTERM)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
    acknowledged = [json.loads(line) for line in log.read_text().splitlines()]
    store = Store(journal_folder(model), 4.0)
    texts = [each.text for some in store.journal.entries() for each in some]
    wrong = []
    if len(set(texts)) != len(texts):
        wrong.append("an example was learned twice")
    if lost := set(acknowledged) - set(texts):
        wrong.append(f"{len(lost)} examples were lost")
    recovered, _ = store.model()
    recovered.save(model.with_name("recovered.sureline"))
    straight = load(model)
    for some in store.journal.entries():
        straight.partial_fit([each.text for each in some], [each.label for each in some])
    straight.save(model.with_name("straight.sureline"))
    if (
        model.with_name("recovered.sureline").read_bytes()
        != model.with_name("straight.sureline").read_bytes()
    ):
        wrong.append("the recovered model is not that of the journal")
    snapshots = len([each for each in store.journal.snapshots() if not each.base])
    verify(model.with_name("recovered.sureline"))
    store.close()
    return {
        "acknowledged": len(acknowledged),
        "journal": len(texts),
        "killed": codes.count(-signal.SIGKILL),
        "ended": codes[-1],
        "snapshots": snapshots,
        "wrong": wrong,
    }


if __name__ == "__main__":
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), seed)))
