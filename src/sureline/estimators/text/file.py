"""Classifiers and vectorizers of texts as metadata and tensors, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from sureline.data.label_sets import FORMS
from sureline.errors import ModelFileError
from sureline.estimators.file import FileMixin, classifier_parts, is_compact, state_into
from sureline.estimators.online import OnlineClassifier
from sureline.estimators.parameter_file import class_named, parameters_from_json, stored_parameters
from sureline.estimators.text.column_file import column_parts, columns_from_parts, fixed_width
from sureline.estimators.text.table_file import columns_into, moments_into, table_parts
from sureline.estimators.validation import choose_learner
from sureline.features.vocabulary import Vocabulary
from sureline.model.label_sets import LabelSetModel
from sureline.model.serialize.fields import LARGEST, Array, Json, Tensors, member, short, whole
from sureline.model.serialize.labels import labels_from_json, labels_to_json
from sureline.model.serialize.state import state_from_parts, state_parts
from sureline.model.text import TextModel


class TextFileMixin(FileMixin):
    """A classifier of texts that can be saved."""

    def to_parts(self, mapped: bool = False) -> tuple[dict[str, Json], Tensors]:
        """The metadata and tensors of the model file; if `mapped`, as they are in memory."""
        classifier: Any = self
        model = classifier.model_
        columns = model.columns
        metadata, tensors = column_parts(classifier, model.tokenizer, columns, mapped)
        table, moments = table_parts(classifier)
        metadata, tensors = metadata | table, tensors | moments
        # With a vocabulary, the next feature's row stands for unknown ones.
        features = columns.features + isinstance(columns, Vocabulary)
        state = model.state.with_features(features, np.inf, "")
        if state is not model.state:
            with model.lock.write():
                model.state = state
        metadata["online"], weights = classifier_parts(
            classifier.estimator_,
            model,
            features,
            fixed_width(columns),
            classifier.n_iter_,
            mapped,
        )
        if isinstance(model, LabelSetModel):
            metadata["online"]["label_sets"] = model.form
        return metadata, tensors | weights

    @classmethod
    def from_parts(
        cls, metadata: Mapping[str, Json], tensors: Mapping[str, Array], limit_gb: float
    ) -> Self:
        """The classifier whose file has these metadata and tensors; it may take so much memory."""
        # Files from before these existed.
        dense = {"class_storage": "dense"}
        older = {"weighting": None, "calibration": None, "drift": None, "threshold": "f1"} | dense
        older["columns"] = None
        parameters = {**older, **member(metadata, "parameters", dict)}
        classifier: Any = parameters_from_json(cls, parameters)
        columns_into(classifier, metadata)
        with stored_parameters():
            tokenizer = classifier.tokenizer()
            classifier.chosen_estimator()
        stored = member(metadata, "online", dict)
        compact = is_compact(stored)
        columns = columns_from_parts(classifier, metadata, tensors, not compact, compact)
        kind = class_named(member(stored, "estimator", str))
        if not issubclass(kind, OnlineClassifier):
            raise ModelFileError(f"its weights are those of a {kind.__name__}")
        estimator = parameters_from_json(kind, {**dense, **member(stored, "parameters", dict)})
        normalize = bool(classifier.normalize)
        several = "label_sets" in stored
        with stored_parameters():
            weighting = classifier.resolved_weighting(estimator)
            learner = choose_learner(estimator, weighting, normalize, compact, several)
        moments_into(tokenizer, metadata, tensors)
        kind_of_model = LabelSetModel if several else TextModel
        model = kind_of_model(learner, tokenizer, columns, normalize, np.inf)
        if isinstance(model, LabelSetModel):
            if stored["label_sets"] not in FORMS:
                raise ModelFileError(f"its labels have the form {short(stored['label_sets'])}")
            model.form = stored["label_sets"]
        state_into(model, stored, tensors, limit_gb, classifier.drift, fixed_width(columns))
        limit_gb = min(estimator.memory_limit_gb, limit_gb)
        model.memory_limit_gb = estimator.memory_limit_gb = limit_gb
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

    def to_parts(self, mapped: bool = False) -> tuple[dict[str, Json], Tensors]:
        """The metadata and tensors of the file; if `mapped`, as they are in memory."""
        vectorizer: Any = self
        columns, counts = vectorizer.columns_, vectorizer.class_counts_
        if counts.weighting != vectorizer.weighting or (
            vectorizer.tokenizer() != vectorizer.tokenizer_
        ):
            raise ModelFileError(
                "cannot save TextFeatures: set_params has changed how texts are read or weighted "
                "since it was fitted; change it back, or fit again"
            )
        metadata, tensors = column_parts(vectorizer, vectorizer.tokenizer_, columns, mapped)
        if counts.weighting is not None:
            state = counts.state.with_features(columns.features, np.inf, "")
            stored = state_parts(state, columns.features, fixed_width(columns), mapped)
            metadata["state"], tensors = stored[0], tensors | stored[1]
            if counts.labels.size:
                metadata["labels"] = labels_to_json(counts.labels)
        return metadata, tensors

    @classmethod
    def from_parts(
        cls, metadata: Mapping[str, Json], tensors: Mapping[str, Array], limit_gb: float
    ) -> Self:
        """The vectorizer whose file has these metadata and tensors; it may take so much memory."""
        vectorizer: Any = parameters_from_json(cls, member(metadata, "parameters", dict))
        with stored_parameters():
            vectorizer.begin()
        columns = columns_from_parts(vectorizer, metadata, tensors, naming=False)
        vectorizer.columns_, counts = columns, vectorizer.class_counts_
        if counts.weighting is not None:
            fields, width = member(metadata, "state", dict), fixed_width(columns)
            state = state_from_parts(counts.state.layout, fields, tensors, limit_gb, width)
            if state.features != columns.features or state.wide or state.used != 1:
                raise ModelFileError(
                    f"it has counts for {state.features:,} features, expected {columns.features:,}"
                )
            counts.state = state
            if "labels" in metadata:
                counts.labels = labels_from_json(metadata["labels"], limit_gb)
                if counts.labels.size > 2 or (np.sort(counts.labels) != counts.labels).any():
                    raise ModelFileError("it has labels that are not two at most, and sorted")
        restored: Self = vectorizer
        return restored
