"""The real data sets, where they are at hand."""

import os
from functools import cache
from pathlib import Path

import pyarrow.parquet
import pytest

HERE = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared_path(name):
    """The path of a data set; where there is none, the test is skipped with a sentence."""
    for folder in (os.environ.get("SURELINE_DATA"), HERE):
        if folder and (Path(folder) / name).exists():
            return Path(folder) / name
    pytest.skip(f"{name} is not at hand: set SURELINE_DATA to the folder that holds it")


@cache
def shared(name, column):
    """A column of a data set, as a list."""
    return pyarrow.parquet.read_table(shared_path(name), columns=[column])[column].to_pylist()
