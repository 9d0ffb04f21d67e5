"""What the contests run on: processor, cores, system and versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from shutil import which
from subprocess import CalledProcessError, run

PACKAGES = ("numpy", "scipy", "numba", "pyarrow")


def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> str:
    """The machine's memory."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "memory of unknown size"
    return f"{size / 2**30:.0f} GiB of memory"


def load() -> float | None:
    """How many processes wanted to run in the last minute; None if unknown."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def debian_version(package: str) -> str:
    """The version of a Debian package."""
    if which("dpkg-query") is None:
        return "of unknown version"
    try:
        command = ["dpkg-query", "-W", "-f", "${Version}", package]
        return run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    except CalledProcessError:
        return "of unknown version"


def describe() -> str:
    """A line on the machine."""
    return (
        f"{processor()}, {cores()} core{'s' * (cores() != 1)}, {memory()}; "
        f"{platform.system()} {platform.machine()}"
    )


def libraries() -> str:
    """A line on what all of Python's rivals rest on."""
    found = (f"{name} {version(name)}" for name in PACKAGES)
    return f"Python {platform.python_version()}, {', '.join(found)}"
