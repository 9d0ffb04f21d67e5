"""The tasks that defaults are chosen from and judged on: raw texts, labels and a test split each.

`TASKS` says what each task is. `open_texts` makes it from its data file and keeps the last two.
Each text is in a task once: a copy of a test text among the training texts gives its label away.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from experiments.tasks import (
    ENRON,
    IMDB,
    NEWS,
    NEWS_PAIRS,
    REUTERS,
    REVIEWS,
    SPAM,
    STORED_AS,
    find_file,
    keep_headers,
)
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import StratifiedKFold

from sureline.data import sms_spam

RAW = "amazon-raw.parquet"
SHARE = 0.8  # of the rows are for training where the data has no split of its own
FOLDS = 5  # of the training rows, one of them held out, where defaults are chosen
SEED = 9  # of folds and of wrong labels
VERSION = "2"  # a change in how tasks are made makes results of them stale
WORD = re.compile(r"\w+")

Labels = NDArray[Any]
Places = NDArray[np.intp]
Kind = Literal["main", "large", "further"]


@dataclass(frozen=True)
class Texts:
    """Texts and their labels."""

    text: pa.LargeStringArray
    label: Labels

    def take(self, rows: Places) -> Texts:
        """Some of them, in this order."""
        return Texts(self.text.take(pa.array(rows)), self.label[rows])


Parts = tuple[Texts, Texts]  # to learn from, to be judged on
Made = tuple[Texts, NDArray[np.bool_] | None]  # all texts, and which are to be judged on, if known


@dataclass(frozen=True)
class TaskInfo:
    """What a task is, without its texts.

    All learners are run on `main` tasks in all ways; on `large` and `further` ones, those that are
    not on the short list once only.
    """

    title: str
    file: str  # in the folder of data sets; empty: it comes with sureline
    make: Callable[[Path], Made]
    many: bool = False  # more than two classes
    kind: Kind = "main"
    ngrams: tuple[int, int] = (1, 2)


# -- how they are made -------------------------------------------------------------------------


def _texts(texts: Sequence[str], labels: Any) -> Texts:
    return Texts(pa.array(texts, pa.large_string()), np.asarray(labels).astype(str))


def _read(path: Path, *names: str) -> list[Any]:
    """Columns of a Parquet file as lists."""
    table = pyarrow.parquet.read_table(path, columns=list(names))
    return [table[name].to_pylist() for name in names]


def _films(path: Path) -> Made:
    """IMDb, in its own split."""
    split, label, text = _read(path, "split", "label", "text")
    return _texts(text, label), np.array(split) == "test"


def _reviews(path: Path, domain: str) -> Made:
    """Amazon reviews with their titles, positive against negative."""
    domains, labels, titles, texts = _read(path, "domain", "label", "title", "text")
    rows = [k for k, each in enumerate(domains) if each == domain]
    return _texts([f"{titles[k] or ''} {texts[k]}" for k in rows], [labels[k] for k in rows]), None


def _later_reviews(path: Path, domain: str) -> Made:
    """Reviews of a later preparation, in its own split."""
    domains, splits, labels, texts = _read(path, "domain", "split", "label", "text")
    rows = [k for k, each in enumerate(domains) if each == domain and splits[k] != "unlabel"]
    names = ["positive" if labels[k] else "negative" for k in rows]
    every = _texts([texts[k] for k in rows], names)
    return every, np.array([splits[k] != "train" for k in rows])


def _domains(path: Path, wanted: Sequence[str]) -> Made:
    """To which domain a labelled review belongs."""
    stored = {STORED_AS.get(domain, domain) for domain in wanted}
    domains, splits, texts = _read(path, "domain", "split", "text")
    rows = [k for k, each in enumerate(domains) if each in stored and splits[k] != "unlabel"]
    return _texts([texts[k] for k in rows], [domains[k] for k in rows]), None


def _news(path: Path, wanted: Sequence[str] | None) -> Made:
    """Posts with two headers, split by date."""
    splits, groups, texts = _read(path, "split", "group", "text")
    rows = [k for k, group in enumerate(groups) if wanted is None or group in wanted]
    kept = [keep_headers(texts[k], ("From:", "Subject:")) for k in rows]
    every = _texts(kept, [groups[k] for k in rows])
    return every, np.array([splits[k] != "train" for k in rows])


def _messages(_: Path) -> Made:
    """SMS, spam against ham."""
    texts, labels = sms_spam()
    return _texts(list(texts), labels), None


def _spam(path: Path, user: int) -> Made:
    """Mail of one user: words are numbers, so that a text is their names as often as they come."""
    with tarfile.open(path) as archive:
        name = f"task_a_u{user:02d}_eval_lab.tf"
        member = next(one for one in archive.getmembers() if one.name.endswith(name))
        X, y = load_svmlight_file(archive.extractfile(member))
    names = [f"w{column}" for column in range(X.shape[1])]
    texts = []
    for row in range(X.shape[0]):
        part = slice(X.indptr[row], X.indptr[row + 1])
        counts = np.maximum(np.rint(X.data[part]), 1).astype(int)
        pairs = zip(X.indices[part], counts, strict=True)
        texts.append(" ".join(word for j, n in pairs for word in [names[j]] * n))
    return _texts(texts, np.where(y > 0, "spam", "ham")), None


def _folders(path: Path, user: str) -> Made:
    """Mail of one user's ten largest folders; other headers name the folder itself."""
    users, folders, raw = _read(path, "user", "folder", "raw")
    mine = [k for k, each in enumerate(users) if each == user]
    names, counts = np.unique([folders[k] for k in mine], return_counts=True)
    largest = set(names[np.argsort(-counts, kind="stable")[:10]].tolist())
    rows = [k for k in mine if folders[k] in largest]
    texts = [keep_headers(raw[k], ("From:", "To:", "Subject:")) for k in rows]
    return _texts(texts, [folders[k] for k in rows]), None


def _topics(path: Path, most: int) -> Made:
    """Articles of one topic only, of the most frequent ones, in the ModApte split."""
    splits, known, topics, titles, bodies = _read(
        path, "lewissplit", "topics_attr", "topics", "title", "body"
    )
    single = [
        k
        for k, some in enumerate(topics)
        if some and len(some) == 1 and known[k] == "YES" and splits[k] in ("TRAIN", "TEST")
    ]
    first = [topics[k][0] for k in single if splits[k] == "TRAIN"]
    names, counts = np.unique(first, return_counts=True)
    largest = set(names[np.argsort(-counts, kind="stable")[:most]].tolist())
    rows = [k for k in single if topics[k][0] in largest]
    texts = [f"{titles[k] or ''}\n{bodies[k] or ''}" for k in rows]
    every = _texts(texts, [topics[k][0] for k in rows])
    return every, np.array([splits[k] != "TRAIN" for k in rows])


# -- all by name -------------------------------------------------------------------------------

TASKS: dict[str, TaskInfo] = {
    "imdb": TaskInfo("IMDb", IMDB, _films, kind="large"),
    **{
        name: TaskInfo(title, RAW, partial(_reviews, domain=name))
        for name, title in {
            "books": "books",
            "dvd": "DVD",
            "electronics": "electronics",
            "kitchen": "kitchen",
        }.items()
    },
    **{name: TaskInfo(name, NEWS, partial(_news, wanted=two)) for name, two in NEWS_PAIRS.items()},
    **{
        f"ecml{user}": TaskInfo(f"ECML {user}", SPAM, partial(_spam, user=user), ngrams=(1, 1))
        for user in range(3)
    },
    "sms": TaskInfo("SMS", "", _messages),
    "20news": TaskInfo("20 News", NEWS, partial(_news, wanted=None), many=True, kind="large"),
    "enron-a": TaskInfo("Enron A", ENRON, partial(_folders, user="farmer-d"), many=True),
    "enron-b": TaskInfo("Enron B", ENRON, partial(_folders, user="kaminski-v"), many=True),
    "amazon7": TaskInfo(
        "Amazon 7",
        REVIEWS,
        partial(
            _domains,
            wanted=("apparel", "books", "dvd", "electronics", "kitchen", "music", "video"),
        ),
        many=True,
        kind="large",
    ),
    **{
        name: TaskInfo(title, REVIEWS, partial(_later_reviews, domain=stored), kind="further")
        for name, title, stored in (
            ("apparel", "apparel", "apparel"),
            ("baby", "baby", "baby"),
            ("camera", "camera", "camera_photo"),
            ("health", "health", "health_personal_care"),
            ("magazines", "magazines", "magazines"),
            ("music", "music", "music"),
            ("software", "software", "software"),
            ("sports", "sports", "sports_outdoors"),
            ("toys", "toys", "toys_games"),
            ("video", "video", "video"),
            ("mr", "MR", "MR"),
        )
    },
    "reuters": TaskInfo("Reuters 8", REUTERS, partial(_topics, most=8), True, "further"),
    **{
        f"enron-{user}": TaskInfo(
            f"Enron {user}", ENRON, partial(_folders, user=user), many=True, kind="further"
        )
        for user in ("beck-s", "lokay-m", "williams-w3")
    },
}
CHOOSING = ("books", "electronics", "sci", "sms", "ecml0", "enron-a")


@lru_cache(maxsize=2)
def open_texts(name: str, folder: str | None = None) -> Parts:
    """The training and the test texts of a task.

    Parameters
    ----------
    name : str
        A name in `TASKS`.
    folder : str, default=None
        The folder of data sets, as for the papers' tasks.

    Returns
    -------
    two Texts
        To learn from and to be judged on.
    """
    every, test = make_texts(name, folder)
    kept = np.unique(find_text_copies(every.text.to_pylist(), test))
    every = every.take(kept)
    if test is None:
        order = np.random.RandomState(0).permutation(every.label.size)
        first = int(SHARE * order.size)
        return every.take(order[:first]), every.take(order[first:])
    known, judged = np.flatnonzero(~test[kept]), np.flatnonzero(test[kept])
    return every.take(known), every.take(judged)


def make_texts(name: str, folder: str | None) -> Made:
    """All texts of a task, copies included, and which of them are to be judged on, if known."""
    info = TASKS[name]
    path = find_file(info.file, Path(folder) if folder else None) if info.file else Path()
    return info.make(path)


def find_text_copies(texts: Sequence[str], test: NDArray[np.bool_] | None = None) -> Places:
    """For each text, the place of one that has the same words in the same order.

    It is one of the texts to be judged on, if some of them have the same words; else any.
    """
    order = np.random.RandomState(0).permutation(len(texts))
    if test is not None:
        order = order[np.argsort(~test[order], kind="stable")]
    first: dict[str, int] = {}
    found = np.arange(len(texts))
    for place in order:
        words = " ".join(WORD.findall(texts[place].lower()))
        found[place] = first.setdefault(words, place)
    return found


def count_copies(name: str, folder: str | None = None) -> tuple[int, int, int]:
    """How many texts a task's file has, how many are copies of others, and the largest group."""
    every, test = make_texts(name, folder)
    first = find_text_copies(every.text.to_pylist(), test)
    groups = np.bincount(first)
    return first.size, first.size - int(np.count_nonzero(groups)), int(groups.max(initial=0))


def hold_out(train: Texts, order: int) -> tuple[Places, Places]:
    """The rows to learn from and those held out to choose by, another fifth for every order."""
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED)
    folds = list(splitter.split(np.zeros(train.label.size), train.label))
    kept, held = folds[order % FOLDS]
    return kept, held


def flip(name: str, labels: Labels, noise: int) -> Labels:
    """The labels of a task's training texts, so many per cent of them of a random other class.

    Everybody gets the same wrong labels; more noise adds to them.
    """
    rng = np.random.default_rng([SEED, *map(ord, name)])
    classes, codes = np.unique(labels, return_inverse=True)
    chance, shift = rng.random(labels.size), rng.integers(1, classes.size, labels.size)
    return np.asarray(classes[(codes + shift * (100 * chance < noise)) % classes.size])
