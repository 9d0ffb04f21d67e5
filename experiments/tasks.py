"""The papers' tasks, by name: sparse rows and labels from the folder of data sets.

`TASKS` describes each task, what it represents in the papers and how it differs from that.
`load` makes it from the data file once and keeps it in a cache that git does not see. Of rows that
are the same it gives one: in folds, a copy of a test row among the training rows is a leak.
"""

from __future__ import annotations

import os
import sys
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any
from zipfile import BadZipFile
from zlib import crc32

import numpy as np
import pyarrow.parquet
import scipy.sparse
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache"
VERSION = "2"  # a change in how tasks are made makes cached ones, and results of them, stale
SEED = 2008  # of the rows that are taken where there are more than the papers took

Rows = scipy.sparse.csr_matrix
Labels = NDArray[Any]
Made = tuple[Rows, Labels, NDArray[np.bool_]]


class MissingData(Exception):
    """The data file of a task is not at hand, or cannot be had at all."""


@dataclass(frozen=True)
class TaskInfo:
    """What a task is, without its rows."""

    name: str
    title: str  # as the papers' tables call it
    file: str  # in the folder of data sets; empty: the data cannot be had
    stands_for: str
    differences: str = ""  # from what the papers did, or why there is no data

    @property
    def can_be_had(self) -> bool:
        """Whether there is any data for it."""
        return bool(self.file)


@dataclass(frozen=True)
class Task:
    """A task with its rows, in a fixed random order.

    `test` marks the rows of the standard test set; it is all False where there is none.
    """

    info: TaskInfo
    X: Rows
    y: Labels
    test: NDArray[np.bool_]

    @property
    def name(self) -> str:
        """The name in `TASKS`."""
        return self.info.name


def find_data(folder: Path | None = None) -> Path:
    """The folder of data sets: the one given, else SURELINE_DATA, else ../shared/data."""
    if folder is not None:
        return folder
    named = os.environ.get("SURELINE_DATA")
    return Path(named) if named else HERE.parents[1] / "shared" / "data"


def find_file(name: str, folder: Path | None = None) -> Path:
    """The data file of that name, or MissingData with a sentence."""
    path = find_data(folder) / name
    if not path.is_file():
        raise MissingData(
            f"{name} was not found in {path.parent}: name the folder that holds it with --data or "
            "in the environment variable SURELINE_DATA"
        )
    return path


def find_or_leave(name: str, folder: Path | None = None) -> Path:
    """The same for a script that cannot do without; it ends with the sentence and exit code 2."""
    try:
        return find_file(name, folder)
    except MissingData as problem:
        print(problem, file=sys.stderr)
        raise SystemExit(2) from None


def at_hand(name: str, folder: Path | None = None) -> bool:
    """Whether the task's data can be had and its file is there."""
    info = TASKS[name]
    return info.can_be_had and (find_data(folder) / info.file).is_file()


def open_cache(*parts: str) -> Path:
    """A folder of the cache, which is made where it is missing and which git does not see."""
    folder = CACHE.joinpath(*parts)
    folder.mkdir(parents=True, exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n", encoding="utf-8")
    return folder


def load(name: str, folder: Path | None = None, copies: bool = False) -> Task:
    """The task of that name, from the cache or made from its data file.

    Each row is there once, with the label of one of its copies; with `copies`, as often as in the
    file.
    """
    info = TASKS[name]
    if not info.can_be_had:
        raise MissingData(f"{info.title}: {info.differences}")
    path = find_file(info.file, folder)
    facts = path.stat()
    key = f"{VERSION} {name} {facts.st_size} {facts.st_mtime_ns}"
    kept = open_cache("tasks") / f"{name.replace('/', '-')}-{crc32(key.encode()):08x}.npz"
    made = _read(kept, key)
    if made is None:
        made = _mix(*MAKERS[name](path))
        _keep(kept, key, made)
    task = Task(info, *made)
    return task if copies else drop_copies(task)


def find_copies(X: Rows) -> NDArray[np.intp]:
    """For each row, the first row that has the same features with the same values."""
    first: dict[bytes, int] = {}
    found = np.arange(X.shape[0])
    for row in range(X.shape[0]):
        part = slice(X.indptr[row], X.indptr[row + 1])
        content = blake2b(X.indices[part].tobytes(), digest_size=16)
        content.update(X.data[part].tobytes())
        found[row] = first.setdefault(content.digest(), row)
    return found


def drop_copies(task: Task) -> Task:
    """The task with the first of all rows that are the same; the order of rows is random."""
    kept = np.unique(find_copies(task.X))
    return Task(task.info, task.X[kept], task.y[kept], task.test[kept])


# -- the cache ---------------------------------------------------------------------------------


def _read(path: Path, key: str) -> Made | None:
    """What the cache holds, if it was made from the same file in the same way."""
    try:
        with path.open("rb") as file, np.load(file) as stored:
            if str(stored["key"]) != key:
                return None
            parts = (stored["data"], stored["indices"], stored["indptr"])
            return Rows(parts, shape=tuple(stored["shape"])), stored["y"], stored["test"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return None


def _keep(path: Path, key: str, made: Made) -> None:
    """Write to the cache; a reader sees all of it or nothing."""
    X, y, test = made
    fresh = path.with_name(f"{path.stem}.{os.getpid()}.npz")
    np.savez(
        fresh,
        key=np.array(key),
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
        shape=np.array(X.shape),
        y=y,
        test=test,
    )
    fresh.replace(path)


def _mix(X: Rows, y: Labels, test: NDArray[np.bool_] | None = None) -> Made:
    """Rows in a fixed random order, because the files are sorted by label."""
    order = np.random.default_rng(SEED).permutation(y.size)
    test = np.zeros(y.size, bool) if test is None else test
    X = Rows(X[order], dtype=np.float32)
    X.sort_indices()
    return X, y[order], test[order]


def _choose(y: Labels, each: int) -> NDArray[np.intp]:
    """The same random rows every time, `each` of every label, or all where there are fewer."""
    rng = np.random.default_rng(SEED)
    chosen = [rng.permutation(np.flatnonzero(y == label))[:each] for label in np.unique(y).tolist()]
    return np.sort(np.concatenate(chosen))


def _balance(y: Labels, most: int) -> NDArray[np.intp]:
    """As many rows of each label as the rarest has, `most` at most."""
    return _choose(y, min(most, int(np.unique(y, return_counts=True)[1].min())))


# -- 20 Newsgroups -----------------------------------------------------------------------------

NEWS = "20news-bydate.parquet"
NEWS_PAIRS = {
    "comp": ("comp.sys.ibm.pc.hardware", "comp.sys.mac.hardware"),
    "sci": ("sci.electronics", "sci.med"),
    "talk": ("talk.politics.guns", "talk.politics.mideast"),
}


def keep_headers(text: str, names: tuple[str, ...]) -> str:
    """A message with only these headers, and the lines that continue them."""
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    lines, keeping = [], False
    for line in head.split("\n"):
        if not line.startswith((" ", "\t")):
            keeping = line.startswith(names)
        if keeping:
            lines.append(line)
    return "\n".join([*lines, "", body])


def _posts(path: Path, groups: Iterable[str] | None) -> tuple[list[str], Labels, Labels]:
    """Posts with two headers, their groups and their splits."""
    table = pyarrow.parquet.read_table(path, columns=["split", "group", "text"])
    if groups is not None:
        wanted = set(groups)
        table = table.filter(pyarrow.array([g in wanted for g in table["group"].to_pylist()]))
    texts = [keep_headers(text, ("From:", "Subject:")) for text in table["text"].to_pylist()]
    return texts, np.array(table["group"].to_pylist()), np.array(table["split"].to_pylist())


def _news_pair(path: Path, pair: tuple[str, str]) -> tuple[Rows, Labels]:
    """900 + 900 posts of two groups."""
    texts, groups, _ = _posts(path, pair)
    rows = _choose(groups, 900)
    X = CountVectorizer(binary=True, dtype=np.float32).fit_transform([texts[k] for k in rows])
    return X, groups[rows]


def _news_all(path: Path) -> tuple[Rows, Labels, NDArray[np.bool_]]:
    """All posts of the 20 groups."""
    texts, groups, splits = _posts(path, None)
    X = CountVectorizer(binary=True, dtype=np.float32).fit_transform(texts)
    return X, groups, splits == "test"


# -- Amazon reviews ----------------------------------------------------------------------------

BLITZER = "amazon-processed_acl.tar.xz"
REVIEWS = "amazon-fdu-mtl.parquet"
DOMAINS = ("books", "dvd", "electronics", "kitchen", "music", "video")
STORED_AS = {"kitchen": "kitchen_housewares"}
WORD = {"token_pattern": r"\b\w+\b"}  # words of one letter too


def _blitzer(path: Path, domain: str) -> tuple[Rows, Labels]:
    """The counts of unigrams and bigrams that Blitzer et al. extracted."""
    rows, labels = [], []
    with tarfile.open(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda one: one.name):
            parts = member.name.split("/")
            if not (member.isfile() and parts[-2] == domain and parts[-1].endswith(".review")):
                continue
            file = archive.extractfile(member)
            if file is None:
                raise MissingData(f"{path} holds {member.name}, which cannot be read")
            for line in file.read().decode("utf-8").splitlines():
                *words, label = line.split(" ")
                counts = (word.rpartition(":") for word in words)
                rows.append({word: float(count) for word, _, count in counts})
                labels.append(label.partition(":")[2])
    return DictVectorizer(dtype=np.float32).fit_transform(rows), np.array(labels)


def _count_ngrams(texts: list[str]) -> Rows:
    """Counts of unigrams and bigrams, as Blitzer et al. used."""
    words = CountVectorizer(ngram_range=(1, 2), dtype=np.float32, **WORD)
    return Rows(words.fit_transform(texts))


def _reviews(path: Path, domains: Iterable[str] | None) -> tuple[list[str], Labels, Labels]:
    """Labelled reviews: texts, domains, sentiments."""
    table = pyarrow.parquet.read_table(path, columns=["domain", "label", "text"])
    stored = table["domain"].to_pylist()
    wanted = set(stored) - {"imdb", "MR"}
    if domains is not None:
        wanted = {STORED_AS.get(domain, domain) for domain in domains}
    known = table["label"].is_valid().to_pylist()
    kept = [k for k in range(len(stored)) if stored[k] in wanted and known[k]]
    table = table.take(kept)
    sentiments = np.where(np.array(table["label"].to_pylist()) == 1, "positive", "negative")
    return table["text"].to_pylist(), np.array(table["domain"].to_pylist()), sentiments


def _sentiment(path: Path, domain: str) -> tuple[Rows, Labels]:
    """Positive against negative reviews of one domain."""
    texts, _, sentiments = _reviews(path, [domain])
    return _count_ngrams(texts), sentiments


def _domains(path: Path, domains: tuple[str, ...], each: int | None) -> tuple[Rows, Labels]:
    """To which domain a review belongs."""
    texts, found, _ = _reviews(path, domains)
    rows = np.arange(found.size) if each is None else _choose(found, each)
    return _count_ngrams([texts[k] for k in rows]), found[rows]


# -- ECML spam ---------------------------------------------------------------------------------

SPAM = "ecml2006-spam.tar.xz"


def _spam(path: Path, user: int) -> tuple[Rows, Labels]:
    """1,000 + 1,000 mails of one user of task A, in the words' counts that came with them."""
    with tarfile.open(path) as archive:
        name = f"task_a_u{user:02d}_eval_lab.tf"
        member = next(one for one in archive.getmembers() if one.name.endswith(name))
        X, y = load_svmlight_file(archive.extractfile(member), dtype=np.float32)
    labels = np.where(y > 0, "spam", "ham")
    rows = _choose(labels, 1000)
    return X[rows], labels[rows]


# -- USPS --------------------------------------------------------------------------------------

USPS = "usps.npz"
USPS_PAIRS = ((0, 9), (1, 2), (3, 4), (5, 6), (7, 8))


def _digits(path: Path, pair: tuple[int, int]) -> tuple[Any, Labels, NDArray[np.bool_]]:
    """The pixels of two digits, training and test set."""
    with np.load(path) as stored:
        X = np.concatenate([stored["X_train"], stored["X_test"]]).astype(np.float32)
        y = np.concatenate([stored["y_train"], stored["y_test"]]).astype(int)
        test = np.arange(y.size) >= stored["y_train"].size
    kept = np.isin(y, pair)
    return X[kept], y[kept].astype(str), test[kept]


def _pixels(path: Path, pair: tuple[int, int]) -> tuple[Rows, Labels, NDArray[np.bool_]]:
    """The pixels of two digits, in [-1, 1]."""
    X, y, test = _digits(path, pair)
    return Rows(X), y, test


def _products(path: Path, pair: tuple[int, int]) -> tuple[Rows, Labels, NDArray[np.bool_]]:
    """The pixels of two digits in [0, 1], and the product of every two different ones."""
    X, y, test = _digits(path, pair)
    X = (X + 1) / 2
    first, second = np.triu_indices(X.shape[1], 1)
    return Rows(np.hstack([X, X[:, first] * X[:, second]])), y, test


# -- Reuters -----------------------------------------------------------------------------------

REUTERS = "reuters21578.parquet"
REUTERS_PAIRS = (("acq", "earn"), ("interest", "money-fx"), ("corn", "wheat"))
REUTERS_TOPICS = ("acq", "crude", "earn", "trade")


def _articles(path: Path) -> tuple[list[str], list[list[str]]]:
    """Title and body of every article, and its topics."""
    table = pyarrow.parquet.read_table(path, columns=["topics", "title", "body"])
    titles, bodies = table["title"].to_pylist(), table["body"].to_pylist()
    texts = [f"{title or ''}\n{body or ''}" for title, body in zip(titles, bodies, strict=True)]
    return texts, [topics or [] for topics in table["topics"].to_pylist()]


def _topic_pair(path: Path, pair: tuple[str, str]) -> tuple[Rows, Labels]:
    """Articles that have one topic of the two and not the other, balanced."""
    texts, topics = _articles(path)
    found = [set(pair) & set(some) for some in topics]
    kept = np.array([k for k, some in enumerate(found) if len(some) == 1])
    y = np.array([next(iter(found[k])) for k in kept])
    rows = _balance(y, 1000)
    words = CountVectorizer(binary=True, dtype=np.float32)
    return words.fit_transform([texts[k] for k in kept[rows]]), y[rows]


def _four_topics(path: Path) -> tuple[Rows, Labels]:
    """4,000 articles of one topic only, one of four; as unbalanced as they come."""
    texts, topics = _articles(path)
    kept = np.array([k for k, s in enumerate(topics) if len(s) == 1 and s[0] in REUTERS_TOPICS])
    kept = np.sort(np.random.default_rng(SEED).permutation(kept)[:4000])
    words = CountVectorizer(binary=True, dtype=np.float32)
    return words.fit_transform([texts[k] for k in kept]), np.array([topics[k][0] for k in kept])


def _corporate(path: Path) -> tuple[Rows, Labels]:
    """Whether an article is about companies: earnings or acquisitions."""
    texts, topics = _articles(path)
    y = np.where([bool({"earn", "acq"} & set(some)) for some in topics], "corporate", "other")
    return CountVectorizer(binary=True, dtype=np.float32).fit_transform(texts), y


# -- Enron -------------------------------------------------------------------------------------

ENRON = "enron-folders.parquet"
NOT_ARCHIVES = {
    "inbox",
    "deleted_items",
    "discussion_threads",
    "all_documents",
    "sent",
    "sent_items",
}


def _folders(path: Path, user: str) -> tuple[Rows, Labels]:
    """3,000 mails of one user's ten largest folders."""
    table = pyarrow.parquet.read_table(path, columns=["user", "folder", "raw"])
    table = table.filter(pyarrow.array([one == user for one in table["user"].to_pylist()]))
    folders = np.array(table["folder"].to_pylist())
    names, counts = np.unique(folders, return_counts=True)
    archives = [k for k in np.argsort(-counts, kind="stable") if names[k] not in NOT_ARCHIVES]
    kept = np.flatnonzero(np.isin(folders, names[archives[:10]]))
    kept = np.sort(np.random.default_rng(SEED).permutation(kept)[:3000])
    raw = table["raw"].to_pylist()
    # Other headers name the folder itself.
    texts = [keep_headers(raw[k], ("From:", "To:", "Cc:", "Subject:")) for k in kept]
    words = CountVectorizer(binary=True, stop_words="english", dtype=np.float32)
    return words.fit_transform(texts), folders[kept]


# -- the largest -------------------------------------------------------------------------------

IMDB = "imdb.parquet"


def _films(path: Path) -> tuple[Rows, Labels]:
    """Positive against negative reviews of films."""
    table = pyarrow.parquet.read_table(path, columns=["label", "text"])
    return _count_ngrams(table["text"].to_pylist()), np.array(table["label"].to_pylist())


# -- all by name -------------------------------------------------------------------------------

TASKS: dict[str, TaskInfo] = {}
MAKERS: dict[str, Callable[[Path], Any]] = {}

LATER = "a later preparation of the same reviews, with unigram and bigram counts of our own; "


def _add(
    name: str,
    title: str,
    file: str,
    make: Callable[[Path], Any] | None,
    stands_for: str,
    differences: str = "",
) -> None:
    """Enter a task."""
    TASKS[name] = TaskInfo(name, title, file, stands_for, differences)
    if make is not None:
        MAKERS[name] = make


def _with(function: Callable[..., Any], *arguments: Any) -> Callable[[Path], Any]:
    """The function of a path alone."""
    return lambda path: function(path, *arguments)


for _name, _pair in NEWS_PAIRS.items():
    _add(
        f"news/{_name}",
        _name.capitalize(),
        NEWS,
        _with(_news_pair, _pair),
        f"20 Newsgroups, {_pair[0]} against {_pair[1]}, 1,800 posts",
        "the by-date version of the corpus, all headers but From: and Subject: removed",
    )
_add(
    "news/all",
    "20 News",
    NEWS,
    _news_all,
    "20 Newsgroups, 20 groups, 18,828 posts",
    "18,846 posts: the by-date version, all headers but From: and Subject: removed",
)
for _name in ("books", "dvd", "electronics", "kitchen"):
    _add(
        f"sentiment/{_name}",
        "DVD" if _name == "dvd" else _name.capitalize(),
        BLITZER,
        _with(_blitzer, _name),
        f"Amazon {_name}, positive against negative, 2,000 reviews",
    )
for _name in ("apparel", "music", "video"):
    _add(
        f"sentiment/{_name}",
        _name.capitalize(),
        REVIEWS,
        _with(_sentiment, _name),
        f"Amazon {_name}, positive against negative, 2,000 reviews (apparel: 1,940)",
        LATER + "2,000 reviews",
    )
_add(
    "amazon/7",
    "Amazon 7",
    REVIEWS,
    _with(_domains, ("apparel", *DOMAINS), None),
    "Amazon, the product domain of 13,580 reviews, 7 domains",
    LATER + "13,998 reviews",
)
_add(
    "amazon/3",
    "Amazon 3",
    REVIEWS,
    _with(_domains, ("books", "dvd", "music"), None),
    "Amazon, the product domain of 7,000 reviews: books, dvd or music",
    LATER + "6,000 reviews",
)
for _first, _second in combinations(DOMAINS, 2):
    _add(
        f"domain/{_first}-{_second}",
        f"{_first} or {_second}",
        REVIEWS,
        _with(_domains, (_first, _second), 1000),
        f"Amazon, whether a review is of {_first} or of {_second}, about 2,000 reviews",
        LATER + "1,000 reviews a domain",
    )
for _user, _letter in enumerate("ABC"):
    _add(
        f"spam/{_letter.lower()}",
        f"Spam {_letter}",
        SPAM,
        _with(_spam, _user),
        f"ECML/PKDD 2006 challenge, task A, user {_user}, 2,000 mails",
        "which 2,000 of the user's 2,500 mails the papers took is not said",
    )
for _title, _codes in (
    ("Retail", "specialist stores (I65400) against mixed retail (I65600)"),
    ("Business", "banking (I81000) against financial services (I83000)"),
    ("Insurance", "life (I82002) against non-life (I82003)"),
):
    _add(
        f"rcv1/{_title.lower()}",
        _title,
        "",
        None,
        f"Reuters RCV1, {_codes}, 2,000 stories",
        "RCV1 cannot be had",
    )
_add(
    "pascal/webspam",
    "Webspam",
    "",
    None,
    "PASCAL large scale challenge, web spam, 2,000 pages",
    "the PASCAL web spam data cannot be had",
)
for _first, _second in REUTERS_PAIRS:
    _add(
        f"reuters/{_first}-{_second}",
        f"{_first} or {_second} (Reuters-21578)",
        REUTERS,
        _with(_topic_pair, (_first, _second)),
        "a stand-in for the papers' pairs of neighbouring Reuters RCV1 categories",
        "another corpus and other categories: the printed figures are not comparable",
    )
_add(
    "reuters/topics",
    "Reuters-21578, four topics",
    REUTERS,
    _four_topics,
    "a stand-in for the four general topics of 4,000 stories of Reuters RCV1",
    "another corpus, topics acq, crude, earn and trade: the printed figures are not comparable",
)
_add(
    "reuters/corporate",
    "Reuters-21578, corporate",
    REUTERS,
    _corporate,
    "a stand-in for Reuters RCV1, corporate against the rest, 804,411 stories",
    "another corpus of 21,578 articles; corporate: the topics earn and acq",
)
_add(
    "imdb",
    "IMDb",
    IMDB,
    _films,
    "a stand-in for the one million Amazon reviews of all domains",
    "50,000 reviews of films, balanced; unigram and bigram counts",
)
for _letter, _user_name in (("A", "farmer-d"), ("B", "kaminski-v")):
    _add(
        f"enron/{_letter.lower()}",
        f"Enron {_letter}",
        ENRON,
        _with(_folders, _user_name),
        f"Enron mail of {_user_name}, its ten largest folders, 3,000 mails",
        "which headers and stop words the paper took is not said: From, To, Cc, Subject and the "
        "body, without scikit-learn's English stop words",
    )
for _digits_pair in combinations(range(10), 2):
    _add(
        "usps/{}-{}".format(*_digits_pair),
        "{} vs {}".format(*_digits_pair),
        USPS,
        _with(_pixels, _digits_pair),
        "USPS digits {} against {}, the standard training and test sets".format(*_digits_pair),
    )
for _digits_pair in USPS_PAIRS:
    _add(
        "usps-products/{}-{}".format(*_digits_pair),
        "{} vs {}".format(*_digits_pair),
        USPS,
        _with(_products, _digits_pair),
        "USPS digits {} against {}, pixels and products of pixels".format(*_digits_pair),
        "pixels are taken from 0 (background) to 1; the paper does not say its scale",
    )
