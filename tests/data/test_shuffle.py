"""Shuffled rows: each of them once, the same order for any batches, within the memory limit."""

import numpy as np
import pyarrow as pa
import pytest
from cases import several
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from sureline.data import Batch, LongestRun, NamedFeatures, shuffle_rows


def whole(n, seed=0):
    """Rows with all kinds of columns; each holds the number of its row."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, n)
    names = [f"{row}^{k}" for row in range(n) for k in range(counts[row])]
    return Batch(
        text=pa.array(
            [f"{row} " + "x" * int(rng.integers(0, 90)) for row in range(n)], "large_utf8"
        ),
        label=pa.array([str(row % 3) for row in range(n)], pa.large_string()),
        named_features=NamedFeatures(
            np.concatenate(([0], np.cumsum(counts))),
            pa.array(names, pa.large_string()),
            np.arange(len(names), dtype=np.float32),
        ),
        weight=np.arange(n, dtype=np.float64),
        table=pa.RecordBatch.from_pydict({"id": np.arange(n)}),
    )


def cut(batch, sizes):
    """The batch in smaller ones."""
    start = 0
    while start < len(batch):
        for size in sizes:
            if size:
                yield batch.slice(start, start + size)
            start += size


def numbers(batches):
    """The numbers of the rows, on which all columns must agree."""
    found = []
    for batch in batches:
        ids = [int(text.split()[0]) for text in batch.text.to_pylist()]
        assert batch.weight.tolist() == ids
        assert batch.table["id"].to_pylist() == ids
        assert batch.label.to_pylist() == [str(row % 3) for row in ids]
        for row, number in enumerate(ids):
            names = batch.named_features.names.to_pylist()[
                batch.named_features.offsets[row] : batch.named_features.offsets[row + 1]
            ]
            assert {name.split("^")[0] for name in names} <= {str(number)}
        found += ids
    return found


def test_rows_that_fit_come_in_the_order_of_one_permutation():
    batch = whole(500)
    state = np.random.RandomState(3)
    read = numbers(shuffle_rows(cut(batch, [7, 1, 50]), state))
    again = np.random.RandomState(3)
    assert read == again.permutation(500).tolist()
    assert state.randint(2**31) == again.randint(2**31)


@settings(max_examples=several(15, 5))
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    limit=st.integers(1, 20_000),
    seed=st.integers(0, 5),
)
def test_the_order_does_not_depend_on_the_batches(sizes, limit, seed):
    batch = whole(120)
    one = numbers(shuffle_rows([batch], np.random.RandomState(seed), limit))
    many = numbers(shuffle_rows(cut(batch, sizes), np.random.RandomState(seed), limit))
    assert one == many
    assert sorted(one) == list(range(120))


def test_a_small_buffer_still_shuffles_and_stays_small():
    batch = whole(2000)
    limit = int(batch.row_bytes.sum()) // 8
    taken = 0

    def watched():
        nonlocal taken
        for part in cut(batch, [10]):
            taken += int(part.row_bytes.sum())
            yield part

    given_out, order, starts = 0, [], []
    for part in shuffle_rows(watched(), np.random.RandomState(0), limit):
        # What came in and is not yet given is what must be held.
        assert taken - given_out <= limit + int(batch.slice(0, 10).row_bytes.sum()) + 500
        given_out += int(part.row_bytes.sum())
        starts.append(part.first_row)
        order += numbers([part])
    assert sorted(order) == list(range(2000))
    assert starts[0] == 0
    assert starts == sorted(starts)
    # Each row moves: some far, none before the buffer could reach it.
    assert np.mean(np.abs(np.array(order) - np.arange(2000))) > 50
    assert max(order[:100]) < 300


def test_batches_that_come_out_are_about_a_megabyte():
    batch = Batch(text=pa.array(["y" * 10_000] * 500, pa.large_string()))
    sizes = [int(part.row_bytes.sum()) for part in shuffle_rows([batch], np.random.RandomState(0))]
    assert all(900_000 < size <= 2**20 for size in sizes[:-1])
    long = Batch(text=pa.array(["y" * 3_000_000] * 3, pa.large_string()))
    assert [len(part) for part in shuffle_rows([long], np.random.RandomState(0))] == [1, 1, 1]


def test_sparse_rows_are_shuffled():
    rows = np.eye(40, 50)[:, ::-1]
    batches = [
        Batch(matrix=csr_array(rows[:25]), label=pa.array(range(25))),
        Batch(matrix=csr_array(rows[25:, :30]), label=pa.array(range(25, 40))),
    ]
    order = np.random.RandomState(1).permutation(40)
    (shuffled,) = shuffle_rows(batches, np.random.RandomState(1))
    assert shuffled.label.to_pylist() == order.tolist()
    np.testing.assert_array_equal(shuffled.matrix.toarray(), rows[order])
    assert shuffled.text is None


def test_some_batches_without_weights_or_named_features():
    plain = Batch(text=pa.array(["a", "b"], pa.large_string()))
    other = Batch(
        text=pa.array(["c"], pa.large_string()),
        weight=np.array([3.0]),
        named_features=NamedFeatures(
            np.array([0, 1]), pa.array(["f"], pa.large_string()), np.ones(1, np.float32)
        ),
    )
    (shuffled,) = shuffle_rows([plain, other, plain], np.random.RandomState(0))
    at = shuffled.text.to_pylist().index("c")
    assert shuffled.weight.tolist() == [3.0 if row == at else 1.0 for row in range(5)]
    assert np.diff(shuffled.named_features.offsets).tolist() == [int(row == at) for row in range(5)]


def test_nothing_in_nothing_out():
    assert list(shuffle_rows([], np.random.RandomState(0))) == []
    assert list(shuffle_rows([whole(0)], np.random.RandomState(0))) == []


@given(
    labels=st.lists(st.sampled_from("abc"), max_size=30),
    size=st.integers(1, 7),
)
def test_the_longest_run_is_found_across_batches(labels, size):
    watch = LongestRun()
    for start in range(0, len(labels), size):
        watch.update(pa.array(labels[start : start + size]))
    longest, best, run = 0, None, 0
    for i, label in enumerate(labels):
        run = run + 1 if i and labels[i - 1] == label else 1
        if run > longest:
            longest, best = run, label
    assert (watch.rows, watch.length) == (len(labels), longest)
    if labels:
        runs = "".join(labels)
        assert watch.label * longest in runs
        assert best is not None


@pytest.mark.parametrize("array", [pa.array([1, 1, 2]), pa.array([True, True, False])])
def test_runs_of_other_types(array):
    watch = LongestRun()
    batches = [Batch(text=pa.array(["x"] * 3, pa.large_string()), label=array)]
    assert list(watch.watch(batches)) == batches
    watch.update(None)
    assert (watch.rows, watch.length, watch.label) == (3, 2, array[0].as_py())


def test_slices_and_their_sizes():
    batch = whole(20)
    part = batch.slice(5, 9)
    assert numbers([part]) == [5, 6, 7, 8]
    assert (len(part), part.first_row) == (4, 5)
    assert numbers([part.slice(1, 3)]) == [6, 7]
    assert numbers([part.take([3, 0])]) == [8, 5]
    assert len(batch.slice(30, 40)) == len(batch.slice(4, 2)) == 0
    assert 0 < part.nbytes < batch.nbytes
    assert len(Batch()) == 0
    np.testing.assert_array_equal(part.row_bytes, batch.row_bytes[5:9])
