"""The blocks of code on a page of the documentation, to be run."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of Python on a page, and what the page says that it prints."""

    code: str
    printed: str
    page: str
    line: int

    def run(self, names: dict[str, Any]) -> str:
        """Run the block among `names`; tracebacks show the page and its lines."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * self.line + self.code, self.page, "exec"), names)  # noqa: S102
        return out.getvalue()


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str = "python") -> list[Block]:
    whole = text(page)
    return [
        Block(match[2], match[3] or "", page, whole.count("\n", 0, match.start()) + 1)
        for match in FENCE.finditer(whole)
        if match[1] == language
    ]
