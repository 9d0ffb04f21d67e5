"""Work for the tests of the experiments' cells, where other processes can import it."""

import json
import os
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRESENT = (ROOT / "experiments" / "cells.py").is_file()


def count(cell, settings):
    """Leave a trace of each run in a folder, and return something of the cell."""
    from experiments.tasks import MissingData

    Path(settings["data"], f"{cell.task}.{os.getpid()}").touch()
    if cell.task == "absent":
        raise MissingData("absent.csv was not found")
    if cell.task == "broken":
        raise RuntimeError("broken on purpose")
    if cell.task == "warning":
        warnings.warn("not so good", UserWarning, stacklevel=1)
    return {"value": len(cell.task) + settings["seed"], "threads": count_threads()}


def count_threads():
    """The most threads that any numerical library would use."""
    import numpy as np
    from threadpoolctl import threadpool_info

    np.dot([1.0], [1.0])
    return max((each["num_threads"] for each in threadpool_info()), default=1)


def write_news(folder, each=24):
    """A file of the shape of 20 Newsgroups: six groups of a few posts, easy to classify."""
    import pyarrow
    import pyarrow.parquet

    groups = {
        "comp.sys.ibm.pc.hardware": "dos bus card",
        "comp.sys.mac.hardware": "apple powerbook quadra",
        "sci.electronics": "voltage circuit amplifier",
        "sci.med": "doctor disease patient",
        "talk.politics.guns": "weapon firearm militia",
        "talk.politics.mideast": "israel turkish armenian",
    }
    rows = []
    for group, words in groups.items():
        for k in range(each):
            own, other = words.split(), ["the", "writes", f"w{k % 7}", f"v{k % 5}"]
            body = " ".join([own[k % 3], *other, own[(k + 1) % 3] if k % 4 else "article"])
            text = f"From: a{k}@b.c\nSubject: {own[0] if k % 2 else 'hello'}\nLines: 3\n\n{body}\n"
            split = "train" if k % 3 else "test"
            rows.append({"split": split, "group": group, "id": str(k), "text": text})
    path = Path(folder) / "20news-bydate.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def read_lines(path):
    """The objects of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
