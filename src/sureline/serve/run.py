"""The service as a process: it listens, says where, and stops when it is asked to."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from pathlib import Path

import uvicorn

from sureline.errors import InvalidParameter
from sureline.serve.application import make_application
from sureline.serve.calls import Settings
from sureline.serve.logs import begin_logs
from sureline.serve.requests import Limits
from sureline.serve.service import Service

BACKLOG = 1024
FEW_FILES, MANY_FILES = 512, 65_536  # that a process may open
SPARE_FILES = 128  # for everything but connections
IDLE = 75  # seconds that a connection may be idle
GRACE = 30  # seconds for requests that were accepted
SWITCH = 0.0005  # seconds that a thread may keep others from running Python code


def run(
    place: Path,
    host: str,
    port: int,
    limits: Limits,
    settings: Settings,
    access_log: bool = False,
) -> None:
    """Serve until a signal ends it; then answer what was accepted and write snapshots.

    Parameters
    ----------
    place : path
        A model file, or a folder of some.
    host, port : str, int
        Where to listen; port 0 is any free one.
    limits, settings : Limits, Settings
        How much may be kept and wait, and who may do what.
    access_log : bool, default=False
        Whether to log every request.
    """
    begin_logs(access_log)
    listening = _listen(host, port)
    try:
        service = Service(place, limits)
    except BaseException:
        listening.close()
        raise
    sys.setswitchinterval(SWITCH)
    config = uvicorn.Config(
        make_application(service, settings),
        log_config=None,
        access_log=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=GRACE,
        server_header=False,
        date_header=False,
        lifespan="on",
        limit_concurrency=_raise_file_limit(),
    )
    address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    names = ", ".join(service.predictors)
    print(f"serving {names} at {address}/ (try it at {address}/docs); Ctrl-C stops", flush=True)
    server = uvicorn.Server(config)
    with (
        contextlib.suppress(KeyboardInterrupt),
        asyncio.Runner(loop_factory=config.get_loop_factory()) as runner,
    ):
        runner.run(server.serve([listening]))


def _raise_file_limit() -> int:
    """Let there be as many connections as the system allows; how many."""
    try:
        import resource
    except ImportError:  # Windows
        return FEW_FILES
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MANY_FILES if hard == resource.RLIM_INFINITY else min(hard, MANY_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return max(most - SPARE_FILES, FEW_FILES // 2)


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, answers are sent at once: asyncio looks for it to set TCP_NODELAY.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as problem:
        listening.close()
        raise InvalidParameter(f"cannot listen on {host}, port {port}: {problem}") from None
    listening.listen(BACKLOG)
    return listening
