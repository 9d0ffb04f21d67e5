"""What a person watches of a model: its error over time, classes, alarms, unsure texts."""

from __future__ import annotations

from sureline.serve.hosted import Hosted
from sureline.serve.messages import Candidate, ModelStatus, Progress, Unsure
from sureline.serve.predictor import Predictor
from sureline.serve.progress import Errors
from sureline.serve.recovery import columns_of

PARTS = 60  # of the curve
ALARMS = 5
START = 300  # characters of a text that are shown


def status_of(predictor: Predictor) -> ModelStatus:
    """Everything about a model that a person watches."""
    hosted, model = predictor.hosted, predictor.hosted.model
    shadow = hosted.shadow
    return ModelStatus(
        name=hosted.name,
        version=hosted.version,
        classes=model.classes_.tolist(),
        columns=columns_of(model),
        features=model.n_features_,
        learned=hosted.journal.count(),
        waiting=hosted.waiting,
        snapshot=hosted.number - hosted.lag,
        progress=_progress(hosted.errors),
        curve=hosted.journal.curve(PARTS),
        alarms=[
            {"at": each.at, "decided": each.decided, "model": each.model}
            for each in model.changes_[-ALARMS:]
        ],
        unsure=[
            Unsure(each.id, each.predicted, each.probability or 0.0, each.text[:START])
            for each in reversed(predictor.unsure)
        ],
        shadow=None
        if shadow is None
        else Candidate(shadow.name, shadow.since, _progress(shadow.errors)),
        problem=_problem(hosted),
    )


def _problem(hosted: Hosted) -> str | None:
    """What a person must look after, if anything."""
    if hosted.problem is None and hosted.snapshots.problem is not None:
        return f"no snapshot could be written: {hosted.snapshots.problem}"
    return hosted.problem


def _progress(errors: Errors) -> Progress:
    recent = list(errors.recent)
    return Progress(errors.examples, errors.mistakes, len(recent), sum(recent))
