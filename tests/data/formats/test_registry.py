"""The list of formats: each has a module, and everything else follows from it."""

import subprocess
import sys
from collections import Counter

import pytest

from sureline.data import FORMATS, Reader
from sureline.data.formats import Format, load_format
from sureline.data.formats.detect import extension, known_extensions


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_a_module_of_its_name(name):
    found = load_format(name)
    assert isinstance(found, Format)
    assert found.name == name
    assert found.extensions or name == "lines"


def test_an_extension_belongs_to_one_format():
    counts = Counter(each for name in FORMATS for each in load_format(name).extensions)
    assert set(counts.values()) == {1}
    assert set(counts) == set(known_extensions())


def test_the_extension_of_a_compressed_file_is_that_before_the_compression():
    assert extension("logs/mail.CSV.gz") == "csv"
    assert extension("mail.tsv.xz") == extension("mail.tsv.zip") == "tsv"
    assert extension("mail.zst") == extension("mail.zip") == ""
    assert extension("mail") == ""


def test_the_names_of_formats_need_no_heavy_import():
    script = (
        "import sys; from sureline.data.formats import FORMATS; "
        "print(*{'pyarrow', 'numpy', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "\n"


def test_a_new_format_is_one_module_and_its_name(tmp_path, monkeypatch):
    # What a new module would define: a format of one text per line.
    import numpy as np

    from sureline.data import Batch, as_text, formats
    from sureline.data.formats import detect
    from sureline.data.raw_batch import RawBatch

    def read(stream, options, bad):
        texts = stream.read(2**20).decode().splitlines()
        yield RawBatch(Batch(text=as_text(texts)), np.arange(1, len(texts) + 1))

    logs = Format("logs", ("log",), lambda sample: sample.line.startswith(b"LOG"), read)
    known = {name: load_format(name) for name in FORMATS} | {"logs": logs}
    for module in (formats, detect):
        monkeypatch.setattr(module, "FORMATS", tuple(known))
    monkeypatch.setattr(detect, "load_format", known.get)
    known_extensions.cache_clear()
    try:
        for name in ("a.log", "b.txt"):
            (tmp_path / name).write_text("LOG one\ntwo\n")
            (batch,) = Reader([tmp_path / name], labelled=False)
            assert batch.text.to_pylist() == ["LOG one", "two"]
    finally:
        known_extensions.cache_clear()
