"""Text classifiers in files: the same to the bit, and harmless whatever is done to the file."""

import json
import os
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

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
    for array in (known.state.table, known.columns.arrays.names.letters):
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
        if not model.model_.learner.compact:
            model.top_features(model.classes_.tolist()[0], 3)
        model.partial_fit(["a new text entirely", *TEXTS[:3]], [model.classes_[0]] * 4)
        model.learn_one("another one", model.classes_.tolist()[-1])
    return True


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("kind", ["default", "hash", "often", "chars"])
def test_mutated_files_are_refused_or_harmless(kind, compact, tmp_path):
    count = int(os.environ.get("SURELINE_MUTATIONS", several(600, 40)))
    path = tmp_path / "model.sureline"
    model = TextClassifier(**KINDS[kind], random_state=0).fit(TEXTS[:20], LABELS[:20])
    model.save(path, compact=compact)
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


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (lambda keys: keys * 0, "is damaged"),
        (lambda keys: np.append(keys[:-1], np.uint64(0)), "is damaged"),
        (lambda keys: np.arange(1, keys.size + 1, dtype=np.uint64) << np.uint64(40), "is damaged"),
        (lambda keys: keys[:-1], "not as many features as it says"),
        (lambda keys: keys.astype(np.int64), "no list of uint64"),
        (lambda keys: keys[:, np.newaxis], "no list of uint64"),
    ],
    ids=["zero", "one zero", "all in one place", "too few", "signed", "two dimensions"],
)
def test_keys_that_are_no_fingerprints_are_refused(keys, says, tmp_path):
    """Filling a hash table with keys that all begin at one place would take for ever."""
    path = tmp_path / "model.sureline"
    TextClassifier(random_state=0, chars=(1, 5)).fit(TEXTS, LABELS).save(path)
    opened = read(path)
    assert opened.tensors["keys"].size > 1000
    write(path, opened.metadata, {**opened.tensors, "keys": keys(opened.tensors["keys"])})
    with pytest.raises(ModelFileError, match=says):
        sureline.load(path)


@pytest.mark.parametrize("count", [0, 3, 2**40])
def test_features_that_wait_have_been_in_too_few_texts(count, tmp_path):
    path = tmp_path / "model.sureline"
    TextClassifier(random_state=0, min_count=3).fit(TEXTS, LABELS).save(path)
    opened = read(path)
    assert opened.tensors["waiting_counts"].dtype == np.uint8
    counts = opened.tensors["waiting_counts"].astype(np.uint64)
    counts[5] = count
    write(path, opened.metadata, {**opened.tensors, "waiting_counts": counts})
    with pytest.raises(ModelFileError, match="have been in 1 to 2 texts"):
        sureline.load(path)


STORED = Path(__file__).parents[2] / "model" / "models"
OLD = json.loads((STORED / "text-1.json").read_text())


@pytest.mark.parametrize("name", ["text-waiting", "text-many", "text-hash"])
def test_texts_of_format_1_are_read_for_ever(name, tmp_path):
    old = sureline.load(STORED / f"{name}-1.sureline")
    verify(STORED / f"{name}-1.sureline")
    probes, expected = ["a free lunch", "call now"], OLD[name]
    assert old.decision_function(probes).tolist() == expected["scores"]
    spam = [[each.feature, each.weight] for each in old.top_features("spam", 3)]
    assert spam == expected["spam"]
    old.save(tmp_path / "new.sureline")
    new = sureline.load(tmp_path / "new.sureline")
    assert learned(new) == learned(old)
    for each in (old, new):
        each.partial_fit(["a free phone at noon", "see the plan"], ["spam", "ham"])
    assert learned(new) == learned(old)
    assert new.n_features_ == expected["features"]


def test_a_vectorizer_of_format_1_is_read_for_ever(tmp_path):
    old = sureline.load(STORED / "text-features-1.sureline")
    old.save(tmp_path / "new.sureline")
    for each in (old, sureline.load(tmp_path / "new.sureline")):
        rows = each.transform(["a free lunch", "call now"]).toarray()
        assert rows.tolist() == OLD["text-features"]["rows"]
        assert each.get_feature_names_out().tolist() == OLD["text-features"]["names"]


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
    opened = read(STORED / "text-many-1.sureline")  # later formats do not hold the table
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
    write(path, {**opened.metadata, "scheme": 3}, dict(opened.tensors))
    with pytest.raises(ModelFileError, match=r"version 3 of the tokenizer.*upgrade"):
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


def test_a_small_file_cannot_ask_for_more_memory_than_its_reader_allows(tmp_path):
    path = tmp_path / "bomb.sureline"
    TextClassifier(features="hash", bits=4).fit(TEXTS, LABELS).save(path)
    opened = read(path)
    stored = opened.metadata
    stored["parameters"]["bits"] = stored["columns"]["bits"] = 30
    online, tensors = stored["online"], {**opened.tensors}
    online["parameters"]["memory_limit_gb"] = 1e6
    online["state"]["features"] = 2**30
    tensors |= {"rows": np.arange(17, dtype=np.int32), "rest": tensors["table"][1, :2]}
    write(path, stored, tensors)
    assert path.stat().st_size < 5_000
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) as caught:
            sureline.load(path)
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()
    assert str(caught.value) == (
        f"{path} cannot be loaded: its model would take 16 GB, more than memory_limit_gb=4; raise "
        "memory_limit_gb if you trust the file"
    )


@pytest.mark.parametrize("depth", [2, 300])
def test_estimators_inside_estimators_do_not_end_in_a_recursion_error(depth, tmp_path):
    path = tmp_path / "deep.sureline"
    TextClassifier().fit(TEXTS, LABELS).save(path)
    opened, inner = read(path), None
    for _ in range(depth):
        inner = {"estimator": "TextClassifier", "parameters": {"estimator": inner}}
    opened.metadata["parameters"]["estimator"] = inner
    write(path, opened.metadata, opened.tensors)
    with pytest.raises(ModelFileError, match=r"nested too deeply|must be one of sureline's online"):
        sureline.load(path)
