"""What became of the four papers' headline claims, in one table: README.md.

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
}
VERDICTS = (HOLDS, IN_PART, FAILS, UNTESTED)


def collect(folder: Path = HERE) -> dict[str, list[Claim]]:
    """The claims of every paper that has been run."""
    paths = {paper: folder / paper / "claims.csv" for paper in PAPERS}
    return {paper: read_claims(path) for paper, path in paths.items() if path.is_file()}


def count(claims: Mapping[str, list[Claim]]) -> str:
    """How many headline claims hold and how many do not, by paper."""
    rows = []
    for paper, some in claims.items():
        found = Counter(one.verdict for one in some if one.headline)
        rows.append((f"[{paper}]({paper}/README.md)", *(str(found[each]) for each in VERDICTS)))
    return make_table(("headline claims", *VERDICTS), rows)


def list_claims(claims: Mapping[str, list[Claim]]) -> str:
    """Every headline claim with its verdict, paper by paper."""
    parts = []
    for paper, title in PAPERS.items():
        parts.append(
            f"### {paper}\n\n{title}. [All claims, tables and figures]({paper}/README.md)."
        )
        if paper not in claims:
            parts.append(f"Not run yet: `make reproduce PAPER={paper}`.")
            continue
        rows = [
            (one.claim, one.printed, one.ours, f"**{one.verdict}**")
            for one in claims[paper]
            if one.headline
        ]
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
