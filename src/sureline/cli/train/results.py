"""The results of a training run, for machines and for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from sureline.cli.model_files import describe_model, enumerate_classes
from sureline.cli.screen import megabytes, named_values, rounded
from sureline.cli.train.run import Training
from sureline.estimators.stream import StreamTrainer, count_features


def collect_results(training: Training, trainer: StreamTrainer) -> dict[str, Any]:
    """The results, as JSON can hold them."""
    path, position = training.plan.model, training.position
    model, counts = trainer.classifier, trainer.counts
    seen, mistakes = position.first or [0, 0]
    return {
        "model": path,
        "bytes": Path(path).stat().st_size,
        **describe_model(model),
        "classes": model.classes_.tolist(),
        "features": count_features(model),
        "examples": position.examples,
        "passes": position.passes,
        "skipped": position.skipped,
        "learned": counts.seen,
        "updates": counts.updates,
        "mistakes": counts.mistakes,
        "progressive_error": mistakes / seen if seen else None,
        "changes": len(trainer.changes),
        "seconds": round(training.seconds, 3),
    }


def render(results: dict[str, Any]) -> Table:
    """The results for a screen."""
    settings = ", ".join(f"{name} = {value}" for name, value in results["parameters"].items())
    several = results["passes"] > 1
    rate = rounded(results["examples"] / max(results["seconds"], 1e-9))
    rows = {
        "model": f"{results['model']} ({megabytes(results['bytes'])})",
        "rule": f"{results['rule']}: {settings}" if settings else results["rule"],
        "classes": enumerate_classes(results["classes"]),
        "features": f"{results['features']:,}",
        "examples": f"{results['examples']:,}"
        + (f" in {results['passes']} passes" if several else ""),
        "seconds": f"{results['seconds']:.2f} ({rate} examples per second)",
    }
    if results["progressive_error"] is not None:
        when = "just before learning each example" + (" in the first pass" if several else "")
        rows["error"] = f"{100 * results['progressive_error']:.2f}% {when}"
    if results["changes"]:
        rows["changes"] = f"{results['changes']:,} in the stream; inspect shows them"
    return named_values(rows, "bold")
