"""The columns of a text model as metadata and tensors, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sureline.errors import ModelFileError
from sureline.estimators.parameter_file import parameters_to_json
from sureline.features.compact_vocabulary import (
    LOW,
    MOST_BITS,
    CompactVocabulary,
    shorten,
)
from sureline.features.hashing import Hashing
from sureline.features.names import Names
from sureline.features.tokenizer import TABLE_VERSION, VERSIONS, Tokenizer
from sureline.features.vocabulary import Vocabulary, fill_table
from sureline.kernels.text.arguments import NamedColumns, VocabularyArrays
from sureline.model.serialize.encoding import narrow, whole_numbers
from sureline.model.serialize.fields import (
    LARGEST,
    MOST_FEATURES,
    Array,
    Json,
    Tensors,
    member,
    whole,
)

PLACES = 2**40  # more than any table has


def column_parts(
    model: Any, tokenizer: Tokenizer, columns: Vocabulary | Hashing, mapped: bool
) -> tuple[dict[str, Json], Tensors]:
    """The parameters, the tokenizer's version and the columns; if `mapped`, as they are used."""
    metadata: dict[str, Json] = {
        "estimator": type(model).__name__,
        "parameters": parameters_to_json(model),
        "scheme": tokenizer.version,
    }
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
    elif isinstance(columns, CompactVocabulary):
        keys, bits = columns.keys(), columns.bits
        metadata["columns"] = {"kind": "vocabulary", "features": keys.size, "bits": bits}
        high = (keys >> np.uint64(LOW)) & np.uint64((1 << (bits - LOW)) - 1)
        counts = np.bincount(high.astype(np.int64), minlength=1 << (bits - LOW))
        return metadata, {"keys": keys.astype(np.uint32), "key_counts": narrow(counts)}
    else:
        named, taken, letters = (int(size) for size in columns.arrays.sizes)
        metadata["columns"] = {"kind": "vocabulary", "features": named, "taken": taken}
        waiting, counts = columns.waiting()
        tensors = {"keys": columns.keys(), "seen": narrow(columns.arrays.seen[:named])}
        if mapped:
            table = fill_table(columns.keys(), waiting, counts)  # however it has grown
            tensors = {"vocabulary": table, "seen": columns.arrays.seen[:named]}
        elif waiting.size:
            tensors |= {"waiting": waiting, "waiting_counts": narrow(counts)}
    ends, names = columns.arrays.names.ends[:named], columns.arrays.names.letters[:letters]
    if mapped:
        return metadata, tensors | {"name_ends": ends, "names": names}
    lengths = np.diff(ends, prepend=0)
    return metadata, tensors | {"name_lengths": narrow(lengths), "names": names}


def fixed_width(columns: Vocabulary | Hashing) -> int | None:
    """The number of columns, where it is fixed."""
    return columns.features if isinstance(columns, Hashing) else None


def columns_from_parts(
    model: Any,
    metadata: Mapping[str, Json],
    tensors: Mapping[str, Array],
    naming: bool = True,
    compact: bool = False,
) -> Vocabulary | Hashing:
    """The columns of a model with these parameters, if the tensors are what they should be.

    Hashed columns have no names unless `naming`; a `compact` vocabulary has none.
    """
    _check_version(metadata)
    fields = member(metadata, "columns", dict)
    if member(fields, "kind", str) != model.features:
        raise ModelFileError("its columns are not of the kind that its parameters say")
    if model.features == "hash":
        return _hashing(model, fields, tensors, naming)
    if compact:
        return _compact_vocabulary(model, fields, tensors)
    return _vocabulary(model, fields, tensors, naming)


def _check_version(metadata: Mapping[str, Json]) -> None:
    """Refuse a file of another version of the tokenizer."""
    version = whole(metadata, "scheme", 1, LARGEST)
    if version not in VERSIONS and not (version == TABLE_VERSION and "table" in metadata):
        raise ModelFileError(
            f"it reads texts by version {version} of the tokenizer, this sureline by version "
            f"{VERSIONS[-1]}; upgrade sureline"
        )


def _hashing(
    model: Any, fields: Mapping[str, Json], tensors: Mapping[str, Array], naming: bool
) -> Hashing:
    """Hashed columns, and the names of some."""
    hashing: Hashing = model.empty_columns(naming=False)
    count = whole(fields, "named", 0, MOST_FEATURES)
    since = whole({"since": 0, **fields}, "since", 0, PLACES)
    named, names = _tensor(tensors, "named_columns", "int32"), _names(tensors, count)
    if named.size != count:
        raise ModelFileError("it has not as many names as it says")
    if count and not 0 <= named.min() <= named.max() < hashing.features:
        raise ModelFileError("it names columns that do not exist")
    if naming:
        sizes = np.array([count, since, names.ends[-1] if count else 0])
        hashing.arrays = NamedColumns(hashing.bits_of(named), named, sizes, names)
    return hashing


def _vocabulary(
    model: Any, fields: Mapping[str, Json], tensors: Mapping[str, Array], naming: bool
) -> Vocabulary:
    """A vocabulary, whose hash table is filled anew."""
    columns: Vocabulary = model.empty_columns(naming)
    count = whole(fields, "features", 0, MOST_FEATURES)
    taken = whole(fields, "taken", 0, PLACES)
    seen, names = whole_numbers(tensors, "seen", count), _names(tensors, count)
    sizes = np.array([count, taken, names.ends[-1] if count else 0])
    if "vocabulary" in tensors:
        columns.arrays = VocabularyArrays(_mapped_table(tensors, taken), seen, sizes, names)
        if not columns.is_consistent():
            raise ModelFileError("its vocabulary does not have one place for each feature")
        return columns
    keys = _tensor(tensors, "keys", "uint64")
    waiting, counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    if "waiting" in tensors:
        waiting = _tensor(tensors, "waiting", "uint64")
        counts = whole_numbers(tensors, "waiting_counts", waiting.size)
        if waiting.size and not 1 <= counts.min() <= counts.max() < columns.least:
            raise ModelFileError(
                f"its features that wait for a column have been in 1 to {columns.least - 1} texts, "
                f"but it says {counts.min()} to {counts.max()}"
            )
    if keys.size != count or taken != keys.size + waiting.size:
        raise ModelFileError("it has not as many features as it says")
    columns.arrays = VocabularyArrays(fill_table(keys, waiting, counts), seen, sizes, names)
    return columns


def _compact_vocabulary(
    model: Any, fields: Mapping[str, Json], tensors: Mapping[str, Array]
) -> CompactVocabulary:
    """A vocabulary of shortened fingerprints, sorted, whose highest bits are counted."""
    count = whole(fields, "features", 0, MOST_FEATURES)
    bits = whole(fields, "bits", LOW, MOST_BITS)
    low, counts = _tensor(tensors, "keys", "uint32"), whole_numbers(tensors, "key_counts")
    if low.size != count or counts.size != 1 << (bits - LOW) or counts.max(initial=0) > count:
        raise ModelFileError("it has not as many features as it says")
    if counts.sum() != count:
        raise ModelFileError("it has not as many features as it says")
    high = np.repeat(np.arange(counts.size, dtype=np.uint64), counts)
    keys = shorten((high << np.uint64(LOW)) | low, bits)
    return CompactVocabulary(keys, bits, model.min_count)


def _mapped_table(tensors: Mapping[str, Array], taken: int) -> Array:
    """The hash table of a vocabulary, as format 1 and files to be mapped have it."""
    table = tensors["vocabulary"]
    if table.dtype != np.uint64 or table.ndim != 2 or table.shape[1] != 2:
        raise ModelFileError("its tensor 'vocabulary' is no table of pairs")
    places = table.shape[0]
    if places < 2 or places & (places - 1) or 2 * taken > places:
        raise ModelFileError(
            f"its vocabulary has {places:,} places for {taken:,} features, expected a power of two "
            "and twice as many at least"
        )
    return table


def _names(tensors: Mapping[str, Array], count: int) -> Names:
    """So many names."""
    letters = _tensor(tensors, "names", "uint8")
    if "name_ends" in tensors:  # of format 1, or to be mapped
        ends = whole_numbers(tensors, "name_ends", count)
    else:
        lengths = whole_numbers(tensors, "name_lengths", count)
        if lengths.max(initial=0) > letters.size:
            raise ModelFileError("its names do not lie where they should")
        ends = np.cumsum(lengths)
    if ends.size and not (ends[-1] <= letters.size and (ends[1:] >= ends[:-1]).all()):
        raise ModelFileError("its names do not lie where they should")
    return Names(ends, letters)


def _tensor(tensors: Mapping[str, Array], name: str, dtype: str) -> Array:
    """A tensor of one dimension."""
    found = tensors.get(name)
    if found is None or found.ndim != 1 or found.dtype != np.dtype(dtype):
        raise ModelFileError(f"its tensor {name!r} is missing, or no list of {dtype}")
    return found
