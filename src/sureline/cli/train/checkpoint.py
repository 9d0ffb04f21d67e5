"""Checkpoints: how far a run has come, written and read, and whether it is the same run."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from sureline.cli.model_files import open_model
from sureline.cli.train.plan import Plan
from sureline.data import Batch
from sureline.data.arrow_arrays import is_list, string_offsets
from sureline.data.table import is_table
from sureline.errors import DataError, InvalidParameter, ModelFileError
from sureline.estimators.file import save
from sureline.estimators.text.passes import calibrator_size

# Changing these does not change what was learned from the examples so far.
FREE = ("passes",)
AUTO = "auto"  # the number of passes where the rows decide it
# The progressive error is noted so often while the number of examples doubles.
POINTS = 8
WORDS = 624  # of the state of the random generator
SUMS = 9  # checksums of rows
OLD_SUMS = 2  # in older checkpoints: of contents and labels alone


@dataclass
class Position:
    """How far a run has come: whole passes, rows of the present pass, rows of all passes.

    `random` is the state of the random generator at the beginning of the present pass, `digest` has
    checksums of the rows that this pass has taken so far. `base` is what the model had counted
    before the run: examples, updates, mistakes. `first` has, once the first pass is over, how many
    examples it learned and how many of them were mistakes. `curve` has both after ever more
    examples: pairs of how many were learned and how many of these were mistakes beforehand.
    `chosen` is the number of passes to make, where the rows have decided it, and `calibrator` what
    the calibrator of the model is to follow after them; where rows have several labels, those of
    `labels`.
    """

    passes: int = 0
    rows: int = 0
    examples: int = 0
    skipped: int = 0
    random: dict[str, Any] = field(default_factory=dict)
    digest: list[int] = field(default_factory=lambda: [0] * SUMS)
    base: list[int] = field(default_factory=lambda: [0, 0, 0])
    first: list[int] | None = None
    curve: list[list[int]] = field(default_factory=list)
    chosen: int | None = None
    calibrator: list[float] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)

    def end_pass(self, rng: np.random.RandomState) -> None:
        """Move to the beginning of the next pass."""
        self.passes += 1
        self.rows, self.digest = 0, [0] * SUMS
        self.random = random_state(rng)

    def note_error(self, seen: int, mistakes: int) -> None:
        """Note how many examples have been learned, and how many were mistakes beforehand."""
        if seen > (self.curve[-1][0] if self.curve else 0):
            self.curve.append([seen, mistakes])

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Position:
        """The position of a checkpoint's notes."""
        whole = ("passes", "rows", "examples", "skipped")
        earlier: dict[str, Any] = {
            "chosen": None,
            "calibrator": [],
            "labels": [],
        }  # of versions without them
        stored = {**earlier, **stored}
        if (
            set(stored) != set(vars(cls()))
            or not all(_is_count(stored[name]) for name in whole)
            or not any(_are_counts(stored["digest"], many) for many in (SUMS, OLD_SUMS))
            or not _are_counts(stored["base"], 3)
            or not (stored["first"] is None or _are_counts(stored["first"], 2))
            or not isinstance(stored["curve"], list)
            or not all(_are_counts(point, 2) for point in stored["curve"])
            or not (stored["chosen"] is None or _is_count(stored["chosen"]))
            or not isinstance(stored["calibrator"], list)
            or not all(type(each) is float for each in stored["calibrator"])
            or not isinstance(stored["labels"], list)
            or len(stored["calibrator"]) not in (0, calibrator_size(stored["labels"]))
        ):
            raise ModelFileError("its position in the run is damaged")
        return cls(**stored)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _are_counts(value: Any, many: int) -> bool:
    return isinstance(value, list) and len(value) == many and all(map(_is_count, value))


def random_state(rng: np.random.RandomState) -> dict[str, Any]:
    """The state of a random generator as JSON holds it."""
    state: Any = rng.get_state(legacy=False)
    return {"key": state["state"]["key"].tolist(), "pos": int(state["state"]["pos"])}


def set_random_state(rng: np.random.RandomState, stored: Mapping[str, Any]) -> None:
    """Put a random generator into a state that `random_state` gave."""
    try:
        key, place = np.array(stored["key"], np.uint32), int(stored["pos"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ModelFileError("its random state is damaged") from None
    if key.shape != (WORDS,) or not 0 <= place <= WORDS:
        raise ModelFileError("its random state is damaged")
    rng.set_state(("MT19937", key, place, 0, 0.0))


def add_rows(digest: list[int], batch: Batch) -> list[int]:
    """The checksums of the rows so far, with those of one more batch.

    There is one for each kind of content, so that they do not depend on where batches end.
    """
    parts = _contents(batch)[: len(digest)]
    return [zlib.crc32(part, total) for part, total in zip(parts, digest, strict=True)]


def _contents(batch: Batch) -> list[Any]:
    """The bytes of texts or features, labels, lengths, weights and named features."""
    if batch.text is not None:
        texts = batch.text
        if is_table(texts):
            rows = [json.dumps(row) for row in texts.to_pylist()]
            texts = pa.array(rows, pa.large_string())
        content, lengths = _bytes(texts), np.diff(string_offsets(texts))
    else:
        matrix = batch.matrix
        pairs = np.column_stack([matrix.indices, matrix.data]).astype(np.float64)
        content, lengths = memoryview(pairs.tobytes()), np.diff(matrix.indptr)
    label, of_labels = memoryview(b""), np.zeros(0)
    if batch.label is not None and pa.types.is_large_string(batch.label.type):
        label, of_labels = _bytes(batch.label), np.diff(string_offsets(batch.label))
    elif batch.label is not None and is_list(batch.label.type):
        counts, values = batch.label.value_lengths(), batch.label.flatten()
        of_labels = counts.to_numpy(zero_copy_only=False)
        label = memoryview(repr(values.to_pylist()).encode("utf-8", "surrogatepass"))
    elif batch.label is not None:
        label = _numbers(batch.label.to_numpy(zero_copy_only=False))
    weight = np.ones(len(batch)) if batch.weight is None else batch.weight
    found = [content, label, *map(_numbers, (lengths, of_labels, weight))]
    named = batch.named_features
    if named is None:
        return [*found, _numbers(np.zeros(len(batch))), b"", b"", b""]
    counts, of_names = np.diff(named.offsets), np.diff(string_offsets(named.names))
    return [*found, *map(_numbers, (counts, of_names, named.values)), _bytes(named.names)]


def _numbers(values: Any) -> memoryview:
    """The bytes of numbers."""
    return memoryview(np.ascontiguousarray(values, np.float64).tobytes())


def _bytes(array: pa.LargeStringArray) -> memoryview:
    """All bytes of an array of strings, one text after the other."""
    offsets = string_offsets(array)
    return memoryview(array.buffers()[2] or b"")[int(offsets[0]) : int(offsets[-1])]


def next_point(examples: int) -> int:
    """The next number of examples, above this one, at which the progressive error is noted."""
    if examples < POINTS:
        return examples + 1
    step = (1 << (examples.bit_length() - 1)) // POINTS
    return examples - examples % step + step


class Checkpoint:
    """The file that a run is saved in, and that it is resumed from."""

    def __init__(self, plan: Plan, files: list[str]) -> None:
        self.path, self.every = plan.checkpoints.checkpoint, plan.every
        self._memory = plan.memory
        self.saved: int | None = None  # how many examples the file has learned
        if self.path is not None:
            self._inputs, self._options = describe_inputs(files), plan.run_options()

    def exists(self) -> bool:
        """Whether there is such a file."""
        return self.path is not None and Path(self.path).exists()

    def is_due(self, examples: int) -> bool:
        """Whether the run is to be saved after so many examples."""
        return self.path is not None and examples % self.every == 0

    def save(self, model: Any, position: Position, columns: dict[str, Any]) -> None:
        """Write the model and how far the run has come."""
        run = {
            "options": self._options,
            "inputs": self._inputs,
            "position": asdict(position),
        }
        save(model, str(self.path), {"columns": columns, "run": run})
        self.saved = position.examples

    def load(self, rng: np.random.RandomState) -> tuple[Any, Position]:
        """The model and the position; the random generator is put where it was."""
        model, notes = open_model(str(self.path), self._memory, verified=True)
        stored = notes.get("run")
        if not isinstance(stored, dict) or not isinstance(stored.get("options"), dict):
            raise ModelFileError(
                f"{self.path} is a model, but no checkpoint; leave out --resume, or use --continue "
                "to train it further"
            )
        check_same_run(str(self.path), stored, self._options, self._inputs)
        try:
            position = Position.from_json(stored.get("position") or {})
            set_random_state(rng, position.random)
        except ModelFileError as problem:
            raise ModelFileError(f"{self.path} is damaged: {problem}") from None
        self.saved = position.examples
        return model, position


def describe_inputs(files: list[str]) -> list[list[Any]]:
    """The names and sizes of the files of a run; a stream has no size."""
    paths = [Path(file) for file in files]
    return [[path.name, path.stat().st_size if path.is_file() else None] for path in paths]


def check_same_run(
    path: str, stored: Mapping[str, Any], options: Mapping[str, Any], inputs: list[list[Any]]
) -> None:
    """Refuse to continue from a checkpoint of another run, and say what differs."""
    before = stored["options"]
    free = () if AUTO in (options.get("passes"), before.get("passes")) else FREE
    for name in sorted({*options, *before} - set(free)):
        if options.get(name) != before.get(name):
            raise InvalidParameter(
                f"{path} is a checkpoint of a run with {_spoken(name, before.get(name))}, but this "
                f"one has {_spoken(name, options.get(name))}; use the same options, or start again "
                "without --resume"
            )
    if stored.get("inputs") != inputs:
        raise DataError(
            f"{path} is a checkpoint of a run on {_named(stored.get('inputs'))}, but this one "
            f"reads {_named(inputs)}; give the same files, or start again without --resume"
        )


def _spoken(name: str, value: Any) -> str:
    option = name.replace("_", " ")
    return f"no {option}" if value is None else f"{option} {value!r}"


def _named(inputs: Any) -> str:
    """Files with their sizes, the first few of them."""
    if not isinstance(inputs, list):
        return "other files"
    words = [f"{name} ({size:,} bytes)" if size is not None else name for name, size in inputs[:3]]
    if len(inputs) > 3:
        words.append(f"{len(inputs) - 3} more")
    return ", ".join(words)
