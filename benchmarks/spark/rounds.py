"""How to merge partitions, and in how many rounds: accuracy on real texts.

    python benchmarks/spark/rounds.py ../shared/data/imdb.parquet --label label

It does what `sureline.spark` does, without Spark: divides the shuffled training texts into n
partitions, trains one model on each, merges them, and starts the next round from the result.
The file must have the columns text and split (train, test).
"""

from __future__ import annotations

import argparse
import copy
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from sureline import AROWClassifier, TextFeatures
from sureline.model.merge.sums import added_by, name_sums, state_from_sums
from sureline.spark.merge import later_how

# "all": later rounds are merged like the first.
HOWS = ("product-prior", "kl", "mean", "product-prior all")


def learn_round(start: Any, shards: list[Any], how: Any) -> Any:
    """Learn all shards, each from the same model, and merge their models."""
    learner, features = start.model_.learner, start.n_features_in_
    sums = np.zeros((features + 1, len(name_sums(learner, how)), start.model_.state.used))
    clock, counts = 0, np.zeros(3, np.int64)
    for X, y in shards:
        model = copy.deepcopy(start).partial_fit(X, y)
        for rows, values in added_by(
            learner, how, start.model_.state, model.model_.state, features
        ):
            sums[rows] += values
        clock += model.model_.state.clock - start.model_.state.clock
        counts += model.model_.state.counts - start.model_.state.counts
    rows, columns = np.nonzero(sums.any(axis=1))
    entries = rows, columns, sums[rows, :, columns]
    merged = copy.deepcopy(start)
    merged.model_.state = state_from_sums(
        learner, how, start.model_.state, features, len(shards), [entries], clock, counts
    )
    return merged


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--label", default="label", help="the column of labels")
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--hows", nargs="+", default=HOWS)
    options = parser.parse_args()
    table = pq.read_table(options.file, columns=["text", options.label, "split"])
    texts, labels = table["text"].to_pylist(), np.array(table[options.label].to_pylist())
    train = np.array(table["split"].to_pylist()) == "train"
    features = TextFeatures()
    features.fit([text for text, chosen in zip(texts, train, strict=True) if chosen])
    X, y = features.transform(texts), labels
    order = np.random.default_rng(0).permutation(np.flatnonzero(train))
    classes = np.unique(y)
    print(
        f"{'shards':>6}  {'how':<14}" + "".join(f"  round {k + 1}" for k in range(options.rounds))
    )
    for count in options.shards:
        shards = [(X[order[k::count]], y[order[k::count]]) for k in range(count)]
        for how in options.hows:
            model: Any = AROWClassifier(r=0.1)
            model.partial_fit(X[:1], y[:1], classes=classes, sample_weight=[0.0])
            scores = []
            for number in range(options.rounds):
                way = how.removesuffix(" all")
                if number and way == how:
                    way = later_how(how)
                model = learn_round(model, shards, way)
                scores.append(model.score(X[~train], y[~train]))
            print(f"{count:>6}  {how:<20}" + "".join(f"  {s:>7.4f}" for s in scores), flush=True)


if __name__ == "__main__":
    main()
