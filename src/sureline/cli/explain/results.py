"""Where the score of one text comes from, by feature and by word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from sureline.data.label_values import read_label
from sureline.errors import DataError, InvalidParameter
from sureline.estimators import TextClassifier
from sureline.estimators.input_rows import with_unknown
from sureline.features.rows import Rows
from sureline.model.explanation import (
    Contribution,
    Explanation,
    explain_row,
    spread_over_words,
)

WORD = re.compile(r"\w+")
FEATURE = re.compile(r"(\d+):(\S+)", re.ASCII)


@dataclass(frozen=True)
class Piece:
    """A word, or the text between words, with its part of the shares of its features.

    It is unsure if most of that comes from weights that may as well have the other sign.
    """

    text: str
    share: float
    unsure: bool = False


def find_reasons(model: Any, text: Any, label: str | None, top: int) -> dict[str, Any]:
    """Why a text, a row of columns or a line of numbers has its score for a class.

    By default that is the predicted one.

    Deviations are None for rules that keep no variances.
    """
    wanted = None if label is None else _class_named(label, model.classes_)
    if isinstance(model, TextClassifier):
        explained = model.explain(text, top=2**31)
        text = explained.text
    else:
        explained = _explain_numbers(model, text)
    chosen = explained.label if wanted is None else wanted
    reasons = explained.classes[chosen]
    ranked = sorted(reasons.features, key=lambda each: -abs(each.share))
    pieces, placed = cut_into_pieces(text, reasons.features)
    return {
        "text": text,
        "label": chosen,
        "predicted": explained.label if explained.labels is None else list(explained.labels),
        "probability": reasons.probability,
        "score": reasons.score,
        "deviation": _root(reasons.variance),
        "constant": reasons.constant,
        "rest": reasons.rest + sum(each.share for each in ranked[top:]),
        "features": [
            {
                "feature": each.feature,
                "share": each.share,
                "value": each.value,
                "weight": each.weight,
                "deviation": _root(each.variance),
            }
            for each in ranked[:top]
        ],
        "pieces": pieces,
        "unplaced": sum(each.share for each in ranked) - placed,
    }


def is_unsure(weight: float, deviation: float | None) -> bool:
    """Whether a weight is not even its own deviation away from zero."""
    return deviation is not None and deviation > abs(weight)


def _root(variance: float | None) -> float | None:
    return None if variance is None else sqrt(variance)


def _class_named(label: str, classes: Any) -> Any:
    """The class that a written label means."""
    value = read_label(label, classes.dtype)
    known = classes.tolist()
    if value not in known:
        words = [repr(each) for each in known[:20]] + ["..."] * (len(known) > 20)
        raise InvalidParameter(f"the model has no class {label!r}; it has {', '.join(words)}")
    return value


def cut_into_pieces(text: str, features: tuple[Contribution, ...]) -> tuple[list[Piece], float]:
    """The text cut at its words, each with its part of the shares; and what they add up to."""
    words = sorted({place for each in features if " " not in each.feature for place in each.places})
    if not words:
        words = [match.span() for match in WORD.finditer(text)]
    placed_features = (
        (each.share, is_unsure(each.weight, _root(each.variance)), each.places) for each in features
    )
    shares, unsure = spread_over_words([start for start, _ in words], placed_features)
    pieces, end = list[Piece](), 0
    for k, (start, stop) in enumerate(words):
        pieces.append(Piece(text[end:start], 0.0))
        pieces.append(Piece(text[start:stop], shares[k], unsure[k]))
        end = stop
    pieces.append(Piece(text[end:], 0.0))
    return [piece for piece in pieces if piece.text], sum(shares)


def _explain_numbers(model: Any, text: str) -> Explanation:
    """The explanation of a model of numbers for a line of ``index:value``."""
    indices, values = _read_numbers(text)
    rows = Rows(np.array([0, indices.size]), indices.astype(np.int32), values.astype(model.dtype))
    names = [str(index) for index in indices.tolist()]
    return explain_row(*with_unknown(model.model_, rows), names, top=2**31)


def _read_numbers(text: str) -> tuple[Any, Any]:
    """The features of a line such as ``3:0.5 7:1``, sorted; a label before them is passed over."""
    words = text.split()
    if words and ":" not in words[0]:
        words = words[1:]
    found = dict[int, float]()
    for word in words:
        match = FEATURE.fullmatch(word)
        try:
            index, value = (int(match[1]), float(match[2])) if match else (-1, np.nan)
        except ValueError:
            value = np.nan
        if not np.isfinite(value) or index >= 2**31 - 2:
            raise DataError(
                f"{word!r} is no feature; the model takes numbers: write index:value, such as "
                '"3:0.5 7:1"'
            )
        if index in found:
            raise DataError(f"feature {index} was given twice")
        found[index] = value
    indices = np.array(sorted(found), np.int64)
    return indices, np.array([found[index] for index in indices.tolist()], np.float64)
