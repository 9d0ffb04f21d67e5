"""What the tests of the command line share: a small file of mail, and how output is compared."""

import re
import sys
from collections.abc import Callable

MAIL = """\
message,kind
"win a free prize, now",spam
lunch at noon?,ham
free money now,spam
see you at lunch,ham
"call now to claim your ""prize""\",spam
are we still on for noon,ham
a free holiday for you,spam
running late for lunch,ham
"""
COLUMNS = ("--text", "message", "--label", "kind")
Run = Callable[..., tuple[int, str, str]]


def command(*arguments: str) -> list[str]:
    """The command as a process of its own."""
    return [sys.executable, "-m", "sureline.cli", *arguments]


def tidy(text: str) -> str:
    """Output without sizes and times, which are not the same in every run."""
    text = re.sub(r"\([\d.,]+ (bytes|KB|MB)\)", "(SIZE)", text)
    return re.sub(r"(seconds +)[\d.]+ \([\d,]+ (\w+) per second\)", r"\1TIME (RATE \2)", text)
