"""The tokenizer of tables: from rows of texts, categories and numbers to fingerprints.

A word is a feature of its column: its fingerprint is mixed with a salt from the column's name. A
category is one feature. A number is standardized and lies between two knots of a scale; each of the
two is a feature, whose value says how near the number is, so that a model of the weights is a line
through the knots. That is done for the number and for its logarithm, with its sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sureline.data import NamedFeatures
from sureline.data.table import CATEGORY, NUMBER, TEXT, as_table
from sureline.features.moments import Moments
from sureline.features.rows import Rows
from sureline.features.tokenizer import (
    NO_SPANS,
    TABLE_VERSION,
    TokenizedTexts,
    Tokenizer,
    TokenizerBuffers,
    thread_buffers,
)
from sureline.kernels.text.fingerprints import U
from sureline.kernels.text.table import JOIN_COLUMNS, SCALES
from sureline.kernels.text.tokenizer import FIND_FINGERPRINTS

COLUMNS = U(0xD6E8FEB86659FD93)  # what the fingerprint of a column's name is of
KNOTS = np.arange(-3.0, 4.0)  # in standard deviations from the mean, one apart
FIRST, LAST = KNOTS.item(0), KNOTS.item(-1)
LARGEST_INTEGER = 2**53  # of those that are floats, too
SCALE_NAMES = ("", "log ")
MISSING = "(missing)"
ONE_ROW = np.ones(1, np.bool_)


@dataclass(frozen=True)
class TableTokenizer(Tokenizer):
    """Which features a row has; `columns` are pairs of name and kind.

    Unless `scaled`, texts keep their length.
    """

    columns: tuple[tuple[str, str], ...] = ()
    scaled: bool = True
    moments: Moments = field(default_factory=lambda: Moments(0), compare=False)

    @property
    def version(self) -> int:
        """The version of the scheme that has columns."""
        return TABLE_VERSION

    @cached_property
    def words(self) -> Tokenizer:
        """The tokenizer of one column, which keeps all bits of fingerprints."""
        return Tokenizer(
            self.ngrams, self.chars, self.char_scope, self.lowercase, self.counts,
            self.stop_words, self.min_length, 0, self.unspaced,
        )  # fmt: skip

    def named(self, kind: str) -> list[tuple[int, str]]:
        """The positions and names of the columns of a kind."""
        return [(at, name) for at, (name, each) in enumerate(self.columns) if each == kind]

    def learned(self, rows: pa.StructArray, counted: NDArray[np.bool_]) -> pa.StructArray:
        """The rows with standardized numbers, after learning how they are distributed."""
        return self._standardized(rows, counted)

    def read(
        self,
        texts: pa.StructArray,
        named: NamedFeatures | None = None,
        buffers: TokenizerBuffers | None = None,
    ) -> TokenizedTexts:
        """The features of rows, together with the `named` ones."""
        buffers = thread_buffers() if buffers is None else buffers
        rows = self._standardized(texts)
        salts, size = self._salts, len(rows)
        fields = [rows.field(at) for at, _ in self.named(TEXT)]
        parts = _interleaved(fields, salts.size, size)
        return self._joined(parts, self._given(rows, salts.size), size, buffers)

    def _joined(
        self, parts: pa.Array, given: NamedFeatures | None, size: int, buffers: TokenizerBuffers
    ) -> TokenizedTexts:
        """The features of so many rows, from the texts of their columns and what else they have."""
        salts = self._salts
        found = self.words.read(parts, given, buffers)
        ends, indptr = found.indptr.copy(), np.zeros(size + 1, np.int64)
        seen = np.zeros(1, np.uint32)
        if self.bits:
            longest = int(np.diff(ends[:: salts.size]).max(initial=1))
            seen = np.zeros(2 << longest.bit_length(), np.uint32)
        JOIN_COLUMNS.compiled("float64")(
            ends, salts, self.scaled, self.bits, seen, found.keys, found.values, found.starts,
            found.lengths, indptr,
        )  # fmt: skip
        return TokenizedTexts(indptr, *found[1:6], NO_SPANS, ends, *self._prefixes)

    def read_one(self, text: Any, learn: bool = False) -> TableRow:
        """The features of one row, a dictionary, in the thread's buffers.

        With `learn`, its numbers are learned first.
        """
        plain = self._plain(text)
        if plain is not None:
            return TableRow(self._read_plain(*plain, learn))
        row = self.as_rows([text])
        return TableRow(self.read(self.learned(row, ONE_ROW) if learn else row))

    def _plain(self, row: Any) -> tuple[pa.Array, list[str], list[float]] | None:
        """The texts, names of categories and numbers of a row of plain Python values, or None."""
        texts, categories, numbers = list[str](), list[str](), list[float]()
        if type(row) is not dict:
            return None
        for name, kind in self.columns:
            value = row.get(name, self)  # a value of no use, if there is none
            missing, given = value is None, type(value)
            if kind == NUMBER:
                if not missing and given is not float and given is not int:
                    return None
                if given is int and abs(value) > LARGEST_INTEGER:
                    return None
                numbers.append(math.nan if missing else float(value))
            elif not missing and given is not str:
                return None
            elif kind == TEXT:
                texts.append(value or "")
            else:
                categories.append(f"{name}: {value or MISSING}")
        if len(self.columns) > len(texts):
            texts.append("")
        try:
            "".join(categories).encode()
            return pa.array(texts, pa.large_string()), categories, numbers
        except UnicodeEncodeError:
            return None

    def _read_plain(
        self, texts: pa.Array, names: list[str], numbers: list[float], learn: bool
    ) -> TokenizedTexts:
        """The features of one row; they are those that `read` finds."""
        values = [1.0] * len(names)
        if numbers:
            [found] = self.moments.standardized(np.array([numbers]), ONE_ROW if learn else None)
            for (_, name), places in zip(self.named(NUMBER), found.tolist(), strict=True):
                if math.isnan(places[0]):
                    names.append(f"{name}: {MISSING}")
                    values.append(1.0)
                    continue
                for scale, z in zip(SCALE_NAMES, places, strict=True):
                    place = min(max(z, FIRST), LAST) - FIRST
                    left = min(int(place), KNOTS.size - 2)
                    right = place - left
                    for knot, near in ((left, 1.0 - right), (left + 1, right)):
                        if near > 0.0:
                            names.append(f"{name}: {scale}{FIRST + knot:+g} sd")
                            values.append(near)
        given = None
        if names:
            offsets = np.zeros(len(texts) + 1, np.int64)
            offsets[-1] = len(names)
            spelled = pa.array(names, pa.large_string())
            given = NamedFeatures(offsets, spelled, np.array(values, np.float32))
        return self._joined(texts, given, 1, thread_buffers())

    def as_rows(self, X: Any) -> pa.StructArray:
        """Rows of the columns, as an Arrow array."""
        return as_table(X, dict(self.columns))

    def places(self, row: pa.StructArray) -> tuple[str, dict[str, tuple[tuple[int, int], ...]]]:
        """A row as it is shown, a line for each column, and where in it words are."""
        shown, places = "", dict[str, tuple[tuple[int, int], ...]]()
        for at, (name, kind) in enumerate(self.columns):
            value, column = row.field(at)[0].as_py(), f"{name}: "
            missing = value is None or value != value
            line = MISSING if missing else f"{value:g}" if kind == NUMBER else value
            start = len(shown) + len(column)
            if kind == TEXT:
                _, found = self.words.places(row.field(at))
                places |= {
                    column + word: tuple((start + begin, start + end) for begin, end in where)
                    for word, where in found.items()
                }
            elif kind == CATEGORY:
                places[column + line] = ((start, start + len(line)),)
            shown += f"{column}{line}\n"
        return shown.rstrip("\n"), places

    @cached_property
    def _salts(self) -> NDArray[np.uint64]:
        """The salt of each text column, and 0 for what comes with its name, if anything does."""
        names = [name.encode() for _, name in self.named(TEXT)]
        offsets = np.cumsum([0, *map(len, names)])
        text = np.frombuffer(b"".join(names) + bytes(8), np.uint8)
        low = np.zeros(max(map(len, names), default=0) + 16, np.uint8)
        others = len(self.columns) > len(names)
        salts = np.zeros(len(names) + others, np.uint64)
        FIND_FINGERPRINTS.compiled("float64")(text, offsets, low, COLUMNS, salts[: len(names)])
        return salts

    @cached_property
    def _prefixes(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """What stands before the names of features of each text column."""
        prefixes = [f"{name}: ".encode() for _, name in self.named(TEXT)]
        prefixes += [b""] * (self._salts.size - len(prefixes))
        letters = np.frombuffer(b"".join(prefixes) + bytes(1), np.uint8)
        return letters, np.cumsum([len(each) for each in prefixes])

    def _standardized(
        self, rows: pa.StructArray, counted: NDArray[np.bool_] | None = None
    ) -> pa.StructArray:
        """Rows whose numbers are lists of standardized ones; those that are already stay."""
        places = [at for at, _ in self.named(NUMBER)]
        if not places or pa.types.is_fixed_size_list(rows.type[places[0]].type):
            return rows
        arrays = [rows.field(at) for at in range(len(self.columns))]
        numbers = np.column_stack([arrays[at].to_numpy(zero_copy_only=False) for at in places])
        found = self.moments.standardized(numbers, counted)
        for k, at in enumerate(places):
            flat = pa.array(found[:, k].reshape(-1))
            arrays[at] = pa.FixedSizeListArray.from_arrays(flat, SCALES)
        return pa.StructArray.from_arrays(arrays, names=[name for name, _ in self.columns])

    def _given(self, rows: pa.StructArray, width: int) -> NamedFeatures | None:
        """Categories and the places of numbers as named features of the last part of each row."""
        names, chosen, values = list[pa.Array](), list[Any](), list[Any]()
        behind, size = 0, len(rows)
        for at, name in self.named(CATEGORY):
            array = rows.field(at)
            full = pc.fill_null(array, MISSING)
            prefix, nothing = (pa.scalar(each, full.type) for each in (f"{name}: ", ""))
            names.append(pc.binary_join_element_wise(prefix, full, nothing))
            chosen.append(behind + np.arange(size))
            values.append(np.ones(size, np.float32))
            behind += size
        for at, name in self.named(NUMBER):
            z = rows.field(at).flatten().to_numpy(zero_copy_only=False).reshape(-1, SCALES)
            labels = [f"{name}: {MISSING}"]
            labels += [f"{name}: {scale}{knot:+g} sd" for scale in SCALE_NAMES for knot in KNOTS]
            names.append(pa.array(labels, pa.large_string()))
            for scale in range(SCALES):
                for places, near in _knots(z[:, scale]):
                    missing = places < 0
                    places = np.where(missing, 0, 1 + scale * KNOTS.size + places)
                    # A number that is missing is missing on all scales.
                    near = np.where(missing, near if scale == 0 else 0.0, near)
                    chosen.append(behind + places)
                    values.append(near.astype(np.float32))
            behind += len(labels)
        if not chosen:
            return None
        which, value = np.stack(chosen, axis=1), np.stack(values, axis=1)
        kept = value > 0.0
        counts = kept.sum(axis=1)
        offsets = np.zeros(size * width + 1, np.int64)
        offsets[width::width] = np.cumsum(counts)
        for part in range(1, width):
            offsets[part::width] = offsets[:-1:width]
        all_names = pa.concat_arrays([each.cast(pa.large_string()) for each in names])
        return NamedFeatures(offsets, all_names.take(pa.array(which[kept])), value[kept])


class TableRow:
    """The features of one row."""

    def __init__(self, tokens: TokenizedTexts) -> None:
        self.tokens = tokens

    def rows(self, dtype: str) -> Rows:
        """A new row for them."""
        size = self.tokens.indptr.item(1)
        return Rows(np.zeros(2, np.int64), np.empty(size, np.int32), np.empty(size, dtype))


def _knots(z: NDArray[np.float64]) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """The knots on both sides of each number, and how near they are; -1 where one is missing."""
    missing = np.isnan(z)
    place = (np.clip(np.where(missing, 0.0, z), KNOTS[0], KNOTS[-1]) - KNOTS[0]) / np.diff(KNOTS)[0]
    left = np.minimum(place.astype(np.int64), KNOTS.size - 2)
    right = place - left
    left_near = np.where(missing, 1.0, 1.0 - right)
    return [
        (np.where(missing, -1, left), left_near),
        (np.where(missing, -1, left + 1), np.where(missing, 0.0, right)),
    ]


def _interleaved(fields: list[pa.Array], width: int, size: int) -> pa.Array:
    """The texts of rows, one after the other; an empty one in place of what is no text."""
    every = pa.concat_arrays([*fields, pa.array([""], pa.large_string())])
    order = np.full((size, width), len(every) - 1, np.int64)
    for at in range(len(fields)):
        order[:, at] = at * size + np.arange(size)
    return every.take(pa.array(order.reshape(-1)))
