"""Crafted model files: metadata and arrays are changed, and the checksum is made right again.

A file must be refused by an error of sureline's, or give a model that can be used in every way.
"""

from __future__ import annotations

import copy
import io
import random
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import numpy as np
from harness import main
from sklearn.base import clone

from sureline import (
    AdaGradClassifier,
    AROWClassifier,
    BoxClassifier,
    CWClassifier,
    PAClassifier,
    PerceptronClassifier,
    SCWClassifier,
    SurelineError,
    TextClassifier,
    load,
    merge,
)
from sureline.cli import main as run_command
from sureline.model.file import read, write

TEXTS = [
    "win a free prize now", "see you at lunch", "claim your prize", "lunch at noon then",
    "a new phone, new plan", "call me at home", "the game is tonight", "tonight at home",
]  # fmt: skip
LABELS = ["spam", "ham", "spam", "ham", "ads", "ham", "fun", "fun"]
NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    255,
    256,
    2**15,
    2**31 - 1,
    2**31,
    2**32,
    2**53,
    2**62,
    2**63 - 1,
    -(2**63),
]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, -1e300, 3e38, 1e-45, np.inf, -np.inf, np.nan]
OTHERS = [
    None,
    True,
    False,
    "",
    "x",
    "text",
    "float32",
    "é\udc80",
    "\x1b[31m",
    [],
    [0],
    {},
    {"a": 1},
    "9" * 400,
]
LIMIT_GB = 0.25


def models() -> list[Any]:
    """Small models of every kind."""
    rng = np.random.default_rng(0)
    X, two = rng.standard_normal((40, 5)), np.arange(40) % 2
    many = np.array(["a", "b", "c", "d"])[np.arange(40) % 4]
    rules = [AROWClassifier(), CWClassifier(), SCWClassifier(), PAClassifier()]
    rules += [PerceptronClassifier(average=True), AdaGradClassifier(variant="rda")]
    made: list[Any] = [rule.fit(X, two) for rule in rules]
    made += [clone(rule).fit(X, many) for rule in rules]
    made += [AROWClassifier(covariance="full").fit(X, y) for y in (two, many)]
    made += [AROWClassifier(dtype="float64").fit(X, two > 0), SCWClassifier().fit(X, two * 2.0)]
    made += [BoxClassifier(solver=solver).fit(X, two) for solver in ("dual", "comid")]
    for options in (
        {},
        {"weighting": "nb"},
        {"weighting": "idf", "calibration": None},
        {"features": "hash", "bits": 6},
        {"chars": (2, 3), "min_count": 2, "stop_words": ["the"]},
        {"estimator": PAClassifier()},
        {"estimator": PerceptronClassifier(average=True)},
    ):
        made.append(TextClassifier(random_state=0, **options).fit(TEXTS * 2, LABELS * 2))
    spam = np.array(LABELS * 2) == "spam"
    made += [TextClassifier(random_state=0, max_features=9).fit(TEXTS * 2, spam)]
    made += [merge([made[-1], made[-1]]), merge([made[0], made[0]])]
    return made


class ModelFiles:
    """Changes model files in one to four places, and uses what is loaded."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self.good: list[Any] = []
        cases = [(model, False) for model in models()]
        cases += [(model, True) for model, _ in cases if not isinstance(model, BoxClassifier)]
        for number, (model, compact) in enumerate(cases):
            path = folder / f"{number}.sureline"
            model.save(path, compact=compact)
            opened = read(path)
            tensors = {name: np.array(tensor) for name, tensor in opened.tensors.items()}
            self.files.append((opened.metadata, tensors))
            self.good.append(load(path))
            with suppress(SurelineError):  # compiles what cases need, which may take minutes
                self.use(load(path), number)
        self.values = [value for data, _ in self.files for value, _, _ in leaves(data)]

    def try_case(self, rng: random.Random) -> str:
        """Change a file, load it and use the model."""
        number = rng.randrange(len(self.files))
        metadata, tensors = self.files[number]
        metadata, tensors = (
            copy.deepcopy(metadata),
            {name: each.copy() for name, each in tensors.items()},
        )
        for _ in range(rng.choice([1, 1, 1, 2, 4])):
            if rng.random() < 0.5 or not tensors:
                self.change_metadata(rng, metadata)
            else:
                self.change_tensors(rng, tensors)
        path = self.folder / "crafted.sureline"
        try:
            write(path, metadata, tensors)
        except (SurelineError, UnicodeEncodeError, ValueError, KeyError, TypeError):
            return "not written"
        if rng.random() < 0.05:
            damage(rng, path)
        try:
            model = load(path, memory_limit_gb=LIMIT_GB)
        except SurelineError:
            return "refused"
        if rng.random() < 0.02:
            self.run_commands(path)
        try:
            self.use(model, number)
        except SurelineError:
            return "loaded, refused in use"
        return "used"

    def change_metadata(self, rng: random.Random, metadata: dict[str, Any]) -> None:
        """Replace, remove or add one value anywhere in the metadata."""
        value, owner, key = rng.choice(list(leaves(metadata)))
        chance = rng.random()
        if chance < 0.1 and isinstance(owner, dict):
            del owner[key]
        elif chance < 0.2 and isinstance(owner, list):
            owner.insert(rng.randint(0, len(owner)), copy.deepcopy(value))
        elif chance < 0.3 and isinstance(owner, list) and owner:
            owner.pop()
        elif chance < 0.55:
            owner[key] = copy.deepcopy(rng.choice(self.values))
        elif chance < 0.8 and isinstance(value, int | float):
            owner[key] = rng.choice(
                [*NUMBERS, *FLOATS[:10], value + 1, value - 1, -value, 2 * value]
            )
        else:
            owner[key] = copy.deepcopy(rng.choice([*OTHERS, *NUMBERS, *FLOATS[:10]]))

    def change_tensors(self, rng: random.Random, tensors: dict[str, Any]) -> None:
        """Change numbers, the shape, the type or the presence of one array."""
        name = rng.choice(sorted(tensors))
        tensor, chance = tensors[name], rng.random()
        if chance < 0.6 and tensor.size:
            flat = tensor.reshape(-1)
            for _ in range(rng.choice([1, 1, 1, 3, 20])):
                with np.errstate(all="ignore"):
                    flat[rng.randrange(flat.size)] = self.number(rng, flat)
        elif chance < 0.7 and tensor.ndim:
            tensors[name] = (
                np.delete(tensor, -1, rng.randrange(tensor.ndim)) if tensor.size else tensor
            )
        elif chance < 0.8 and tensor.ndim and tensor.size:
            axis = rng.randrange(tensor.ndim)
            tensors[name] = np.concatenate([tensor, np.take(tensor, [-1], axis)], axis)
        elif chance < 0.85:
            with np.errstate(all="ignore"):
                tensors[name] = tensor.astype(
                    rng.choice(["f2", "f4", "f8", "i1", "i4", "i8", "u1", "u4", "u8"])
                )
        elif chance < 0.9:
            tensors[name] = tensor.reshape(
                rng.choice([(-1,), (1, -1), (-1, 1), tensor.shape[::-1]])
            )
        elif chance < 0.94:
            del tensors[name]
        else:
            other = rng.choice(sorted(tensors))
            tensors[name], tensors[other] = tensors[other], tensors[name]

    def number(self, rng: random.Random, flat: Any) -> Any:
        """A number that may do harm in an array like this one."""
        chance, old = rng.random(), flat[rng.randrange(flat.size)]
        if chance < 0.3:
            return old
        if flat.dtype.kind == "f":
            return flat.dtype.type(
                rng.choice([*FLOATS, float(old) + 1e-3, -float(old), 2 * float(old)])
            )
        around = [
            int(old) - 1,
            int(old) + 1,
            -int(old),
            flat.size,
            flat.size - 1,
            2**63 + rng.randrange(8),
        ]
        bits = 8 * flat.dtype.itemsize
        wrapped = rng.choice([*NUMBERS, *around, rng.getrandbits(bits)]) % 2**bits
        return np.array([wrapped], f"u{flat.dtype.itemsize}").view(flat.dtype)[0]

    def use(self, model: Any, number: int) -> None:
        """Everything that can be done with a model."""
        rows: Any = TEXTS
        if not isinstance(model, TextClassifier):
            rows = np.linspace(-2, 2, 8 * model.n_features_in_).reshape(8, -1)
        labels = np.resize(model.classes_, 8)
        model.predict(rows)
        model.decision_function(rows)
        if hasattr(model, "predict_ranking"):
            model.predict_ranking(rows, 2)
        for name in ("predict_proba", "decision_distribution"):
            if hasattr(model, name):
                getattr(model, name)(rows)
        if hasattr(model, "predict_set"):
            with suppress(SurelineError):  # of a model that has seen too few rows
                model.predict_set(rows, coverage=0.5)
        _ = model.coef_, model.intercept_
        if isinstance(model, TextClassifier):
            model.explain(TEXTS[0])
            model.top_features(model.classes_[0], 3)
            model.predict_one("a free lunch")
            model.predict_one("a free lunch", details=True)
            model.learn_one("a free lunch with new words", labels[0])
        if hasattr(model, "partial_fit"):
            model.partial_fit(rows, labels)
        if not isinstance(model, BoxClassifier):
            merge([model, self.good[number]], how="kl" if model.model_.has_variance else "mean")
        model.predict(rows)
        path = self.folder / "again.sureline"
        model.save(path)
        load(path)

    def run_commands(self, path: Path) -> None:
        """Commands end well or say why not; they have no internal errors."""
        for arguments in (["inspect", str(path)], ["explain", str(path), "a free lunch"]):
            out = io.StringIO()
            with redirect_stdout(out), redirect_stderr(out):
                code = run_command(arguments)
            if code not in (0, 2):
                raise AssertionError(f"{arguments[0]} ended with {code}: {out.getvalue()[-2000:]}")


def leaves(value: Any) -> Any:
    """Every value within others, with its owner and its key there."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield inner, value, key
        if isinstance(inner, dict | list):
            yield from leaves(inner)


def damage(rng: random.Random, path: Path) -> None:
    """Change bytes at random, mostly of the header, or cut the file."""
    raw = bytearray(path.read_bytes())
    if rng.random() < 0.3:
        del raw[rng.randrange(len(raw)) :]
    else:
        for _ in range(rng.choice([1, 3])):
            raw[rng.randrange(min(len(raw), rng.choice([16, 400, len(raw)])))] = rng.randrange(256)
    path.write_bytes(raw)


if __name__ == "__main__":
    main(ModelFiles, __doc__)
