"""The tables: reviews, mail as its headers and body, and tables of numbers.

Rows with the same texts are kept once, before rows are split. Three tenths of the rows are the test
rows, the same every time.
"""

from __future__ import annotations

import email
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from experiments.tasks import ENRON, find_file
from numpy.typing import NDArray
from sklearn import datasets

RAW = "amazon-raw.parquet"
FOLDERS = 10  # the largest ones of a user
TEST = 0.3


class Table(NamedTuple):
    """Rows of several columns, the kind of each column, and labels."""

    rows: pd.DataFrame
    labels: NDArray[Any]
    kinds: dict[str, str]

    def split(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows to learn from and those to test on, the same every time."""
        order = np.random.RandomState(0).permutation(len(self.labels))
        cut = int((1.0 - TEST) * len(order))
        return order[:cut], order[cut:]


def _read(name: str, folder: str | None) -> pd.DataFrame:
    return pd.read_parquet(find_file(name, Path(folder) if folder else None))


def _reviews(more: bool, folder: str | None) -> Table:
    """Reviews: whether they are positive, by title, text and product; with more, by votes too."""
    found = _read(RAW, folder).drop_duplicates(["title", "text"]).reset_index(drop=True)
    kinds = dict.fromkeys(("title", "text", "product_name"), "text")
    rows = found[list(kinds)].fillna("").astype(str)
    if more:
        votes = found["helpful"].str.extract(r"(\d+) of (\d+)").astype(float)
        rows["helpful"], rows["votes"] = votes[0] / votes[1], votes[1]
        rows["date"] = pd.to_datetime(found["date"], errors="coerce")
        rows["domain"] = found["domain"]
        kinds |= dict.fromkeys(("helpful", "votes", "date"), "number") | {"domain": "category"}
    return Table(rows, found["label"].astype(str).to_numpy(), kinds)


def _mail(user: str, folder: str | None) -> Table:
    """Mail of a user: its folder, by sender, receivers, subject and body."""
    found = _read(ENRON, folder)
    found = found[found["user"] == user]
    found = found[found["folder"].isin(found["folder"].value_counts().index[:FOLDERS])]
    kinds = dict.fromkeys(("from", "to", "subject", "body"), "text")
    made = list[dict[str, str]]()
    for raw in found["raw"]:
        whole = raw if isinstance(raw, bytes) else str(raw).encode("utf-8", "replace")
        message = email.message_from_bytes(whole)
        parts = [part for part in message.walk() if not part.is_multipart()]
        body = "\n".join(str(part.get_payload()) for part in parts)
        headers = {name: str(message[name] or "") for name in ("from", "to", "subject")}
        made.append({**headers, "body": body})
    rows = pd.DataFrame(made).assign(label=found["folder"].to_numpy())
    rows = rows.drop_duplicates(["subject", "body"]).reset_index(drop=True)
    return Table(rows[list(kinds)], rows["label"].to_numpy(str), kinds)


def _numbers(name: str, folder: str | None) -> Table:
    """A table of numbers that comes with scikit-learn."""
    found = getattr(datasets, f"load_{name}")()
    rows = pd.DataFrame(found.data, columns=[f"x{k}" for k in range(found.data.shape[1])])
    labels = found.target
    if name == "diabetes":  # above or below the median
        labels = labels > np.median(labels)
    return Table(rows, labels.astype(str), dict.fromkeys(rows, "number"))


TABLES = {
    "Amazon reviews": partial(_reviews, False),
    "Enron, farmer-d": partial(_mail, "farmer-d"),
    "Enron, kaminski-v": partial(_mail, "kaminski-v"),
    "Amazon with votes and date": partial(_reviews, True),
    "breast cancer": partial(_numbers, "breast_cancer"),
    "wine": partial(_numbers, "wine"),
    "digits": partial(_numbers, "digits"),
    "diabetes": partial(_numbers, "diabetes"),
}


@lru_cache(2)
def open_table(name: str, folder: str | None) -> Table:
    """One of the tables."""
    return TABLES[name](folder)
