"""``sureline serve``: models that answer and learn over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from sureline.cli.groups import flag, with_options
from sureline.cli.options import MemoryFlags
from sureline.errors import InvalidParameter

NETWORK, KEEPING = "Network", "What is kept"
HERE = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class NetworkOptions:
    """Where the service listens, and who may use it."""

    PANEL: ClassVar[str] = NETWORK
    host: str = flag("--host ADDRESS", "The address to listen on.", "127.0.0.1")
    port: int = flag(
        "--port N", "The port to listen on; 0 takes a free one.", 8080, low=0, high=65_535
    )
    token_file: str | None = flag(
        "--token-file FILE",
        "Who may use the service: lines of a role (read, learn or admin), a name and a token. "
        "Needed for any address but this machine's own.",
    )
    no_auth: bool = flag(
        "--no-auth", "Listen on other addresses without tokens: everyone may do everything.", False
    )
    max_body_mb: float = flag("--max-body MB", "The largest request.", 16.0, low=0.001, high=4096.0)
    access_log: bool = flag(
        "--access-log", "Log every request: time, path, status; never texts.", False
    )


@dataclass(frozen=True)
class KeepingOptions:
    """What the journal keeps."""

    PANEL: ClassVar[str] = KEEPING
    remember: int = flag(
        "--remember N",
        "How many predicted texts to keep in the journal, for labels that come later; 0: none.",
        100_000,
        low=0,
    )
    snapshot_every: int = flag(
        "--snapshot-every N",
        "After how many examples to write a snapshot; a restart learns those since the last.",
        10_000,
        low=1,
    )
    queue: int = flag(
        "--queue N",
        "How many examples may wait to be learned; more are answered by 429.",
        20_000,
        low=1,
    )


@with_options
def serve(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            show_default=False,
            help="A model that train wrote, or a folder of some.",
        ),
    ],
    *,
    network: NetworkOptions,
    keeping: KeepingOptions,
    memory: MemoryFlags,
) -> None:
    """Answer and learn over HTTP; what was acknowledged is never lost.

    For example, on this machine, with pages at http://127.0.0.1:8080/ and its /docs:

        sureline serve mail.sureline

    What is learned goes to a journal beside the model, the folder mail.journal; sureline journal
    shows it, and makes the model as of any moment.
    """
    if network.host not in HERE and not network.token_file and not network.no_auth:
        raise InvalidParameter(
            f"--host {network.host} can be reached from other machines: name a --token-file, or "
            "allow everyone everything by --no-auth"
        )
    if network.token_file and network.no_auth:
        raise InvalidParameter("--token-file and --no-auth exclude each other; leave out one")
    try:
        from sureline.serve.run import run
    except ImportError as problem:
        raise InvalidParameter(
            f"serve needs more packages ({problem.name} is missing): pip install 'sureline[serve]'"
        ) from None
    from pathlib import Path

    from sureline.serve.authentication import Tokens
    from sureline.serve.calls import Settings
    from sureline.serve.requests import Limits

    tokens = Tokens.read(Path(network.token_file)) if network.token_file else Tokens()
    limits = Limits(
        memory_gb=memory.values["memory_limit_gb"],
        waiting=keeping.queue,
        remember=keeping.remember,
        snapshot_every=keeping.snapshot_every,
    )
    settings = Settings(
        tokens,
        max_body=int(network.max_body_mb * 2**20),
        any_host=network.host not in HERE,
    )
    run(Path(model), network.host, network.port, limits, settings, network.access_log)
