"""What Prometheus reads: requests and their latency, and the state of each model."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from sureline.serve.service import Service

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics of a service."""

    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(Models(service))
        self._requests = Counter(
            "sureline_requests",
            "Requests, by path, method and status.",
            ("path", "method", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "sureline_request_seconds",
            "The time from a request to its answer.",
            ("path",),
            buckets=SECONDS,
            registry=self._registry,
        )

    def count(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(path, method, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def text(self) -> tuple[bytes, str]:
        """All metrics as text, and its media type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST


class Models(Collector):
    """The state of each model, when it is asked for."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def describe(self) -> list[Metric]:
        """Nothing is read when the collector is registered."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The metrics of all models."""
        counters = {
            "predictions": "Texts that were classified.",
            "abstentions": "Texts that got no label, by min_confidence.",
            "novel_texts": "Texts more unusual than all but 1 % of the training texts.",
            "examples": "Examples that were predicted before they were learned.",
            "mistakes": "Examples that were predicted wrongly before they were learned.",
            "drift_alarms": "Alarms of the drift monitor.",
        }
        gauges = {
            "recent_error": "The share of mistakes among the last examples.",
            "calibration_error": "How far probability and accuracy of the last examples differ.",
            "waiting_predictions": "Requests for predictions that wait.",
            "waiting_examples": "Examples that wait to be learned.",
            "journal_lag": "Examples since the last snapshot, which a restart would learn again.",
            "classes": "Classes of the model.",
            "features": "Features of the model.",
        }
        families: dict[str, Metric] = {
            name: CounterMetricFamily(f"sureline_{name}", text, labels=["model"])
            for name, text in counters.items()
        } | {
            name: GaugeMetricFamily(f"sureline_{name}", text, labels=["model"])
            for name, text in gauges.items()
        }
        for name, predictor in self._service.predictors.items():
            hosted = predictor.hosted
            errors, recent = hosted.errors, list(hosted.errors.recent)
            values = {
                "predictions": predictor.answered,
                "abstentions": predictor.abstained,
                "novel_texts": predictor.unusual,
                "examples": errors.examples,
                "mistakes": errors.mistakes,
                "drift_alarms": len(hosted.model.changes_),
                "recent_error": sum(recent) / max(len(recent), 1),
                "calibration_error": errors.calibration_error,
                "waiting_predictions": predictor.waiting,
                "waiting_examples": hosted.waiting,
                "journal_lag": hosted.lag,
                "classes": len(hosted.model.classes_),
                "features": hosted.model.n_features_,
            }
            for key, value in values.items():
                families[key].add_metric([name], value)  # type: ignore[attr-defined]
        yield from families.values()
