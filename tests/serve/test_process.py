"""The service as a process: it is killed, it is asked to end, its clients are slow."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from cases import several, slow
from serve_runs import NEW, digest_of

from sureline import load
from sureline.client import Client
from sureline.serve.recovery import journal_folder

pytest_plugins = ["serve_fixtures"]

SUPPORT = Path(__file__).parents[1] / "support"
HELD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")


class Process:
    """``sureline serve`` in a process of its own."""

    def __init__(self, place: Path, *options: str) -> None:
        command = [sys.executable, "-m", "sureline.cli", "serve", str(place), "--port", "0"]
        self.process = subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.line = self.process.stdout.readline()
        found = re.search(r"http://[^/]+", self.line)
        assert found, self.process.stderr.read()
        self.url = found.group()
        self.address = "127.0.0.1", int(self.url.rsplit(":", 1)[1])

    def end(self, sent: int = signal.SIGTERM) -> tuple[int, str]:
        """Ask it to end: its exit code, and what it wrote to stderr."""
        self.process.send_signal(sent)
        _, err = self.process.communicate()
        return self.process.returncode, err


@pytest.fixture
def start(mail):
    running: list[Process] = []

    def start(*options: str) -> Process:
        running.append(Process(mail, *options))
        return running[-1]

    yield start
    for each in running:
        if each.process.poll() is None:
            each.end(signal.SIGKILL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_service_killed_at_any_moment_loses_nothing(mail):
    kills = int(os.environ.get("SURELINE_KILLS", several(50, 2)))
    done = subprocess.run(
        [sys.executable, str(SUPPORT / "serve_kills.py"), str(mail), str(kills)],
        capture_output=True,
        text=True,
        env={**os.environ, **dict.fromkeys(HELD, "1")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["wrong"] == []
    assert told["killed"] == kills
    assert told["acknowledged"] > kills


@pytest.mark.parametrize("sent", [signal.SIGTERM, *slow(signal.SIGINT)])
def test_a_service_that_is_asked_to_end_writes_a_snapshot(start, mail, sent, tmp_path):
    process = start()
    assert process.line.startswith("serving mail at http://127.0.0.1:")
    with Client(process.url) as client:
        texts, labels = zip(*NEW[:30], strict=True)
        client.learn(texts, labels)
    code, err = process.end(sent)
    assert code == (0 if sent == signal.SIGINT else -signal.SIGTERM)
    assert "Traceback" not in err
    [snapshot] = journal_folder(mail).glob("snapshot-*")
    model = load(mail).partial_fit(list(texts), list(labels))
    assert digest_of(load(snapshot), tmp_path) == digest_of(model, tmp_path)


@pytest.mark.slow
def test_what_was_accepted_is_answered_before_the_end(start):
    process = start()
    body = json.dumps({"examples": [{"text": t, "label": y} for t, y in NEW[:2000]]}).encode()
    head = (
        "POST /v1/models/mail/learn HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
        f"{len(body)}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection(process.address) as connection:
        connection.sendall(head.encode() + body[:-1])
        time.sleep(0.2)
        process.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        connection.sendall(body[-1:])
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 200")
    assert process.end()[0] == -signal.SIGTERM


@pytest.mark.slow
def test_idle_connections_hold_nobody_up(start):
    resource = pytest.importorskip("resource", reason="limits on open files are Unix's")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    many = min(10_000, hard - 500)
    process = start()
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    idle = [socket.create_connection(process.address) for _ in range(many)]
    slow = socket.create_connection(process.address)
    slow.sendall(b"POST /v1/models/mail/predict HTTP/1.1\r\nHost: loc")
    made = httpx.post(f"{process.url}/v1/models/mail/predict", json={"texts": ["a"]}, timeout=60)
    assert made.status_code == 200
    for each in (*idle, slow):
        each.close()


@pytest.mark.slow
def test_garbage_is_not_answered_by_an_error_of_the_program(start):
    process = start()
    for sent in (b"\x16\x03\x01\x02\x00garbage\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 5000):
        with socket.create_connection(process.address) as connection:
            connection.sendall(sent)
            connection.settimeout(60)
            with contextlib.suppress(ConnectionResetError):
                assert not connection.recv(1000).startswith(b"HTTP/1.1 5")
    assert httpx.get(f"{process.url}/v2/health/ready", timeout=60).status_code == 200
    assert "Traceback" not in process.end()[1]
