"""Spark in this process: training, prediction and storage, once. `test_cluster` has the rest."""

import numpy as np
import pytest
from spark_cluster import compile_before, local_session, needs_spark
from texts import compare_texts, texts_of

from sureline import ModelFileError, TextClassifier, merge

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
