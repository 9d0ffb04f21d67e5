"""What learns texts with several labels in the comparison, each as its users would set it up.

Each learner is a function of training and test texts that returns the labels of the test texts.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import Any

from experiments.tags.texts import TaggedTexts

from sureline import TextClassifier

Sets = list[tuple[str, ...]]
Learner = Callable[[TaggedTexts, list[str]], Sets]
ONE, AUTO = "sureline, one pass", "sureline, max_iter='auto'"
WORDS = re.compile(r"\w+")


def ours(train: TaggedTexts, test: list[str], **options: Any) -> Sets:
    """`TextClassifier`."""
    model = TextClassifier(random_state=0, **options).fit(train.text, train.labels)
    found: Sets = model.predict(test).tolist()
    return found


def linear_svc(train: TaggedTexts, test: list[str], ngrams: int) -> Sets:
    """scikit-learn: one LinearSVC against the rest per label, on tf-idf."""
    import warnings

    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.svm import LinearSVC

    words, tags = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, ngrams)), MultiLabelBinarizer()
    rows, matrix = words.fit_transform(train.text), tags.fit_transform(train.labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = OneVsRestClassifier(LinearSVC()).fit(rows, matrix)
    found: Sets = tags.inverse_transform(model.predict(words.transform(test)))
    return found


def fasttext(train: TaggedTexts, test: list[str], epochs: int) -> Sets:
    """FastText's program with one against the rest, words and pairs; labels from 0.5 on."""
    with TemporaryDirectory() as folder:
        path, model, asked = (Path(folder, name) for name in ("train.txt", "model", "test.txt"))
        lines = [
            "".join(f"__label__{x} " for x in each) + " ".join(WORDS.findall(text.lower()))
            for text, each in zip(train.text, train.labels, strict=True)
            if each  # fastText learns nothing from texts without labels
        ]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        asked.write_text("\n".join(" ".join(WORDS.findall(x.lower())) or "." for x in test) + "\n")
        program = ["fasttext", "supervised", "-input", str(path), "-output", str(model)]
        program += ["-loss", "ova", "-lr", "0.5", "-wordNgrams", "2", "-thread", "1"]
        learn = [*program, "-epoch", str(epochs)]
        subprocess.run(learn, check=True, capture_output=True)  # noqa: S603
        command = ["fasttext", "predict", f"{model}.bin", str(asked), "-1", "0.5"]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
    found = [tuple(x.removeprefix("__label__") for x in line.split()) for line in out.split("\n")]
    return found[: len(test)]


def vowpal_wabbit(train: TaggedTexts, test: list[str], passes: int) -> Sets:
    """VW's multilabel_oaa with the logistic loss, words and pairs."""
    import vowpalwabbit

    labels = sorted({label for each in train.labels for label in each})
    codes = {label: k for k, label in enumerate(labels)}

    def line(text: str, each: list[str]) -> str:
        return ",".join(str(codes[x]) for x in each) + " | " + " ".join(WORDS.findall(text.lower()))

    options = f"--multilabel_oaa {len(labels)} --loss_function logistic -b 24 --ngram 2 --quiet"
    with TemporaryDirectory() as folder:
        path = Path(folder, "train.vw")
        lines = map(line, train.text, train.labels)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        several = f" --passes {passes} -k --cache_file {folder}/cache --holdout_off"
        more = several if passes > 1 else ""
        model = vowpalwabbit.Workspace(f"{options} -d {path}{more}")
        found = [tuple(labels[k] for k in model.predict(line(text, []))) for text in test]
        model.finish()
    return found


LEARNERS: dict[str, Learner] = {
    ONE: partial(ours, max_iter=1),
    AUTO: partial(ours, max_iter="auto"),
    "sureline, one pass, threshold='micro-f1'": partial(ours, max_iter=1, threshold="micro-f1"),
    "LinearSVC, words": partial(linear_svc, ngrams=1),
    "LinearSVC, words and pairs": partial(linear_svc, ngrams=2),
    "fastText -loss ova, 5 epochs": partial(fasttext, epochs=5),
    "fastText -loss ova, 25 epochs": partial(fasttext, epochs=25),
    "VW --multilabel_oaa, one pass": partial(vowpal_wabbit, passes=1),
    "VW --multilabel_oaa, 10 passes": partial(vowpal_wabbit, passes=10),
}


def missing() -> list[str]:
    """What has to be installed first."""
    lacking = [] if which("fasttext") else ["fastText's program (apt-get install fasttext)"]
    try:
        import vowpalwabbit  # noqa: F401
    except ImportError:
        lacking.append("VW (pip install vowpalwabbit)")
    return lacking
