"""Full covariances on a device: the same code through several libraries, and what needs no GPU."""

import importlib
import pickle
import sys
import types

import array_api_compat.numpy
import array_api_strict
import numpy as np
import pytest
from cases import make, slow
from oracle import distance

from sureline import AROWClassifier, DataError, InvalidParameter, load
from sureline.model import device, loops
from sureline.rules import rules

LIBRARIES = ["strict", *slow("numpy"), "torch"]
SCHEMES = [(2, "sequential"), (4, "sequential"), (4, "one-vs-rest")]


@pytest.fixture(params=LIBRARIES)
def cuda(request, monkeypatch):
    """A library on the CPU in place of CUDA, and panels that are smaller than the matrices."""
    if request.param == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed")
        found = device.Device(importlib.import_module("array_api_compat.torch"), "cpu")
    elif request.param == "strict":
        found = device.Device(array_api_strict, array_api_strict.Device("CPU_DEVICE"))
    else:
        found = device.Device(array_api_compat.numpy, "cpu")
    monkeypatch.setattr(loops, "open_device", lambda name: found)
    monkeypatch.setattr(device, "PANEL", 8)
    monkeypatch.setattr(device, "TAKEN", 100)
    return found


def examples(classes, n=200, d=20):
    rng = np.random.default_rng(classes)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    return X, np.argmax(X @ rng.standard_normal((d, classes)), axis=1)


def apart(one, other, X):
    """The largest relative distance of two models and of their predictions."""
    assert (one.n_seen_, one.n_mistakes_) == (other.n_seen_, other.n_mistakes_)
    pairs = [(getattr(one, name), getattr(other, name)) for name in ("coef_", "covariance_")]
    pairs.append((one.predict_proba(X), other.predict_proba(X)))
    return max(distance(*pair) for pair in pairs)


def is_on_device(model):
    return isinstance(model.model_.state.matrices(), device.DeviceMatrices)


@pytest.mark.parametrize(("classes", "scheme"), SCHEMES)
@pytest.mark.parametrize("rule", ["arow", *slow("cw-stdev", "cw-variance", "nherd", "scw-i")])
def test_a_device_learns_what_the_cpu_learns(rule, classes, scheme, cuda):
    X, y = examples(classes)
    settings = {"scheme": scheme, "dtype": "float64", "random_state": 0, "calibration": "online"}
    models = [
        make(rules()[rule], "full", **settings, device=name).fit(X, y).partial_fit(X[:50], y[:50])
        for name in ("cpu", "cuda")
    ]
    assert [is_on_device(model) for model in models] == [False, True]
    assert apart(*models, X) < 1e-10
    for matrix in models[1].model_.state.covariance:
        assert np.array_equal(matrix, matrix.T)


def test_classes_and_features_that_come_late(cuda):
    X, y = examples(4)
    order = np.argsort(y, kind="stable")
    models = []
    for name in ("cpu", "cuda"):
        model = AROWClassifier(covariance="full", dtype="float64", device=name)
        for part in np.split(order, 10):
            model.partial_fit(X[part], y[part])
        models.append(model)
    assert apart(*models, X) < 1e-10


@pytest.mark.parametrize(("classes", "scheme"), SCHEMES)
@pytest.mark.parametrize("dtype", ["float64", *slow("float32")])
def test_dense_rows_stay_dense(classes, scheme, dtype, cuda, monkeypatch):
    X, y = examples(classes, 600)
    weight = np.random.default_rng(0).uniform(0.1, 1.0, len(y)) * (np.arange(len(y)) % 5 > 0)
    models = []
    for name in ("cpu", "cuda"):
        if name == "cuda":  # any way through sparse rows would fail
            monkeypatch.setattr("sureline.estimators.online.as_rows", None)
        model = AROWClassifier(
            covariance="full", scheme=scheme, dtype=dtype, random_state=0, max_iter=2, device=name
        ).fit(np.asfortranarray(X), y, sample_weight=weight)
        models.append(model.partial_fit(X, y, sample_weight=weight))
    monkeypatch.undo()
    assert is_on_device(models[1])
    assert apart(*models, X) < (1e-10 if dtype == "float64" else 1e-4)


@pytest.mark.filterwarnings("ignore:(overflow|invalid value) encountered:RuntimeWarning")
def test_a_dense_row_that_overflows_is_named(cuda):
    X, y = examples(2, 60)
    X[37] = 1e200
    for order in (np.arange(60), np.random.default_rng(0).permutation(60)):
        model = AROWClassifier(covariance="full", dtype="float64", device="cuda")
        place = int(np.flatnonzero(order == 37)[0])
        with pytest.raises(DataError, match=f"learning row {place} overflowed float64"):
            model.partial_fit(X[order], y[order], classes=[0, 1])
    model.set_params(max_iter=1, random_state=0)
    with pytest.raises(DataError, match="learning row 37 overflowed float64"):
        model.fit(X, y)


def test_early_stopping_and_threads(cuda):
    X, y = examples(2)
    for settings in ({"early_stopping": True}, {"n_jobs": 2}):
        models = [
            AROWClassifier(
                covariance="full", dtype="float64", random_state=0, device=name, **settings
            ).fit(X, y)
            for name in ("cpu", "cuda")
        ]
        assert apart(*models, X) < 1e-10


def test_a_saved_model_needs_no_gpu(cuda, tmp_path, monkeypatch):
    X, y = examples(2)
    model = AROWClassifier(covariance="full", dtype="float64", device="cuda").fit(X, y)
    model.save(tmp_path / "m.sureline")

    def none(name):
        raise InvalidParameter("no GPU")

    monkeypatch.setattr(loops, "open_device", none)
    for copy in (load(tmp_path / "m.sureline"), pickle.loads(pickle.dumps(model))):
        assert not is_on_device(copy)
        assert np.array_equal(copy.covariance_, model.covariance_)
        assert distance(copy.predict_proba(X), model.predict_proba(X)) < 1e-12
        with pytest.raises(InvalidParameter, match="no GPU"):
            copy.partial_fit(X, y)
        copy.set_params(device="cpu").partial_fit(X, y)


def test_a_model_moves_between_device_and_cpu(cuda):
    X, y = examples(2)
    model, other = (AROWClassifier(covariance="full", dtype="float64") for _ in range(2))
    for name in ("cuda", "cpu", "cuda"):
        model.set_params(device=name).partial_fit(X, y)
        other.partial_fit(X, y)
        assert is_on_device(model) == (name == "cuda")
        assert apart(model, other, X) < 1e-10


def test_a_model_that_is_only_on_the_device_takes_no_memory_of_the_host(cuda):
    X, y = examples(2)
    model = AROWClassifier(covariance="full", device="cuda").fit(X, y)
    model.predict(X)
    model.predict_proba(X)
    assert model.model_.state.matrices()._host is None


def test_arrays_of_other_libraries_are_learned(cuda):
    xp, where = cuda
    X, y = examples(2)
    weight = np.random.default_rng(0).uniform(0.1, 1.0, len(y))
    ours = [xp.asarray(each, device=where) for each in (X, y, weight)]
    settings = {"dtype": "float64", "random_state": 0}
    model = AROWClassifier(**settings).fit(ours[0], ours[1], sample_weight=ours[2])
    other = AROWClassifier(**settings).fit(X, y, sample_weight=weight)
    assert np.array_equal(model.coef_, other.coef_)
    assert np.array_equal(model.predict(ours[0]), other.predict(X))


def test_a_device_needs_a_full_covariance():
    model = AROWClassifier(device="cuda")
    with pytest.raises(InvalidParameter, match=r"device='cuda' is for covariance='full', but"):
        model.fit([[0.0], [1.0]], [0, 1])


def broken(*_):
    raise RuntimeError("no driver")


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ({"array_api_compat": None}, r"needs the package array-api-compat: pip install"),
        (
            {"array_api_compat.cupy": None, "array_api_compat.torch": None},
            "device='cuda' needs CuPy or PyTorch: pip install",
        ),
        (
            {"array_api_compat.cupy": broken, "array_api_compat.torch": None},
            "there is no GPU here that CUDA can use",
        ),
    ],
)
def test_what_is_missing_is_a_sentence(modules, message, monkeypatch):
    for name, count in modules.items():
        cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(getDeviceCount=count))
        found = None if count is None else types.SimpleNamespace(cuda=cuda)
        monkeypatch.setitem(sys.modules, name, found)
    model = AROWClassifier(covariance="full", device="cuda")
    with pytest.raises(InvalidParameter, match=message):
        model.fit([[0.0], [1.0]], [0, 1])
