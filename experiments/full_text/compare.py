"""Full against diagonal covariance: on words, on a growing number of words, and on embeddings.

Settings are chosen on a fifth of the training texts, after one pass over the others, and the models
of all training texts are judged once on the test texts. Figures are kept in ours.csv, part by part,
so that parts may be run on several machines; the tables of README.md are made from them.

``python -m experiments.full_text.compare words features embeddings`` runs the parts that are named.
With ``--device cuda`` full covariances are learned on a GPU. Without a part, the tables are made.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from experiments.defaults.texts import Texts, open_texts
from experiments.tables import fill_in, make_table
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize

from sureline import (
    AROWClassifier,
    CWClassifier,
    NHERDClassifier,
    SCWClassifier,
)

HERE = Path(__file__).resolve().parent
PAIRS = ("comp", "sci", "talk")
WORDS = 2048  # features of a pair
DIRECTIONS = 256  # numbers of an embedding
FEATURES = (256, 1024, 4096, 16384, 65536)  # of IMDb
LABELS = (50, 200, 1000, 5000, 25000)
PASSES = (1, 5)
DIAGONAL, FULL, LOGISTIC = "diagonal", "full", "logistic regression"
STRENGTHS = (0.01, 0.1, 1.0, 10.0)
CONFIDENCES = (0.55, 0.7, 0.9)
RULES: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "AROW": (AROWClassifier, [{"r": r} for r in STRENGTHS]),
    "NHERD": (NHERDClassifier, [{"C": c} for c in STRENGTHS]),
    "CW-stdev": (CWClassifier, [{"confidence": c} for c in CONFIDENCES]),
    "CW-variance": (
        CWClassifier,
        [{"constraint": "variance", "confidence": c} for c in CONFIDENCES],
    ),
    "SCW-I": (SCWClassifier, [{"confidence": 0.8, "C": c} for c in STRENGTHS]),
    "SCW-II": (SCWClassifier, [{"variant": 2, "confidence": 0.8, "C": c} for c in STRENGTHS]),
}
HEAD = ("part", "task", "size", "learner", "kind", "passes", "setting", "error", "seconds")
Line = dict[str, str]
Judged = tuple[dict[str, Any], float, float]  # setting, test error, seconds


def words_of(train: Texts, test: Texts, most: int) -> tuple[Any, Any]:
    """The most frequent words and pairs of words as rows of length 1, frequent columns first."""
    vectorizer = CountVectorizer(ngram_range=(1, 2), binary=True, max_features=most)
    X = vectorizer.fit_transform(train.text.to_pylist())
    order = np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")
    X_test = vectorizer.transform(test.text.to_pylist())
    return X.tocsc()[:, order].tocsr(), X_test.tocsc()[:, order].tocsr()


def cut(X: Any, features: int) -> Any:
    """The first columns of rows, which then have length 1 again."""
    return normalize(X[:, :features].astype(np.float32))


def split(count: int) -> tuple[Any, Any]:
    """Which of so many rows to learn from, and which settings are chosen on."""
    order = np.random.default_rng(0).permutation(count)
    held = max(count // 5, 1)
    return np.sort(order[held:]), np.sort(order[:held])


def judge(make: Any, settings: list[Any], X: Any, y: Any, X_test: Any, y_test: Any) -> Judged:
    """Choose a setting on a fifth of the training rows; the error on the test rows, in percent."""
    rest, held = split(len(y))
    found = [make(**each).fit(X[rest], y[rest]).score(X[held], y[held]) for each in settings]
    chosen = settings[int(np.argmax(found))]
    begin = time.perf_counter()
    model = make(**chosen).fit(X, y)
    seconds = time.perf_counter() - begin
    return chosen, 100.0 * (1.0 - model.score(X_test, y_test)), seconds


def online(cls: Any, covariance: str, passes: int, device: str) -> Any:
    """How to make one of our learners with a setting."""

    def make(**setting: Any) -> Any:
        place = {"device": device} if covariance == FULL else {}
        kind = "full" if covariance == FULL else "diagonal-kl"
        return cls(
            **setting, **place, covariance=kind, max_iter=passes, random_state=0,
            memory_limit_gb=1000.0,
        )  # fmt: skip

    return make


def line(
    part: str, task: str, size: int, learner: str, kind: str, passes: int, judged: Any
) -> Line:
    """What is kept of one model."""
    setting, error, seconds = judged
    shown = " ".join(f"{name}={value}" for name, value in setting.items())
    values = part, task, size, learner, kind, passes, shown, f"{error:.3f}", f"{seconds:.3f}"
    print(*values, flush=True)
    return dict(zip(HEAD, map(str, values), strict=True))


def run_words(data: str | None, device: str) -> Iterable[Line]:
    """All rules on pairs of newsgroups."""
    for task in PAIRS:
        train, test = open_texts(task, data)
        X, X_test = (cut(each, WORDS) for each in words_of(train, test, WORDS))
        given = X, train.label, X_test, test.label
        for name, (cls, settings) in RULES.items():
            for kind in (DIAGONAL, FULL):
                for passes in PASSES:
                    judged = judge(online(cls, kind, passes, device), settings, *given)
                    yield line("words", task, WORDS, name, kind, passes, judged)


def run_features(data: str | None, device: str, most: int) -> Iterable[Line]:
    """AROW on film reviews, with more and more of their words and pairs of words."""
    train, test = open_texts("imdb", data)
    every, every_test = words_of(train, test, most)
    order = np.random.default_rng(1).permutation(train.label.size)  # the file is sorted
    every, y = every[order], train.label[order]
    for features in FEATURES:
        if features > most:
            break
        X, X_test = cut(every, features), cut(every_test, features)
        given = X, y, X_test, test.label
        for kind in (DIAGONAL, FULL):
            settings = [{"r": r} for r in (0.1, 1.0, 10.0)]
            judged = judge(online(AROWClassifier, kind, 1, device), settings, *given)
            yield line("features", "imdb", features, "AROW", kind, 1, judged)


def embed(train: Texts, test: Texts) -> tuple[Any, Any]:
    """Embeddings: the first singular directions of words and pairs of words, by tf-idf.

    Each number has a variance of 1 over the training texts.
    """
    X, X_test = words_of(train, test, 65_536)
    weights = TfidfTransformer(sublinear_tf=True)
    directions = TruncatedSVD(DIRECTIONS, n_iter=4, random_state=0)
    scale = StandardScaler()
    X = scale.fit_transform(directions.fit_transform(weights.fit_transform(X)))
    X_test = scale.transform(directions.transform(weights.transform(X_test)))
    return X.astype(np.float32), X_test.astype(np.float32)


def run_embeddings(data: str | None, device: str) -> Iterable[Line]:
    """Few labels and many, with embeddings of film reviews."""
    train, test = open_texts("imdb", data)
    X, X_test = embed(train, test)
    order = np.random.default_rng(2).permutation(train.label.size)
    for size in sorted({min(each, order.size) for each in LABELS}):
        some = order[:size]
        given = X[some], train.label[some], X_test, test.label
        settings = [{"r": r} for r in (1.0, 10.0, 100.0, 1000.0, 10_000.0)]
        for kind in (DIAGONAL, FULL):
            judged = judge(online(AROWClassifier, kind, 5, device), settings, *given)
            yield line("embeddings", "imdb", size, "AROW", kind, 5, judged)
        settings = [{"C": c} for c in (0.0001, 0.001, 0.01, 0.1, 1.0)]
        judged = judge(logistic, settings, *given)
        yield line("embeddings", "imdb", size, LOGISTIC, "", 0, judged)


def logistic(C: float) -> Any:
    """Scikit-learn's logistic regression."""
    return LogisticRegression(C=C, max_iter=1000)


def read_lines() -> list[Line]:
    """The figures that are kept."""
    path = HERE / "ours.csv"
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_lines(lines: Iterable[Line]) -> None:
    """Keep figures; later ones replace those of the same model."""
    kept = {tuple(each[name] for name in HEAD[:6]): each for each in [*read_lines(), *lines]}
    with (HERE / "ours.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, HEAD, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept.values())


def find(lines: list[Line], **wanted: str) -> str:
    """The error of a model, or a dash."""
    for each in lines:
        if all(each[name] == value for name, value in wanted.items()):
            return f"{float(each['error']):.2f}"
    return "–"


def tables(lines: list[Line]) -> Mapping[str, str]:
    """The tables of the page: test errors in percent."""
    kinds = [(kind, passes) for passes in PASSES for kind in (DIAGONAL, FULL)]
    head = [
        "rule",
        "pair",
        *(f"{kind}, {passes} pass{'es' * (passes > 1)}" for kind, passes in kinds),
    ]
    words = [
        [name, task]
        + [
            find(lines, part="words", task=task, learner=name, kind=kind, passes=str(passes))
            for kind, passes in kinds
        ]
        for name in RULES
        for task in PAIRS
    ]
    features = [
        [f"{size:,}"]
        + [find(lines, part="features", size=str(size), kind=kind) for kind in (DIAGONAL, FULL)]
        for size in FEATURES
    ]
    embeddings = [
        [f"{size:,}"]
        + [
            find(lines, part="embeddings", size=str(size), kind=kind, learner=learner)
            for learner, kind in (("AROW", DIAGONAL), ("AROW", FULL), (LOGISTIC, ""))
        ]
        for size in sorted({int(each["size"]) for each in lines if each["part"] == "embeddings"})
    ]
    return {
        "words": make_table(head, words),
        "features": make_table(["features", DIAGONAL, FULL], features),
        "embeddings": make_table(["labels", DIAGONAL, FULL, LOGISTIC], embeddings),
    }


def main() -> None:
    """Run the parts that are named, and make the tables of what is known."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="words|features|embeddings")
    parser.add_argument("--data", help="the folder of data sets")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--most", type=int, default=4096, help="features of IMDb, at most")
    given = parser.parse_args()
    for part in given.parts:
        if part == "words":
            found = run_words(given.data, given.device)
        elif part == "features":
            found = run_features(given.data, given.device, given.most)
        else:
            found = run_embeddings(given.data, given.device)
        for each in found:
            write_lines([each])
    for name, text in tables(read_lines()).items():
        fill_in(HERE / "README.md", name, text)


if __name__ == "__main__":
    main()
