"""Why a text gets its label, and which features speak for a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sureline.data import as_text
from sureline.errors import InvalidParameter
from sureline.features.tokenizer import Found, Scheme
from sureline.features.vocabulary import Hashing, Vocabulary
from sureline.model.explanation import Explanation, Reasons, Share, Telling, surely

if TYPE_CHECKING:
    from sureline.estimators.text.classifier import TextClassifier


def explain_text(model: TextClassifier, text: str, top: int) -> Explanation:
    """What each feature of a text adds to each class's score; the `top` ones are told."""
    texts = as_text([text])
    with model._gate.read():
        known = model._known
        found = known.scheme.read(texts)
        places = _places(texts[0].as_py(), found, known.scheme)
        names = _spelled(found, known.columns)
        rows = model._look_up(known, found)
        label = model._best(rows).tolist()[0]
        weighed = known.learner.weighed(known.online._state, rows)
        means, variances = model._columns_of(rows.indices[: rows.indptr[1]])
        constants, spreads = model._columns_of(np.array([-1]))
        classes = model.classes_.tolist()
        probability = None
        if model._has_variance:
            chance = model._chances(*model._moments_of(rows))[0]
            probability = float(chance[classes.index(label)])
    values = weighed.data[: rows.indptr[1]].astype(np.float64)
    constant = float(known.online.fit_intercept)
    told = dict[Any, Reasons]()
    for k, name in enumerate(classes):
        shares = means[:, k] * values
        order = np.argsort(-np.abs(shares), kind="stable")[:top]
        features = tuple(
            Share(
                names[j],
                float(means[j, k]),
                None if variances is None else float(variances[j, k]),
                float(values[j]),
                float(shares[j]),
                places.get(names[j], ()),
            )
            for j in order
        )
        spread = None
        if variances is not None and spreads is not None:
            spread = float(variances[:, k] @ values**2 + spreads[0, k] * constant)
        start = float(constants[0, k]) * constant
        told[name] = Reasons(
            score=float(shares.sum() + start),
            variance=spread,
            constant=start,
            features=features,
            rest=float(shares.sum() - shares[order].sum()),
        )
    return Explanation(text, label, probability, told)


def _spelled(found: Found, columns: Vocabulary | Hashing) -> list[str]:
    """The names of the features of one text, as the text has them, without those left out."""
    names = []
    for k in range(int(found.indptr[1])):
        if columns.unknown < 0 and columns.find(found.keys[k]) < 0:
            continue
        start, length = int(found.starts[k]), int(found.lengths[k])
        piece = found.low[start : start + abs(length)].tobytes().decode()
        names.append(f"‹{piece}›" if length < 0 else piece)
    return names


def _places(text: str, found: Found, scheme: Scheme) -> dict[str, tuple[tuple[int, int], ...]]:
    """Where in a text each run of words lies, counted in characters."""
    if scheme.ngrams is None:
        return {}
    at = np.cumsum(np.frombuffer(text.encode(), np.uint8) & 0xC0 != 0x80)
    at = np.concatenate([[0], at])
    spans, low = found.spans, found.low
    places = dict[str, tuple[tuple[int, int], ...]]()
    for i in range(len(spans)):
        for n in range(scheme.ngrams[0], scheme.ngrams[1] + 1):
            last = i + n - 1
            if last < len(spans):
                name = low[spans[i, 0] : spans[last, 1]].tobytes().decode()
                where = int(at[spans[i, 2]]), int(at[spans[last, 3]])
                places[name] = (*places.get(name, ()), where)
    return places


def tell_features(model: TextClassifier, label: Any, n: int) -> list[Telling]:
    """The features that speak most surely for a class."""
    classes = model.classes_.tolist()
    if label not in classes:
        raise InvalidParameter(
            f"TextClassifier: there is no class {label!r}; there are "
            f"{', '.join(map(repr, classes))}"
        )
    k = classes.index(label)
    with model._gate.read():
        known = model._known
        means, variances = model._columns_of(np.arange(known.columns.features))
        weights = means[:, k]
        if variances is None:
            bound = weights
        else:
            spread = variances[:, k]
            bound = surely(weights, np.sqrt(spread))
        count = min(n, bound.size)
        best = np.argsort(-bound, kind="stable")[:count]
        return [
            Telling(
                known.columns.name(int(j)),
                float(weights[j]),
                None if variances is None else float(spread[j]),
            )
            for j in best
        ]
