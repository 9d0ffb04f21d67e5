"""How much memory the driver needs, by the number of partitions, for a given number of features.

    python benchmarks/spark/driver_memory.py --features 1000000 --partitions 1 4 16

Every partition has every feature: its random texts of 100 words, made on the executors, have each
word once. Each number of partitions has a driver and executors of its own. The table shows the time
and the peak memory of the driver's Python and Java.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

WORDS = 100  # per text


def texts_of(features: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Texts that together have every word once, in an order that depends on their number."""
    import numpy as np
    import pyarrow as pa

    for batch in batches:
        for number in batch["id"].to_pylist():
            rng = np.random.default_rng(number)
            words = rng.permutation(features).reshape(-1, WORDS)
            labels = np.where(rng.random(len(words)) < 0.5, "yes", "no")
            for first in range(0, len(words), 1000):
                some = words[first : first + 1000].tolist()
                texts = [" ".join(f"w{word:07}" for word in row) for row in some]
                yield pa.RecordBatch.from_pydict(
                    {"text": texts, "label": labels[first : first + 1000].tolist()}
                )


def peak_mb(process: int | str) -> float:
    """The peak memory of a process, in MB of 2^20 bytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def run(features: int, partitions: int, memory: str, texts: bool) -> dict[str, float]:
    """Train once and measure time and memory."""
    from functools import partial

    from pyspark.sql import SparkSession

    from sureline.spark import SurelineClassifier

    warnings.simplefilter("ignore")
    settings = {
        "spark.driver.memory": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "16",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,2048]")
    for name, value in {**settings, "spark.executor.memory": "2g"}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    java = next(
        int(child)
        for task in Path(f"/proc/{os.getpid()}/task").glob("*/children")
        for child in task.read_text().split()
        if "java" in Path(f"/proc/{child}/cmdline").read_text()
    )
    numbers = spark.range(0, partitions, 1, partitions)
    frame = numbers.mapInArrow(partial(texts_of, features), "text string, label string")
    learner = SurelineClassifier(
        textCol="text", classes=["no", "yes"], ngrams=[1, 1], rounds=1, dtype="float32"
    )
    if not texts:
        learner.setFeatures("hash").setBits(int(features - 1).bit_length())
    before = peak_mb("self"), peak_mb(java)
    begun = perf_counter()
    model = learner.fit(frame)
    measured = {
        "partitions": partitions,
        "features": model.numFeatures,
        "seconds": perf_counter() - begun,
        "python_before": before[0],
        "python": peak_mb("self"),
        "java": peak_mb(java),
    }
    spark.stop()
    return measured


def main() -> None:
    """Print a table with one row per driver."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--driver-memory", default="512m", help="the heap of the driver's Java")
    parser.add_argument("--hash", action="store_true", help="hash the words, without their names")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    if options.one is not None:
        measured = run(options.features, options.one, options.driver_memory, not options.hash)
        print(json.dumps(measured))
        return
    import pyspark

    os.environ["SPARK_HOME"] = pyspark.__path__[0]
    print("partitions   features   seconds   Python MB, before      peak   Java MB", flush=True)
    for count in options.partitions:
        done = subprocess.run(  # noqa: S603 this script
            [sys.executable, *sys.argv, "--one", str(count)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        row = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{row['partitions']:>10} {row['features']:>10,} {row['seconds']:>9.0f}"
            f" {row['python_before']:>19.0f} {row['python']:>9.0f} {row['java']:>9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
