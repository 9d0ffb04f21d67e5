"""Rows that are too long, and files that would expand to more than memory holds."""

import gzip
import json
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sureline.data import Reader, read_options
from sureline.data.arrow_arrays import value_sizes
from sureline.data.formats import csv
from sureline.errors import DataError, InvalidParameter

LIMIT = 1000  # bytes
SMALL = {"row_limit_mb": LIMIT / 2**20}
HEADS = {"csv": "text,label\n", "tsv": "text\tlabel\n"}
ROWS = {
    "csv": "{},1\n",
    "tsv": "{}\t1\n",
    "jsonl": '{{"text": "{}", "label": 1}}\n',
    "ft": "__label__1 {}\n",
    "vw": "1 | {}\n",
    "svm": "1 1:1 # {}\n",
}


def read(file, **options):
    reader = Reader([file], skip_bad=True, **options)
    sizes = [len(batch) for batch in reader]
    return sum(sizes), [(bad.line, bad.reason) for bad in reader.bad.first]


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("size", [1, 7, 900, 1100, 2**20])
@pytest.mark.parametrize("newline", [True, False])
def test_a_row_above_the_limit_is_bad_and_the_next_one_is_read(kind, size, newline, tmp_path):
    file, head, row = tmp_path / f"rows.{kind}", HEADS.get(kind, ""), ROWS[kind]
    fits = row.format("x" * (LIMIT + 1 - len(row.format(""))))
    assert len(fits) == LIMIT + 1  # the newline is no part of the row
    above = fits.replace("xx", "xxx", 1)
    first = 2 if head else 1
    file.write_text(head + fits + above + fits + above * 2 + fits * newline)
    if not newline:
        file.write_text(file.read_text().removesuffix("\n"))
    found = [(line, "the row is longer than 0.000953674 MB") for line in (1, 3, 4)]
    expected = (2 + newline, [(first + line, reason) for line, reason in found])
    assert read(file, batch_bytes=size, **SMALL) == expected
    with pytest.raises(DataError) as caught:
        list(Reader([file], batch_bytes=size, **SMALL))
    assert str(caught.value).startswith(f"{file}, line {first + 1}: the row is longer than 0.0009")
    assert "raise the limit (row_limit_mb=...), or skip bad rows (skip_bad=True)" in str(
        caught.value
    )
    assert read(file, batch_bytes=size) == (5 + newline, [])


@pytest.mark.parametrize("size", [1, 7, 900, 1100, 2**20])
def test_a_quote_that_is_never_closed_loses_its_own_line_alone(size, tmp_path):
    file, rows = tmp_path / "rows.csv", "more,x\nand more,y\n" * 100
    file.write_text('text,label\ngood,x\n"6 inches,x\n' + rows)
    reason = "the row is longer than 0.000953674 MB"
    assert read(file, batch_bytes=size, **SMALL) == (201, [(3, reason)])
    # A quote far below closes the field, or does not; the row is too long in any case.
    for end in ('the "end",x\n', 'the end",x\n', '"the end",x\n'):
        file.write_text('text,label\ngood,x\n"6 inches,x\n' + rows + end)
        assert read(file, batch_bytes=size, **SMALL)[1][0] == (3, reason)
    with pytest.raises(DataError, match="look for a quote that is never closed; raise the limit"):
        list(Reader([file], batch_bytes=size, **SMALL))


def test_a_header_above_the_limit_is_an_error(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text('text,"label\n' + "a,x\n" * 1000)
    with pytest.raises(DataError, match=r"line 1: the row is longer than .* if quotes are plain"):
        list(Reader([file], skip_bad=True, **SMALL))


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf")])
def test_a_limit_that_is_none_is_refused(limit, tmp_path):
    (tmp_path / "rows.csv").write_text("text,label\na,x\n")
    with pytest.raises(InvalidParameter, match="row_limit_mb must be a number above 0, not"):
        Reader([tmp_path / "rows.csv"], row_limit_mb=limit)


@pytest.mark.parametrize("kind", ROWS)
def test_memory_is_bounded_however_long_a_compressed_row_is(kind, tmp_path):
    file = tmp_path / f"rows.{kind}.gz"
    head, row = HEADS.get(kind, ""), ROWS[kind]
    begin, end = row.format("x"), row.format("y:1 " * 2**24)
    if kind in HEADS:
        end = f'"{end}'
    with gzip.open(file, "wb", 1) as out:
        out.write((head + begin + end + begin).encode())
    read(file, row_limit_mb=0.1)  # compiles what is not compiled yet
    tracemalloc.start()
    try:
        assert read(file, row_limit_mb=1.0)[0] == 2
        assert tracemalloc.get_traced_memory()[1] < 12 * 2**20
    finally:
        tracemalloc.stop()


def test_a_long_namespace_does_not_multiply_memory(tmp_path):
    file = tmp_path / "rows.vw"
    line = "1 |" + "n" * 20_000 + " a:1" * 5_000 + "\n"  # names of 100 MB
    file.write_text("0 | a:1\n" + line + "1 |n a:1\n")
    assert read(file) == (2, [(2, "the row is longer than 16 MB")])
    several = "1 |" + "n" * 5_000 + " a:1" * 1_000 + "\n"  # 5 MB each
    file.write_text(several * 60)
    tracemalloc.start()
    try:
        assert read(file) == (60, [])
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()
    (batch, *_) = Reader([file])
    assert batch.named_features.names[0].as_py() == "n" * 5_000 + "^a"


def test_blank_lines_before_the_first_object_do_not_hide_the_rest(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("\n" * 2**21 + ROWS["jsonl"].format("x") * 3)
    for size in (2**16, 2**20):
        assert read(file, batch_bytes=size) == (3, [])


def test_labels_of_changing_types_are_read_together_as_text(tmp_path):
    """Each run of labels of one type was a batch of its own, which took far longer."""
    file = tmp_path / "rows.jsonl"
    row = ROWS["jsonl"]
    file.write_text((row.format("x") + row.format("x").replace("1", '"a"')) * 50)
    (batch,) = Reader([file], label_type="text")
    assert batch.label.to_pylist() == ["1", "a"] * 50


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize("encoded", [False, True])
def test_texts_above_the_limit_are_bad_rows_of_tables(kind, encoded, tmp_path):
    file = tmp_path / f"rows.{kind}"
    texts = pa.array(["a", "x" * LIMIT, "x" * (LIMIT + 1), "b"])
    table = pa.table({"text": texts.dictionary_encode() if encoded else texts, "label": [1] * 4})
    if kind == "parquet":
        pq.write_table(table, file)
    else:
        with pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)
    reason = "the row is longer than 0.000953674 MB"
    assert read(file, **SMALL) == (3, [(3, reason)])
    assert read(file) == (4, [])


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_text_that_many_rows_share_is_not_decoded_for_all_of_them_at_once(kind, tmp_path):
    file, text = tmp_path / f"rows.{kind}", "long text " * 10_000
    texts = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 2_000, pa.int32()), [text, "short"])
    table = pa.table({"text": texts, "label": [1] * 4_000})
    if kind == "parquet":
        pq.write_table(table, file)
    else:
        with pa.ipc.new_file(file, table.schema) as out:
            out.write_table(table)
    assert file.stat().st_size < 150_000
    before, most, rows = pa.total_allocated_bytes(), 0, 0
    for batch in Reader([file]):
        most = max(most, pa.total_allocated_bytes() - before)
        rows += len(batch)
        assert batch.text[0].as_py() in (text, "short")
    assert rows == 4_000
    assert most < 20 * 2**20


def test_a_parquet_file_that_expands_too_far_is_refused(tmp_path):
    file = tmp_path / "rows.parquet"
    table = pa.table({"text": ["x" * 2**20] * 300, "label": [1] * 300})
    pq.write_table(table, file, use_dictionary=False, compression="zstd")
    said = (
        f"{file} expands to more than 100 times its size when it is decompressed; raise the limit "
        "(expansion_limit=...) if you trust the file"
    )
    with pytest.raises(DataError) as caught:
        list(Reader([file]))
    assert str(caught.value) == said
    assert read(file, expansion_limit=1e6) == (300, [])


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_compressed_table_cannot_fill_the_disk(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(read_options, "ALLOWANCE", 2**24)
    file = tmp_path / f"rows.{kind}.gz"
    magic = {"parquet": b"PAR1", "arrow": b"ARROW1"}[kind]
    with gzip.open(file, "wb") as out:
        out.write(magic)
        for _ in range(20):
            out.write(bytes(2**20))
    with pytest.raises(DataError, match="expands to more than 100 times its size"):
        list(Reader([file]))
    with pytest.raises(DataError, match="is damaged, truncated or not a"):
        list(Reader([file], expansion_limit=2000))


def test_an_index_beyond_a_dictionary_is_damage_not_an_internal_error(tmp_path):
    file = tmp_path / "rows.parquet"
    texts = pa.array(["first", "third", "fourth", "fifth", "second"] * 20).dictionary_encode()
    pq.write_table(pa.table({"text": texts, "label": texts}), file, compression="none")
    whole = file.read_bytes()
    found = 0
    for place in range(whole.index(b"second") + 6, len(whole) - 500):
        damaged = bytearray(whole)
        damaged[place] = 0x7F
        file.write_bytes(damaged)
        try:
            list(Reader([file]))
        except DataError as error:
            found += "an index is beyond the dictionary" in str(error)
    assert found


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize("more", [1, 3, 7])
def test_a_buffer_of_odd_length_was_an_internal_error(kind, more):
    """A damaged Arrow file may give a buffer any length that is long enough."""
    array = pa.array(["a", "bcd", None, "x" * 20], kind)
    valid, second, *others = array.buffers()
    odd = pa.py_buffer(second.to_pybytes() + b"\0" * more)
    longer = pa.Array.from_buffers(kind, 4, [valid, odd, *others])
    assert value_sizes(longer).tolist() == value_sizes(array).tolist()
    assert value_sizes(longer[1:]).tolist()[0] == 3
    assert value_sizes(longer[4:]).size == 0


def test_a_header_of_millions_of_fields_is_an_error(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("text,label" + "," * 10**6 + "\na,x\n")
    with pytest.raises(DataError, match=r"line 1: there are 1,000,002 columns, more than 65,536"):
        list(Reader([file]))


@pytest.mark.parametrize("size", [100, 2**16])
def test_short_rows_of_a_wide_table_take_no_more_memory_than_others(size, tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "MOST_FIELDS", 7000)
    file, names = tmp_path / "rows.csv", [f"c{k}" for k in range(998)]
    good = ",".join(["a", "1", *names])
    file.write_text(",".join(["text", "label", *names]) + "\n" + f"x\n{good}\ny\n" * 50)
    reader = Reader([file], skip_bad=True, keep=True, batch_bytes=size)
    tables = [batch.table for batch in reader]
    assert sum(len(table) for table in tables) == 50
    assert reader.bad.count == 100
    assert max(len(table) for table in tables) <= 7
    assert tables[-1].column("c997")[0].as_py() == "c997"


def test_a_key_of_its_own_in_every_row_is_not_kept_as_a_column(tmp_path):
    file = tmp_path / "rows.jsonl"
    rows = ({"text": "a", "label": 1, f"key {row}": row} for row in range(5000))
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match=r"has 5,000 different keys in 5,000 rows, too many to"):
        list(Reader([file], keep=True))
    assert read(file) == (5000, [])
