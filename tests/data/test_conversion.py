"""Texts and labels from Python: lists, NumPy, pandas, Polars, Arrow."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sureline.data import as_labels, as_text
from sureline.data.arrow_arrays import string_offsets
from sureline.errors import DataError, InvalidParameter

TEXTS = ["one", "", "naïve 🙂", "NUL \0 in", "two\nlines"]


class SpeaksArray:
    def __init__(self, held):
        self._held = held

    def __arrow_c_array__(self, requested_schema=None):
        return self._held.__arrow_c_array__(requested_schema)


class SpeaksStream:
    def __init__(self, held):
        self._held = held

    def __arrow_c_stream__(self, requested_schema=None):
        return self._held.__arrow_c_stream__(requested_schema)


FORMS = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "generator": lambda texts: (text for text in texts),
    "numpy str": np.array,
    "numpy object": lambda texts: np.array(texts, dtype=object),
    "pandas": pd.Series,
    "pandas object": lambda texts: pd.Series(texts, dtype=object),
    "pandas category": lambda texts: pd.Series(texts, dtype="category"),
    "pandas index": pd.Index,
    "pandas odd index": lambda texts: pd.Series(texts, index=range(9, 9 - len(texts), -1)),
    "arrow": pa.array,
    "arrow large": lambda texts: pa.array(texts, pa.large_string()),
    "arrow view": lambda texts: pa.array(texts, pa.string_view()),
    "arrow dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "arrow chunks": lambda texts: pa.chunked_array([texts[:2], texts[2:]], pa.string()),
    "arrow dictionary chunks": lambda texts: pa.chunked_array(
        [pa.array(texts[:2]).dictionary_encode(), pa.array(texts[2:]).dictionary_encode()]
    ),
    "arrow slice": lambda texts: pa.array(["skip", *texts, "skip"]).slice(1, len(texts)),
    "C array": lambda texts: SpeaksArray(pa.array(texts)),
    "C stream": lambda texts: SpeaksStream(pa.chunked_array([texts])),
}
if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
    FORMS["numpy strings"] = lambda texts: np.array(texts, dtype=np.dtypes.StringDType())


@pytest.mark.parametrize("form", FORMS)
def test_texts_in_any_form(form):
    array = as_text(FORMS[form](TEXTS))
    assert array.type == pa.large_string()
    assert isinstance(array, pa.LargeStringArray)
    assert array.to_pylist() == TEXTS


@pytest.mark.parametrize("form", FORMS)
def test_labels_in_any_form(form):
    labels = ["ham", "spam", "", "日本", "ham"]
    read = as_labels(FORMS[form](labels))
    assert isinstance(read, np.ndarray)
    assert read.tolist() == labels
    assert read.dtype.kind in "UOT"


@pytest.mark.parametrize("numbers", [[1, 2, 3], [1.5, 2.0], [True, False]])
@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series, pa.array, iter])
def test_labels_that_are_no_strings(numbers, form):
    read = as_labels(form(numbers))
    assert read.tolist() == numbers
    assert read.dtype.kind == np.array(numbers).dtype.kind


def test_polars():
    polars = pytest.importorskip("polars")
    assert as_text(polars.Series(TEXTS)).to_pylist() == TEXTS
    chunks = polars.concat([polars.Series(TEXTS), polars.Series(TEXTS)], rechunk=False)
    assert as_text(chunks).to_pylist() == TEXTS * 2
    assert as_text(polars.Series(TEXTS, dtype=polars.Categorical)).to_pylist() == TEXTS
    assert as_labels(polars.Series(["a", "b"])).tolist() == ["a", "b"]
    assert as_labels(polars.Series([1, 2])).tolist() == [1, 2]
    assert as_labels(polars.Series([True, False])).tolist() == [True, False]
    with pytest.raises(DataError, match="row 1: the text is missing"):
        as_text(polars.Series(["a", None]))
    with pytest.raises(DataError, match="row 1: the label is missing"):
        as_labels(polars.Series(["a", None]))
    with pytest.raises(InvalidParameter, match="one column of texts, not a table"):
        as_text(polars.DataFrame({"a": ["x"], "b": ["y"]}))


def test_a_table_of_one_column_is_that_column():
    for table in (
        pd.DataFrame({"a": ["x", "y"]}),
        pytest.importorskip("polars").DataFrame({"a": ["x", "y"]}),
        pa.table({"a": ["x", "y"]}),
        pa.RecordBatch.from_pydict({"a": ["x", "y"]}),
    ):
        assert as_text(table).to_pylist() == ["x", "y"]
        assert as_labels(table).tolist() == ["x", "y"]


def test_no_copy_where_arrow_needs_none():
    array = pa.array(TEXTS, pa.large_string())
    assert as_text(array) is array
    data = as_text(pa.chunked_array([array])).buffers()[2]
    assert data.address == array.buffers()[2].address


def test_texts_are_not_changed():
    texts = ["\ud83d", "b"]
    as_text(texts)
    assert texts == ["\ud83d", "b"]


@given(st.lists(st.text(st.characters(), max_size=5), max_size=5))
def test_lone_surrogates_become_replacement_characters(texts):
    read = as_text(texts)
    read.validate(full=True)
    for text, replaced in zip(texts, read.to_pylist(), strict=True):
        paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        kept = ["\ufffd" if "\ud800" <= letter <= "\udfff" else letter for letter in paired]
        assert replaced == "".join(kept)


def test_lone_surrogates_in_other_forms():
    assert as_text(np.array(["a\ud83d", "b"])).to_pylist() == ["a\ufffd", "b"]
    assert as_text(pd.Series(["a\ud83d", "b"], dtype=object)).to_pylist() == ["a\ufffd", "b"]


@pytest.mark.parametrize("empty", [[], (), np.array([], dtype=object), pa.array([]), iter([])])
def test_no_texts_and_no_labels(empty):
    assert as_text(empty).to_pylist() == []
    assert as_labels([] if not hasattr(empty, "__len__") else empty).tolist() == []


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ("one text", r"give a list of texts, not one text: \[text\]"),
        (b"bytes", "give a list of texts, not bytes"),
        ({"a": 1}, "give a list of texts, not dict"),
        ({"a"}, "give a list of texts, not set"),
        (5, "give a list of texts, not int"),
        (None, "give a list of texts, not NoneType"),
        (np.array([["a"], ["b"]]), r"not an array of shape \(2, 1\)"),
        (np.array("a"), r"not an array of shape \(\)"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "give one column of texts, not a table"),
        (pa.table({"a": ["x"], "b": ["y"]}), "give one column of texts, not a table"),
    ],
)
def test_texts_that_are_no_list(texts, said):
    with pytest.raises(InvalidParameter, match=said):
        as_text(texts)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["a", None], r"row 1: the text is missing \(None\); leave it out or give ''"),
        (["a", float("nan")], r"row 1: the text is missing \(nan\)"),
        (["a", pd.NA], "row 1: the text is missing"),
        (["a", "b", b"c"], "row 2: the text is bytes, not a string; decode it first"),
        (["a", 5], "row 1: the text is of type int, not a string"),
        (["a", ["b"]], "row 1: the text is of type list, not a string"),
        (np.array(["a", None], dtype=object), "row 1: the text is missing"),
        (np.array([b"a"]), "texts must be strings, not bytes; decode them first"),
        (np.array([1.0]), "texts must be strings, not float64"),
        (pd.Series(["a", None]), "row 1: the text is missing"),
        (pd.Series(["a", None], dtype=object), "row 1: the text is missing"),
        (pd.Series([1, 2]), "texts must be strings, not int64"),
        (pd.Series(["a", 1], dtype=object), "row 1: the text is of type int"),
        (pa.array(["a", None]), r"row 1: the text is missing \(null\)"),
        (pa.array([None]), "row 0: the text is missing"),
        (pa.array([b"a"]), "texts must be strings, not binary; decode them first"),
        (pa.array([[1]]), "texts must be strings, not list"),
    ],
)
def test_texts_that_are_missing_or_no_strings(texts, said):
    with pytest.raises(DataError, match=said):
        as_text(texts)


def test_arrow_strings_that_are_not_utf8():
    broken = pa.array([b"ok", b"\xff"]).view(pa.string())
    with pytest.raises(DataError, match="row 1: the text is not valid UTF-8"):
        as_text(broken)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a", None], r"row 1: the label is missing \(None\)"),
        ([1.0, float("nan")], r"row 1: the label is missing \(nan\)"),
        (["a", float("nan")], r"row 1: the label is missing \(nan\)"),
        (np.array([1.0, np.nan]), r"row 1: the label is missing \(nan\)"),
        ([["a"], ["a", "b"]], "row 0: the label is a list; give one label per row"),
        (["a", {"b"}], "row 1: the label is a set; give one label per row"),
        ([{"a": 1}, {"b": 1}], "row 0: the label is a dict; give one label per row"),
        (pa.array([["a"], ["a", "b"]]), "row 0: the label is a list; give one label per row"),
        (pd.Series([["a"], ["a", "b"]]), "row 0: the label is a list; give one label per row"),
        (pd.Series([{"a": 1}, {"a": 2}]), "row 0: the label is a dict; give one label per row"),
        (np.array(["a", None], dtype=object), "row 1: the label is missing"),
        (np.array(["a", np.nan], dtype=object), "row 1: the label is missing"),
        (pd.Series(["a", None]), "row 1: the label is missing"),
        (pd.Series([1.0, None]), "row 1: the label is missing"),
        (pa.array([1, None]), r"row 1: the label is missing \(null\)"),
        (pa.array([b"a"]), "labels must be strings, not bytes"),
        (["a", 1], "row 1: the label 1 has another type than those before it"),
    ],
)
def test_labels_that_are_missing_or_of_several_types(labels, said):
    with pytest.raises(DataError, match=said):
        as_labels(labels)


@pytest.mark.parametrize("labels", ["ham", b"ham", {"a": 1}, {"a"}, 5, np.array(5)])
def test_labels_that_are_no_list(labels):
    with pytest.raises(InvalidParameter, match="give a list of labels"):
        as_labels(labels)


def test_labels_that_end_in_nul_stay_apart():
    read = as_labels(["a", "a\0"])
    assert read.tolist() == ["a", "a\0"]
    assert as_labels(pa.array(["a", "a\0"])).tolist() == ["a", "a\0"]


def test_numpy_labels_are_handed_on():
    labels = np.array([3, 1, 2])
    assert as_labels(labels) is labels


def test_offsets_with_some_bytes_more_are_read():
    """A damaged Arrow file had such a buffer, and raised NumPy's error about its size."""
    offsets = np.array([0, 2, 5, 9], np.int64).tobytes() + b"abc"
    array = pa.LargeStringArray.from_buffers(3, pa.py_buffer(offsets), pa.py_buffer(b"abcdefghi"))
    assert string_offsets(array).tolist() == [0, 2, 5, 9]
    assert string_offsets(array.slice(1)).tolist() == [2, 5, 9]
