"""A paper's claims and what was found: how they are decided and shown.

A paper's run writes its claims to claims.csv; the summary of all papers is made from those files.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from experiments.protocol import Marks
from experiments.tables import NONE, make_table
from numpy.typing import ArrayLike
from scipy.stats import ttest_rel, wilcoxon

from sureline.evaluation import mcnemar

HOLDS, IN_PART, FAILS, UNTESTED = "holds", "in part", "does not hold", "could not be tested"
SURE = 0.05  # the level of every test of a claim

Found = tuple[str, str]  # what was found of a claim, and the verdict


@dataclass(frozen=True)
class Claim:
    """What a paper says, what it prints, what was found, and whether that agrees."""

    claim: str
    printed: str
    ours: str
    verdict: str


@dataclass(frozen=True)
class Duel:
    """On how many tasks a learner is significantly better, and worse, than another."""

    better: int
    worse: int

    @property
    def ahead(self) -> bool:
        """Whether it is better on more tasks than it is worse on."""
        return self.better > self.worse

    def __str__(self) -> str:
        return f"significantly (p < {SURE}) better on {self.better}, worse on {self.worse}"


def decide(agrees: bool) -> str:
    """The verdict on a claim that is either true or not."""
    return HOLDS if agrees else FAILS


def weigh(count: float, tasks: int, printed_share: float, sure: bool) -> str:
    """The verdict on "better on so many of the tasks".

    It holds if the share is the printed one, or short of it by one task at most, of eight or more,
    and a test agrees, which `sure` says. In part if the share is still more than half.
    """
    if not tasks:
        return UNTESTED
    if sure and count >= printed_share * tasks - min(1.0, tasks / 8):
        return HOLDS
    return IN_PART if count > tasks / 2 else FAILS


def compare_rows(pairs: Iterable[tuple[Marks, Marks]]) -> Duel:
    """McNemar's test of two learners on every task, from the rows that each gets right."""
    found = [mcnemar(first, second) for first, second in pairs]
    sure = [each for each in found if each.p_value < SURE]
    better = sum(each.only_a > each.only_b for each in sure)
    return Duel(better, len(sure) - better)


def order(lower: ArrayLike, higher: ArrayLike) -> str:
    """The verdict on "lower, on average", of a figure that every task has two of.

    It holds if Wilcoxon's signed-rank test over the tasks agrees; in part if only the means do.
    """
    gaps = np.asarray(lower, float) - np.asarray(higher, float)
    if not gaps.size:
        return UNTESTED
    if gaps.mean() >= 0:
        return FAILS
    return HOLDS if rank_test(gaps) < SURE else IN_PART


def rank_test(gaps: ArrayLike) -> float:
    """The p value of Wilcoxon's signed-rank test that these differences are around zero."""
    gaps = np.asarray(gaps, float)
    gaps = gaps[gaps != 0]
    return float(wilcoxon(gaps).pvalue) if gaps.size else 1.0


def paired_test(first: ArrayLike, second: ArrayLike) -> float:
    """The p value of Student's test of two figures that the same few runs have; 1 for one run."""
    gaps = np.asarray(first, float) - np.asarray(second, float)
    if gaps.size < 2 or np.ptp(gaps) == 0:
        return 1.0 if gaps.size < 2 or gaps[0] == 0 else 0.0
    return float(ttest_rel(first, second).pvalue)


def show_p(p: float) -> str:
    """A p value as the claims print it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def settle(text: str, printed: str, measure: Callable[[], Found] | None) -> Claim:
    """A claim with what `measure` finds; without it, the claim could not be tested."""
    ours, verdict = measure() if measure else (NONE, UNTESTED)
    return Claim(text, printed, ours, verdict)


def show_claims(claims: Iterable[Claim]) -> str:
    """The claims as a Markdown table."""
    rows = [(one.claim, one.printed, one.ours, f"**{one.verdict}**") for one in claims]
    return make_table(("the paper says", "printed", "ours", ""), rows).replace("---:", "---")


def write_claims(path: Path, claims: Sequence[Claim]) -> None:
    """Write claims as `read_claims` reads them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, [each.name for each in fields(Claim)], lineterminator="\n")
        out.writeheader()
        out.writerows(map(asdict, claims))


def read_claims(path: Path) -> list[Claim]:
    """The claims of a claims.csv."""
    with path.open(newline="", encoding="utf-8") as file:
        return [Claim(*(row[each.name] for each in fields(Claim))) for row in csv.DictReader(file)]
