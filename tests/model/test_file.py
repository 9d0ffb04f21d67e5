"""Model files: the same model comes back to the last bit, and no file can do harm."""

import contextlib
import copy
import json
import os
import random
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from cases import CASES, COMPILED, make, parameters, several
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from sureline import (
    AdaGradClassifier,
    AROWClassifier,
    CWClassifier,
    DataError,
    InvalidParameter,
    ModelFileError,
    PAClassifier,
    PerceptronClassifier,
    SurelineError,
    load,
)
from sureline.estimators import save
from sureline.estimators.file import value_from_json, value_to_json
from sureline.model import file
from sureline.model.file import read, verify, write
from sureline.model.serialize import state as parts
from sureline.model.serialize.labels import (
    labels_from_json,
    labels_to_json,
    strings_from_tensors,
    strings_to_tensors,
)
from sureline.model.serialize.state import state_from_parts, state_parts
from sureline.rules import rules

STORED = Path(__file__).parent / "models" / "format-1.sureline"


def examples(classes, n=60, d=6, seed=0, width=None):
    """Sparse examples of these classes; with `width`, among so many features."""
    rng = np.random.default_rng(seed)
    y = np.asarray(classes)[np.arange(n) % len(classes)]
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    X[np.arange(n), np.arange(n) % len(classes) % d] += 1.5
    if width is None:
        return X, y
    wide = sp.csr_array(X)
    return sp.csr_array((wide.data, wide.indices * 3 + 2, wide.indptr), shape=(n, width)), y


def assert_same_state(one, other):
    """All that two states hold, bit for bit; room for more columns aside."""
    assert one.layout == other.layout
    names = ("wide", "used", "clock", "merged", "features")
    assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]
    used = one.used
    assert one.table[:, :, :used].tobytes() == other.table[:, :, :used].tobytes()
    assert one.covariance[:used].tobytes() == other.covariance[:used].tobytes()
    assert one.stamps[:, :used].tobytes() == other.stamps[:, :used].tobytes()
    np.testing.assert_array_equal(one.counts, other.counts)


def assert_same_model(one, other, X):
    """Everything that can be asked of two models."""
    assert type(one) is type(other)
    assert one.get_params() == other.get_params()
    assert_same_state(one.model_.state, other.model_.state)
    assert one.model_.labels.tolist() == other.model_.labels.tolist()
    for name in ("classes_", "coef_", "intercept_"):
        left, right = getattr(one, name), getattr(other, name)
        assert left.dtype == right.dtype
        assert left.tolist() == right.tolist()
    for name in ("n_features_in_", "n_iter_", "n_seen_", "n_updates_", "n_mistakes_"):
        assert getattr(one, name) == getattr(other, name)
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    if hasattr(one, "predict_proba"):
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


# -- there and back ----------------------------------------------------------------------------


@pytest.mark.parametrize(("rule", "covariance"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_loaded_model_is_the_saved_one_and_learns_on_like_it(rule, covariance, dtype, tmp_path):
    path, n = tmp_path / "model.sureline", several(40, 14)
    for classes, width in ((["b", "a"], None), ("abcd", None), ("cab", 40), ("ab", 40)):
        X, y = examples(list(classes), n=n + 20, width=width)
        model = make(rule, covariance, dtype=dtype, random_state=3).set_params(**parameters(rule))
        model.partial_fit(X[:n], y[:n])
        save(model, path)
        loaded = load(path)
        assert_same_model(loaded, model, X)
        assert ("rows" in read(path).tensors) == (width is not None)
        y[n + 5] = "new"
        for each in (model, loaded):
            each.partial_fit(X[n:], y[n:])
        assert_same_model(loaded, model, X)
        for each in (model, loaded):
            each.forget_class("a")
        assert_same_model(loaded, model, X)
        save(model, path)
        assert_same_model(load(path), model, X)


def test_everything_that_fit_leaves_behind_comes_back(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = examples([5, 7, 9], n=90)
    frame = pd.DataFrame(X, columns=["één", "two", "", "four", "\0", "six"])
    model = CWClassifier(
        early_stopping=True, random_state=1, class_weight={5: 0.5, 7: 1}, confidence=0.7
    )
    model.fit(frame, y)
    save(model, tmp_path / "model.sureline")
    loaded = load(tmp_path / "model.sureline")
    assert_same_model(loaded, model, frame)
    assert loaded.validation_scores_ == model.validation_scores_
    assert loaded.feature_names_in_.dtype == model.feature_names_in_.dtype
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert loaded.fit(frame, y).coef_.tolist() == model.coef_.tolist()


def test_one_class_and_a_forgotten_one_come_back(tmp_path):
    X, y = examples(["a", "b", "c"])
    path = tmp_path / "model.sureline"
    one = AROWClassifier().partial_fit(X[:3], ["only"] * 3)
    save(one, path)
    assert_same_model(load(path), one, X)
    left = AROWClassifier().partial_fit(X, y).forget_class("b").forget_class("c")
    save(left, path)
    loaded = load(path)
    assert loaded.predict(X).tolist() == ["a"] * 60
    for each in (left, loaded):
        each.partial_fit(X, y)
    assert_same_model(loaded, left, X)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "", "é\ud800", "x" * 2000]),
        np.array(["a", "b"], "U77"),
        np.array(["a", "b"], "U99999999")[:0].astype("U7"),
        np.array([b"b\xff", b"a", b"\x00c"]),
        np.array(["b", "a"], object),
        np.array([3, -1], object),
        np.array([2.0, 1, np.float32(0.1)], object),
        np.array([True, False], object),
        np.array([2**63 - 1, -(2**63), 0]),
        np.array([2**64 - 1, 0], np.uint64),
        np.array([7, -7], np.int8),
        np.array([True, False]),
        np.array([0.1, -0.0, 1e300]),
        np.array([0.1, 3.0], np.float16),
        np.array([1, 2], ">i4"),
    ],
    ids=lambda labels: labels.dtype.str,
)
def test_labels_come_back_with_their_dtype(labels):
    if not labels.size:
        with pytest.raises(ModelFileError, match="no labels"):
            labels_from_json(labels_to_json(labels))
        return
    stored = json.loads(json.dumps(labels_to_json(labels)))
    back = labels_from_json(stored)
    assert back.dtype == labels.dtype.newbyteorder("=")
    assert back.tolist() == labels.tolist()
    assert [type(each) for each in back.tolist()] == [
        each.item().__class__ if isinstance(each, np.generic) else type(each)
        for each in labels.tolist()
    ]


def test_very_wide_text_is_kept_as_wide_as_needed():
    labels = np.array(["a", "bc"], "U3000000")
    back = labels_from_json(labels_to_json(labels))
    assert back.dtype == np.dtype("U2")
    assert back.tolist() == ["a", "bc"]


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["2020", "2021"], "M8[Y]"),
        np.array([1 + 2j]),
        np.array([(1, 1), (2, 2)], "i4,i4"),
        np.array([1, "a"], object),
        np.array([None, None], object),
        np.array([10**30, 1], object),
        np.array([np.inf, 1], object),
    ],
    ids=str,
)
def test_labels_of_other_kinds_are_refused(labels):
    with pytest.raises(ModelFileError, match=r"cannot save labels of dtype .*use text, whole"):
        labels_to_json(labels)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        -5,
        0.1,
        5e-324,
        float("inf"),
        "text \ud800",
        b"\x00\xff",
        [1, [2.0, "x"]],
        (1, (2, [3])),
        {"a": 1, 2: 0.5, True: None, 1.5: (1, 2)},
        {b"k": {"deep": {"deeper": [1]}}},
    ],
    ids=repr,
)
def test_parameters_come_back(value):
    back = value_from_json(json.loads(json.dumps(value_to_json(value), allow_nan=False)))
    assert back == value
    assert type(back) is type(value)


def test_numbers_of_numpy_become_python_s():
    assert value_to_json(np.int64(3)) == 3
    assert type(value_to_json(np.float32(0.1))) is float
    assert value_from_json(value_to_json(float("nan"))) != value_from_json({"float": "nan"})
    assert value_from_json(value_to_json({np.str_("a"): np.bool_(True)})) == {"a": True}


def test_estimators_may_be_parameters():
    inner = AROWClassifier(r=0.25, class_weight={"a": 2.0})
    back = value_from_json(json.loads(json.dumps(value_to_json({"estimator": inner}))))
    assert type(back["estimator"]) is AROWClassifier
    assert back["estimator"].get_params() == inner.get_params()


def test_random_generators_are_not_kept(tmp_path):
    X, y = examples([0, 1])
    for given, kept in ((np.random.RandomState(3), None), (7, 7), (np.int32(7), 7)):
        model = AROWClassifier(random_state=given).fit(X, y)
        save(model, tmp_path / "model.sureline")
        assert load(tmp_path / "model.sureline").random_state == kept
        assert model.random_state is given


@pytest.mark.parametrize("strings", [[], [""], ["a", "", "éß", "\ud800", "x" * 1000, ""]])
def test_strings_come_back(strings):
    assert strings_from_tensors("n", strings_to_tensors("n", strings)) == strings


def test_a_file_is_the_same_every_time(tmp_path):
    X, y = examples(list("abc"))
    model = AROWClassifier(random_state=0).fit(X, y)
    contents = set()
    for name in "xyz":
        save(model, tmp_path / name)
        contents.add((tmp_path / name).read_bytes())
        model = load(tmp_path / name)
    assert len(contents) == 1


# -- what is stored ----------------------------------------------------------------------------


def allocated(work):
    """The most memory that `work` held at a time, and its result."""
    tracemalloc.start()
    try:
        result = work()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


def test_only_touched_features_are_stored(tmp_path):
    X = sp.csr_array((np.ones(4), [7, 123_456, 7, 999_999], [0, 2, 4]), shape=(2, 10**6))
    for cls in (AROWClassifier, PAClassifier, AdaGradClassifier, PerceptronClassifier):
        model = cls(max_iter=1).fit(X, [0, 1])
        save(model, tmp_path / "model.sureline")
        assert read(tmp_path / "model.sureline").tensors["rows"].tolist() == [
            0,
            8,
            123_457,
            1_000_000,
        ]
        assert (tmp_path / "model.sureline").stat().st_size < 2000
        assert_same_state(load(tmp_path / "model.sureline").model_.state, model.model_.state)


def test_only_touched_features_of_a_full_covariance_are_stored(tmp_path):
    X = np.zeros((4, 300))
    X[:, [5, 200]] = [[1, 2], [3, -1], [-1, 2], [0, 1]]
    for classes in ([0, 1, 0, 1], [0, 1, 2, 1]):
        model = AROWClassifier(covariance="full").fit(X, classes)
        save(model, tmp_path / "model.sureline")
        tensors = read(tmp_path / "model.sureline").tensors
        assert tensors["rows"].tolist() == [0, 6, 201]
        assert tensors["covariance"].shape[1:] == (3, 3)
        assert_same_state(load(tmp_path / "model.sureline").model_.state, model.model_.state)


def test_a_sign_of_zero_is_not_lost(tmp_path):
    model = AROWClassifier().fit(np.eye(50), np.arange(50) % 2)
    model.model_.state.table[1:] = [[0.0], [1.0]]
    model.model_.state.table[7, 0, 0] = -0.0
    save(model, tmp_path / "model.sureline")
    assert read(tmp_path / "model.sureline").tensors["rows"].tolist() == [0, 7]
    assert np.signbit(load(tmp_path / "model.sureline").model_.state.table[7, 0, 0])


def test_a_dense_model_is_mapped_and_not_copied(tmp_path):
    path, d = tmp_path / "model.sureline", 10**6
    model = AROWClassifier().fit(np.eye(2), [0, 1])
    state = model.model_.learner.layout.allocate(d, 1, 1.0, "")
    state.table[:, 0, 0] = np.arange(d + 1)
    model.model_.state, model.n_features_in_ = state, d
    peak, _ = allocated(lambda: save(model, path))
    assert peak < state.table.nbytes / 2
    peak, loaded = allocated(lambda: load(path))
    assert peak < 200_000
    table = loaded.model_.state.table
    assert table.flags.writeable
    assert table.flags.c_contiguous
    assert table.ctypes.data % 64 == 0
    np.testing.assert_array_equal(table, state.table)
    before = path.read_bytes()
    table[:] = 5.0
    assert path.read_bytes() == before
    np.testing.assert_array_equal(load(path).model_.state.table, state.table)


def test_a_small_model_keeps_no_file_open(small, tmp_path):
    path = tmp_path / "model.sureline"
    save(small, path)
    loaded = load(path)
    path.write_bytes(b"")
    assert_same_model(loaded, small, [[1.0, 2.0]])
    if sys.platform == "linux":
        opened = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
        assert str(path) not in opened


def test_room_for_more_columns_and_features_is_not_stored():
    model = AROWClassifier().partial_fit(*examples(list("abcde")))
    state = model.model_.state
    assert state.table.shape[2] > 5
    fields, tensors = state_parts(state, 1.0, features=4)
    assert tensors["table"].shape == (5, 2, 5)
    assert tensors["table"].base is not None
    back = state_from_parts(state.layout, fields, tensors, 1.0)
    assert back.features == 4
    np.testing.assert_array_equal(back.table, state.table[:5, :, :5])


def test_writing_copies_no_array_whole(tmp_path):
    wide = np.zeros((10**6, 2, 4), np.float32)
    peak, _ = allocated(lambda: write(tmp_path / "x", {}, {"t": wide[:, :, :3], "u": wide}))
    assert peak < 2.5 * file.CHUNK
    assert (tmp_path / "x").stat().st_size > 14 * wide.nbytes / 8


def test_plain_safetensors_reads_a_model(tmp_path):
    X, y = examples(list("abc"), width=40)
    model = AROWClassifier().fit(X, y)
    path = tmp_path / "model.sureline"
    model.save(path)
    tensors = load_file(path)
    ours = read(path).tensors
    assert set(tensors) == set(ours) == {"rows", "table", "rest"}
    for name in tensors:
        np.testing.assert_array_equal(tensors[name], ours[name])
        assert tensors[name].dtype == ours[name].dtype
    with safe_open(path, "numpy") as opened:
        stored = opened.metadata()
    metadata = json.loads(stored["sureline"])
    assert metadata["format"] == 1
    assert metadata["estimator"] == "AROWClassifier"
    assert metadata["labels"]["values"] == ["a", "b", "c"]
    again = tmp_path / "again.sureline"
    save_file(tensors, again, stored)
    assert verify(again).checksum == verify(path).checksum
    assert_same_model(load(again), model, X)


def test_data_begin_at_a_cache_line_and_numbers_are_aligned(tmp_path):
    for extra in range(70):
        write(
            tmp_path / "x",
            {"pad": "p" * extra},
            {
                "bytes": np.arange(3, dtype=np.uint8),
                "halves": np.arange(3, dtype=np.float16),
                "words": np.arange(5, dtype=np.int32),
                "longs": np.arange(3, dtype=np.int64),
                "nothing": np.zeros((0, 3), np.float32),
                "one": np.array(2.5),
            },
        )
        (length,) = struct.unpack("<Q", (tmp_path / "x").read_bytes()[:8])
        assert (8 + length) % 64 == 0
        opened = verify(tmp_path / "x")
        assert opened.tensors["one"] == 2.5
        assert opened.tensors["nothing"].shape == (0, 3)
        assert all(tensor.flags.aligned for tensor in opened.tensors.values())
        assert opened.size == 3 + 6 + 20 + 24 + 8


# -- writing -----------------------------------------------------------------------------------


@pytest.fixture
def small():
    return AROWClassifier(random_state=0).fit([[0.0, 1.0], [1.0, 0.0]], ["a", "b"])


def test_new_files_follow_the_umask_and_old_ones_keep_their_mode(small, tmp_path):
    if os.name != "posix":
        pytest.skip("permissions are a matter of POSIX")
    path = tmp_path / "model.sureline"
    old = os.umask(0o027)
    try:
        save(small, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        save(small, path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(old)
    assert [each.name for each in tmp_path.iterdir()] == ["model.sureline"]


def test_links_are_followed(small, tmp_path):
    target, link = tmp_path / "target.sureline", tmp_path / "link.sureline"
    link.symlink_to(target)
    for _ in range(2):
        save(small, link)
        assert link.is_symlink()
        assert load(target).predict([[1.0, 0.0]]).tolist() == ["b"]


@pytest.mark.parametrize("when", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_model_and_nothing_else(when, small, tmp_path, monkeypatch):
    path = tmp_path / "model.sureline"
    save(small, path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full) if when == "fsync" else patched.setattr(
            Path, "replace", full
        )
        with pytest.raises(ModelFileError, match="cannot be written: no space left on device"):
            save(AROWClassifier().fit(np.eye(3), [0, 1, 2]), path)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["model.sureline"]


def test_an_interrupted_write_leaves_nothing(small, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            save(small, tmp_path / "model.sureline")
    assert [each.name for each in tmp_path.iterdir()] == []


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_disk_that_fills_up_is_told_in_a_sentence(tmp_path):
    code = (
        "import resource, numpy as np\n"
        "from sureline.model.file import write\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        f"    write({str(tmp_path / 'x')!r}, {{}}, {{'t': np.zeros(10**6)}})\n"
        "except Exception as problem:\n"
        "    print(type(problem).__name__, problem)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"ModelFileError {tmp_path / 'x'} cannot be written: file too large\n"
    assert [each.name for each in tmp_path.iterdir()] == []


def test_places_that_cannot_be_written_are_told(small, tmp_path):
    (tmp_path / "file").write_text("x")
    for path, says in [
        (tmp_path, "is a folder"),
        (tmp_path / "missing" / "model", "there is no folder"),
        (tmp_path / "file" / "model", "."),
        ("nul\0byte", "null"),
        ("/dev/null", "not a regular file"),
    ]:
        with pytest.raises(ModelFileError, match=f"cannot be written: .*{says}"):
            save(small, path)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is protected from root"
)
def test_a_protected_file_is_not_replaced(small, tmp_path):
    path = tmp_path / "model.sureline"
    path.write_text("precious")
    path.chmod(0o444)
    with pytest.raises(ModelFileError, match="write-protected"):
        save(small, path)
    tmp_path.chmod(0o555)
    try:
        with pytest.raises(ModelFileError, match="permission denied"):
            save(small, tmp_path / "other.sureline")
    finally:
        tmp_path.chmod(0o755)


def test_a_file_that_may_not_be_written_is_not_replaced(small, tmp_path, monkeypatch):
    (tmp_path / "model.sureline").write_text("precious")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ModelFileError, match="write-protected"):
        save(small, tmp_path / "model.sureline")
    assert (tmp_path / "model.sureline").read_text() == "precious"


def test_models_that_cannot_be_saved_are_told(tmp_path):
    X, y = examples([0, 1])
    path = tmp_path / "model.sureline"

    class Own(AROWClassifier):
        pass

    for model, says in [
        (3, "not a sureline model"),
        (Own().fit(X, y), "Own: load\\(\\) makes only classes that sureline has"),
        (
            AROWClassifier(class_weight={frozenset(): 1.0}).fit(X, y),
            "class_weight=frozenset.* as a key",
        ),
        (AROWClassifier().fit(X, y).set_params(dtype="float64"), "set_params has changed"),
        (AROWClassifier().fit(X, y).set_params(class_weight={0: 10**30}), "class_weight="),
        (AROWClassifier().fit(X, np.array(["2020", "2021"] * 30, "M8[Y]")), "labels of dtype"),
    ]:
        with pytest.raises(ModelFileError, match=says):
            save(model, path)
    with pytest.raises(SurelineError, match="r must be a number"):
        save(AROWClassifier().fit(X, y).set_params(r=-1.0), path)
    with pytest.raises(ValueError, match="not fitted"):
        save(AROWClassifier(), path)
    assert not path.exists()


def test_too_much_metadata_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(file, "LONGEST_HEADER", 1000)
    with pytest.raises(ModelFileError, match="fewer or shorter labels"):
        write(tmp_path / "x", {"labels": "x" * 1000}, {})
    assert not (tmp_path / "x").exists()


def test_a_model_may_be_saved_over_the_file_it_was_loaded_from(small, tmp_path):
    path = tmp_path / "model.sureline"
    save(small, path)
    first, second = load(path), load(path)
    save(first.partial_fit([[3.0, 1.0]], ["c"]), path)
    assert_same_model(second, small, [[1.0, 2.0]])
    assert load(path).classes_.tolist() == ["a", "b", "c"]


@pytest.mark.skipif(not COMPILED, reason="threads that learn in Python take long")
def test_a_model_saved_while_it_learns_is_one_it_has_been(tmp_path):
    X, y = examples(list("ab"), n=400)
    model = AROWClassifier().partial_fit(X, y)
    known = {model.coef_.tobytes()}
    done = threading.Event()

    def learn():
        while not done.is_set() and len(known) < 10_000:
            model.partial_fit(X, y)
            known.add(model.coef_.tobytes())

    thread = threading.Thread(target=learn)
    thread.start()
    seen = []
    for _ in range(20):
        save(model, tmp_path / "model.sureline")
        seen.append(load(tmp_path / "model.sureline").coef_.tobytes())
    done.set()
    thread.join()
    assert set(seen) <= known


@pytest.fixture
def quick_path():
    """A path for thousands of files, in memory where the system has such a folder."""
    memory = Path("/dev/shm")  # noqa: S108 the folder inside it is a new one
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder) / "model.sureline"


# -- reading what should not be trusted --------------------------------------------------------


def test_stored_file_of_format_1_is_read_for_ever():
    """The file was written by ``python tests/model/test_file.py``, which must not be run again."""
    model = verify(STORED) and load(STORED)
    assert type(model) is AROWClassifier
    assert model.get_params()["r"] == 0.5
    assert model.class_weight == {"spam": 0.5, "ham": 1}
    assert model.classes_.tolist() == ["eggs", "ham", "spam"]
    assert model.model_.labels.tolist() == ["ham", "spam", "eggs"]
    assert model.n_features_in_ == 30
    assert (model.n_seen_, model.n_updates_, model.n_mistakes_) == (8, 6, 6)
    state = model.model_.state
    assert (state.clock, state.merged, state.used, state.wide) == (8, 1, 3, True)
    assert model.variance_[:, 0].tolist() == [1.0, 0.5, 0.5]
    assert np.flatnonzero((model.variance_ != [[1], [0.5], [0.5]]).any(axis=0)).tolist() == [
        2,
        5,
        29,
    ]
    expected = np.array(STORED_WEIGHTS, np.float32)
    np.testing.assert_array_equal(model.coef_[:, [2, 5, 29]], expected)


STORED_WEIGHTS = [
    [-0.8725546002388, -0.2877402603626251, 0.44800251722335815],
    [-0.11859606951475143, 0.1428571492433548, -0.24212434887886047],
    [0.33673471212387085, -0.046943727880716324, 0.0],
]


def write_stored():
    X = sp.csr_array(
        ([1.0, 0.5, 2.0, 1.0, 1.0, 0.5, 1.0, 0.25], [2, 5, 5, 2, 29, 29, 2, 5], np.arange(9)),
        shape=(8, 30),
    )
    y = ["spam", "ham", "ham", "spam", "eggs", "eggs", "ham", "spam"]
    model = AROWClassifier(r=0.5, class_weight={"spam": 0.5, "ham": 1}, random_state=7)
    model.partial_fit(X, y)
    STORED.parent.mkdir(exist_ok=True)
    save(model, STORED)
    print(model.coef_[:, [2, 5, 29]].tolist(), model.n_updates_, model.n_mistakes_)


def test_every_flipped_bit_is_found_by_verify(small, quick_path):
    path = quick_path
    save(small, path)
    assert verify(path).metadata["estimator"] == "AROWClassifier"
    whole = path.read_bytes()
    for place in range(0, len(whole), several(1, 7)):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place * 5 % 8)
        path.write_bytes(changed)
        with pytest.raises(ModelFileError, match=r"model\.sureline"):
            verify(path)


def test_every_shortened_file_is_refused(small, quick_path):
    path = quick_path
    save(small, path)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(
            ModelFileError, match=r"model\.sureline (is cut short|is not a sureline)"
        ):
            load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(ModelFileError, match="its tensors end at byte"):
        load(path)


def test_a_model_without_a_checksum_loads_but_does_not_verify(small, tmp_path):
    path = tmp_path / "model.sureline"
    save(small, path)
    rewrite(path, lambda header, _: header["__metadata__"].pop("sha256"))
    load(path)
    with pytest.raises(ModelFileError, match="has no checksum"):
        verify(path)


def test_other_things_than_files_are_told_at_once(tmp_path):
    with pytest.raises(ModelFileError, match="does not exist"):
        load(tmp_path / "missing.sureline")
    with pytest.raises(ModelFileError, match="it is a folder"):
        load(tmp_path)
    with pytest.raises(ModelFileError, match=r"cannot be read: .*null"):
        load("nul\0byte")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="it is a pipe"):
            load(tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="it is a pipe"):
            save(AROWClassifier().fit(np.eye(2), [0, 1]), tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="it is not a regular file"):
            load("/dev/zero")


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        (b"", "it is empty"),
        (b"abc", "fewer than 9 bytes"),
        (b"\x80\x04\x95pickle of something else", "does not begin as"),
        (struct.pack("<Q", 2**63) + b"{}", "does not begin as"),
        (struct.pack("<Q", 64 * 2**20 + 1) + b"{}", "does not begin as"),
        (struct.pack("<Q", 1000) + b"{}", "is cut short: its header ends at byte 1,008"),
        (struct.pack("<Q", 2) + b"{]", "no valid JSON"),
        (struct.pack("<Q", 2) + b"{\xff", "no valid JSON"),
        (struct.pack("<Q", 2) + b"{}", "without our metadata"),
        (struct.pack("<Q", 20_005) + b'{"a":' + b"[" * 20_000, "nested too deeply"),
        (struct.pack("<Q", 200_005) + b'{"a":' + b"[" * 200_000, "nested too deeply"),
    ],
    ids=range(11),
)
def test_foreign_files_are_told_from_models(contents, says, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(contents)
    with pytest.raises(ModelFileError, match=f"file .*{says}"):
        load(path)


def test_models_of_others_are_told_from_ours(tmp_path):
    save_file({"weight": np.zeros(3, np.float32)}, tmp_path / "x", {"format": "pt"})
    with pytest.raises(ModelFileError, match="safetensors file without our metadata"):
        load(tmp_path / "x")


def rewrite(path, change):
    """Change the header and the metadata of a file."""
    path.write_bytes(rewritten(path.read_bytes(), change))


def rewritten(whole, change):
    """A file with another header and other metadata; their JSON is written anew, the data kept."""
    (length,) = struct.unpack("<Q", whole[:8])
    header = json.loads(whole[8 : 8 + length])
    metadata = json.loads(header["__metadata__"]["sureline"])
    change(header, metadata)
    found = header.get("__metadata__")
    if isinstance(found, dict) and isinstance(found.get("sureline"), str):
        found["sureline"] = json.dumps(metadata)
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return struct.pack("<Q", len(text)) + text + whole[8 + length :]


def put(place, value):
    """A change: `value` at a place of the header ("h.…") or of the metadata ("m.…")."""

    def change(header, metadata):
        first, *names = place.split(".")
        at = header if first == "h" else metadata
        for name in names[:-1]:
            at = at[name]
        at[names[-1]] = value

    return change


HOSTILE = [
    ("h.table.dtype", "F128", "is of kind 'F128'; known are"),
    ("h.table.dtype", ["F32"], "is of kind"),
    ("h.table.shape", [-5, -2, 1], "has the shape"),
    ("h.table.shape", [5, 2, True], "has the shape"),
    ("h.table.shape", [2**62, 4, 2**62], "lies at"),
    ("h.table.shape", [1] * 30, "has the shape"),
    ("h.table.shape", {"0": 5}, "has the shape"),
    ("h.table.data_offsets", [0, 10**30], "lies at"),
    ("h.table.data_offsets", [-8, 2], "lies at"),
    ("h.table.data_offsets", [8, 0], "lies at"),
    ("h.table.data_offsets", [0], "lies at"),
    ("h.table", {"dtype": "F32"}, "not described as it should be"),
    ("h.other", {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}, "begins at byte"),
    ("h.other", {"dtype": "U8", "shape": [9], "data_offsets": [400, 409]}, "begins at byte|cut"),
    ("h.other", {"dtype": "I8", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}, "has the sha"),
    ("h.__metadata__", {"sureline": 3}, "without our metadata"),
    ("h.__metadata__", None, "without our metadata"),
    ("h.__metadata__.sha256", 3, "its checksum is not a string"),
    ("m.format", 2, "has format 2, written by sureline '0.*upgrade sureline"),
    ("m.format", 0, "its format is 0"),
    ("m.format", True, "its format is True"),
    ("m.format", None, "its format is None"),
    ("m.format", 10**40, "its format is"),
    ("m.estimator", "os.system", "does not have; upgrade"),
    ("m.estimator", "OnlineClassifier", "does not have; upgrade"),
    ("m.estimator", "classifier_for", "does not have; upgrade"),
    ("m.estimator", "load", "does not have; upgrade"),
    ("m.estimator", "PAClassifier", "has no parameter"),
    ("m.estimator", 7, "its estimator is 7"),
    ("m.parameters", [], "its parameters is \\[\\]"),
    ("m.parameters.r", -1.0, "r must be a number"),
    ("m.parameters.r", "1", "r must be a number"),
    ("m.parameters.new", 1, "has no parameter 'new' in this sureline; upgrade"),
    ("m.parameters.covariance", "full", "its parameters imply"),
    ("m.parameters.dtype", "float64", "its parameters imply"),
    ("m.parameters.fit_intercept", False, "its parameters imply"),
    ("m.parameters.random_state", "x", "its random_state is"),
    ("m.parameters.random_state", -1, "its random_state is"),
    ("m.parameters.class_weight", [1], "its class_weight is"),
    ("m.parameters.class_weight", {"mapping": [["a", "b"]]}, "its class_weight is"),
    ("m.parameters.class_weight", {"mapping": [["a"]]}, "has the entry"),
    ("m.parameters.class_weight", {"mapping": [[{"mapping": []}, 1]]}, "has the key"),
    ("m.parameters.class_weight", {"mapping": [[{"tuple": [[]]}, 1]]}, "has the key"),
    ("m.parameters.class_weight", {"pickle": "x"}, "a parameter is"),
    ("m.parameters.class_weight", {"bytes": "\u20ac"}, "does not stand for bytes"),
    ("m.parameters.memory_limit_gb", 10**300, "a parameter is"),
    ("m.parameters.max_iter", [[[[[[[[[]]]]]]]]], "nested too deeply"),
    ("m.labels", None, "its labels are None"),
    ("m.labels.dtype", "<U1000000000", "are not of dtype"),
    ("m.labels.dtype", "<U0", "are not of dtype"),
    ("m.labels.dtype", "<U\u0661", "are not of dtype"),
    ("m.labels.dtype", "<i8", "are not of dtype"),
    ("m.labels.dtype", "|V8", "are not of dtype"),
    ("m.labels.values", [], "no labels"),
    ("m.labels.values", ["a", "a"], "labels repeat"),
    ("m.labels.values", ["b", "a"], "not sorted"),
    ("m.labels.values", ["a", 1], "several kinds"),
    ("m.labels.values", ["a", "b", "c"], "3 labels and 1 columns"),
    ("m.labels.values", ["a", ["b"]], "several kinds"),
    ("m.labels.values", [1, 10**400], "several kinds"),
    ("m.state", [], "its state is"),
    ("m.state.rule", "pa", "its parameters imply 'arow'"),
    ("m.state.initial", [0.0, 2.0], "its parameters imply"),
    ("m.state.stamps", True, "its parameters imply"),
    ("m.state.stamps", 0, "its parameters imply"),
    ("m.state.features", 10**15, "its features is"),
    ("m.state.features", -1, "its features is"),
    ("m.state.features", 3, "expected float32 of shape"),
    ("m.state.features", 2.0, "its features is"),
    ("m.state.used", 0, "its used is"),
    ("m.state.used", 2**30, "expected float32 of shape"),
    ("m.state.wide", True, "2 labels and 1 columns"),
    ("m.state.wide", 1, "its wide is"),
    ("m.state.clock", -1, "its clock is"),
    ("m.state.clock", 2**64, "its clock is"),
    ("m.state.counts", [1, 2], "its counts are"),
    ("m.state.counts", [1, 2, "3"], "its counts are"),
    ("m.state.merged", 0, "its merged is"),
    ("m.n_iter", None, "its n_iter is"),
    ("m.validation_scores", ["x"], "its validation_scores are"),
    ("m.validation_scores", 1, "its validation_scores is"),
]


@pytest.mark.parametrize(
    ("place", "value", "says"), HOSTILE, ids=[f"{k}-{each[0]}" for k, each in enumerate(HOSTILE)]
)
def test_hostile_metadata_are_refused_before_anything_is_allocated(
    place, value, says, small, tmp_path
):
    path = tmp_path / "model.sureline"
    save(small, path)
    rewrite(path, put(place, value))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=f"model.sureline .*{says}"):
            load(path)
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("rows", "features", "says"),
    [
        (np.array([0, 3, 8], np.int32), 2**31 - 2, "more than such a file may ask for"),
        (np.array([0, 3, 8], np.int32), 10**8, "more than such a file may ask for"),
        (np.array([0, 3, 8], np.int32), 7, "do not ascend from 0 to at most 7"),
        (np.array([0, 8, 3], np.int32), 30, "do not ascend"),
        (np.array([0, 3, 3], np.int32), 30, "do not ascend"),
        (np.array([-1, 3, 8], np.int32), 30, "do not ascend"),
        (np.array([1, 3, 8], np.int32), 30, "do not ascend"),
        (np.array([0, 3], np.int32), 30, "expected float32 of shape"),
        (np.array([0, 3, 8], np.int64), 30, "its rows are int64"),
        (np.array([[0, 3, 8]], np.int32), 30, "its rows are int32 of shape"),
        (np.array([], np.int32), 30, "its rows are int32 of shape"),
        (np.array([0, 3, 8], np.int32), 1, "its rows are int32 of shape"),
    ],
    ids=range(12),
)
def test_rows_that_do_not_exist_are_refused(rows, features, says, tmp_path):
    layout = AROWClassifier().learner().layout
    state = layout.allocate(30, 1, 1.0, "")
    state.table[[3, 8]] = 7.0
    fields, tensors = state_parts(state, 1.0)
    assert tensors["rows"].tolist() == [0, 3, 8]
    fields["features"], tensors["rows"] = features, rows
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=says):
            state_from_parts(layout, fields, tensors, 4.0)
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


def test_what_a_file_may_grow_to_is_what_a_model_may_be_saved_as(monkeypatch):
    """Where leaving rows out would make a file that is refused, all rows are stored."""
    layout = AROWClassifier().learner().layout
    state = layout.allocate(10_000, 1, 1.0, "")
    state.table[3] = 7.0
    assert "rows" in state_parts(state, 1.0)[1]
    assert "rows" not in state_parts(state, 1e-6)[1]
    monkeypatch.setattr(parts, "ALLOWANCE", 0)
    for expected in (None, 9_999):
        fields, tensors = state_parts(state, 1.0, expected=expected)
        assert "rows" not in tensors
        assert_same_state(state_from_parts(layout, fields, tensors, 1.0, expected), state)
    fields, tensors = state_parts(state, 1.0, expected=10_000)
    assert tensors["rows"].tolist() == [0, 3]
    assert_same_state(state_from_parts(layout, fields, tensors, 1.0, 10_000), state)
    for limit_gb, expected in ((1e-6, 10_000), (1.0, 9_999), (1.0, None)):
        with pytest.raises(ModelFileError, match="more than such a file may ask for"):
            state_from_parts(layout, fields, tensors, limit_gb, expected)


def test_tensors_that_are_not_aligned_are_refused(tmp_path):
    path = tmp_path / "model.sureline"
    write(path, {}, {"a": np.zeros(4, np.uint8), "b": np.zeros(4, np.uint8)})

    rewrite(path, lambda header, _: header["b"].update(dtype="U32", shape=[1]))
    assert read(path).tensors["b"].tolist() == [0]
    rewrite(path, lambda header, _: header["a"].update(shape=[1], data_offsets=[0, 1]))
    rewrite(
        path,
        lambda header, _: header.update(
            b={"dtype": "U16", "shape": [3], "data_offsets": [1, 7]},
            c={"dtype": "U8", "shape": [1], "data_offsets": [7, 8]},
        ),
    )
    with pytest.raises(ModelFileError, match="the tensor 'b' is not aligned"):
        read(path)


def test_more_names_than_features_are_refused(small):
    metadata, tensors = small.to_parts()
    tensors |= strings_to_tensors("feature_names", ["a", "b", "c"])
    with pytest.raises(ModelFileError, match="names 3 features and has 2"):
        AROWClassifier.from_parts(metadata, tensors)


def test_names_that_do_not_fit_are_refused():
    good = strings_to_tensors("n", ["ab", "c"])
    for name, value in [
        ("n", np.zeros(3, np.int8)),
        ("n", np.array([255, 255, 255], np.uint8)),
        ("n", np.zeros((3, 1), np.uint8)),
        ("n.ends", np.array([2, 4])),
        ("n.ends", np.array([5, 3])),
        ("n.ends", np.array([-1, 3])),
        ("n.ends", np.array([], np.int64)),
        ("n.ends", np.array([2, 3], np.int32)),
    ]:
        with pytest.raises(ModelFileError, match="its tensor"):
            strings_from_tensors("n", {**good, name: value})
    with pytest.raises(ModelFileError, match="do not fit each other"):
        strings_from_tensors("n", {"n": good["n"]})


def test_duplicate_names_and_numbers_that_are_none_are_refused(small, tmp_path):
    path = tmp_path / "model.sureline"
    save(small, path)
    whole = path.read_bytes()
    for old, new in [
        (b'\\"used\\":1', b'\\"wide\\":1'),
        (b'\\"clock\\":10,', b'\\"clock\\":NaN'),
        (b'"table":{"dtype":"F32"', b'"table":{"shape":"F32"'),
    ]:
        assert old in whole
        path.write_bytes(whole.replace(old, new))
        with pytest.raises(ModelFileError, match="no valid JSON"):
            load(path)


# -- thousands of damaged files ----------------------------------------------------------------

VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 2**31, 2**53, 2**63, 2**64, 10**15, 10**30, 0.5, -0.5),
    *(1e308, "", "a", "x" * 50, [], [1], [[]], {}, {"mapping": [[1, 2]]}, {"mapping": [[[], 2]]}),
    *({"float": "nan"}, {"tuple": [1]}, {"estimator": "AROWClassifier", "parameters": {}}),
    *({"bytes": "é€"}, "float64", "float32", "full", "identity", "diagonal-l2", "<U1000000000"),
    *("<i8", "|O", "F64", "I32", "U8", "F16", [0, 0], [5, 1], "inf", "balanced", "all"),
]


def places(value, found=()):
    """Every place inside nested dictionaries and lists."""
    if found:
        yield found
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*found, key))


def disturb(header, metadata, rng):
    """Put something else at one or two places."""
    for _ in range(rng.choice([1, 1, 1, 2])):
        root = metadata if rng.random() < 0.7 else header
        *way, last = rng.choice(list(places(root)))
        at = root
        for key in way:
            at = at[key]
        kind, value = rng.randrange(8), at[last]
        if kind == 0:
            del at[last]
        elif kind == 1 and isinstance(at, dict):
            at["renamed"] = at.pop(last)
        elif kind == 2:
            value = []
            for _ in range(rng.choice([5, 50, 400])):
                value = [value]
            at[last] = value
        elif kind == 3 and type(value) in (int, float):
            at[last] = value + rng.choice([-2, -1, 1, 2])
        else:
            at[last] = copy.deepcopy(rng.choice(VALUES))


def damage(whole, others, rng):
    """A damaged version of a file."""
    (length,) = struct.unpack("<Q", whole[:8])
    start = 8 + length
    changed = bytearray(whole)
    kind = rng.randrange(8)
    if kind < 4:
        return rewritten(whole, lambda header, metadata: disturb(header, metadata, rng))
    if kind == 4:
        for _ in range(rng.randrange(1, 4)):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    elif kind == 5:
        for _ in range(rng.randrange(1, 30)):
            byte = rng.choice([0, 127, 128, 255, rng.randrange(256)])
            changed[rng.randrange(start, len(changed))] = byte
    elif kind == 6:
        changed = changed[: rng.randrange(len(changed))]
        changed += bytes(rng.choice([0, 0, rng.randrange(100)]))
    else:
        other = rng.choice(others)
        cut = rng.choice([start, rng.randrange(len(changed))])
        changed = changed[:cut] + other[-(len(changed) - cut) :]
    return bytes(changed)


def use(model):
    """Ask everything of a model, and teach it."""
    d = model.n_features_in_
    k = min(d, 6)
    X = sp.csr_array((np.ones(3 * k), np.tile(np.arange(k), 3), np.arange(4) * k), shape=(3, d))
    assert np.isin(model.predict(X), model.classes_).all()
    if hasattr(model, "predict_proba"):
        assert model.predict_proba(X).shape == (3, model.classes_.size)
    model.partial_fit(X, model.classes_[[0, -1, 0]])
    model.predict(X)


KINDS = [
    ("arow", "diagonal-kl"),
    ("arow", "full"),
    ("cw-stdev", "diagonal-exact"),
    ("averaged-perceptron", None),
    ("adagrad-comid", None),
    ("sop", None),
]


def test_thousands_of_damaged_files_are_refused_or_can_be_used(quick_path):
    path, wholes = quick_path, []
    for name, covariance in KINDS:
        rule = rules()[name]
        for classes in ("ab", "abc"):
            for width in (None, 40):
                X, y = examples(list(classes), width=width)
                weights = {"class_weight": {"a": 0.5}}
                model = make(rule, covariance, **weights).partial_fit(X, y, list(classes))
                save(model, path)
                wholes.append(path.read_bytes())
    rng = random.Random(5)  # noqa: S311 no secret
    refused = used = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numbers that no training gives
        for _ in range(several(10_000, 1500)):
            path.write_bytes(damage(rng.choice(wholes), wholes, rng))
            try:
                model = load(path)
            except ModelFileError:
                refused += 1
                continue
            used += 1
            if COMPILED:  # Python's own arithmetic raises where compiled code gives NaN
                with contextlib.suppress(DataError, InvalidParameter):  # overflow, 'balanced'
                    use(model)
    assert refused > used > several(500, 50)


if __name__ == "__main__":
    write_stored()
