"""The Open Inference Protocol (KServe V2), so that its clients work unchanged."""

from __future__ import annotations

from starlette.responses import Response

from sureline.serve.calls import Action, Call, Refused, answer
from sureline.serve.entries import stored_label
from sureline.serve.messages import (
    InferRequest,
    InferResponse,
    PredictRequest,
    Tensor,
)


async def live(call: Call) -> Response:
    """Whether the service runs."""
    return answer({"live": True})


async def ready(call: Call) -> Response:
    """Whether the service answers; it does once it listens."""
    return answer({"ready": True})


async def server(call: Call) -> Response:
    """The service."""
    import sureline

    return answer({"name": "sureline", "version": sureline.__version__, "extensions": []})


async def model(call: Call) -> Response:
    """What a model takes and gives."""
    hosted = call.predictor.hosted
    outputs = [{"name": "label", "datatype": "BYTES", "shape": [-1]}]
    if hosted.model.has_variance:
        outputs.append({"name": "probability", "datatype": "FP64", "shape": [-1]})
    return answer(
        {
            "name": hosted.name,
            "versions": [hosted.version],
            "platform": "sureline",
            "inputs": [{"name": "text", "datatype": "BYTES", "shape": [-1]}],
            "outputs": outputs,
        }
    )


async def model_ready(call: Call) -> Response:
    """Whether a model answers."""
    return answer({"name": call.predictor.hosted.name, "ready": True})


async def infer(call: Call) -> Response:
    """Classify the texts of a tensor."""
    request = await call.read(InferRequest)
    if len(request.inputs) != 1:
        raise Refused(422, f"there is one input, the texts, got {len(request.inputs)}")
    texts = request.inputs[0]
    if texts.datatype != "BYTES" or not all(isinstance(each, str) for each in texts.data):
        raise Refused(422, f"the input {texts.name!r} must be of datatype BYTES, with strings")
    size = 1
    for each in texts.shape:
        size *= each
    if size != len(texts.data) or not texts.data:
        raise Refused(422, f"the shape {texts.shape} does not fit {len(texts.data)} texts")
    predictor = call.predictor
    wanted = PredictRequest(texts.data)  # type: ignore[arg-type]
    version, answers = await predictor.predict(wanted)
    count = [len(answers)]
    outputs = [
        Tensor("label", count, "BYTES", [str(stored_label(each.label)) for each in answers]),
    ]
    chances: list[str | float | int] = [
        each.probability for each in answers if each.probability is not None
    ]
    if len(chances) == len(answers):
        outputs.append(Tensor("probability", count, "FP64", chances))
    made = InferResponse(predictor.hosted.name, version, outputs, request.id)
    return answer(made)


ACTIONS = (
    Action("GET", "/v2/health/live", None, live),
    Action("GET", "/v2/health/ready", None, ready),
    Action("GET", "/v2", "read", server),
    Action("GET", "/v2/models/{name}", "read", model),
    Action("GET", "/v2/models/{name}/ready", "read", model_ready),
    Action("POST", "/v2/models/{name}/infer", "read", infer, InferRequest, InferResponse),
)
