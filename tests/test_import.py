"""Importing sureline costs nothing, and its names are what they say."""

import subprocess
import sys

import pytest

import sureline
from sureline.errors import DataError, InvalidParameter, SurelineError


def test_importing_sureline_imports_nothing_heavy():
    script = (
        "import sys, sureline\n"
        "dir(sureline), sureline.__version__\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'numba', 'pyspark', 'typer', 'rich', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "sureline.AROWClassifier\n"
        "print(sorted({'pyspark', 'typer', 'matplotlib'} & set(sys.modules)))"
    )
    # (scikit-learn brings rich along where it finds it.)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[]", "[]"]


def test_every_public_name_can_be_imported():
    for name in sureline.__all__:
        assert getattr(sureline, name) is not None
    assert set(dir(sureline)) == set(sureline.__all__)
    with pytest.raises(AttributeError, match="module 'sureline' has no attribute 'Nothing'"):
        _ = sureline.Nothing
    with pytest.raises(AttributeError, match="module 'sureline' has no attribute '_private'"):
        _ = sureline._private
    assert not hasattr(sureline.estimators, "Nothing")


def test_errors_are_value_errors_too():
    assert issubclass(InvalidParameter, (SurelineError, ValueError))
    assert issubclass(DataError, (SurelineError, ValueError))
