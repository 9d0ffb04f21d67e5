"""The learners that can be compared and tuned, and the settings among which they are."""

import numpy as np
import pytest

from sureline import InvalidParameter, TextClassifier
from sureline.estimators.validation import choose_learner
from sureline.evaluation.search import BASELINES
from sureline.evaluation.search.candidates import (
    baseline_candidates,
    rule_candidates,
    rule_grid,
)
from sureline.rules import rules


def test_every_rule_is_a_candidate_and_accepts_every_setting():
    every = rule_candidates()
    assert [each.name for each in every] == list(rules())
    for each in every:
        assert len({str(settings) for settings in each.grid}) == len(each.grid)
        for settings in each.grid:
            model = each.build(settings, 3)
            choose_learner(model)
            assert model.random_state == 3
            assert {name: getattr(model, name) for name in settings} == settings


def test_a_grid_starts_with_the_defaults_and_covers_the_declared_values():
    grid = rule_grid(rules()["scw-i"], {}, {})
    confidence, cost = rules()["scw-i"].parameters
    assert grid[0] == {"confidence": confidence.default, "C": cost.default}
    assert len(grid) == len(confidence.trials) * len(cost.trials)
    fixed = rule_grid(rules()["scw-i"], {"C": 2.0}, {"confidence": (0.7, 0.6)})
    assert fixed == ({"confidence": 0.7}, {"confidence": 0.6})
    assert rule_grid(rules()["perceptron"], {}, {}) == ({},)


def test_declared_values_lie_in_the_declared_ranges():
    for rule in rules().values():
        for parameter in rule.parameters:
            assert parameter.default in parameter.trials
            assert list(parameter.trials) == sorted(parameter.trials)
            for value in parameter.trials:
                assert parameter.check(value, rule.name) == value


def test_a_parameter_that_declares_no_values_is_searched_over_its_range():
    from sureline.rules import Parameter

    free = Parameter("q", 2.0, 0.0, np.inf, "")
    assert free.trials == pytest.approx((0.02, 0.2, 2.0, 20.0, 200.0))
    bounded = Parameter("p", 0.5, 0.0, 1.0, "")
    assert bounded.trials == pytest.approx((0.1, 0.3, 0.5, 0.7, 0.9))


def test_each_supported_covariance_gives_a_candidate():
    names = [each.name for each in rule_candidates(["scw-i", "pa"], ("diagonal-kl", "diagonal-l2"))]
    assert names == ["scw-i diagonal-kl", "scw-i diagonal-l2", "pa"]
    with pytest.raises(InvalidParameter, match="scw-i has no covariance diagonal-exact"):
        rule_candidates(["scw-i"], ("diagonal-exact",))


def test_baselines_accept_every_setting_and_a_seed():
    assert [each.name for each in baseline_candidates()] == list(BASELINES)
    for each in baseline_candidates():
        for settings in each.grid:
            given = each.build(settings, 3).get_params()
            assert {name: given[f"{each.prefix}{name}"] for name in settings} == settings
            assert all(given[name] == 3 for name in given if name.endswith("random_state"))
        assert each.baseline


def test_a_rule_inside_a_text_classifier_gets_the_settings():
    [plain] = rule_candidates(["arow"], fixed={"arow": {"shuffle": False}})
    wrapped = plain.around_texts({"weighting": "idf"})
    assert wrapped.reads_texts
    assert not plain.reads_texts
    model = wrapped.build({"r": 0.3}, 7)
    assert isinstance(model, TextClassifier)
    assert (model.weighting, model.shuffle, model.random_state) == ("idf", False, 7)
    assert (model.estimator.r, model.estimator.random_state) == (0.3, 7)
    assert plain.estimator.r == 1.0
