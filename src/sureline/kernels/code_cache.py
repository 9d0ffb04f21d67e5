"""Which compiled code on disk may be used: that of exactly the present sources, and no other.

Numba notices a change in the file of a compiled function, but not in the files of the functions
that it calls. Here the names of cached files hold a hash of all sources that the code may come
from: `kernels`, the function's own package and the version of Numba. A change in any of them makes
a new name, and code under an old name is never read; it is removed when its successor is written.

The names also hold the signature and the processor. Whatever two processes write under one name at
the same time is therefore the same. Where the files lie is up to Numba: `NUMBA_CACHE_DIR`, else
beside the sources, else in a folder of the user's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from glob import escape
from pathlib import Path
from typing import Any

import numba

from sureline.kernels.numba_internals import CompileResultCacheImpl, FunctionCache, machine_key

PACKAGE = Path(__file__).parents[1]
SIZE = 8  # bytes of a hash


def _digest(*parts: bytes) -> str:
    """A short hash of some byte strings."""
    digest = hashlib.blake2b(digest_size=SIZE)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def hash_sources(folder: Path, pattern: str) -> str:
    """A hash of the names and contents of the source files in a folder; "" if there are none."""
    files = sorted(folder.glob(pattern))
    parts = (
        part
        for path in files
        for part in (path.relative_to(folder).as_posix().encode(), path.read_bytes())
    )
    return _digest(*parts) if files else ""


def _source_folder(function: Callable[..., Any]) -> tuple[Path, str]:
    """The folder whose sources a function may be compiled from, and which of its files.

    That is a package of sureline with all that it contains, or, for a rule from elsewhere, the
    files beside the function's own.
    """
    file = Path(function.__code__.co_filename)
    if file.is_relative_to(PACKAGE):
        return PACKAGE / file.relative_to(PACKAGE).parts[0], "**/*.py"
    return file.parent, "*.py"


@cache
def _loaded(folder: Path, pattern: str) -> str:
    """The hash of sources as they were when this process first looked at them."""
    return hash_sources(folder, pattern)


KERNELS = (PACKAGE / "kernels", "**/*.py")
for _name in ("kernels", "rules", "data"):  # before anything is compiled from them
    _loaded(PACKAGE / _name, "**/*.py")


class _SourceCacheImpl(CompileResultCacheImpl):
    """File names that hold a hash of the sources, and one of signature and processor."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        own = _source_folder(function)
        self.folders = dict.fromkeys((KERNELS, own))
        self.sources = _digest(
            numba.__version__.encode(), *(_loaded(*each).encode() for each in self.folders)
        )
        self.complete = all(_loaded(*each) for each in self.folders)
        self._key = _digest(str(signature).encode(), machine_key().encode())
        CompileResultCacheImpl.__init__(self, function)

    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        base = CompileResultCacheImpl.get_filename_base(self, fullname, abiflags)
        python = base.rpartition(".")[2]
        self.any_version = f"{escape(fullname)}-*.{python}*nb[ic]"
        return f"{base}-{self.sources}-{self._key}"

    def unchanged(self) -> bool:
        """Whether the sources on disk are still those that this process has loaded."""
        return all(hash_sources(*each) == _loaded(*each) for each in self.folders)


class SourceCache(FunctionCache):
    """The compiled code of one function for one signature, on disk."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        vars(self)["_impl_class"] = partial(_SourceCacheImpl, signature=signature)
        FunctionCache.__init__(self, function)
        if not self._impl.complete:  # without sources, nothing shows whether code is stale
            FunctionCache.disable(self)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, unless its sources have changed since, and drop what it replaces."""
        with suppress(OSError):  # a full disk, or a folder that was removed: it stays in memory
            if self._impl.unchanged():
                FunctionCache.save_overload(self, sig, data)
                self._remove_replaced()

    def _remove_replaced(self) -> None:
        """Remove the code of the same function that other sources have led to."""
        for path in Path(self._cache_path).glob(self._impl.any_version):
            if f"-{self._impl.sources}-" not in path.name:
                path.unlink(missing_ok=True)


def open_cache(function: Callable[..., Any], signature: Any) -> SourceCache | None:
    """Where the code of a function is kept, or None where no folder can be written."""
    try:
        return SourceCache(function, signature)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        return None
