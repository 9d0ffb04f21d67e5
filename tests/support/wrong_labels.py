"""Texts of known classes, some of which are given another label."""

import numpy as np


def flipped_texts(n=1200, classes=2, share=0.1, seed=0, own=0.4, target=None):
    """Texts of 12 words, a share `own` of them of their class; labels; which labels are wrong.

    Wrong labels are any other one, or that of `target` by class.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    texts = []
    for number, k in enumerate(truth):
        mine = rng.random(12) < own
        words = np.where(mine, 1000 * (k + 1) + rng.integers(0, 60, 12), rng.integers(0, 400, 12))
        texts.append(" ".join(f"w{word}" for word in words) + f" id{number}")
    given = truth.copy()
    at = rng.permutation(n)[: round(share * n)]
    shift = rng.integers(1, classes, at.size)
    given[at] = (truth[at] + shift) % classes if target is None else np.array(target)[truth[at]]
    return texts, np.array([f"class {k}" for k in given]), given != truth, truth
