"""What the paper says, claim by claim, compared with the records."""

from __future__ import annotations

import numpy as np
from experiments.claims import (
    SURE,
    UNTESTED,
    Claim,
    compare_rows,
    decide,
    order,
    rank_test,
    show_p,
    weigh,
)
from experiments.combinations import Large, claim_combinations
from experiments.folds import Records, known
from experiments.protocol import Marks, unpack
from experiments.tables import NONE, Figures, find_errors
from experiments.tasks import TASKS
from numpy.typing import NDArray

PASSES = 5
TABLE = (
    "news/comp",
    "news/sci",
    "news/talk",
    "rcv1/business",
    "rcv1/insurance",
    "rcv1/retail",
    "sentiment/books",
    "sentiment/dvd",
    "sentiment/electronics",
    "sentiment/kitchen",
    "sentiment/music",
    "sentiment/video",
)
NAMES = {  # as the paper calls them
    "pa": "PA",
    "cw-var-kl": "Variance",
    "cw-var-exact": "Variance-Exact",
    "svm": "SVM",
    "maxent": "Maxent",
    "sgd": "SGD",
}
LEARNERS_OF_TABLE = tuple(NAMES)
ONLINE = ("pa", "cw-var-kl", "cw-var-exact")
BATCH = ("svm", "maxent", "sgd")

# First and second learner, and the words of the claim that the first has the lower error.
COMPARED = (
    ("cw-var-kl", "pa", "Variance has a lower error than PA"),
    ("cw-var-exact", "pa", "Variance-Exact is about as good as PA: lower on half of the tasks"),
    ("svm", "pa", "SVM does better than PA"),
    ("maxent", "pa", "maxent does better than PA"),
    ("cw-var-kl", "svm", "Variance does better than SVM"),
    ("cw-var-kl", "maxent", "Variance does better than maxent"),
)


def list_claims(paper: Figures, ours: Figures, records: Records, large: Large) -> list[Claim]:
    """All claims, in the order of the paper."""
    return [
        *(claim_order(paper, ours, records, *three) for three in COMPARED),
        *claim_passes(records),
        *claim_combinations(large),
    ]


def claim_order(
    paper: Figures, ours: Figures, records: Records, first: str, second: str, claim: str
) -> Claim:
    """How often the first learner has the lower error."""
    printed, stated = find_errors(paper, "table2", TABLE, (first, second))
    shared, errors = find_errors(ours, "table2", TABLE, (first, second))
    there = stated[0] < stated[1]
    said = f"{there.sum()} of {len(printed)} tasks"
    if not shared:
        return Claim(claim, said, NONE, UNTESTED)
    here = errors[0] < errors[1]
    sure = compare_rows(_right(records, task, first, second) for task in shared)
    found = f"{here.sum()} of {len(shared)} tasks{_exceptions(shared, here)}; {sure}"
    if first == "cw-var-exact":
        verdict = decide(0.25 < here.mean() < 0.75)
    else:
        verdict = weigh(int(here.sum()), len(shared), float(there.mean()), sure.ahead)
    return Claim(claim, said, found, verdict)


def _exceptions(tasks: list[str], won: NDArray[np.bool_]) -> str:
    """On which few tasks not."""
    lost = [TASKS[task].title for task, fine in zip(tasks, won, strict=True) if not fine]
    return f" (not {', '.join(lost)})" if 0 < len(lost) < 4 else ""


def _right(records: Records, task: str, first: str, second: str) -> tuple[Marks, Marks]:
    """Which rows each of two learners gets right."""
    a, b = (unpack(one["right"]) for name in (first, second) if (one := known(records, task, name)))
    return a, b


def claim_passes(records: Records) -> list[Claim]:
    """What further passes gain: the text on Figure 1."""
    curves: dict[str, dict[str, NDArray[np.float64]]] = {name: {} for name in ONLINE}
    for task in TABLE:
        for name in ONLINE:
            record = known(records, task, name)
            if record:
                curves[name][task] = 100.0 - np.array(record["curve"])
    gain = "from the first to the fifth pass PA's error falls by more than Variance's"
    early = "Variance-Exact beats PA after the first pass"
    if not curves["pa"]:
        return [
            Claim(gain, "12.4 % and 3.7 %", NONE, UNTESTED),
            Claim(early, "11 of 12 tasks", NONE, UNTESTED),
        ]
    falls = {name: fall(list(some.values())) for name, some in curves.items()}
    each = {name: [fall([one]) for one in curves[name].values()] for name in ("pa", "cw-var-kl")}
    exact, pa = curves["cw-var-exact"], curves["pa"]
    leads = np.array([exact[task][0] - pa[task][0] for task in pa])
    wins = leads < 0
    return [
        Claim(
            gain,
            "12.4 % and 3.7 %",
            f"{falls['pa']:.1f} % and {falls['cw-var-kl']:.1f} % over {len(pa)} tasks; "
            f"{show_p(rank_test(np.subtract(each['cw-var-kl'], each['pa'])))}",
            order(each["cw-var-kl"], each["pa"]),
        ),
        Claim(
            early,
            "11 of 12 tasks",
            f"{wins.sum()} of {wins.size} tasks{_exceptions(list(pa), wins)}; "
            f"{show_p(rank_test(leads))}",
            weigh(int(wins.sum()), wins.size, 11 / 12, rank_test(leads) < SURE),
        ),
    ]


def fall(curves: list[NDArray[np.float64]]) -> float:
    """By how much the mean error falls from the first to the last pass, in %."""
    first, last = (float(np.mean([curve[k] for curve in curves])) for k in (0, -1))
    return 100.0 * (1.0 - last / first)
