"""What Spark's processes do, without Spark: learning a partition, summing, predicting."""

import copy
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest
from cases import CASES, make, stream
from spark_cluster import PANDAS
from texts import compare_texts, texts_of

from sureline import AROWClassifier, DataError, Drift, InvalidParameter, TextClassifier, merge
from sureline.data import as_text, sms_spam
from sureline.estimators import classifier_for
from sureline.estimators.text.pipeline import TextPipeline
from sureline.model.learner import AGAIN
from sureline.model.merge.algebra import HOWS, check_how
from sureline.model.merge.sums import added_by, name_sums, state_from_sums

pytestmark = [
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed"),
    pytest.mark.filterwarnings(PANDAS),
]


class FakeBroadcast:
    """A model in this process, in place of a broadcast."""

    def __init__(self, value):
        self.value = value


def batches_of(texts, labels, size=7):
    for k in range(0, len(texts), size):
        columns = [pa.array(texts[k : k + size]), pa.array(labels[k : k + size])]
        yield pa.RecordBatch.from_arrays(columns, ["input", "label"])


def sum_rows(emitted, sums):
    """What Spark's ``groupBy().sum()`` does, packed and unpacked."""
    from sureline.spark.sum_rows import KEYS, SummedRows, pack

    table = pa.Table.from_batches([batch for each in emitted for batch in each])
    summed = table.group_by(list(KEYS)).aggregate([(name, "sum") for name in sums])
    order = [*KEYS, *(f"{name}_sum" for name in sums)]
    packed = pack(iter(summed.select(order).to_batches(max_chunksize=100)))
    return SummedRows(value for batch in packed for value in batch["packed"].to_pylist())


@pytest.mark.parametrize("how", HOWS)
def test_partitions_of_texts_with_several_labels_merge(how):
    texts, codes = texts_of(60, 3)
    sets = [sorted({str(code), str(k % 4 * 2)} - {"0"}) for k, code in enumerate(codes)]
    labels = sorted({label for each in sets for label in each})
    start = TextClassifier().partial_fit([""], [[]], classes=labels, sample_weight=[0.0])
    parts = [slice(0, 25), slice(25, 60)]
    made, counters = learn_partitions(start, [(texts[p], sets[p]) for p in parts], how)
    apart = [TextClassifier().partial_fit(texts[p], sets[p], classes=labels) for p in parts]
    expected = merge(apart, how=how)
    assert counters.seen == 60
    assert made.is_multilabel
    np.testing.assert_allclose(
        made.decision_function(texts), expected.decision_function(texts), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(
        made.predict_proba(texts), expected.predict_proba(texts), rtol=1e-3, atol=1e-4
    )
    rows = [each.model_.by_class(each.model_.state.outcomes) for each in (made, expected)]
    np.testing.assert_allclose(*rows, rtol=1e-9)


KINDS = {"subject": "text", "body": "text", "sender": "category", "amount": "number"}


def rows_of(n, seed):
    """Rows of a table, some values missing, and labels."""
    texts, labels = texts_of(2 * n, seed)
    rng = np.random.default_rng(seed)
    rows = [
        {
            "amount": None if k % 7 == 0 else 1e9 + float(rng.normal(int(labels[k][-1]), 2.0)),
            "sender": None if k % 5 == 0 else f"sender {k % 3}",
            "subject": texts[n + k][:20],
            "body": None if k % 11 == 0 else texts[k],
            "other": k,
        }
        for k in range(n)
    ]
    return rows, labels[:n]


@pytest.mark.parametrize("how", ["product-prior", "kl"])
def test_partitions_of_rows_of_several_columns_merge(how):
    rows, labels = rows_of(60, 3)
    start = with_classes(TextClassifier(columns=KINDS), sorted(set(labels)))
    # Two parts have the same numbers, and one has none.
    parts = [(rows[:25], labels[:25])] * 2 + [(rows[25:], labels[25:])]
    parts.append(([row | {"amount": None} for row in rows[:9]], labels[:9]))
    made, counters = learn_partitions(start, parts, how)
    classes = sorted(set(labels))
    apart = [TextClassifier(columns=KINDS).partial_fit(*part, classes=classes) for part in parts]
    expected = merge(apart, how=how)
    assert counters.seen == 94
    assert made.columns_ == KINDS
    # The order of parts changes last digits alone, even of numbers far larger than their spread.
    [(count, mean, spread)] = made.model_.tokenizer.moments.describe()
    known = [row["amount"] for part, _ in parts for row in part if row["amount"] is not None]
    assert (count, mean) == (len(known), pytest.approx(np.mean(known), rel=1e-15))
    assert spread == pytest.approx(np.std(known), rel=1e-6)
    np.testing.assert_allclose(
        made.predict_proba(rows), expected.predict_proba(rows), rtol=1e-3, atol=1e-4
    )
    again, _ = learn_partitions(made, parts, "kl", again=True)
    np.testing.assert_array_equal(
        again.model_.tokenizer.moments.array, made.model_.tokenizer.moments.array
    )
    more, _ = learn_partitions(made, [(rows[25:], labels[25:])], "kl")  # as a stream goes on
    assert more.model_.tokenizer.moments.describe()[0][0] == len(known) + 30


def test_rows_of_several_columns_are_predicted_with_values_missing():
    import pandas as pd

    from sureline.spark.prediction import PredictionTask

    rows, labels = rows_of(60, 3)
    for kinds in (KINDS, {"subject": "text"}):
        model = TextClassifier(columns=kinds).partial_fit(rows, labels)
        outputs = ("prediction", "probability", "raw")
        task = PredictionTask(FakeBroadcast(model), outputs, "error", ", ".join(kinds))
        given = pd.DataFrame(rows)[[*kinds]]
        (frame,) = task.predict_tables(iter([given]))
        assert frame["prediction"].tolist() == model.predict(rows).tolist()
        np.testing.assert_array_equal(np.stack(frame["raw"]), model.decision_function(rows))
    model = TextClassifier(columns=KINDS).partial_fit(rows, labels)
    task = PredictionTask(FakeBroadcast(model), ("prediction",), "keep", "t")
    wrong = pd.DataFrame([rows[0] | {"amount": "much"}])
    with pytest.raises(DataError, match="row 0, column 'amount': 'much' is not a number"):
        list(task.predict_tables(iter([wrong])))


def partition_task(start, how, again=False):
    from sureline.spark.partition import PartitionTask

    sums = name_sums(start.model_.learner, how)
    return PartitionTask(FakeBroadcast(start), how, sums, again, "error", {})


def learn_partitions(start, shards, how, again=False):
    """A round, partition by partition, in this process."""
    from sureline.spark.merge import build_merged

    task = partition_task(start, how, again)
    rows = sum_rows([task.learn(batches_of(*shard)) for shard in shards], task.sums)
    return build_merged(start, how, rows), rows.counters


def with_classes(model, classes):
    from sureline.spark.initial_model import add_classes

    return add_classes(model, np.array(classes))


def counted(model):
    """How many texts of each class have had each feature, and how many tokens there were."""
    state = model.model_.state
    counts = state.class_counts[: model.n_features_ + 1, : state.classes].tolist()
    if counts and model.features == "vocabulary":
        counts = dict(zip(["", *model.get_feature_names_out()], counts, strict=True))
    return counts, state.class_tokens[: state.classes].tolist()


@pytest.mark.parametrize(
    ("rule", "covariance"), [case for case in CASES if case.values[1] != "full"]
)
@pytest.mark.parametrize("classes", [2, 4])
def test_sums_of_what_models_add_are_their_merge(rule, covariance, classes):
    X, y = stream(3, n=60, d=9)
    y = (y > 0) + (2 * (X[:, 0] > 0) if classes == 4 else 0)
    start = make(rule, covariance)
    start.partial_fit(X[:1], y[:1], classes=np.arange(classes), sample_weight=[0.0])
    parts = [copy.deepcopy(start).partial_fit(X[k::3], y[k::3]) for k in range(3)]
    learner = start.model_.learner
    tried = 0
    for how in HOWS:
        try:
            check_how(learner, how, "")
        except InvalidParameter:
            continue
        sums = np.zeros((10, len(name_sums(learner, how)), start.model_.state.used))
        for part in parts:
            for rows, values in added_by(learner, how, start.model_.state, part.model_.state, 9):
                sums[rows] += values
        rows, columns = np.nonzero(sums.any(axis=1))
        merged = state_from_sums(
            learner,
            how,
            start.model_.state,
            9,
            3,
            [(rows, columns, sums[rows, :, columns])],
            sum(part.model_.state.clock for part in parts),
            np.sum([part.model_.state.counts for part in parts], axis=0),
        )
        expected = merge(parts, how=how).model_.state
        table = expected.table[:, :, : merged.used]
        np.testing.assert_allclose(merged.table, table, rtol=2e-6, atol=1e-6)
        assert (merged.clock, merged.merged) == (expected.clock, expected.merged)
        np.testing.assert_array_equal(merged.counts, expected.counts)
        np.testing.assert_array_equal(merged.last_changed, expected.last_changed[:, : merged.used])
        tried += 1
    assert tried


@pytest.mark.parametrize("how", ["kl", "mean", "product-prior"])
def test_a_later_round_counts_its_start_once_or_per_model(how):
    X, y = stream(5, n=80, d=6)
    start = AROWClassifier(dtype="float64").partial_fit(X[:30], y[:30])
    parts = [copy.deepcopy(start).partial_fit(X[k:80:2], y[k:80:2]) for k in (30, 31)]
    learner, sums = start.model_.learner, np.zeros((7, 2, 1))
    for part in parts:
        for rows, values in added_by(learner, how, start.model_.state, part.model_.state, 6):
            sums[rows] += values
    rows, columns = np.nonzero(sums.any(axis=1))
    entries = [(rows, columns, sums[rows, :, columns])]
    state = state_from_sums(
        learner, how, start.model_.state, 6, 2, entries, 50, np.zeros(3, np.int64)
    )
    m0, v0 = start.model_.state.table[:, :, 0].T
    (m1, v1), (m2, v2) = (part.model_.state.table[:, :, 0].T for part in parts)
    expected = {
        "kl": ((m1 / v1 + m2 / v2) / (1 / v1 + 1 / v2), 2 / (1 / v1 + 1 / v2)),
        "mean": ((m1 + m2) / 2, (v1 + v2) / 2),
        "product-prior": (
            (m1 / v1 + m2 / v2 - m0 / v0) / (1 / v1 + 1 / v2 - 1 / v0),
            1 / (1 / v1 + 1 / v2 - 1 / v0),
        ),
    }[how]
    np.testing.assert_allclose(state.table[:, :, 0].T, expected, rtol=1e-12)
    assert state.merged == 1
    same = state_from_sums(learner, how, start.model_.state, 6, 0, [], 0, np.zeros(3, np.int64))
    np.testing.assert_array_equal(same.table, start.model_.state.table)


@pytest.mark.parametrize("features", ["vocabulary", "hash"])
@pytest.mark.parametrize("classes", [2, 20])
@pytest.mark.parametrize(
    ("how", "weighting", "r"),
    [
        ("product-prior", "nb", 1.0),
        ("product-prior", "nb", "auto"),
        ("kl", "nb", 1.0),
        ("mean", "nb", 1.0),
        ("product-prior", "idf", 1.0),
        ("kl", None, "auto"),
    ],
)
def test_partitions_of_texts_become_their_merge(features, classes, how, weighting, r):
    estimator = AROWClassifier(r=r, scheme="one-vs-rest")
    settings = {"features": features, "bits": 14, "weighting": weighting, "estimator": estimator}
    settings["drift"] = None  # partitions have no order
    texts, labels = texts_of(150, classes)
    order = np.argsort(labels, kind="stable")[::-1]  # partitions lack classes
    texts, labels = [texts[k] for k in order], labels[order]
    shards = [(texts[k : k + 50], labels[k : k + 50]) for k in (0, 50, 100)]
    every = np.unique(labels)
    start = with_classes(TextClassifier(**settings), every)
    ours, counters = learn_partitions(start, shards, how)
    models = [TextClassifier(**settings).partial_fit(*shard, classes=every) for shard in shards]
    theirs = merge(models, how=how)
    if features == "hash":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
        named = [
            [name.startswith("column ") for name in model.get_feature_names_out()]
            for model in (ours, theirs)  # of names that fall together either may be remembered
        ]
        assert named[0] == named[1]
    else:
        compare_texts(ours, theirs)
    np.testing.assert_allclose(ours.predict_proba(texts), theirs.predict_proba(texts), atol=1e-6)
    np.testing.assert_allclose(
        ours.model_.state.calibrator, theirs.model_.state.calibrator, rtol=1e-6
    )
    np.testing.assert_allclose(ours.model_.state.noise_sums, theirs.model_.state.noise_sums)
    assert (ours.model_.state.noise_sums[1] > 0) == (r == "auto")
    assert counted(ours) == counted(theirs)
    assert (counters.models, counters.seen) == (3, 150)
    assert counters.one_class == sum(np.unique(shard[1]).size == 1 for shard in shards)


def test_features_without_a_column_are_counted_across_partitions():
    shards = [(["a b", "a"], ["x", "y"]), (["a c", "b"], ["x", "y"]), (["d c"], ["x"])]
    settings = {"min_count": 2, "ngrams": (1, 1)}
    ours, _ = learn_partitions(with_classes(TextClassifier(**settings), ["x", "y"]), shards, "kl")
    models = [TextClassifier(**settings).partial_fit(*s, classes=["x", "y"]) for s in shards]
    theirs = merge(models, how="kl")
    compare_texts(ours, theirs)
    for mine, their in zip(
        ours.model_.columns.waiting(), theirs.model_.columns.waiting(), strict=True
    ):
        np.testing.assert_array_equal(mine, their)
    for model in (ours, theirs):
        model.partial_fit(["b c d"], ["x"])
    compare_texts(ours, theirs)


def test_a_second_round_continues_from_the_first():
    texts, labels = texts_of(120, 3, seed=1)
    shards = [(texts[k::2], labels[k::2]) for k in range(2)]
    first, _ = learn_partitions(
        with_classes(TextClassifier(), np.unique(labels)), shards, "product-prior"
    )
    second, _ = learn_partitions(first, shards, "kl", again=True)
    parts = [copy.deepcopy(first) for _ in shards]
    for part, (some, given) in zip(parts, shards, strict=True):
        TextPipeline(part.model_, as_text(some), given, np.ones(given.size), turn=AGAIN).run()
    rows = first.n_features_ + 1
    tables = [model.model_.state.table[:rows] for model in (second, merge(parts, how="kl"))]
    np.testing.assert_allclose(*tables, atol=1e-6)
    np.testing.assert_array_equal(
        second.model_.state.class_counts[:rows], first.model_.state.class_counts[:rows]
    )
    np.testing.assert_array_equal(second.model_.state.class_tokens, first.model_.state.class_tokens)
    np.testing.assert_array_equal(second.model_.state.calibrator, first.model_.state.calibrator)
    assert second.get_feature_names_out().tolist() == first.get_feature_names_out().tolist()
    seen = first.model_.columns.arrays.seen, second.model_.columns.arrays.seen
    np.testing.assert_array_equal(*(each[: first.n_features_] for each in seen))
    assert second.n_seen_ == 240


def test_partitions_without_new_words_can_be_merged():
    texts, labels = texts_of(60, 2, seed=5)
    shards = [(texts[k::2], labels[k::2]) for k in range(2)]
    first, _ = learn_partitions(
        with_classes(TextClassifier(), np.unique(labels)), shards, "product-prior"
    )
    second, _ = learn_partitions(first, shards, "kl")
    parts = [copy.deepcopy(first).partial_fit(*shard) for shard in shards]
    count = first.n_features_
    states = [model.model_.state for model in (second, merge(parts, how="kl"))]
    np.testing.assert_allclose(*(state.table[: count + 1] for state in states), atol=1e-6)
    np.testing.assert_allclose(*(state.calibrator for state in states), rtol=1e-6)
    # What the start had counted counts once, and every text has now been counted twice.
    counted = [model.model_.state.class_counts[: count + 1] for model in (first, second)]
    np.testing.assert_array_equal(2 * counted[0], counted[1])
    np.testing.assert_array_equal(
        2 * first.model_.state.class_tokens, second.model_.state.class_tokens
    )
    seen = [model.model_.columns.arrays.seen[:count] for model in (first, second)]
    np.testing.assert_array_equal(2 * seen[0], seen[1])


def test_the_most_frequent_words_come_first():
    shards = [(["b a", "a"], ["x", "y"]), (["c a", "b"], ["x", "y"])]
    model, _ = learn_partitions(
        with_classes(TextClassifier(ngrams=(1, 1)), ["x", "y"]), shards, "kl"
    )
    assert model.get_feature_names_out().tolist()[:2] == ["a", "b"]
    assert model.model_.columns.arrays.seen[:3].tolist() == [3, 2, 1]


def test_pruned_partitions_add_up():
    texts, labels = texts_of(200, 2, seed=2)
    shards = [(texts[k::2], labels[k::2]) for k in range(2)]
    settings = {"max_features": 60}
    start = with_classes(TextClassifier(**settings), np.unique(labels))
    first, _ = learn_partitions(start, shards, "product-prior")
    models = [TextClassifier(**settings).partial_fit(*s, classes=np.unique(labels)) for s in shards]
    compare_texts(first, merge(models, how="product-prior"))
    second, _ = learn_partitions(first, shards, "kl")  # every partition prunes the start by itself
    assert np.isfinite(second.coef_).all()
    assert second.score(texts, labels) > 0.7


def test_rules_without_variances_are_summed_by_mean():
    texts, labels = texts_of(90, 3, seed=3)
    shards = [(texts[k::3], labels[k::3]) for k in range(3)]
    for rule in ("pa-i", "averaged-perceptron", "adagrad-comid", "sop"):
        inside = classifier_for(rule)()
        ours, _ = learn_partitions(
            with_classes(TextClassifier(inside), np.unique(labels)), shards, "mean"
        )
        models = [TextClassifier(inside).partial_fit(*s, classes=np.unique(labels)) for s in shards]
        compare_texts(ours, merge(models, how="mean"))


def test_missing_values_are_left_out_or_an_error():
    from sureline.spark.batches import drop_missing

    batch = pa.RecordBatch.from_pydict(
        {"input": ["a", None, "b", "c"], "label": [1.0, 2.0, None, float("nan")]}
    )
    names = {"input": "message", "label": "kind"}
    assert drop_missing(batch, "keep", names).to_pylist() == [{"input": "a", "label": 1.0}]
    whole = batch.slice(0, 1)
    assert drop_missing(whole, "error", names) is whole
    with pytest.raises(DataError, match="the column 'message' has a missing value; fill it, or"):
        drop_missing(batch, "error", names)


def vectors(rows, size):
    """Vectors as Spark has them in Arrow: lists are dense, dictionaries sparse."""
    fields = [
        pa.field("type", pa.int8()),
        pa.field("size", pa.int32()),
        pa.field("indices", pa.list_(pa.int32())),
        pa.field("values", pa.list_(pa.float64())),
    ]
    made = [
        {"type": 1, "size": None, "indices": None, "values": row}
        if isinstance(row, list)
        else {"type": 0, "size": size, "indices": [*row], "values": [*row.values()]}
        for row in rows
    ]
    return pa.array(made, pa.struct(fields))


def test_dense_and_sparse_vectors_become_one_matrix():
    from sureline.spark.batches import as_matrix

    column = vectors([{1: 2.0, 3: 4.0}, [1.0, 0.0, 0.0, 5.0], {}, {0: 0.0}], 4)
    matrix = as_matrix(column, 4, "rows")
    expected = [[0, 2, 0, 4], [1, 0, 0, 5], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert matrix.toarray().tolist() == expected
    assert as_matrix(column.slice(1, 1), 4, "rows").toarray().tolist() == expected[1:2]
    with pytest.raises(DataError, match="rows: a vector has 4 numbers, others have 5"):
        as_matrix(column, 5, "rows")


def test_partitions_of_vectors_become_their_merge():
    from sureline.spark.merge import build_merged

    X, y = stream(7, n=60, d=5)
    start = AROWClassifier()
    start.partial_fit(X[:1], y[:1], classes=[-1.0, 1.0], sample_weight=[0.0])
    task = partition_task(start, "kl")
    emitted, weight = [], np.linspace(0.5, 2.0, 60)
    for k in range(2):
        columns = [vectors(X[k::2].tolist(), 5), pa.array(y[k::2]), pa.array(weight[k::2])]
        batch = pa.RecordBatch.from_arrays(columns, ["input", "label", "weight"])
        emitted.append(task.learn(iter([batch])))
    ours = build_merged(start, "kl", sum_rows(emitted, task.sums))
    models = [
        AROWClassifier().partial_fit(X[k::2], y[k::2], [-1.0, 1.0], weight[k::2]) for k in range(2)
    ]
    np.testing.assert_allclose(ours.coef_, merge(models).coef_, atol=1e-6)
    np.testing.assert_allclose(ours.variance_, merge(models).variance_, atol=1e-6)
    bad = [vectors([[1.0] * 5], 5), pa.array([1.0]), pa.array([-1.0])]
    batch = pa.RecordBatch.from_arrays(bad, ["input", "label", "weight"])
    with pytest.raises(DataError, match="weights must be finite and at least 0"):
        list(task.learn(iter([batch])))


def test_a_partition_without_rows_emits_nothing_and_an_unknown_label_is_refused():
    task = partition_task(with_classes(TextClassifier(), ["x", "y"]), "kl")
    assert list(task.learn(iter([]))) == []
    with pytest.raises(DataError, match="the label 'z' is not among the classes, which are 'x', "):
        list(task.learn(batches_of(["t"], ["z"])))


def test_predictions_keep_the_order_of_rows_and_the_nulls():
    import pandas as pd

    from sureline.spark.prediction import PredictionTask

    model = TextClassifier().partial_fit(*texts_of(60, 3))
    texts = ["word1 word2", None, "word4 word5 word6"]
    outputs = ("prediction", "probability", "raw")
    task = PredictionTask(FakeBroadcast(model), outputs, "keep", "t")
    (frame,) = task.predict_texts(iter([pd.Series(texts)]))
    rows = [texts[0], texts[2]]
    assert frame["prediction"].tolist() == [
        model.predict(rows)[0],
        None,
        model.predict(rows)[1],
    ]
    np.testing.assert_array_equal(frame["probability"][2], model.predict_proba(rows)[1])
    np.testing.assert_array_equal(frame["raw"][0], model.decision_function(rows)[0])
    assert frame["raw"][1] is None
    (empty,) = task.predict_texts(iter([pd.Series([None])]))
    assert empty["prediction"].tolist() == [None]
    with pytest.raises(DataError, match="the column 't' has a missing value; fill it, or set "):
        list(replace(task, invalid="error").predict_texts(iter([pd.Series([None])])))

    X, y = stream(9, n=40, d=3)
    numbers = AROWClassifier(random_state=0).fit(X, y.astype(int))
    rows = vectors([[1.0, 2.0, 3.0], {1: 1.0}], 3).to_pylist()
    given = pd.DataFrame([rows[0], dict.fromkeys(rows[0]), rows[1]])
    task = PredictionTask(FakeBroadcast(numbers), ("prediction", "raw"), "keep", "v")
    (frame,) = task.predict_vectors(iter([given]))
    dense = [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]
    expected = numbers.predict(dense).astype(float)
    assert frame["prediction"].tolist() == [expected[0], None, expected[1]]
    score = numbers.decision_function(dense)[1]
    np.testing.assert_allclose(frame["raw"][2], [-score, score])


def test_a_broadcast_model_is_mapped_from_one_file(tmp_path, monkeypatch):
    from sureline.spark.broadcast import KEPT, PickledAsFile

    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},elsewhere")
    model = TextClassifier().partial_fit(*texts_of(30, 2))
    sent = pickle.dumps(PickledAsFile(model))
    for _ in range(2):
        got = pickle.loads(sent)
        np.testing.assert_array_equal(got.coef_, model.coef_)
    folder = tmp_path / f"sureline-{os.getuid()}" / "models"
    assert len(list(folder.iterdir())) == 1
    for _ in range(KEPT + 2):
        pickle.loads(pickle.dumps(PickledAsFile(model)))
    assert len(list(folder.iterdir())) == KEPT


@pytest.mark.parametrize("writeable", [True, False])
@pytest.mark.parametrize("given", [None, "elsewhere"])
def test_workers_share_compiled_code_where_the_package_is_read_only(
    tmp_path, monkeypatch, writeable, given
):
    from sureline.spark.executor import share_compiled_code

    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},elsewhere")
    monkeypatch.setenv("NUMBA_CACHE_DIR", given or "")  # restored at the end
    if given is None:
        monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr(os, "access", lambda path, mode: writeable)
    share_compiled_code()
    assert os.environ.get("NUMBA_CACHE_DIR") == given  # Numba has been imported: too late
    monkeypatch.delitem(sys.modules, "numba")
    share_compiled_code()
    shared = None if writeable else str(tmp_path / f"sureline-{os.getuid()}" / "compiled")
    assert os.environ.get("NUMBA_CACHE_DIR") == (given or shared)


@pytest.mark.parametrize("found", ["open to all", "a link", "nothing"])
def test_workers_load_nothing_from_a_folder_that_others_can_write_to(tmp_path, monkeypatch, found):
    from sureline.spark.executor import scratch_folder

    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path))
    folder = tmp_path / f"sureline-{os.getuid()}" / "compiled"
    folder.parent.mkdir()
    if found == "open to all":
        folder.mkdir()
        folder.chmod(0o777)
    elif found == "a link":
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    used = scratch_folder("compiled")
    assert (used == folder) == (found == "nothing")
    assert not used.is_symlink()
    assert used.stat().st_mode & 0o077 == 0
    if used != folder:
        used.rmdir()


def test_errors_of_workers_are_raised_without_their_tracebacks():
    from sureline.spark.merge import plain_errors

    text = (
        "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        '  File "x.py", line 1\nsureline.errors.DataError: a row is wrong: leave it out\n'
    )
    with pytest.raises(DataError) as caught, plain_errors():
        raise RuntimeError(text)
    assert str(caught.value) == "a row is wrong: leave it out"
    with pytest.raises(RuntimeError, match="no more disk"), plain_errors():
        raise RuntimeError("no more disk")


def test_without_pyspark_one_sentence_says_what_to_install():
    script = (
        "import importlib.util as util\n"
        "real = util.find_spec\n"
        "util.find_spec = lambda name, *a: None if name == 'pyspark' else real(name, *a)\n"
        "import sureline\n"
        "try:\n"
        "    import sureline.spark\n"
        "except ImportError as problem:\n"
        "    print(problem)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "sureline.spark needs pyspark, which is not installed: pip install 'sureline[spark]'\n"
    )


def test_parameters_that_contradict_each_other_are_refused():
    from sureline.spark import SurelineClassifier
    from sureline.spark.initial_model import initial_model

    def check(stage):
        stage.check()
        initial_model(stage, np.array(["a", "b"]), None if stage.reads_texts else 2)

    def refused(message, **settings):
        with pytest.raises(InvalidParameter, match=message):
            check(SurelineClassifier(**settings))

    refused("are both set; examples are either texts or vectors", textCol="t", featuresCol="v")
    refused("textCol='t' and textCols=.'a'. are both set; name", textCol="t", textCols=["a"])
    refused("featuresCol='v' and numberCols=", featuresCol="v", textCols=[], numberCols=["a"])
    refused("the column 'a' is named twice", textCols=["a", "b"], categoryCols=["a"])
    refused("bits is an option for texts, but neither textCol nor textCols is set", bits=10)
    refused("shuffle must be 'none' or 'partition' or 'all', got 'some'", shuffle="some")
    refused("how must be 'kl' or", how="best")
    refused("rounds must be a whole number of at least 1, got 0", rounds=0)
    refused("the rule pa-i has no parameter r; it has C, slack", textCol="t", rule="pa-i", r=1.0)
    refused("there is no rule named 'svm'", textCol="t", rule="svm")
    refused("r must be a number in", textCol="t", r=-1.0)


def test_a_stage_becomes_the_classifier_it_describes():
    from sureline.spark import SurelineClassifier
    from sureline.spark.initial_model import initial_model

    classes = np.array(["a", "b", "c"])
    stage = SurelineClassifier(
        textCol="t",
        rule="cw-variance",
        confidence=0.8,
        initialVariance=2.0,
        ngrams=[1, 1],
        chars=[],
        stopWords=["the"],
        features="hash",
        bits=10,
        dtype="float64",
        competitors="all",
    )
    model = initial_model(stage, classes, None)
    assert model.get_params(deep=False) | {"estimator": None} == TextClassifier(
        ngrams=(1, 1),
        chars=None,
        stop_words=["the"],
        features="hash",
        bits=10,
        class_storage="dense",
    ).get_params(deep=False)
    inside = model.estimator
    assert (inside.constraint, inside.confidence, inside.initial_variance) == ("variance", 0.8, 2.0)
    assert (inside.dtype, inside.competitors) == ("float64", "all")
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.n_seen_ == 0
    usual = initial_model(SurelineClassifier(textCol="t"), classes, None)
    assert usual.estimator.get_params() == TextClassifier().chosen_estimator().get_params()
    assert usual.chars == TextClassifier().chars
    assert (usual.weighting, usual.calibration) == ("auto", "online")
    followed = initial_model(SurelineClassifier(textCol="t", r="auto"), classes, None)
    assert followed.estimator.r == "auto"
    plain = SurelineClassifier(textCol="t", weighting="none", calibration="none")
    model = initial_model(plain, classes, None)
    assert (model.weighting, model.calibration) == (None, None)
    assert model.model_.state.class_counts.size == 0
    vectors = SurelineClassifier(calibration="online")
    assert initial_model(vectors, classes, 3).calibration == "online"
    assert initial_model(SurelineClassifier(), classes, 3).calibration is None
    table = SurelineClassifier(textCols=["a", "b"], categoryCols=["c"], numberCols=["d"], bits=12)
    model = initial_model(table, classes, None)
    kinds = {"a": "text", "b": "text", "c": "category", "d": "number"}
    assert (model.columns, model.columns_, model.bits) == (kinds, kinds, 12)
    numbers = initial_model(SurelineClassifier(), classes, 7)
    assert (type(numbers), numbers.r, numbers.n_features_in_) == (AROWClassifier, 1.0, 7)


def test_every_parameter_has_a_setter_a_getter_and_a_sentence():
    from sureline.spark import SurelineClassifier

    stage = SurelineClassifier()
    for param in stage.params:
        title = param.name[0].upper() + param.name[1:]
        assert callable(getattr(stage, f"set{title}"))
        assert callable(getattr(stage, f"get{title}"))
        assert len(param.doc) > 10
    assert stage.setMinCount(3).getMinCount() == 3
    assert "the update rule" in stage.explainParam("rule").lower()


def test_the_embedded_messages_are_learned_as_well_in_parts():
    texts, labels = sms_spam()
    texts, labels = list(texts)[:800], np.array(list(labels)[:800])
    shards = [(texts[k:600:4], labels[k:600:4]) for k in range(4)]
    model, _ = learn_partitions(
        with_classes(TextClassifier(), ["ham", "spam"]), shards, "product-prior"
    )
    whole = TextClassifier().partial_fit(texts[:600], labels[:600])
    scores = [each.score(texts[600:], labels[600:]) for each in (model, whole)]
    assert scores[0] >= scores[1] - 0.02


def test_models_that_forget_are_not_for_partitions():
    from sureline.spark.merge import learn_round

    texts, labels = texts_of(40, 2)
    start = TextClassifier(drift=Drift(half_life=9)).partial_fit(texts, labels)
    with pytest.raises(InvalidParameter, match="half_life=9 forgets in the order of its rows"):
        learn_round(start, None, "kl")
