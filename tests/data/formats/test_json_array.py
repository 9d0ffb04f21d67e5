"""JSON arrays: what they hold is what the same objects on lines hold."""

import json

import pytest
from cases import several
from hypothesis import given, settings
from hypothesis import strategies as st

from sureline.data import Reader
from sureline.errors import DataError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text('ab"\\\\[]{},: \n\r\té', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('k[]{}"', max_size=2), inner)
    ),
    max_leaves=6,
)


def read(path, **options):
    """The texts, labels and bad rows of a file, or the error."""
    reader = Reader([path], skip_bad=True, **options)
    found = []
    try:
        for batch in reader:
            found += zip(batch.text.to_pylist(), batch.label.to_pylist(), strict=True)
    except DataError as error:
        return str(error)
    return found, reader.bad.count, [bad.line for bad in reader.bad.first]


@settings(max_examples=several(200, 40))
@given(
    rows=st.lists(
        st.fixed_dictionaries({"text": st.text(max_size=9), "label": st.integers(0, 9)})
        | st.dictionaries(st.sampled_from(["text", "label", "x"]), VALUES)
        | VALUES,
        max_size=6,
    ),
    indent=st.sampled_from([None, 0, 1, 3]),
    ascii_only=st.booleans(),
    size=st.integers(1, 60),
)
def test_any_array_is_read_as_its_elements_on_lines(
    rows, indent, ascii_only, size, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("rows")
    first = {"text": "first", "label": 1}  # so that the columns are known
    every = [first, *rows]
    (folder / "lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in every))
    expected = read(folder / "lines.jsonl")
    path = folder / "array.json"
    path.write_text(json.dumps(every, indent=indent, ensure_ascii=ascii_only), "utf-8")
    for options in ({}, {"batch_bytes": size}):
        found = read(path, **options)
        if isinstance(expected, str):
            assert found.replace("array.json, row", "lines.jsonl, line") == expected
        else:
            assert found == expected


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('[{"text": "a", "label": 1}', "the JSON array is never closed; get the file again"),
        ('[{"text": "a", "label": 1}] x', "something follows the JSON array"),
        ('["a", "b"]\n["c", "d"]', "something follows the JSON array"),
        ('["a", "b"]', "row 1: not a JSON object (a str, not an object)"),
        ("[1, 2]", "row 1: not a JSON object (a int, not an object)"),
        ('[{"text": "a", "label": 1}, {"text": "b"}]', "row 2: the key 'label' is missing"),
        ("[]", "no rows in"),
    ],
)
def test_what_is_wrong_is_named_by_row(data, said, tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(data)
    for size in (1, 2**20):
        with pytest.raises(DataError) as caught:
            list(Reader([path], batch_bytes=size))
        assert said in str(caught.value)


def test_arrays_are_recognized_in_any_encoding_and_without_a_name(tmp_path):
    rows = [{"text": "naïve", "label": 1}, {"text": "b", "label": 2}]
    path = tmp_path / "rows.txt"
    for indent in (None, 2):
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "latin-1"):
            path.write_bytes(json.dumps(rows, indent=indent, ensure_ascii=False).encode(encoding))
            assert read(path, encoding=encoding)[0] == [("naïve", 1), ("b", 2)]
    path.write_text("[spam] win a prize,x\n")
    assert read(path, text=0, label=1)[0] == [("[spam] win a prize", "x")]


@pytest.mark.parametrize("size", [1, 7, 900, 2**20])
def test_a_long_element_is_a_bad_row(size, tmp_path):
    path = tmp_path / "rows.json"
    rows = [{"text": "x" * n, "label": 1} for n in (10, 1200, 10, 1200)]
    path.write_text(json.dumps(rows, indent=1))
    limited = {"row_limit_mb": 1000 / 2**20, "batch_bytes": size}
    assert read(path, **limited) == ([("x" * 10, 1)] * 2, 2, [2, 4])
    with pytest.raises(DataError, match=r"rows.json, row 2: the row is longer than"):
        list(Reader([path], **limited))
