"""The endpoints: what they answer, who may use them, and what bad requests get."""

import json
import re

import httpx
import pytest
from serve_runs import LABELS, NEW, TEXTS, TRAINED, digest_of

from sureline import TextClassifier, load
from sureline.errors import InvalidParameter
from sureline.serve.application import ACTIONS
from sureline.serve.authentication import ROLES, Tokens
from sureline.serve.calls import Settings

pytest_plugins = ["serve_fixtures"]

PREDICT, LEARN = "/v1/models/mail/predict", "/v1/models/mail/learn"
SECRET = {role: f"{role}-token-0123456789" for role in ROLES}


def tokens(folder) -> Tokens:
    path = folder / "tokens"
    lines = [f"{role} {role}er {secret}" for role, secret in SECRET.items()]
    path.write_text("\n".join(["# who may do what", "", *lines]))
    return Tokens.read(path)


def send(client, path, body, **headers):
    return client.post(path, content=json.dumps(body), headers=json_type(headers))


def json_type(headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"content-type": "application/json", **named}


# -- predicting ----------------------------------------------------------------------------------


def test_predictions_are_those_of_the_model(client, mail):
    model, texts = load(mail), TEXTS[:50]
    made = send(client, PREDICT, {"texts": texts, "probabilities": True, "coverage": 0.9}).json()
    answers = made["predictions"]
    assert made["model"] == "mail"
    assert [each["label"] for each in answers] == model.predict(texts).tolist()
    chances = model.predict_proba(texts)
    assert [each["probabilities"]["spam"] for each in answers] == chances[:, 1].tolist()
    assert [each["probability"] for each in answers] == chances.max(axis=1).tolist()
    sets = model.predict_set(texts, coverage=0.9)
    assert [tuple(each["labels"]) for each in answers] == sets
    assert len({each["id"] for each in answers}) == 50


def test_unsure_texts_get_no_label_and_explanations_name_words(client, mail):
    body = {"texts": ["", "free prize"], "min_confidence": 0.95, "explain": 1}
    nothing, spam = send(client, PREDICT, body).json()["predictions"]
    assert nothing["label"] is None
    assert (
        spam["reasons"][0]["feature"]
        == load(mail).explain("free prize", 1).classes["spam"].features[0].feature
    )
    assert spam["reasons"][0]["places"]


def test_simultaneous_requests_get_their_own_answers(served):
    import threading

    found = {}

    def ask(k):
        with httpx.Client(base_url=served.url) as client:
            texts = TEXTS[k * 7 : k * 7 + k % 5 + 1]
            found[k] = (
                [
                    each["label"]
                    for each in send(client, PREDICT, {"texts": texts}).json()["predictions"]
                ],
                texts,
            )

    threads = [threading.Thread(target=ask, args=[k]) for k in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    model = served.service.predictor("mail").hosted.model
    for labels, texts in found.values():
        assert labels == model.predict(texts).tolist()
    assert len(found) == 24


# -- learning --------------------------------------------------------------------------------------


def test_learned_examples_change_the_model_and_have_numbers(client, mail, served, tmp_path):
    examples = [{"text": text, "label": label} for text, label in NEW[:30]]
    first = send(client, LEARN, {"examples": examples[:20]}).json()
    second = send(client, LEARN, {"examples": examples[20:], "author": "ann"}).json()
    assert (first["first"], first["last"], second["first"]) == (1, 20, 21)
    model = load(mail)
    model.partial_fit([text for text, _ in NEW[:30]], [label for _, label in NEW[:30]])
    hosted = served.service.predictor("mail").hosted
    assert digest_of(hosted.model, tmp_path) == digest_of(model, tmp_path)
    [entries] = hosted.journal.entries()
    assert [each.author for each in entries] == [None] * 20 + ["ann"] * 10


def test_a_new_label_may_come_at_any_time(client):
    body = {"examples": [{"text": "the invoice is attached", "label": "bill"}]}
    assert send(client, LEARN, body).status_code == 200
    made = send(client, PREDICT, {"texts": ["the invoice is attached"], "probabilities": True})
    assert set(made.json()["predictions"][0]["probabilities"]) == {"bill", "ham", "spam"}


def test_labels_that_come_later_are_for_the_text_that_was_predicted(client):
    [asked] = send(client, PREDICT, {"texts": ["win a prize"]}).json()["predictions"]
    made = send(client, LEARN, {"examples": [{"id": asked["id"], "label": "ham"}]})
    assert made.status_code == 200
    status = client.get("/v1/models/mail").json()
    assert status["progress"] == {
        "examples": 1,
        "mistakes": 1,
        "recent_examples": 1,
        "recent_mistakes": 1,
    }


def test_a_key_makes_a_request_safe_to_repeat(client):
    body = {"examples": [{"text": "a", "label": "ham"}]}
    first = send(client, LEARN, body, idempotency_key="k1").json()
    again = send(client, LEARN, body, idempotency_key="k1").json()
    assert again == {**first, "replayed": True}
    body["examples"][0]["label"] = "spam"
    other = send(client, LEARN, body, idempotency_key="k1")
    assert (other.status_code, "another request" in other.json()["error"]) == (409, True)
    assert send(client, LEARN, body, idempotency_key="").status_code == 400


def test_going_back_by_number_and_by_time(client, served):
    for k in range(3):
        examples = [{"text": text, "label": label} for text, label in NEW[k * 5 : k * 5 + 5]]
        send(client, LEARN, {"examples": examples})
    journal = served.service.predictor("mail").hosted.journal
    [entries] = journal.entries()
    until = entries[9].time
    assert send(client, "/v1/models/mail/rollback", {"until": until}).json()["examples"] == 5
    assert send(client, "/v1/models/mail/rollback", {"number": 2}).json()["examples"] == 8
    assert client.get("/v1/models/mail").json()["learned"] == 2
    for body in ({}, {"number": 1, "until": until}, {"until": "soon"}, {"number": 99}):
        assert send(client, "/v1/models/mail/rollback", body).status_code == 422


def test_forgetting(client):
    send(client, LEARN, {"examples": [{"text": "a secret", "label": "ham"}], "author": "bob"})
    send(client, LEARN, {"examples": [{"text": "no secret", "label": "ham"}]})
    made = send(client, "/v1/models/mail/forget", {"author": "bob"})
    assert made.json()["examples"] == 1
    assert client.get("/v1/models/mail").json()["learned"] == 1
    assert send(client, "/v1/models/mail/forget", {}).status_code == 422
    assert send(client, "/v1/models/mail/forget", {"numbers": [9]}).status_code == 422


def test_a_candidate_by_its_name(client, mail, serve, served):
    assert send(client, "/v1/models/mail/promote", {}).status_code == 422
    body = {"candidate": "../../etc/passwd"}
    refused = client.request("PUT", "/v1/models/mail/shadow", json=body)
    assert refused.status_code == 404
    assert client.request("PUT", "/v1/models/mail/shadow", json={"candidate": "mail"}).is_success
    send(client, LEARN, {"examples": [{"text": "a", "label": "ham"}]})
    shadow = client.get("/v1/models/mail").json()["shadow"]
    assert (shadow["name"], shadow["progress"]["examples"]) == ("mail", 1)
    assert client.delete("/v1/models/mail/shadow").is_success
    assert client.get("/v1/models/mail").json()["shadow"] is None


# -- several labels per text -----------------------------------------------------------------------


def test_texts_with_several_labels(mail, serve):
    texts = ["refund my last invoice", "cannot log in", "log in fails, invoice wrong", "thanks"] * 5
    tags = [["billing", "refund"], ["login"], ["billing", "login"], []] * 5
    path = mail.with_name("tags.sureline")
    TextClassifier(random_state=0).fit(texts, tags).save(path)
    served = serve()
    client, model = served.client, load(path)
    made = send(client, "/v1/models/tags/predict", {"texts": texts[:4]}).json()["predictions"]
    assert [each["label"] for each in made] == [list(each) for each in model.predict(texts[:4])]
    examples = [
        {"text": "the app crashes, refund it", "label": ["refund", "crash"]},
        {"text": "hello", "label": []},
        {"id": made[1]["id"], "label": ["login"]},
    ]
    assert send(client, "/v1/models/tags/learn", {"examples": examples}).status_code == 200
    for wrong in ("login", [3], [""]):
        body = {"examples": [{"text": "a", "label": wrong}]}
        assert send(client, "/v1/models/tags/learn", body).status_code == 422
    status = client.get("/v1/models/tags").json()
    assert status["classes"] == ["billing", "crash", "login", "refund"]
    assert status["progress"]["examples"] == 3
    model.partial_fit(
        [examples[0]["text"], "hello", texts[1]], [["refund", "crash"], [], ["login"]]
    )
    hosted = served.service.predictor("tags").hosted
    again, _ = hosted.store.model()
    probes = [*texts[:4], "crash", ""]
    expected = model.predict_proba(probes).tolist()
    assert hosted.model.predict_proba(probes).tolist() == expected
    assert again.predict_proba(probes).tolist() == expected
    tensor = {"name": "text", "shape": [1], "datatype": "BYTES", "data": ["cannot log in"]}
    made = send(client, "/v2/models/tags/infer", {"inputs": [tensor]}).json()
    assert made["outputs"][0]["data"] == ['["login"]']
    mail_learn = {"examples": [{"text": "a", "label": ["ham"]}]}
    assert send(client, LEARN, mail_learn).status_code == 422


# -- rows of several columns ----------------------------------------------------------------------

KINDS = {"subject": "text", "sender": "category", "amount": "number"}
ROWS = [
    {"subject": "You won a prize", "sender": "lotto@win.biz", "amount": 1000},
    {"subject": "Lunch at noon?", "sender": "ann@example.com", "amount": None},
    {"subject": "Prize money, claim it", "sender": "lotto@win.biz", "amount": 5000.0},
    {"subject": "The report", "sender": "bob@example.com", "amount": 12.5},
] * 5


def test_rows_of_several_columns(mail, serve):
    path = mail.with_name("table.sureline")
    TextClassifier(columns=KINDS, random_state=0).fit(ROWS, ["spam", "ham"] * 10).save(path)
    served = serve()
    client, model = served.client, load(path)
    place = "/v1/models/table"
    body = {"rows": ROWS[:4], "explain": 3, "probabilities": True}
    made = send(client, f"{place}/predict", body).json()["predictions"]
    expected = model.predict_proba(ROWS[:4])[:, 1].tolist()
    assert [each["probabilities"]["spam"] for each in made] == expected
    names = {reason["feature"].split(":")[0] for each in made for reason in each["reasons"]}
    assert names <= set(KINDS)
    examples = [
        {"row": {**ROWS[0], "subject": "Another prize"}, "label": "spam"},
        {"id": made[1]["id"], "label": "ham"},
    ]
    assert send(client, f"{place}/learn", {"examples": examples}).status_code == 200
    model.partial_fit([examples[0]["row"], ROWS[1]], ["spam", "ham"])
    again, _ = served.service.predictor("table").hosted.store.model()
    assert again.predict_proba(ROWS).tolist() == model.predict_proba(ROWS).tolist()
    assert client.get(place).json()["columns"] == KINDS


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"texts": ["a"]}, "classifies rows of 'subject', 'sender', 'amount'"),
        ({"rows": [{"subject": "a"}]}, "no columns 'sender', 'amount'"),
        ({"rows": [{**ROWS[0], "amount": "much"}]}, "amount"),
        ({"rows": ROWS[:1], "texts": ["a"]}, "send texts, or rows"),
        ({}, "send texts, or rows"),
    ],
)
def test_rows_that_are_wrong(mail, serve, body, sentence):
    path = mail.with_name("table.sureline")
    TextClassifier(columns=KINDS, random_state=0).fit(ROWS, ["spam", "ham"] * 10).save(path)
    client = serve().client
    made = send(client, "/v1/models/table/predict", body)
    assert (made.status_code, sentence in made.json()["error"]) == (422, True)
    if "rows" in body and "texts" not in body:
        example = {"row": body["rows"][0], "label": "ham"}
        made = send(client, "/v1/models/table/learn", {"examples": [example]})
        assert (made.status_code, sentence in made.json()["error"]) == (422, True)
    made = send(client, PREDICT, {"rows": ROWS[:1]})
    assert (made.status_code, "classifies texts" in made.json()["error"]) == (422, True)


def test_a_model_of_one_named_column_takes_texts(mail, serve):
    path = mail.with_name("table.sureline")
    rows = [{"body": text} for text in TEXTS[:100]]
    TextClassifier(columns={"body": "text"}, random_state=0).fit(rows, LABELS[:100]).save(path)
    client = serve().client
    made = send(client, "/v1/models/table/predict", {"texts": TEXTS[:5], "explain": 1}).json()
    expected = load(path).predict(rows[:5]).tolist()
    assert [each["label"] for each in made["predictions"]] == expected
    body = {"examples": [{"text": "a", "label": "ham"}]}
    assert send(client, "/v1/models/table/learn", body).status_code == 200


# -- the Open Inference Protocol -------------------------------------------------------------------


def test_a_client_of_the_open_inference_protocol(client, mail):
    assert client.get("/v2/health/live").json() == {"live": True}
    assert client.get("/v2/health/ready").json() == {"ready": True}
    assert client.get("/v2").json()["name"] == "sureline"
    assert client.get("/v2/models/mail/ready").json() == {"name": "mail", "ready": True}
    about = client.get("/v2/models/mail").json()
    assert about["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    texts = TEXTS[:3]
    body = {
        "id": "7",
        "inputs": [{"name": "text", "shape": [3], "datatype": "BYTES", "data": texts}],
    }
    made = send(client, "/v2/models/mail/infer", body).json()
    label, chance = made["outputs"]
    assert (made["id"], made["model_name"]) == ("7", "mail")
    assert label["data"] == load(mail).predict(texts).tolist()
    assert chance["data"] == load(mail).predict_proba(texts).max(axis=1).tolist()


@pytest.mark.parametrize(
    ("tensor", "sentence"),
    [
        ({"shape": [2], "datatype": "BYTES", "data": ["a"]}, "does not fit"),
        ({"shape": [1], "datatype": "FP32", "data": [1.0]}, "of datatype BYTES"),
        ({"shape": [0], "datatype": "BYTES", "data": []}, "does not fit"),
    ],
)
def test_tensors_that_are_no_texts(client, tensor, sentence):
    made = send(client, "/v2/models/mail/infer", {"inputs": [{"name": "text", **tensor}]})
    assert made.status_code == 422
    assert sentence in made.json()["error"]


# -- who may do what -----------------------------------------------------------------------------


@pytest.mark.parametrize("role", [None, *ROLES])
def test_every_endpoint_needs_its_role(serve, tmp_path, role):
    client = serve(Settings(tokens(tmp_path))).client
    headers = {} if role is None else {"authorization": f"Bearer {SECRET[role]}"}
    assert {each.role for each in ACTIONS} == {None, *ROLES}
    for action in ACTIONS:
        path = action.path.replace("{name}", "mail").replace("{file}", "pages.css")
        got = client.request(action.method, path, headers=headers)
        if action.role is None:
            assert got.status_code == 200
        elif role is None:
            assert (got.status_code, got.headers["www-authenticate"]) == (401, "Bearer")
        elif ROLES.index(role) < ROLES.index(action.role):
            assert got.status_code == 403
        else:
            assert got.status_code in (200, 415, 422)
    public = {each.path for each in ACTIONS if each.role is None}
    assert public == {"/v2/health/live", "/v2/health/ready", "/", "/docs", "/pages/{file}"}


@pytest.mark.parametrize("header", ["Bearer wrong-token-0123456789", "Basic abc", "Bearer", ""])
def test_unknown_tokens_are_refused(serve, tmp_path, header):
    client = serve(Settings(tokens(tmp_path))).client
    assert client.get("/v1/models", headers={"authorization": header}).status_code == 401


def test_the_name_of_a_token_is_the_author(serve, tmp_path):
    served = serve(Settings(tokens(tmp_path)))
    headers = {"authorization": f"Bearer {SECRET['learn']}"}
    send(served.client, LEARN, {"examples": [{"text": "a", "label": "ham"}]}, **headers)
    [[entry]] = served.service.predictor("mail").hosted.journal.entries()
    assert entry.author == "learner"


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("", "has no tokens"),
        ("read ann", "line 1: a line is a role"),
        ("root ann 0123456789012345", "line 1: a line is a role"),
        ("# fine\nread ann short", "line 2: a token has at least 16"),
    ],
)
def test_token_files_that_are_wrong(tmp_path, lines, sentence):
    path = tmp_path / "tokens"
    path.write_text(lines)
    with pytest.raises(InvalidParameter, match=sentence):
        Tokens.read(path)
    with pytest.raises(InvalidParameter, match="cannot be read"):
        Tokens.read(tmp_path / "none")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "["}, 403),
        ({"host": "localhost:80"}, 200),
        ({"origin": "http://evil.example"}, 403),
    ],
)
def test_pages_of_other_sites_reach_nothing(client, headers, status):
    assert client.get("/v1/models", headers=headers).status_code == status


# -- bad requests ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"texts": []}', 422),
        (b'{"texts": "a"}', 422),
        (b'{"texts": [1]}', 422),
        (b'{"texts": ["a"], "text": 1}', 422),
        (b'{"texts": ["\xff"]}', 400),
        (b'{"texts": ["\\ud800"]}', 400),
        (b'{"texts": ["a"], "min_confidence": 2}', 422),
        (b'{"texts": ["a"], "coverage": 1}', 422),
        (b'{"texts": ["a"], "explain": -1}', 422),
        (b'{"texts": ["a"], "min_confidence": NaN}', 400),
        (b"[" * 100_000, 422),
        (b'{"texts": ' + b"[" * 100_000, 422),
        (b'{"texts": ["' + b"a" * 2**20 + b'"]}', 413),
    ],
)
def test_bad_bodies_get_a_sentence(serve, body, status):
    client = serve(Settings(max_body=2**20)).client
    made = client.post(PREDICT, content=body, headers=json_type({}))
    assert made.status_code == status
    assert re.fullmatch(r"\S.*\S", made.json()["error"], re.DOTALL)


@pytest.mark.parametrize(
    "example",
    [
        {"label": "ham"},
        {"text": "a", "label": 3},
        {"text": "a", "label": ""},
        {"text": "a", "label": None},
        {"text": "a", "label": True},
        {"text": "a", "label": "l" * 1001},
        {"text": "a", "label": 2**60},
        {"id": "unknown", "label": "ham"},
    ],
)
def test_bad_examples_are_not_learned(client, example):
    made = send(client, LEARN, {"examples": [{"text": "a", "label": "ham"}, example]})
    assert made.status_code == 422
    assert client.get("/v1/models/mail").json()["learned"] == 0


def test_a_body_must_be_json_by_its_type(client):
    made = client.post(PREDICT, content=b'{"texts": ["a"]}', headers={"content-type": "text/plain"})
    assert (made.status_code, made.json()["error"]) == (
        415,
        "send JSON with Content-Type: application/json",
    )


def test_bodies_in_chunks_are_limited_too(serve):
    client = serve(Settings(max_body=1000)).client
    made = client.post(PREDICT, content=iter([b" " * 600] * 3), headers=json_type({}))
    assert made.status_code == 413


def test_a_body_that_does_not_come_is_not_waited_for(serve):
    import socket

    served = serve(Settings(body_seconds=0.2))
    with socket.create_connection(served.listening.getsockname()) as connection:
        connection.sendall(
            b"POST /v1/models/mail/predict HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
        )
        assert connection.recv(100).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("path", ["/v1/models/none", "/v1/models/..%2f..%2fmail", "/nothing"])
def test_what_is_not_there(client, path):
    made = client.get(path)
    assert made.status_code == 404
    assert made.json()["error"].startswith("there is no")


def test_a_method_that_is_not_there(client):
    made = client.get(PREDICT)
    assert (made.status_code, made.headers["allow"]) == (405, "POST")
    assert "does not take this method" in made.json()["error"]


def test_too_much_is_refused_for_now(serve):
    import threading

    served = serve(waiting=2)
    hosted, held = served.service.predictor("mail").hosted, threading.Event()
    pause = hosted.between(held.wait)
    waiting = hosted.submit([module_wanted("a"), module_wanted("b")])
    made = send(served.client, LEARN, {"examples": [{"text": "c", "label": "ham"}]})
    assert (made.status_code, made.headers["retry-after"]) == (429, "1")
    held.set()
    pause.result(60)
    waiting.result(60)


def module_wanted(text):
    from sureline.serve.requests import Wanted

    return Wanted("ham", text)


def test_an_internal_error_is_a_sentence_too(served, monkeypatch):
    monkeypatch.setattr("sureline.serve.predictor.answer", lambda *_: 1 / 0)
    made = send(served.client, PREDICT, {"texts": ["a"]})
    assert (made.status_code, "internal error" in made.json()["error"]) == (500, True)


# -- seen from outside ---------------------------------------------------------------------------


def test_metrics_follow_what_happens(client):
    send(client, PREDICT, {"texts": ["a", "b"], "min_confidence": 1.0})
    examples = [{"text": text, "label": label} for text, label in NEW[:40]]
    send(client, LEARN, {"examples": examples})
    client.get("/nothing")
    text = client.get("/metrics").text
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    assert values['sureline_predictions_total{model="mail"}'] == "2.0"
    assert values['sureline_abstentions_total{model="mail"}'] == "2.0"
    assert values['sureline_examples_total{model="mail"}'] == "40.0"
    assert values['sureline_journal_lag{model="mail"}'] == "40.0"
    key = 'sureline_requests_total{method="POST",path="/v1/models/{name}/learn",status="200"}'
    assert values[key] == "1.0"
    error = float(values['sureline_recent_error{model="mail"}'])
    assert error == float(values['sureline_mistakes_total{model="mail"}']) / 40


def test_logs_have_no_texts(client, caplog):
    caplog.set_level("DEBUG")
    send(client, LEARN, {"examples": [{"text": "my secret words", "label": "ham"}]})
    send(client, PREDICT, {"texts": ["my secret words"]})
    send(client, LEARN, {"examples": [{"text": "my secret words", "label": 3}]})
    assert "secret" not in caplog.text


@pytest.mark.parametrize("secured", [False, True])
def test_every_endpoint_is_documented(serve, tmp_path, secured):
    client = serve(Settings(tokens(tmp_path) if secured else Tokens())).client
    headers = {"authorization": f"Bearer {SECRET['read']}"}
    document = client.get("/openapi.json", headers=headers).json()
    for action in ACTIONS:
        if action.path.startswith("/pages"):
            continue
        operation = document["paths"][action.path][action.method.lower()]
        assert operation["summary"]
        assert ("security" in operation) == (secured and action.role is not None)


def test_files_beside_the_pages_are_not_served(client):
    for name in ("__init__.py", "status.html", "..%2fapplication.py", "%2fetc%2fpasswd"):
        assert client.get(f"/pages/{name}").status_code == 404
    assert client.get("/pages/status.js").headers["content-type"].startswith("text/javascript")


def test_models_of_a_folder(mail, serve):
    for name in ("b", "a"):
        mail.with_name(f"{name}.sureline").write_bytes(mail.read_bytes())
    client = serve().client
    assert client.get("/v1/models").json() == {"models": ["a", "b", "mail"]}
    send(client, "/v1/models/a/learn", {"examples": [{"text": "x", "label": "ham"}]})
    assert client.get("/v1/models/a").json()["learned"] == 1
    assert client.get("/v1/models/b").json()["learned"] == 0
    assert LABELS[TRAINED] in ("ham", "spam")
