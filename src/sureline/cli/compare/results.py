"""What a comparison finds, as rows and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from sureline.cli.search import describe_settings
from sureline.evaluation import mean_rank
from sureline.evaluation.search.comparison import LEVELS, Contest, Standing

MEANING = ", ".join(f"{stars} p < {level:g}" for level, stars in reversed(LEVELS))


@dataclass(frozen=True, eq=False)
class Facts:
    """All that a comparison finds.

    Parameters
    ----------
    contests : list of Contest
        One a task.
    protocol : str
        How learners were judged, in words.
    seed : int
        Where all randomness came from.
    seconds : float
        How long it took.
    """

    contests: Sequence[Contest]
    protocol: str
    seed: int
    seconds: float

    @property
    def ranks(self) -> dict[str, float]:
        """The mean rank over all tasks of those who took part in all of them, the best first."""
        everywhere = [
            {each.learner: each.error for each in contest.standings} for contest in self.contests
        ]
        names = [name for name in everywhere[0] if all(name in some for some in everywhere)]
        if not names:
            return {}
        table = [[some[name] for some in everywhere] for name in names]
        ranks = dict(zip(names, mean_rank(table).tolist(), strict=True))
        return dict(sorted(ranks.items(), key=lambda item: item[1]))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each learner and task: what is written to files and drawn."""
        ranks = self.ranks if len(self.contests) > 1 else {}
        return [
            _row(contest, number, standing, ranks)
            for contest in self.contests
            for number, standing in enumerate(contest.standings, 1)
        ]

    def as_json(self) -> dict[str, Any]:
        """The facts for machines."""
        several = len(self.contests) > 1
        return {
            "protocol": self.protocol,
            "significance": "McNemar's test against the best of the task, two-sided",
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "tasks": [
                {
                    "task": contest.task,
                    "rows": contest.rows,
                    "judged": contest.judged,
                    "classes": contest.classes,
                    "majority": contest.majority.label,
                    "majority_error": contest.majority.error,
                    "learners": [
                        {
                            **_row(contest, number, standing, {}),
                            "fold_errors": standing.judgement.errors.tolist(),
                            "settings": dict(standing.settings),
                        }
                        for number, standing in enumerate(contest.standings, 1)
                    ],
                    "left_out": contest.failures,
                }
                for contest in self.contests
            ],
            **({"mean_ranks": self.ranks} if several else {}),
        }


def _row(
    contest: Contest, rank: int, standing: Standing, ranks: dict[str, float]
) -> dict[str, Any]:
    """One learner on one task."""
    row: dict[str, Any] = {
        "task": contest.task,
        "rank": rank,
        "learner": standing.learner,
        "baseline": standing.baseline,
        "error": standing.error,
        "deviation": None if isnan(standing.deviation) else standing.deviation,
        "p_value": standing.p_value,
        "mark": standing.mark,
        "seconds": standing.seconds,
        "passes": standing.passes,
        "settings": describe_settings(standing.settings),
        "unfinished": standing.unfinished,
    }
    if ranks:
        row["mean_rank"] = ranks.get(standing.learner)
    return row
