"""fastText, VW and svmlight lines: what each part of a line becomes."""

import numpy as np
import pyarrow as pa
import pytest

from sureline.data import Reader


@pytest.fixture
def one(tmp_path):
    """The one batch of a file of these lines."""

    def read(kind, *lines, **options):
        file = tmp_path / f"rows.{kind}"
        file.write_text("\n".join(lines) + "\n", newline="")
        (batch,) = Reader([file], **options)
        return batch

    return read


def test_fasttext_labels_are_names(one):
    batch = one("ft", "__label__1 a  b ", "\t __label__-2\tc __label__d", "", "__label__3")
    assert batch.label.type == pa.large_string()
    assert batch.label.to_pylist() == ["1", "-2", "3"]
    assert batch.text.to_pylist() == ["a  b ", "c __label__d", ""]


def test_fasttext_labels_can_be_read_as_numbers(one):
    batch = one("ft", "__label__1 a", "__label__-2 b", label_type="int")
    assert batch.label.to_pylist() == [1, -2]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("1 | a b  c", "a b c"),
        ("1 |ns a b |other c", "a b c"),
        ("1 |ns:1 a |m:1.0 b |o:1.00 c", "a b c"),
        ("1 |ns\ta\t b|c d", "a b d"),
        ("1 |", ""),
        ("1 | |", ""),
        ("1 |a|b c", "c"),
        ("  1 |a b\r", "b"),
        ("1 |x NUL\0 é", "NUL\0 é"),
    ],
)
def test_vw_features_without_values_become_words(one, line, text):
    batch = one("vw", line)
    assert batch.text.to_pylist() == [text]
    assert batch.named_features is None
    assert batch.weight is None
    assert batch.label.to_pylist() == [1]


def test_vw_features_with_values_are_named_features(one):
    batch = one(
        "vw",
        "1 | a b:2 c:-1.5e1 d",
        "-1 | only words",
        "1 |n x:+3 y |m:0.5 z w:4 |k:1 v:.5",
        "1 |n:2 u",
    )
    assert batch.text.to_pylist() == ["a d", "only words", "y", ""]
    assert batch.named_features.offsets.tolist() == [0, 2, 2, 6, 7]
    assert batch.named_features.names.to_pylist() == ["b", "c", "n^x", "m^z", "m^w", "k^v", "n^u"]
    assert batch.named_features.values.dtype == np.float32
    assert batch.named_features.values.tolist() == [2.0, -15.0, 3.0, 0.5, 2.0, 0.5, 2.0]
    middle = batch.slice(1, 3).named_features
    assert middle.offsets.tolist() == [0, 0, 4]
    assert middle.names.to_pylist() == ["n^x", "m^z", "m^w", "k^v"]
    taken = batch.take([3, 0]).named_features
    assert taken.offsets.tolist() == [0, 1, 3]
    assert taken.names.to_pylist() == ["n^u", "b", "c"]
    assert taken.values.tolist() == [2.0, 2.0, -15.0]


def test_long_namespaces_are_repeated_for_every_feature(one):
    name = "n" * 1000
    batch = one("vw", f"1 |{name} " + " ".join(f"{letter}:1" for letter in "abcdefgh"))
    assert batch.named_features.names.to_pylist() == [f"{name}^{letter}" for letter in "abcdefgh"]


def test_the_head_of_a_vw_line(one):
    lines = ["1 0.5 | a", "2 | b", "3 2 0.25 'tag | c", "4 1 tag| d", "5 'it's | e", "6 ' | f"]
    batch = one("vw", *lines, keep=True)
    assert batch.label.to_pylist() == [1, 2, 3, 4, 5, 6]
    assert batch.weight.tolist() == [0.5, 1.0, 2.0, 1.0, 1.0, 1.0]
    assert batch.table["tag"].to_pylist() == ["", "", "tag", "tag", "it's", ""]


@pytest.mark.parametrize("kind", ["vw", "svm"])
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (["+1", "-1", "1.0", "1e0"], [1, -1, 1, 1]),
        (["1", "0.5"], [1.0, 0.5]),
        (["1e300", "2"], [1e300, 2.0]),
    ],
)
def test_numeric_labels_however_written(one, kind, written, expected):
    rest = "| a" if kind == "vw" else "1:1"
    batch = one(kind, *(f"{label} {rest}" for label in written))
    assert batch.label.to_pylist() == expected
    assert isinstance(batch.label[0].as_py(), type(expected[0]))


def test_vw_labels_that_are_names(one):
    assert one("vw", "spam | a", "1 | b").label.to_pylist() == ["spam", "1"]
    assert one("vw", "+1 | a", label_type="text").label.to_pylist() == ["+1"]


def test_svmlight_labels_as_text(one):
    batch = one("svm", "+1 1:1", "2.50 1:1", label_type="text")
    assert batch.label.to_pylist() == ["1", "2.5"]


def test_svmlight_rows(one):
    batch = one("svm", "# head", "1 qid:7 0:1 3:2 # note 9:9", "", "-1", "2\t2:.5\r")
    assert batch.matrix.toarray().tolist() == [[1, 0, 0, 2], [0, 0, 0, 0], [0, 0, 0.5, 0]]
    assert batch.label.to_pylist() == [1, -1, 2]
    assert batch.matrix.format == "csr"
    assert batch.matrix.has_sorted_indices
    assert batch.slice(1, 2).matrix.shape == (1, 1)
    assert batch.take([2]).matrix.toarray().tolist() == [[0, 0, 0.5]]
    assert batch.nbytes > 0


def test_numbers_that_need_care_are_exact(one):
    numbers = [
        "0.1",
        "1e23",
        "9007199254740993",
        "5e-324",
        "1.7976931348623157e308",
        "123456789e-30",
    ]
    batch = one("svm", "1 " + " ".join(f"{i}:{number}" for i, number in enumerate(numbers)))
    assert batch.matrix.data.tolist() == [float(number) for number in numbers]
