"""Compiles every kernel once, before processes that run tests would all compile the same ones.

``python kernel_cache.py PROCESSES``. The code is left in Numba's cache, as by any other use.
"""

import importlib
import pkgutil
import sys
from multiprocessing import get_context

import sureline.kernels
from sureline.kernels.compiling import REAL, Kernel


def find_kernels() -> dict[tuple[str, str], Kernel]:
    """All kernels, by module and name."""
    found = {}
    for each in pkgutil.walk_packages(sureline.kernels.__path__, "sureline.kernels."):
        for name, value in vars(importlib.import_module(each.name)).items():
            if isinstance(value, Kernel) and value.function.__module__ == each.name:
                found[each.name, name] = value
    return found


def compile_kernel(work: tuple[str, str, str]) -> None:
    module, name, dtype = work
    getattr(importlib.import_module(module), name).compiled(dtype)


if __name__ == "__main__":
    # The longest take the most time: with those first, all processes end at about the same time.
    kernels = sorted(
        find_kernels().items(), key=lambda each: -len(each[1].function.__code__.co_code)
    )
    work = [(*place, dtype) for place, _ in kernels for dtype in REAL]
    with get_context("spawn").Pool(int(sys.argv[1])) as pool:
        pool.map(compile_kernel, work, chunksize=1)
