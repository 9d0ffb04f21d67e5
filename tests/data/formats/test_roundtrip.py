"""What is written in a format is read back the same, however it is cut into batches."""

import bz2
import csv
import gzip
import io
import json
import lzma
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import several
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from sureline.data import Batch, Reader
from sureline.errors import SurelineError

TEXTS = [
    "plain words",
    "",
    'she said "hi", twice: ""',
    "two\nlines",
    "carriage\r\nreturn\r",
    "tab\tseparated",
    "naïve café — 日本語 🙂",
    "a NUL \0 inside",
    "__label__x |ns a:1 # {",
    " spaces  around ",
]
LABELS = ["ham", "spam", "ham", "x y", "日本", "ham", 'quo"te', "a,b", "true", "1"]


def write_delimited(path: Path, texts: list[str], labels: list, delimiter: str) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        # A carriage return at the end of a line is part of the text only if it is quoted, which
        # the writer does not see to by itself.
        quoting = csv.QUOTE_ALL if "\r" in "".join(texts) else csv.QUOTE_MINIMAL
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=quoting)
        writer.writerow(["label", "text"])
        writer.writerows(zip(labels, texts, strict=True))


def write(path: Path, texts: list[str], labels: list) -> Path:
    """Write rows in the format of the file's extension."""
    kind = path.name.split(".")[1]
    table = pa.table({"label": pa.array(labels), "text": pa.array(texts, pa.string())})
    if kind in ("csv", "tsv"):
        write_delimited(path, texts, labels, "," if kind == "csv" else "\t")
    elif kind == "jsonl":
        lines = (
            json.dumps({"label": label, "text": text}, ensure_ascii=n % 2 == 0)
            for n, (text, label) in enumerate(zip(texts, labels, strict=True))
        )
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    elif kind == "parquet":
        pq.write_table(table, path, row_group_size=3)
    elif kind == "arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table, max_chunksize=4)
    elif kind == "stream":
        with pa.ipc.new_stream(path, table.schema) as stream:
            stream.write_table(table, max_chunksize=4)
    elif kind == "ft":
        rows = zip(labels, texts, strict=True)
        path.write_text("".join(f"__label__{label} {text}\n" for label, text in rows), newline="")
    elif kind == "vw":
        rows = zip(labels, texts, strict=True)
        path.write_text("".join(f"{label} | {text}\n" for label, text in rows), newline="")
    return path


def read(*files: Path, **options) -> tuple[list, list]:
    """All texts and labels of files."""
    texts, labels = [], []
    for batch in Reader(files, **options):
        assert isinstance(batch, Batch)
        assert batch.text.type == pa.large_string()
        batch.text.validate(full=True)
        texts += batch.text.to_pylist()
        labels += batch.label.to_pylist()
    return texts, labels


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow", "stream"])
@pytest.mark.parametrize("batch_bytes", [1, 7, 64, 2**20])
def test_rows_come_back_as_they_were_written(tmp_path, kind, batch_bytes):
    file = write(tmp_path / f"rows.{kind}", TEXTS, LABELS)
    assert read(file, batch_bytes=batch_bytes) == (TEXTS, LABELS)


@pytest.mark.parametrize("kind", ["ft", "vw"])
@pytest.mark.parametrize("batch_bytes", [1, 5, 2**20])
def test_lines_of_words_come_back_with_single_spaces(tmp_path, kind, batch_bytes):
    texts = ["plain words", "naïve café — 日本語 🙂", "NUL \0 inside", "", "a\u00a0b"]
    labels = ["ham", "spam", "x", "日本", "y"]
    file = write(tmp_path / f"rows.{kind}", texts, labels)
    assert read(file, batch_bytes=batch_bytes) == (texts, labels)


ODD = st.text(
    st.one_of(
        st.sampled_from('",\t\n\r\0;| \ufeff\u2028🙂é{}[]:'),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=12,
)


@settings(max_examples=several(60, 12))
@given(
    rows=st.lists(st.tuples(ODD, ODD.filter(bool)), min_size=1, max_size=8),
    kind=st.sampled_from(["csv", "tsv", "jsonl", "parquet", "arrow", "stream"]),
    batch_bytes=st.integers(1, 40),
)
def test_any_text_comes_back(rows, kind, batch_bytes):
    texts, labels = ([row[i] for row in rows] for i in range(2))
    with tempfile.TemporaryDirectory() as folder:
        file = write(Path(folder, f"rows.{kind}"), texts, labels)
        assert read(file, batch_bytes=batch_bytes, label_type="text") == (texts, labels)
        assert read(file, label_type="text") == (texts, labels)


@settings(max_examples=several(60, 12))
@given(data=st.text('ab",\n\r', max_size=40), batch_bytes=st.integers(1, 8))
def test_broken_tables_are_read_the_same_in_any_batches(data, batch_bytes):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.csv")
        file.write_bytes(b"a,b\n" + data.encode() + b"\nx,y\n")
        found = []
        for size in (batch_bytes, 2**20):
            reader = Reader([file], text="a", label="b", skip_bad=True, batch_bytes=size)
            batches = list(reader)
            texts = [value for batch in batches for value in batch.text.to_pylist()]
            labels = [value for batch in batches for value in batch.label.to_pylist()]
            found.append((texts, labels, reader.bad))
        assert found[0] == found[1]


@settings(max_examples=several(60, 12))
@given(rows=st.lists(st.lists(ODD, min_size=2, max_size=3), min_size=1, max_size=6))
def test_tables_are_split_as_the_csv_module_splits_them(rows):
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.csv")
        file.write_bytes(b'"text","other"\r\n' + out.getvalue().encode())
        reader = Reader([file], labelled=False, keep=True, skip_bad=True, batch_bytes=9)
        if not any(len(row) == 2 for row in rows):
            with pytest.raises(ValueError, match="no good rows"):
                list(reader)
            return
        batches = list(reader)
    good = [row for row in rows if len(row) == 2]
    assert [value for batch in batches for value in batch.text.to_pylist()] == [
        row[0] for row in good
    ]
    other = [value for batch in batches for value in batch.table["other"].to_pylist()]
    assert other == [row[1] for row in good]
    assert reader.bad.count == len(rows) - len(good)


def test_svmlight_is_read_as_scikit_learn_reads_it(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 30)) * (rng.random((50, 30)) < 0.3) * 10.0 ** rng.integers(-12, 30, 30)
    file = tmp_path / "rows.svm"
    dump_svmlight_file(X, rng.normal(size=50), str(file), zero_based=True, comment="by test")
    theirs, labels = load_svmlight_file(str(file), zero_based=True)
    for batch_bytes in (1, 1000, 2**20):
        batches = list(Reader([file], batch_bytes=batch_bytes))
        ours = np.zeros((50, 30))
        for batch in batches:
            width = int(batch.matrix.indices.max(initial=0)) + 1
            assert batch.matrix.shape == (len(batch), width)
            assert batch.text is None
            rows = slice(batch.first_row, batch.first_row + len(batch))
            ours[rows, :width] = batch.matrix.toarray()
        np.testing.assert_array_equal(ours, theirs.toarray())
        np.testing.assert_array_equal(np.concatenate([b.label for b in batches]), labels)
    assert len(list(Reader([file], batch_bytes=1))) == 50


@settings(max_examples=several(100, 20))
@given(
    st.one_of(
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.from_regex(r"[-+]?\d{1,25}(\.\d{0,25})?([eE][-+]?\d{1,3})?", fullmatch=True).filter(
            lambda number: number.isascii() and abs(float(number)) < 1e308
        ),
    )
)
def test_numbers_are_read_to_the_last_bit(number):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.svm")
        file.write_text(f"1 3:{number}\n")
        (batch,) = Reader([file])
    assert batch.matrix[0, 3] == float(number)


@pytest.mark.parametrize("pack", ["gz", "bz2", "zst", "lz4", "xz", "zip"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow", "stream"])
def test_compressed_files_are_read_by_their_contents(tmp_path, pack, kind):
    plain = write(tmp_path / f"rows.{kind}", TEXTS, LABELS).read_bytes()
    file = tmp_path / f"rows.{kind}.{pack}"
    if pack == "gz":
        file.write_bytes(gzip.compress(plain[:100]) + gzip.compress(plain[100:]))
    elif pack == "bz2":
        file.write_bytes(bz2.compress(plain))
    elif pack == "xz":
        file.write_bytes(lzma.compress(plain[:100]) + bytes(8) + lzma.compress(plain[100:]))
    elif pack == "zip":
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"folder/rows.{kind}", plain)
    else:
        with pa.CompressedOutputStream(str(file), {"zst": "zstd"}.get(pack, pack)) as out:
            out.write(plain)
    assert read(file) == (TEXTS, LABELS)
    named_otherwise = tmp_path / f"other.{kind}"
    named_otherwise.write_bytes(file.read_bytes())
    reader = Reader([named_otherwise], batch_bytes=100)
    assert sum(len(batch) for batch in reader) == len(TEXTS)
    assert reader.bytes_read == reader.bytes_total == file.stat().st_size


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "ft", "vw"])
def test_very_long_lines_are_read(tmp_path, kind):
    # Far longer than a block: it must grow many times over.
    long = "word " * 30_000 + "end"
    file = write(tmp_path / f"rows.{kind}", ["short", long, "last"], ["a", "b", "a"])
    texts, labels = read(file, batch_bytes=1000)
    assert texts == ["short", long, "last"]
    assert labels == ["a", "b", "a"]


def test_a_very_long_quoted_field_is_read(tmp_path):
    long = 'a "quoted" word,\n' * 3_000
    file = write(tmp_path / "rows.csv", [long, "x"], [1, 2])
    assert read(file, batch_bytes=1000) == ([long, "x"], [1, 2])


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "ft", "vw", "svm"])
def test_windows_newlines_byte_order_mark_and_no_last_newline(tmp_path, kind):
    file = tmp_path / f"rows.{kind}"
    if kind == "svm":
        file.write_text("1 1:2\n2 3:4\n")
    else:
        write(file, ["one text", "two"], ["a", "b"])
    plain = list(Reader([file]))
    data = file.read_bytes()
    for other in (
        data.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + data,
        data.removesuffix(b"\n"),
        b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n").removesuffix(b"\n"),
    ):
        file.write_bytes(other)
        for size in (1, 2**20):
            again = list(Reader([file], batch_bytes=size))
            labels = [value for batch in again for value in batch.label.to_pylist()]
            assert labels == plain[0].label.to_pylist()
            if kind != "svm":
                texts = [value for batch in again for value in batch.text.to_pylist()]
                assert texts == plain[0].text.to_pylist()
            else:
                assert again[-1].matrix[[-1]].toarray().ravel()[3] == 4.0


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "shift_jis"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "ft"])
def test_other_encodings_are_transcoded(tmp_path, encoding, kind):
    texts = ["日本語 text", "two"] if encoding == "shift_jis" else ["naïve café", "two"]
    file = write(tmp_path / f"rows.{kind}", texts, ["a", "b"])
    file.write_bytes(file.read_bytes().decode("utf-8").encode(encoding))
    for size in (1, 3, 2**20):
        assert read(file, encoding=encoding, batch_bytes=size) == (texts, ["a", "b"])


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow", "stream", "ft", "vw", "svm"])
def test_damaged_files_give_rows_or_one_sentence(tmp_path, kind):
    rng = np.random.default_rng(7)
    file = tmp_path / f"rows.{kind}"
    if kind == "svm":
        file.write_text("1 1:2 3:4.5 # c\n-1 qid:3 2:1e5\n+1.5 7:8\n")
    else:
        write(file, [text.replace("\n", " ") for text in TEXTS], LABELS)
    whole = file.read_bytes()
    for _ in range(30):
        data = bytearray(whole)
        for _ in range(rng.choice([1, 2, 10])):
            at = rng.integers(len(data))
            if rng.random() < 0.6:
                data[at] = rng.choice([rng.integers(256), *b'"\n\r,|:{}', 0, 255])
            else:
                del data[at : at + rng.integers(1, 20)]
                data += b"\n"
        file.write_bytes(data)
        found = []
        for size in (7, 2**20):
            reader = Reader([file], skip_bad=True, batch_bytes=size)
            try:
                labels = [label for batch in reader for label in batch.label.to_pylist()]
                found.append((labels, reader.bad))
            except SurelineError as error:
                found.append(str(error).count("\n"))
        assert found[0] == found[1]
        assert found[0] == 0 or isinstance(found[0], tuple)
