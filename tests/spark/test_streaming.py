"""Learning from a stream on Spark: every batch once, whatever happens to the driver."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from spark_cluster import compile_before, environment, local_session, needs_spark
from texts import compare_texts, texts_of

import sureline
from sureline import DataError, InvalidParameter, TextClassifier

pytestmark = [*needs_spark(), pytest.mark.slow]
SCRIPT = Path(__file__).parents[1] / "support" / "spark_streaming.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where Spark keeps its files."""
    compile_before()
    return tmp_path_factory.mktemp("stream")


@pytest.fixture
def spark(folder):
    """A session in this process and its threads."""
    with local_session("local[2]", folder) as made:
        yield made


def write_batch(folder, number, texts, labels):
    """A file of the stream; Spark takes the older ones first."""
    path = folder / f"{number}.json"
    rows = zip(texts, map(str, labels), strict=True)
    path.write_text("".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in rows))
    os.utime(path, (1_000_000_000 + number, 1_000_000_000 + number))


def test_a_driver_killed_again_and_again_loses_and_repeats_nothing(folder):
    texts, labels = texts_of(150, 3, seed=8)
    labels[:90] = np.where(labels[:90] == "class 02", "class 00", labels[:90])  # a third comes late
    start = TextClassifier().partial_fit(texts[:30], labels[:30])
    start.save(folder / "start.sureline")
    (folder / "files").mkdir()
    for number, first in enumerate(range(30, 150, 30)):
        write_batch(folder / "files", number, texts[first : first + 30], labels[first : first + 30])

    codes = [
        subprocess.run(
            [sys.executable, SCRIPT, folder, moment, str(batch)],
            env=environment(folder),
            capture_output=True,
            check=False,
        )
        for moment, batch in (("before", 1), ("after", 2), ("never", 0))
    ]
    assert [done.returncode for done in codes] == [-signal.SIGKILL, -signal.SIGKILL, 0], codes[
        -1
    ].stderr.decode()[-2000:]
    learned = sureline.load(folder / "end.sureline")
    for first in range(30, 150, 30):  # one file is one partition
        batch = texts[first : first + 30], labels[first : first + 30]
        start.partial_fit(*batch, classes=np.unique(batch[1]))
    assert learned.n_seen_ == 150
    compare_texts(learned, start)
    models = {path.name for path in (folder / "checkpoint" / "models").glob("*.sureline")}
    assert models == {"batch-2.sureline", "batch-3.sureline"}


def test_a_model_is_updated_by_its_stream(spark, tmp_path):
    from sureline.spark import SurelineClassifier, SurelineModel

    texts, labels = texts_of(80, 2, seed=9)
    (tmp_path / "files").mkdir()
    rows = [(texts[k], str(labels[k])) for k in range(40)]
    given = spark.createDataFrame(
        spark.sparkContext.parallelize(rows, 2), "text string, label string"
    )
    model = SurelineClassifier(textCol="text", rounds=1).fit(given)
    write_batch(tmp_path / "files", 0, texts[40:], labels[40:])
    stream = spark.readStream.schema(given.schema).json(str(tmp_path / "files"))
    checkpoint = str(tmp_path / "checkpoint")
    with pytest.raises(DataError, match="holds no model yet"):
        SurelineModel.fromCheckpoint(checkpoint)
    before = model.transform(given).select("probability").collect()
    for _ in range(2):  # the second time there is nothing new
        query = model.update_stream(stream, checkpoint, {"availableNow": True}, "learning")
        assert query.name == "learning"
        query.awaitTermination()
        assert model.classifier.n_seen_ == 80
    assert model.transform(given).select("probability").collect() != before
    stored = SurelineModel.fromCheckpoint(checkpoint)
    compare_texts(stored.classifier, model.classifier, atol=0.0)
    with pytest.raises(InvalidParameter, match="update_stream learns from a stream, such as"):
        model.update_stream(given, checkpoint)
    with pytest.raises(DataError, match="there is no column 'label'; there are 'text'"):
        model.update_stream(stream.select("text"), checkpoint)
