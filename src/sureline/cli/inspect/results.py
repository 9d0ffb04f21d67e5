"""What a model file holds."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from sureline.cli.groups import Given
from sureline.cli.model_files import columns_of, describe_model, open_model
from sureline.data.table import NUMBER
from sureline.estimators import BoxClassifier, TextClassifier
from sureline.estimators.parameter_file import parameters_from_json
from sureline.estimators.stream import count_features
from sureline.features.table_tokenizer import TableTokenizer
from sureline.model.drift import Change
from sureline.model.explanation import FeatureWeight
from sureline.model.file import read, verify
from sureline.options import Drift

MOST_SHOWN, FEW_SHOWN = 256, 20  # classes whose features are listed; of more, so few
# What a text classifier decides for the online classifier inside it.
STEERING = (
    "max_iter",
    "shuffle",
    "random_state",
    "early_stopping",
    "validation_fraction",
    "n_iter_no_change",
    "drift",
    "class_storage",
)


def collect_results(path: str, top: int, check: bool, memory: Given) -> dict[str, Any]:
    """All about the model in a file; with `check`, its checksum is compared."""
    opened = verify(path) if check else read(path)
    model, notes = open_model(path, memory)
    online: Any = getattr(model, "estimator_", model)
    texts = isinstance(model, TextClassifier)
    described = describe_model(model)
    counted = not isinstance(model, BoxClassifier)  # it is fitted to all examples at once
    named = getattr(model.model_, "named", True)
    return {
        "file": path,
        "bytes": Path(path).stat().st_size,
        "format": opened.metadata.get("format"),
        "sureline": opened.metadata.get("sureline"),
        "checksum": opened.checksum,
        "verified": True if check else None,
        "kind": described["kind"],
        "estimator": type(online).__name__,
        "rule": described["rule"],
        "parameters": _plain(_stored(online, opened.metadata), *(STEERING if texts else ())),
        "texts": _plain(model.get_params(deep=False), "estimator", "columns") if texts else None,
        "scheme": getattr(model.model_.tokenizer, "version", None) if texts else None,
        "classes": model.classes_.tolist(),
        "features": count_features(model),
        "passes": int(model.n_iter_),
        "learned": model.n_seen_ if counted else None,
        "updates": model.n_updates_ if counted else None,
        "mistakes": model.n_mistakes_ if counted else None,
        "merged": int(model.model_.state.merged) if counted else 1,
        "compact": counted and model.model_.learner.compact,
        "changes": [_change(each) for each in model.changes_] if counted else [],
        "columns": columns_of(notes),
        "table": _table(model) if texts else [],
        "checkpoint": _run(notes.get("run")),
        "tensors": [
            {
                "name": name,
                "dtype": str(tensor.dtype),
                "shape": list(tensor.shape),
                "bytes": tensor.nbytes,
            }
            for name, tensor in opened.tensors.items()
        ],
        "top_features": [
            {"label": label, "features": _top(model, label, top)}
            for label in (_shown(model.classes_.tolist()) if top and named else [])
        ],
    }


def _table(model: Any) -> list[dict[str, Any]]:
    """The columns of a table, with how the numbers that were learned are distributed."""
    columns = model.columns_ or {}
    found = [{"name": name, "kind": kind} for name, kind in columns.items()]
    tokenizer = model.model_.tokenizer
    if isinstance(tokenizer, TableTokenizer):
        numbers = [each for each in found if each["kind"] == NUMBER]
        for each, (count, mean, deviation) in zip(
            numbers, tokenizer.moments.describe(), strict=True
        ):
            each |= {"count": count, "mean": mean, "deviation": deviation}
    return found


def _stored(online: Any, metadata: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a classifier of numbers as its file has them.

    The loaded one has the memory limit of whoever opened it.
    """
    stored = metadata.get("online", metadata)["parameters"]
    made: dict[str, Any] = parameters_from_json(type(online), stored).get_params(deep=False)
    return made


def _plain(parameters: dict[str, Any], *without: str) -> dict[str, Any]:
    return {
        name: _as_json(value) for name, value in sorted(parameters.items()) if name not in without
    }


def _as_json(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Drift):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): _as_json(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(each) for each in value]
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _change(change: Change) -> dict[str, Any]:
    moved = [{name: _as_json(v) for name, v in each._asdict().items()} for each in change.moved]
    return {**change._asdict(), "moved": moved}


def _run(run: Any) -> dict[str, Any] | None:
    """The position of a checkpoint; the random state is of no interest."""
    if not isinstance(run, dict):
        return None
    position = run.get("position")
    position = position if isinstance(position, dict) else {}
    kept = ("passes", "rows", "examples", "skipped")
    return {
        "position": {name: position.get(name) for name in kept},
        "inputs": run.get("inputs"),
        "options": run.get("options"),
    }


def _shown(classes: list[Any]) -> list[Any]:
    """The classes whose features are listed: all, or a few of very many."""
    return classes if len(classes) <= MOST_SHOWN else classes[:FEW_SHOWN]


def _top(model: Any, label: Any, top: int) -> list[dict[str, Any]]:
    """The features that most certainly indicate a class."""
    if isinstance(model, TextClassifier):
        features = model.top_features(label, top)
    else:
        features = _top_numbers(model, label, top)
    return [
        {
            "feature": each.feature,
            "weight": each.weight,
            "deviation": None if each.variance is None else sqrt(each.variance),
        }
        for each in features
        if each.weight > 0
    ]


def _top_numbers(model: Any, label: Any, top: int) -> list[FeatureWeight]:
    """The same for a model of numbers."""
    k = model.classes_.tolist().index(label)
    means, variances = model.model_.weights(np.arange(model.n_features_in_))
    weights = bound = means[:, k]
    spread = [None] * len(weights)
    if variances is not None:
        bound = weights - np.sqrt(variances[:, k])
        spread = variances[:, k].tolist()
    best = np.argsort(-bound, kind="stable")[:top].tolist()
    return [FeatureWeight(str(j), float(weights[j]), spread[j]) for j in best]
