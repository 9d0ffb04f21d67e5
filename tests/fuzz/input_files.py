"""Hostile input: lines of every format, and damaged Parquet and Arrow files.

However a file is cut into blocks, and whether it is compressed or not, the same rows must come out,
or the same error of sureline's. Python's own csv and json decide what valid lines mean.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import math
import random
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import main

from sureline import SurelineError
from sureline.data import Reader

LINES = 200  # of each file
FORMATS = ("csv", "tsv", "jsonl", "svmlight", "vw", "fasttext", "lines", "parquet", "arrow")
# fmt: off
WORDS = [
    "win", "a", "prize", "Größe", "naïve", "日本語", "🙂", "x" * 300, "", " ", "NULL", "nan",
    "1", "-1.5",
]
ODD = [
    "\0", "\r", "\t", "\v", "\f", "\x1b[2J", "\x85", "\u2028", "\ufeff", "\ud800", "\x7f", "=1+1",
    "'", '"', '""',
]
NUMBERS = [
    "1", "-1", "0", "2", "+1", "1.0", "1e0", "1e999", "-0", "nan", "inf", "1_0", "0x1", "1.", ".5",
    "", "\u0661", "9" * 30, "4294967296", "9223372036854775808", "-9223372036854775809", "1e-400",
    "True", "null",
]
# fmt: on


class InputFiles:
    """Writes a file of one format and reads it in several ways."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def try_case(self, rng: random.Random) -> str:
        """Make a file, read it, and compare."""
        kind = rng.choice(FORMATS)
        options: dict[str, Any] = {"format": kind, "skip_bad": rng.random() < 0.8}
        if kind in ("parquet", "arrow"):
            content, expected = table(rng, kind), None
        elif rng.random() < 0.3 and kind in TRUTHS:
            content, expected = TRUTHS[kind](rng)
            options["label_type"] = "text"
        else:
            content, expected = lines(rng, kind), None
            options |= random_options(rng, kind)
        path = self.folder / f"rows.{kind}"
        path.write_bytes(content)
        whole = read(path, **options)
        if kind not in ("parquet", "arrow"):
            packed = self.folder / f"rows.{kind}.gz"
            pack = rng.choice([partial(gzip.compress, compresslevel=1), lzma.compress])
            packed.write_bytes(pack(content))  # the name does not matter
            blocks = rng.choice([64, 500, 5000])
            for other, size in ((path, blocks), (packed, 2**20)):
                again = read(other, batch_bytes=size, **options)
                if again != whole:
                    raise AssertionError(f"{kind} differs by blocks:\n{difference(whole, again)}")
        if expected is not None and whole[0] != expected:
            raise AssertionError(f"{kind} differs from Python's:\n{difference((expected,), whole)}")
        return kind


def read(path: Path, **options: Any) -> tuple[Any, ...]:
    """The rows of a file, how many are bad, and the error, if reading ended with one.

    Which of several errors is found first depends on the blocks.
    """
    rows, reader = list[Any](), None
    try:
        reader = Reader([path], **options)
        for batch in reader:
            rows += contents(batch)
    except SurelineError as error:
        return [], 0, str(error).replace(".gz", "") if options["skip_bad"] else "an error"
    return rows, reader.bad.count, ""


def contents(batch: Any) -> list[Any]:
    """What a batch holds, row by row."""
    for array in (batch.text, batch.label):
        if array is not None:
            array.validate(full=True)
            assert array.null_count == 0
    columns = []
    if batch.text is not None:
        columns.append(batch.text.to_pylist())
    if batch.matrix is not None:
        matrix = batch.matrix
        assert np.isfinite(matrix.data).all()
        ends = matrix.indptr
        columns.append(
            [
                (tuple(matrix.indices[a:b].tolist()), tuple(matrix.data[a:b].tolist()))
                for a, b in pairwise(ends)
            ]
        )
    if batch.label is not None:
        columns.append([repr(label) for label in batch.label.to_pylist()])
    weight = np.ones(len(batch)) if batch.weight is None else batch.weight
    assert (weight >= 0).all()
    assert np.isfinite(weight).all()
    columns.append(weight.tolist())
    named = batch.named_features
    if named is not None:
        named.names.validate(full=True)
        assert len(named) == len(batch)
        assert np.isfinite(named.values).all()
    return [*zip(*columns, strict=True)]


def difference(one: Any, other: Any) -> str:
    """Where two readings begin to differ."""
    if one[0] != other[0]:
        pairs = enumerate(zip(one[0], other[0], strict=False))
        at = next((k for k, (a, b) in pairs if a != b), min(len(one[0]), len(other[0])))
        found = f"{one[0][at : at + 1]!r} and {other[0][at : at + 1]!r}"
        return f"row {at} of {len(one[0])} and of {len(other[0])}: {found}"
    return f"{one[1:]!r} {other[1:]!r}"


def random_options(rng: random.Random, kind: str) -> dict[str, Any]:
    """Options of the reader."""
    options: dict[str, Any] = {"label_type": rng.choice(["auto", "text", "int", "float"])}
    if rng.random() < 0.2:
        options["labelled"] = False
    if kind == "lines":
        options["labelled"] = False
    if kind in ("csv", "tsv"):
        options |= {
            "quotes": rng.random() < 0.8,
            "encoding": rng.choice(["utf-8"] * 4 + ["latin-1"]),
        }
        if rng.random() < 0.3:
            options |= {"header": rng.random() < 0.5, "text": 0, "label": 1}
    if kind in ("csv", "tsv", "jsonl"):
        options |= {"keep": rng.random() < 0.3}
        if rng.random() < 0.3:
            options["weight"] = 2 if options.get("text") == 0 else "weight"
    return options


# -- lines -------------------------------------------------------------------------------------


def phrase(rng: random.Random, odd: float = 0.1) -> str:
    """A few words, some of them odd."""
    return " ".join(
        rng.choice(ODD if rng.random() < odd else WORDS) for _ in range(rng.randrange(5))
    )


def lines(rng: random.Random, kind: str) -> bytes:
    """Lines of a format, many of them wrong."""
    made, ending = [], rng.choice(["\n", "\n", "\r\n"])
    for _ in range(LINES):
        line = MAKERS[kind](rng).encode("utf-8", "surrogatepass")
        made.append(mangle(rng, line) if rng.random() < 0.3 else line)
    if kind in ("csv", "tsv") and rng.random() < 0.9:
        made[0] = (b"," if kind == "csv" else b"\t").join([b"text", b"label", b"weight"])
    if kind == "jsonl" and rng.random() < 0.2:  # an array
        made = [b"[", *(line + b"," for line in made[1:-1]), made[-1], b"]"]
    joined = ending.encode().join(made) + (ending.encode() if rng.random() < 0.8 else b"")
    return b"\xef\xbb\xbf" * (rng.random() < 0.05) + joined


def mangle(rng: random.Random, line: bytes) -> bytes:
    """A line with bytes changed, cut out, doubled or put in."""
    raw = bytearray(line)
    for _ in range(rng.choice([1, 1, 2, 6])):
        at = rng.randrange(len(raw) + 1)
        chance = rng.random()
        if chance < 0.3:
            raw[at : at + 1] = bytes([rng.randrange(256)])
        elif chance < 0.5:
            del raw[at : at + rng.choice([1, 3, 50])]
        elif chance < 0.8:
            raw[at:at] = rng.choice(
                [b'"', b",", b":", b"|", b"{", b"[", b"\\", b"\n", b"\xff", b"\xc3", b" "]
            )
        else:
            raw[at:at] = raw[: rng.choice([1, 10, 100])] * rng.choice([1, 3, 40])
    return bytes(raw)


def csv_line(rng: random.Random, delimiter: str = ",") -> str:
    """Fields, quoted well or badly."""
    fields = [phrase(rng), rng.choice([*WORDS[:7], *NUMBERS]), rng.choice(NUMBERS)]
    for k, field in enumerate(fields):
        chance = rng.random()
        if chance < 0.4 or (delimiter in field and chance < 0.9):
            fields[k] = '"' + field.replace('"', '""') + '"'
        elif chance < 0.45:
            fields[k] = rng.choice(['"' + field, field + '"', f'"{field}"x', f' "{field}"'])
    return delimiter.join(fields[: rng.choice([3, 3, 3, 2, 1])] + [""] * rng.choice([0, 0, 0, 1]))


def json_line(rng: random.Random) -> str:
    """An object with the right fields, or nearly."""
    values: list[Any] = [
        phrase(rng),
        1,
        1.0,
        True,
        None,
        [],
        {},
        "1",
        -1,
        1e300,
        math.nan,
        [[["x"]]],
        2**64,
    ]
    row = {"text": phrase(rng), "label": rng.choice([*WORDS[:5], 1, 2])}
    if rng.random() < 0.3:
        row[rng.choice(["text", "label", "weight", "more", "", "a.b"])] = rng.choice(values)
    if rng.random() < 0.1:
        row.pop(rng.choice(list(row)))
    line = json.dumps(row, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.1:
        depth = rng.choice([3, 100, 499, 500, 501, 5000])
        nested = '{"text": ' + "[" * depth + "]" * depth + "}"
        again = line[:-1] + ', "label": "again"}'
        odd = ["null", "3", line * 2, f"[{line}]", line + ",", " " + line, line[:-1], again, nested]
        line = rng.choice(odd)
    return line


def svmlight_line(rng: random.Random) -> str:
    """A label and features, in order or not."""
    index, parts = 0, [rng.choice(NUMBERS if rng.random() < 0.3 else ["1", "-1", "2"])]
    if rng.random() < 0.1:
        parts.append(rng.choice(["qid:3", "qid:", "qid", "qid:x", "1:2:3"]))
    for _ in range(rng.randrange(6)):
        index += rng.choice([1, 1, 2, 100, 0, -1]) if rng.random() < 0.3 else 1
        odd = rng.random() < 0.1
        name = rng.choice([*NUMBERS, "x"]) if odd else str(index)
        value = rng.choice(NUMBERS) if rng.random() < 0.1 else f"{rng.gauss(0, 1):.3g}"
        parts.append(f"{name}{rng.choice([':', ':', ':', '', '::']) if odd else ':'}{value}")
    if rng.random() < 0.1:
        parts.append("# " + phrase(rng))
    return rng.choice([" ", " ", "  ", "\t"]).join(parts)


def vw_line(rng: random.Random) -> str:
    """Label, weight, tag, namespaces."""
    head = " ".join(
        [
            rng.choice([*NUMBERS, "1", "2", "3"]),
            *([rng.choice(NUMBERS)] if rng.random() < 0.2 else []),
        ]
    )
    tag = rng.choice(["", "", " 'tag", " tag", "'x"])
    spaces = []
    for _ in range(rng.randrange(1, 3)):
        scale = f":{rng.choice(NUMBERS)}" if rng.random() < 0.1 else ""
        features = [
            word + (f":{rng.choice(NUMBERS)}" if rng.random() < 0.2 else "")
            for word in phrase(rng).split(" ")
        ]
        spaces.append(rng.choice(["", "ns", "a b"]) + scale + " " + " ".join(features))
    return head + tag + " |" + "|".join(spaces)


def fasttext_line(rng: random.Random) -> str:
    """One or more labels and a text."""
    labels = [
        f"__label__{rng.choice([*WORDS[:7], *NUMBERS[:5]])}"
        for _ in range(rng.choice([1, 1, 2, 0]))
    ]
    return rng.choice([" ", "\t"]).join([*labels, phrase(rng)])


MAKERS = {
    "csv": csv_line,
    "tsv": lambda rng: csv_line(rng, "\t"),
    "jsonl": json_line,
    "svmlight": svmlight_line,
    "vw": vw_line,
    "fasttext": fasttext_line,
    "lines": fasttext_line,
}


# -- what Python's own readers say ---------------------------------------------------------------


def csv_truth(rng: random.Random) -> tuple[bytes, list[Any]]:
    """What csv writes, and the rows that it reads."""
    out = io.StringIO(newline="")
    style = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    write = csv.writer(out, quoting=style, lineterminator=rng.choice(["\n", "\r\n"]))
    write.writerow(["text", "label"])
    odd = [each for each in ODD if each not in ("\0", "\ud800")]
    for _ in range(LINES):
        text = "".join(rng.choice([*WORDS, *odd, ",", "\n", " "]) for _ in range(rng.randrange(6)))
        write.writerow([text.replace("\r", ""), rng.choice(WORDS[:7])])
    rows = list(csv.reader(io.StringIO(out.getvalue(), newline=""), strict=True))[1:]
    expected = [(row[0], repr(row[1]), 1.0) for row in rows if row]
    return out.getvalue().encode(), expected


def json_truth(rng: random.Random) -> tuple[bytes, list[Any]]:
    """JSON lines that Python writes, and the rows that it reads."""
    rows = []
    for _ in range(LINES):
        text = "".join(
            rng.choice([*WORDS, *ODD[:9], "\n", "\\", '"']) for _ in range(rng.randrange(6))
        )
        row: dict[str, Any] = {"text": text, "label": rng.choice(WORDS[:7])}
        if rng.random() < 0.2:
            row["more"] = rng.choice([None, 1, [1, {"a": [True]}], {"text": "inner"}, "x"])
        items = list(row.items())
        rng.shuffle(items)
        rows.append(json.dumps(dict(items), ensure_ascii=rng.random() < 0.5, indent=None))
    read_back = [json.loads(row) for row in rows]
    expected = [(row["text"], repr(row["label"]), 1.0) for row in read_back]
    if rng.random() < 0.3:
        return json.dumps(read_back, indent=rng.choice([None, 0, 2])).encode(), expected
    return "\n".join(rows).encode(), expected


TRUTHS = {"csv": csv_truth, "jsonl": json_truth}


# -- tables --------------------------------------------------------------------------------------


def table(rng: random.Random, kind: str) -> bytes:
    """A Parquet or Arrow file, damaged most of the time."""
    n = rng.choice([0, 1, 50])
    texts = pa.array([rng.choice([*WORDS, None]) for _ in range(n)], pa.string())
    casts: list[Any] = [pa.string(), pa.large_string(), pa.string_view(), pa.binary()]
    text = texts.cast(rng.choice(casts)) if rng.random() < 0.8 else texts.dictionary_encode()
    labels: list[Any] = [
        pa.int64(),
        pa.int8(),
        pa.float64(),
        pa.bool_(),
        pa.string(),
        pa.decimal128(21, 2),
    ]
    label = pa.array([rng.choice([0, 1]) for _ in range(n)], pa.int64()).cast(rng.choice(labels))
    if rng.random() < 0.3:
        label = label.dictionary_encode()
    whole = pa.table(
        {"text": text, "label": label, "more": pa.array([[1]] * n, pa.list_(pa.int64()))}
    )
    out = io.BytesIO()
    if kind == "parquet":
        codec, dictionary = rng.choice(["none", "snappy", "zstd"]), rng.random() < 0.5
        try:
            pq.write_table(whole, out, compression=codec, use_dictionary=dictionary)
        except pa.ArrowNotImplementedError:  # older versions write no views
            plain = whole.set_column(0, "text", texts)
            pq.write_table(plain, out, compression=codec, use_dictionary=dictionary)
    else:
        with (pa.ipc.new_file if rng.random() < 0.5 else pa.ipc.new_stream)(
            out, whole.schema
        ) as writer:
            writer.write_table(whole, max_chunksize=rng.choice([7, 1000]))
    raw = bytearray(out.getvalue())
    for _ in range(rng.choice([0, 1, 1, 2, 8])):
        at = rng.randrange(len(raw))
        if rng.random() < 0.9:
            raw[at] = rng.choice([0, 1, 255, rng.randrange(256), raw[at] ^ 1 << rng.randrange(8)])
        else:
            del raw[at : at + rng.choice([1, 8, len(raw)])]
            if not raw:
                break
    return bytes(raw)


if __name__ == "__main__":
    main(InputFiles, __doc__)
