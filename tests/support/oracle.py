"""Every rule in slow, obvious NumPy: dense vectors, whole matrices, printed formulas, no tricks.

The fast code is compared with this. Covariances are kept as full matrices; the diagonal forms
make the full step and then project, by inverting matrices.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri


def alpha_eta(name, m, v, c, q):
    """α and η of μ += α y Σx, Σ⁻¹ += η x xᵀ, or None where the rule is passive."""
    phi = ndtri(q.get("confidence", 0.5))
    if name == "cw-variance" and m < phi * v:
        b = 1 + 2 * phi * m
        alpha = (-b + np.sqrt(b**2 - 8 * phi * (m - phi * v))) / (4 * phi * v)
        return alpha, 2 * alpha * phi
    if name in ("cw-stdev", "scw-i", "scw-ii") and m < phi * np.sqrt(v):
        C = q.get("C", np.inf) * c
        if name == "scw-ii":
            n = v + 1 / (2 * C)
            gamma = phi * np.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
            alpha = (-(2 * m * n + phi**2 * m * v) + gamma) / (2 * (n**2 + n * v * phi**2))
        else:
            psi, xi = 1 + phi**2 / 2, 1 + phi**2
            alpha = (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi)
        alpha = min(alpha, C) if name == "scw-i" else alpha
        u = (-alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v)) / 2
        return alpha, alpha * phi / u
    if name == "arow" and m < 1:
        r = q["r"] / c
        return (1 - m) / (v + r), 1 / r
    if name == "nherd" and m < 1:
        C = q["C"] * c
        return (1 - m) / (v + 1 / C), 2 * C + C**2 * v
    if name in ("pa", "pa-i", "pa-ii") and m < 1:
        cost = q.get("C", 1.0) * c
        free = (1 - m) / v
        return {"pa": free, "pa-i": min(cost, free)}.get(name, (1 - m) / (v + 1 / (2 * cost))), 0.0
    if name in ("perceptron", "averaged-perceptron") and m <= 0:
        return c, 0.0
    return None


def exact_step(name, m, w, c, q, start):
    """α and the growth of each precision when Σ is restricted to diagonal matrices."""
    v, phi = w.sum(), ndtri(q.get("confidence", 0.5))
    alpha, eta = start  # without the restriction
    if name == "arow":
        return alpha, 1 + eta * w
    if name == "nherd":
        return alpha, (1 + q["C"] * c * w) ** 2

    def growth(alpha):
        if name == "cw-variance":
            return 1 + 2 * alpha * phi * w
        return 1 + alpha * phi**2 / (m + alpha * v) * w  # η = αφ/u with u = (m + αv)/φ

    def gap(alpha):
        left = (w / growth(alpha)).sum()
        return m + alpha * v - phi * (left if name == "cw-variance" else np.sqrt(left))

    high = max(alpha, 1e-12)
    while gap(high) < 0:
        high *= 2
    alpha = brentq(gap, alpha, high, xtol=1e-300, rtol=1e-15) if gap(alpha) < 0 else alpha
    return alpha, growth(alpha)


KNOWN = {
    *("perceptron", "averaged-perceptron", "pa", "pa-i", "pa-ii", "cw-variance", "cw-stdev"),
    *("arow", "scw-i", "scw-ii", "nherd", "sop", "adagrad-comid", "adagrad-rda"),
}


class Oracle:
    """A model that learns one dense row at a time; feature 0 is the intercept."""

    def __init__(self, name, covariance, q, features, fit_intercept=True):
        if name not in KNOWN:
            raise NotImplementedError(
                f"write the rule {name} into tests/support/oracle.py, slowly and plainly"
            )
        self.name, self.covariance, self.q = name, covariance, q
        self.constant, size = float(fit_intercept), features + 1
        self.mu, self.S = np.zeros(size), np.eye(size) * q.get("initial_variance", 1.0)
        self.history, self.u = [], np.zeros(size)  # averaging; SOP and AdaGrad sums
        self.M = np.full(size, q.get("a", 0.0))
        self.updates = self.mistakes = 0
        # Some rules jump from no step to a step: how near a margin came to that, because rounding
        # may decide there. The others begin with small steps.
        self.jumps = not name.startswith(("cw", "scw", "pa"))
        self.jump = {"sop": 0.0, "perceptron": 0.0, "averaged-perceptron": 0.0}.get(name, 1.0)
        self.closest = np.inf

    def learn(self, x, y, c=1.0):
        x = np.concatenate([[self.constant], x])
        before = self.mu.copy(), self.S.copy(), self.M.copy()
        if self.name == "sop" or self.name.startswith("adagrad"):
            margin = getattr(self, self.name.replace("-", "_"))(x, y, c)
        else:
            margin = y * (self.mu @ x)
            self.margin_rule(x, y, c, margin, x @ self.S @ x)
        self.mistakes += margin <= 0
        if self.jumps and margin != self.jump:
            self.closest = min(self.closest, abs(margin - self.jump))
        after = self.mu, self.S, self.M
        moved = any((a != b).any() for a, b in zip(before, after, strict=True))
        self.updates += margin < 1 and x.any() if self.name.startswith("adagrad") else moved
        self.history.append(self.mu.copy())

    def margin_rule(self, x, y, c, m, v):
        hard = self.name.startswith("cw")
        found = alpha_eta(self.name, m, v, 1.0 if hard else c, self.q) if v > 0 else None
        if found is None:
            return
        P, (alpha, eta) = np.linalg.inv(self.S), found
        if self.covariance == "diagonal-exact":
            alpha, growth = exact_step(
                self.name, m, np.diag(self.S) * x**2, 1.0 if hard else c, self.q, found
            )
            P_new = P * growth
        else:
            P_new = P + eta * np.outer(x, x)
        mu_new = self.mu + alpha * y * self.S @ x
        if hard:  # argmin_q (1 − c) KL(q, old) + c KL(q, new)
            P_c = (1 - c) * P + c * P_new
            mu_new = np.linalg.solve(P_c, (1 - c) * P @ self.mu + c * P_new @ mu_new)
            P_new = P_c
        self.mu = mu_new
        if self.covariance in ("diagonal-kl", "diagonal-exact"):
            self.S = np.diag(1 / np.diag(P_new))
        elif self.covariance != "identity":
            S = np.linalg.inv(P_new)
            self.S = np.diag(np.diag(S)) if self.covariance == "diagonal-l2" else S

    def sop(self, x, y, c):
        margin = y * np.sum(self.mu * x / (self.M + x**2))  # here μ is z
        if margin <= 0:
            self.mu, self.M = self.mu + c * y * x, self.M + c * x**2
        return margin

    def penalty(self):
        return self.q["l1"] * np.array([0.0] + [1.0] * (self.mu.size - 1))

    def adagrad_comid(self, x, y, c):
        margin = y * (self.mu @ x)
        g = -c * y * x if margin < 1 else 0 * x
        self.M = self.M + g**2
        H = self.q["delta"] + np.sqrt(self.M)
        z = self.mu - self.q["eta"] * g / H
        self.mu = np.sign(z) * np.maximum(0, np.abs(z) - self.penalty() * self.q["eta"] / H)
        return margin

    def adagrad_rda(self, x, y, c):
        margin = y * (self.mu @ x)
        g = -c * y * x if margin < 1 else 0 * x
        self.M, self.u = self.M + g**2, self.u + g
        H, t = self.q["delta"] + np.sqrt(self.M), len(self.history) + 1
        mean = self.u / t
        size = np.maximum(0, np.abs(mean) - self.penalty())
        self.mu = -np.sign(mean) * self.q["eta"] * t / H * size
        return margin

    def weights(self):
        if self.name == "sop":
            return self.mu / self.M
        return np.mean(self.history, axis=0) if self.name == "averaged-perceptron" else self.mu

    def score(self, x):
        x = np.concatenate([[self.constant], x])
        if self.name == "sop":
            return np.sum(self.mu * x / (self.M + x**2))
        return self.weights() @ x


def distance(ours, theirs):
    """The normwise relative difference."""
    return np.linalg.norm(ours - theirs) / max(np.linalg.norm(theirs), 1e-30)
