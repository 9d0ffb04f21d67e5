"""Full covariances on a GPU: whether they are what a CPU learns, and how fast they are learned.

``python benchmarks/gpu/run.py --output FOLDER`` compares models of every rule with those of the
CPU, then learns dense rows of several sizes on the GPU and on the CPU, rows of 20 classes, and
sparse rows. It prints tables and writes them with their numbers to ``gpu.md`` and ``gpu.json``. A
step that fails is reported, and the others go on.

"Of its product" is the share of the speed that the GPU reaches when it multiplies two matrices of
8,192 rows in the same type of number: a row of d features costs 4 d² operations, half of them for
its variance and half for what it takes from the matrix.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse

from sureline import AROWClassifier
from sureline.estimators import classifier_for, online
from sureline.model import blocks
from sureline.model.device import DeviceMatrices, open_device
from sureline.rules import rules

SIZE = 8192  # of the matrices whose product is timed
WARM_UP = 1024  # rows that are learned before time is taken


def rows_of(rows: int, features: int, classes: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows of length about 1, and labels that a linear model can learn but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, features), np.float32) / np.float32(np.sqrt(features))
    scores = X @ rng.standard_normal((features, classes), np.float32)
    return X, np.argmax(scores + 0.1 * rng.standard_normal(scores.shape), axis=1)


def sparse_rows(rows: int, features: int, nonzeros: int) -> tuple[Any, Any]:
    """Rows like texts: frequent features first, scaled to length 1."""
    rng = np.random.default_rng(0)
    columns = (features * rng.random((rows, nonzeros)) ** 3).astype(np.int32)
    values = np.full(rows * nonzeros, 1.0 / np.sqrt(nonzeros), np.float32)
    indptr = np.arange(rows + 1) * nonzeros
    X = scipy.sparse.csr_array((values, columns.ravel(), indptr), shape=(rows, features))
    X.sum_duplicates()
    return X, (X @ rng.standard_normal(features) > 0).astype(int)


def fit_time(X: Any, y: Any, **settings: Any) -> tuple[float, Any]:
    """Seconds of one pass of AROW on these rows, and the model."""
    model = AROWClassifier(
        covariance="full", max_iter=1, shuffle=False, memory_limit_gb=1000.0, **settings
    )
    begin = time.perf_counter()
    model.fit(X, y)
    if settings.get("device") == "cuda":
        _wait()
    return time.perf_counter() - begin, model


def _wait() -> None:
    cuda = open_device("cuda").xp.cuda
    if hasattr(cuda, "synchronize"):
        cuda.synchronize()
    else:
        cuda.Device().synchronize()


def speed_of_product() -> dict[str, float]:
    """How many operations a second the GPU makes when it multiplies matrices of float64."""
    xp, device = open_device("cuda")
    a = xp.ones((SIZE, SIZE), dtype=xp.float64, device=device)
    best = np.inf
    for _ in range(4):
        _wait()
        begin = time.perf_counter()
        xp.matmul(a, a)
        _wait()
        best = min(best, time.perf_counter() - begin)
    return {"teraflops": 2.0 * SIZE**3 / best / 1e12}


def answers() -> list[dict[str, Any]]:
    """The largest relative difference between models of the GPU and of the CPU, by rule."""
    found = []
    for rule in rules().values():
        if "full" not in rule.covariances:
            continue
        for classes, scheme in ((2, "sequential"), (5, "sequential"), (5, "one-vs-rest")):
            X, y = rows_of(600, 300, classes)
            models = [
                classifier_for(rule.name)(
                    **rule.settings,
                    covariance="full",
                    scheme=scheme,
                    device=device,
                    dtype="float64",
                    random_state=0,
                    max_iter=1,
                ).fit(X, y)
                for device in ("cpu", "cuda")
            ]
            ours, theirs = ([each.coef_, each.covariance_] for each in models)
            apart = [
                float(np.linalg.norm(b - a) / np.linalg.norm(a))
                for a, b in zip(ours, theirs, strict=True)
            ]
            found.append(
                {"rule": rule.name, "classes": classes, "scheme": scheme, "apart": max(apart)}
            )
    return found


def dense(sizes: list[int], rows: int, peak: float) -> list[dict[str, Any]]:
    """Microseconds a row on the GPU and on the CPU, two classes."""
    found = []
    for features in sizes:
        line: dict[str, Any] = {"features": features}
        for device in ("cuda", "cpu"):
            if device == "cpu" and features > 4096:
                continue
            count = rows if device == "cuda" else min(rows, WARM_UP)
            X, y = rows_of(count, features, 2)
            fit_time(X[:WARM_UP], y[:WARM_UP], device=device)
            seconds, model = fit_time(X, y, device=device)
            line[device] = 1e6 * seconds / count
            line[f"{device} updates"] = float(model.n_updates_) / count
        line["of its product"] = 4.0 * features**2 / (line["cuda"] * 1e6 * peak)
        found.append(line)
    return found


def block_sizes(sizes: list[int], rows: int) -> list[dict[str, Any]]:
    """Microseconds a row on the GPU by the number of rows in a block."""
    found = []
    for features in sizes:
        line: dict[str, Any] = {"features": features}
        X, y = rows_of(rows, features, 2)
        for most in (64, 128, 256, 512):
            with patch.object(blocks, "MOST_ROWS", most):
                fit_time(X[:WARM_UP], y[:WARM_UP], device="cuda")
                seconds, _ = fit_time(X, y, device="cuda")
            line[f"{most} rows"] = 1e6 * seconds / rows
        found.append(line)
    return found


def parts(features: int, rows: int) -> list[dict[str, Any]]:
    """Where the time of a block goes: milliseconds of each part, with the GPU waited for."""
    taken: dict[str, list[float]] = {}

    def timed(owner: Any, name: str) -> Any:
        function = getattr(owner, name)

        def call(*given: Any, **named: Any) -> Any:
            _wait()
            begin = time.perf_counter()
            result = function(*given, **named)
            _wait()
            taken.setdefault(name, []).append(time.perf_counter() - begin)
            return result

        return patch.object(owner, name, call)

    X, y = rows_of(rows, features, 2)
    fit_time(X[:WARM_UP], y[:WARM_UP], device="cuda")
    with ExitStack() as patches:
        for name in ("_put_values", "scores", "products", "gram", "combine", "subtract"):
            patches.enter_context(timed(DeviceMatrices, name))
        for name in ("_with_products", "_apply", "_learn_block"):
            patches.enter_context(timed(blocks, name))
        patches.enter_context(timed(online, "as_dense"))
        patches.enter_context(timed(online, "validate_rows"))
        seconds, _ = fit_time(X, y, device="cuda")
    found: list[dict[str, Any]] = [
        {
            "features": features,
            "part": name,
            "calls": len(times),
            "ms, median": 1e3 * float(np.median(times)),
            "ms, most": 1e3 * max(times),
            "share": sum(times) / seconds,
        }
        for name, times in taken.items()
    ]
    return found


def many(features: int, classes: int, rows: int) -> list[dict[str, Any]]:
    """Microseconds a row of many classes, such as of embeddings."""
    found = []
    for scheme in ("sequential", "one-vs-rest"):
        line: dict[str, Any] = {"scheme": scheme, "features": features, "classes": classes}
        for device in ("cuda", "cpu"):
            count = rows if device == "cuda" else min(rows, WARM_UP)
            X, y = rows_of(count, features, classes)
            fit_time(X[:300], y[:300], device=device, scheme=scheme)
            seconds, _ = fit_time(X, y, device=device, scheme=scheme)
            line[device] = 1e6 * seconds / count
        found.append(line)
    return found


def sparse(features: int, rows: int) -> dict[str, Any]:
    """Milliseconds a row of a covariance that fills the memory, without copying it back."""
    X, y = sparse_rows(rows, features, 200)
    seconds, model = fit_time(X, y, device="cuda")
    return {
        "features": features,
        "gigabytes": 8.0 * (features + 1) ** 2 / 1e9,
        "ms a row": 1e3 * seconds / rows,
        "updates": float(model.n_updates_) / rows,
        "right": float(model.score(X, y)),
    }


def table(lines: list[dict[str, Any]]) -> str:
    """Lines as a Markdown table."""
    keys = list(lines[0])
    cells = [[f"{each[k]:.4g}" if isinstance(each[k], float) else str(each[k]) for k in keys]
             for each in ({k: line.get(k, "") for k in keys} for line in lines)]  # fmt: skip
    rule = ["---"] * len(keys)
    return "\n".join("| " + " | ".join(line) + " |" for line in [keys, rule, *cells])


def main() -> None:
    """Run all steps, and write what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sizes", type=int, nargs="*", default=[1024, 4096, 16384])
    parser.add_argument("--rows", type=int, default=8192)
    parser.add_argument("--sparse-features", type=int, default=131_000)
    parser.add_argument("--sparse-rows", type=int, default=1024)
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}

    def step(name: str, call: Callable[[], Any]) -> None:
        begin = time.perf_counter()
        try:
            found[name] = call()
        except Exception:
            found[name] = [{"failed": traceback.format_exc()}]
        print(f"## {name}: {time.perf_counter() - begin:.1f} s\n", flush=True)
        lines = found[name] if isinstance(found[name], list) else [found[name]]
        print(table(lines).replace("\\n", "\n") + "\n", flush=True)
        (given.output / "gpu.json").write_text(json.dumps(found, indent=1))

    step("product", speed_of_product)
    step("answers", answers)
    peak = found["product"]["teraflops"] if isinstance(found["product"], dict) else np.nan
    step("dense", lambda: dense(given.sizes, given.rows, peak))
    step("block sizes", lambda: block_sizes(given.sizes, given.rows))
    step("parts", lambda: [line for size in given.sizes for line in parts(size, 2048)])
    step("many classes", lambda: many(1024, 20, given.rows))
    step("sparse", lambda: sparse(given.sparse_features, given.sparse_rows))
    text = [f"## {name}\n\n{table(each if isinstance(each, list) else [each])}\n"
            for name, each in found.items()]  # fmt: skip
    (given.output / "gpu.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
