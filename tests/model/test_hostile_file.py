"""Files that should not be trusted: damaged, truncated, foreign or hostile, none does harm."""

import contextlib
import copy
import json
import os
import random
import struct
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from cases import COMPILED, make, several
from model_files import assert_same_state, examples, rows_of
from safetensors.numpy import save_file

from sureline import (
    AROWClassifier,
    DataError,
    InvalidParameter,
    ModelFileError,
    load,
)
from sureline.estimators import save
from sureline.model.file import read, verify, write
from sureline.model.serialize import rows as stored_rows
from sureline.model.serialize.labels import (
    labels_from_json,
    strings_from_tensors,
    strings_to_tensors,
)
from sureline.model.serialize.state import state_from_parts, state_parts
from sureline.rules import rules


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


def test_other_things_than_files_are_refused_at_once(tmp_path):
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
def test_foreign_files_are_refused(contents, says, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(contents)
    with pytest.raises(ModelFileError, match=f"file .*{says}"):
        load(path)


def test_models_of_other_libraries_are_refused(tmp_path):
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
    ("m.format", 3, "has format 3, written by sureline '0.*upgrade sureline"),
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
    fields, tensors = state_parts(state)
    assert rows_of(tensors) == [0, 3, 8]
    del tensors["row_gaps"]  # format 1 had the rows instead
    fields["features"], tensors["rows"] = features, rows
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=says):
            state_from_parts(layout, fields, tensors, 4.0)
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("gaps", "says"),
    [
        (np.array([3, 28], np.uint8), "do not ascend from 0 to at most 30"),
        (np.array([3, 0], np.uint8), "do not ascend"),
        (np.array([3, 200], np.uint8), "row_gaps go beyond its 30 features"),
        (np.full(31, 1, np.uint8), "row_gaps go beyond its 30 features"),
        (np.array([3, 2**63 - 1], np.uint64), "row_gaps go beyond its 30 features"),
        (np.array([3, 2**64 - 1], np.uint64), "numbers below 0, or of 2.63 and more"),
        (np.array([3.0, 5.0], np.float32), "no list of whole numbers"),
        (np.array([[3, 5]], np.uint8), "no list of whole numbers"),
        (np.array([3], np.uint8), "expected float32 of shape"),
    ],
    ids=range(9),
)
def test_gaps_between_rows_that_do_not_exist_are_refused(gaps, says):
    layout = AROWClassifier().learner().layout
    state = layout.allocate(30, 1, 1.0, "")
    state.table[[3, 8]] = 7.0
    fields, tensors = state_parts(state)
    assert rows_of(tensors) == [0, 3, 8]
    with pytest.raises(ModelFileError, match=says):
        state_from_parts(layout, fields, {**tensors, "row_gaps": gaps}, 4.0)


def many_equal_rows():
    """The parts of a state of twenty classes in which most rows are like others."""
    layout = AROWClassifier().learner().layout
    state = layout.allocate(4000, 20, 1.0, "")
    state.wide, state.used = True, 20
    state.table[:] = np.random.default_rng(0).random((500, 2, 20))[np.arange(4001) % 500]
    return state, *state_parts(state)


def test_equal_rows_are_stored_once():
    state, fields, tensors = many_equal_rows()
    assert tensors["table"].shape == (500, 2, 20)
    assert tensors["which"].dtype == np.uint16
    assert_same_state(state_from_parts(state.layout, fields, tensors, 1.0), state)
    state.table[7, 0, 0] = -0.0  # differs in one bit from 0
    state.table[8] = state.table[7]
    state.table[8, 0, 0] = 0.0
    assert_same_state(state_from_parts(state.layout, *state_parts(state), 1.0), state)


@pytest.mark.parametrize(
    ("which", "says"),
    [
        (np.full(4001, 500, np.uint16), "numbers beyond the 500 rows"),
        (np.zeros(4000, np.uint16), "has 4,000 numbers, expected 4,001"),
        (np.zeros(4001, np.float32), "no list of whole numbers"),
        (np.zeros((4001, 1), np.uint16), "no list of whole numbers"),
        (np.full(4001, 2**63, np.uint64), "numbers below 0, or of"),
    ],
    ids=range(5),
)
def test_equal_rows_that_do_not_exist_are_refused(which, says):
    state, fields, tensors = many_equal_rows()
    with pytest.raises(ModelFileError, match=says):
        state_from_parts(state.layout, fields, {**tensors, "which": which}, 1.0)
    for table in (np.float32(0), tensors["table"][:0], tensors["table"].astype(np.float16)):
        with pytest.raises(ModelFileError):
            state_from_parts(state.layout, fields, {**tensors, "table": np.asarray(table)}, 1.0)


def test_equal_rows_do_not_expand_beyond_what_a_file_may_ask_for(monkeypatch):
    state, fields, tensors = many_equal_rows()
    monkeypatch.setattr(stored_rows, "ALLOWANCE", 0)
    monkeypatch.setattr(stored_rows, "GROWTH", 4)
    assert "which" not in state_parts(state)[1]
    with pytest.raises(ModelFileError, match="more than such a file may ask for"):
        state_from_parts(state.layout, fields, tensors, 1.0)


def test_equal_rows_of_a_full_covariance_are_refused():
    model = AROWClassifier(covariance="full").fit(np.eye(4), [0, 1, 0, 1])
    fields, tensors = state_parts(model.model_.state)
    tensors["which"] = np.zeros(5, np.uint8)
    with pytest.raises(ModelFileError, match="'which'"):
        state_from_parts(model.model_.state.layout, fields, tensors, 1.0)


def test_what_a_file_may_grow_to_is_what_a_model_may_be_saved_as(monkeypatch):
    """Where leaving rows out would make a file that is refused, all rows are stored."""
    layout = AROWClassifier().learner().layout
    state = layout.allocate(10_000, 1, 1.0, "")
    state.table[3] = 7.0
    assert "row_gaps" in state_parts(state)[1]
    monkeypatch.setattr(stored_rows, "ALLOWANCE", 0)
    for expected in (None, 9_999):
        fields, tensors = state_parts(state, expected=expected)
        assert "row_gaps" not in tensors
        assert_same_state(state_from_parts(layout, fields, tensors, 1.0, expected), state)
    fields, tensors = state_parts(state, expected=10_000)
    assert rows_of(tensors) == [0, 3]
    assert_same_state(state_from_parts(layout, fields, tensors, 1.0, 10_000), state)
    for expected in (9_999, None):
        with pytest.raises(ModelFileError, match="more than such a file may ask for"):
            state_from_parts(layout, fields, tensors, 1.0, expected)


@pytest.mark.parametrize("touched", [1, 10_000])
def test_the_memory_limit_of_whoever_opens_a_file_counts(touched, tmp_path):
    X, y = examples(["a", "b"], width=10_000)
    model = AROWClassifier(memory_limit_gb=1e6).fit(X, y)
    model.model_.state.table[1:touched, 1, 0] = np.arange(1, touched)
    path = tmp_path / "model.sureline"
    save(model, path)
    assert ("row_gaps" in read(path).tensors) == (touched == 1)
    with pytest.raises(ModelFileError) as caught:
        load(path, memory_limit_gb=1e-5)
    assert str(caught.value) == (
        f"{path} cannot be loaded: its model would take 7.45e-05 GB, more than "
        "memory_limit_gb=1e-05; raise memory_limit_gb if you trust the file"
    )
    assert_same_state(load(path, memory_limit_gb=1e-4).model_.state, model.model_.state)


def test_a_model_does_not_outgrow_the_limit_of_whoever_opened_it(tmp_path):
    path = tmp_path / "model.sureline"
    X, y = examples(["a", "b"], d=1000)
    AROWClassifier(memory_limit_gb=1e6).fit(X, y).save(path)
    loaded = load(path, memory_limit_gb=2e-5)
    assert loaded.memory_limit_gb == 2e-5
    with pytest.raises(InvalidParameter, match=r"x 26 classes.* more than memory_limit_gb=2e-05"):
        loaded.partial_fit(X[:24], list("cdefghijklmnopqrstuvwxyz"))
    AROWClassifier(memory_limit_gb=2.0).fit(X, y).save(path)
    assert load(path).memory_limit_gb == 2.0
    rewrite(path, put("m.parameters.memory_limit_gb", 1e-12))  # too little for an empty model
    assert load(path).memory_limit_gb == 1e-12


@pytest.mark.parametrize("limit", [0, -1, "4", None, float("nan"), float("inf")])
def test_a_memory_limit_that_is_none_is_refused(limit, tmp_path):
    with pytest.raises(InvalidParameter, match="load: memory_limit_gb must be a number in"):
        load(tmp_path / "model.sureline", memory_limit_gb=limit)


def test_labels_declared_wider_than_memory_are_refused():
    values = ["x" * 1000, *map(str, range(1000))]
    stored = {"dtype": "<U1000", "values": values}
    assert labels_from_json(stored, 1.0).tolist() == values
    with pytest.raises(ModelFileError, match=r"its array of labels would take 0.00373 GB, more"):
        labels_from_json(stored, 0.001)


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
        AROWClassifier.from_parts(metadata, tensors, 1.0)


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
