"""Which files, columns and labels are read, and what is said where they cannot be."""

import gzip
import io
import os
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sureline.data import FORMATS, Reader, byte_streams, reader
from sureline.data.formats import arrow
from sureline.errors import DataError, InvalidParameter


def rows(reader):
    """All texts and labels."""
    batches = list(reader)
    texts = [value for batch in batches for value in batch.text.to_pylist()]
    labels = [batch.label.to_pylist() for batch in batches if batch.label is not None]
    return texts, [label for some in labels for label in some]


def complaint(inputs, **options):
    """What is said of wrong input, which is one line."""
    with pytest.raises(DataError) as caught:
        list(Reader(inputs, **options))
    said = str(caught.value)
    assert "\n" not in said
    return said


@pytest.fixture
def file(tmp_path):
    """Write a file and return its path."""

    def write(name, data):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


class Stdin:
    """Standard input with given bytes."""

    def __init__(self, data):
        self.buffer = io.BytesIO(data)


# --- finding inputs


def test_files_patterns_and_folders_are_found_in_order(file, tmp_path):
    for name in ("b.csv", "a.jsonl", "sub/c.tsv", ".hidden.csv", ".git/d.csv", "notes.txt"):
        row = '{"text": "%s", "label": "x"}\n' if name.endswith("l") else "text,label\n%s,x\n"
        file(name, (row % name).replace(",", "\t" if name.endswith("tsv") else ","))
    everything = ["a.jsonl", "b.csv", "sub/c.tsv"]
    assert rows(Reader([tmp_path]))[0] == everything
    assert rows(Reader(str(tmp_path)))[0] == everything
    assert rows(Reader([f"{tmp_path}/*.csv"]))[0] == ["b.csv"]
    assert rows(Reader([f"{tmp_path}/**/*.?s[vw]"]))[0] == ["b.csv", "sub/c.tsv"]
    assert rows(Reader([tmp_path / "b.csv", tmp_path / "a.jsonl"]))[0] == ["b.csv", "a.jsonl"]
    sources = [(batch.source, batch.first_row) for batch in Reader([tmp_path])]
    assert sources == [(str(tmp_path / name), 0) for name in everything]


def test_a_file_named_like_a_pattern_is_a_file(file):
    assert rows(Reader([file("odd[1].csv", "text,label\nhi,x\n")])) == (["hi"], ["x"])


def test_inputs_that_do_not_exist(tmp_path, file):
    assert complaint([tmp_path / "no.csv"]).startswith("there is no file ")
    assert complaint([f"{tmp_path}/*.csv"]).startswith("no file matches the pattern ")
    assert "holds no data" in complaint([tmp_path])
    assert complaint(["a\0b*"]).startswith("there is no file ")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere.csv")
    assert complaint([tmp_path / "gone.csv"]).startswith("there is no file ")
    with pytest.raises(InvalidParameter, match="no input was given"):
        Reader([])
    with pytest.raises(InvalidParameter, match="given twice"):
        Reader(["-", "-"])


def test_a_file_that_may_not_be_read(file, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    path = file("secret.csv", "text,label\n")
    # Some users may read everything, whatever the mode of the file.
    monkeypatch.setattr(byte_streams, "open", refuse, raising=False)
    assert complaint([path]) == f"{path} cannot be read: permission denied"


def test_stdin_is_read_once(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Stdin(gzip.compress(b"text,label\nhi,1\n")))
    reader = Reader(["-"])
    assert reader.bytes_total is None
    (batch,) = reader
    assert (batch.source, batch.text.to_pylist(), batch.label.to_pylist()) == ("stdin", ["hi"], [1])
    with pytest.raises(DataError, match="stdin can be read only once"):
        list(reader)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_once(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    script = "import sys; open(sys.argv[1], 'w').write('text,label\\nhi,x\\n')"
    writer = subprocess.Popen([sys.executable, "-c", script, str(pipe)])
    reader = Reader([pipe])
    assert rows(reader) == (["hi"], ["x"])
    assert writer.wait() == 0
    with pytest.raises(DataError, match="can be read only once"):
        list(reader)


def test_files_are_read_again_for_every_pass(file):
    path = file("rows.csv", "text,label\n" + "some words,1\n" * 500)
    reader = Reader([path], batch_bytes=1000)
    first, second = rows(reader), rows(reader)
    assert first == second == (["some words"] * 500, [1] * 500)
    assert reader.bytes_read == reader.bytes_total == path.stat().st_size
    seen = [(reader.bytes_read, batch.first_row, len(batch)) for batch in reader]
    assert seen == sorted(seen)
    assert [start for _, start, _ in seen] == list(np.cumsum([0] + [n for _, _, n in seen[:-1]]))


def test_progress_of_columnar_files(tmp_path):
    path = tmp_path / "rows.parquet"
    table = pa.table({"text": ["some words"] * 500, "label": [1] * 500})
    pq.write_table(table, path, row_group_size=100, use_dictionary=False)
    reader = Reader([path, path], batch_bytes=1000, labelled=False)
    seen = [reader.bytes_read for _ in reader]
    assert seen == sorted(seen)
    assert len(set(seen)) > 5
    assert reader.bytes_read == reader.bytes_total == 2 * path.stat().st_size


# --- formats


@pytest.mark.parametrize(
    ("data", "text", "label"),
    [
        (b"text,label\nhi,x\n", "hi", "x"),
        (b"label\ttext\nx\thi, you\n", "hi, you", "x"),
        (b'{"text": "hi", "label": "x"}\n', "hi", "x"),
        (b"__label__x hi\n", "hi", "x"),
        (b"-1 |a hi\n", "hi", -1),
        (b"1 2.5 'tag | hi\n", "hi", 1),
        (b"\xef\xbb\xbftext,label\nhi,x\n", "hi", "x"),
        (b'"text","label"\n"hi\tyou","x"\n', "hi\tyou", "x"),
    ],
)
def test_the_format_of_stdin_is_inferred_from_its_first_bytes(monkeypatch, data, text, label):
    for sent in (data, gzip.compress(data)):
        monkeypatch.setattr(sys, "stdin", Stdin(sent))
        assert rows(Reader(["-"])) == ([text], [label])


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream"])
def test_columnar_stdin_and_files_without_a_known_name(monkeypatch, tmp_path, kind):
    table = pa.table({"text": ["hi", "you"], "label": [1, 2]})
    out = io.BytesIO()
    if kind == "parquet":
        pq.write_table(table, out)
    else:
        new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with new(out, table.schema) as writer:
            writer.write_table(table)
    monkeypatch.setattr(sys, "stdin", Stdin(out.getvalue()))
    assert rows(Reader(["-"])) == (["hi", "you"], [1, 2])
    (tmp_path / "data").write_bytes(out.getvalue())
    assert rows(Reader([tmp_path / "data"])) == (["hi", "you"], [1, 2])


def test_a_long_first_line_and_one_without_names(file):
    assert rows(Reader([file("a.txt", "__label__x " + "word " * 20_000)]))[1] == ["x"]
    features = " ".join(f"{n}:1" for n in range(20_000))
    (batch,) = Reader([file("b.txt", f"1 {features}")])
    assert batch.matrix.shape == (1, 20_000)
    assert rows(Reader([file("c.txt", "x,hi\n")], text=1, label=0)) == (["hi"], ["x"])


def test_svmlight_is_inferred_from_its_first_line(file):
    for data in ("# a comment\n+1 1:0.5 7:2\n", "1 qid:3 1:0.5 7:2 # why\n", "1 1:.5 7:2"):
        (batch,) = Reader([file("data.txt", data)])
        assert batch.matrix.toarray().tolist() == [[0, 0.5, 0, 0, 0, 0, 0, 2]]


def test_a_format_that_cannot_be_inferred_must_be_named(file):
    said = complaint([file("data.txt", "hello\nworld\n")])
    assert said.endswith(f"name it (format=...): {', '.join(FORMATS)}")
    with pytest.raises(InvalidParameter, match="format 'xml' does not exist; it can be csv, tsv"):
        Reader([file("data.txt", "")], format="xml")


def test_a_format_given_counts_more_than_the_name(file):
    path = file("data.csv", "text\tlabel\na,b\tx\n")
    assert rows(Reader([path], format="tsv")) == (["a,b"], ["x"])


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (gzip.compress(b"PK\x03\x04....", mtime=0), "a zip archive within another file"),
        (gzip.compress(b"\xfd7zXZ\x00....", mtime=0), "compressed with xz, twice"),
        (b"FEA1....", "the first version of the Feather format"),
    ],
)
def test_foreign_files_are_named(file, data, what):
    assert what in complaint([file("data.csv", data)])


def test_several_formats_in_one_run(file, tmp_path):
    pq.write_table(pa.table({"text": ["p"], "label": [3]}), tmp_path / "c.parquet")
    paths = [
        file("a.csv", "text,label\nc,1\n"),
        file("b.jsonl", '{"label": 2, "text": "j"}\n'),
        tmp_path / "c.parquet",
        file("d.vw", "+4 | v\n"),
    ]
    assert rows(Reader(paths)) == (["c", "j", "p", "v"], [1, 2, 3, 4])
    paths.append(file("e.svm", "1 1:1\n"))
    assert "cannot be read together" in complaint(paths)


# --- columns


def test_columns_are_chosen_by_name_or_position(file):
    path = file("rows.csv", "id,body,class\n7,hi,x\n")
    reader = Reader([path], text="body", label="class")
    assert rows(reader) == (["hi"], ["x"])
    assert (reader.text_name, reader.label_name) == ("body", "class")
    for text, label in ((1, 2), ("1", "2"), ("body", 2), (1, "class")):
        reader = Reader([path], text=text, label=label, header=True)
        assert rows(reader) == (["hi"], ["x"])
        assert (reader.text_name, reader.label_name) == ("body", "class")
    assert rows(Reader([path], text="body", label=2)) == (["hi"], ["x"])


def test_files_without_a_header(file):
    path = file("rows.csv", "0,hi\n1,you\n")
    for options in ({"text": 1, "label": 0}, {"text": "1", "label": "0", "header": False}):
        reader = Reader([path], **options)
        assert rows(reader) == (["hi", "you"], [0, 1])
        assert (reader.text_name, reader.label_name) == ("1", "0")
    # Digits in a row are no names; the numbers of all columns are.
    assert rows(Reader([path], text="1", label="0"))[0] == ["hi", "you"]
    assert rows(Reader([file("n.csv", "0,1\nx,hi\n")], text="1", label="0")) == (["hi"], ["x"])
    assert rows(Reader([file("m.csv", "label,text\nx,hi\n")], text=1, label=0)) == (["hi"], ["x"])
    said = complaint([path], text="text", label="label", header=False)
    assert "has no column 'text'; its columns are '0', '1'" in said


def test_a_column_that_is_missing_is_named_with_those_there_are(file, tmp_path):
    pq.write_table(pa.table({"a": ["x"], "b": [1]}), tmp_path / "t.parquet")
    for path in (
        file("t.csv", "a,b\nx,1\n"),
        file("t.jsonl", '{"a": "x", "b": 1}\n'),
        tmp_path / "t.parquet",
    ):
        said = complaint([path])
        assert (
            f"{path} has no column 'text'; its columns are 'a', 'b'; name the text column" in said
        )
        assert "(text=...)" in said
        said = complaint([path], text="a")
        assert "has no column 'label'" in said
        assert "(label=...)" in said
        assert "has no column 7" in complaint([path], text=7, header=True)
    many = file("many.csv", ",".join(f"c{n}" for n in range(50)) + "\n")
    assert "'c19' and 30 more;" in complaint([many])
    wrong = file("wrong.csv", "text;label\nx;1\n")
    assert "or the field delimiter (delimiter=';')" in complaint([wrong])
    assert rows(Reader([wrong], delimiter=";")) == (["x"], [1])
    twice = file("twice.csv", "text,text,label\nx,y,1\n")
    assert "has 2 columns named 'text'" in complaint([twice])
    assert rows(Reader([twice], text=1)) == (["y"], [1])


def test_columns_that_cannot_be(file):
    path = file("t.csv", "text,label\nx,1\n")
    for wrong in (-1, True, "", 1.5):
        with pytest.raises(InvalidParameter, match="is not a column"):
            Reader([path], text=wrong)
    with pytest.raises(InvalidParameter, match="cannot be both text and label"):
        list(Reader([path], label="text"))
    for wrong in ("", ",,", '"', "\n", "é"):
        with pytest.raises(InvalidParameter, match="delimiter"):
            Reader([path], delimiter=wrong)
    with pytest.raises(InvalidParameter, match="batch_bytes must be 1 or more"):
        Reader([path], batch_bytes=0)
    with pytest.raises(InvalidParameter, match="encoding 'klingon' is unknown"):
        Reader([path], encoding="klingon")
    with pytest.raises(InvalidParameter, match="encoding 'rot13' is unknown"):
        Reader([path], encoding="rot13")
    with pytest.raises(InvalidParameter, match="label_type 'number' does not exist"):
        Reader([path], label_type="number")


def test_columns_of_the_same_name(tmp_path):
    table = pa.table([["a"], ["b"], [1], ["c"]], names=["text", "x", "label", "x"])
    pq.write_table(table, tmp_path / "t.parquet")
    assert rows(Reader([tmp_path / "t.parquet"])) == (["a"], [1])
    assert rows(Reader([tmp_path / "t.parquet"], text=3)) == (["c"], [1])
    assert "has 2 columns named 'x'" in complaint([tmp_path / "t.parquet"], text="x")


def test_large_record_batches_are_mapped(tmp_path, monkeypatch):
    table = pa.table({"text": [f"text {n}" for n in range(1000)], "label": list(range(1000))})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as out:
        out.write_table(table)
    monkeypatch.setattr(arrow, "MAPPED_BYTES", 100)
    read = Reader([tmp_path / "t.arrow"], batch_bytes=1000)
    assert rows(read) == (table["text"].to_pylist(), table["label"].to_pylist())
    assert len(list(read)) > 5


def test_quotes_can_be_plain_characters(file):
    path = file("t.tsv", 'text\tlabel\n"Hi" he said\tx\n"open\ty\n')
    assert "line 2: something follows the closing quote" in complaint([path])
    assert rows(Reader([path], quotes=False)) == (['"Hi" he said', '"open'], ["x", "y"])


def test_other_columns_are_kept_on_request(file, tmp_path):
    table = pa.table({"id": pa.array([7, 8], pa.int32()), "text": ["a", "b"], "label": [1, 2]})
    pq.write_table(table, tmp_path / "t.parquet")
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as out:
        out.write_table(table)
    (batch,) = Reader([file("t.csv", "id,text,label\n07,a,1\n8,b,2\n")], keep=True)
    assert batch.table.to_pylist() == [{"id": "07"}, {"id": "8"}]
    for name in ("t.parquet", "t.arrow"):
        (batch,) = Reader([tmp_path / name], keep=True)
        assert batch.table.to_pylist() == [{"id": 7}, {"id": 8}]
        (batch,) = Reader([tmp_path / name], keep=True, labelled=False)
        assert batch.table.to_pylist() == [{"id": 7, "label": 1}, {"id": 8, "label": 2}]
        (batch,) = Reader([tmp_path / name])
        assert batch.table is None
    lines = '{"id": 7, "text": "a", "label": 1}\n{"text": "b", "label": 2, "more": [1]}\n'
    (batch,) = Reader([file("t.jsonl", lines)], keep=True)
    assert batch.table.to_pylist() == [{"id": 7, "more": None}, {"id": None, "more": [1]}]
    mixed = '{"id": 7, "text": "a", "label": 1}\n{"id": "x", "text": "b", "label": 2}\n'
    (batch,) = Reader([file("t.jsonl", mixed)], keep=True)
    assert batch.table["id"].to_pylist() == ["7", '"x"']
    (batch,) = Reader([file("t.vw", "1 1 'one | a\n2 | b\n")], keep=True)
    assert batch.table.to_pylist() == [{"tag": "one"}, {"tag": ""}]
    (batch,) = Reader([file("u.csv", "text,label\na,1\n")], keep=True)
    assert batch.table is None


# --- labels


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        (["1", "0", "-3", "9223372036854775807"], "int64"),
        (["1", "02"], "large_string"),
        (["1", "+2"], "large_string"),
        (["1", "-0"], "large_string"),
        (["1", "2.0"], "large_string"),
        (["1", " 2"], "large_string"),
        (["1", "9223372036854775808"], "large_string"),
        (["1", "x"], "large_string"),
        (["true", "false"], "large_string"),
    ],
)
def test_labels_of_text_files(file, written, kind):
    path = file("t.csv", "label,text\n" + "".join(f"{label},w\n" for label in written))
    for size in (1, 2**20):
        batches = list(Reader([path], batch_bytes=size))
        assert {str(batch.label.type) for batch in batches} == {kind}
        read = [value for batch in batches for value in batch.label.to_pylist()]
        assert read == (list(map(int, written)) if kind == "int64" else written)


def test_a_label_that_comes_late_and_does_not_fit(file, monkeypatch):
    monkeypatch.setattr(reader, "LABEL_SAMPLE_BYTES", 2**16)
    data = "label,text\n" + f"1,{'w' * 50}\n" * 1500 + "two,x\n3,y\n"
    path = file("t.csv", data)
    for size in (500, 2**20):
        said = complaint([path], batch_bytes=size)
        assert said == (
            f"{path}, line 1502: the label 'two' is not a whole number, as the labels before it "
            "are; read labels as text (label_type='text')"
        )
        # Skipping would leave out a whole class: this is an error in any case.
        assert "label 'two'" in complaint([path], batch_bytes=size, skip_bad=True)
    assert rows(Reader([path], label_type="text"))[1] == ["1"] * 1500 + ["two", "3"]


def test_the_first_labels_decide_whatever_the_batches(file, monkeypatch):
    # 66 rows of 99 bytes reach the limit; whether the 66th row has a say depends on nothing else.
    monkeypatch.setattr(reader, "LABEL_SAMPLE_BYTES", 66 * 99)
    row = f"1,{'w' * 66}\n"
    early = file("early.csv", "label,text\n" + row * 65 + "two,x\n" + row * 9)
    late = file("late.csv", "label,text\n" + row * 66 + "two,x\n" + row * 9)
    for size in (1, 1000, 2**20):
        assert rows(Reader([early], batch_bytes=size))[1][64:66] == ["1", "two"]
        assert "line 68: the label 'two'" in complaint([late], batch_bytes=size)


def test_numbers_that_come_late(file, monkeypatch):
    monkeypatch.setattr(reader, "LABEL_SAMPLE_BYTES", 1)
    for size in (1, 2**20):
        path = file("t.jsonl", '{"label": 1, "text": "a"}\n{"label": 2.0, "text": "b"}\n')
        assert rows(Reader([path], batch_bytes=size, label_type="int"))[1] == [1, 2]
    path = file("t.vw", "1 | a\n0.5 | b\n")
    assert "line 2: the label '0.5' is not a whole number" in complaint([path])
    assert rows(Reader([path], label_type="float"))[1] == [1.0, 0.5]
    path = file("t.svm", "1 1:1\n0.5 1:1\n")
    assert "line 2: the label 0.5 is not a whole number" in complaint([path])


def test_whole_numbers_beyond_64_bits(file, tmp_path):
    path = file(
        "t.jsonl", '{"label": 1, "text": "a"}\n{"label": 9223372036854775808, "text": "b"}\n'
    )
    assert "line 2: the label 9223372036854775808 does not fit in 64 bits" in complaint([path])
    assert rows(Reader([path], label_type="text"))[1] == ["1", "9223372036854775808"]
    table = pa.table({"text": ["a"], "label": pa.array([2**64 - 1], pa.uint64())})
    pq.write_table(table, tmp_path / "t.parquet")
    assert "which cannot be a label" in complaint([tmp_path / "t.parquet"])


def test_labels_of_typed_files_keep_their_type(tmp_path):
    for array, kind in (
        (pa.array([1, 2], pa.uint8()), "int64"),
        (pa.array([1.0, 2.0], pa.float32()), "double"),
        (pa.array([True, False]), "bool"),
        (pa.array(["1", "2"]), "large_string"),
        (pa.array(["1", "2"], pa.string_view()), "large_string"),
        (pa.array(["b", "a"]).dictionary_encode(), "large_string"),
        (pa.array([5, 7]).dictionary_encode(), "int64"),
    ):
        table = pa.table({"text": ["x", "y"], "label": array})
        with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as out:
            out.write_table(table)
        (batch,) = Reader([tmp_path / "t.arrow"])
        assert str(batch.label.type) == kind
        assert batch.label.to_pylist() == array.to_pylist()
    pq.write_table(pa.table({"text": ["x"], "label": [[2, 1]]}), tmp_path / "t.parquet")
    assert rows(Reader([tmp_path / "t.parquet"]))[1] == [[2, 1]]
    for nested in ([[1]], {"a": 1}, [{"a": 1}], [b"a"]):
        pq.write_table(pa.table({"text": ["x"], "label": [nested]}), tmp_path / "t.parquet")
        assert "which cannot be a label" in complaint([tmp_path / "t.parquet"])
    pq.write_table(pa.table({"text": [1], "label": [1]}), tmp_path / "t.parquet")
    assert "holds int64, not text" in complaint([tmp_path / "t.parquet"])
    day = pa.array([0], pa.date32())
    pq.write_table(pa.table({"text": ["x"], "label": day}), tmp_path / "t.parquet")
    assert "label_type='text'" in complaint([tmp_path / "t.parquet"])
    assert rows(Reader([tmp_path / "t.parquet"], label_type="text"))[1] == ["1970-01-01"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('{"label": 1, "text": "a"}\n{"label": 2, "text": "b"}\n', [1, 2]),
        ('{"label": 1.0, "text": "a"}\n{"label": 2, "text": "b"}\n', [1.0, 2.0]),
        ('{"label": 1, "text": "a"}\n{"label": 2.5, "text": "b"}\n', [1.0, 2.5]),
        ('{"label": true, "text": "a"}\n{"label": false, "text": "b"}\n', [True, False]),
        (
            '{"label": "2020-01-01", "text": "a"}\n{"label": "1", "text": "b"}\n',
            ["2020-01-01", "1"],
        ),
    ],
)
def test_labels_of_json_keep_their_type(file, lines, expected):
    read = rows(Reader([file("t.jsonl", lines)]))[1]
    assert read == expected
    assert [type(label) for label in read] == [type(label) for label in expected]


def test_labels_of_several_types_in_json(file):
    path = file("t.jsonl", '{"label": 1, "text": "a"}\n{"label": "x", "text": "b"}\n')
    found = complaint([path])
    assert re.search(r"line 2: the label 'x' is not a whole number, .*label_type='text'", found)
    assert rows(Reader([path], label_type="text"))[1] == ["1", "x"]
    path = file("t.jsonl", '{"label": 1.0, "text": "a"}\n{"label": true, "text": "b"}\n')
    assert rows(Reader([path], label_type="text"))[1] == ["1.0", "true"]


def test_the_type_of_labels_is_decided_once_for_all_inputs(file, tmp_path):
    pq.write_table(pa.table({"text": ["x"], "label": ["1"]}), tmp_path / "t.parquet")
    number = file("n.csv", "text,label\nx,1\n")
    words = file("w.csv", "text,label\nx,one\n")
    assert rows(Reader([number, words]))[1] == ["1", "one"]
    # A typed file says what its labels are; a text file follows.
    assert rows(Reader([number, tmp_path / "t.parquet"]))[1] == ["1", "1"]
    pq.write_table(pa.table({"text": ["x"], "label": [1]}), tmp_path / "i.parquet")
    said = complaint([tmp_path / "i.parquet", words])
    assert said.startswith(f"{words}, line 2: the label 'one' is not a whole number")
    said = complaint([tmp_path / "i.parquet", tmp_path / "t.parquet"])
    assert f"{tmp_path / 't.parquet'}, row 1: the label '1' is not a whole number" in said
    both = [tmp_path / "i.parquet", tmp_path / "t.parquet", words]
    assert rows(Reader(both, label_type="text"))[1] == ["1", "1", "one"]
    assert rows(Reader(both[:2], label_type="int"))[1] == [1, 1]
    pq.write_table(pa.table({"text": ["x"], "label": [0.5]}), tmp_path / "f.parquet")
    assert rows(Reader([tmp_path / "i.parquet", tmp_path / "f.parquet"]))[1] == [1.0, 0.5]


def test_a_type_of_labels_that_is_asked_for(file):
    path = file("t.csv", "label,text\n1,a\n0,b\n")
    for kind, expected in (("text", ["1", "0"]), ("int", [1, 0]), ("float", [1.0, 0.0])):
        read = rows(Reader([path], label_type=kind))[1]
        assert read == expected
        assert type(read[0]) is type(expected[0])
    assert "not true or false, as required" in complaint([path], label_type="bool")
    path = file("t.csv", "label,text\nTrue,a\nfalse,b\n")
    assert rows(Reader([path], label_type="bool"))[1] == [True, False]
    assert "line 2: the label 'True' is not a number" in complaint([path], label_type="float")


def test_no_labels_are_needed_to_predict(file):
    for name, data in (
        ("a.csv", "id,text\n1,hi\n"),
        ("a.jsonl", '{"text": "hi"}\n'),
        ("a.ft", "hi\n"),
        ("b.ft", "__label__x hi\n"),
        ("c.ft", "__label__x __label__y hi\n"),
        ("a.vw", "| hi\n"),
        ("b.vw", "1 | hi\n"),
    ):
        (batch,) = Reader([file(name, data)], labelled=False)
        assert batch.text.to_pylist() == ["hi"]
        assert batch.label is None
    for data in ("1:2 3:4\n", "7 1:2 3:4\n"):
        (batch,) = Reader([file("a.svm", data)], labelled=False)
        assert batch.matrix.toarray().tolist() == [[0, 2, 0, 4]]
        assert batch.label is None
    # A line of fastText is a row even if it is empty: predictions must stay in step.
    (batch,) = Reader([file("d.ft", "one\n\ntwo\n")], labelled=False)
    assert batch.text.to_pylist() == ["one", "", "two"]


def test_keys_of_json_may_be_missing_in_the_first_lines(file):
    path = file("t.jsonl", '{"label": 1}\n{"label": 2, "text": "b"}\n')
    for size in (1, 2**20):
        assert "line 1: the key 'text' is missing" in complaint([path], batch_bytes=size)
        assert rows(Reader([path], batch_bytes=size, skip_bad=True)) == (["b"], [2])


# --- weights


def test_weights_are_read(file, tmp_path):
    table = pa.table({"text": ["a", "b"], "label": [1, 2], "w": [0.5, 2.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    for path in (
        file("t.csv", "text,label,w\na,1,0.5\nb,2,2\n"),
        file("t.jsonl", '{"text":"a","label":1,"w":0.5}\n{"text":"b","label":2,"w":2}\n'),
        tmp_path / "t.parquet",
    ):
        (batch,) = Reader([path], weight="w")
        assert batch.weight.dtype == np.float64
        assert batch.weight.tolist() == [0.5, 2.0]
        (batch,) = Reader([path])
        assert batch.weight is None


def test_weights_of_formats_without_columns(file):
    for name, data in (("t.ft", "__label__a x\n"), ("t.vw", "1 | a\n"), ("t.svm", "1 1:1\n")):
        assert "which has no columns" in complaint([file(name, data)], weight="w")


def test_a_weight_that_is_not_utf8(file):
    path = file("t.csv", b"text,label,w\na,1,2\nb,2,\xff\n")
    assert "line 3: the weight is not valid UTF-8" in complaint([path], weight="w")


@pytest.mark.parametrize("weight", ["-1", "x", "nan", "inf", "", "1e999"])
def test_bad_weights(file, weight):
    path = file("t.csv", f"text,label,w\na,1,2\nb,2,{weight}\n")
    assert f"line 3: the weight {weight!r} is not a number from 0 up" in complaint(
        [path], weight="w"
    )
    reader = Reader([path], weight="w", skip_bad=True)
    assert rows(reader) == (["a"], [1])
    assert reader.bad.count == 1


@pytest.mark.parametrize("weight", ["-1", '"1"', "NaN", "1e999", "true", "[1]", "null"])
def test_bad_weights_in_json(file, weight):
    good = '{"text":"a","label":1,"w":2}\n'
    path = file("t.jsonl", good + f'{{"text":"b","label":2,"w":{weight}}}\n')
    assert re.search(
        "line 2: the weight.* is (not a number from 0 up|missing)", complaint([path], weight="w")
    )
    assert rows(Reader([path], weight="w", skip_bad=True)) == (["a"], [1])
