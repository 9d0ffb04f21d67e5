"""Labels that are probably a mistake: ids and numbers, a header among the rows, two spellings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from sureline.data.arrow_arrays import is_list
from sureline.errors import DataError

if TYPE_CHECKING:
    from sureline.data import Batch

FEW_LABELS = 50  # so many labels are never too many
MOST_LABELS = 1000  # of labels that look like ids or numbers
SHOWN = 3  # so many are named


def find_ids(counts: Counter[Any], column: str | None, complete: bool, many: bool) -> str | None:
    """A warning of labels that look like ids or numbers, or None.

    `counts` has the number of rows of each label so far, `complete` is whether these are all rows.
    More than `MOST_LABELS` of them are an error, unless so `many` are right.
    """
    labels, rows = len(counts), counts.total()
    if labels <= FEW_LABELS:
        return None
    some = list(islice(counts, SHOWN))
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in some)
    if 10 * labels > 9 * rows or (complete and 2 * labels > rows):
        kind = "ids"
    elif complete and numbers and 10 * labels > rows:
        kind = "numbers to predict"
    else:
        return None
    which = f"the column {column!r} seems to hold" if column else "they seem to be"
    among = f"{rows:,} rows" if complete else f"the first {rows:,} rows"
    sentence = (
        f"there are {labels:,} different labels in {among}, such as "
        f"{', '.join(map(repr, some[:-1]))} and {some[-1]!r}: {which} {kind}, not classes"
    )
    if labels > MOST_LABELS and not many:
        raise DataError(
            f"{sentence}; name the column of labels (--label), or allow more than {MOST_LABELS:,} "
            "such labels (--many-labels), each of which makes the model larger"
        )
    return f"{sentence}; check --label"


def find_header(batch: Batch, text_name: str | None, label_name: str | None) -> str | None:
    """A warning of a row that repeats the header, or None."""
    if batch.text is None or batch.label is None or None in (text_name, label_name):
        return None
    if is_list(batch.label.type):
        return None
    names = pc.equal(batch.label.cast("string"), label_name)
    if not pc.any(names).as_py():
        return None
    both = pc.and_(names, pc.equal(batch.text, text_name))
    found = np.flatnonzero(both.to_numpy(zero_copy_only=False))
    if not found.size:
        return None
    return (
        f"{batch.source}, row {batch.first_row + int(found[0]) + 1:,} repeats the header and is "
        f"learned as a text of the class {label_name!r}; remove such lines"
    )


def find_spellings(counts: Mapping[Any, int]) -> str | None:
    """A warning of labels that differ only in case or spaces, or None."""
    spellings = dict[str, list[str]]()
    for label in counts:
        if isinstance(label, str):
            spellings.setdefault("".join(label.split()).casefold(), []).append(label)
    groups = [sorted(each, key=lambda label: -counts[label]) for each in spellings.values()]
    several = [each for each in groups if len(each) > 1]
    if not several:
        return None
    named = "; ".join(
        ", ".join(f"{label!r} ({counts[label]:,})" for label in group) for group in several[:SHOWN]
    )
    more = f" and {len(several) - SHOWN:,} more such groups" if len(several) > SHOWN else ""
    return (
        "labels that differ only in case or spaces are learned as different classes, here with the "
        f"number of rows: {named}{more}; make them equal if they mean the same"
    )
