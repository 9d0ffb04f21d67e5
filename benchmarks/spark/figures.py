"""Throughput per core and size per weight: the figures to plan a cluster with.

    python benchmarks/spark/figures.py ../shared/data/imdb.parquet --label label

The file must have a column of texts, ``text``. Times are processor times, which other work on the
machine does not change: those of learning and emitting are measured in this process, those of
summing by Spark's executor.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


class FakeBroadcast:
    """A model in this process, in place of a broadcast."""

    def __init__(self, value: Any) -> None:
        self.value = value


def learn(batches: list[pa.RecordBatch], start: Any, how: str) -> tuple[float, float, list[Any]]:
    """The seconds to learn some batches and to emit what was learned, and the emitted rows."""
    from sureline.model.merge.sums import name_sums
    from sureline.spark.partition import PartitionTask

    sums = name_sums(start.model_.learner, how)
    task = PartitionTask(FakeBroadcast(start), how, sums, False, "error", {})
    for _ in range(2):  # the first time compiles
        begun = process_time()
        emitted = task.learn(iter(batches))
        first = next(emitted)
        learned = process_time()
        rows = [first, *emitted]
    return learned - begun, process_time() - learned, rows


def stages_of(context: Any) -> list[Any]:
    """Spark's statistics of each stage, in order."""
    empty = context._jvm.java.util.ArrayList
    none = context._gateway.new_array(context._gateway.jvm.double, 0)
    found = context._jsc.sc().statusStore().stageList(empty(), False, False, none, empty())
    return sorted((found.apply(k) for k in range(found.size())), key=lambda stage: stage.stageId())


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--label", default="label", help="the column of labels")
    parser.add_argument("--rows", type=int, default=25_000)
    parser.add_argument("--partitions", type=int, default=4)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

    from pyspark.sql import SparkSession

    from sureline import TextClassifier
    from sureline.spark import SurelineClassifier
    from sureline.spark.initial_model import add_classes
    from sureline.spark.sum_rows import Kind

    table = pq.read_table(options.file, columns=["text", options.label])
    order = np.random.default_rng(0).permutation(len(table))[: options.rows]
    table = table.take(pa.array(order)).rename_columns(["input", "label"])
    megabytes = table["input"].nbytes / 1e6
    classes = np.unique(table["label"].to_pylist())
    print(f"{len(table):,} texts, {megabytes:.1f} MB, {classes.size} classes")

    batches = table.combine_chunks().to_batches(max_chunksize=10_000)
    start = add_classes(TextClassifier(weighting=None), classes)
    seconds, emitting, rows = learn(batches, start, "product-prior")
    print(
        f"learning, per core: {megabytes / seconds:.1f} MB/s, {len(table) / seconds:,.0f} texts/s"
    )
    count = sum(len(batch) for batch in rows)
    kinds = np.concatenate([batch["kind"].to_numpy() for batch in rows])
    weights, words = int((kinds == Kind.WEIGHT).sum()), int((kinds == Kind.FEATURE).sum())
    print(f"emitted: {words:,} words, {weights:,} weights; {count / emitting:,.0f} rows/s")
    for part in (4, 16):
        some = table.slice(0, len(table) // part).combine_chunks().to_batches(max_chunksize=10_000)
        fewer = learn(some, start, "product-prior")[2]
        met = sum(int((batch["kind"].to_numpy() == Kind.FEATURE).sum()) for batch in fewer)
        print(f"words in {megabytes / part:.1f} MB: {met:,}")

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "texts.parquet")
        pq.write_table(
            table.rename_columns(["text", "label"]),
            path,
            row_group_size=-(-len(table) // options.partitions),
        )
        builder = SparkSession.builder.master("local[1]")
        for name, value in {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "4",
        }.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        frame = spark.read.parquet(path).repartition(options.partitions)
        learner = SurelineClassifier(textCol="text", classes=classes.tolist(), rounds=1)
        model = learner.fit(frame)
        stages = [each for each in stages_of(spark.sparkContext) if each.numCompleteTasks()]
        wrote = max(stages, key=lambda stage: stage.shuffleWriteRecords())
        read = max(stages, key=lambda stage: stage.shuffleReadRecords() * (stage != wrote))
        records = wrote.shuffleWriteRecords()
        print(
            f"summing: {records:,} rows in, {wrote.shuffleWriteBytes() / records:.1f} bytes of "
            f"shuffle per row, {records / (read.executorCpuTime() / 1e9):,.0f} rows/s per core"
        )
        features = model.numFeatures
        file = Path(folder) / "model.sureline"
        model.exportTo(file)
        print(
            f"model: {features:,} features, file of {file.stat().st_size / features:.0f} bytes per "
            f"feature, of which {model.classifier.model_.state.table.nbytes / features:.0f} weights"
        )
        spark.stop()


if __name__ == "__main__":
    main()
