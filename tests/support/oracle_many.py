"""Many classes in slow, obvious NumPy, on top of the oracle for two.

An example of class y is compared with rival r through the vector g that is x in the block of y and
−x in the block of r. Multipliers of several constraints are found by cycling through them, as the
papers' Hildreth does, with the metric of the mean kept at that of the old covariance.
"""

from __future__ import annotations

import numpy as np
from oracle import Oracle
from scipy.linalg import block_diag
from scipy.optimize import brentq
from scipy.special import ndtri


class ManyOracle:
    """A model of K classes that learns one dense row at a time; feature 0 is the intercept."""

    def __init__(self, name, covariance, q, features, classes, competitors, scheme, intercept=True):
        self.parts = [Oracle(name, covariance, q, features, intercept) for _ in range(classes)]
        self.name, self.covariance, self.q = name, covariance, q
        self.competitors, self.scheme = competitors, scheme
        self.constant = float(intercept)
        self.history, self.closest, self.mistakes = [], np.inf, 0
        self.mistake_rule = name in ("sop", "perceptron", "averaged-perceptron")
        self.jumps = self.parts[0].jumps

    def scores(self, x):
        if self.name == "sop":
            return np.array([np.sum(p.mu * x / (p.M + x**2)) for p in self.parts])
        return np.array([p.mu @ x for p in self.parts])

    def learn(self, x, y, c=1.0):
        x = np.concatenate([[self.constant], x])
        scores = self.scores(x)
        rivals = sorted((r for r in range(len(self.parts)) if r != y), key=lambda r: -scores[r])
        rivals = rivals[: self.competitors]
        top = scores[y] - scores[rivals[0]]
        self.mistakes += top <= 0
        if self.jumps:
            jump = 0.0 if self.mistake_rule else 1.0
            gaps = [abs(scores[y] - scores[r] - jump) for r in rivals]
            self.closest = min([self.closest, *(gap for gap in gaps if gap > 0)])
        # Classes that almost tie may swap places, unless nothing is known of either.
        ranked = np.sort(scores)
        apart = np.diff(ranked)[(ranked[1:] != 0) | (ranked[:-1] != 0)]
        self.closest = min([self.closest, *apart])
        if self.scheme == "one-vs-rest":
            for column, part in enumerate(self.parts):
                part.learn(x[1:], 1.0 if column == y else -1.0, c)
                self.closest = min(self.closest, part.closest)
        elif self.name == "sop" or self.name.startswith("adagrad"):
            self.own(x, y, rivals[0], c, top)
        elif not x.any():
            pass
        elif self.scheme == "sequential":
            for r in rivals:
                self.set_pair(y, r, self.pair(x, y, r, c))
        elif self.scheme == "parallel":
            self.average(x, y, rivals, c)
        else:
            self.together(x, y, rivals, c, np.array([scores[y] - scores[r] for r in rivals]))
        self.history.append([p.mu.copy() for p in self.parts])

    def pair(self, x, y, r, c):
        """Means and covariances of y and r after the two-class step against r."""
        both = Oracle(self.name, self.covariance, self.q, 2 * x.size - 1)
        both.mu = np.concatenate([self.parts[y].mu, self.parts[r].mu])
        both.S = block_diag(self.parts[y].S, self.parts[r].S)
        g = np.concatenate([x, -x])
        both.margin_rule(g, 1.0, c, both.mu @ g, g @ both.S @ g)
        n = x.size
        S_y, S_r = both.S[:n, :n], both.S[n:, n:]
        if self.covariance == "full":  # each class keeps its own block of the precision
            P = np.linalg.inv(both.S)
            S_y, S_r = np.linalg.inv(P[:n, :n]), np.linalg.inv(P[n:, n:])
        return both.mu[:n], S_y, both.mu[n:], S_r

    def set_pair(self, y, r, found):
        self.parts[y].mu, self.parts[y].S, self.parts[r].mu, self.parts[r].S = found

    def average(self, x, y, rivals, c):
        hard = self.name.startswith("cw")
        k, inverse = len(rivals), np.linalg.inv
        found = [self.pair(x, y, r, 1.0 if hard else c) for r in rivals]
        new = {y: (np.mean([f[0] for f in found], 0), np.mean([inverse(f[1]) for f in found], 0))}
        for r, (_, _, mu, S) in zip(rivals, found, strict=True):
            part = self.parts[r]
            new[r] = part.mu + (mu - part.mu) / k, inverse(part.S) * (1 - 1 / k) + inverse(S) / k
        self.blend(new, c if hard else 1.0)

    def blend(self, new, c):
        """Go the share c of the way from the old Gaussians to new ones, (mean, precision) each."""
        for column, (mu, P) in new.items():
            part = self.parts[column]
            old = np.linalg.inv(part.S)
            P_c = (1 - c) * old + c * P
            part.mu = np.linalg.solve(P_c, (1 - c) * old @ part.mu + c * P @ mu)
            if self.covariance != "identity":
                part.S = np.linalg.inv(P_c)

    def together(self, x, y, rivals, c, m):
        hard = self.name.startswith("cw")
        S_y, S_r = self.parts[y].S, [self.parts[r].S for r in rivals]
        w_y, w_r = np.diag(S_y) * x**2, np.array([np.diag(S) * x**2 for S in S_r])
        alpha, gain = multipliers(
            self.name, self.covariance, m, w_y, w_r, 1.0 if hard else c, self.q
        )
        if alpha is None:
            return
        # The joint covariance of y and its rivals, then what is kept of it.
        K, n = len(rivals), x.size
        G = np.zeros(((K + 1) * n, K))
        for j in range(K):
            G[:n, j], G[(j + 1) * n : (j + 2) * n, j] = x, -x
        S0 = block_diag(S_y, *S_r)
        P = np.linalg.inv(S0) + G @ np.diag(gain) @ G.T
        P = np.diag(
            1 / np.diag(np.linalg.inv(P)) if self.covariance == "diagonal-l2" else np.diag(P)
        )
        new = {}
        for j, column in enumerate([y, *rivals]):
            block = slice(j * n, (j + 1) * n)
            pull = alpha.sum() if j == 0 else -alpha[j - 1]
            new[column] = self.parts[column].mu + pull * self.parts[column].S @ x, P[block, block]
        self.blend(new, c if hard else 1.0)

    def own(self, x, y, r, c, top):
        for column in range(len(self.parts)):
            part, sign = self.parts[column], {y: 1.0, r: -1.0}.get(column, 0.0)
            if self.name == "sop":
                if top <= 0 and sign:
                    part.mu, part.M = part.mu + c * sign * x, part.M + c * x**2
                continue
            g = -c * sign * x if top < 1 else 0 * x
            part.M, part.u = part.M + g**2, part.u + g
            H, eta = self.q["delta"] + np.sqrt(part.M), self.q["eta"]
            if self.name == "adagrad-comid":
                z = part.mu - eta * g / H
                part.mu = np.sign(z) * np.maximum(0, np.abs(z) - part.penalty() * eta / H)
            else:
                t = len(self.history) + 1
                size = np.maximum(0, np.abs(part.u / t) - part.penalty())
                part.mu = -np.sign(part.u) * eta * t / H * size

    def weights(self):
        if self.name == "sop":
            return np.array([p.mu / p.M for p in self.parts])
        if self.name == "averaged-perceptron":
            return np.mean(self.history, axis=0)
        return np.array([p.mu for p in self.parts])


def multipliers(name, covariance, m, w_y, w_r, c, q):
    """α and the precision gain of every constraint, by cycling; None where all are satisfied."""
    v_y, v_r = w_y.sum(), w_r.sum(axis=1)
    K0 = v_y + np.diag(v_r)
    phi, k = ndtri(q.get("confidence", 0.5)), m.size
    if name.startswith("cw"):
        root = np.sqrt if name == "cw-stdev" else (lambda v: v)
        if (m >= phi * root(v_y + v_r)).all():
            return None, None
        if name == "cw-variance":
            alpha = cycle(covariance, m, w_y, w_r, K0, np.full(k, phi))
            return alpha, 2 * phi * alpha
        u = np.sqrt(v_y + v_r)
        for _ in range(400):  # √v ≤ (v + u²)/(2u): solve, tighten, solve again
            p = phi / (2 * u)
            alpha = cycle(covariance, m - phi * u / 2, w_y, w_r, K0, p)
            old, u = u, np.sqrt(variances(covariance, w_y, w_r, K0, 2 * p * alpha))
            if np.abs(u - old).max() <= 1e-14 * u.max():
                break
        return alpha, 2 * p * alpha
    if (m >= 1).all():
        return None, None
    loss, alpha = 1 - m, np.zeros(k)
    cap, ridge = np.inf, 0.0
    if name == "arow":
        ridge = q["r"] / c
    elif name == "pa-ii":
        ridge = 1 / (2 * q["C"] * c)
    elif name == "pa-i":
        cap = q["C"] * c
    for _ in range(3000):
        before = alpha.copy()
        for j in range(k):
            rest = K0[j] @ alpha - K0[j, j] * alpha[j]
            high = cap if q.get("slack") == "each" else np.inf
            alpha[j] = min(max((loss[j] - rest) / (K0[j, j] + ridge), 0), high)
        if np.abs(alpha - before).max() <= 1e-16 * alpha.max():
            break
    if name == "pa-i" and q.get("slack") != "each" and alpha.sum() > cap:
        z = loss / v_y
        shift = brentq(lambda s: np.maximum(0, z - s).sum() - cap, -cap, z.max(), xtol=1e-16)
        alpha = np.maximum(0, z - shift)
    return alpha, np.full(k, c / q["r"]) if name == "arow" else np.zeros(k)


def variances(covariance, w_y, w_r, K0, gain):
    """The variance of each margin when the constraints bring their gains of precision."""
    if covariance == "diagonal-exact":
        left_y = (w_y / (1 + gain.sum() * w_y)).sum()
        return left_y + (w_r / (1 + gain[:, None] * w_r)).sum(axis=1)
    return np.diag(np.linalg.solve(np.eye(len(gain)) + K0 @ np.diag(gain), K0))


def cycle(covariance, m, w_y, w_r, K0, phi):
    """Exact coordinate ascent for the constraints m_j + (K0 α)_j ≥ φ_j v_j."""
    k, alpha = m.size, np.zeros(m.size)
    for _ in range(5000):
        moved = 0.0
        for j in range(k):

            def gap(a, j=j):
                trial = alpha.copy()
                trial[j] = a
                v = variances(covariance, w_y, w_r, K0, 2 * phi * trial)[j]
                return m[j] + K0[j] @ trial - phi[j] * v

            new = 0.0
            if gap(0.0) < 0:
                high = max(alpha[j], 1e-6)
                while gap(high) < 0:
                    high *= 2
                new = brentq(gap, 0.0, high, xtol=1e-300, rtol=1e-15)
            moved = max(moved, abs(new - alpha[j]))
            alpha[j] = new
        if moved <= 1e-15 * alpha.sum():
            break
    return alpha
