"""Pictures of studies: calibration, bias and variance, diversity, juries, out-of-bag scores, learning curves."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from committee import (
    BaggingClassifier,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    estimate_bias_variance,
    measure_bag_variance,
    measure_diversity,
)
from committee.exceptions import DataError, ParameterError
from committee.plots import (
    BagVarianceDisplay,
    BiasVarianceDisplay,
    CalibrationDisplay,
    JuryDisplay,
    KappaErrorDisplay,
    LearningCurveDisplay,
    OutOfBagDisplay,
)

X, Y = make_classification(300, n_informative=4, random_state=0)


def test_calibration_is_that_of_scikit_learn():
    model = GaussianNB().fit(X[:150], Y[:150])
    said = model.predict_proba(X[150:])[:, 1]
    for strategy in ("uniform", "quantile"):
        shown = CalibrationDisplay.from_estimator(model, X[150:], Y[150:], n_bins=7, strategy=strategy)
        observed, predicted = calibration_curve(Y[150:], said, n_bins=7, strategy=strategy)
        (curve,) = shown.curves
        if strategy == "uniform":
            np.testing.assert_allclose(curve.observed, observed)
            np.testing.assert_allclose(curve.predicted, predicted)
        assert (curve.low <= curve.observed).all()
        assert (curve.observed <= curve.high).all()
        np.testing.assert_allclose(shown.lines_[0].lines[0].get_ydata(), curve.observed)
    assert curve.brier == pytest.approx(((said - Y[150:]) ** 2).mean())


def test_wilson_intervals_are_those_of_the_book():
    # 8 of 10: 0.49 to 0.94.
    shown = CalibrationDisplay.from_predictions([1] * 8 + [0] * 2, [0.8] * 10)
    (curve,) = shown.curves
    np.testing.assert_allclose([curve.low[0], curve.high[0]], [0.490, 0.943], atol=2e-3)


def test_what_calibration_refuses():
    iris = load_iris(return_X_y=True)
    model = GaussianNB().fit(*iris)
    with pytest.raises(ParameterError, match="'pos_label' must be given"):
        CalibrationDisplay.from_estimator(model, *iris)
    with pytest.raises(ParameterError, match="none of the classes"):
        CalibrationDisplay.from_estimator(model, *iris, pos_label="rose")
    with pytest.raises(ParameterError, match="has no predict_proba"):
        CalibrationDisplay.from_estimator(SVC().fit(*iris), *iris, pos_label=1)
    with pytest.raises(DataError, match=r"numbers in \[0, 1\]"):
        CalibrationDisplay.from_predictions([0, 1], [0.5, 1.5])
    with pytest.raises(DataError, match="and another class"):
        CalibrationDisplay.from_predictions([1, 1], [0.5, 0.5])
    with pytest.raises(DataError, match="a probability for each"):
        CalibrationDisplay.from_predictions([0, 1], [0.5])
    with pytest.raises(ParameterError, match="'n_bins'"):
        CalibrationDisplay.from_predictions([0, 1], [0.5, 0.5], n_bins=1)
    with pytest.raises(ParameterError, match="'strategy'"):
        CalibrationDisplay.from_predictions([0, 1], [0.5, 0.5], strategy="even")


def test_bars_of_bias_and_variance():
    table, y = make_friedman1(60, random_state=0)
    options = {"n_rounds": 25, "random_state": 0}
    shown = BiasVarianceDisplay.from_estimators({"tree": DecisionTreeRegressor(max_depth=2)}, table, y, **options)
    wanted = estimate_bias_variance(DecisionTreeRegressor(max_depth=2), table, y, **options)
    assert shown.bias_[0].get_height() == pytest.approx(wanted.mean_squared_bias)
    assert shown.variance_[0].get_height() == pytest.approx(wanted.mean_variance)
    assert shown.variance_[0].get_y() == pytest.approx(wanted.mean_squared_bias)
    with pytest.raises(ParameterError, match="dict from names"):
        BiasVarianceDisplay.from_estimators([DecisionTreeRegressor()], table, y)
    found = measure_bag_variance(DecisionTreeRegressor(), table, y, sizes=(1, 2, 8), n_repeats=6, random_state=0)
    lines = BagVarianceDisplay(found).plot().lines_
    for name in ("ideal", "independent", "bagged"):
        np.testing.assert_array_equal(lines[name].get_ydata(), getattr(found, name))
    assert lines["floor"].get_ydata()[0] == pytest.approx(found.correlation * found.bagged[0])


def test_points_of_pairs():
    bag = BaggingClassifier(n_estimators=5, random_state=0).fit(X[:150], Y[:150])
    shown = KappaErrorDisplay.from_estimator({"bag": bag, "again": bag}, X[150:], Y[150:])
    kappa, error = measure_diversity(bag, X[150:], Y[150:]).kappa_error()
    np.testing.assert_allclose(shown.clouds_[0].get_offsets(), np.stack([kappa, error], axis=1))
    vote = VotingClassifier([("bayes", GaussianNB()), ("forest", RandomForestClassifier(n_estimators=5))]).fit(X, Y)
    named = KappaErrorDisplay.from_diversity(measure_diversity(vote, X, Y))
    assert "bayes + forest" in [text.get_text() for text in named.ax_.texts]
    with pytest.raises(DataError, match="about classes"):
        KappaErrorDisplay.from_diversity(measure_diversity({"a": [0.5, 1.5], "b": [1.0, 2.0]}, None, [0.25, 1.0]))
    with pytest.raises(ParameterError, match="at least one ensemble"):
        KappaErrorDisplay.from_diversity({})


def test_juries_and_traces():
    shown = JuryDisplay.from_correlations(0.6, (0.0, 0.3), sizes=(1, 5, 25), random_state=0)
    for line, curve in zip(shown.lines_, shown.curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), curve.exact)
    forest = RandomForestClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, Y)
    trace = OutOfBagDisplay.from_estimator({"forest": forest}, published=0.9)
    assert trace.lines_[0].get_ydata()[-1] == forest.oob_score_
    assert trace.published_[0].get_ydata()[0] == 0.9
    assert trace.measure == "out-of-bag accuracy"
    stochastic = GradientBoostingClassifier(n_estimators=8, subsample=0.5, random_state=0).fit(X, Y)
    losses = OutOfBagDisplay.from_estimator(stochastic)
    np.testing.assert_array_equal(losses.lines_[0].get_ydata(), stochastic.oob_scores_)
    assert losses.measure == "out-of-bag loss"
    with pytest.raises(ParameterError, match="oob_score=True"):
        OutOfBagDisplay.from_estimator(RandomForestRegressor(n_estimators=3).fit(X, X[:, 0]))


def test_learning_curves_grow_with_the_rows():
    shown = LearningCurveDisplay.from_estimator(
        GaussianNB(), X, Y, train_sizes=(40, 160), cv=3, scoring="neg_log_loss", random_state=0
    )
    assert shown.measure == "neg log loss"
    np.testing.assert_array_equal(shown.lines_[0].get_xdata(), [40, 160])
    assert set(shown.spreads) == {"training", "validation"}
    assert len(shown.ax_.collections) == 2
