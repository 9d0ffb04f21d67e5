"""Text classifiers in files: the same to the bit, and harmless whatever is done to the file."""

import json
import os
import struct
from contextlib import suppress

import numpy as np
import pytest
from cases import several
from safetensors import safe_open
from safetensors.numpy import load_file
from texts import KINDS, LABELS, TEXTS, learned, topics

import sureline
from sureline import ModelFileError, SurelineError, TextClassifier
from sureline.model.file import read, verify, write


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_is_the_same_and_goes_on_the_same(kind, many, tmp_path):
    texts, labels = topics() if many else (TEXTS, LABELS)
    half = len(texts) // 2
    model = TextClassifier(**KINDS[kind]).partial_fit(texts[:half], labels[:half])
    path = tmp_path / "model.sureline"
    model.save(path)
    before = path.read_bytes()
    other = sureline.load(path)
    assert learned(other) == learned(model)
    assert repr(other) == repr(model)
    probes = [*texts[half:], "xyzzy never seen"]
    assert (other.decision_function(probes) == model.decision_function(probes)).all()
    assert other.explain(probes[0]) == model.explain(probes[0])
    for each in (model, other):
        each.partial_fit(texts[half:], labels[half:])
    assert learned(other) == learned(model)
    assert path.read_bytes() == before
    again = tmp_path / "again.sureline"
    sureline.load(path).save(again)
    assert again.read_bytes() == before


def test_names_are_forgotten_and_learned_again_as_without_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sureline.features.hashing, "MOST_NAMES", 300)
    monkeypatch.setattr(sureline.features.hashing, "KEPT_NAMES", 150)
    path, half = tmp_path / "named.sureline", len(TEXTS) // 2
    model = TextClassifier(features="hash", bits=14).partial_fit(TEXTS[:half], LABELS[:half])
    assert model.model_.columns.arrays.sizes[1] > 1  # only some texts give names by now
    model.save(path)
    loaded = sureline.load(path)
    for each in (model, loaded):
        each.partial_fit(TEXTS[half:], LABELS[half:])
    assert learned(loaded) == learned(model)
    assert loaded.model_.columns.arrays.sizes.tolist() == model.model_.columns.arrays.sizes.tolist()


def test_plain_safetensors_reads_it(tmp_path):
    path = tmp_path / "model.sureline"
    model = TextClassifier(weighting=None).fit(TEXTS, LABELS)
    model.save(path)
    tensors = load_file(path)
    assert (tensors["table"][1 : model.n_features_ + 1, 0, 0] == model.coef_[0]).all()
    with safe_open(path, framework="np") as file:
        told = json.loads(file.metadata()["sureline"])
    assert told["estimator"] == "TextClassifier"
    assert told["online"]["labels"]["values"] == ["ham", "spam"]
    verify(path)


def test_large_arrays_are_mapped_not_read(tmp_path):
    path = tmp_path / "model.sureline"
    TextClassifier().fit(TEXTS, LABELS).save(path)
    known = sureline.load(path).model_
    for array in (known.columns.arrays.table, known.columns.arrays.names.letters):
        base = array
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        assert not isinstance(base, np.ndarray)


def survives(path):
    """Whether a file loads; a model from it must do everything without a crash."""
    try:
        model = sureline.load(path)
    except ModelFileError:
        return False
    with suppress(SurelineError):  # such as an overflow, or a vocabulary that is damaged
        model.predict(["free prize for you", TEXTS[1]])
        if hasattr(model, "predict_proba"):
            model.predict_proba(["see you"])
        model.explain("call now, free")
        model.top_features(model.classes_.tolist()[0], 3)
        model.partial_fit(["a new text entirely", *TEXTS[:3]], [model.classes_[0]] * 4)
        model.learn_one("another one", model.classes_.tolist()[-1])
    return True


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["default", "hash", "often", "chars"])
def test_mutated_files_are_refused_or_harmless(kind, tmp_path):
    count = int(os.environ.get("SURELINE_MUTATIONS", several(600, 40)))
    path = tmp_path / "model.sureline"
    TextClassifier(**KINDS[kind], random_state=0).fit(TEXTS[:20], LABELS[:20]).save(path)
    whole = bytearray(path.read_bytes())
    assert survives(path)
    [size] = struct.unpack("<Q", whole[:8])
    rng = np.random.default_rng(5)
    for number in range(count):
        data = bytearray(whole)
        if number % 4 == 0:  # anywhere
            for place in rng.integers(0, len(data), rng.integers(1, 5)):
                data[place] ^= 1 << int(rng.integers(0, 8))
        elif number % 4 == 1:  # in the header
            place = int(rng.integers(0, 8 + size))
            data[place] = int(rng.integers(0, 256))
        elif number % 4 == 2:  # cut, or a part moved
            start, stop = np.sort(rng.integers(0, len(data), 2))
            data = data[:start] + data[stop:] if rng.random() < 0.5 else data[:stop]
        else:  # numbers of the arrays, eight bytes at a time
            place = 8 + size + 8 * int(rng.integers(0, (len(data) - 8 - size) // 8))
            data[place : place + 8] = rng.bytes(8)
        path.write_bytes(data)
        survives(path)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", ["default", "hash"])
def test_hostile_metadata_is_refused(kind, tmp_path):
    path = tmp_path / "model.sureline"
    TextClassifier(**KINDS[kind], random_state=0).fit(TEXTS[:20], LABELS[:20]).save(path)
    opened = read(path)
    tensors = {name: np.array(tensor) for name, tensor in opened.tensors.items()}

    def walk(value, path=()):
        yield path
        if isinstance(value, dict):
            for key in value:
                yield from walk(value[key], (*path, key))

    refused = total = 0
    for place in list(walk(opened.metadata))[1:]:
        if place[0] in ("format", "sureline"):
            continue
        for hostile in (None, -1, 2**62, 1e308, "x", [], {}, [[]], True, {"tuple": 3}):
            metadata = json.loads(json.dumps(opened.metadata))
            inner = metadata
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = hostile
            write(path, metadata, tensors)
            refused += not survives(path)
            total += 1
    assert refused > 0.5 * total


def as_if_full(table):
    table[table[:, 0] == 0] = [[12345, 2**62]]


def beyond_all_columns(table):
    table[table[:, 0] != 0, 1] = 2**63


def one_column_twice(table):
    taken = np.flatnonzero(table[:, 0])
    table[taken[1:], 1] = table[taken[0], 1]


def no_feature_with_a_column(table):
    table[np.flatnonzero(table[:, 0] == 0)[0], 1] = 1


@pytest.mark.parametrize(
    "damage", [as_if_full, beyond_all_columns, one_column_twice, no_feature_with_a_column]
)
def test_a_vocabulary_that_would_be_written_out_of_bounds_is_refused(damage, tmp_path):
    path = tmp_path / "model.sureline"
    TextClassifier(random_state=0).fit(TEXTS[:20], LABELS[:20]).save(path)
    opened = read(path)
    tensors = {name: np.array(tensor) for name, tensor in opened.tensors.items()}
    damage(tensors["vocabulary"])
    write(path, opened.metadata, tensors)
    with pytest.raises(ModelFileError, match="vocabulary does not have one place"):
        sureline.load(path)


def test_no_meaning_of_a_place_is_written_out_of_bounds():
    """Even where nobody has checked the table before."""
    model = TextClassifier(random_state=0).fit(TEXTS[:20], LABELS[:20])
    table = model.model_.columns.arrays.table
    for meaning in (2**62, 2**63 - 1, 2**63):
        table[table[:, 0] != 0, 1] = meaning
        with suppress(SurelineError):
            model.partial_fit(TEXTS[:20], LABELS[:20])
            model.learn_one(TEXTS[0], LABELS[0])


def test_a_newer_tokenizer_is_refused(tmp_path):
    path = tmp_path / "model.sureline"
    TextClassifier(random_state=0).fit(TEXTS[:20], LABELS[:20]).save(path)
    opened = read(path)
    write(path, {**opened.metadata, "scheme": 2}, dict(opened.tensors))
    with pytest.raises(ModelFileError, match=r"version 2 of the tokenizer.*upgrade"):
        sureline.load(path)


@pytest.mark.parametrize("weight", [float("nan"), float("inf"), -1.0])
def test_a_weight_that_is_no_number_leaves_the_model_as_it_was(weight, tmp_path):
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    model.save(tmp_path / "before.sureline")
    with pytest.raises(ValueError, match="sample_weight"):
        model.learn_one(TEXTS[0], LABELS[0], weight=weight)
    model.save(tmp_path / "after.sureline")
    assert (tmp_path / "before.sureline").read_bytes() == (tmp_path / "after.sureline").read_bytes()


def test_a_model_that_is_not_finite_is_neither_saved_nor_loaded(tmp_path):
    path = tmp_path / "model.sureline"
    model = TextClassifier(random_state=0).fit(TEXTS, LABELS)
    model.save(path)
    good = path.read_bytes()
    opened = read(path)
    for place, value, message in (
        ((3, 0, 0), np.nan, "'table' has numbers that are not finite"),
        ((3, 1, 0), np.inf, "'table' has numbers that are not finite"),
        ((3, 1, 0), -1.0, "variances below 0"),
    ):
        tensors = {name: np.array(tensor) for name, tensor in opened.tensors.items()}
        tensors["table"][place] = value
        write(path, opened.metadata, tensors)
        with pytest.raises(ModelFileError, match=message):
            sureline.load(path)
        path.write_bytes(good)
    model.model_.state.table[3, 0, 0] = np.nan
    with pytest.raises(ModelFileError, match="not finite"):
        model.save(path)
    assert path.read_bytes() == good
