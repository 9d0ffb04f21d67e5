"""Evaluation: protocols, metrics, significance, calibration, learning curves, audits, reports.

Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sureline.evaluation.ablation import Ablation, feature_ablation, text_feature_groups
    from sureline.evaluation.label_errors.audit import Audit, audit
    from sureline.evaluation.label_errors.findings import DuplicateGroup, LabelPair, Suspect
    from sureline.evaluation.learning_curves import LearningCurve, learning_curve
    from sureline.evaluation.metrics import (
        METRICS,
        Confusion,
        Evaluation,
        Majority,
        Metric,
        compute_metrics,
        confusion_counts,
        majority_baseline,
    )
    from sureline.evaluation.prequential import Progression, progressive
    from sureline.evaluation.protocols import Judgement, growing_blocks, hold_out, k_fold
    from sureline.evaluation.reliability import Calibration, calibration, label_entropy
    from sureline.evaluation.report.page import write_report
    from sureline.evaluation.significance import McNemar, mcnemar, mean_rank
    from sureline.evaluation.stream_metrics import StreamMeasures, stream_measures

__all__ = [
    "METRICS",
    "Ablation",
    "Audit",
    "Calibration",
    "Confusion",
    "DuplicateGroup",
    "Evaluation",
    "Judgement",
    "LabelPair",
    "LearningCurve",
    "Majority",
    "McNemar",
    "Metric",
    "Progression",
    "StreamMeasures",
    "Suspect",
    "audit",
    "calibration",
    "compute_metrics",
    "confusion_counts",
    "feature_ablation",
    "growing_blocks",
    "hold_out",
    "k_fold",
    "label_entropy",
    "learning_curve",
    "majority_baseline",
    "mcnemar",
    "mean_rank",
    "progressive",
    "stream_measures",
    "text_feature_groups",
    "write_report",
]

# No module may have the name of something it offers: importing it would hide the other.
_HOMES = {
    "ablation": ("Ablation", "feature_ablation", "text_feature_groups"),
    "label_errors.audit": ("Audit", "audit"),
    "label_errors.findings": ("DuplicateGroup", "LabelPair", "Suspect"),
    "learning_curves": ("LearningCurve", "learning_curve"),
    "metrics": (
        "METRICS",
        "Confusion",
        "Evaluation",
        "Majority",
        "Metric",
        "compute_metrics",
        "confusion_counts",
        "majority_baseline",
    ),
    "prequential": ("Progression", "progressive"),
    "protocols": ("Judgement", "growing_blocks", "hold_out", "k_fold"),
    "reliability": ("Calibration", "calibration", "label_entropy"),
    "report.page": ("write_report",),
    "significance": ("McNemar", "mcnemar", "mean_rank"),
    "stream_metrics": ("StreamMeasures", "stream_measures"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'sureline.evaluation' has no attribute {name!r}")
    return getattr(import_module(f"sureline.evaluation.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
