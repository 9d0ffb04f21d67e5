"""Fixtures for the service: a model of messages, with its journal or behind a port."""

from pathlib import Path

import httpx
import pytest
from serve_runs import LABELS, TEXTS, TRAINED, Served

from sureline import TextClassifier
from sureline.serve.calls import Settings
from sureline.serve.hosted import Hosted
from sureline.serve.requests import Limits


@pytest.fixture(scope="session")
def mail_file(tmp_path_factory) -> Path:
    """A model of the first messages."""
    path = tmp_path_factory.mktemp("mail") / "mail.sureline"
    model = TextClassifier(random_state=0, max_iter=1)
    model.fit(TEXTS[:TRAINED], LABELS[:TRAINED]).save(path)
    return path


@pytest.fixture
def mail(mail_file, tmp_path) -> Path:
    """A copy of that model, in a folder of its own."""
    path = tmp_path / "served" / "mail.sureline"
    path.parent.mkdir()
    path.write_bytes(mail_file.read_bytes())
    return path


@pytest.fixture
def open_model(mail):
    """Opens the model with its journal; all that were opened are closed at the end."""
    opened: list[Hosted] = []

    def open_model(**limits) -> Hosted:
        opened.append(Hosted(mail, Limits(**limits)))
        return opened[-1]

    yield open_model
    for hosted in opened:
        if not hosted.closed:
            hosted.close()


@pytest.fixture
def serve(mail):
    """Starts the service on the folder of the model, with some settings."""
    running: list[Served] = []

    def serve(settings: Settings | None = None, **limits) -> Served:
        running.append(Served(mail.parent, settings or Settings(), Limits(**limits)))
        return running[-1]

    yield serve
    for each in running:
        each.close()


@pytest.fixture
def served(serve) -> Served:
    """The service, for everyone."""
    return serve()


@pytest.fixture
def client(served) -> httpx.Client:
    """A client of the service."""
    return served.client
