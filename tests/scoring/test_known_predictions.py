"""Estimators that hold known predictions look to a scorer like the model that made them."""

import numpy as np
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer

from committee.exceptions import DataError, ParameterError
from committee.scoring import (
    KnownClasses,
    KnownDecision,
    KnownProbabilities,
    KnownValues,
    Scorer,
    choose_score,
    wrap_predictions,
)

_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(80, 3))
_VALUES = _X @ [1.0, -2.0, 0.5] + _RNG.normal(size=80)
_LABELS = np.array(["no", "yes"])[(_VALUES > 0).astype(int)]


@pytest.mark.parametrize("name", ["roc_auc", "neg_log_loss", "accuracy", "f1_macro"])
def test_scorers_see_a_classifier(name):
    model = LogisticRegression().fit(_X, _LABELS)
    known = KnownDecision(model.classes_, model.predict_proba(_X), model.decision_function(_X)[:, None])
    assert is_classifier(known)
    assert Scorer(name).score_known(known, _LABELS) == get_scorer(name)(model, _X, _LABELS)


@pytest.mark.parametrize("name", ["r2", "neg_mean_absolute_error"])
def test_scorers_see_a_regressor(name):
    model = Ridge().fit(_X, _VALUES)
    known = KnownValues(model.predict(_X)[:, None])
    assert is_regressor(known)
    assert Scorer(name).score_known(known, _VALUES) == get_scorer(name)(model, _X, _VALUES)


def test_methods_are_there_only_if_known():
    classes = np.array([0, 1])
    assert not hasattr(wrap_predictions(classes, np.array([0, 1])), "predict_proba")
    assert not hasattr(wrap_predictions(classes, None, np.eye(2)), "decision_function")
    with pytest.raises(DataError, match="cannot score such predictions"):
        Scorer("roc_auc").score_known(KnownClasses(classes, np.array([0, 1])), np.array([0, 1]))


def test_predictions_need_not_be_the_most_probable_classes():
    known = wrap_predictions(np.array([0, 1]), np.array([1, 1]), np.array([[0.6, 0.4], [0.2, 0.8]]))
    assert known.predict(known.rows).tolist() == [1, 1]
    ties = KnownProbabilities(np.array([0, 1]), np.array([[0.4, 0.6], [0.5, 0.5]]))
    assert ties.predict(slice(None)).tolist() == [1, 0]


def test_several_outputs():
    probabilities = [np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])]
    known = KnownProbabilities([np.arange(2), np.arange(3)], probabilities, np.array([[0, 1], [1, 2]]))
    assert known.predict(np.array([1])).tolist() == [[1, 2]]
    assert [own.tolist() for own in known.predict_proba(np.array([1]))] == [[[0.4, 0.6]], [[0.1, 0.1, 0.8]]]
    assert KnownValues(np.zeros((4, 2))).predict(slice(3)).shape == (3, 2)


def test_weights_count():
    weights = _RNG.uniform(size=80)
    model = Ridge().fit(_X, _VALUES)
    known = KnownValues(model.predict(_X))
    expected = model.score(_X, _VALUES, sample_weight=weights)
    assert Scorer(None).score_known(known, _VALUES, weights) == pytest.approx(expected, abs=1e-12)
    assert choose_score(model, None, _VALUES, weights)(model, _X) == pytest.approx(expected, abs=1e-12)


def test_default_score_is_accuracy():
    model = LogisticRegression().fit(_X, _LABELS)
    assert choose_score(model, None, _LABELS, None)(model, _X) == model.score(_X, _LABELS)


def test_an_unknown_name_is_refused():
    with pytest.raises(ParameterError, match=r"'oob_score' parameter must be True or a name in .*; got 'auc'"):
        Scorer("auc", parameter="oob_score", alternatives="True or ")


def test_a_constant_target_has_no_r2():
    with pytest.raises(DataError, match="not constant"):
        choose_score(Ridge(), None, np.ones(5), None)
