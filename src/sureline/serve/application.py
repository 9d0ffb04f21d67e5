"""The service as an ASGI application: every endpoint, and who may use it."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

import msgspec
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from sureline.serve import kserve, pages
from sureline.serve.authentication import Caller, Role, allows
from sureline.serve.calls import Action, Call, Refused, Settings, answer, refusal
from sureline.serve.logs import ACCESS
from sureline.serve.messages import (
    Done,
    Failure,
    ForgetRequest,
    LearnRequest,
    LearnResponse,
    ModelList,
    ModelStatus,
    PredictRequest,
    PredictResponse,
    RollbackRequest,
    ShadowRequest,
)
from sureline.serve.metrics import Metrics
from sureline.serve.openapi import document
from sureline.serve.requests import Wanted
from sureline.serve.service import Service
from sureline.serve.status import status_of
from sureline.serve.times import read_time

LOGGER = logging.getLogger("sureline.serve")
LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


# -- predicting and learning -------------------------------------------------------------------


async def predict(call: Call) -> Response:
    """Classify texts."""
    request = await call.read(PredictRequest)
    predictor = call.predictor
    version, answers = await predictor.predict(request)
    return answer(PredictResponse(predictor.hosted.name, version, answers))


async def learn(call: Call) -> Response:
    """Learn examples; the answer comes when they are durable and learned."""
    request = await call.read(LearnRequest)
    hosted = call.predictor.hosted
    key = call.request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= 200:
        raise Refused(400, "an Idempotency-Key has 1 to 200 characters")
    digest = hashlib.sha256(msgspec.json.encode(request)).hexdigest() if key else ""
    if any((each.text, each.row, each.id).count(None) != 2 for each in request.examples):
        raise Refused(422, "an example has a text, a row, or the id of a prediction")
    examples = [
        Wanted(each.label, each.text if each.row is None else each.row, each.id)
        for each in request.examples
    ]
    author = request.author if request.author is not None else call.who.name
    done = await asyncio.wrap_future(hosted.submit(examples, author, key, digest))
    numbers = done.numbers
    made = LearnResponse(hosted.name, done.version, numbers[0], numbers[-1], done.replayed)
    return answer(made)


# -- the models ----------------------------------------------------------------------------------


async def models(call: Call) -> Response:
    """The models that are served."""
    return answer(ModelList(list(call.service.predictors)))


async def status(call: Call) -> Response:
    """Everything about a model that a person watches."""
    made = await asyncio.to_thread(status_of, call.predictor)
    return answer(made)


async def roll_back(call: Call) -> Response:
    """Undo what was learned after a number or a time; the present model answers meanwhile."""
    request = await call.read(RollbackRequest)
    hosted = call.predictor.hosted
    if (request.number is None) == (request.until is None):
        raise Refused(422, "name the number or the time (until) to go back to")
    until = request.until
    moment = None if until is None else read_time(until)

    def act() -> int:
        number = request.number
        if moment is not None:
            number = hosted.journal.number_at(moment)
        assert number is not None  # noqa: S101
        return hosted.roll_back(number, call.who.name)

    count = await asyncio.wrap_future(hosted.between(act))
    return answer(Done(hosted.name, hosted.version, count))


async def forget(call: Call) -> Response:
    """Remove examples from journal and model; the present model answers meanwhile."""
    request = await call.read(ForgetRequest)
    hosted = call.predictor.hosted
    if bool(request.numbers) == (request.author is not None):
        raise Refused(422, "name the numbers of examples, or the author of all to forget")

    def act() -> int:
        return hosted.forget(request.numbers, request.author, call.who.name)

    count = await asyncio.wrap_future(hosted.between(act))
    return answer(Done(hosted.name, hosted.version, count))


async def reload(call: Call) -> Response:
    """Read the model file again if it has changed; it is the base of what is learned from now."""
    hosted = call.predictor.hosted
    changed = await asyncio.wrap_future(hosted.between(hosted.reload))
    return answer(Done(hosted.name, hosted.version, int(changed)))


async def begin_shadow(call: Call) -> Response:
    """Let another model of the folder learn beside this one."""
    request = await call.read(ShadowRequest)
    hosted = call.predictor.hosted
    path = call.service.path_of(request.candidate)
    await asyncio.wrap_future(hosted.between(lambda: hosted.begin_shadow(path)))
    return answer(Done(hosted.name, hosted.version, 0))


async def end_shadow(call: Call) -> Response:
    """Drop the candidate."""
    hosted = call.predictor.hosted
    await asyncio.wrap_future(hosted.between(hosted.end_shadow))
    return answer(Done(hosted.name, hosted.version, 0))


async def promote(call: Call) -> Response:
    """Make the candidate the model."""
    hosted = call.predictor.hosted
    await asyncio.wrap_future(hosted.between(hosted.promote))
    return answer(Done(hosted.name, hosted.version, 0))


# -- seen from outside -----------------------------------------------------------------------


async def metrics(call: Call) -> Response:
    """Counters and gauges for Prometheus."""
    body, kind = await asyncio.to_thread(call.metrics.text)
    return Response(body, 200, {"content-type": kind})


async def openapi(call: Call) -> Response:
    """Describe all endpoints: the OpenAPI document."""
    return answer(document(ACTIONS, bool(call.settings.tokens.callers)))


async def status_page(call: Call) -> Response:
    """A page about the models, which asks for a token where one is needed."""
    return pages.page("status.html")


async def api_page(call: Call) -> Response:
    """A page to try the endpoints on."""
    return pages.page("api.html")


async def asset(call: Call) -> Response:
    """A script or a style of the pages."""
    found = pages.asset(call.request.path_params["file"])
    if found is None:
        raise Refused(404, "there is no such file")
    return found


ACTIONS = (
    Action("POST", "/v1/models/{name}/predict", "read", predict, PredictRequest, PredictResponse),
    Action("POST", "/v1/models/{name}/learn", "learn", learn, LearnRequest, LearnResponse),
    Action("GET", "/v1/models", "read", models, None, ModelList),
    Action("GET", "/v1/models/{name}", "read", status, None, ModelStatus),
    Action("POST", "/v1/models/{name}/rollback", "admin", roll_back, RollbackRequest, Done),
    Action("POST", "/v1/models/{name}/forget", "admin", forget, ForgetRequest, Done),
    Action("POST", "/v1/models/{name}/reload", "admin", reload, None, Done),
    Action("PUT", "/v1/models/{name}/shadow", "admin", begin_shadow, ShadowRequest, Done),
    Action("DELETE", "/v1/models/{name}/shadow", "admin", end_shadow, None, Done),
    Action("POST", "/v1/models/{name}/promote", "admin", promote, None, Done),
    *kserve.ACTIONS,
    Action("GET", "/metrics", "read", metrics),
    Action("GET", "/openapi.json", "read", openapi),
    Action("GET", "/", None, status_page),
    Action("GET", "/docs", None, api_page),
    Action("GET", "/pages/{file}", None, asset),
)


# -- from a request to an answer -----------------------------------------------------------------


def make_application(service: Service, settings: Settings) -> Starlette:
    """The application that serves some models.

    Parameters
    ----------
    service : Service
        The models.
    settings : Settings
        Who may do what, and how much.
    """
    measured = Metrics(service)

    def guarded(action: Action) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            begin = time.perf_counter()
            response = await _respond(action, request)
            seconds = time.perf_counter() - begin
            measured.count(action.path, request.method, response.status_code, seconds)
            if ACCESS.isEnabledFor(logging.INFO):
                _log(request, response.status_code, seconds)
            return response

        return respond

    async def _respond(action: Action, request: Request) -> Response:
        try:
            _check_host(request, settings)
            who = _check_caller(request, settings, action.role)
            return await action.endpoint(Call(service, settings, measured, request, who))
        except ClientDisconnect:
            return Response(status_code=400)
        except Exception as problem:
            refused = refusal(problem)
            if refused is None:
                LOGGER.exception("an internal error at %s", action.path)
                refused = Refused(500, "an internal error; the log of the service has it")
            return answer(Failure(refused.sentence), refused.status, refused.headers)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    routes = [
        Route(each.path, guarded(each), methods=[each.method], name=each.endpoint.__name__)
        for each in ACTIONS
    ]
    return Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={
            404: _sentence("there is nothing at this path; /docs lists all endpoints"),
            405: _sentence("this path does not take this method; /docs lists all endpoints"),
        },
    )


def _log(request: Request, status: int, seconds: float) -> None:
    """Log a request; its path has names of models, and no texts."""
    sender = request.client.host if request.client else None
    fields = {
        "method": request.method,
        "path": request.url.path,
        "status": status,
        "milliseconds": round(1e3 * seconds, 3),
        "client": sender,
    }
    ACCESS.info("request", extra={"fields": fields})


def _sentence(sentence: str) -> Callable[[Request, Exception], Response]:
    def respond(request: Request, problem: Exception) -> Response:
        headers = getattr(problem, "headers", None)
        return answer(Failure(sentence), getattr(problem, "status_code", 500), headers)

    return respond


def _check_host(request: Request, settings: Settings) -> None:
    """Refuse what a page of another site might make a browser on this machine ask for."""
    host = request.headers.get("host", "localhost")
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        raise Refused(403, "pages of other sites may not use this service")
    if settings.any_host or settings.tokens.callers:
        return
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        name = None
    if name not in LOCAL:
        raise Refused(403, "only this machine is served; other names need a token file")


def _check_caller(request: Request, settings: Settings, role: Role | None) -> Caller:
    """Who sends a request, if they may use what needs a role."""
    who = settings.tokens.caller(request.headers.get("authorization"))
    if role is None:
        return who or Caller(None, "read")
    if who is None:
        raise Refused(
            401, "send a token: Authorization: Bearer TOKEN", {"www-authenticate": "Bearer"}
        )
    if not allows(who, role):
        raise Refused(403, f"this needs a token with the role {role}; yours has {who.role}")
    return who
