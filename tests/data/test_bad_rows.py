"""Rows that cannot be used: where they are, why, and what is left when they are skipped."""

import bz2
import gzip
import io
import lzma
import re
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sureline.data import Reader
from sureline.errors import DataError

REMEDY = "fix the line, or skip bad rows (skip_bad=True)"


def texts(reader):
    return [value for batch in reader for value in batch.text.to_pylist()]


def complaint(inputs, **options):
    with pytest.raises(DataError) as caught:
        list(Reader(inputs, **options))
    assert "\n" not in str(caught.value)
    return str(caught.value)


CSV = "text,label\n"
JSON = '{"text": "a", "label": "x"}\n'
CASES = [
    ("csv", CSV + "a,x\nb\nc,z\n", 3, "1 field where the first line has 2"),
    ("csv", CSV + "a,x\nb,y,z\nc,z\n", 3, "3 fields where the first line has 2"),
    ("csv", CSV + '"a\n\n1",x\n"b\n",y,z\nc,z\n', 5, "3 fields where the first line has 2"),
    ("csv", CSV + 'a,x\n"b" b,y\nc,z\n', 3, "something follows the closing quote of a field"),
    ("csv", CSV + 'a,x\nc,z\n"b,y\n', 4, "a quote is opened and never closed"),
    ("csv", CSV + 'a,x\n"b,y\nc,z\n', 3, "a quote is opened and never closed"),
    ("csv", CSV.encode() + b"a,x\nb\xff,y\nc,z\n", 3, "the text is not valid UTF-8"),
    ("csv", CSV.encode() + b"a,x\nb,\xe9\nc,z\n", 3, "the label is not valid UTF-8"),
    ("csv", CSV + "a,x\nb,\nc,z\n", 3, "the label is missing (empty or null)"),
    ("tsv", CSV.replace(",", "\t") + "a\tx\n\n\nb\nc\tz\n", 5, "1 field where the first"),
    ("jsonl", JSON + "{nonsense}\n" + JSON.replace("a", "c", 1), 2, "not a JSON object (Expecting"),
    ("jsonl", JSON + "\n[1]\n" + JSON, 3, "not a JSON object (a list, not an object)"),
    ("jsonl", JSON + JSON.strip() + JSON, 2, "not a JSON object (Extra data"),
    ("jsonl", JSON + '{"text":\n"b", "label": 1}\n' + JSON, 2, "not a JSON object"),
    ("jsonl", JSON + '{"label": "y"}\n' + JSON, 2, "the key 'text' is missing"),
    ("jsonl", JSON + '{"text": "b"}\n' + JSON, 2, "the key 'label' is missing"),
    ("jsonl", JSON + '{"text": null, "label": "y"}\n' + JSON, 2, "the text is missing (null)"),
    ("jsonl", JSON + '{"text": "b", "label": null}\n' + JSON, 2, "the label is missing (null)"),
    ("jsonl", JSON + '{"text": "b", "label": ""}\n' + JSON, 2, "the label is missing (empty"),
    ("jsonl", JSON + '{"text": 5, "label": "y"}\n' + JSON, 2, "the text 5 is not a string"),
    ("jsonl", JSON + '{"text": "b", "label": [1]}\n' + JSON, 2, "the label [1] is neither text"),
    ("jsonl", JSON.encode() + b'{"text": "\xff"}\n' + JSON.encode(), 2, "not valid UTF-8"),
    ("jsonl", JSON + "[" * 100_000 + "\n" + JSON, 2, "not a JSON object ("),
    ("ft", "__label__x a\nb\n__label__z c\n", 2, "the line does not begin with a label"),
    ("ft", "__label__x a\n__label__ b\n", 2, "the label is missing"),
    ("ft", b"__label__x a\n__label__y \xff\n", 2, "the text is not valid UTF-8"),
    ("vw", "1 | a\n2 b c\n3 | c\n", 2, "the line has no '|' before its features"),
    ("vw", "1 | a\n| b\n3 | c\n", 2, "the label is missing"),
    ("vw", "1 | a\n1|ns b\n", 2, "the label is missing"),
    ("vw", "1 | a\n1 2 3 4 | b\n", 2, "before the '|' come more than"),
    ("vw", "1 | a\n1 'a b | b\n", 2, "before the '|' come more than"),
    ("vw", "1 | a\n1 x | b\n", 2, "the importance 'x' is not a number from 0 up"),
    ("vw", "1 | a\n1 -1 | b\n", 2, "the importance '-1' is not a number from 0 up"),
    ("vw", "1 | a\n1 1 x | b\n", 2, "the base before the '|' is not a number"),
    ("vw", "1 | a\n1 | b:c\n", 2, "the value 'c' of a feature is not a finite number"),
    ("vw", "1 | a\n1 | b:\n", 2, "the value '' of a feature is not a finite number"),
    ("vw", "1 | a\n1 | b:1:2\n", 2, "the value '1:2' of a feature is not a finite number"),
    ("vw", "1 | a\n1 | b:1e50\n", 2, "the value '1e50' of a feature is not a finite number"),
    ("vw", "1 | a\n1 | b:nan\n", 2, "the value 'nan' of a feature is not a finite number"),
    ("vw", "1 | a\n1 | :1\n", 2, "a feature has a value and no name"),
    ("vw", "1 | a\n1 |n:x b\n", 2, "the scale of a namespace is not a finite number"),
    ("vw", b"1 | a\n1 | \xff\n", 2, "the text is not valid UTF-8"),
    ("vw", b"1 | a\n1 | \xff:1\n", 2, "the name of a feature is not valid UTF-8"),
]


@pytest.mark.parametrize(("kind", "data", "line", "reason"), CASES)
@pytest.mark.parametrize("batch_bytes", [1, 2**20])
def test_bad_rows_are_found_and_skipped(tmp_path, kind, data, line, reason, batch_bytes):
    file = tmp_path / f"rows.{kind}"
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    said = complaint([file], batch_bytes=batch_bytes)
    assert said.startswith(f"{file}, line {line}: ")
    assert reason in said
    reader = Reader([file], skip_bad=True, batch_bytes=batch_bytes)
    good = texts(reader)
    assert "b" not in good
    assert good
    found = [(bad.file, bad.line) for bad in reader.bad.first]
    assert (str(file), line) in found
    assert reader.bad.count == len(found)
    assert any(reason in bad.reason for bad in reader.bad.first)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("x 1:1", "the label 'x' is not a number"),
        ("nan 1:1", "the label 'nan' is not a number"),
        ("1,2 1:1", "the line has several labels"),
        ("1:1 2:1", "the line does not begin with a label"),
        ("1 2:x", "the value 'x' is not a number"),
        ("1 2:inf", "the value 'inf' is not a number"),
        ("1 2:1_0", "the value '1_0' is not a number"),
        ("1 2:", "a feature is not written as index:value"),
        ("1 2", "a feature is not written as index:value"),
        ("1 :2", "a feature is not written as index:value"),
        ("1 -2:1", "a feature is not written as index:value"),
        ("1 a:1", "a feature is not written as index:value"),
        ("1 qid 2:1", "a feature is not written as index:value"),
        ("1 qid: 2:1", "a feature is not written as index:value"),
        ("1 qid:x 2:1", "a feature is not written as index:value"),
        ("1 3:1 2:1", "are not in ascending order"),
        ("1 3:1 3:x", "are not in ascending order"),
        ("1 1:x 3:1 3:1", "are not in ascending order"),
        ("1 2147483647:1", "the index of a feature is above 2147483646"),
    ],
)
def test_bad_svmlight_rows(tmp_path, line, reason):
    file = tmp_path / "rows.svm"
    file.write_text(f"# two good rows\n1 1:2\n\n{line}\n-1 2:3 # good\n")
    for size in (1, 2**20):
        said = complaint([file], batch_bytes=size)
        assert re.fullmatch(
            rf"{re.escape(str(file))}, line 4: .*{re.escape(reason)}.*; {re.escape(REMEDY)}", said
        )
        reader = Reader([file], skip_bad=True, batch_bytes=size)
        labels = [value for batch in reader for value in batch.label.to_pylist()]
        assert labels == [1, -1]
        assert [(bad.line, reason in bad.reason) for bad in reader.bad.first] == [(4, True)]
    (batch,) = Reader([file], skip_bad=True)
    assert batch.matrix.toarray().tolist() == [[0, 2, 0], [0, 0, 3]]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_bad_rows_of_columnar_files(tmp_path, kind):
    table = pa.table({"text": ["a", None, "c", "d"], "label": ["x", "y", None, ""]})
    file = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        pq.write_table(table, file)
    else:
        with pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)
    assert complaint([file]) == (
        f"{file}, row 2: the text is missing (null); fix the row, or skip bad rows (skip_bad=True)"
    )
    reader = Reader([file], skip_bad=True)
    assert texts(reader) == ["a"]
    assert [bad.line for bad in reader.bad.first] == [2, 3, 4]
    floats = pa.table({"text": ["a", "b"], "label": [1.0, float("nan")]})
    pq.write_table(floats, tmp_path / "f.parquet")
    assert "row 2: the label is missing" in complaint([tmp_path / "f.parquet"])
    nothing = pa.table({"text": ["a"], "label": pa.nulls(1)})
    pq.write_table(nothing, tmp_path / "n.parquet")
    assert "row 1: the label is missing" in complaint([tmp_path / "n.parquet"])


def test_bytes_of_columnar_files_are_text_if_they_are_utf8(tmp_path):
    table = pa.table({"text": pa.array([b"caf\xc3\xa9", b"\xff", None]), "label": [1, 2, 3]})
    pq.write_table(table, tmp_path / "t.parquet")
    said = complaint([tmp_path / "t.parquet"])
    assert f"{tmp_path / 't.parquet'}, row 2: the text is not valid UTF-8" in said
    reader = Reader([tmp_path / "t.parquet"], skip_bad=True)
    assert texts(reader) == ["café"]
    assert reader.bad.count == 2


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_columnar_texts_that_are_not_utf8(tmp_path, kind):
    broken = pa.array([b"ok", b"\xff", b"c", b"d"]).view(pa.string())
    good = pa.array(["a", "b", "c", "d"])
    for name, columns in (
        ("text", [broken, good, good]),
        ("label", [good, broken, good]),
        ("column 'other'", [good, good, broken]),
    ):
        table = pa.table(columns, names=["text", "label", "other"])
        file = tmp_path / f"rows.{kind}"
        if kind == "parquet":
            pq.write_table(table, file)
        else:
            with pa.ipc.new_file(file, table.schema) as out:
                out.write_table(table)
        assert f"row 2: the {name} is not valid UTF-8" in complaint([file], keep=True)
        reader = Reader([file], keep=True, skip_bad=True)
        assert len(texts(reader)) == 3
        assert reader.bad.count == 1


def test_a_stray_quote_does_not_swallow_the_rows_after_it(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text(CSV + 'good,x\n5" pipe,x\n"6 inches,x\n' + "more,x\n" * 5 + 'the "end",x\n')
    reader = Reader([file], skip_bad=True, batch_bytes=10)
    assert texts(reader) == ["good", '5" pipe', *["more"] * 5, 'the "end"']
    assert [(bad.line, bad.reason) for bad in reader.bad.first] == [
        (4, "something follows the closing quote of a field")
    ]


def test_the_first_bad_rows_are_remembered_and_all_are_counted(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text(CSV + "a,x\nb\n" * 50)
    reader = Reader([file], skip_bad=True, batch_bytes=30)
    assert texts(reader) == ["a"] * 50
    assert reader.bad.count == len(reader.bad) == 50
    assert [bad.line for bad in reader.bad.first] == list(range(3, 23, 2))
    assert texts(reader) == ["a"] * 50
    assert reader.bad.count == 50


def test_invalid_utf8_suggests_an_encoding(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_bytes(CSV.encode() + "naïve,x\n".encode("latin-1"))
    assert "(encoding='latin-1')" in complaint([file])
    assert texts(Reader([file], encoding="latin-1")) == ["naïve"]
    file.write_bytes("té,label\n".encode("latin-1"))
    assert "line 1: the first line is not valid UTF-8" in complaint([file])
    file.write_text(CSV, encoding="utf-16")
    assert "(encoding='utf-16')" in complaint([file])


def test_what_cannot_be_decoded_makes_its_row_bad(tmp_path):
    file = tmp_path / "rows.csv"
    # 0x81 is no character of cp1252, and a UTF-16 file may end in half a character.
    file.write_bytes(CSV.encode() + b"a,x\n\x81,y\nc,z\n")
    assert "line 3: the text is not valid cp1252" in complaint([file], encoding="cp1252")
    for size in (1, 2**20):
        reader = Reader([file], encoding="cp1252", skip_bad=True, batch_bytes=size)
        assert texts(reader) == ["a", "c"]
        assert reader.bad.count == 1
    file.write_bytes((CSV + "a,x\nb,y").encode("utf-16") + b"\x00")
    assert "line 3: the label is not valid utf-16" in complaint([file], encoding="utf-16")


def test_half_an_emoji_in_json_becomes_a_replacement_character(tmp_path):
    file = tmp_path / "rows.jsonl"
    lines = [r'{"text": "cut \ud83d", "label": 1}', r'{"text": "\ud83d\ude42 \udc00a", "label": 2}']
    file.write_text("\n".join([*lines, '{"text": "whole", "label": 3}']))
    assert texts(Reader([file])) == ["cut \ufffd", "🙂 \ufffda", "whole"]


def test_json_that_arrow_refuses_is_read_line_by_line(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(
        '{"text": "a", "text": "b", "label": 1}\n{"text": "tab\tand \\u0000", "label": 2}\n'
    )
    assert texts(Reader([file])) == ["b", "tab\tand \0"]


def test_the_label_of_a_bad_json_row_may_have_another_type(tmp_path):
    file = tmp_path / "rows.jsonl"
    rows = [
        '{"text": "a", "label": "x"}',
        '{"text": null, "label": 5}',
        '{"text": "b", "label": "y"}',
    ]
    file.write_text("\n".join(rows))
    reader = Reader([file], skip_bad=True)
    assert texts(reader) == ["a", "b"]
    assert [bad.reason for bad in reader.bad.first] == ["the text is missing (null)"]


def test_a_line_that_ends_in_a_carriage_return_alone(tmp_path):
    file = tmp_path / "rows.csv"
    for data, expected in (
        (CSV + 'a,x\r\n"b",y\r', ["a", "b"]),
        (CSV + 'a,"x"\r', ["a"]),
        (CSV + "a,x\n\r", ["a"]),
        (CSV + "a\rb,x\n", ["a\rb"]),
    ):
        file.write_bytes(data.encode())
        for size in (1, 2**20):
            assert texts(Reader([file], batch_bytes=size)) == expected
    file.write_bytes((CSV + 'a,x\n"b"\rc,y\n').encode())
    assert "line 3: something follows the closing quote" in complaint([file])
    file.write_text('"text,label\na,b\n')
    assert "line 1: a quote is opened and never closed" in complaint([file])


def test_files_that_are_no_json_are_named(tmp_path):
    file = tmp_path / "rows.json"
    file.write_text("\nhello\n")
    said = complaint([file])
    assert said.startswith(f"{file}, line 2: not a JSON object (Expecting value")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.ft", "a.vw", "a.svm", "a.txt"])
@pytest.mark.parametrize("data", [b"", b"\n\n", b"\r\n", b"\xef\xbb\xbf"])
def test_empty_files_have_no_rows(tmp_path, name, data):
    file, other = tmp_path / name, tmp_path / "b.csv"
    file.write_bytes(data)
    if name == "a.txt" and data:
        assert "cannot detect the format" in complaint([file])
        return
    assert complaint([file]) == f"no rows in {file}; give a file that has some"
    other.write_text(CSV + "a,x\n")
    if not name.endswith("svm"):
        assert texts(Reader([file, other, file])) == ["a"]
    file.write_bytes(gzip.compress(data))
    assert complaint([file]) == f"no rows in {file}; give a file that has some"


def test_a_header_alone_and_tables_without_rows(tmp_path):
    (tmp_path / "a.csv").write_text("text,label")
    pq.write_table(
        pa.table({"text": pa.array([], pa.string()), "label": []}), tmp_path / "b.parquet"
    )
    assert complaint([tmp_path]).startswith(
        f"no rows in {tmp_path / 'a.csv'}, {tmp_path / 'b.par'}"
    )
    (tmp_path / "a.csv").write_text("text,label\na\n")
    said = complaint([tmp_path / "a.csv"], skip_bad=True)
    assert "the only one is bad, at" in said


@pytest.mark.parametrize("pack", ["gz", "bz2", "zst", "lz4", "xz", "zip"])
def test_damaged_compressed_files(tmp_path, pack):
    rng = np.random.default_rng(0)
    plain = CSV.encode() + b"".join(b"%d,x\n" % n for n in rng.integers(0, 10**9, 5_000))
    if pack == "gz":
        packed = gzip.compress(plain)
    elif pack == "bz2":
        packed = bz2.compress(plain)
    elif pack == "xz":
        packed = lzma.compress(plain)
    elif pack == "zip":
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("rows.csv", plain)
        packed = out.getvalue()
    else:
        path = tmp_path / "packed"
        with pa.CompressedOutputStream(str(path), {"zst": "zstd"}.get(pack, pack)) as stream:
            stream.write(plain)
        packed = path.read_bytes()
    file = tmp_path / f"rows.csv.{pack}"
    file.write_bytes(packed)
    assert len(texts(Reader([file], label_type="text"))) == 5_000
    wrongs = [packed[: len(packed) // 2], packed[:20]]
    if pack in ("gz", "bz2", "xz", "zip"):  # the others are often written without checksums
        wrongs.append(packed[:200] + b"junk" * 50 + packed[400:])
    for wrong in wrongs:
        file.write_bytes(wrong)
        said = complaint([file], label_type="text")
        assert re.search(
            rf"{file.name} is a damaged or truncated \w+ file \(.*; get it again", said
        )


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
def test_damaged_columnar_files(tmp_path, kind):
    table = pa.table({"text": [f"text {n}" for n in range(1000)], "label": list(range(1000))})
    out = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, out)
    else:
        with (pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream)(
            out, table.schema
        ) as writer:
            writer.write_table(table, max_chunksize=100)
    whole = out.getvalue()
    file = tmp_path / f"rows.{'arrow' if kind == 'stream' else kind}"
    for wrong in (whole[: len(whole) // 2], whole[:10], b"text,label\na,b\n"):
        file.write_bytes(wrong)
        said = complaint([file])
        assert re.search(r"is damaged, truncated or not an? (Parquet|Arrow) file \(", said)
        file.write_bytes(gzip.compress(wrong))
        assert "is damaged, truncated or not" in complaint([file])


def test_a_folder_in_place_of_a_file_inside_a_pattern(tmp_path):
    (tmp_path / "a.csv").mkdir()
    assert "no file matches the pattern" in complaint([f"{tmp_path}/*.csv"])
