"""The scalar rules of the boxes: optimal on random draws, and equal to the lemmas put right."""

import math
from dataclasses import replace

import numpy as np
import pytest
from cases import several
from oracle_box import lemma_4, lemma_5

from sureline.errors import InvalidParameter
from sureline.estimators import BoxClassifier, classifier_for
from sureline.rules import batch_rules, rules
from sureline.rules.box.problem import LOSSES
from sureline.rules.registry import register_batch

RULES = list(batch_rules().values())
CASES = several(10_000, 1_000)
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


def named(rule):
    return rule.name


def draws(seed, count):
    """Points (μ̃, σ̃) before the prox, some with σ̃ < 0, and (c, δ), over some decades."""
    rng = np.random.default_rng(seed)
    mu, sigma = 2.0 * rng.standard_normal((2, count))
    mu[rng.random(count) < 0.3] *= 0.05  # near the kink of the maximum
    c, delta = 10.0 ** rng.uniform(-3, 0.5, (2, count))
    return mu, sigma, c, delta


def price(name, mu, sigma, c, delta):
    """The last two terms of the problem, from the corners of the interval."""
    u, v = np.square(mu - sigma), np.square(mu + sigma)
    corners = np.maximum(u, v) if name == "box-max" else u + v
    return delta * corners - c * np.log(2.0 * sigma)


def narrowest(function, low, high, steps=60):
    """The smallest value of a convex function between `low` and `high`, by golden sections."""
    for _ in range(steps):
        width = GOLDEN * (high - low)
        left, right = high - width, low + width
        lower = function(left) < function(right)
        low, high = np.where(lower, low, left), np.where(lower, right, high)
    return function(0.5 * (low + high))


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_prox_is_within_1e_12_of_brute_force(rule):
    mu, sigma, c, delta = draws(1, CASES)

    def value(m, s):
        return (m - mu) ** 2 + (s - sigma) ** 2 + price(rule.name, m, s, c, delta)

    def over_centres(log_width):
        s = np.exp(log_width)
        return narrowest(lambda m: value(m, s), -np.abs(mu), np.abs(mu))

    brute = narrowest(over_centres, np.full(CASES, math.log(1e-9)), np.full(CASES, math.log(20.0)))
    ours = np.array([rule.prox(*each) for each in np.array([mu, sigma, c, delta]).T])
    excess = value(ours[:, 0], ours[:, 1]) - brute
    assert np.abs(excess / np.maximum(1.0, np.abs(brute))).max() <= 1e-12
    zeros = (ours[:, 0] == 0.0).mean()
    assert (0.1 < zeros < 0.9) if rule.name == "box-max" else zeros == 0.0


@pytest.mark.parametrize(
    ("name", "right", "printed", "wrong"),
    [
        ("box-max", lemma_4, lambda *each: lemma_4(*each, square=False), 0.3),
        ("box-sum", lemma_5, lambda *each: lemma_5(*each, shift=4.0), 1.0),
    ],
)
def test_lemmas_in_corners_agree_once_put_right(name, right, printed, wrong):
    prox, count, failed = batch_rules()[name].prox, several(2_000, 500), 0
    for mu, sigma, c, delta in np.array(draws(2, count)).T:
        m, s = prox(mu, sigma, c, delta)
        ours = (m - s, m + s)
        assert right(mu - sigma, mu + sigma, c, delta) == pytest.approx(ours, rel=1e-9, abs=1e-9)
        failed += printed(mu - sigma, mu + sigma, c, delta) != pytest.approx(ours, rel=1e-6)
    assert failed >= wrong * count


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_prox_and_primal_are_stationary_over_many_decades(rule):
    rng = np.random.default_rng(3)
    for _ in range(several(10_000, 1_000)):
        mu, sigma = 10.0 ** rng.uniform(-6, 6, 2) * rng.choice([-1.0, 1.0], 2)
        c, delta = 10.0 ** rng.uniform(-8, 4, 2)
        there = rule.prox(mu, sigma, c, delta)
        assert there[1] > 0.0
        assert rule.residual(mu, sigma, c, delta, there) <= 1e-12, (mu, sigma, c, delta)
        q, C, D = 10.0 ** rng.uniform(-8, 3, 3)
        p = q * rng.choice([0.0, 1.0, -1.0, rng.uniform(-1, 1)])
        there = rule.primal(p, q, C, D)
        assert there[1] > 0.0
        assert rule.primal_residual(p, q, C, D, there) <= 1e-12, (p, q, C, D)


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_residuals_notice_wrong_points(rule):
    rng = np.random.default_rng(4)
    for _ in range(300):
        mu, sigma = rng.uniform(0.5, 2.0, 2)
        c, delta = rng.uniform(0.1, 1.0, 2)
        m, s = rule.prox(mu, sigma, c, delta)
        assert rule.residual(mu, sigma, c, delta, (m, 1.01 * s)) > 1e-4
        assert rule.residual(mu, sigma, c, delta, (m + 0.01, s)) > 1e-4
        p, q = rng.uniform(0.5, 1.0), rng.uniform(1.0, 2.0)
        m, s = rule.primal(p, q, c, delta)
        assert rule.primal_residual(p, q, c, delta, (m, 1.01 * s)) > 1e-4
        assert rule.primal_residual(p, q, c, delta, (m + 0.05 * (1.0 + m), s)) > 1e-4


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_what_no_example_touches_stays_where_it_starts(rule):
    rng = np.random.default_rng(5)
    for _ in range(200):
        C, D, step = 10.0 ** rng.uniform(-6, 2, 3)
        start = rule.start(C, D)
        mu, sigma = rule.prox(0.0, start, step * C, step * D)
        assert mu == 0.0
        assert sigma == pytest.approx(start, rel=1e-12)
        assert rule.primal(0.0, 0.0, C, D) == pytest.approx((0.0, start), rel=1e-14)


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_no_curvature_is_above_the_steepest(rule):
    rng = np.random.default_rng(6)
    largest = 0.0
    for _ in range(several(20_000, 2_000)):
        C, D = 10.0 ** rng.uniform(-3, 0, 2)
        q = math.sqrt(C * D) * 10.0 ** rng.uniform(-2, 1)
        p, y = q * rng.uniform(-1, 1), rng.choice([-1.0, 1.0])
        step = 1e-4 * math.sqrt(C * D)
        (m0, s0), (m1, s1) = rule.primal(p, q, C, D), rule.primal(p + step * y, q + step, C, D)
        largest = max(largest, (y * (m1 - m0) - (s1 - s0)) / step / rule.steepest(D))
    assert 0.7 < largest <= 1.0 + 1e-9


def test_cost_is_that_of_the_corners():
    rng = np.random.default_rng(7)
    for rule in RULES:
        mu, sigma = rng.standard_normal(50), rng.uniform(0.01, 2.0, 50)
        ours = [rule.cost(m, s, 0.3, 0.7) for m, s in zip(mu, sigma, strict=True)]
        assert ours == pytest.approx(price(rule.name, mu, sigma, 0.3, 0.7), rel=1e-12, abs=1e-12)


def test_losses_are_described_by_three_numbers():
    margins = np.linspace(-3.0, 3.0, 601)
    plain = {
        "hinge": np.maximum(0.0, 1.0 - margins),
        "squared-hinge": np.maximum(0.0, 1.0 - margins) ** 2,
        "huber": np.where(
            margins > 1.5, 0.0, np.where(margins < 0.5, 1.0 - margins, (1.5 - margins) ** 2 / 2.0)
        ),
    }
    for name, (level, kappa, cap) in LOSSES.items():
        a = np.linspace(0.0, min(cap, 10.0), 4_001)[:, None]
        told = (a * (level - margins) - 0.5 * kappa * a * a).max(axis=0)
        assert told == pytest.approx(plain[name], abs=1e-6), name


def test_the_registry_knows_boxes_as_rules_of_another_kind():
    assert list(batch_rules()) == ["box-max", "box-sum"]
    assert not set(batch_rules()) & set(rules())
    for rule in RULES:
        assert rule.title.startswith("Box of weights")
        for label in ("Problem", "Symbols", "Differs", "Cite"):
            assert rule.paragraphs(label)
        model = BoxClassifier(**rule.settings)
        for parameter in rule.parameters:
            assert getattr(model, parameter.name) == "auto"
            shown = f"{parameter.name} : float in {parameter.interval} or 'auto', default='auto'"
            assert shown in BoxClassifier.__doc__
            assert parameter.meaning.split(":")[0] in BoxClassifier.__doc__
        with pytest.raises(InvalidParameter, match="no online rule; use BoxClassifier"):
            classifier_for(rule.name)


def test_two_files_cannot_register_a_batch_rule_of_one_name():
    rule = next(iter(batch_rules().values()))
    with pytest.raises(InvalidParameter, match="two files register a rule named"):
        register_batch(replace(rule, module="elsewhere"))
