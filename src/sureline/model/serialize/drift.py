"""What a monitor of a stream knows, as metadata and tensors, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sureline.errors import ModelFileError
from sureline.model.drift import KINDS, RATIOS, Candidate, Change, Moved, Trial
from sureline.model.linear import LinearModel
from sureline.model.serialize.fields import (
    LARGEST,
    Array,
    Json,
    Tensors,
    check_size,
    is_finite,
    is_whole,
    member,
    short,
    whole,
)
from sureline.model.serialize.labels import check_labels, labels_from_json, labels_to_json
from sureline.model.serialize.state import state_from_parts, state_parts

MANY = 256  # models, at most
ALARMS = 1_000_000  # at most


def drift_parts(
    model: LinearModel, expected: int | None, mapped: bool
) -> tuple[dict[str, Json], Tensors]:
    """The metadata and tensors of the monitor of a model.

    `expected` and `mapped` are those of `state_parts`.
    """
    monitor = model.monitor
    if monitor is None:
        return {}, {}
    trial, models, tensors = monitor.trial, list[Json](), Tensors()
    for number, other in enumerate(monitor.others()):
        fields, parts = state_parts(other.state, other.state.extent, expected, mapped)
        models.append({"labels": labels_to_json(other.labels), "state": fields})
        tensors |= {f"{_prefix(number)}{name}": tensor for name, tensor in parts.items()}
    fields = {
        "rows": float(monitor.rows),
        "mistakes": float(monitor.mistakes),
        "pending": [int(monitor.pending), int(monitor.wrong)],
        "evidence": [float(each) for each in monitor.evidence],
        "changes": _changes_to_json(monitor.changes),
        "earlier": len(monitor.earlier),
        "models": models,
        "trial": None if trial is None else _trial_to_json(trial),
    }
    return fields, tensors


def drift_into(
    model: LinearModel, fields: Mapping[str, Json], tensors: Mapping[str, Array], limit_gb: float
) -> None:
    """Give the monitor of a model what `drift_parts` took apart, if it is that."""
    monitor = model.monitor
    if monitor is None:
        return
    monitor.rows, monitor.mistakes = (_number(fields, name) for name in ("rows", "mistakes"))
    pending, evidence = (member(fields, name, list) for name in ("pending", "evidence"))
    if len(pending) != 2 or not all(is_whole(each, 0, LARGEST) for each in pending):
        raise ModelFileError(f"its pending rows are {short(pending)}, expected two whole numbers")
    if len(evidence) != len(RATIOS) or not all(is_finite(each) for each in evidence):
        raise ModelFileError(f"its evidence is {short(evidence)}, expected {len(RATIOS)} numbers")
    if min(evidence) < 0.0:
        raise ModelFileError(f"its evidence is {short(evidence)}, expected none below 0")
    (monitor.pending, monitor.wrong), monitor.evidence = pending, evidence
    monitor.changes = list(_changes_from_json(member(fields, "changes", dict), limit_gb))
    models = _models(model, member(fields, "models", list), tensors, limit_gb)
    kept = whole(fields, "earlier", 0, len(models))
    monitor.earlier, tried = models[:kept], models[kept:]
    stored = fields.get("trial")
    if stored is not None:
        monitor.trial = _trial_from_json(member(fields, "trial", dict), tried, kept)
    elif tried:
        raise ModelFileError(f"it has {len(tried)} models for no trial")


def _prefix(number: int) -> str:
    return f"drift.{number}."


def _number(fields: Mapping[str, Json], name: str) -> float:
    value: Any = fields.get(name)
    if not is_finite(value) or value < 0.0:
        raise ModelFileError(f"its {name} is {short(value)}, expected a number of at least 0")
    return float(value)


def _models(
    model: LinearModel, stored: list[Json], tensors: Mapping[str, Array], limit_gb: float
) -> list[LinearModel]:
    """The models beside the one that predicts, all of which may take so much memory together."""
    if len(stored) > MANY:
        raise ModelFileError(f"it has {len(stored):,} models, at most {MANY} were expected")
    made, layout, total = list[LinearModel](), model.learner.layout, 0
    for number, each in enumerate(stored):
        if not isinstance(each, dict):
            raise ModelFileError(f"one of its models is {short(each)}")
        prefix = _prefix(number)
        parts = {
            name.removeprefix(prefix): tensor
            for name, tensor in tensors.items()
            if name.startswith(prefix)
        }
        fields, most = member(each, "state", dict), model.state.features
        features = whole(fields, "features", 0, most)
        total += layout.size(features + 1, whole(fields, "used", 1, LARGEST))
        check_size(total, limit_gb)
        labels = labels_from_json(each.get("labels"), limit_gb)
        state = state_from_parts(layout, fields, parts, limit_gb, most)
        check_labels(labels, state)
        made.append(model.on(state, labels))
    return made


# -- trials ------------------------------------------------------------------------------------


def _trial_to_json(trial: Trial) -> dict[str, Json]:
    """A trial; its models are stored elsewhere, in the same order."""
    return {
        "at": trial.at,
        "rarity": float(trial.rarity),
        "rows": trial.rows,
        "leader": trial.leader,
        "candidates": [[each.kind, each.mistakes, each.source] for each in trial.candidates],
    }


def _trial_from_json(stored: Mapping[str, Json], models: list[LinearModel], earlier: int) -> Trial:
    """The trial of these models, the first of which is that of before the alarm."""
    candidates, listed = list[Candidate](), member(stored, "candidates", list)
    leader = whole(stored, "leader", 0, max(len(listed) - 1, 0))
    if len(models) != max(len(listed), 1):
        raise ModelFileError(f"it has {len(models)} models for a trial of {len(listed)}")
    others = iter(models[1:])
    for number, each in enumerate(listed):
        fits = isinstance(each, list) and len(each) == 3 and each[0] in KINDS
        if not fits or not is_whole(each[1], 0, LARGEST) or not is_whole(each[2], -1, earlier - 1):
            raise ModelFileError(f"a candidate of its trial is {short(each)}")
        candidates.append(Candidate(each[0], None if number == leader else next(others), *each[1:]))
    at, rows = (whole(stored, name, 0, LARGEST) for name in ("at", "rows"))
    return Trial(at, _number(stored, "rarity"), models[0], candidates, leader, rows)


# -- changes -----------------------------------------------------------------------------------


def _changes_to_json(changes: list[Change]) -> dict[str, Json]:
    """The changes; labels are numbers of a list."""
    labels = list(dict.fromkeys(_labels_of(changes)))
    return {
        "labels": labels_to_json(np.array(labels)) if labels else None,
        "alarms": [
            [
                *(each.at, each.decided, each.model, float(each.rarity)),
                [
                    [moved.feature, labels.index(moved.before), labels.index(moved.after)]
                    for moved in each.moved
                ],
            ]
            for each in changes
        ],
    }


def _labels_of(changes: list[Change]) -> Iterator[Any]:
    for change in changes:
        for moved in change.moved:
            yield moved.before
            yield moved.after


def _changes_from_json(stored: Mapping[str, Json], limit_gb: float) -> Iterator[Change]:
    """The changes that `_changes_to_json` wrote."""
    listed, labels = member(stored, "alarms", list), list[Any]()
    if stored.get("labels") is not None:
        labels = labels_from_json(stored["labels"], limit_gb).tolist()
    if len(listed) > ALARMS:
        raise ModelFileError(f"it has {len(listed):,} alarms, at most {ALARMS:,} were expected")
    for each in listed:
        if not isinstance(each, list) or len(each) != 5 or not isinstance(each[4], list):
            raise ModelFileError(f"one of its alarms is {short(each)}")
        at, decided, kind, rarity, moved = each
        known = kind in KINDS and is_finite(rarity)
        if not (known and is_whole(at, 0, LARGEST) and is_whole(decided, 0, LARGEST)):
            raise ModelFileError(f"one of its alarms is {short(each)}")
        yield Change(at, decided, kind, rarity, tuple(_moved(one, labels) for one in moved))


def _moved(stored: Json, labels: list[Any]) -> Moved:
    """A feature that moved."""
    if not (isinstance(stored, list) and len(stored) == 3 and isinstance(stored[0], str)):
        raise ModelFileError(f"a feature that moved is {short(stored)}")
    if not all(is_whole(each, 0, len(labels) - 1) for each in stored[1:]):
        raise ModelFileError(f"a feature that moved is {short(stored)}")
    return Moved(stored[0], labels[stored[1]], labels[stored[2]])
