"""The service in this process, for its tests: messages to learn, and what models are equal."""

import hashlib
import socket
import threading
import time
from pathlib import Path

import httpx
import uvicorn

from sureline import TextClassifier
from sureline.data import sms_spam
from sureline.serve.application import make_application
from sureline.serve.calls import Settings
from sureline.serve.requests import Limits, Wanted
from sureline.serve.service import Service

TEXTS, LABELS = sms_spam()
TRAINED = 300
NEW = list(zip(TEXTS[TRAINED:], LABELS[TRAINED:], strict=True))


def digest_of(model: TextClassifier, folder: Path) -> str:
    """The SHA-256 of the file of a model: equal models have equal files."""
    path = folder / "digest.model"
    model.save(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def wanted(first: int, stop: int) -> list[Wanted]:
    """Some of the new messages, to learn."""
    return [Wanted(label, text) for text, label in NEW[first:stop]]


class Served:
    """The service in a thread of this process, on a port of its own."""

    def __init__(self, place: Path, settings: Settings, limits: Limits) -> None:
        self.service = Service(place, limits)
        self.listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(make_application(self.service, settings), log_config=None)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.listening],))
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def close(self) -> None:
        """End as a signal would."""
        self.client.close()
        self.server.should_exit = True
        self.thread.join()
        self.listening.close()
