"""Classifiers and vectorizers of texts as metadata and tensors, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from sureline.errors import ModelFileError
from sureline.estimators.file import (
    FileMixin,
    class_named,
    classifier_parts,
    parameters_from_json,
    parameters_to_json,
    state_into,
    stored_parameters,
)
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.validation import choose_learner
from sureline.features.hashing import Hashing
from sureline.features.names import Names
from sureline.features.tokenizer import Tokenizer
from sureline.features.unicode_tables import VERSION
from sureline.features.vocabulary import Vocabulary, fill_table
from sureline.kernels.text.arguments import NamedColumns, VocabularyArrays
from sureline.model.serialize.fields import (
    LARGEST,
    MOST_FEATURES,
    Array,
    Json,
    Tensors,
    member,
    whole,
)
from sureline.model.serialize.labels import labels_from_json, labels_to_json
from sureline.model.serialize.state import state_from_parts, state_parts
from sureline.model.text import TextModel

LIMIT_GB = 4.0  # the most memory that the counts of a transformer may take when a file is opened
PLACES = 2**40  # more than any table has


class TextFileMixin(FileMixin):
    """A classifier of texts that can be saved."""

    def to_parts(self) -> tuple[dict[str, Json], Tensors]:
        """The metadata and tensors of the model file."""
        classifier: Any = self
        model = classifier.model_
        columns = model.columns
        metadata, tensors = _column_parts(classifier, model.tokenizer, columns)
        # With a vocabulary, the next feature's row stands for unknown ones.
        features = columns.features + isinstance(columns, Vocabulary)
        state = model.state.with_features(features, np.inf, "")
        if state is not model.state:
            with model.lock.write():
                model.state = state
        metadata["online"], weights = classifier_parts(
            classifier.estimator_, model, features, _fixed_width(columns), classifier.n_iter_
        )
        return metadata, tensors | weights

    @classmethod
    def from_parts(cls, metadata: Mapping[str, Json], tensors: Mapping[str, Array]) -> Self:
        """The classifier whose file has these metadata and tensors."""
        older = {"weighting": None, "calibration": None}  # files from before these existed
        parameters = {**older, **member(metadata, "parameters", dict)}
        classifier: Any = parameters_from_json(cls, parameters)
        _check_version(metadata)
        with stored_parameters():
            tokenizer = classifier.tokenizer()
            classifier.chosen_estimator()
        columns = _columns(classifier, member(metadata, "columns", dict), tensors)
        stored = member(metadata, "online", dict)
        kind = class_named(member(stored, "estimator", str))
        if not issubclass(kind, OnlineClassifier):
            raise ModelFileError(f"its weights are those of a {kind.__name__}")
        estimator = parameters_from_json(kind, member(stored, "parameters", dict))
        normalize = bool(classifier.normalize)
        with stored_parameters():
            weighting = classifier.resolved_weighting(estimator)
            learner = choose_learner(estimator, weighting, normalize)
        model = TextModel(learner, tokenizer, columns, normalize, estimator.memory_limit_gb)
        state_into(model, stored, tensors, _fixed_width(columns))
        expected = columns.features + isinstance(columns, Vocabulary)
        if model.state.features != expected:
            raise ModelFileError(
                f"it has weights for {model.state.features:,} features, expected {expected:,}"
            )
        classifier.adopt(estimator, model, whole(stored, "n_iter", 0, LARGEST))
        restored: Self = classifier
        return restored


class VectorizerFileMixin(FileMixin):
    """A vectorizer that can be saved."""

    def to_parts(self) -> tuple[dict[str, Json], Tensors]:
        """The metadata and tensors of the file."""
        vectorizer: Any = self
        columns, counts = vectorizer.columns_, vectorizer.class_counts_
        if counts.weighting != vectorizer.weighting or (
            vectorizer.tokenizer() != vectorizer.tokenizer_
        ):
            raise ModelFileError(
                "cannot save TextFeatures: set_params has changed how texts are read or weighted "
                "since it was fitted; change it back, or fit again"
            )
        metadata, tensors = _column_parts(vectorizer, vectorizer.tokenizer_, columns)
        if counts.weighting is not None:
            state = counts.state.with_features(columns.features, np.inf, "")
            stored = state_parts(state, LIMIT_GB, columns.features, _fixed_width(columns))
            metadata["state"], tensors = stored[0], tensors | stored[1]
            if counts.labels.size:
                metadata["labels"] = labels_to_json(counts.labels)
        return metadata, tensors

    @classmethod
    def from_parts(cls, metadata: Mapping[str, Json], tensors: Mapping[str, Array]) -> Self:
        """The vectorizer whose file has these metadata and tensors."""
        vectorizer: Any = parameters_from_json(cls, member(metadata, "parameters", dict))
        _check_version(metadata)
        with stored_parameters():
            vectorizer.begin()
        columns = _columns(vectorizer, member(metadata, "columns", dict), tensors, False)
        vectorizer.columns_, counts = columns, vectorizer.class_counts_
        if counts.weighting is not None:
            fields, width = member(metadata, "state", dict), _fixed_width(columns)
            state = state_from_parts(counts.state.layout, fields, tensors, LIMIT_GB, width)
            if state.features != columns.features or state.wide or state.used != 1:
                raise ModelFileError(
                    f"it has counts for {state.features:,} features, expected {columns.features:,}"
                )
            if (state.class_counts < 0).any() or (state.class_tokens < 0).any():
                raise ModelFileError("it has counts below 0")
            counts.state = state
            if "labels" in metadata:
                counts.labels = labels_from_json(metadata["labels"])
                if counts.labels.size > 2 or (np.sort(counts.labels) != counts.labels).any():
                    raise ModelFileError("it has labels that are not two at most, and sorted")
        restored: Self = vectorizer
        return restored


def _column_parts(
    model: Any, tokenizer: Tokenizer, columns: Vocabulary | Hashing
) -> tuple[dict[str, Json], Tensors]:
    """The parameters, the tokenizer's version and the columns."""
    metadata: dict[str, Json] = {
        "estimator": type(model).__name__,
        "parameters": parameters_to_json(model),
        "scheme": tokenizer.version,
    }
    names = columns.arrays.names
    tensors: Tensors
    if isinstance(columns, Hashing):
        named, since, letters = (int(size) for size in columns.arrays.sizes)
        metadata["columns"] = {
            "kind": "hash",
            "bits": tokenizer.bits,
            "named": named,
            "since": since,
        }
        tensors = {"named_columns": columns.arrays.columns[:named]}
    else:
        named, taken, letters = (int(size) for size in columns.arrays.sizes)
        metadata["columns"] = {"kind": "vocabulary", "features": named, "taken": taken}
        table = fill_table(columns.keys(), *columns.waiting())  # however it has grown
        tensors = {"vocabulary": table, "seen": columns.arrays.seen[:named]}
    tensors |= {"name_ends": names.ends[:named], "names": names.letters[:letters]}
    return metadata, tensors


def _fixed_width(columns: Vocabulary | Hashing) -> int | None:
    """The number of columns, where it is fixed."""
    return columns.features if isinstance(columns, Hashing) else None


def _check_version(metadata: Mapping[str, Json]) -> None:
    """Refuse a file of another version of the tokenizer."""
    version = whole(metadata, "scheme", 1, LARGEST)
    if version != VERSION:
        raise ModelFileError(
            f"it reads texts by version {version} of the tokenizer, this sureline by version "
            f"{VERSION}; upgrade sureline"
        )


def _columns(
    model: Any,
    fields: Mapping[str, Json],
    tensors: Mapping[str, Array],
    naming: bool = True,
) -> Vocabulary | Hashing:
    """The columns, if the tensors are what they should be."""
    if member(fields, "kind", str) != model.features:
        raise ModelFileError("its columns are not of the kind that its parameters say")
    ends, letters = _tensor(tensors, "name_ends", "int64"), _tensor(tensors, "names", "uint8")
    if ends.size and not (
        ends[0] >= 0 and ends[-1] <= letters.size and (ends[1:] >= ends[:-1]).all()
    ):
        raise ModelFileError("its names do not lie where they should")
    names = Names(ends, letters)
    last = int(ends[-1]) if ends.size else 0
    if model.features == "hash":
        hashing: Hashing = model.empty_columns(naming)
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
        hashing.arrays = NamedColumns(
            np.packbits(bits, bitorder="little"), named, np.array([count, since, last]), names
        )
        return hashing
    columns: Vocabulary = model.empty_columns(naming)
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
    columns.arrays = VocabularyArrays(table, seen, np.array([count, taken, last]), names)
    if not columns.is_consistent():
        raise ModelFileError("its vocabulary does not have one place for each feature")
    return columns


def _tensor(tensors: Mapping[str, Array], name: str, dtype: str) -> Array:
    """A tensor of one dimension."""
    found = tensors.get(name)
    if found is None or found.ndim != 1 or found.dtype != np.dtype(dtype):
        raise ModelFileError(f"its tensor {name!r} is missing, or no list of {dtype}")
    return found
