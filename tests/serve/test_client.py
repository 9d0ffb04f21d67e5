"""The client: what it sends, when it sends it again, and what it says of refusals."""

import json

import httpx
import pytest
from serve_runs import NEW

from sureline import client as module
from sureline.client import Client, ServiceError

pytest_plugins = ["serve_fixtures"]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    pauses = []
    monkeypatch.setattr(module.time, "sleep", pauses.append)


def test_predicting_learning_and_labelling(served):
    with Client(served.url) as client:
        assert client.models() == ["mail"]
        [asked] = client.predict(["win a prize"], probabilities=True)
        assert asked["label"] == "spam"
        assert set(asked["probabilities"]) == {"ham", "spam"}
        texts, labels = zip(*NEW[:10], strict=True)
        assert client.learn(texts, labels, author="ann")["last"] == 10
        assert client.label([asked["id"]], ["spam"])["last"] == 11
        assert client.status()["learned"] == 11
        assert client.rollback(10)["examples"] == 1
        assert client.forget([2])["examples"] == 2
        assert client.forget(author="ann")["examples"] == 1
        assert client.status()["learned"] == 0


def test_rows_are_sent_as_rows():
    transport, sent = answers(
        httpx.Response(200, json={"predictions": []}), httpx.Response(200, json=DONE)
    )
    with Client("http://none", "mail", transport=transport) as client:
        client.predict([{"a": 1}])
        client.learn([{"a": 1}], [["x", "y"]])
    assert json.loads(sent[0].content) == {"rows": [{"a": 1}]}
    assert json.loads(sent[1].content)["examples"] == [{"row": {"a": 1}, "label": ["x", "y"]}]


def test_one_of_several_models_must_be_named(mail, serve):
    mail.with_name("other.sureline").write_bytes(mail.read_bytes())
    served = serve()
    with Client(served.url) as client, pytest.raises(ServiceError, match="name one"):
        client.predict(["a"])
    with Client(served.url, "other") as client:
        assert len(client.predict(["a"])) == 1


def test_a_refusal_is_a_sentence_with_its_status(served):
    with Client(served.url, "mail") as client, pytest.raises(ServiceError) as caught:
        client.predict([])
    assert caught.value.status == 422
    assert "length" in str(caught.value)


def answers(*given):
    """A transport that gives answers one after the other, and keeps the requests."""
    left, sent = list(given), []

    def respond(request):
        sent.append(request)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return httpx.MockTransport(respond), sent


DONE = {"first": 1, "last": 1, "version": "1.1", "model": "mail"}


def test_what_is_not_answered_is_sent_again_with_the_same_key():
    transport, sent = answers(
        httpx.ConnectError("refused"),
        httpx.Response(429, headers={"retry-after": "1"}, json={"error": "busy"}),
        httpx.ReadTimeout("slow"),
        httpx.Response(200, json=DONE),
    )
    with Client("http://none", "mail", transport=transport) as client:
        assert client.learn(["a"], ["ham"]) == DONE
    assert len({each.headers["idempotency-key"] for each in sent}) == 1
    assert len(sent) == 4


def test_it_gives_up_in_the_end():
    transport, sent = answers(*[httpx.ConnectError("refused")] * 3)
    with (
        Client("http://none", "mail", retries=2, transport=transport) as client,
        pytest.raises(ServiceError, match="does not answer: refused"),
    ):
        client.predict(["a"])
    assert len(sent) == 3


@pytest.mark.parametrize("answer", [{"text": "no JSON"}, {"json": []}, {"json": {}}])
def test_answers_of_something_else_are_named_by_their_status(answer):
    transport, _ = answers(httpx.Response(418, **answer))
    with (
        Client("http://none", "mail", transport=transport) as client,
        pytest.raises(ServiceError, match="answered 418"),
    ):
        client.predict(["a"])
