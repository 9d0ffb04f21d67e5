"""JSON lines: what a line means does not depend on the lines around it."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from cases import several

from sureline import DataError
from sureline.data import Reader

GOOD = '{"text": "fine", "label": 1}'
ODD = [
    "null",
    "true",
    "3",
    '"text"',
    "[]",
    '[{"text": "a", "label": 1}]',
    '{"text": "a", "label": 1}{"text": "b", "label": 2}',
    '{"text": "a",',
    '"label": 1}',
    '{"text": "a", "label": 1, "more": ' + "[" * 400 + "]" * 400 + "}",
    '{"text": "a", "label": 1, "more": ' + "[" * 600 + "]" * 600 + "}",
    '{"text": "' + "[{" * 600 + '", "label": 1}',
    '{"text": "a", "label": 1} ',
    ' {"text": "a", "label": 1}',
    '{"text": "a", "label": 2.0}',
    '{"text": "a", "label": 1e0}',
    '{"text": "a", "label": true}',
    '{"text": "a", "label": "1"}',
    '{"text": "\\ud800", "label": 1}',
    '{"text": "a", "label": 1, "label": 2}',
    '{"text": "a", "label": NaN}',
    "{}",
    "",
]


def read(path, **options):
    """The texts and labels of a file, and how many rows are bad; or where reading stopped."""
    reader = Reader([path], skip_bad=True, **options)
    texts, labels = [], []
    try:
        for batch in reader:
            texts += batch.text.to_pylist()
            labels += batch.label.to_pylist()
    except DataError as problem:
        return re.search(r"line \d+: the label", str(problem)).group()
    return texts, labels, reader.bad.count


@pytest.mark.parametrize("first", ["null", "true", "7", '"x"', "[]"])
def test_a_line_that_is_no_object_is_a_bad_row_wherever_it_is(first, tmp_path):
    """As the first line of a block, it ended the process in Arrow's parser."""
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join([GOOD, first, GOOD, first, first, GOOD]) + "\n")
    code = f"""
from sureline.data import Reader
for size in (1, 20, 40, 1000):
    reader = Reader([{str(path)!r}], skip_bad=True, batch_bytes=size)
    assert (sum(map(len, reader)), reader.bad.count) == (3, 3), size
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("label_type", ["auto", "text"])
@pytest.mark.parametrize("first", ["1", "1.5", '"spam"'])
def test_rows_do_not_depend_on_their_neighbours(first, label_type, tmp_path):
    path = tmp_path / "rows.jsonl"
    rng = np.random.default_rng(3)
    head = f'{{"text": "first", "label": {first}}}'
    for _ in range(several(300, 30)):
        lines = [head, *rng.choice([GOOD, *ODD], rng.integers(1, 9)).tolist()]
        path.write_text("\n".join(lines) + "\n")
        seen = {
            json.dumps(read(path, label_type=label_type, batch_bytes=size))
            for size in (1, 60, 200, 10**6)
        }
        assert len(seen) == 1, (lines, seen)


def test_a_number_as_text_is_spelled_as_in_the_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a", "label": 1.5}\n{"text": "b", "label": 1}\n')
    for size in (1, 10**6):
        assert read(path, label_type="text", batch_bytes=size)[1] == ["1.5", "1"]


@pytest.mark.parametrize("size", [30, 2**20])
def test_how_a_wrong_label_is_shown_depended_on_its_neighbours(size, tmp_path):
    path = tmp_path / "rows.jsonl"
    labels = ['"x"', "2", "0.5"]
    path.write_text("".join(f'{{"text": "a", "label": {label}}}\n' for label in labels))
    with pytest.raises(DataError, match=r"line 2: the label 2 is not text"):
        list(Reader([path], batch_bytes=size))
