"""Prove that a change of the code leaves every model the same, bit for bit.

``record DIR`` trains small models of every kind and stores their files and answers. ``check DIR``,
run with the changed code on the same machine, loads the stored files, trains the same models again,
and compares answers and files; it exits with 1 if anything differs. Only public names are used, so
that modules may move. To run another checkout, put its ``src`` into ``PYTHONPATH``.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from fnmatch import fnmatch
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

import sureline
from sureline import AROWClassifier, BoxClassifier, CWClassifier, TextClassifier, TextFeatures
from sureline.data import sms_spam
from sureline.estimators import classifier_for
from sureline.rules import rules

Cases = Iterator[tuple[str, "Case"]]
Arrays = dict[str, np.ndarray]
SOURCE = Path(sureline.__file__).parents[1]
HOWS = ("kl", "mean", "product", "product-prior")
COMPETITORS = {"sequential": (1, 3, "all"), "parallel": (3, "all"), "exact": (3, "all")}
ATTRIBUTES = """classes_ coef_ intercept_ variance_ intercept_variance_ covariance_ width_ r_
    n_seen_ n_updates_ n_mistakes_ n_iter_ n_features_ objective_ dual_gap_ validation_scores_"""
METHODS = "predict decision_function decision_distribution predict_proba transform"
ODD = ["", " \n", "İSTANBUL ΣΑΣ Σίσυφος", "naïve 你好 👋🏽", "a" * 300, "x_y 12,5 £1000!! x_y"]
SHOWN = 4  # differences printed per model


class Data(NamedTuple):
    """Examples to learn, examples to answer, and examples that are learned after that."""

    X: Any
    y: Any
    probe: Any
    later: tuple[Any, Any]


class Case(NamedTuple):
    """How to train a model and save it at a path, and what to ask it."""

    make: Callable[[Path], Any]
    data: Data
    predict: Sequence[str] = ()  # arguments of `sureline predict`


def split(X: Any, y: Any, count: int, probes: int, new: Any) -> Data:
    """The first `count` examples, some to answer, and as many for later, with a `new` label."""
    asked, after = slice(count, count + probes), slice(count + probes, count + 2 * probes)
    later = np.array([new if k % 6 == 0 else label for k, label in enumerate(y[after])])
    return Data(X[:count], y[:count], X[asked], (X[after], later))


@cache
def two() -> Data:
    """Sparse rows of two noisy classes."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(320, 50)) * (rng.random((320, 50)) < 0.2)
    margins = (X * rng.normal(size=50)).sum(axis=1) + rng.normal(size=320)
    return split(scipy.sparse.csr_matrix(X), np.where(margins > 0, "yes", "no"), 200, 60, "unsure")


@cache
def many() -> Data:
    """Dense rows of ten classes."""
    X, y = load_digits(return_X_y=True)
    return split(X / 16.0, y, 160, 50, 10)


@cache
def three() -> Data:
    """Dense rows whose classes come one after the other."""
    X, y = load_iris(return_X_y=True)
    return Data(X, y.astype(float), X[::3], (X[::4], y[::4] + 1.0))


@cache
def texts(classes: int = 2, count: int = 500, times: int = 1) -> Data:
    """Text messages of two or three classes, some of them odd; all of them several `times`."""
    messages, labels = sms_spam()
    X, y = [*ODD, *messages] * times, [*["ham", "spam"] * 3, *labels] * times
    if classes == 3:
        y = ["question" if "?" in x and k == "ham" else k for x, k in zip(X, y, strict=True)]
    found = split(X, y, count, 100, "other")
    return found._replace(probe=X if times > 1 else [*ODD, *found.probe])


def saved(data: Data, train: Callable[..., Any], *arguments: Any) -> Case:
    """A case whose model `train` makes from the data and further arguments."""

    def make(path: Path) -> Any:
        model = train(data, *arguments)
        model.save(path)
        return model

    return Case(make, data)


def fit(data: Data, estimator: Any, weight: Any = None) -> Any:
    """Learn all examples at once."""
    options = {} if weight is None else {"sample_weight": weight}
    return clone(estimator).fit(data.X, data.y, **options)


def stream(data: Data, estimator: Any, step: int) -> Any:
    """Learn the examples in parts, in the order given."""
    model = clone(estimator)
    for part in (slice(k, k + step) for k in range(0, len(data.y), step)):
        model.partial_fit(data.X[part], data.y[part])
    return model


def learn_one(data: Data, estimator: Any) -> Any:
    """Learn one text after the other."""
    model = clone(estimator)
    for k in range(250):
        model.learn_one(data.X[k], data.y[k], 1.0 if k % 10 else 0.5)
    return model


def forget(data: Data, estimator: Any, label: Any) -> Any:
    """Learn all examples and forget a class."""
    return fit(data, estimator).forget_class(label)


def merge(data: Data, estimator: Any, how: Any) -> Any:
    """Merge models that learned different parts, perhaps with different classes."""
    step = -(-len(data.y) // 3)
    parts = [slice(k, k + step) for k in range(0, len(data.y), step)]
    models = [clone(estimator).partial_fit(data.X[part], data.y[part]) for part in parts]
    return sureline.merge(models, how)


def rule_cases() -> Cases:
    """Every rule with each of its covariances and schemes, on two and on many classes.

    Many are kept in float64, as rounding to float32 hides what changes the last bits of a sum.
    """
    for name, rule in rules().items():
        kind = partial(classifier_for(name), **rule.settings, random_state=0, max_iter=2)
        double = partial(kind, dtype="float64")
        yield f"{name}.grown", saved(three(), stream, double(), 20)
        for scheme, covariances in rule.schemes.items():
            several = COMPETITORS.get(scheme, (1,)) if rule.several else (1,)
            for covariance in covariances:
                chosen = {} if covariance == "identity" else {"covariance": covariance}
                if scheme == "sequential":
                    yield f"{name}.{covariance}.two", saved(two(), fit, kind(**chosen))
                    yield f"{name}.{covariance}.two-float64", saved(two(), fit, double(**chosen))
                for k in several:
                    learner = double if k == several[-1] else kind
                    estimator = learner(**chosen, scheme=scheme, competitors=k)
                    yield f"{name}.{covariance}.{scheme}-{k}", saved(many(), fit, estimator)
        for size, data in (("two", two()), ("many", many())):
            yield f"{name}.jobs-2.{size}", saved(data, fit, double(n_jobs=2))
            yield f"{name}.jobs-3.{size}", saved(data, fit, kind(n_jobs=3))
            for how in HOWS if rule.step and rule.covariances != ("identity",) else ("mean",):
                yield f"{name}.merge-{how}.{size}", saved(data, merge, double(), how)


def row_cases() -> Cases:
    """Options of the classifiers on rows of numbers."""
    arow = partial(AROWClassifier, random_state=3, max_iter=3)
    cw = partial(CWClassifier, random_state=3)
    options: dict[str, Any] = {
        "auto-r": arow(r="auto"),
        "balanced": sureline.SCWClassifier(class_weight="balanced", C=0.3, random_state=3),
        "calibrated": arow(calibration="online", scheme="one-vs-rest"),
        "early-stopping": cw(early_stopping=True, max_iter=8, validation_fraction=0.2),
        "each-slack": sureline.PAClassifier(slack="each", scheme="exact", random_state=3),
        "float64": arow(dtype="float64", scheme="exact", competitors=3),
        "float64-full": cw(dtype="float64", covariance="full", initial_variance=7.0),
        "jobs-2-calibrated": arow(n_jobs=2, calibration="online", r="auto", dtype="float64"),
        "jobs-2-full": arow(n_jobs=2, covariance="full", dtype="float64"),
        "l1": sureline.AdaGradClassifier(l1=0.01, eta=0.3, random_state=3),
        "no-intercept": arow(fit_intercept=False),
        "no-shuffle": sureline.SOPClassifier(shuffle=False, a=0.5),
    }
    for size, data, label in (("two", two(), "no"), ("many", many(), 3)):
        for name, estimator in options.items():
            yield f"rows.{size}.{name}", saved(data, fit, estimator)
        yield f"rows.{size}.parts", saved(data, stream, cw(), 37)
        yield f"rows.{size}.one-by-one", saved(data, stream, arow(), 1)
        yield f"rows.{size}.forget", saved(data, forget, arow(covariance="full"), label)
        yield f"rows.{size}.merge-full", saved(data, merge, arow(covariance="full"), "kl")
    yield "rows.two.dense", saved(two()._replace(X=two().X.toarray()), fit, arow())
    yield "rows.two.booleans", saved(two()._replace(y=two().y == "yes"), fit, arow())
    yield "rows.two.weights", saved(two(), fit, arow(), np.arange(200) % 9 / 4.0)
    yield "rows.many.class-weight", saved(many(), fit, arow(class_weight={3: 5.0, 8: 0.2}))
    yield "rows.three.forget", saved(three(), forget, arow(), 1.0)


def box_cases() -> Cases:
    """The box of weights with each regularizer, loss and solver."""
    for solver, limit in (("dual", 60), ("comid", 8)):
        box = partial(BoxClassifier, solver=solver, max_iter=limit, random_state=0, D=1e-3, C=1e-4)
        for regularizer in ("max", "sum"):
            for loss in ("hinge", "squared-hinge", "huber"):
                estimator = box(regularizer=regularizer, loss=loss)
                yield f"box.{solver}.{regularizer}.{loss}", saved(two(), fit, estimator)
            yield f"box.{solver}.{regularizer}.many", saved(many(), fit, estimator)
    yield "box.balanced", saved(two(), fit, box(class_weight="balanced", dtype="float32"))
    yield "box.parts", saved(three(), stream, box(fit_intercept=False), 20)


def text_cases() -> Cases:
    """Options of TextClassifier and TextFeatures, streams, threads and merges."""
    text = partial(TextClassifier, random_state=5)
    hashed = partial(text, features="hash", bits=12)
    pa, scw = sureline.PAClassifier(C=0.5), sureline.SCWClassifier(variant=2, competitors=2)
    full, double = AROWClassifier(covariance="full"), CWClassifier(dtype="float64")
    default = AROWClassifier(r="auto", scheme="one-vs-rest", dtype="float64")
    options: dict[str, Any] = {
        "default": text(),
        "chars": text(chars=(2, 4), ngrams=None),
        "chars-text": text(chars=(1, 3), char_scope="text", counts="log"),
        "counts": text(AROWClassifier(r=5.0), counts="counts", normalize=False),
        "cw": text(CWClassifier(constraint="variance"), max_iter=3),
        "float64": text(default, counts="log"),
        "hash": hashed(),
        "hash-idf": hashed(weighting="idf", lowercase=False, max_iter=3),
        "hash-sparse": text(features="hash", bits=16, weighting=None),
        "idf": text(weighting="idf", calibration=None),
        "jobs-3": text(default, n_jobs=3, max_iter=2),
        "jobs-3-hash": hashed(n_jobs=3, max_iter=2, counts_first=True),
        "jobs-3-max-features": text(n_jobs=3, max_features=400),
        "max-features": text(max_features=400, max_iter=2),
        "min-count": text(min_count=2, stop_words=("the", "to", "you"), min_length=2),
        "nb": text(weighting="nb", calibration=None, max_iter=3),
        "nb-competitors": text(CWClassifier(competitors="all", dtype="float64"), weighting="nb"),
        "nherd": text(sureline.NHERDClassifier(C=0.5), shuffle=False),
        "plain": text(AROWClassifier(), weighting=None, calibration=None, ngrams=(1, 3)),
        "scw": text(scw),
    }
    mergeable = {"default": text(), "hash": hashed(), "cw": text(double, weighting="idf")}
    for classes in (2, 3):
        group, data = f"text.{classes}", texts(classes)
        for name, estimator in options.items():
            yield f"{group}.{name}", saved(data, fit, estimator)
        yield f"{group}.full", saved(texts(classes, 60), fit, text(full, max_features=200))
        yield f"{group}.weights", saved(data, fit, text(), np.arange(500) % 7 / 3.0)
        yield f"{group}.forget", saved(data, forget, text(max_iter=2), "spam")
        for name, estimator in {**mergeable, "pa": text(pa)}.items():
            yield f"{group}.parts-{name}", saved(data, stream, estimator, 77)
            yield f"{group}.learn-one-{name}", saved(data, learn_one, estimator)
        for name, estimator in mergeable.items():
            for how in HOWS:
                yield f"{group}.merge-{how}-{name}", saved(data, merge, estimator, how)
        yield f"{group}.merge-mean-pa", saved(data, merge, text(pa), "mean")
        long = texts(classes, 11000, times=2)  # enough bytes for threads to share
        yield f"{group}.long-jobs-2", saved(long, fit, text(default, max_iter=2, n_jobs=2))
        yield f"{group}.long-jobs-2-hash", saved(long, fit, hashed(n_jobs=2, weighting=None))
        yield f"{group}.long-jobs-2-pruned", saved(long, fit, text(n_jobs=2, max_features=20000))
        yield f"{group}.long-jobs-2-parts", saved(long, stream, text(n_jobs=2), 8000)
    names = text(pa, features="hash", bits=19, chars=(2, 9), char_scope="text")
    yield "text.2.names-forgotten", saved(texts(2, 4500), fit, names)
    features = {
        "chars": TextFeatures(chars=(1, 4), char_scope="text", dtype="float64"),
        "hash": TextFeatures(features="hash", bits=10, weighting="idf", counts="counts"),
        "nb": TextFeatures(weighting="nb", normalize=False),
        "max-features": TextFeatures(max_features=300, weighting="idf", min_count=2),
    }
    for name, estimator in features.items():
        yield f"features.{name}", saved(texts(), fit, estimator)
        yield f"features.{name}.parts", saved(texts(), stream, estimator, 50)
        yield f"features.{name}.merge", saved(texts(), merge, estimator, "kl")


def command_cases(folder: Path) -> Cases:
    """Models that the command line trains on files in a folder, and what it predicts with them."""
    messages, digits = folder / "messages.csv", folder / "digits.svm"
    with messages.open("w", encoding="utf-8", newline="") as file:
        pairs = zip(texts(2, 900).X, texts(2, 900).y, strict=True)
        csv.writer(file).writerows([("text", "label"), *pairs])
    dump_svmlight_file(many().X, many().y, str(digits), zero_based=True)
    commands: dict[str, tuple[str, str]] = {
        "text": ("", "--proba --keep"),
        "text-count-first": ("--count-first", "--proba"),
        "text-hash": ("--rule scw-i --set C=0.5 --features hash --bits 12 --chars 2,3", "--proba"),
        "text-jobs-2": ("--jobs 2 --passes 2", "--proba"),
        "text-jobs-3": ("--jobs 3 --passes 2 --count-first", "--proba"),
        "text-no-shuffle": ("--no-shuffle", "--min-confidence 0.9"),
        "text-passes-2": ("--passes 2 --seed 7 --buffer 0.02", "--proba"),
        "rows": ("--rule cw-stdev --passes 2", "--proba"),
        "rows-jobs-2": ("--rule arow --set r=0.3 --jobs 2", "--proba"),
        "rows-no-shuffle": ("--rule adagrad-rda --no-shuffle", ""),
    }
    for name, (training, predicting) in commands.items():
        data, file = (many(), digits) if name.startswith("rows") else (texts(), messages)
        make = partial(train, [str(file), *training.split()])
        yield f"cli.{name}", Case(make, data, [str(file), *predicting.split()])


def train(arguments: Sequence[str], path: Path) -> Any:
    """The model that `sureline train` writes to a path."""
    run("train", *arguments, "-o", str(path))
    return sureline.load(path)


def run(*arguments: str) -> None:
    """Run the command line of the sureline that this process uses."""
    command = [sys.executable, "-m", "sureline.cli", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        raise RuntimeError(f"sureline {' '.join(arguments)}: {done.stderr.strip()}")


def ask(model: Any, case: Case, path: Path) -> Arrays:
    """All answers of a model that is saved at a path, and again after it has learned more."""
    found = describe(model, case.data.probe)
    if case.predict:
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder, "answers.csv")
            run("predict", str(path), *case.predict, "-o", str(output))
            found["predictions"] = np.array(output.read_text(encoding="utf-8").splitlines())
    if hasattr(model, "partial_fit"):
        try:
            model.partial_fit(*case.data.later)
        except (sureline.InvalidParameter, sureline.DataError) as refusal:
            return {**found, "later": np.array(type(refusal).__name__)}
        later = describe(model, case.data.probe[:60])
        found |= {f"later {name}": array for name, array in later.items()}
    return found


def _as_tuple(explanation: Any) -> tuple[Any, ...]:
    """The fields that every version of an explanation has, in a fixed order."""
    classes = {
        label: (
            each.score,
            each.variance,
            each.constant,
            tuple(map(astuple, each.features)),
            each.rest,
        )
        for label, each in explanation.classes.items()
    }
    return explanation.text, explanation.label, explanation.probability, classes


def describe(model: Any, probe: Any) -> Arrays:
    """What a fitted model holds, and what it answers about some examples."""
    found = {name: getattr(model, name) for name in ATTRIBUTES.split() if hasattr(model, name)}
    found |= {name: getattr(model, name)(probe) for name in METHODS.split() if hasattr(model, name)}
    if isinstance(model, TextClassifier):
        explained = [model.explain(text, top=5) for text in probe[:12]]
        telling = [model.top_features(label, 8) for label in model.classes_.tolist()]
        found["explain"] = [f"{each}\n{_as_tuple(each)}" for each in explained]
        found["top_features"] = [str([astuple(each) for each in some]) for some in telling]
        found["predict_one"] = [str(model.predict_one(text)) for text in probe[:12]]
    if getattr(model, "features", None) == "vocabulary":
        found["names"] = model.get_feature_names_out().astype(str)
    arrays: Arrays = {}
    for name, value in found.items():
        if scipy.sparse.issparse(value):
            value = (value.indptr, value.indices, value.data)
        parts = value if isinstance(value, tuple) else (value,)
        arrays |= {f"{name} {k}" if k else name: plain(each) for k, each in enumerate(parts)}
    return arrays


def plain(value: Any) -> np.ndarray:
    """An array that a file can hold: objects become their repr."""
    array = np.asarray(value)
    return np.array([repr(each) for each in array.tolist()]) if array.dtype == object else array


def compare(old: Arrays, new: Arrays) -> Iterator[str]:
    """Describe each array that differs in type, in shape or in any bit."""
    for name in sorted({*old, *new}):
        if name not in old or name not in new:
            yield f"{name} is {'missing' if name in old else 'new'}"
        elif (old[name].dtype, old[name].shape) != (new[name].dtype, new[name].shape):
            kinds = [f"{each[name].dtype} {each[name].shape}" for each in (old, new)]
            yield f"{name} was {kinds[0]} and is {kinds[1]}"
        elif bits(old[name]) != bits(new[name]):
            count = np.count_nonzero(old[name] != new[name])  # none: zeros of other signs
            yield f"{name} differs in {count} of {old[name].size} values"


def bits(array: np.ndarray) -> bytes:
    """The bits of an array, with one kind of NaN."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.tobytes()


def contents(path: Path) -> Arrays:
    """The tensors of a model file and, as JSON by key, its metadata without the version."""
    try:
        with safe_open(path, "numpy") as opened:
            parsed = json.loads(opened.metadata()["sureline"])
    except SafetensorError:
        return {"bytes": np.frombuffer(path.read_bytes(), np.uint8)}
    del parsed["sureline"]
    facts = {key: json.dumps(value, sort_keys=True) for key, value in parsed.items()}
    return {**load_file(path), **{f"metadata {key}": np.array(fact) for key, fact in facts.items()}}


def record(folder: Path, cases: Mapping[str, Case]) -> int:
    """Store the file and the answers of every model."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, case in cases.items():
        path = folder / f"{name}.sureline"
        answers: Any = ask(case.make(path), case, path)
        np.savez_compressed(folder / f"{name}.npz", **answers)
        print(f"{name}: {len(answers)} answers", flush=True)
    index = {"sureline": sureline.__version__, "source": str(SOURCE), "models": list(cases)}
    (folder / "index.json").write_text(json.dumps(index, indent=2), encoding="utf-8")
    print(f"{len(cases)} models recorded with {SOURCE}")
    return 0


def check(folder: Path, cases: Mapping[str, Case], pattern: str) -> int:
    """Compare every model with what was recorded."""
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    names = [name for name in index["models"] if fnmatch(name, pattern)]
    names += [name for name in cases if name not in names]
    differing = 0
    for name in names:
        found = differences(folder, name, cases.get(name))
        more = f"; {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        print(f"{name}: {'; '.join(found[:SHOWN]) or 'ok'}{more}", flush=True)
        differing += bool(found)
    print(f"{SOURCE} compared with {index['source']}, sureline {index['sureline']}")
    print(f"{len(names)} models, {f'{differing} differ' if differing else 'all the same'}")
    return int(differing > 0)


def differences(folder: Path, name: str, case: Case | None) -> list[str]:
    """How a model differs from the recorded one, when loaded and when trained again."""
    old = folder / f"{name}.sureline"
    if case is None or not old.exists():
        return ["recorded, but no longer a case" if case is None else "not recorded"]
    with np.load(folder / f"{name}.npz") as stored, tempfile.TemporaryDirectory() as temporary:
        recorded, new = dict(stored), Path(temporary, old.name)
        try:
            found = {"loaded": list(compare(recorded, ask(sureline.load(old), case, old)))}
            found["trained"] = list(compare(recorded, ask(case.make(new), case, new)))
            found["file"] = list(compare(contents(old), contents(new)))
        except Exception as failure:  # a model that fails is a model that differs
            return [f"{type(failure).__name__}: {failure}"]
    return [f"{where}: {each}" for where, several in found.items() for each in several]


def main() -> int:
    """Run a command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=("record", "check"))
    parser.add_argument("folder", type=Path, help="where the recorded models are")
    parser.add_argument("--only", default="*", help="a pattern of names, such as 'text.*'")
    given = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    with tempfile.TemporaryDirectory() as folder:
        groups = (rule_cases(), row_cases(), box_cases(), text_cases(), command_cases(Path(folder)))
        every = {name: case for group in groups for name, case in group}
        cases = {name: case for name, case in every.items() if fnmatch(name, given.only)}
        if given.command == "record":
            return record(given.folder, cases)
        return check(given.folder, cases, given.only)


if __name__ == "__main__":
    sys.exit(main())
