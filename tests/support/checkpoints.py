"""Training that is killed and resumed: how often, on what, and how far it came."""

import os
from pathlib import Path

import numpy as np
from cases import several

from sureline.model.file import read

KILLS = int(os.environ.get("SURELINE_KILLS", several(6, 3)))


def write_rows(rows: int = 600) -> None:
    """A file whose words are random, so that new features come all the time."""
    rng = np.random.RandomState(0)
    lines = [
        " ".join(f"w{k}" for k in rng.zipf(1.3, 12) % 5000) + f",{'abc'[rng.randint(3)]}"
        for _ in range(rows)
    ]
    Path("rows.csv").write_text("text,label\n" + "\n".join(lines) + "\n")


def position() -> dict[str, object]:
    return read("c.sureline").metadata["notes"]["run"]["position"]
