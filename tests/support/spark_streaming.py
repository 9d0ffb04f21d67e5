"""A driver that learns a stream of files, one file a batch, and may kill itself in the middle.

``python spark_streaming.py FOLDER MOMENT BATCH``: FOLDER has files/ with the stream, start.sureline
and, when this ends by itself, end.sureline. At batch number BATCH the driver is killed before its
model is stored (MOMENT ``before``) or just after it, before Spark notes that the batch is done
(``after``); with ``never`` it learns all there is.
"""

import os
import signal
import sys
import warnings
from pathlib import Path

from spark_cluster import session

from sureline.spark import SurelineModel
from sureline.spark.persistence import ModelStore


def kill_at(moment, batch):
    """Let the driver kill itself when the model of a batch is stored."""
    put = ModelStore.put_batch

    def put_and_die(store, model, number):
        if number == batch and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        put(store, model, number)
        if number == batch and moment == "after":
            os.kill(os.getpid(), signal.SIGKILL)

    ModelStore.put_batch = put_and_die


def main(folder, moment, batch):
    """Learn the stream."""
    warnings.simplefilter("ignore", FutureWarning)
    spark = session("local[1]", folder)
    kill_at(moment, batch)
    model = SurelineModel.fromFile(folder / "start.sureline")
    files = spark.readStream.schema("text string, label string")
    stream = files.option("maxFilesPerTrigger", 1).json(str(folder / "files"))
    query = model.update_stream(stream, str(folder / "checkpoint"), {"availableNow": True})
    query.awaitTermination()
    model.exportTo(folder / "end.sureline")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
