"""Model files: the same model comes back to the last bit, and files are written whole."""

import json
import os
import stat
import struct
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from cases import CASES, COMPILED, make, parameters, several
from model_files import assert_same_model, assert_same_state, examples, rows_of
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from sureline import (
    AdaGradClassifier,
    AROWClassifier,
    CWClassifier,
    ModelFileError,
    PAClassifier,
    PerceptronClassifier,
    SurelineError,
    load,
)
from sureline.estimators import save
from sureline.estimators.parameter_file import value_from_json, value_to_json
from sureline.model import file
from sureline.model.file import read, verify, write
from sureline.model.serialize.labels import (
    labels_from_json,
    labels_to_json,
    strings_from_tensors,
    strings_to_tensors,
)
from sureline.model.serialize.state import state_from_parts, state_parts

STORED = Path(__file__).parent / "models" / "format-1.sureline"


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
        assert ("row_gaps" in read(path).tensors) == (width is not None)
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
        np.array(["b", "", "é\ud7ff", "x" * 2000]),
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
            labels_from_json(labels_to_json(labels), 1.0)
        return
    stored = json.loads(json.dumps(labels_to_json(labels)))
    back = labels_from_json(stored, 1.0)
    assert back.dtype == labels.dtype.newbyteorder("=")
    assert back.tolist() == labels.tolist()
    assert [type(each) for each in back.tolist()] == [
        each.item().__class__ if isinstance(each, np.generic) else type(each)
        for each in labels.tolist()
    ]


def test_very_wide_text_is_kept_as_wide_as_needed():
    labels = np.array(["a", "bc"], "U3000000")
    back = labels_from_json(labels_to_json(labels), 1.0)
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
        stored = read(tmp_path / "model.sureline").tensors
        assert rows_of(stored) == [0, 8, 123_457, 1_000_000]
        assert (tmp_path / "model.sureline").stat().st_size < 2000
        assert_same_state(load(tmp_path / "model.sureline").model_.state, model.model_.state)


def test_only_touched_features_of_a_full_covariance_are_stored(tmp_path):
    X = np.zeros((4, 300))
    X[:, [5, 200]] = [[1, 2], [3, -1], [-1, 2], [0, 1]]
    for classes in ([0, 1, 0, 1], [0, 1, 2, 1]):
        model = AROWClassifier(covariance="full").fit(X, classes)
        save(model, tmp_path / "model.sureline")
        tensors = read(tmp_path / "model.sureline").tensors
        assert rows_of(tensors) == [0, 6, 201]
        assert tensors["covariance"].shape[1:] == (3, 3)
        assert_same_state(load(tmp_path / "model.sureline").model_.state, model.model_.state)


def test_a_sign_of_zero_is_not_lost(tmp_path):
    model = AROWClassifier().fit(np.eye(50), np.arange(50) % 2)
    model.model_.state.table[1:] = [[0.0], [1.0]]
    model.model_.state.table[7, 0, 0] = -0.0
    save(model, tmp_path / "model.sureline")
    assert rows_of(read(tmp_path / "model.sureline").tensors) == [0, 7]
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


def test_spare_columns_and_features_are_not_stored():
    model = AROWClassifier().partial_fit(*examples(list("abcde")))
    state = model.model_.state
    assert state.table.shape[2] > 5
    fields, tensors = state_parts(state, features=4)
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
    assert set(tensors) == set(ours) == {"row_gaps", "table", "rest"}
    for name in tensors:
        np.testing.assert_array_equal(tensors[name], ours[name])
        assert tensors[name].dtype == ours[name].dtype
    with safe_open(path, "numpy") as opened:
        stored = opened.metadata()
    metadata = json.loads(stored["sureline"])
    assert metadata["format"] == 2
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
def test_a_full_disk_is_reported_in_a_sentence(tmp_path):
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


def test_places_that_cannot_be_written_are_reported(small, tmp_path):
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


def test_models_that_cannot_be_saved_are_reported(tmp_path):
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


# -- files of past formats ---------------------------------------------------------------------


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


@pytest.mark.parametrize("name", ["full-float32", "full-float32-rows"])
def test_full_covariances_that_were_stored_in_float32_are_read_as_float64(name, tmp_path):
    """Written by a version that kept them in float32; in the second file rows are left out."""
    path = STORED.parent / f"{name}.sureline"
    stored, model = read(path), load(path)
    assert stored.tensors["covariance"].dtype == stored.tensors["table"].dtype == np.float32
    kept = model.model_.state
    assert kept.layout.dtype == kept.table.dtype == kept.covariance.dtype == np.float64
    rows = stored.tensors.get("rows", np.arange(kept.features + 1))
    assert np.array_equal(kept.covariance[:, rows[:, None], rows], stored.tensors["covariance"])
    assert np.array_equal(kept.table[rows], stored.tensors["table"])
    model.partial_fit(np.eye(model.n_features_in_)[:2], model.classes_[:2])
    save(model, tmp_path / "again.sureline")
    assert_same_model(load(tmp_path / "again.sureline"), model, np.eye(model.n_features_in_))


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


if __name__ == "__main__":
    write_stored()
