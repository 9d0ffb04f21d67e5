"""Fixtures for model files: a small model, and a path for many files."""

import tempfile
from pathlib import Path

import pytest

from sureline import AROWClassifier


@pytest.fixture
def small():
    return AROWClassifier(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])


@pytest.fixture
def quick_path():
    """A path for thousands of files, in memory where the system has such a folder."""
    memory = Path("/dev/shm")  # noqa: S108 the folder inside it is a new one
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder) / "model.sureline"
