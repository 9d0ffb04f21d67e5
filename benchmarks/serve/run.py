"""How many requests a second `sureline serve` answers and learns, beside what people build at home.

Every service runs in a process of its own, with the load generator in another: single texts from 32
connections as fast as they are answered, and then at 70 % of that rate. The rounds alternate, and
what is printed is the median. The accuracy is that of the served model on the messages after the
4,000 that all were trained on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from sureline import TextClassifier, load
from sureline.data import sms_spam

HERE = Path(__file__).parent
TRAINED = 4_000
PORT = 8790
PARTS = ("rivals", "batches", "learning", "snapshots", "memory")
SERVICES = {
    "sureline serve": "/v1/models/mail/predict",
    "FastAPI, scikit-learn": "/predict",
    "FastAPI, River": "/predict",
}


@contextmanager
def running(service: str, folder: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A service that listens."""
    if service == "sureline serve":
        command = [
            "-m",
            "sureline.cli",
            "serve",
            str(folder / "mail.sureline"),
            "--port",
            str(PORT),
            *options,
        ]
    else:
        which = "sklearn" if "scikit" in service else "river"
        command = [str(HERE / "rivals.py"), which, str(PORT)]
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)  # noqa: S603
    try:
        while process.poll() is None:
            try:
                send(SERVICES[service], {"texts": ["a"]})
                break
            except OSError:
                time.sleep(0.1)
        yield process
    finally:
        process.terminate()
        process.wait()


def send(path: str, body: Any) -> Any:
    """The answer to one request."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{PORT}{path}",
        json.dumps(body).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        return json.load(answer)


def loaded(
    path: str, bodies: list[Any], connections: int, seconds: float, rate: float = 0.0
) -> dict[str, float]:
    """The figures of a load."""
    lines = "\n".join(json.dumps(body) for body in bodies).encode()
    command = [HERE / "load.py", PORT, path, connections, seconds, rate]
    done = subprocess.run(  # noqa: S603
        [sys.executable, *map(str, command)], input=lines, capture_output=True, check=True
    )
    made: dict[str, float] = json.loads(done.stdout)
    if made["failed"]:
        raise RuntimeError(f"{made['failed']:,.0f} requests to {path} failed")
    return made


def memory_mb(process: subprocess.Popen[bytes]) -> float:
    """The memory of a process."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


def rivals(folder: Path, rounds: int, seconds: float) -> None:
    """Single texts, beside others."""
    texts, labels = sms_spam()
    bodies = [{"texts": [text]} for text in texts[TRAINED:]]
    found: dict[str, list[tuple[float, ...]]] = {each: [] for each in SERVICES}
    accuracy = {}
    for _ in range(rounds):
        for service, path in SERVICES.items():
            with running(service, folder):
                answers = send(path, {"texts": texts[TRAINED:]})["predictions"]
                pairs = zip(answers, labels[TRAINED:], strict=True)
                accuracy[service] = np.mean([each["label"] == label for each, label in pairs])
                most = loaded(path, bodies, 32, seconds)
                some = loaded(path, bodies, 32, seconds, 0.7 * most["per_second"])
                rate, p50, p99 = most["per_second"], most["p50_ms"], most["p99_ms"]
                found[service].append((rate, p50, p99, some["p50_ms"], some["p99_ms"]))
    print(f"{'single texts, 32 connections':<30}{'per s':>8}{'p50':>8}{'p99 ms':>8}", end="")
    print(f"{'at 70 %: p50':>16}{'p99 ms':>8}{'accuracy':>10}")
    for service, rows in found.items():
        rate, *waits = np.median(np.array(rows), axis=0)
        print(f"{service:<30}{rate:>8,.0f}{waits[0]:>8.2f}{waits[1]:>8.2f}", end="")
        print(f"{waits[2]:>16.2f}{waits[3]:>8.2f}{accuracy[service]:>10.3f}")


def batches(folder: Path, seconds: float) -> None:
    """Requests of 1,000 texts, beside `predict` in Python."""
    texts = sms_spam()[0]
    some = [texts[k : k + 1000] for k in range(0, 5000, 1000)]
    path = SERVICES["sureline serve"]
    with running("sureline serve", folder):
        made = loaded(path, [{"texts": each} for each in some], 2, seconds)
    model = load(folder / "mail.sureline")
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds / 2:
        model.predictions(some[count % len(some)])
        count += 1
    alone = 1000 * count / (time.perf_counter() - begun)
    served = 1000 * made["per_second"]
    print(
        f"\n1,000 texts per request: {served:,.0f} texts/s; TextClassifier.predictions, alone ",
        end="",
    )
    print(f"on the machine: {alone:,.0f}; ratio {served / alone:.2f}")


def learning(folder: Path, seconds: float) -> None:
    """Durable examples from 64 clients; answers while snapshots are written."""
    texts, labels = sms_spam()
    pairs = list(zip(texts[TRAINED:], labels[TRAINED:], strict=True))
    bodies = [{"examples": [{"text": text, "label": label}]} for text, label in pairs]
    with running("sureline serve", folder):
        made = loaded("/v1/models/mail/learn", bodies, 64, seconds)
    print(
        f"\nexamples learned, each durable, 64 clients: {made['per_second']:,.0f} per s, ", end=""
    )
    print(f"p50 {made['p50_ms']:.1f} ms, p99 {made['p99_ms']:.1f} ms")


def snapshots(folder: Path, rounds: int, seconds: float) -> None:
    """Answers while examples are learned, with a snapshot after every 200 of them and without."""
    texts, labels = sms_spam()
    examples = zip(texts[TRAINED:], labels[TRAINED:], strict=True)
    learned = [{"examples": [{"text": text, "label": label}]} for text, label in examples]
    asked = [{"texts": [text]} for text in texts[TRAINED:]]
    found: dict[str, list[tuple[float, float]]] = {"10000000": [], "200": []}
    for _ in range(rounds):
        for every, rows in found.items():
            with running("sureline serve", folder, "--snapshot-every", every):
                with ThreadPoolExecutor() as pool:
                    path = "/v1/models/mail/learn"
                    learning = pool.submit(loaded, path, learned, 16, seconds, 400.0)
                    made = loaded(SERVICES["sureline serve"], asked, 16, seconds, 800.0)
                    learning.result()
                rows.append((made["p50_ms"], made["p99_ms"]))
    without, with_ = (np.median(np.array(rows), axis=0) for rows in found.values())
    print("\n800 answers and 400 examples per s: p50 ", end="")
    print(
        f"{without[0]:.2f} ms, p99 {without[1]:.2f} ms; with a snapshot every half second: ", end=""
    )
    print(f"p50 {with_[0]:.2f} ms, p99 {with_[1]:.2f} ms; ratio of p50 {with_[0] / without[0]:.2f}")


def memory(folder: Path, requests: int) -> None:
    """The memory of the process after ever more requests."""
    texts = sms_spam()[0]
    path = SERVICES["sureline serve"]
    bodies = [{"texts": [text]} for text in texts]
    with running("sureline serve", folder) as process:
        done, shown = 0.0, []
        while done < requests:
            made = loaded(path, bodies, 32, 5.0)
            done += 5.0 * made["per_second"]
            shown.append(memory_mb(process))
    print(f"\nmemory after {done:,.0f} requests: {shown[-1]:.0f} MB; after the first ", end="")
    print(f"{done / len(shown):,.0f}: {shown[0]:.0f} MB; at most {max(shown):.0f} MB")


def main() -> None:
    """Measure everything, or one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    texts, labels = sms_spam()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = TextClassifier(random_state=0).fit(texts[:TRAINED], labels[:TRAINED])
        model.save(folder / "mail.sureline")
        parts = {
            "rivals": lambda: rivals(folder, options.rounds, options.seconds),
            "batches": lambda: batches(folder, options.seconds),
            "learning": lambda: learning(folder, options.seconds),
            "snapshots": lambda: snapshots(folder, options.rounds, options.seconds),
            "memory": lambda: memory(folder, options.requests),
        }
        for part, measure in parts.items():
            if options.only in (None, part):
                measure()


if __name__ == "__main__":
    main()
