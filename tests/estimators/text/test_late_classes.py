"""Classes that come late in a stream: earlier ones are still found, and so is the new one."""

from typing import Any

import numpy as np
import pytest

from sureline import AROWClassifier, CWClassifier, PAClassifier, TextClassifier
from sureline.data import sms_spam

TEXTS, LABELS = (np.array(each, object) for each in sms_spam())
HAM, SPAM = TEXTS[LABELS == "ham"].tolist(), TEXTS[LABELS == "spam"].tolist()
FIRST, OTHERS = 500, slice(500, 1500)
KINDS: list[dict[str, Any]] = [
    {},
    {"weighting": "idf"},
    {"weighting": None},
    {"estimator": AROWClassifier(covariance="diagonal-l2")},
    {"estimator": CWClassifier()},
]


def after_ham(**parameters: Any) -> TextClassifier:
    return TextClassifier(**parameters).partial_fit(HAM[:FIRST], ["ham"] * FIRST)


@pytest.mark.parametrize("parameters", KINDS, ids=str)
@pytest.mark.parametrize("label", ["spam", "a sort before ham"])
def test_one_example_of_a_late_class_turned_all_others_into_it(parameters, label):
    model = after_ham(**parameters).learn_one(SPAM[0], label)
    assert (model.predict(HAM[OTHERS]) == "ham").mean() >= 0.95
    model.partial_fit(SPAM[1:6], [label] * 5)
    assert (model.predict(HAM[OTHERS]) == "ham").mean() >= 0.90


def test_a_late_class_is_found_by_its_words():
    model = after_ham().partial_fit(SPAM[:6], ["spam"] * 6)
    assert (model.predict(SPAM[100:600]) == "spam").mean() > 0.3
    assert (model.predict(SPAM[:6]) == "spam").all()


@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_a_third_and_a_fourth_class_may_come_late(parameters):
    words = {"ham": "lunch noon home", "spam": "prize free win", "bill": "invoice due pay",
             "trip": "flight hotel booking"}  # fmt: skip
    rng = np.random.default_rng(0)

    def texts(label: str, count: int) -> list[str]:
        known = [*words[label].split(), *["the", "a", "of", "to", "and", "you", "we", "in"]]
        return [" ".join(rng.choice(known, 8)) for _ in range(count)]

    model = TextClassifier(**parameters)
    known = list[str]()
    for label in words:
        model.partial_fit(texts(label, 1), [label])
        for other in known:
            assert (model.predict(texts(other, 100)) == other).mean() >= 0.9, (label, other)
        known.append(label)
        for _ in range(40):
            for each in known:
                model.partial_fit(texts(each, 2), [each] * 2)
        assert (model.predict(texts(label, 100)) == label).mean() >= 0.9


@pytest.mark.parametrize("parameters", KINDS, ids=str)
def test_any_split_of_a_stream_with_late_classes_gives_the_same_model(parameters):
    texts = [*HAM[:120], SPAM[0], HAM[120], "your invoice", *SPAM[1:4], "the flight"]
    labels = [*["ham"] * 120, "spam", "ham", "bill", *["spam"] * 3, "trip"]
    whole = TextClassifier(**parameters).partial_fit(texts, labels)
    for cuts in ([], [119], [120, 121], [60, 122, 123], list(range(115, 127))):
        model = TextClassifier(**parameters)
        for begin, end in zip([0, *cuts], [*cuts, len(texts)], strict=True):
            model.partial_fit(texts[begin:end], labels[begin:end])
        assert model.coef_.tobytes() == whole.coef_.tobytes()
        assert model.intercept_.tobytes() == whole.intercept_.tobytes()
    single = TextClassifier(**parameters)
    for text, label in zip(texts, labels, strict=True):
        single.learn_one(text, label)
    assert single.coef_.tobytes() == whole.coef_.tobytes()


def test_classes_that_come_at_once_begin_as_before(monkeypatch):
    texts, labels = [HAM[0], SPAM[0], *TEXTS[:300]], ["ham", "spam", *LABELS[:300]]
    model = TextClassifier().partial_fit(texts, labels)
    monkeypatch.setattr("sureline.model.learner.LATE", 10**9)
    assert TextClassifier().partial_fit(texts, labels).coef_.tobytes() == model.coef_.tobytes()


def test_classes_named_beforehand_begin_as_before(monkeypatch):
    def learned() -> bytes:
        model = TextClassifier().partial_fit(HAM[:50], ["ham"] * 50, classes=["ham", "spam"])
        return model.partial_fit(SPAM[:2], ["spam"] * 2).coef_.tobytes()

    now = learned()
    monkeypatch.setattr("sureline.model.learner.LATE", 10**9)
    assert learned() == now


def test_rules_without_variances_begin_a_class_with_0():
    model = after_ham(estimator=PAClassifier())
    model.partial_fit([""], ["spam"], sample_weight=[0.0], classes=["spam"])
    assert model.intercept_.tolist() == [0.0]
