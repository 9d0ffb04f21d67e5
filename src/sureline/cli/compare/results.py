"""The results of a comparison, as rows and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import Any

from sureline.cli.search import describe_settings
from sureline.evaluation import mean_rank
from sureline.evaluation.search import DEFAULT
from sureline.evaluation.search.comparison import Comparison, Result


@dataclass(frozen=True, eq=False)
class Results:
    """All results of ``sureline compare``."""

    comparisons: Sequence[Comparison]  # one per task
    protocol: str  # in words
    seed: int
    seconds: float
    joined: Sequence[str] = ()  # the columns that most learners get as one text

    @property
    def several(self) -> bool:
        """Whether there are several tasks."""
        return len(self.comparisons) > 1

    @cached_property
    def ranks(self) -> dict[str, float]:
        """The mean ranks of the learners that took part in all tasks, the best first."""
        everywhere = [
            {each.learner: each.error for each in comparison.results}
            for comparison in self.comparisons
        ]
        names = [name for name in everywhere[0] if all(name in some for some in everywhere)]
        if not names:
            return {}
        table = [[some[name] for some in everywhere] for name in names]
        ranks = dict(zip(names, mean_rank(table).tolist(), strict=True))
        return dict(sorted(ranks.items(), key=lambda item: item[1]))

    def rows(self) -> list[dict[str, Any]]:
        """A row per learner and task: what is written to files and drawn."""
        rows = [
            _row(comparison.task, rank, result)
            for comparison in self.comparisons
            for rank, result in list_results(comparison.results)
        ]
        if self.several and self.ranks:
            for row in rows:
                row["mean_rank"] = self.ranks.get(row["learner"])
        return rows

    def as_dict(self) -> dict[str, Any]:
        """All results, for JSON."""
        return {
            "protocol": self.protocol,
            "significance": "McNemar's test against the best of the task, two-sided",
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "tasks": [
                {
                    "task": comparison.task,
                    "rows": comparison.rows,
                    "judged": comparison.judged,
                    "classes": comparison.classes,
                    "majority": comparison.majority.label,
                    "majority_error": comparison.majority.error,
                    "learners": [
                        {
                            **_row(comparison.task, rank, result),
                            "fold_errors": result.judgement.errors.tolist(),
                            "settings": dict(result.settings),
                        }
                        for rank, result in list_results(comparison.results)
                    ],
                    "left_out": comparison.failures,
                }
                for comparison in self.comparisons
            ],
            **({"joined_columns": list(self.joined)} if self.joined else {}),
            **({"mean_ranks": self.ranks} if self.several else {}),
        }


def list_results(results: Sequence[Result]) -> list[tuple[int, Result]]:
    """The results with their ranks: first the default, then the best, and so on."""
    ranked = list(enumerate(results, 1))
    return sorted(ranked, key=lambda pair: pair[1].learner != DEFAULT)


def _row(task: str, rank: int, result: Result) -> dict[str, Any]:
    return {
        "task": task,
        "rank": rank,
        "learner": result.learner,
        "baseline": result.baseline,
        "error": result.error,
        "deviation": None if isnan(result.deviation) else result.deviation,
        "p_value": result.p_value,
        "mark": result.mark,
        "seconds": result.seconds,
        "passes": result.passes,
        "settings": describe_settings(result.settings),
        "unfinished": result.unconverged,
    }
