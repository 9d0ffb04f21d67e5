"""What parameters may be, where that is declared, and the sentences that say so."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse
from cases import stream
from sklearn.exceptions import NotFittedError

from sureline import (
    AROWClassifier,
    CWClassifier,
    DataError,
    InvalidParameter,
    PAClassifier,
    PerceptronClassifier,
    SCWClassifier,
)
from sureline.estimators import classifier_for
from sureline.rules import COVARIANCES, Parameter, Rule, register, rules

X, Y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.name)
def test_classes_agree_with_what_rules_declare(rule):
    cls = classifier_for(rule.name)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    for parameter in rule.parameters:
        assert fields[parameter.name].default == parameter.default
        assert f"{parameter.name} : float in {parameter.interval}" in cls.__doc__
        assert parameter.meaning.split(".")[0] in cls.__doc__
    assert set(rule.settings) <= set(fields)
    if rule.covariances == ("identity",) or rule.kernel:
        assert "covariance" not in fields
    else:
        assert set(rule.covariances) <= set(COVARIANCES)
        assert fields["covariance"].default == "diagonal-kl"
        choices = ", ".join(repr(choice) for choice in rule.covariances)
        assert f"covariance : {{{choices}}}" in cls.__doc__
    assert (rule.exact is not None) == ("diagonal-exact" in rule.covariances)
    for label in ("Symbols", "Cite"):
        assert rule.paragraphs(label), f"{rule.module} has no paragraph {label}:"
    assert bool(rule.paragraphs("Problem")) == (rule.residual is not None)


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.name)
def test_numbers_out_of_range_are_refused(rule):
    for parameter in rule.parameters:
        wrong = [parameter.low - 1, np.nan, "1", None, True, [1.0]]
        wrong += [parameter.low] if parameter.closed == "neither" else []
        wrong += [parameter.high]
        for value in wrong:
            model = classifier_for(rule.name)(**{**rule.settings, parameter.name: value})
            with pytest.raises(InvalidParameter) as refusal:
                model.fit(X, Y)
            assert str(refusal.value) == (
                f"{rule.estimator}: {parameter.name} must be a number in {parameter.allowed}, "
                f"got {value!r}"
            )
        for value in (np.float32(parameter.default), np.float64(parameter.default)):
            classifier_for(rule.name)(**{**rule.settings, parameter.name: value}).fit(X, Y)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1, got 0"),
        ({"max_iter": 2.0}, "max_iter must be a whole number of at least 1, got 2.0"),
        ({"max_iter": True}, "max_iter must be a whole number of at least 1, got True"),
        ({"n_iter_no_change": -1}, "n_iter_no_change must be a whole number of at least 1, got -1"),
        ({"shuffle": "yes"}, "shuffle must be True or False, got 'yes'"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False, got 1"),
        ({"competitors": 0}, "competitors must be a whole number of at least 1 or 'all', got 0"),
        (
            {"competitors": "k"},
            "competitors must be a whole number of at least 1 or 'all', got 'k'",
        ),
        (
            {"scheme": "voting"},
            "scheme must be 'sequential', 'parallel', 'exact' or 'one-vs-rest', got 'voting'",
        ),
        (
            {"scheme": "exact", "covariance": "full"},
            "the rule arow has no scheme='exact' with covariance='full'; there is 'sequential' "
            "with 'diagonal-kl' or 'diagonal-l2' or 'diagonal-exact' or 'full'; 'parallel' with "
            "'diagonal-kl' or 'diagonal-l2' or 'diagonal-exact'; 'exact' with 'diagonal-kl' or "
            "'diagonal-l2' or 'diagonal-exact'; 'one-vs-rest' with 'diagonal-kl' or 'diagonal-l2' "
            "or 'diagonal-exact' or 'full'",
        ),
        ({"dtype": "float16"}, "dtype must be 'float32' or 'float64', got 'float16'"),
        ({"validation_fraction": 1.0}, "validation_fraction must be a number in (0, 1), got 1.0"),
        ({"memory_limit_gb": 0}, "memory_limit_gb must be a number in (0, inf), got 0"),
        (
            {"class_weight": {0: -1.0}},
            "class_weight must hold finite weights of at least 0, got [-1.  1.]",
        ),
        (
            {"class_weight": "heavy"},
            "class_weight must be 'balanced', a dictionary by label or None, got 'heavy'",
        ),
    ],
)
def test_shared_parameters_are_checked(settings, sentence):
    with pytest.raises(InvalidParameter) as refusal:
        AROWClassifier(**settings).fit(X, Y)
    assert str(refusal.value) == f"AROWClassifier: {sentence}"


def test_schemes_that_do_not_exist_are_refused():
    with pytest.raises(InvalidParameter) as refusal:
        PerceptronClassifier(competitors=2).fit(X, Y)
    assert str(refusal.value) == (
        "PerceptronClassifier: the rule averaged-perceptron compares an example with its strongest "
        "rival only, so that competitors must be 1 and scheme 'sequential' or 'one-vs-rest', got 2 "
        "and 'sequential'"
    )
    with pytest.raises(InvalidParameter, match="competitors must be left at 1, got 'all'"):
        AROWClassifier(scheme="one-vs-rest", competitors="all").fit(X, Y)
    with pytest.raises(InvalidParameter, match="the rule scw-i has no scheme='parallel' with"):
        SCWClassifier(scheme="parallel").fit(X, Y)
    with pytest.raises(InvalidParameter, match="slack must be 'shared' or 'each', got 'none'"):
        PAClassifier(slack="none").fit(X, Y)


def test_choices_are_checked():
    with pytest.raises(InvalidParameter) as refusal:
        CWClassifier(constraint="deviation").fit(X, Y)
    assert str(refusal.value) == (
        "CWClassifier: constraint must be 'stdev' or 'variance', got 'deviation'"
    )
    with pytest.raises(InvalidParameter, match="variant must be 0 or 1 or 2, got 3"):
        PAClassifier(variant=3).fit(X, Y)


def test_partial_fit_says_what_it_cannot_do():
    with pytest.raises(InvalidParameter, match="partial_fit cannot hold examples back"):
        AROWClassifier(early_stopping=True).partial_fit(X, Y)
    with pytest.raises(InvalidParameter, match="give class_weight as a dictionary"):
        AROWClassifier(class_weight="balanced").partial_fit(X, Y)


def test_what_a_model_is_made_of_cannot_change_while_it_learns():
    model = AROWClassifier().fit(X, Y).set_params(covariance="full")
    with pytest.raises(InvalidParameter, match=r"covariance.*diagonal-kl.*full"):
        model.partial_fit(X, Y)
    model.set_params(covariance="diagonal-kl", r=0.5).partial_fit(X, Y)  # a number may


def test_labels_that_cannot_be_learned():
    with pytest.raises(ValueError, match=r"two classes; y holds one class only.*use partial_fit"):
        AROWClassifier().fit(X, [1, 1])
    with pytest.raises(ValueError, match="Unknown label type"):
        AROWClassifier().fit(X, [0.5, 1.5])
    with pytest.raises(DataError, match="labels were numbers before and are text now"):
        AROWClassifier().fit(X, Y).partial_fit(X, ["a", "b"])
    with pytest.raises(DataError, match="no example has a weight above 0"):
        AROWClassifier(class_weight={0: 0.0, 1: 0.0}).fit(X, Y)
    with pytest.raises(ValueError, match="at least one non-zero number"):
        AROWClassifier().fit(X, Y, sample_weight=[0.0, 0.0])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_none(value):
    with pytest.raises(ValueError, match="Input X contains"):
        AROWClassifier().fit([[0.0, value], [1.0, 0.0]], Y)
    model = AROWClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="Input X contains"):
        model.predict([[0.0, value]])
    with pytest.raises(ValueError, match="Input sample_weight contains"):
        AROWClassifier().fit(X, Y, sample_weight=[1.0, value])


def test_shapes_that_do_not_fit():
    model = AROWClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="X has 3 features, but AROWClassifier is expecting 2"):
        model.predict([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        AROWClassifier().fit(X, [0, 1, 1])
    with pytest.raises(NotFittedError):
        AROWClassifier().predict(X)
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        AROWClassifier().fit(X, Y, sample_weight=[1.0, -1.0])


def test_damaged_sparse_matrices_are_refused():
    damaged = scipy.sparse.csr_array(np.eye(2))
    damaged.indices[1] = 7
    with pytest.raises(DataError, match="column numbers run from 0 to 7, but it has 2 columns"):
        AROWClassifier().fit(damaged, Y)
    wide = scipy.sparse.csr_array((1, 2**31), dtype=np.float32)
    with pytest.raises(DataError, match="numbers them up to"):
        AROWClassifier().partial_fit(wide, [1])


def test_learners_without_variances_say_so():
    model = PerceptronClassifier().fit(X, Y)
    for name in ("predict_proba", "decision_distribution", "variance_", "covariance_"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="PerceptronClassifier keeps no variances"):
        _ = model.variance_
    with pytest.raises(AttributeError, match="only with covariance='full'; see variance_"):
        _ = AROWClassifier().fit(X, Y).covariance_
    with pytest.raises(AttributeError, match="has no coef_ before it is fitted"):
        _ = AROWClassifier().coef_


def test_a_model_without_intercept_has_a_zero_one():
    model = AROWClassifier(fit_intercept=False).fit(*stream(0))
    assert model.intercept_.tolist() == [0.0]
    assert model.intercept_variance_.tolist() == [0.0]


def test_subclasses_find_their_rule():
    class MyAROW(AROWClassifier):
        """A user's own."""

    assert MyAROW(r=0.5).fit(X, Y).predict(X).tolist() == Y


def test_one_name_one_rule():
    with pytest.raises(InvalidParameter, match="no rule named 'arrow'; there are adagrad-comid, "):
        classifier_for("arrow")
    arow = rules()["arow"]
    assert register(arow) is arow
    with pytest.raises(InvalidParameter, match="two files register a rule named 'arow'"):
        register(Rule(module="elsewhere", name="arow", estimator="OtherClassifier"))


def test_intervals_read_like_mathematics():
    assert Parameter("r", 1.0, 0.0, np.inf, "").interval == "(0, inf)"
    assert Parameter("c", 0.9, 0.5, 1.0, "", closed="left").interval == "[0.5, 1)"
