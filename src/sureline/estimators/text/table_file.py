"""The columns of a table in a model file: their names and kinds, and the moments of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sureline.errors import ModelFileError
from sureline.estimators.parameter_file import stored_parameters
from sureline.estimators.text.options import check_columns
from sureline.features.table_tokenizer import TableTokenizer
from sureline.features.tokenizer import TABLE_VERSION, Tokenizer
from sureline.kernels.text.table import COUNT, SQUARES
from sureline.model.serialize.fields import LARGEST, Array, Json, Tensors, member, short

MOST_COLUMNS = 2**15


def table_parts(classifier: Any) -> tuple[dict[str, Json], Tensors]:
    """The columns that were chosen, and how the numbers of the stream are distributed."""
    columns = classifier.columns_
    if columns is None:
        return {}, {}
    tokenizer = classifier.model_.tokenizer
    tensors = {}
    if isinstance(tokenizer, TableTokenizer) and tokenizer.moments.array.size:
        tensors["moments"] = tokenizer.moments.array
    return {"table": [[name, kind] for name, kind in columns.items()]}, tensors


def columns_into(classifier: Any, metadata: Mapping[str, Json]) -> None:
    """Give a classifier the columns of its file, if they are what its parameters say."""
    classifier.columns_ = None
    if "table" in metadata:
        pairs = member(metadata, "table", list)
        if len(pairs) > MOST_COLUMNS or not all(
            isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs
        ):
            raise ModelFileError(f"its columns are {short(pairs)}")
        columns = dict(pairs)
        if len(columns) != len(pairs):
            raise ModelFileError("it has two columns of one name")
        with stored_parameters():
            check_columns(columns, "TextClassifier")
        classifier.columns_ = columns
    given = classifier.columns
    if given is not None and (
        not isinstance(given, Mapping)
        or list(given.items()) != list((classifier.columns_ or {}).items())
    ):
        raise ModelFileError("its columns are not those that its parameters say")


def moments_into(
    tokenizer: Tokenizer, metadata: Mapping[str, Json], tensors: Mapping[str, Array]
) -> None:
    """Give a tokenizer the moments of its file, if they can be those of numbers."""
    of_table = isinstance(tokenizer, TableTokenizer)
    if (metadata.get("scheme") == TABLE_VERSION) != of_table:
        raise ModelFileError(f"it reads its columns by version {short(metadata['scheme'])}")
    if not isinstance(tokenizer, TableTokenizer) or not tokenizer.moments.array.size:
        return
    found, expected = tensors.get("moments"), tokenizer.moments.array.shape
    if found is None or found.shape != expected or found.dtype != np.float64:
        raise ModelFileError(f"its tensor 'moments' is missing, or not {expected} of float64")
    counts, squares = found[..., COUNT], found[..., SQUARES]
    if not np.isfinite(found).all() or min(counts.min(), squares.min()) < 0.0:
        raise ModelFileError("its moments of numbers are not those of any numbers")
    if counts.max() > LARGEST or (counts != np.floor(counts)).any():
        raise ModelFileError("its moments of numbers are not those of any numbers")
    tokenizer.moments.array = np.array(found)
