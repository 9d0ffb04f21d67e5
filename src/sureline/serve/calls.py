"""What an endpoint is given and answers: its call, its limits, and how errors look."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from sureline.errors import DataError, InvalidParameter, SurelineError
from sureline.serve.authentication import Caller, Role, Tokens
from sureline.serve.metrics import Metrics
from sureline.serve.predictor import Predictor
from sureline.serve.requests import Busy, Conflict, Unavailable
from sureline.serve.service import Service, Unknown

JSON = "application/json"
T = TypeVar("T")
Endpoint = Callable[["Call"], Awaitable[Response]]


class Refused(Exception):
    """A request that is answered by a sentence."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, headers


class Settings(NamedTuple):
    """What the application accepts."""

    tokens: Tokens = Tokens()
    max_body: int = 16 * 2**20  # bytes
    body_seconds: float = 30.0
    any_host: bool = False  # whether requests may name other hosts than this machine


class Action(NamedTuple):
    """An endpoint: where, who may use it (None: everyone), and what it takes and gives."""

    method: str
    path: str
    role: Role | None
    endpoint: Endpoint
    takes: type | None = None
    gives: type | None = None


class Call:
    """A request to an endpoint, whose caller may use it."""

    def __init__(
        self, service: Service, settings: Settings, metrics: Metrics, request: Request, who: Caller
    ) -> None:
        self.service, self.settings, self.metrics = service, settings, metrics
        self.request, self.who = request, who

    @property
    def predictor(self) -> Predictor:
        """What answers for the model that the path names."""
        return self.service.predictor(self.request.path_params["name"])

    async def body(self) -> bytes:
        """The body, unless it is too large or does not come."""
        limit = self.settings.max_body
        declared = self.request.headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > limit:
            raise Refused(413, f"a body may have {limit:,} bytes, this one has {int(declared):,}")
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                async for part in self.request.stream():
                    size += len(part)
                    if size > limit:
                        raise Refused(413, f"a body may have {limit:,} bytes, this one has more")
                    parts.append(part)
        except TimeoutError:
            raise Refused(
                408, f"the body did not come within {self.settings.body_seconds:g} seconds"
            ) from None
        return b"".join(parts)

    async def read(self, kind: type[T]) -> T:
        """The body, which is JSON of a kind."""
        media = self.request.headers.get("content-type", "").split(";")[0].strip().lower()
        if media != JSON:
            raise Refused(415, f"send JSON with Content-Type: {JSON}")
        body = await self.body()
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.ValidationError as problem:
            raise Refused(422, str(problem)) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as problem:
            raise Refused(400, f"the body is not JSON: {problem}") from None
        except RecursionError:
            raise Refused(400, "the body is nested too deeply") from None


def answer(message: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A message as JSON."""
    return Response(msgspec.json.encode(message), status, headers, JSON)


def refusal(problem: Exception) -> Refused | None:
    """How an error is answered; None if it is a fault of the program."""
    if isinstance(problem, Refused):
        return problem
    if isinstance(problem, Busy):
        return Refused(429, "too much is waiting; try again", {"retry-after": "1"})
    if isinstance(problem, Unknown):
        return Refused(404, str(problem))
    if isinstance(problem, Conflict):
        return Refused(409, str(problem))
    if isinstance(problem, Unavailable):
        return Refused(503, str(problem), {"retry-after": "5"})
    if isinstance(problem, DataError | InvalidParameter):
        return Refused(422, str(problem))
    if isinstance(problem, SurelineError):
        return Refused(503, str(problem))
    return None
