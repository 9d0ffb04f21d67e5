"""Spark in this process: training, prediction and storage, once. `test_cluster` has the rest."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from spark_cluster import compile_before, local_session, needs_spark
from texts import compare_texts, texts_of

from sureline import DataError, InvalidParameter, ModelFileError, TextClassifier, merge

pytestmark = needs_spark()


@pytest.fixture
def spark(tmp_path):
    """A session in this process and its threads."""
    compile_before()
    with local_session("local[1]", tmp_path) as made:
        yield made


def test_training_is_a_merge_of_partitions_and_prediction_that_of_the_library(spark, tmp_path):
    from sureline.spark import SurelineClassifier, SurelineModel

    texts, labels = texts_of(60, 3)
    rows = [(text, str(label)) for text, label in zip(texts, labels, strict=True)]
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize(rows, 2), "text string, label string"
    )
    model = SurelineClassifier(textCol="text", rounds=1).fit(frame)
    classes = sorted(set(labels))
    parts = [
        TextClassifier().partial_fit(texts[k : k + 30], labels[k : k + 30], classes=classes)
        for k in (0, 30)
    ]
    compare_texts(model.classifier, merge(parts, how="product-prior"))

    model.save(str(tmp_path / "stored"))
    model.exportTo(tmp_path / "model.sureline")
    with pytest.raises(ModelFileError, match="more than memory_limit_gb=1e-09"):
        SurelineModel.fromFile(tmp_path / "model.sureline", memoryLimitGb=1e-9)
    spark.conf.set("spark.sureline.memoryLimitGb", "1e-9")
    with pytest.raises(ModelFileError, match="more than memory_limit_gb=1e-09"):
        SurelineModel.load(str(tmp_path / "stored"))
    spark.conf.unset("spark.sureline.memoryLimitGb")
    found = SurelineModel.load(str(tmp_path / "stored")).transform(frame).collect()
    assert [row.prediction for row in found] == model.classifier.predict(texts).tolist()
    chances = np.array([row.probability.toArray() for row in found])
    np.testing.assert_allclose(chances, model.classifier.predict_proba(texts), atol=1e-12)


@pytest.mark.slow
def test_texts_with_several_labels_are_learned_and_predicted(spark):
    from sureline.spark import SurelineClassifier

    texts, codes = texts_of(60, 3)
    sets = [sorted({str(code), str(k % 4 * 2)} - {"0"}) for k, code in enumerate(codes)]
    rows = list(zip(texts, sets, strict=True))
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize(rows, 2), "text string, label array<string>"
    )
    model = SurelineClassifier(textCol="text", rounds=1).fit(frame)
    labels = sorted({label for each in sets for label in each})
    assert model.classes == labels
    parts = [
        TextClassifier().partial_fit(texts[k : k + 30], sets[k : k + 30], classes=labels)
        for k in (0, 30)
    ]
    expected = merge(parts, how="product-prior")
    found = model.transform(frame).collect()
    chances = np.array([row.probability.toArray() for row in found])
    np.testing.assert_allclose(chances, expected.predict_proba(texts), rtol=1e-3, atol=1e-4)
    assert [tuple(row.prediction) for row in found] == model.classifier.predict(texts).tolist()


@pytest.mark.slow
def test_rows_of_several_columns_are_learned_predicted_and_stored(spark, tmp_path):
    from sureline.spark import SurelineClassifier, SurelineModel

    texts, labels = texts_of(120, 3)
    kinds = {"subject": "text", "the body": "text", "sender": "category", "sent": "number"}
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {
            "label": str(labels[k]),
            "subject": texts[60 + k][:20],
            "the body": None if k % 11 == 0 else texts[k],
            "sender": None if k % 5 == 0 else k % 3,
            "sent": None if k % 7 == 0 else begin + timedelta(hours=int(labels[k][-1]) + k % 5),
        }
        for k in range(60)
    ]
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize([tuple(row.values()) for row in rows], 2),
        "label string, subject string, `the body` string, sender int, sent timestamp",
    )
    columns = {"textCols": ["subject", "the body"], "categoryCols": ["sender"]}
    columns["numberCols"] = ["sent"]
    model = SurelineClassifier(**columns, rounds=1).fit(frame)
    classes = sorted(set(labels[:60]))
    parts = [
        TextClassifier(columns=kinds).partial_fit(part, [r["label"] for r in part], classes)
        for part in (rows[:30], rows[30:])
    ]
    expected = merge(parts, how="product-prior")
    assert model.classifier.columns_ == kinds
    found = model.transform(frame.drop("label")).collect()
    chances = np.array([row.probability.toArray() for row in found])
    np.testing.assert_allclose(chances, expected.predict_proba(rows), rtol=1e-3, atol=1e-4)
    assert [row.prediction for row in found] == model.classifier.predict(rows).tolist()

    model.save(str(tmp_path / "stored"))
    stored = SurelineModel.load(str(tmp_path / "stored"))
    model.exportTo(tmp_path / "model.sureline")
    here = SurelineModel.fromFile(tmp_path / "model.sureline")
    assert here.getTextCols() == ["subject", "the body"]
    for each in (stored, here):
        again = each.transform(frame.select("sent", "sender", "the body", "subject")).collect()
        assert [row.prediction for row in again] == [row.prediction for row in found]
    with pytest.raises(DataError, match="there is no column 'sender'"):
        here.transform(frame.drop("sender"))
    with pytest.raises(InvalidParameter, match=r"but the model has learned .*'sent' \(number\)"):
        here.setNumberCols([]).transform(frame)
    for wrong, settings in (
        ("the column 'sent' is of type timestamp, not of texts", {"textCols": ["sent"]}),
        ("timestamp; categories are strings, whole numbers", {"categoryCols": ["sent"]}),
    ):
        with pytest.raises(DataError, match=wrong):
            SurelineClassifier(**settings).fit(frame)
    with pytest.raises(DataError, match=r"a partition: row 0, column 'subject': .* not a number"):
        SurelineClassifier(numberCols=["subject"]).fit(frame)
