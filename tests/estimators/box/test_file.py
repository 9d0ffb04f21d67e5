"""Box classifiers in files: the same to the bit, and harmless whatever is done to the file."""

import json
from contextlib import suppress

import numpy as np
import pytest
from cases import several

import sureline
from sureline import BoxClassifier, ModelFileError, SurelineError
from sureline.model.file import read, write


def sample(classes, n=60, d=5):
    """Random rows of so many linear concepts."""
    rng = np.random.default_rng(classes)
    X = rng.standard_normal((n, d))
    names = np.array(["ash", "beech", "cedar", "date"])
    return X, names[np.argmax(X @ rng.standard_normal((d, classes)), axis=1)]


def fitted(solver, classes, streamed=False):
    X, y = sample(classes)
    model = BoxClassifier(solver=solver, C=1e-3, D=1e-2, tol=0.5, max_iter=20, random_state=0)
    return model.partial_fit(X, y) if streamed else model.fit(X, y)


CASES = [("dual", False), ("comid", False), ("comid", True)]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("solver", "streamed"), CASES)
def test_a_loaded_box_is_the_same_and_goes_on_the_same(solver, streamed, classes, tmp_path):
    X, y = sample(classes)
    model, path = fitted(solver, classes, streamed), tmp_path / "box.sureline"
    model.save(path)
    other = sureline.load(path)
    assert repr(other) == repr(model)
    for name in ("coef_", "width_", "intercept_", "classes_", "n_iter_", "n_features_in_"):
        assert np.array_equal(getattr(other, name), getattr(model, name))
    for name in ("objective_", "dual_gap_"):
        assert hasattr(other, name) == hasattr(model, name)
        assert np.array_equal(getattr(other, name, 0), getattr(model, name, 0))
    assert (other.decision_function(X) == model.decision_function(X)).all()
    assert (other.predict_proba(X) == model.predict_proba(X)).all()
    if solver == "comid":
        for each in (model, other):
            each.partial_fit(X[:20], y[:20])
        assert np.array_equal(other.coef_, model.coef_)
        assert np.array_equal(other.width_, model.width_)


def test_names_of_columns_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = sample(2)
    table = pandas.DataFrame(X, columns=list("abcde"))
    model = BoxClassifier(C=1e-3, D=1e-2).fit(table, y)
    model.save(tmp_path / "box.sureline")
    other = sureline.load(tmp_path / "box.sureline")
    assert other.feature_names_in_.tolist() == list("abcde")
    assert (other.predict(table) == model.predict(table)).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("solver", "streamed"), CASES)
def test_hostile_files_are_refused_or_harmless(solver, streamed, tmp_path):
    path = tmp_path / "box.sureline"
    fitted(solver, 3, streamed).save(path)
    X, y = sample(3)
    opened = read(path)
    whole = path.read_bytes()
    tensors = {name: np.array(tensor) for name, tensor in opened.tensors.items()}

    def loads():
        try:
            model = sureline.load(path)
        except ModelFileError:
            return False
        with suppress(SurelineError, ValueError):
            model.predict(X)
            if hasattr(model, "partial_fit"):
                model.partial_fit(X[:3], y[:3])
        return True

    refused = 0
    for key in opened.metadata:
        for hostile in (None, -1, 2**62, "x", [], {}, [1.0], True):
            write(path, {**json.loads(json.dumps(opened.metadata)), key: hostile}, tensors)
            refused += not loads()
    for name, tensor in tensors.items():
        for damaged in (tensor[:1], tensor.astype(np.float32), tensor.reshape(-1)[:3]):
            write(path, opened.metadata, {**tensors, name: damaged})
            refused += not loads()
        write(path, opened.metadata, {key: each for key, each in tensors.items() if key != name})
        refused += not loads()
    assert refused > 30
    rng = np.random.default_rng(0)
    for _ in range(several(300, 60)):
        data = bytearray(whole)
        for place in rng.integers(0, len(data), rng.integers(1, 4)):
            data[place] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(data[: len(data) - int(rng.integers(0, 2)) * int(rng.integers(1, 99))])
        loads()
