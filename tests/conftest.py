"""What all tests share: which of them run, how often they repeat themselves, and in what order.

By default a test repeats what it does a few times and slow tests are left out; ``pytest --all``, or
``make test-all``, runs everything. `cases.several` gives the number of repetitions.
"""

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SUPPORT = Path(__file__).parent / "support"
KERNELS = Path(__file__).parents[1] / "src" / "sureline" / "kernels"

sys.path.insert(0, str(SUPPORT))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run slow tests too, and all repetitions")


def pytest_configure(config: pytest.Config) -> None:
    # These variables reach the processes of xdist, and those that tests start.
    os.environ.setdefault("NUMBA_CACHE_DIR", str(config.cache.mkdir("numba")))
    os.environ["SURELINE_CHECK_TYPES"] = "1"  # loops themselves trust their callers
    # Several processes share the cores; a library's own threads would wait for each other, busily.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if config.getoption("--all"):
        os.environ["SURELINE_TESTS"] = "all"
    settings.register_profile(
        "sureline",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=100 if config.getoption("--all") else 30,
    )
    settings.load_profile("sureline")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile all kernels before xdist starts processes that would compile them twice over."""
    config = session.config
    processes = config.getoption("numprocesses", None)
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if not processes or not everything or os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return
    stamp = Path(os.environ["NUMBA_CACHE_DIR"], "all-kernels")
    newest = max(path.stat().st_mtime for path in KERNELS.rglob("*.py"))
    if not stamp.exists() or stamp.stat().st_mtime < newest:
        print("compiling all kernels, once", file=sys.stderr)
        script = SUPPORT / "kernel_cache.py"
        subprocess.run([sys.executable, script, str(processes)], check=True)
        stamp.touch()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests in the source alone, not in test modules, which it would import again."""
    found = yield
    return [each for each in found if type(each) is pytest.Module]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out slow tests, and put groups that one process must run in front.

    A group that came last would keep one process busy while the others have nothing left to do.
    """
    if not config.getoption("--all"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
