"""Which tasks and learners stand in which table of the paper, and the cells that they need."""

from __future__ import annotations

from pathlib import Path

from experiments.cells import Cell, Settings
from experiments.folds import COPIES, FEATURES, LABELS
from experiments.learners import AVERAGED, TF_IDF

PARTS = (
    "table2",
    "table3",
    "table4",
    "table5",
    "techniques",
    "unbalanced",
    "copies",
    "figure1",
    "figure2",
    "figure3",
    "figure4",
    "figure5",
    "figure6",
    "figure7",
)

AMAZON = tuple(
    f"sentiment/{name}"
    for name in ("apparel", "books", "dvd", "electronics", "kitchen", "music", "video")
)
SPAM = ("spam/a", "spam/b", "spam/c")
RCV1 = ("rcv1/retail", "rcv1/business", "rcv1/insurance")
NEWS = ("news/comp", "news/sci", "news/talk")
TEXT = (*AMAZON, *SPAM, *RCV1, *NEWS, "pascal/webspam")
STAND_INS = ("reuters/acq-earn", "reuters/interest-money-fx", "reuters/corn-wheat")
USPS = tuple(f"usps-products/{pair}" for pair in ("0-9", "1-2", "3-4", "5-6", "7-8"))
QUICK = ("news/talk", "spam/a", "rcv1/retail", "reuters/corn-wheat")

KL_AND_L2 = ("cw-var-kl", "cw-var-l2", "cw-stdev-kl", "cw-stdev-l2")
SIX = ("cw-var-kl", "cw-var-l2", "cw-var-exact", "cw-stdev-kl", "cw-stdev-l2", "cw-stdev-exact")
ONLINE = ("perceptron", "pa", "sop", "sgd")
BATCH = ("naive-bayes", "maxent", "svm")
TIMED = ("cw-var-kl", "cw-var-exact", "perceptron", "pa", "maxent", "svm")
CURVES = ("pa", "cw-var-kl", "cw-var-exact", "cw-stdev-kl", "cw-stdev-exact")
TECHNIQUES = (  # without and with, in pairs
    ("perceptron", f"perceptron{AVERAGED}"),
    ("pa", f"pa{AVERAGED}"),
    ("cw-var-kl", f"cw-var-kl{AVERAGED}"),
    ("pa", f"pa{TF_IDF}"),
    ("cw-var-kl", f"cw-var-kl{TF_IDF}"),
    ("linear-svm", f"linear-svm{TF_IDF}"),
)
COMPARED = ("cw-var-kl", "cw-stdev-kl", "perceptron", "pa")  # where a variant is unbalanced
SLOW = ("svm", "maxent")  # these cells go first

LEARNERS_OF = {
    "table2": SIX,
    "table3": (*KL_AND_L2, *ONLINE),
    "table4": (*KL_AND_L2, *BATCH),
    "table5": TIMED,
    "figure3": CURVES,
    "figure4": CURVES,
    "figure5": ("cw-stdev-l2", "cw-stdev-exact"),
    "techniques": tuple(dict.fromkeys(name for pair in TECHNIQUES for name in pair)),
    "unbalanced": COMPARED,
    "copies": (*SIX, "pa", "maxent", "svm"),
}
STAGES = {"unbalanced": (LABELS, FEATURES), "copies": (COPIES,)}
TASKS_OF = {
    "table2": (*TEXT, *STAND_INS),
    "table3": (*TEXT, *STAND_INS, *USPS),
    "table4": (*TEXT, *STAND_INS, *USPS),
    "table5": (*TEXT, *STAND_INS),
    "figure3": (*NEWS, *SPAM),
    "figure4": AMAZON[1:],
    "figure5": (*TEXT, *STAND_INS),
    "techniques": TEXT,
    "unbalanced": TEXT,
    "copies": (*AMAZON, *SPAM[:2], STAND_INS[1]),  # one row in a hundred or more is a copy
}


def choose_tasks(part: str, quick: bool) -> list[str]:
    """The tasks of a table or figure."""
    return [task for task in TASKS_OF[part] if not quick or task in QUICK]


def choose_settings(quick: bool, seed: int, data: Path | None) -> Settings:
    """What the cells of the tables depend on."""
    folder = str(data) if data else None
    tables = {"seed": seed, "folds": 10, "passes": 10, "fixed": False, "grid": 0, "data": folder}
    return tables | ({"folds": 3, "passes": 5, "grid": 3} if quick else {})


def list_cells(parts: list[str], quick: bool) -> list[Cell]:
    """The cells that these tables and figures need, those that take longest first."""
    cells = [
        Cell(task, learner, stage)
        for part in parts
        if part in TASKS_OF
        for stage in STAGES.get(part, ("folds",))
        for task in choose_tasks(part, quick)
        for learner in LEARNERS_OF[part]
    ]
    cells.sort(key=lambda cell: (cell.task not in USPS, cell.learner not in SLOW))
    return cells
