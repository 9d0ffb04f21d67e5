"""Plain lines: each is a text."""

import pytest

from sureline.data import Reader
from sureline.errors import DataError


@pytest.mark.parametrize("size", [1, 3, 2**20])
def test_every_line_is_a_text_as_it_is(size, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_bytes('a, "b"\r\n\n {"text": 1}\t\n\r\n__label__x\nlast é'.encode())
    reader = Reader([path], format="lines", labelled=False, batch_bytes=size)
    texts = [text for batch in reader for text in batch.text.to_pylist()]
    assert texts == ['a, "b"', "", ' {"text": 1}\t', "", "__label__x", "last é"]


def test_lines_have_no_labels(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("a\nb\n")
    with pytest.raises(DataError, match=r"is read as plain lines, which have no labels; give a"):
        list(Reader([path], format="lines"))


def test_bad_lines_are_named(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes(b"a\n\xff\n" + b"x" * 2000 + b"\nb")
    options = {"format": "lines", "labelled": False, "row_limit_mb": 1000 / 2**20}
    reader = Reader([path], skip_bad=True, **options)
    assert [text for batch in reader for text in batch.text.to_pylist()] == ["a", "b"]
    assert sorted(bad.line for bad in reader.bad.first) == [2, 3]


def test_other_files_of_texts_are_told_about_lines(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("hello, you\nbye\n")
    with pytest.raises(DataError, match=r"or read every line as a text \(format='lines'\)"):
        list(Reader([path], labelled=False))
