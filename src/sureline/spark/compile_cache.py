"""Where a Python worker keeps compiled code.

Processes that write one Numba cache at the same time can break each other's code. So every worker
has a folder of its own, filled at its start with what another worker of the executor has already
compiled: whoever has compiled something new leaves a copy behind, under a name of its own, and
never touches it again. All of it lies in the executor's scratch folder and goes with it.

The first worker of an executor compiles, for some seconds, unless the environment variable
SURELINE_COMPILED names a folder of code that was compiled before: what NUMBA_CACHE_DIR was in a run
on such a machine. It is only read.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SNAPSHOT = "compiled-"
# By process: a worker is forked, and must not take the folder of the one it was forked from.
_own: dict[int, Path] = {}


def scratch(name: str) -> Path:
    """A folder that the workers of this executor share, and that is removed with it."""
    given = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    folder = Path(given or tempfile.gettempdir()) / "python" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def compiled_apart() -> Iterator[None]:
    """Compile into a folder of this worker's own while this lasts, and share what was compiled.

    It must be entered before anything is compiled. Where nothing is compiled, it does nothing.
    """
    if os.environ.get("NUMBA_DISABLE_JIT", "0") == "1":
        yield
        return
    shared = scratch("sureline-compiled")
    own = _own_folder(shared)
    os.environ["NUMBA_CACHE_DIR"] = str(own)
    if "numba" in sys.modules:  # it has read the variable already
        import numba

        numba.config.CACHE_DIR = str(own)  # type: ignore[attr-defined]
    yield
    _leave_copy(own, shared)


def _own_folder(shared: Path) -> Path:
    """The folder of this process; a new one starts with the newest copy that anybody left."""
    known = _own.get(os.getpid())
    if known is not None and known.is_dir():
        return known
    own = Path(tempfile.mkdtemp(prefix=f"own-{os.getpid()}-", dir=shared))
    given = os.environ.get("SURELINE_COMPILED")
    source = _newest(shared) or (Path(given) if given else None)
    if source is not None:
        with suppress(OSError, shutil.Error):  # then it is compiled again
            shutil.copytree(source, own, dirs_exist_ok=True)
    _own[os.getpid()] = own
    return own


def _leave_copy(own: Path, shared: Path) -> None:
    """Leave a copy of the folder for others, if it has more than the newest copy."""
    newest = _newest(shared)
    if newest is not None and _files(own) <= _files(newest):
        return
    number = 0 if newest is None else int(newest.name.removeprefix(SNAPSHOT)) + 1
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=shared))
    try:
        shutil.copytree(own, unfinished, dirs_exist_ok=True)
        unfinished.rename(shared / f"{SNAPSHOT}{number}")
    except (OSError, shutil.Error):  # another worker was first
        shutil.rmtree(unfinished, ignore_errors=True)


def _newest(shared: Path) -> Path | None:
    """The newest of the finished copies."""
    numbers = [int(path.name.removeprefix(SNAPSHOT)) for path in shared.glob(f"{SNAPSHOT}*")]
    return shared / f"{SNAPSHOT}{max(numbers)}" if numbers else None


def _files(folder: Path) -> set[str]:
    """The names of all compiled code in a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*.nb[ic]")}
