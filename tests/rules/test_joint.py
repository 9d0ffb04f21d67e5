"""Several constraints at once: optimal, better than what is easier, and right by hand."""

import numpy as np
import pytest
from cases import several
from oracle_many import ManyOracle, variances
from scipy.special import ndtri

from sureline.rules import rules

CW = [
    pytest.param(name, covariance, id=f"{name}-{covariance}")
    for name in ("cw-variance", "cw-stdev")
    for covariance in ("diagonal-kl", "diagonal-l2", "diagonal-exact")
]


def draw(rng, classes=None):
    """Margins in ascending order and the shares of features, over a few decades."""
    k, n = classes or int(rng.integers(1, 6)), int(rng.integers(1, 9))
    scale = 10.0 ** rng.uniform(-2, 2)
    w_y, w_r = scale * rng.random(n) ** 3, scale * rng.random((k, n)) ** 3
    spread = np.sqrt(w_y.sum() + w_r.sum() / k)
    return np.sort(rng.standard_normal(k) * spread), w_y, w_r


def solve(rule, covariance, m, w_y, w_r, a, b=0.0, c=1.0):
    """The multipliers and gains that the rule finds, or None where it is passive."""
    alpha, gain = np.empty(m.size), np.empty(m.size)
    changed = rule.joint[covariance](m, w_y.sum(), w_r.sum(axis=1), w_y, w_r, c, a, b, alpha, gain)
    return (alpha, gain) if changed else None


def kl(w_y, w_r, alpha, growth_y, growth_r):
    """The divergence of a step: the means move by α along Σg, precisions grow."""
    grown = np.concatenate([growth_y, growth_r.ravel()])
    moved = alpha.sum() ** 2 * w_y.sum() + (alpha**2 * w_r.sum(axis=1)).sum()
    return 0.5 * moved + 0.5 * np.sum(1 / grown - 1 + np.log(grown))


@pytest.mark.parametrize(("name", "covariance"), CW)
def test_conditions_of_the_optimum_hold(name, covariance):
    rng, rule, moved = np.random.default_rng(0), rules()[name], 0
    for _ in range(several(300, 60)):
        (m, w_y, w_r), phi = draw(rng), float(rng.uniform(0.05, 3))
        K0 = w_y.sum() + np.diag(w_r.sum(axis=1))
        found = solve(rule, covariance, m, w_y, w_r, phi)
        root = np.sqrt if name == "cw-stdev" else (lambda v: v)
        if found is None:
            assert (m >= phi * root(np.diag(K0))).all()
            continue
        moved += 1
        alpha, gain = found
        v = variances(covariance, w_y, w_r, K0, gain)
        reached, asked = m + K0 @ alpha, phi * root(v)
        size = np.abs(m) + K0 @ alpha + asked
        slack = (reached - asked) / size
        assert (slack >= -1e-10).all()
        assert (np.abs(slack[alpha > 0]) <= 1e-10).all()
        factor = phi / np.sqrt(v) if name == "cw-stdev" else 2 * phi
        assert np.allclose(gain, factor * alpha, rtol=1e-10, atol=0)
        assert (alpha >= 0).all()
    assert moved > several(150, 30)


@pytest.mark.parametrize("name", ["cw-variance", "cw-stdev"])
def test_no_feasible_point_is_nearer(name):
    rng, rule = np.random.default_rng(1), rules()[name]
    root = np.sqrt if name == "cw-stdev" else (lambda v: v)
    tried = 0
    for _ in range(several(60, 15)):
        (m, w_y, w_r), phi = draw(rng), float(rng.uniform(0.3, 2))
        found = solve(rule, "diagonal-exact", m, w_y, w_r, phi)
        if found is None:
            continue
        alpha, gain = found
        K0 = w_y.sum() + np.diag(w_r.sum(axis=1))
        growth = 1 + gain.sum() * w_y, 1 + gain[:, None] * w_r
        least = kl(w_y, w_r, alpha, *growth)
        for _ in range(several(200, 40)):
            size = 10.0 ** rng.uniform(-4, -0.5)
            trial = np.maximum(0, alpha + size * alpha.max() * rng.standard_normal(m.size))
            grown = [g ** np.exp(size * rng.standard_normal(g.shape)) for g in growth]
            v = (w_y / grown[0]).sum() + (w_r / grown[1]).sum(axis=1)
            lacking = phi * root(v) - m - K0 @ trial
            trial += max(0.0, lacking.max()) / K0.min()  # enough for every constraint
            assert (m + K0 @ trial >= phi * root(v) * (1 - 1e-12) - 1e-12).all()
            assert kl(w_y, w_r, trial, *grown) >= least * (1 - 1e-9)
            tried += 1
    assert tried > several(4000, 200)


def test_repeating_the_two_class_projection_is_not_optimal():
    """It ends at a feasible point, but not at the nearest."""
    q, excess = {"confidence": 0.9, "initial_variance": 1.0}, []
    for seed in range(several(10, 2)):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(4)
        oracle = ManyOracle("cw-variance", "diagonal-exact", q, 3, 4, 3, "sequential")
        x[0] = 1.0
        for part in oracle.parts:
            part.mu, part.S = rng.standard_normal(4), np.diag(rng.uniform(0.1, 2, 4))
        before = [(p.mu.copy(), np.diag(p.S).copy()) for p in oracle.parts]
        scores = np.array([p.mu @ x for p in oracle.parts])
        y, phi = int(np.argmin(scores)), ndtri(0.9)
        rivals = sorted((r for r in range(4) if r != y), key=lambda r: -scores[r])
        m = scores[y] - scores[rivals]
        w_y = before[y][1] * x**2
        w_r = np.array([before[r][1] * x**2 for r in rivals])
        alpha, gain = solve(rules()["cw-variance"], "diagonal-exact", m, w_y, w_r, phi)
        least = kl(w_y, w_r, alpha, 1 + gain.sum() * w_y, 1 + gain[:, None] * w_r)
        for _ in range(2000):
            for r in rivals:
                oracle.set_pair(y, r, oracle.pair(x, y, r, 1.0))
        reached = 0.0
        for part, (mu, s) in zip(oracle.parts, before, strict=True):
            ratio = np.diag(part.S) / s
            reached += 0.5 * np.sum(ratio - 1 - np.log(ratio) + (part.mu - mu) ** 2 / s)
        excess.append(reached / least - 1)
    assert min(excess) > 1e-4
    assert np.mean(excess) > 0.02


def arow_cost(m, w_y, w_r, r, moved, pulls, growth_y, growth_r):
    """AROW's objective where y's mean moves by moved_p/x_p and rival j's by −pulls_j Σx."""
    v_r = w_r.sum(axis=1)
    grown = np.concatenate([growth_y, growth_r.ravel()])
    away = (moved**2 / w_y).sum() + (pulls**2 * v_r).sum()
    divergence = 0.5 * away + 0.5 * np.sum(1 / grown - 1 + np.log(grown))
    loss = np.maximum(0, 1 - m - moved.sum() - pulls * v_r) ** 2
    v = (w_y / growth_y).sum() + (w_r / growth_r).sum(axis=1)
    return divergence + (loss + v).sum() / (2 * r)


@pytest.mark.parametrize("covariance", ["diagonal-kl", "diagonal-exact"])
def test_arow_together_costs_least(covariance):
    rng, rule, r = np.random.default_rng(2), rules()["arow"], 0.8
    better = 0
    for _ in range(several(200, 40)):
        m, w_y, w_r = draw(rng)
        found = solve(rule, covariance, m, w_y, w_r, r)
        if found is None:
            assert m[0] >= 1
            continue
        given, k, v_r = (m, w_y, w_r, r), m.size, w_r.sum(axis=1)
        alpha, gain = found
        growth = 1 + gain.sum() * w_y, 1 + gain[:, None] * w_r
        least = arow_cost(*given, alpha.sum() * w_y, alpha, *growth)
        # Averaged: each against its rival alone.
        alone = np.array([rule.step(m[j], w_y.sum() + v_r[j], 1.0, r, 0.0) for j in range(k)])
        pulls, eta = alone.T / (w_y.sum() + v_r) / k
        growth = 1 + eta.sum() * w_y, 1 + eta[:, None] * w_r
        averaged = arow_cost(*given, pulls.sum() * w_y, pulls, *growth)
        # One after the other: y's variances shrink on the way.
        w, moved, pulls, eta = w_y.copy(), np.zeros(w_y.size), np.zeros(k), np.zeros(k)
        for j in range(k):
            v = w.sum() + v_r[j]
            t, E = rule.step(m[j] + moved.sum(), v, 1.0, r, 0.0)
            pulls[j], eta[j] = t / v, E / v
            moved += pulls[j] * w
            w = w / (1 + eta[j] * w)
        in_turn = arow_cost(*given, moved, pulls, w_y / w, 1 + eta[:, None] * w_r)
        assert least <= averaged * (1 + 1e-12)
        assert least <= in_turn * (1 + 1e-12)
        better += least < min(averaged, in_turn) * (1 - 1e-6)
    assert better > several(50, 10)


@pytest.mark.parametrize("name", ["pa", "pa-i", "pa-ii"])
def test_best_of_pa_by_hand(name):
    # ‖x‖² = 1, margins 0 and 0: a_1 = a_2 = 1/3 reaches a margin of 1 over both rivals.
    m, w_y, w_r = np.zeros(2), np.ones(1), np.ones((2, 1))
    alpha, gain = solve(rules()[name], "identity", m, w_y, w_r, 1e9, 0.0)
    assert np.allclose(alpha, 1 / 3)
    assert gain.tolist() == [0.0, 0.0]
    if name == "pa-i":
        capped, _ = solve(rules()[name], "identity", m, w_y, w_r, 0.2, 0.0)
        assert np.allclose(capped, 0.1)  # one slack: the steps add up to C
        capped, _ = solve(rules()[name], "identity", m, w_y, w_r, 0.2, 1.0)
        assert np.allclose(capped, 0.2)  # a slack each: none is longer than C


def test_one_rival_is_the_two_class_step():
    rng = np.random.default_rng(3)
    for rule in rules().values():
        for covariance, joint in rule.joint.items():
            for _ in range(20):
                m, w_y, w_r = draw(rng, classes=1)
                if covariance == "identity":
                    w_r = w_y[np.newaxis].copy()
                v, a = float(w_y.sum() + w_r.sum()), float(rng.uniform(0.1, 2))
                t, E = rule.step(float(m[0]), v, 1.0, a, 0.0)
                alpha, gain = np.zeros(1), np.zeros(1)
                joint(m, w_y.sum(), w_r.sum(axis=1), w_y, w_r, 1.0, a, 0.0, alpha, gain)
                growth = 1 + gain[0] * np.concatenate([w_y, w_r[0]])
                if covariance == "diagonal-exact" and t > 0:
                    w = np.concatenate([w_y, w_r[0]])
                    t = rule.exact(float(m[0]), v, w, t, E, 1.0, a, 0.0)
                    assert np.allclose(growth, w, rtol=1e-9)
                elif t > 0:
                    assert gain[0] * v == pytest.approx(E, rel=1e-9)
                assert alpha[0] * v == pytest.approx(t, rel=1e-9, abs=1e-12)
