"""xz files and zip archives: what is read of them, what is refused, and the memory it takes."""

import io
import lzma
import sys
import tracemalloc
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sureline.data import Reader, compression, read_options
from sureline.errors import DataError

CSV = b"text,label\nhi,x\nyou,y\n"


def pack(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def texts(*inputs, **options):
    return [text for batch in Reader(inputs, **options) for text in batch.text.to_pylist()]


def complaint(path, **options):
    with pytest.raises(DataError) as caught:
        list(Reader([path], **options))
    return str(caught.value)


def test_the_format_is_that_of_the_file_in_an_archive(tmp_path):
    path = tmp_path / "mail.zip"
    assert texts(pack(path, {"rows.tsv": b"text\tlabel\nhi, you\tx\n"})) == ["hi, you"]
    assert texts(pack(path, {"rows": CSV})) == ["hi", "you"]
    named = tmp_path / "mail.csv.zip"
    assert texts(pack(named, {"rows": CSV}, zipfile.ZIP_STORED)) == ["hi", "you"]
    assert texts(tmp_path) == ["hi", "you"]  # in a folder, by its name


def test_folders_and_what_macos_adds_are_no_files(tmp_path):
    members = {"mail/": b"", "mail/rows.csv": CSV, "__MACOSX/mail/._rows.csv": b"junk"}
    assert texts(pack(tmp_path / "mail.zip", members)) == ["hi", "you"]


def test_an_archive_of_several_files_or_of_none_is_refused(tmp_path):
    path = pack(tmp_path / "a.zip", {"a.csv": CSV, "b.csv": CSV})
    assert complaint(path) == (
        f"{path} is a zip archive of 2 files, but only one of a single file is read; extract it, "
        "and name the files to read"
    )
    assert "a zip archive of no file" in complaint(pack(tmp_path / "b.zip", {}))


def test_archives_that_cannot_be_decompressed_are_refused(tmp_path):
    path = pack(tmp_path / "a.zip", {"a.csv": CSV}, zipfile.ZIP_BZIP2)
    assert "compressed in a way that is not read; extract it first" in complaint(path)
    data = bytearray(pack(path, {"a.csv": CSV}).read_bytes())
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "a zip archive that is encrypted; extract it first" in complaint(path)


@pytest.mark.parametrize("kind", ["zip", "xz"])
def test_stdin_may_be_compressed(kind, tmp_path, monkeypatch):
    data = lzma.compress(CSV)
    if kind == "zip":
        data = pack(tmp_path / "a.zip", {"rows.csv": CSV}).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert texts("-") == ["hi", "you"]


@pytest.mark.parametrize("kind", ["zip", "xz"])
def test_a_table_in_a_compressed_file_may_not_expand_without_a_limit(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(read_options, "ALLOWANCE", 2**24)
    out = io.BytesIO()
    pq.write_table(pa.table({"text": ["hi"], "label": ["x"]}), out)
    path = tmp_path / f"rows.parquet.{kind}"
    for data in (out.getvalue(), b"PAR1" + bytes(20 * 2**20)):
        if kind == "zip":
            pack(path, {"rows.parquet": data})
        else:
            path.write_bytes(lzma.compress(data, preset=0))
        if len(data) < 2**20:
            assert texts(path) == ["hi"]
    assert "expands to more than 100 times its size" in complaint(path)


@pytest.mark.parametrize("kind", ["zip", "xz"])
def test_memory_does_not_depend_on_how_far_a_file_expands(kind, tmp_path):
    path = tmp_path / f"rows.csv.{kind}"
    data = CSV + b"x" * 50 * 2**20 + b",x\nlast,y\n"
    if kind == "zip":
        pack(path, {"rows.csv": data})
    else:
        path.write_bytes(lzma.compress(data, preset=0))
    texts(path, skip_bad=True, row_limit_mb=0.1)  # compiles what is not compiled yet
    tracemalloc.start()
    try:
        assert texts(path, skip_bad=True, row_limit_mb=1.0) == ["hi", "you", "last"]
        assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    finally:
        tracemalloc.stop()


def test_xz_files_that_need_much_memory_are_refused(tmp_path):
    path = tmp_path / "rows.csv.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 2**28}]
    path.write_bytes(lzma.compress(CSV, filters=filters))
    assert "Memory usage limit exceeded" in complaint(path)
    path.write_bytes(lzma.compress(CSV, preset=9 | lzma.PRESET_EXTREME))
    assert texts(path) == ["hi", "you"]


def test_a_large_directory_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "_DIRECTORY", 1000)
    path = pack(tmp_path / "a.zip", {f"{n}.csv": CSV for n in range(100)})
    assert "a zip archive of many files" in complaint(path)
