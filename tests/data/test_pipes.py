"""Slow pipes: rows that have arrived do not wait for those that have not."""

import io
import os
import sys

import pytest

from sureline.data import Reader


class SlowPipe:
    """The reading end of a pipe into which a test writes; it never has to wait."""

    def __init__(self) -> None:
        self.number, self._writing = os.pipe()
        self._arrived = 0

    def send(self, data: bytes) -> None:
        os.write(self._writing, data)
        self._arrived += len(data)

    def close(self) -> None:
        os.close(self._writing)
        self._writing = -1

    def fileno(self) -> int:
        return self.number

    def read1(self, size: int) -> bytes:
        assert self._arrived or self._writing < 0, "it waits for bytes that have not been sent"
        data = os.read(self.number, size)
        self._arrived -= len(data)
        return data

    def read(self, size: int = -1) -> bytes:
        raise AssertionError("it waits until so many bytes have been sent")


@pytest.fixture
def pipe(monkeypatch):
    class Stdin:
        buffer = SlowPipe()

    monkeypatch.setattr(sys, "stdin", Stdin)
    yield Stdin.buffer
    os.close(Stdin.buffer.number)


ROWS = {
    "csv": ("text,label\n", "{},x\n"),
    "tsv": ("text\tlabel\n", "{}\tx\n"),
    "jsonl": ("", '{{"text": "{}", "label": "x"}}\n'),
    "array": ("[\n", '{{"text": "{}"\n}},\n'),
    "fasttext": ("", "__label__x {}\n"),
    "vw": ("", "1 | {}\n"),
    "svmlight": ("# a comment\n", "1 1:2\n"),
    "lines": ("", "{}\n"),
}


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("named", [True, False])
def test_rows_of_a_slow_pipe_came_only_when_it_was_closed(kind, named, pipe):
    if kind == "lines" and not named:
        pytest.skip("lines must be named")
    head, row = ROWS[kind]
    wanted = {"array": "jsonl"}.get(kind, kind) if named else None
    batches = iter(Reader("-", format=wanted, labelled=False))
    for number in range(3):
        pipe.send((head if number == 0 else "").encode() + row.format(f"text {number}").encode())
        batch = next(batches)
        assert len(batch) == 1
        if batch.text is not None:
            assert batch.text.to_pylist() == [f"text {number}"]
    pipe.send(b"]" if kind == "array" else row.format("end").removesuffix("\n").encode())
    pipe.close()
    assert sum(map(len, batches)) == (0 if kind == "array" else 1)


def test_a_row_that_comes_in_parts(pipe):
    batches = iter(Reader("-", labelled=False))
    pipe.send(b'text,label\none,x\n"tw')
    assert next(batches).text.to_pylist() == ["one"]
    pipe.send(b'o\nlines",x\nthree,')
    assert next(batches).text.to_pylist() == ["two\nlines"]
    pipe.send(b"x")
    pipe.close()
    assert next(batches).text.to_pylist() == ["three"]


def test_what_has_arrived_is_read_at_once(pipe):
    batches = iter(Reader("-", labelled=False))
    pipe.send(b"text,label\n" + b"a,x\n" * 1000)
    assert len(next(batches)) == 1000
    pipe.close()
    assert list(batches) == []


def test_a_stream_that_is_no_pipe_is_read_in_full(monkeypatch):
    data = b"text,label\n" + b"a,x\n" * 1000
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert [len(batch) for batch in Reader("-", labelled=False)] == [1000]
