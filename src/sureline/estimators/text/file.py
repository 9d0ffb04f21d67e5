"""A text classifier, or a transformer of texts, as metadata and tensors, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sureline.errors import InvalidParameter, ModelFileError
from sureline.estimators.file import (
    class_named,
    classifier_from_parts,
    classifier_parts,
    parameters_from_json,
    parameters_to_json,
)
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.text.knowledge import Knowledge
from sureline.features.names import Names
from sureline.features.unicode_tables import VERSION
from sureline.features.vocabulary import Hashing, Held, Named, Vocabulary, filled
from sureline.model.serialize import (
    LARGEST,
    MOST_FEATURES,
    Array,
    Json,
    Tensors,
    labels_from_json,
    labels_to_json,
    member,
    state_from_parts,
    state_parts,
    text_of,
    whole,
)

if TYPE_CHECKING:
    from sureline.estimators.text.classifier import TextClassifier
    from sureline.estimators.text.vectorizer import TextFeatures
    from sureline.features.tokenizer import Scheme

LIMIT_GB = 4.0  # the most memory that the counts of a transformer may take when a file is opened
PLACES = 2**40  # more than any table has


def text_parts(model: TextClassifier) -> tuple[dict[str, Json], Tensors]:
    """What the file of a text classifier holds: metadata and tensors."""
    known = model._known
    columns, online = known.columns, known.online
    metadata, tensors = _reading_parts(model, known.scheme, columns)
    # With a vocabulary, the next feature's row stands for unknown ones.
    features = columns.features + isinstance(columns, Vocabulary)
    state = online._state.with_features(features, np.inf, "")
    if state is not online._state:
        with model._gate.change():
            online._state = state
    promised = features if isinstance(columns, Hashing) else None
    metadata["online"], weights = classifier_parts(online, features, promised)
    return metadata, tensors | weights


def _reading_parts(
    model: TextClassifier | TextFeatures, scheme: Scheme, columns: Vocabulary | Hashing
) -> tuple[dict[str, Json], Tensors]:
    """How a model reads texts, and its columns."""
    metadata: dict[str, Json] = {
        "estimator": type(model).__name__,
        "parameters": parameters_to_json(model),
        "scheme": scheme.version,
    }
    names = columns.held.names
    tensors: Tensors
    if isinstance(columns, Hashing):
        named, since, letters = (int(size) for size in columns.held.sizes)
        metadata["columns"] = {"kind": "hash", "bits": scheme.bits, "named": named, "since": since}
        tensors = {"named_columns": columns.held.columns[:named]}
    else:
        named, taken, letters = (int(size) for size in columns.held.sizes)
        metadata["columns"] = {"kind": "vocabulary", "features": named, "taken": taken}
        table = filled(columns.keys(), *columns.waiting())  # however it has grown
        tensors = {"vocabulary": table, "seen": columns.held.seen[:named]}
    tensors |= {"name_ends": names.ends[:named], "names": names.letters[:letters]}
    return metadata, tensors


def features_parts(model: TextFeatures) -> tuple[dict[str, Json], Tensors]:
    """What the file of a transformer of texts holds: metadata and tensors."""
    columns, counts = model._columns_, model._counts_
    if counts.weighting != model.weighting or model._checked() != model._scheme_:
        raise ModelFileError(
            "cannot save TextFeatures: set_params has changed how texts are read or weighed since "
            "it was fitted; change it back, or fit anew"
        )
    metadata, tensors = _reading_parts(model, model._scheme_, columns)
    if counts.weighting is not None:
        state = counts.state.with_features(columns.features, np.inf, "")
        promised = columns.features if isinstance(columns, Hashing) else None
        stored = state_parts(state, LIMIT_GB, columns.features, promised)
        metadata["state"], tensors = stored[0], tensors | stored[1]
        if counts.labels.size:
            metadata["labels"] = labels_to_json(counts.labels)
    return metadata, tensors


def features_from_parts(
    cls: type[TextFeatures], metadata: Mapping[str, Json], tensors: Mapping[str, Array]
) -> TextFeatures:
    """The transformer of texts whose file holds these metadata and tensors."""
    model: TextFeatures = parameters_from_json(cls, member(metadata, "parameters", dict))
    _check_version(metadata)
    try:
        model._begin()
    except (InvalidParameter, TypeError, ValueError) as problem:
        raise ModelFileError(f"its parameters do not exist: {problem}") from None
    model._columns_ = columns = _columns(model, member(metadata, "columns", dict), tensors, False)
    counts = model._counts_
    if counts.weighting is not None:
        promised = columns.features if isinstance(columns, Hashing) else None
        fields = member(metadata, "state", dict)
        state = state_from_parts(counts.state.layout, fields, tensors, LIMIT_GB, promised)
        if state.features != columns.features or state.wide or state.used != 1:
            raise ModelFileError(
                f"it has counts for {state.features:,} features, expected {columns.features:,}"
            )
        if (state.tallies < 0).any() or (state.tokens < 0).any():
            raise ModelFileError("it has counts below 0")
        counts.state = state
        if "labels" in metadata:
            counts.labels = labels_from_json(metadata["labels"])
            if counts.labels.size > 2 or (np.sort(counts.labels) != counts.labels).any():
                raise ModelFileError("it has labels that are not two at most, and sorted")
    return model


def _check_version(metadata: Mapping[str, Json]) -> None:
    """Refuse a file that reads texts otherwise than this sureline does."""
    version = whole(metadata, "scheme", 1, LARGEST)
    if version != VERSION:
        raise ModelFileError(
            f"it reads texts by version {version} of the scheme, this sureline by version "
            f"{VERSION}; upgrade sureline"
        )


def text_from_parts(
    cls: type[TextClassifier], metadata: Mapping[str, Json], tensors: Mapping[str, Array]
) -> TextClassifier:
    """The text classifier whose file holds these metadata and tensors."""
    older = {"weighting": None, "calibration": None}  # what once there was none of
    parameters = {**older, **member(metadata, "parameters", dict)}
    model: TextClassifier = parameters_from_json(cls, parameters)
    _check_version(metadata)
    try:
        scheme = model._scheme()
        model._chosen()
    except (InvalidParameter, TypeError, ValueError) as problem:
        raise ModelFileError(f"its parameters do not exist: {problem}") from None
    columns = _columns(model, member(metadata, "columns", dict), tensors)
    stored = member(metadata, "online", dict)
    kind = class_named(text_of(stored, "estimator"))
    if not issubclass(kind, OnlineClassifier):
        raise ModelFileError(f"its weights are those of a {kind.__name__}")
    promised = columns.features if isinstance(columns, Hashing) else None
    online = classifier_from_parts(kind, stored, tensors, promised, model._weighs)
    expected = columns.features + isinstance(columns, Vocabulary)
    if online._state.features != expected:
        raise ModelFileError(
            f"it has weights for {online._state.features:,} features, expected {expected:,}"
        )
    model._known = Knowledge(scheme, columns, online, model._options())
    model.n_iter_ = online.n_iter_
    online.__dict__["_own_gate"] = model._gate
    return model


def _columns(
    model: TextClassifier | TextFeatures,
    fields: Mapping[str, Json],
    tensors: Mapping[str, Array],
    naming: bool = True,
) -> Vocabulary | Hashing:
    """The columns, if the tensors are what they should be."""
    if text_of(fields, "kind") != model.features:
        raise ModelFileError("its columns are not of the kind that its parameters say")
    ends, letters = _tensor(tensors, "name_ends", "int64"), _tensor(tensors, "names", "uint8")
    if ends.size and not (
        ends[0] >= 0 and ends[-1] <= letters.size and (ends[1:] >= ends[:-1]).all()
    ):
        raise ModelFileError("its names do not lie where they should")
    names = Names(ends, letters)
    last = int(ends[-1]) if ends.size else 0
    if model.features == "hash":
        hashing: Hashing = model._columns(naming)
        count = whole(fields, "named", 0, MOST_FEATURES)
        since = whole({"since": 0, **fields}, "since", 0, PLACES)
        named = _tensor(tensors, "named_columns", "int32")
        if named.size != count or ends.size != count:
            raise ModelFileError("it has not as many names as it says")
        if count and not 0 <= named.min() <= named.max() < hashing.features:
            raise ModelFileError("it names columns that do not exist")
        if not naming:
            return hashing
        bits = np.zeros(hashing.features, np.bool_)
        bits[named] = True
        hashing.held = Named(
            np.packbits(bits, bitorder="little"), named, np.array([count, since, last]), names
        )
        return hashing
    columns: Vocabulary = model._columns(naming)
    count = whole(fields, "features", 0, MOST_FEATURES)
    taken = whole(fields, "taken", 0, PLACES)
    seen = _tensor(tensors, "seen", "int64")
    table = tensors.get("vocabulary")
    if seen.size != count or ends.size != count:
        raise ModelFileError("it has not as many features as it says")
    if table is None or table.dtype != np.uint64 or table.ndim != 2 or table.shape[1] != 2:
        raise ModelFileError("its tensor 'vocabulary' is missing, or no table of pairs")
    places = table.shape[0]
    if places < 2 or places & (places - 1) or 2 * taken > places:
        raise ModelFileError(
            f"its vocabulary has {places:,} places for {taken:,} features, expected a power of two "
            "and twice as many at least"
        )
    columns.held = Held(table, seen, np.array([count, taken, last]), names)
    return columns


def _tensor(tensors: Mapping[str, Array], name: str, dtype: str) -> Array:
    """A tensor of one dimension."""
    found = tensors.get(name)
    if found is None or found.ndim != 1 or found.dtype != np.dtype(dtype):
        raise ModelFileError(f"its tensor {name!r} is missing, or no list of {dtype}")
    return found
