"""What became of every claim of the papers, in one table: README.md.

Reads the claims.csv that each paper's run has written: `python -m experiments.summary`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from experiments.claims import FAILS, HOLDS, IN_PART, UNTESTED, Claim, read_claims
from experiments.tables import fill_in, make_table, publish

HERE = Path(__file__).resolve().parent
PAPERS = {
    "dredze2008": "Dredze, Crammer and Pereira, *Confidence-Weighted Linear Classification*, "
    "ICML 2008",
    "crammer2009multiclass": "Crammer, Dredze and Kulesza, *Multi-Class Confidence Weighted "
    "Algorithms*, EMNLP 2009",
    "crammer2012cw": "Crammer, Dredze and Pereira, *Confidence-Weighted Linear Classification for "
    "Text Categorization*, JMLR 2012",
    "crammer2012volume": "Crammer and Wagner, *Volume Regularization for Binary Classification*, "
    "NIPS 2012",
    "schneider2022": "Schneider, *Linear Models for Classification: Discriminative Learning*, "
    "slides of a lecture, 2022",
}
VERDICTS = (HOLDS, IN_PART, FAILS, UNTESTED)


def collect(folder: Path = HERE) -> dict[str, list[Claim]]:
    """The claims of every paper that has been run."""
    paths = {paper: folder / paper / "claims.csv" for paper in PAPERS}
    return {paper: read_claims(path) for paper, path in paths.items() if path.is_file()}


def count(claims: Mapping[str, list[Claim]]) -> str:
    """How many claims hold and how many do not, by paper and in all."""
    rows, total = [], Counter[str]()
    for paper, some in share_out(claims).items():
        found = Counter(one.verdict for one in some)
        total += found
        rows.append((f"[{paper}]({paper}/README.md)", *(str(found[each]) for each in VERDICTS)))
    rows.append(("all", *(str(total[each]) for each in VERDICTS)))
    return make_table(("claims", *VERDICTS), rows)


def share_out(claims: Mapping[str, list[Claim]]) -> dict[str, list[Claim]]:
    """The claims of each paper without those that an earlier one has made."""
    seen: set[str] = set()
    own: dict[str, list[Claim]] = {}
    for paper, some in claims.items():
        own[paper] = [one for one in some if one.claim not in seen]
        seen |= {one.claim for one in some}
    return own


def list_claims(claims: Mapping[str, list[Claim]]) -> str:
    """Every claim with its verdict, paper by paper."""
    parts, own = [], share_out(claims)
    for paper, title in PAPERS.items():
        parts.append(f"### {paper}\n\n{title}. [Tables and figures]({paper}/README.md).")
        if paper not in claims:
            parts.append(f"Not run yet: `make reproduce PAPER={paper}`.")
            continue
        shared = len(claims[paper]) - len(own[paper])
        if shared:
            parts.append(f"Without the {shared} claims that are listed above already.")
        rows = [(one.claim, one.printed, one.ours, f"**{one.verdict}**") for one in own[paper]]
        table = make_table(("the paper says", "printed", "ours", "verdict"), rows)
        parts.append(table.replace("---:", "---"))
    return "\n\n".join(parts)


def write_summary(folder: Path = HERE) -> None:
    """Bring the folder's README.md up to date with what has been run."""
    claims = collect(folder)
    fill_in(folder / "README.md", "count", count(claims))
    fill_in(folder / "README.md", "claims", list_claims(claims))


def finish(folder: Path, texts: Mapping[str, str], own: Path) -> None:
    """End a paper's run: publish and print its texts, and sum up all papers if its claims are new.

    `own` is the paper's own folder; what is written elsewhere is nobody's record.
    """
    publish(folder, texts)
    if folder == own and "claims" in texts:
        write_summary()
    print("\n\n".join(texts.values()))
    print(f"written to {folder}", file=sys.stderr)


if __name__ == "__main__":
    write_summary()
    print((HERE / "README.md").read_text(encoding="utf-8"))
