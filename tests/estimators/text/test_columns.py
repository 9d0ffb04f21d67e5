"""Rows of several columns: texts, categories and numbers in one model."""

import io
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sureline import TextClassifier, load, merge
from sureline.errors import DataError, InvalidParameter, ModelFileError
from sureline.model.file import read, write

COLUMNS = {"subject": "text", "body": "text", "sender": "category", "amount": "number"}


def make_rows(count: int = 60, seed: int = 0) -> tuple[pd.DataFrame, list[str]]:
    rng = np.random.RandomState(seed)
    spam = rng.rand(count) < 0.5
    words = np.array(["free", "prize", "money", "now", "lunch", "meeting", "report", "you"])
    half = np.where(spam[:, None], rng.randint(0, 5, (count, 6)), rng.randint(3, 8, (count, 6)))
    frame = pd.DataFrame(
        {
            "subject": [" ".join(words[row[:2]]) for row in half],
            "body": [" ".join(words[row[2:]]) for row in half],
            "sender": np.where(rng.rand(count) < 0.2, None, np.where(spam, "a@x.com", "b@y.org")),
            "amount": np.where(rng.rand(count) < 0.2, np.nan, rng.randn(count) * 5 + 10 * spam),
        }
    )
    return frame, np.where(spam, "spam", "ham").tolist()


FRAME, LABELS = make_rows()


def fitted(**options: object) -> TextClassifier:
    given = {"columns": COLUMNS, "random_state": 0, "max_iter": 1, **options}
    return TextClassifier(**given).fit(FRAME, LABELS)


def same(one: TextClassifier, other: TextClassifier) -> bool:
    mine, theirs = one.predict_proba(FRAME), other.predict_proba(FRAME)
    return bool(np.array_equal(mine, theirs))


def test_features_name_their_column() -> None:
    names = set(fitted().get_feature_names_out())
    assert {"subject: free", "body: free", "sender: a@x.com", "sender: (missing)"} <= names
    assert {"amount: (missing)", "amount: +1 sd", "amount: log -1 sd"} <= names
    assert "free" not in names


def test_a_word_is_a_feature_of_its_column() -> None:
    rows = [{"a": "x", "b": "y"}, {"a": "y", "b": "x"}] * 20
    model = TextClassifier(columns={"a": "text", "b": "text"}, random_state=0)
    assert model.fit(rows, [0, 1] * 20).predict(rows[:2]).tolist() == [0, 1]


@pytest.mark.parametrize(
    "convert",
    [
        lambda frame: pl.from_pandas(frame),
        lambda frame: pa.Table.from_pandas(frame),
        lambda frame: pa.RecordBatch.from_pandas(frame),
        lambda frame: frame.to_dict("records"),
        lambda frame: frame[["amount", "sender", "body", "subject"]].assign(other=1),
        lambda frame: frame.assign(sender=frame["sender"].astype("category")),
    ],
    ids=["polars", "arrow", "batch", "dicts", "order", "categorical"],
)
def test_the_kind_of_table_makes_no_difference(convert) -> None:
    model = fitted(shuffle=False)
    other = clone(model).fit(convert(FRAME), LABELS)
    assert same(model, other)
    assert np.array_equal(model.predict(convert(FRAME)), model.predict(FRAME))


@pytest.mark.parametrize("options", [{}, {"features": "hash", "bits": 8}, {"weighting": "idf"}])
def test_any_split_of_a_stream_gives_the_same_model(options) -> None:
    whole = fitted(shuffle=False, **options)
    parts = TextClassifier(columns=COLUMNS, **options)
    for begin, end in ((0, 1), (1, 30), (30, 60)):
        parts.partial_fit(FRAME[begin:end], LABELS[begin:end], classes=["ham", "spam"])
    single = TextClassifier(columns=COLUMNS, **options).partial_fit(
        FRAME[:1], LABELS[:1], classes=["ham", "spam"]
    )
    for row, label in zip(FRAME[1:].to_dict("records"), LABELS[1:], strict=True):
        single.learn_one(row, label)
    assert same(whole, parts)
    assert same(whole, single)


@pytest.mark.parametrize("options", [{}, {"features": "hash", "bits": 8}, {"normalize": False}])
def test_one_row_is_read_like_a_table_of_it(options) -> None:
    kinds = {"amount": "number", "body": "text", "sender": "category", "subject": "text"}
    for columns in (kinds, {"a": "text", "b": "text"}, {"n": "number"}, {"c": "category"}):
        values = {
            "text": ["Free prizes, free", "", None, "lone \udc80 surrogate", math.nan],
            "category": ["ann", "", None, 7, True, math.nan, "\udc80", "(missing)"],
            "number": [0, 12.5, None, "3", "", math.nan, math.inf, -1e300, 2**70, 7.0, False],
        }
        rows = [
            {name: values[kind][k % len(values[kind])] for name, kind in columns.items()}
            for k in range(24)
        ]
        labels = [str(k % 3) for k in range(24)]
        one, many = (TextClassifier(columns=columns, **options) for _ in range(2))
        for model in (one, many):
            model.partial_fit(rows[:1], labels[:1], classes=["0", "1", "2"])
        for row, label in zip(rows[1:], labels[1:], strict=True):
            one.learn_one(row, label)
            many.partial_fit([row], [label])
            assert one.predict_one(row) == one.predict([row])[0]
            found, expected = (model.predict_proba(rows) for model in (one, many))
            assert np.array_equal(found, expected), row
    for wrong, kind in (({"d": "x"}, DataError), ("a text", InvalidParameter)):
        for use in (one.predict_one, lambda row: one.learn_one(row, "1")):
            with pytest.raises(kind, match=r"the columns 'c'|there is no column 'c'"):
                use(wrong)


def test_two_threads_learn_what_one_does() -> None:
    assert same(fitted(), fitted(n_jobs=2))


def test_many_threads_give_the_same_model_each_time() -> None:
    one = fitted(n_jobs=3)
    assert same(one, fitted(n_jobs=3))
    assert (one.predict(FRAME) == LABELS).mean() > 0.8
    moments = fitted().model_.tokenizer.moments
    assert np.array_equal(one.model_.tokenizer.moments.array, moments.array)


def test_one_column_of_texts_gives_the_model_of_texts() -> None:
    texts = TextClassifier(random_state=0).fit(FRAME["body"], LABELS)
    table = TextClassifier(columns={"body": "text"}, random_state=0).fit(FRAME, LABELS)
    assert np.array_equal(texts.predict_proba(FRAME["body"]), table.predict_proba(FRAME))
    assert list(texts.get_feature_names_out()) == list(table.get_feature_names_out())
    assert table.predict_one({"body": "free"}) == texts.predict_one("free")
    assert str(table.explain({"body": "free"})) == str(texts.explain("free"))


def test_a_loaded_model_is_the_same_and_learns_the_same(tmp_path) -> None:
    model = fitted(shuffle=False)
    model.save(tmp_path / "m.sureline")
    loaded = load(tmp_path / "m.sureline")
    assert loaded.columns_ == COLUMNS
    assert same(model, loaded)
    more = make_rows(20, 1)
    assert same(model.partial_fit(*more), loaded.partial_fit(*more))
    assert same(model, pickle.loads(pickle.dumps(model)))


def test_a_compact_model_knows_its_columns(tmp_path) -> None:
    fitted().save(tmp_path / "m.sureline", compact=True)
    loaded = load(tmp_path / "m.sureline")
    assert np.array_equal(loaded.predict(FRAME), fitted().predict(FRAME))


@pytest.mark.parametrize(
    "change",
    [
        {"table": [["subject", "text"]]},
        {"table": [["subject", "words"], *map(list, list(COLUMNS.items())[1:])]},
        {"table": 3},
        {"table": [["a", "text"], ["a", "text"]]},
        {"scheme": 1},
        {"moments": np.full((1, 2, 3), np.nan)},
        {"moments": np.zeros((2, 2, 3))},
        {"moments": -np.ones((1, 2, 3))},
    ],
)
def test_damaged_columns_in_a_file_are_refused(tmp_path, change) -> None:
    path = tmp_path / "m.sureline"
    fitted().save(path)
    opened = read(path)
    metadata, tensors = dict(opened.metadata), dict(opened.tensors)
    for name, value in change.items():
        (tensors if name == "moments" else metadata)[name] = value
    write(path, metadata, tensors)
    with pytest.raises(ModelFileError):
        load(path)


def test_merging_adds_up_the_numbers_that_were_seen() -> None:
    whole = fitted().model_.tokenizer.moments.describe()
    parts = [
        TextClassifier(columns=COLUMNS, max_iter=1, random_state=0).fit(FRAME[some], LABELS[some])
        for some in (slice(0, 20), slice(20, 60))
    ]
    merged = merge(parts)
    for found in (merged, merge(parts[::-1])):
        np.testing.assert_allclose(found.model_.tokenizer.moments.describe(), whole, rtol=1e-12)
    assert (merged.predict(FRAME) == LABELS).mean() > 0.8
    others = TextClassifier(columns={**COLUMNS, "amount": "category"}).fit(FRAME, LABELS)
    with pytest.raises(InvalidParameter, match="columns"):
        merge([merged, others])


def test_a_missing_column_is_named() -> None:
    model = fitted()
    with pytest.raises(DataError, match=r"no columns 'body', 'amount'.*has 'subject', 'sender'"):
        model.predict(FRAME[["subject", "sender"]])
    with pytest.raises(InvalidParameter, match="table or a list of dictionaries"):
        model.predict(["a text"])


def test_missing_and_extreme_values_are_no_error() -> None:
    model = fitted()
    none = {"subject": None, "body": float("nan"), "sender": None, "amount": None}
    rows = [none, {}, *({**none, "amount": x} for x in (1e308, -1e308, float("inf"), "12.5", ""))]
    probabilities = model.predict_proba(rows[:1] + rows[2:])
    assert np.isfinite(probabilities).all()
    assert (probabilities < 0.99).all()
    model.learn_one({**none, "amount": 1e308}, "ham")
    model.learn_one({**none, "amount": float("inf")}, "ham")
    assert (model.predict(FRAME) == LABELS).mean() > 0.8


def test_numbers_alone_are_learned() -> None:
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"x": rng.lognormal(3, 2, 300), "y": rng.randn(300)})
    label = (np.abs(np.log(frame["x"]) - 3) < 1.2).to_numpy()  # not monotonic
    model = TextClassifier(columns={"x": "number", "y": "number"}, random_state=0)
    assert (model.fit(frame[:200], label[:200]).predict(frame[200:]) == label[200:]).mean() > 0.85


def test_kinds_are_inferred() -> None:
    frame = FRAME.assign(
        subject=[f"{text} {k}" for k, text in enumerate(FRAME["subject"])],
        body=[f"{text} {k}" for k, text in enumerate(FRAME["body"])],
        day=pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(60), "D"),
    )
    model = TextClassifier(random_state=0).fit(frame, LABELS)
    assert model.columns_ == {**COLUMNS, "day": "number"}
    assert model.columns is None
    buffer = io.BytesIO(pickle.dumps(model))
    assert np.array_equal(pickle.load(buffer).predict(frame), model.predict(frame))
    assert model.fit(FRAME["body"], LABELS).columns_ is None


def test_inferred_columns_are_kept_in_files(tmp_path) -> None:
    model = TextClassifier(random_state=0, max_iter=1).fit(FRAME, LABELS)
    model.save(tmp_path / "m.sureline")
    assert load(tmp_path / "m.sureline").columns_ == model.columns_


def test_rows_are_explained_by_column() -> None:
    row = {"subject": "free lunch", "body": "a prize", "sender": "a@x.com", "amount": 12.5}
    model = fitted()
    found = model.explain(row)
    assert found.text == "subject: free lunch\nbody: a prize\nsender: a@x.com\namount: 12.5"
    places = {each.feature: each.places for each in found.classes["spam"].features}
    begin, end = places["subject: free"][0]
    assert found.text[begin:end] == "free"
    begin, end = places["sender: a@x.com"][0]
    assert found.text[begin:end] == "a@x.com"
    assert "subject: free" in str(found)
    assert "<span" in found._repr_html_()
    top = {each.feature for each in model.top_features("spam", 5)}
    assert any(": " in name for name in top)


def test_one_row_is_predicted_as_many_are() -> None:
    model = fitted()
    rows = FRAME.to_dict("records")
    assert [model.predict_one(row) for row in rows] == model.predict(FRAME).tolist()
    assert model.predict_one(rows[0], details=True).label == model.predict(FRAME)[0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "kind of each column"),
        (["a"], "columns must"),
        ({"a": "words"}, "'text', 'category' or 'number'"),
        ({1: "text"}, "not a string"),
    ],
)
def test_wrong_columns_are_refused(columns, message) -> None:
    with pytest.raises(InvalidParameter, match=message):
        TextClassifier(columns=columns).fit(FRAME, LABELS)


def test_wrong_values_are_named() -> None:
    model = TextClassifier(columns={"a": "number"})
    with pytest.raises(DataError, match="row 1, column 'a': 'many' is not a number"):
        model.fit([{"a": "1"}, {"a": "many"}], [0, 1])
    with pytest.raises(DataError, match="column 'a' holds int64, not texts"):
        TextClassifier(columns={"a": "text", "b": "text"}).fit([{"a": 1, "b": "x"}], [0])


def test_scikit_learn_takes_tables() -> None:
    model = TextClassifier(columns=COLUMNS, random_state=0, max_iter=1)
    assert cross_val_score(make_pipeline(model), FRAME, LABELS, cv=2).mean() > 0.7
    search = GridSearchCV(model, {"ngrams": [(1, 1), (1, 2)]}, cv=2).fit(FRAME, LABELS)
    assert search.best_estimator_.columns_ == COLUMNS


def test_columns_cannot_change_while_learning() -> None:
    model = fitted()
    model.set_params(columns={"subject": "text"})
    with pytest.raises(InvalidParameter, match="set_params"):
        model.partial_fit(FRAME, LABELS)


def test_rows_may_have_several_labels() -> None:
    labels = [{"spam", "mail"} if label == "spam" else {"mail"} for label in LABELS]
    model = TextClassifier(columns=COLUMNS, random_state=0).fit(FRAME, labels)
    row = {"subject": "free prize", "body": "free", "sender": "a@x.com", "amount": 10.0}
    assert model.predict_one(row) == ("mail", "spam")
    assert model.score(FRAME, labels) > 0.8
