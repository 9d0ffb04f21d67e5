"""Spark on a real cluster: training, prediction, pipelines, files, and a worker that is killed."""

import contextlib
import gc
import math
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from pages import blocks
from spark_cluster import (
    WAIT,
    Cluster,
    compile_before,
    executors,
    local_session,
    needs_spark,
)
from texts import compare_texts, texts_of

import sureline
from sureline import AROWClassifier, DataError, InvalidParameter, TextClassifier, merge

pytestmark = [*needs_spark(), pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A master and two workers, which are ended in any case."""
    folder = tmp_path_factory.mktemp("spark")
    compile_before()
    started = Cluster(folder)
    try:
        for _ in range(2):
            started.start_worker()
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="module")
def spark(cluster):
    """A session on the cluster."""
    with local_session(cluster.url, cluster.folder) as made:
        yield made


def frame_of(spark, rows, schema, partitions=3):
    """Rows as a DataFrame, in order, in so many partitions."""
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, partitions), schema)


def parts_of(frame):
    """The rows of each partition."""
    return [part for part in frame.rdd.glom().collect() if part]


def merged_in_memory(frame, how, **settings):
    """What the library makes of the same partitions."""
    parts = parts_of(frame)
    classes = sorted({row.label for part in parts for row in part})
    models = [
        TextClassifier(**settings).partial_fit(
            [row.text for row in part], [row.label for row in part], classes=classes
        )
        for part in parts
    ]
    return merge(models, how=how)


@pytest.fixture(scope="module")
def messages(spark):
    """Texts of three classes, in three partitions."""
    texts, labels = texts_of(240, 3)
    rows = [
        (k, text, str(label)) for k, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    return frame_of(spark, rows, "id int, text string, label string").cache()


@pytest.mark.parametrize("classes", [2, 20])
def test_training_equals_the_merge_of_the_partitions(spark, classes):
    from sureline.spark import SurelineClassifier

    texts, labels = texts_of(200, classes, seed=classes)
    order = np.argsort(labels, kind="stable") if classes == 20 else np.arange(200)
    rows = [(texts[k], str(labels[k])) for k in order]  # 20: partitions have different classes
    frame = frame_of(spark, rows, "text string, label string")
    model = SurelineClassifier(textCol="text", rounds=1).fit(frame)
    compare_texts(model.classifier, merged_in_memory(frame, "product-prior"))
    assert (model.numClasses, model.numFeatures) == (classes, model.classifier.n_features_)
    if classes == 2:
        settings = {"features": "hash", "bits": 12}
        hashed = SurelineClassifier(textCol="text", rounds=1, how="kl", **settings).fit(frame)
        theirs = merged_in_memory(frame, "kl", **settings)
        np.testing.assert_allclose(hashed.classifier.coef_, theirs.coef_, atol=1e-6)
        np.testing.assert_allclose(hashed.classifier.variance_, theirs.variance_, atol=1e-6)


def test_prediction_is_the_librarys_and_keeps_all_rows_and_columns(spark, messages):
    from sureline.spark import SurelineClassifier

    learner = SurelineClassifier(textCol="text", rawPredictionCol="raw")
    model = learner.fit(messages)
    assert model.classifier.n_iter_ == 2
    assert model.classifier.n_seen_ == 480
    rows = messages.union(spark.createDataFrame([(-1, None, "x")], messages.schema))
    out = model.transform(rows)
    kinds = {name: kind for name, kind in out.dtypes if name not in rows.columns}
    assert kinds == {"prediction": "string", "probability": "vector", "raw": "vector"}
    assert out.columns[:3] == rows.columns
    found = {row.id: row for row in out.collect()}
    assert len(found) == 241
    missing = found.pop(-1)
    assert (missing.prediction, missing.probability, missing.raw) == (None, None, None)
    texts = [found[k].text for k in range(240)]
    inside = model.classifier
    assert [found[k].prediction for k in range(240)] == inside.predict(texts).tolist()
    chances = np.array([found[k].probability.toArray() for k in range(240)])
    np.testing.assert_allclose(chances, inside.predict_proba(texts), atol=1e-12)
    scores = np.array([found[k].raw.toArray() for k in range(240)])
    np.testing.assert_allclose(scores, inside.decision_function(texts), atol=1e-12)
    skipping = model.copy().setHandleInvalid("skip").setProbabilityCol("")
    assert skipping.transform(rows).count() == 240
    assert skipping.transform(rows).columns == [*rows.columns, "prediction", "raw"]
    with pytest.raises(DataError, match="there is a column 'prediction' already"):
        model.transform(out)


def test_rows_without_a_text_or_a_label_are_left_out_with_a_warning(spark, messages):
    from sureline.spark import SurelineClassifier

    gaps = spark.createDataFrame([(-1, None, "class 00"), (-2, "a", None)], messages.schema)
    rows = messages.union(gaps)
    with pytest.warns(UserWarning, match="2 rows were left out, because their text, vector, label"):
        model = SurelineClassifier(textCol="text", rounds=1).fit(rows)
    assert model.classifier.n_seen_ == 240
    with pytest.raises(DataError, match=r"the column '(text|label)' has a missing value") as caught:
        SurelineClassifier(textCol="text", handleInvalid="error").fit(rows)
    assert "Traceback" not in str(caught.value)


def test_numbers_in_a_pipeline_are_cross_validated_saved_and_loaded(spark, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.evaluation import MulticlassClassificationEvaluator
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    from sureline.spark import SurelineClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X @ [1.0, -2.0, 0.5] > 0).astype(int)
    rows = [
        (*map(float, x), int(label), 1.0 + k % 2)
        for k, (x, label) in enumerate(zip(X, y, strict=True))
    ]
    frame = frame_of(spark, rows, "a double, b double, c double, label int, w double", 2).cache()
    learner = SurelineClassifier(rule="arow", weightCol="w", how="kl", rounds=1, classes=[0, 1])
    pipeline = Pipeline(
        stages=[VectorAssembler(inputCols=["a", "b", "c"], outputCol="features"), learner]
    )
    grid = ParamGridBuilder().addGrid(learner.r, [0.1, 10.0]).build()
    evaluator = MulticlassClassificationEvaluator(metricName="accuracy")
    search = CrossValidator(
        estimator=pipeline, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=0
    )
    best = search.fit(frame).bestModel
    gc.collect()  # what the search leaves open goes here, not in another test
    assert evaluator.evaluate(best.transform(frame)) > 0.85

    fitted = pipeline.fit(frame)
    parts = parts_of(frame)
    models = [
        AROWClassifier().partial_fit(
            [[r.a, r.b, r.c] for r in part],
            [r.label for r in part],
            classes=[0, 1],
            sample_weight=[r.w for r in part],
        )
        for part in parts
    ]
    inside = fitted.stages[1].classifier
    np.testing.assert_allclose(inside.coef_, merge(models).coef_, atol=1e-6)
    np.testing.assert_allclose(inside.variance_, merge(models).variance_, atol=1e-6)
    out = fitted.transform(frame)
    assert dict(out.dtypes)["prediction"] == "double"
    fitted.write().overwrite().save(str(tmp_path / "pipeline"))
    again = PipelineModel.load(str(tmp_path / "pipeline"))
    assert again.transform(frame).select("prediction").collect() == (
        out.select("prediction").collect()
    )
    pipeline.write().overwrite().save(str(tmp_path / "untrained"))
    assert Pipeline.load(str(tmp_path / "untrained")).getStages()[1].getWeightCol() == "w"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "model.sureline" for path in files)
    assert not any(b"\x80\x04\x95" in path.read_bytes()[:8] for path in files)  # no pickle


def test_models_go_to_the_library_and_come_back(messages, tmp_path):
    from sureline.spark import SurelineClassifier, SurelineModel

    model = SurelineClassifier(textCol="text", predictionCol="said", rounds=1).fit(messages)
    path = tmp_path / "model.sureline"
    model.exportTo(path)
    inside = sureline.load(path)
    texts = [row.text for row in messages.collect()]
    np.testing.assert_array_equal(
        inside.predict_proba(texts), model.classifier.predict_proba(texts)
    )
    assert inside.explain(texts[0]).label == inside.predict(texts[:1])[0]
    back = SurelineModel.fromFile(path, predictionCol="said")
    columns = ["id", "said", "probability"]
    assert back.transform(messages).select(columns).collect() == (
        model.transform(messages).select(columns).collect()
    )
    AROWClassifier().fit([[0.0], [1.0]], [0, 1]).save(tmp_path / "numbers.sureline")
    assert not SurelineModel.fromFile(tmp_path / "numbers.sureline").reads_texts
    model.save(str(tmp_path / "saved"))
    loaded = SurelineModel.load(str(tmp_path / "saved"))
    assert (loaded.uid, loaded.getPredictionCol()) == (model.uid, "said")
    compare_texts(loaded.classifier, model.classifier, atol=0.0)


def test_sorted_rows_cause_a_warning_and_are_shuffled_on_request(spark, messages):
    from sureline.spark import SurelineClassifier

    rows = sorted(messages.collect(), key=lambda row: row.label)
    frame = frame_of(spark, rows, messages.schema, 9)
    with pytest.warns(UserWarning, match=r"of 9 partitions hold examples of one class only"):
        SurelineClassifier(textCol="text", rounds=1).fit(frame)
    shuffled = [
        SurelineClassifier(textCol="text", shuffle="all", seed=seed, rounds=1).fit(given)
        for seed, given in ((1, frame), (1, messages.repartition(9)), (2, frame))
    ]
    first, second, other = (model.classifier for model in shuffled)
    compare_texts(first, second)  # the order comes from the rows and the seed alone
    assert first.n_seen_ == 240
    assert not np.allclose(first.intercept_, other.intercept_, atol=1e-6)
    within = SurelineClassifier(textCol="text", shuffle="partition", rounds=1).fit(messages)
    assert within.classifier.n_seen_ == 240


def test_rows_in_an_order_that_a_repeated_task_may_not_see_again_cause_a_warning(messages):
    from pyspark.sql import functions as sql

    from sureline.spark import SurelineClassifier
    from sureline.spark.pyspark_internals import is_order_determined

    few = messages.select("id").where("id < 5")
    assert is_order_determined(messages)
    assert is_order_determined(messages.repartition(3).sortWithinPartitions("id").select("text"))
    assert is_order_determined(messages.join(sql.broadcast(few), "id"))
    assert not is_order_determined(messages.repartition(3))
    assert not is_order_determined(messages.sortWithinPartitions("id").repartition(3))
    assert not is_order_determined(messages.join(few.hint("merge"), "id"))
    with pytest.warns(UserWarning, match=r"set shuffle=\"partition\", or sort rows"):
        SurelineClassifier(textCol="text", rounds=1).fit(messages.repartition(3))
    SurelineClassifier(textCol="text", shuffle="partition").fit(messages.repartition(3))


def test_rules_without_variances_predict_no_probabilities(messages):
    from sureline.spark import SurelineClassifier

    model = SurelineClassifier(textCol="text", rule="pa-i", C=0.5, rounds=1).fit(messages)
    assert model.transform(messages).columns == [*messages.columns, "prediction"]
    with pytest.raises(InvalidParameter, match="the rule keeps no variances, so that there are no"):
        model.copy().setProbabilityCol("p").transform(messages)
    with pytest.raises(InvalidParameter, match="keeps no variances, so that how='kl' has nothing"):
        SurelineClassifier(textCol="text", rule="pa-i", how="kl").fit(messages)


def test_wrong_columns_and_labels_are_refused_in_one_sentence(spark, messages):
    from sureline.spark import SurelineClassifier

    def refused(kind, message, frame=messages, **settings):
        with pytest.raises(kind, match=message):
            SurelineClassifier(**settings).fit(frame)

    refused(DataError, "there is no column 'body'; there are 'id', 'text', 'label'", textCol="body")
    refused(DataError, "'id' is of type int, expected texts", textCol="id")
    refused(DataError, "'id' is of type int, expected vectors; for a column", featuresCol="id")
    arrays = messages.selectExpr("text", "array(0.5D) AS label")
    refused(DataError, r"labels must be strings, numbers or booleans", arrays, textCol="text")
    one = messages.where("label = 'class 00'")
    refused(DataError, "holds one class only, 'class 00'", one, textCol="text")
    refused(DataError, "holds no label", messages.limit(0), textCol="text")
    refused(
        InvalidParameter,
        "classes has 1, but the labels are of type string",
        textCol="text",
        classes=[1, 2],
    )
    refused(
        DataError,
        "is not among the classes, which are 'class 00', 'class 01'; name all",
        textCol="text",
        classes=["class 00", "class 01"],
    )
    refused(
        InvalidParameter,
        "covariance='full' keeps a number for every pair",
        textCol="text",
        covariance="full",
        features="hash",
        bits=4,
    )
    refused(DataError, "expected numbers", textCol="text", weightCol="label")


def wait_until(true):
    """Wait for something that takes long only where it never comes."""
    end = time.monotonic() + WAIT
    while not true() and time.monotonic() < end:
        time.sleep(0.1)
    assert true()


def test_a_worker_that_is_killed_changes_nothing(cluster, spark, tmp_path):
    from sureline.spark import SurelineClassifier

    folder, words = str(tmp_path), [f"word{k}" for k in range(60)]

    def noting(batches):
        """Rows that depend on their number alone; each partition leaves a note of where it ran.

        While one executor is to be killed, partitions on the others wait for it to happen.
        """
        import pyarrow
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
        executor = daemon.rpartition(")")[2].split()[1]
        with contextlib.suppress(FileNotFoundError):  # it has happened
            while (Path(folder) / "victim").read_text() != executor:
                time.sleep(0.1)
        for batch in batches:
            ids = batch["id"].to_pylist()
            yield pyarrow.RecordBatch.from_pydict(
                {
                    "text": [f"{words[i % 60]} {words[i * i % 59]} {words[i % 7]}" for i in ids],
                    "label": [str((i * i % 59) % 3) for i in ids],
                }
            )
        (Path(folder) / f"{number}-{executor}").touch()

    frame = spark.range(0, 450, 1, 9).mapInArrow(noting, "text string, label string")
    learner = SurelineClassifier(textCol="text", classes=["0", "1", "2"], rounds=1)
    expected = learner.fit(frame).classifier
    for note in tmp_path.iterdir():
        note.unlink()

    known = spark.sparkContext._jsc.sc().getExecutorMemoryStatus
    before = known().size()
    worker = cluster.start_worker()
    wait_until(lambda: known().size() > before)
    wait_until(lambda: executors(worker.pid))
    started = executors(worker.pid)
    executor = started[0]
    (tmp_path / "victim").write_text(str(executor))
    found = []
    training = threading.Thread(target=lambda: found.append(learner.fit(frame).classifier))
    training.start()
    try:
        wait_until(lambda: any(tmp_path.glob(f"*-{executor}")))
        done = {note.name.partition("-")[0] for note in tmp_path.glob(f"*-{executor}")}
    finally:
        for process in (worker.pid, *started):
            os.kill(process, signal.SIGKILL)
        (tmp_path / "victim").unlink()
        training.join()
    worker.wait()
    notes = [note.name.split("-") for note in tmp_path.iterdir()]
    again = {number for number, ran_on in notes if ran_on != str(executor)}
    assert done <= again  # what it had finished was done again
    assert again == {str(number) for number in range(9)}
    compare_texts(found[0], expected)


def test_code_in_the_documentation_prints_what_it_says(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    found = blocks("docs/spark.md")
    assert found
    for block in found:
        assert block.run(names) == block.printed, f"docs/spark.md, line {block.line}"
    assert names["spark"].sparkContext is spark.sparkContext  # on the cluster, that is
    names.clear()
    gc.collect()  # what the search leaves open goes here, not in another test


def test_probabilities_sum_to_one_for_many_classes(spark):
    from sureline.spark import SurelineClassifier

    texts, labels = texts_of(100, 5, seed=4)
    rows = [(text, int(label[-2:]) * 10) for text, label in zip(texts, labels, strict=True)]
    frame = frame_of(spark, rows, "text string, label long", 2)
    model = SurelineClassifier(textCol="text").fit(frame)
    assert model.classes == [0, 10, 20, 30, 40]
    for row in model.transform(frame).collect():
        assert math.isclose(sum(row.probability), 1.0, abs_tol=1e-6)
        assert row.prediction in model.classes
