"""A paper's claims and what was found: how they are decided and shown.

A paper's run writes its claims to claims.csv; the summary of all papers is made from those files.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from experiments.tables import NONE, make_table

HOLDS, IN_PART, FAILS, UNTESTED = "holds", "in part", "does not hold", "could not be tested"

Found = tuple[str, str]  # what was found of a claim, and the verdict


@dataclass(frozen=True)
class Claim:
    """What a paper says, what it prints, what was found, and whether that agrees."""

    claim: str
    printed: str
    ours: str
    verdict: str
    headline: bool = True  # whether it is in the summary of all papers


def decide(agrees: bool) -> str:
    """The verdict on a claim that is either true or not."""
    return HOLDS if agrees else FAILS


def weigh(count: float, tasks: int, printed_share: float) -> str:
    """The verdict on "so many of the tasks".

    It holds if the share is the printed one, or short of it by one task at most, of eight or more;
    in part if it is still more than half.
    """
    if not tasks:
        return UNTESTED
    if count >= printed_share * tasks - min(1.0, tasks / 8):
        return HOLDS
    return IN_PART if count > tasks / 2 else FAILS


def settle(
    text: str, printed: str, measure: Callable[[], Found] | None, headline: bool = True
) -> Claim:
    """A claim with what `measure` finds; without it, the claim could not be tested."""
    ours, verdict = measure() if measure else (NONE, UNTESTED)
    return Claim(text, printed, ours, verdict, headline)


def show_claims(claims: Iterable[Claim]) -> str:
    """The claims as a Markdown table."""
    rows = [(one.claim, one.printed, one.ours, f"**{one.verdict}**") for one in claims]
    return make_table(("the paper says", "printed", "ours", ""), rows).replace("---:", "---")


def write_claims(path: Path, claims: Sequence[Claim]) -> None:
    """Write claims as `read_claims` reads them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, [each.name for each in fields(Claim)], lineterminator="\n")
        out.writeheader()
        out.writerows(
            {**asdict(one), "headline": "yes" if one.headline else "no"} for one in claims
        )


def read_claims(path: Path) -> list[Claim]:
    """The claims of a claims.csv."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Claim(
                row["claim"], row["printed"], row["ours"], row["verdict"], row["headline"] == "yes"
            )
            for row in csv.DictReader(file)
        ]
