"""A service to look at: ``python -m sureline.serve.demo``, or ``make serve-demo``.

It trains a spam filter on a part of the embedded messages, serves it, and sends the rest: each is
predicted, and gets its label a moment later, as in a mailbox whose owner corrects the filter.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from pathlib import Path

from sureline import TextClassifier
from sureline.client import Client, ServiceError
from sureline.data import sms_spam
from sureline.serve.calls import Settings
from sureline.serve.requests import Limits
from sureline.serve.run import run

TRAINED, AT_ONCE = 500, 50
PAUSE = 0.5  # seconds between two requests


def send(url: str) -> None:
    """Send the messages that were not trained on, and then their labels."""
    texts, labels = sms_spam()
    with Client(url, "messages", retries=20) as client:
        for first in range(TRAINED, len(texts), AT_ONCE):
            stop = min(first + AT_ONCE, len(texts))
            asked = client.predict(texts[first:stop])
            client.label([each["id"] for each in asked], labels[first:stop], author="owner")
            wrong = sum(
                each["label"] != label
                for each, label in zip(asked, labels[first:stop], strict=True)
            )
            print(
                f"messages {first + 1:,} to {stop:,}: {wrong} of {stop - first} predicted wrongly, "
                "all learned",
                flush=True,
            )
            time.sleep(PAUSE)
    print(f"all messages were sent; the pages are at {url}/ until Ctrl-C", flush=True)


def main(port: int = 8080) -> None:
    """Train, serve and send."""
    texts, labels = sms_spam()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "messages.sureline")
        TextClassifier(random_state=0).fit(texts[:TRAINED], labels[:TRAINED]).save(path)

        def sending() -> None:
            try:
                send(f"http://127.0.0.1:{port}")
            except ServiceError as problem:  # it was asked to end
                print(problem, file=sys.stderr)

        threading.Thread(target=sending, daemon=True).start()
        run(path, "127.0.0.1", port, Limits(), Settings())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
