"""Streams of texts: made ones that change in known ways, and real ones in the order of time.

A made stream is one of `MADE`, in as many random orders as wanted. Its posts are about medicine,
space and baseball (20 Newsgroups, each post once), and somebody is interested in some of them; what
changes is the interest, the words, or how often something is of interest. Real streams are those of
`REAL`, sorted by date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow.parquet
from experiments.tasks import ENRON, NEWS, REUTERS, find_file, keep_headers
from numpy.typing import NDArray

Labels = NDArray[Any]
MED, SPACE, BASEBALL = "sci.med", "sci.space", "rec.sport.baseball"
SEED = 20
BURST = slice(1000, 1500)
WRONG = 0.3
TOPICS = 8  # of Reuters, the most frequent ones
FOLDERS = 10  # of a user's mail, the largest ones
WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, eq=False)
class Stream:
    """Texts and labels in order.

    `truth` has the right labels where some of `labels` are wrong. Rows from `judged` on count.
    """

    texts: Sequence[str]
    labels: Labels
    truth: Labels | None = None
    judged: int = 0


# -- made --------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def read_posts(folder: str | None) -> tuple[list[str], Labels]:
    """The posts of three groups with two headers, each once."""
    path = find_file(NEWS, Path(folder) if folder else None)
    table = pyarrow.parquet.read_table(path, columns=["group", "text"])
    posts = dict[str, str]()
    for group, text in zip(*(table[name].to_pylist() for name in ("group", "text")), strict=True):
        if group in (MED, SPACE, BASEBALL):
            posts.setdefault(keep_headers(text, ("From:", "Subject:")), group)
    return list(posts), np.array(list(posts.values()))


def _draw(folder: str | None, order: int, count: int) -> tuple[list[str], Labels, Any]:
    """So many posts in random order with their groups, and what draws what else is random."""
    texts, groups = read_posts(folder)
    rng = np.random.default_rng([SEED, order])
    rows = rng.permutation(len(texts))[:count]
    return [texts[row] for row in rows], groups[rows], rng


def _interest(groups: Labels, opposite: Labels) -> Labels:
    """Interested in medicine, or where it is `opposite` in the other two."""
    return np.where((groups == MED) != opposite, "yes", "no")


def alternating(folder: str | None, order: int, count: int, period: int) -> Stream:
    """The interest turns round at the end of every period."""
    texts, groups, _ = _draw(folder, order, count)
    return Stream(texts, _interest(groups, (np.arange(count) // period) % 2 == 1))


def recurring(folder: str | None, order: int, count: int, period: int) -> Stream:
    """Interested in medicine, then in space, then in baseball, then in medicine again."""
    texts, groups, _ = _draw(folder, order, count)
    wanted = np.array([MED, SPACE, BASEBALL])[np.arange(count) // period % 3]
    return Stream(texts, np.where(groups == wanted, "yes", "no"))


def gradual(folder: str | None, order: int, count: int, begin: int, length: int) -> Stream:
    """The new interest replaces the old one, more and more often."""
    texts, groups, rng = _draw(folder, order, count)
    return Stream(texts, _interest(groups, rng.random(count) < (np.arange(count) - begin) / length))


def steady(folder: str | None, order: int, count: int) -> Stream:
    """Nothing changes."""
    texts, groups, _ = _draw(folder, order, count)
    return Stream(texts, _interest(groups, np.zeros(count, np.bool_)))


def _renamed(match: re.Match[str]) -> str:
    word = match.group()
    return f"{word}ou" if crc32(word.lower().encode()) % 2 else word


def new_words(folder: str | None, order: int, count: int) -> Stream:
    """Half of the words are replaced by new ones, half way; nothing else changes."""
    stream = steady(folder, order, count)
    late = [WORD.sub(_renamed, text) for text in stream.texts[count // 2 :]]
    return Stream([*stream.texts[: count // 2], *late], stream.labels)


def frequencies(folder: str | None, order: int, count: int) -> Stream:
    """Half of the posts are of interest; later one in ten."""
    texts, groups, rng = _draw(folder, order, len(read_posts(folder)[0]))
    pools = {True: iter(np.flatnonzero(groups == MED)), False: iter(np.flatnonzero(groups != MED))}
    wanted = rng.random(count) < np.where(np.arange(count) < count // 2, 0.5, 0.1)
    rows = [next(pools[bool(each)]) for each in wanted]
    return Stream([texts[row] for row in rows], np.where(wanted, "yes", "no"))


def burst(folder: str | None, order: int, count: int) -> Stream:
    """Three labels in ten are wrong for a while; judged are the posts after it."""
    stream = steady(folder, order, count)
    wrong = np.zeros(count, np.bool_)
    rng = np.random.default_rng([SEED, order, 1])
    wrong[BURST] = rng.random(BURST.stop - BURST.start) < WRONG
    given = np.where(wrong, np.where(stream.labels == "yes", "no", "yes"), stream.labels)
    return Stream(stream.texts, given, stream.labels, BURST.stop)


def without_burst(folder: str | None, order: int, count: int) -> Stream:
    """The same posts with no wrong label."""
    stream = steady(folder, order, count)
    return Stream(stream.texts, stream.labels, None, BURST.stop)


# -- real --------------------------------------------------------------------------------------


def _sorted(texts: Sequence[str], labels: Sequence[str], when: Sequence[Any]) -> Stream:
    """Rows in the order of time, each text once."""
    first = dict[str, int]()
    for row in sorted(range(len(texts)), key=lambda row: when[row]):
        first.setdefault(texts[row], row)
    rows = list(first.values())
    return Stream([texts[row] for row in rows], np.array([labels[row] for row in rows]))


def _read(file: str, folder: str | None, *names: str) -> list[Any]:
    path = find_file(file, Path(folder) if folder else None)
    table = pyarrow.parquet.read_table(path, columns=list(names))
    return [table[name].to_pylist() for name in names]


def folders(folder: str | None, _: int, user: str) -> Stream:
    """Mail into one user's largest folders, by date."""
    users, names, when, raw = _read(ENRON, folder, "user", "folder", "timestamp", "raw")
    mine = [row for row, each in enumerate(users) if each == user]
    kinds, counts = np.unique([names[row] for row in mine], return_counts=True)
    largest = set(kinds[np.argsort(-counts, kind="stable")[:FOLDERS]].tolist())
    rows = [row for row in mine if names[row] in largest]
    texts = [keep_headers(raw[row], ("From:", "To:", "Subject:")) for row in rows]
    return _sorted(texts, [names[row] for row in rows], [when[row] for row in rows])


def reviews(folder: str | None, _: int, domain: str) -> Stream:
    """Reviews of one kind of product, positive or negative, by date."""
    from experiments.defaults.texts import RAW

    columns = ("domain", "label", "date", "title", "text")
    domains, labels, dates, titles, texts = _read(RAW, folder, *columns)
    rows = [row for row, each in enumerate(domains) if each == domain and dates[row].strip()]
    every = [f"{titles[row] or ''} {texts[row]}" for row in rows]
    when = [datetime.strptime(dates[row].strip(), "%B %d, %Y") for row in rows]
    return _sorted(every, [labels[row] for row in rows], when)


def stories(folder: str | None, _: int) -> Stream:
    """Reuters stories of one topic only, of the most frequent ones, by date."""
    columns = ("topics", "date", "title", "body", "newid")
    topics, dates, titles, bodies, number = _read(REUTERS, folder, *columns)
    single = [row for row, some in enumerate(topics) if some and len(some) == 1]
    kinds, counts = np.unique([topics[row][0] for row in single], return_counts=True)
    largest = set(kinds[np.argsort(-counts, kind="stable")[:TOPICS]].tolist())
    rows = [row for row in single if topics[row][0] in largest]
    texts = [f"{titles[row] or ''}\n{bodies[row] or ''}" for row in rows]
    day = [dates[row].strip().split(".")[0].title() for row in rows]
    when = [
        (datetime.strptime(each, "%d-%b-%Y %H:%M:%S"), number[row])
        for each, row in zip(day, rows, strict=True)
    ]
    return _sorted(texts, [topics[row][0] for row in rows], when)


# -- all by name -------------------------------------------------------------------------------

Make = Callable[[str | None, int], Stream]
ALTERNATING: dict[str, Make] = {
    "every 300 of 1,500": partial(alternating, count=1500, period=300),
    "every 500 of 2,900": partial(alternating, count=2900, period=500),
}
MADE: dict[str, Make] = {
    **ALTERNATING,
    "gradual, over 500": partial(gradual, count=2900, begin=1200, length=500),
    "recurring, every 480": partial(recurring, count=2880, period=480),
    "new words": partial(new_words, count=2900),
    "class frequencies": partial(frequencies, count=2400),
    "wrong labels": partial(burst, count=2900),
    "no wrong labels": partial(without_burst, count=2900),
    "no change": partial(steady, count=2900),
}
USERS = ("beck-s", "farmer-d", "kaminski-v", "lokay-m", "williams-w3")
DOMAINS = ("books", "dvd", "electronics", "kitchen")
REAL: dict[str, Make] = {
    **{f"Enron {user}": partial(folders, user=user) for user in USERS},
    **{f"Amazon {domain}": partial(reviews, domain=domain) for domain in DOMAINS},
    "Reuters 8": stories,
}
STREAMS: dict[str, Make] = MADE | REAL
