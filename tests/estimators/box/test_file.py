"""Box classifiers in files: the same to the bit, and harmless whatever is done to the file."""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from cases import several

import sureline
from sureline import BoxClassifier, ModelFileError, SurelineError
from sureline.model.file import read, write

STORED = Path(__file__).parents[2] / "model" / "models"


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


def test_saving_a_stream_does_not_compute_its_averages(tmp_path):
    fitted("comid", 2, streamed=True).save(tmp_path / "box.sureline")
    assert "boxes" not in read(tmp_path / "box.sureline").tensors


def test_names_of_columns_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = sample(2)
    table = pandas.DataFrame(X, columns=list("abcde"))
    model = BoxClassifier(C=1e-3, D=1e-2).fit(table, y)
    model.save(tmp_path / "box.sureline")
    other = sureline.load(tmp_path / "box.sureline")
    assert other.feature_names_in_.tolist() == list("abcde")
    assert (other.predict(table) == model.predict(table)).all()


def test_what_auto_took_is_kept(tmp_path):
    X, y = sample(2)
    model = BoxClassifier(solver="comid", tol=0.5, eta=3.0, random_state=0).fit(X, y)
    model.save(tmp_path / "box.sureline")
    other = sureline.load(tmp_path / "box.sureline")
    assert (other.C, other.D, other.eta) == ("auto", "auto", 3.0)
    assert (other.C_, other.D_) == (model.C_, model.D_)
    for each in (model, other):
        each.partial_fit(X[:20], y[:20])
    assert np.array_equal(other.coef_, model.coef_)


OLD = {  # written when steps followed the largest row and C and D were numbers
    "box-stream": [0.56591749, -0.06133337, -0.01976365, -0.41322514],
    "box-comid": [1.246218, -0.75530118, -0.36376035, -0.3408973],
    "box-dual": [2.06170288, -0.96098084, -0.57185896, 0.06049398],
}


@pytest.mark.parametrize("name", OLD)
def test_files_from_before_eta_are_read_and_go_on(name):
    model = sureline.load(STORED / f"{name}.sureline")
    assert model.coef_[0] == pytest.approx(OLD[name], abs=1e-8)
    assert (model.C, model.D, model.C_, model.D_) == (1e-3, 1e-2, 1e-3, 1e-2)
    assert model.eta == 20.0
    X = np.random.default_rng(0).standard_normal((30, 4))  # as it was then
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]
    steps, examples, lengths = model.set_params(solver="comid").box_.continued().clocks
    true = np.linalg.norm(np.column_stack([X, np.ones(30)]), axis=1)[: int(examples)].sum()
    assert lengths / steps == pytest.approx(true / examples, rel=0.3)
    y = y if name == "box-stream" else y == "a"
    for _ in range(20):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.85


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
