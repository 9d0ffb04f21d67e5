"""Files are replaced whole, keep their permissions, and leave nothing behind."""

import os
import stat

import pytest

from sureline.data.atomic_write import atomic_write

fcntl = pytest.importorskip("fcntl", reason="this system has no locks of files")


def leave(path, age):
    path.write_bytes(b"half")
    when = path.stat().st_mtime - age
    os.utime(path, (when, when))
    return path


def test_temporary_files_of_killed_processes_are_removed(tmp_path):
    old, recent = leave(tmp_path / ".sureline-1.tmp", 1e3), leave(tmp_path / ".sureline-2.tmp", 0)
    held, other = leave(tmp_path / ".sureline-3.tmp", 1e3), leave(tmp_path / "other.tmp", 1e3)
    with held.open("rb") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        with atomic_write(tmp_path / "file") as file:
            file.write(b"whole")
    assert not old.exists()
    assert recent.exists()
    assert held.exists()
    assert other.exists()
    with atomic_write(tmp_path / "file") as file:
        file.write(b"whole")
    assert not held.exists()
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_private_file_stays_private(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with atomic_write(path) as file:
        file.write(b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_error_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_write(path):
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
