"""The tasks: sets of texts that others are compared on, and short or noisy texts made of them.

Half of the tasks were looked at while the rule for the number of passes was made; the other half
took no part. Copies are removed before texts are drawn: a text that occurs twice is kept once, and
no test text is a training text.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from experiments.defaults.texts import RAW, TASKS, Labels, Parts, Texts, open_texts
from experiments.tasks import IMDB, NEWS, REUTERS, find_file

TEST = 2000  # test texts, at most
SEED = 5


def _read(file: str, folder: str | None, *names: str) -> list[Any]:
    """Columns of a Parquet file as lists."""
    path = find_file(file, Path(folder) if folder else None)
    table = pyarrow.parquet.read_table(path, columns=list(names))
    return [table[name].to_pylist() for name in names]


def _texts(texts: list[str], labels: Any) -> Texts:
    return Texts(pa.array(texts, pa.large_string()), np.asarray(labels).astype(str))


def _split(every: Texts, train: Labels) -> Parts:
    return every.take(np.flatnonzero(train)), every.take(np.flatnonzero(~train))


def _random(count: int) -> Labels:
    """Which of so many texts are for training: four fifths, the same every time."""
    return np.random.RandomState(0).permutation(count) < 0.8 * count


def _words(every: Texts, count: int) -> Texts:
    """As many consecutive words of every text, from a random place on."""
    rng, kept = np.random.RandomState(SEED), list[str]()
    for text in every.text.to_pylist():
        words = text.split()
        begin = rng.randint(max(1, len(words) - count + 1))
        kept.append(" ".join(words[begin : begin + count]))
    return Texts(pa.array(kept, pa.large_string()), every.label)


def _subjects(folder: str | None) -> Parts:
    """The subject line of a post, and its group of 20."""
    splits, groups, texts = _read(NEWS, folder, "split", "group", "text")
    lines = [next((x for x in t.split("\n") if x.startswith("Subject:")), "") for t in texts]
    every = _texts([line.removeprefix("Subject:").strip() for line in lines], groups)
    return _split(every, np.array(splits) == "train")


def _titles(folder: str | None) -> Parts:
    """The title of a review, and its stars."""
    stars, titles = _read(RAW, folder, "rating", "title")
    return _split(_texts([title or "" for title in titles], stars), _random(len(stars)))


def _stars(folder: str | None, words: int) -> Parts:
    """A few words of a review, and its stars."""
    stars, texts = _read(RAW, folder, "rating", "text")
    return _split(_words(_texts(texts, stars), words), _random(len(stars)))


def _grades(folder: str | None, words: int) -> Parts:
    """A few words of a film review, and its grade of 8."""
    splits, grades, texts = _read(IMDB, folder, "split", "rating", "text")
    return _split(_words(_texts(texts, grades), words), np.array(splits) == "train")


def _topics(folder: str | None, words: int, most: int = 40) -> Parts:
    """A few words of an article of one topic, and the topic, of the most frequent ones."""
    topics, bodies = _read(REUTERS, folder, "topics", "body")
    single = [k for k, some in enumerate(topics) if some and len(some) == 1 and bodies[k]]
    names, counts = np.unique([topics[k][0] for k in single], return_counts=True)
    frequent = set(names[np.argsort(-counts, kind="stable")[:most]].tolist())
    rows = [k for k in single if topics[k][0] in frequent]
    every = _texts([bodies[k] for k in rows], [topics[k][0] for k in rows])
    return _split(_words(every, words), _random(len(rows)))


OWN: dict[str, tuple[str, Callable[[str | None], Parts]]] = {
    "subjects": ("subjects of posts, 20 groups", _subjects),
    "titles": ("titles of reviews, stars", _titles),
    "grades": ("12 words of IMDb, grades", partial(_grades, words=12)),
    "stars": ("10 words of reviews, stars", partial(_stars, words=10)),
    "topics": ("6 words of Reuters, 40 topics", partial(_topics, words=6)),
}
LOOKED_AT = ("books", "sms", "mr", "reuters", "enron-b", "subjects", "titles", "grades")
NEW = ("imdb", "20news", "amazon7", "electronics", "enron-a", "comp", "stars", "topics")
NAMES = {name: OWN[name][0] if name in OWN else TASKS[name].title for name in (*LOOKED_AT, *NEW)}


@lru_cache(maxsize=2)
def open_task(name: str, folder: str | None = None) -> Parts:
    """The training and the test texts of a task, without copies."""
    train, test = OWN[name][1](folder) if name in OWN else open_texts(name, folder)
    seen = set[str]()

    def first(texts: Texts) -> Texts:
        rows = []
        for row, text in enumerate(texts.text.to_pylist()):
            key = " ".join(text.lower().split())
            if key and key not in seen:
                seen.add(key)
                rows.append(row)
        return texts.take(np.array(rows))

    train, test = first(train), first(test)
    return train, test.take(np.random.RandomState(SEED).permutation(test.label.size)[:TEST])
