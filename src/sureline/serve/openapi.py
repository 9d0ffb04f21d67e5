"""The OpenAPI document, made from the endpoints and from what they take and give."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

import msgspec

import sureline
from sureline.serve.calls import Action
from sureline.serve.messages import Failure

MEDIA = "application/json"
PREDICT = "/v1/models/{name}/predict"
LEARN = "/v1/models/{name}/learn"
EXAMPLES: dict[str, Any] = {
    PREDICT: {"texts": ["You have won a free prize, call now!"]},
    LEARN: {"examples": [{"text": "See you at lunch", "label": "ham"}]},
}
REFUSALS = {
    400: "The request cannot be read.",
    401: "There is no token, or it is unknown.",
    403: "The token has not the role that is needed.",
    404: "There is no such model.",
    408: "The body did not come in time.",
    409: "The Idempotency-Key was used for another request.",
    413: "The body is too large.",
    415: "The body is not said to be JSON.",
    422: "The request asks for something that cannot be.",
    429: "Too much is waiting.",
    503: "The journal cannot be written, or the service is stopping.",
}


def document(actions: Sequence[Action], secured: bool) -> dict[str, Any]:
    """The OpenAPI document of some endpoints; `secured` if there are tokens."""
    shown = [each for each in actions if not each.path.startswith("/pages")]
    types = [kind for each in shown for kind in (each.takes, each.gives) if kind is not None]
    _, schemas = msgspec.json.schema_components(
        [*dict.fromkeys(types), Failure], ref_template="#/components/schemas/{name}"
    )
    paths: dict[str, dict[str, Any]] = {}
    for each in shown:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each, secured)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sureline",
            "version": sureline.__version__,
            "description": "Text classification that learns while it answers.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(action: Action, secured: bool) -> dict[str, Any]:
    """An endpoint, as the document describes it."""
    summary = (inspect.getdoc(action.endpoint) or "").partition("\n")[0]
    name = action.endpoint.__name__ + ("_v2" if action.path.startswith("/v2") else "")
    operation: dict[str, Any] = {"operationId": name, "summary": summary}
    operation["parameters"] = [
        {"name": each, "in": "path", "required": True, "schema": {"type": "string"}}
        for each in re.findall(r"\{(\w+)\}", action.path)
    ]
    if action.path == LEARN:
        operation["parameters"].append(
            {
                "name": "Idempotency-Key",
                "in": "header",
                "required": False,
                "description": "Sent again with the same key, a request is learned once.",
                "schema": {"type": "string", "minLength": 1, "maxLength": 200},
            }
        )
    if secured and action.role is not None:
        operation["security"] = [{"token": []}]
    if action.role is not None:
        operation["x-role"] = action.role
    if action.takes is not None:
        content: dict[str, Any] = {"schema": _reference(action.takes)}
        if action.path in EXAMPLES:
            content["example"] = EXAMPLES[action.path]
        operation["requestBody"] = {"required": True, "content": {MEDIA: content}}
    done: dict[str, Any] = {"description": "Done."}
    if action.gives is not None:
        done["content"] = {MEDIA: {"schema": _reference(action.gives)}}
    failure = {MEDIA: {"schema": _reference(Failure)}}
    operation["responses"] = {"200": done} | {
        str(status): {"description": text, "content": failure} for status, text in REFUSALS.items()
    }
    return operation


def _reference(kind: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{kind.__name__}"}
