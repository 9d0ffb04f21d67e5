"""What the paper says, claim by claim, compared with the records."""

from __future__ import annotations

from typing import Any

import numpy as np
from experiments.claims import (
    FAILS,
    HOLDS,
    IN_PART,
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
from experiments.combinations import Large, claim_combinations, claim_loss
from experiments.crammer2012cw.contest import (
    BATCH,
    KL_AND_L2,
    ONLINE,
    SIX,
    TECHNIQUES,
    TEXT,
    TIMED,
    USPS,
)
from experiments.crammer2012cw.features import Features, count_rare
from experiments.folds import FEATURES, LABELS, Records, known
from experiments.learners import AVERAGED, LEARNERS, TF_IDF
from experiments.protocol import unpack
from experiments.tables import NONE, Figures, find_errors, show_ratio
from experiments.tasks import TASKS
from numpy.typing import NDArray
from scipy.stats import rankdata

FALL = 0.25  # points; what differs by less is called equal
EARLY = 5  # passes


def list_claims(
    paper: Figures, ours: Figures, records: Records, large: Large, features: list[Features]
) -> list[Claim]:
    """All claims, in the order of the paper."""
    return [
        claim_features(features),
        claim_sides(),
        *claim_variants(paper, ours),
        claim_training(records),
        *claim_passes(records),
        *claim_rivals(paper, ours),
        *claim_digits(ours),
        *claim_times(paper, records),
        *claim_techniques(records),
        *claim_unbalanced(records),
        *claim_combinations(large),
        claim_loss(large),
    ]


def count_ranks(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean ranks over tasks, equals sharing the better rank, as the paper counts them."""
    return np.asarray(rankdata(errors, "min", axis=0).mean(axis=1))


def claim_variants(paper: Figures, ours: Figures) -> list[Claim]:
    """Table 2: which of the six variants is best."""
    printed, stated = find_errors(paper, "table2", TEXT, SIX)
    shared, errors = find_errors(ours, "table2", TEXT, SIX)
    there = _by_variant(count_ranks(stated)), _by_variant(measure_gaps(stated))
    if not shared:
        return [Claim("the six variants compared (Table 2)", "mean ranks", NONE, UNTESTED)]
    rank, gap = _by_variant(count_ranks(errors)), _by_variant(measure_gaps(errors))
    best = min(rank, key=rank.__getitem__)
    each = _ranks(errors)
    exact = [order(each[f"cw-{c}-{d}"], each[f"cw-{c}-exact"]) for c in BOTH for d in ("kl", "l2")]
    stable = [gap[f"cw-{c}-kl"] < gap[f"cw-{c}-l2"] for c in BOTH]

    def say(values: dict[str, float], names: tuple[str, ...], tasks: list[str]) -> str:
        listed = ", ".join(f"{LEARNERS[name].title} {values[name]:.2f}" for name in names)
        return f"{listed} ({len(tasks)} tasks)"

    pair, exacts = ("cw-stdev-kl", "cw-var-kl"), ("cw-var-exact", "cw-stdev-exact")
    return [
        Claim(
            "stdev KL has a slightly better mean rank than var KL",
            say(there[0], pair, printed),
            f"{say(rank, pair, shared)}; {show_p(rank_test(_gap(errors, *pair)))}",
            order(*(_ranks(errors)[name] for name in pair)),
        ),
        Claim(
            "var L2 has the best mean rank of the six",
            say(there[0], ("cw-var-l2",), printed),
            f"{say(rank, ('cw-var-l2',), shared)}; the best is {LEARNERS[best].title}, "
            f"{rank[best]:.2f}",
            decide(best == "cw-var-l2"),
        ),
        Claim(
            "KL is more stable than L2: never far from the best variant; points behind it at most",
            say(there[1], KL_AND_L2, printed),
            say(gap, KL_AND_L2, shared),
            HOLDS if all(stable) else IN_PART if any(stable) else FAILS,
        ),
        Claim(
            "the exact diagonals have worse mean ranks than the approximate ones",
            say(there[0], exacts, printed),
            f"{say(rank, exacts, shared)}; significantly (p < 0.05) worse than "
            f"{exact.count(HOLDS)} of the four",
            HOLDS if set(exact) == {HOLDS} else FAILS if set(exact) == {FAILS} else IN_PART,
        ),
        Claim(
            "stdev L2 fails on some tasks; points behind the best variant at most",
            say(there[1], ("cw-stdev-l2",), printed),
            say(gap, ("cw-stdev-l2",), shared),
            decide(gap["cw-stdev-l2"] > there[1]["cw-stdev-l2"] / 2),
        ),
    ]


BOTH = ("var", "stdev")


def measure_gaps(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each learner is behind the best one, on the task where it is farthest."""
    gaps = (errors - errors.min(axis=0)).max(axis=1)
    return np.asarray(np.round(gaps, 6))  # equal gaps stay equal


def _ranks(errors: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """The ranks of every variant, task by task."""
    return dict(zip(SIX, np.asarray(rankdata(errors, "min", axis=0), float), strict=True))


def _gap(errors: NDArray[np.float64], first: str, second: str) -> NDArray[np.float64]:
    """By how much the rank of the first is above that of the second, task by task."""
    ranks = _ranks(errors)
    return ranks[first] - ranks[second]


def _by_variant(values: NDArray[np.float64]) -> dict[str, float]:
    return dict(zip(SIX, values.tolist(), strict=True))


def claim_training(records: Records) -> Claim:
    """Figure 5: training accuracy."""
    claim = "the exact diagonal has the higher training accuracy, nearly 100 % (Figure 5)"
    pairs = [
        (exact["training"], rough["training"])
        for task in TEXT
        if (exact := known(records, task, "cw-stdev-exact"))
        and (rough := known(records, task, "cw-stdev-l2"))
    ]
    if not pairs:
        return Claim(claim, "almost always", NONE, UNTESTED)
    signs = [(exact > rough) - (exact < rough) for exact, rough in pairs]
    counts = [signs.count(sign) for sign in (1, 0, -1)]
    least = min(exact for exact, _ in pairs)
    ours = (
        f"higher on {counts[0]}, the same on {counts[1]}, lower on {counts[2]} of {len(pairs)} "
        f"tasks; {least:.2f} % at least"
    )
    gaps = [exact - rough for exact, rough in pairs]
    verdict = weigh(counts[0], len(pairs), 0.9, rank_test(gaps) < SURE)
    return Claim(claim, "almost always", ours, verdict)


def claim_passes(records: Records) -> list[Claim]:
    """Figures 3 and 4: what passes bring."""
    cw, pa, exact = {}, {}, {}
    for task in TEXT:
        three = [known(records, task, name) for name in ("cw-var-kl", "pa", "cw-var-exact")]
        if all(three):
            cw[task], pa[task], exact[task] = (100 - np.array(r["curve"]) for r in three if r)
    claims = (
        ("CW is near its best after one pass, PA needs several", "more gain for PA"),
        ("var exact beats PA after the first pass", "11 of 12 tasks"),
        ("after the first pass the exact method stops improving", "in many plots"),
    )
    if not cw:
        return [Claim(*claim, NONE, UNTESTED) for claim in claims]
    falls = [list_falls(curves) for curves in (cw, pa)]
    gains = [float(np.mean(some)) for some in falls]
    wins = sum(exact[task][0] < pa[task][0] for task in cw)
    first = [exact[task][0] - pa[task][0] for task in cw]
    stuck = sum(exact[task].min() > exact[task][0] - FALL for task in cw)
    found = (
        f"from the first to the fifth pass the error falls by {gains[0]:.1f} % (var KL) and "
        f"{gains[1]:.1f} % (PA); {show_p(rank_test(np.subtract(*falls)))}",
        f"{wins} of {len(cw)} tasks; {show_p(rank_test(first))}",
        f"on {stuck} of {len(cw)} tasks no later pass is better by {FALL} points",
    )
    verdicts = (
        order(*falls),
        weigh(wins, len(cw), 11 / 12, rank_test(first) < SURE),
        HOLDS if stuck > 2 / 3 * len(cw) else IN_PART if stuck > len(cw) / 3 else FAILS,
    )
    return [
        Claim(*claim, ours, verdict)
        for claim, ours, verdict in zip(claims, found, verdicts, strict=True)
    ]


def list_falls(curves: dict[str, Any]) -> list[float]:
    """By how much the error falls from the first to the fifth pass, in %, task by task."""
    return [100 * (1 - c[:EARLY][-1] / c[0]) if c[0] > 0 else 0.0 for c in curves.values()]


def claim_rivals(paper: Figures, ours: Figures) -> list[Claim]:
    """Tables 3 and 4: other learners on text."""
    sentences = (
        "a CW method improves over all online baselines",
        "a CW method beats all batch methods",
        "maxent and SVM do better, on average, than perceptron, PA and SGD",
    )
    printed, there = find_leads(paper)
    shared, here = find_leads(ours)
    return [
        Claim(
            sentence,
            _count(printed, said > 0),
            f"{_count(shared, lead > 0)}; {show_p(rank_test(lead))}" if shared else NONE,
            weigh(int((lead > 0).sum()), len(shared), (said > 0).mean(), rank_test(lead) < SURE),
        )
        for sentence, said, lead in zip(sentences, there, here, strict=True)
    ]


def find_leads(figures: Figures) -> tuple[list[str], list[NDArray[np.float64]]]:
    """The tasks of both tables, and by how many points each of three claims is true of them."""
    shared, online = find_errors(figures, "table3", TEXT, (*KL_AND_L2, *ONLINE))
    again, batch = find_errors(figures, "table4", shared, (*KL_AND_L2, *BATCH))
    online = online[:, [shared.index(task) for task in again]]
    if not again:
        return [], [np.zeros(0)] * 3
    first_order = online[[4, 5, 7]].mean(axis=0)  # perceptron, PA, SGD
    return again, [
        online[4:].min(axis=0) - online[:4].min(axis=0),
        batch[4:].min(axis=0) - batch[:4].min(axis=0),
        first_order - batch[5:].mean(axis=0),
    ]


def _count(tasks: list[str], won: NDArray[np.bool_]) -> str:
    """On how many tasks, and on which not."""
    lost = [TASKS[task].title for task, fine in zip(tasks, won, strict=True) if not fine]
    return f"{won.sum()} of {won.size} tasks" + (f"; not {', '.join(lost)}" if lost else "")


def claim_digits(ours: Figures) -> list[Claim]:
    """USPS, Tables 3 and 4."""
    claim = ("USPS: SGD and maxent do not learn", "33 to 53 % error on 9 of 10 cells")
    shared, online = find_errors(ours, "table3", USPS, ("sgd",))
    again, batch = find_errors(ours, "table4", USPS, ("maxent",))
    if not shared or shared != again:
        return [Claim(*claim, NONE, UNTESTED)]
    worst = max(online.max(), batch.max())
    return [Claim(*claim, f"{worst:.2f} % at most", decide(worst > 30))]


def claim_times(paper: Figures, records: Records) -> list[Claim]:
    """Table 5: training times."""
    _, stated = find_errors(paper, "table5", TEXT, TIMED)
    there = np.median(stated / stated[0], axis=1).tolist()
    rows = [[known(records, task, name) for name in TIMED] for task in TEXT]
    times = [[one["seconds"] for one in row if one] for row in rows if all(row)]
    here = None
    if times:
        spent = np.array(times).T
        here = np.median(spent / spent[0], axis=1).tolist()

    def say(values: list[float] | None, names: tuple[str, ...]) -> str:
        if values is None:
            return NONE
        ratios = {name: show_ratio(values[TIMED.index(name)]) for name in names}
        return ", ".join(f"{LEARNERS[name].title} {ratio}" for name, ratio in ratios.items())

    online, batch = ("perceptron", "pa", "cw-var-exact"), ("maxent", "svm")
    close = here and all(0.25 < here[TIMED.index(name)] < 4 for name in online[:2])
    far = here and all(here[TIMED.index(name)] > 3 for name in batch)
    return [
        Claim(
            "CW is as fast as the other online methods; median training time over that of var KL",
            say(there, online),
            say(here, online),
            UNTESTED if here is None else decide(bool(close)),
        ),
        Claim(
            "CW is much faster than the batch methods; median training time over that of var KL",
            say(there, batch),
            say(here, batch),
            UNTESTED if here is None else decide(bool(far)),
        ),
    ]


# -- what the paper mentions without figures ---------------------------------------------------


def claim_techniques(records: Records) -> list[Claim]:
    """Section 7.8: averaging and tf-idf."""
    claims = []
    for ending, sentence in (
        (AVERAGED, "averaging does not improve results"),
        (TF_IDF, "tf-idf does not improve results"),
    ):
        said, verdicts = [], []
        for plain, other in TECHNIQUES:
            pairs = [(known(records, t, other), known(records, t, plain)) for t in TEXT]
            both = [(a, b) for a, b in pairs if a and b]
            if not other.endswith(ending) or not both:
                continue
            sure = compare_rows((unpack(a["right"]), unpack(b["right"])) for a, b in both)
            gap = float(np.mean([a["error"] - b["error"] for a, b in both]))
            said.append(f"{LEARNERS[plain].title} {gap:+.2f} points, {sure}")
            verdicts.append(sure.better <= sure.worse)
        ours = f"{'; '.join(said)}, of {len(both)} tasks" if said else NONE
        verdict = HOLDS if all(verdicts) else IN_PART if any(verdicts) else FAILS
        claims.append(Claim(sentence, "no figures", ours, verdict if said else UNTESTED))
    return claims


def claim_unbalanced(records: Records) -> list[Claim]:
    """Section 7.8, and Section 5.1 of the ICML paper: CW on unbalanced variants of the tasks."""
    claims = []
    for stage, what in ((LABELS, "labels"), (FEATURES, "features (as the ICML paper says)")):
        sentence = f"with unbalanced {what} CW (var KL) is as far ahead of PA as with balanced ones"
        wins = {}
        for each in ("folds", stage):
            pairs = [[known(records, t, n, each) for n in ("cw-var-kl", "pa")] for t in TEXT]
            both = [(a, b) for a, b in pairs if a and b]
            marks = ((unpack(a["right"]), unpack(b["right"])) for a, b in both)
            count = sum(a["error"] < b["error"] for a, b in both)
            wins[each] = (count, len(both), compare_rows(marks))
        (count, n, sure), (base, m, _) = wins[stage], wins["folds"]
        if not n or not m:
            claims.append(Claim(sentence, "no figures", NONE, UNTESTED))
            continue
        ours = f"lower error on {count} of {n} tasks, {sure}; balanced: on {base} of {m}"
        claims.append(Claim(sentence, "no figures", ours, weigh(count, n, base / m, sure.ahead)))
    return claims


def claim_features(features: list[Features]) -> Claim:
    """Figure 1."""
    claim = (
        "among the features that say most of the label (the top quartile by mutual information) "
        "some are very frequent, most are rare"
    )
    if not features:
        return Claim(claim, "Figure 1", NONE, UNTESTED)
    rare, often, total = count_rare(features)
    ours = (
        f"of {total:,} features {100 * rare / total:.0f} % occur five times or less, "
        f"{100 * often / total:.2f} % a thousand times or more"
    )
    return Claim(claim, "Figure 1", ours, decide(rare > total / 2 and often > 0))


def claim_sides() -> Claim:
    """Figure 2: on which side of the line the weights lie that are right about the example."""
    return Claim(
        "weights above the line of the example ((0.5, 1), +1) classify it wrongly, those below it "
        "rightly",
        "Figure 2",
        "the reverse: above the line 0.5 w₁ + w₂ is positive, the example's label",
        FAILS,
    )
