"""AdaBoost by votes and by probabilities: the lecture's numbers, its theorems, and what the class promises."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification, make_moons
from sklearn.ensemble import AdaBoostClassifier as PeerAdaBoost
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier as OtherTree

from committee import (
    AdaBoostClassifier,
    DecisionStumpClassifier,
    DecisionTreeClassifier,
    ExtraTreeClassifier,
    SingleFeatureNB,
)
from committee.exceptions import CommitteeError
from committee.inspection import edge_bound, vc_bound
from tests.naive.adaboost import boost_discrete, boost_samme, measure_error

# Ten points and three stumps: Freund and Schapire's figure.
TOY_X = np.array([[1, 1.5], [2, 3.5], [4, 9], [5.5, 8], [7, 9.5], [3, 1], [5, 3], [6, 4.5], [9, 9.2], [9.5, 0.5]])
TOY_Y = np.array([1, 1, 1, 1, 1, -1, -1, -1, -1, -1])
TABLES = {
    "breast cancer": load_breast_cancer(return_X_y=True),
    "moons": make_moons(400, noise=0.3, random_state=0),
    "noise": make_classification(300, 10, flip_y=0.4, random_state=1),
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
}


def exact_stump(criterion="gini"):
    return DecisionStumpClassifier(criterion=criterion, exact=True)


def test_the_toy_example():
    model = AdaBoostClassifier(
        exact_stump("error"), n_estimators=3, algorithm="discrete", keep_sample_weights=True
    ).fit(TOY_X, TOY_Y)
    np.testing.assert_allclose(model.estimator_weights_, [0.42, 0.65, 0.92], atol=0.005)
    np.testing.assert_allclose(model.estimator_errors_, [0.30, 0.21, 0.14], atol=0.005)
    assert [stump.feature_ for stump in model.estimators_] == [0, 0, 1]
    weights = model.sample_weights_trace_
    np.testing.assert_allclose(weights[0], 0.1)
    np.testing.assert_allclose(weights[1], np.where(np.isin(np.arange(10), [2, 3, 4]), 1 / 6, 1 / 14))
    np.testing.assert_allclose(weights[2], [1 / 22] * 2 + [7 / 66] * 3 + [1 / 6] * 3 + [1 / 22] * 2)
    assert model.score(TOY_X, TOY_Y) == 1.0


@pytest.mark.parametrize("exact", [False, True])
def test_the_two_forms_are_one(exact):
    X, y = TABLES["breast cancer"]
    stump = DecisionStumpClassifier(criterion="error", exact=exact)
    discrete, samme = (
        AdaBoostClassifier(stump, n_estimators=60, algorithm=name, keep_sample_weights=True).fit(X, y)
        for name in ("discrete", "samme")
    )
    np.testing.assert_allclose(discrete.sample_weights_trace_, samme.sample_weights_trace_, rtol=1e-9)
    np.testing.assert_allclose(2 * discrete.estimator_weights_, samme.estimator_weights_, rtol=1e-9)
    # f, and its mean over the members in scikit-learn's scale.
    scale = samme.estimator_weights_.sum() / 4
    np.testing.assert_allclose(discrete.decision_function(X), scale * samme.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(discrete.predict_proba(X), samme.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(discrete.predict(X), samme.predict(X))
    np.testing.assert_allclose(discrete.exponential_loss_, samme.exponential_loss_, rtol=1e-9)


def test_rounds_are_those_of_the_blackboard():
    X, y = make_moons(60, noise=0.3, random_state=3)
    rounds = boost_discrete(X, y, 8)
    model = AdaBoostClassifier(exact_stump("error"), n_estimators=8, algorithm="discrete", keep_sample_weights=True)
    model.fit(X, y)
    for t, (weights, error, alpha, feature, threshold) in enumerate(rounds):
        np.testing.assert_allclose(model.sample_weights_trace_[t], weights, rtol=1e-9)
        np.testing.assert_allclose((model.estimator_errors_[t], model.estimator_weights_[t]), (error, alpha))
        assert model.estimators_[t].feature_ == feature
        np.testing.assert_allclose(model.estimators_[t].threshold_, threshold, rtol=1e-6)


def test_samme_is_that_of_the_blackboard():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 3))
    y = np.digitize(X.sum(axis=1) + rng.normal(size=70), [-1.0, 1.0])
    model = AdaBoostClassifier(exact_stump(), n_estimators=6, keep_sample_weights=True).fit(X, y)
    for t, (weights, error, alpha, feature, _) in enumerate(boost_samme(X, y, 6, 3)):
        np.testing.assert_allclose(model.sample_weights_trace_[t], weights, rtol=1e-9)
        np.testing.assert_allclose((model.estimator_errors_[t], model.estimator_weights_[t]), (error, alpha))
        assert model.estimators_[t].feature_ == feature


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("algorithm", ["discrete", "samme", "real", "samme.r"])
@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
def test_the_bound_holds_in_every_round(table, algorithm, learning_rate):
    X, y = TABLES[table]
    n_classes = len(np.unique(y))
    model = AdaBoostClassifier(n_estimators=60, algorithm=algorithm, learning_rate=learning_rate)
    if n_classes > 2 and algorithm in ("discrete", "real"):
        with pytest.raises(CommitteeError, match="is for two classes"):
            model.fit(X, y)
        return
    model.fit(X, y)
    errors = 1.0 - np.array(list(model.staged_score(X, y)))
    if n_classes > 2 and algorithm == "samme.r":
        with pytest.raises(CommitteeError, match="No bound"):
            model.training_error_bound()
        return
    bound = model.training_error_bound()
    assert (errors <= bound + 1e-12).all()
    if n_classes == 2:
        assert (np.diff(bound) <= 1e-12).all()
    if n_classes == 2 and algorithm in ("discrete", "samme") and learning_rate == 1.0:
        eps = model.estimator_errors_
        np.testing.assert_allclose(bound, np.cumprod(2 * np.sqrt(eps * (1 - eps))), rtol=1e-9)
        np.testing.assert_allclose(bound, np.cumprod(np.sqrt(1 - 4 * model.edges_**2)), rtol=1e-9)
        assert (bound <= np.exp(-2 * np.cumsum(model.edges_**2)) + 1e-12).all()
        assert bound[-1] <= edge_bound(model.edges_.min(), len(bound)) + 1e-12


@pytest.mark.parametrize("algorithm", ["discrete", "samme", "real", "samme.r"])
@pytest.mark.parametrize("table", ["moons", "iris"])
def test_the_loss_is_the_mean_exponential_loss(table, algorithm):
    X, y = TABLES[table]
    n_classes = len(np.unique(y))
    if n_classes > 2 and algorithm in ("discrete", "real"):
        return
    model = AdaBoostClassifier(n_estimators=30, algorithm=algorithm).fit(X, y)
    for loss, decision in zip(model.exponential_loss_, model._staged_scores(X), strict=True):
        own = decision[np.arange(len(y)), y]
        np.testing.assert_allclose(loss, np.exp(-own / (n_classes - 1)).mean(), rtol=1e-8)


@pytest.mark.parametrize("algorithm", ["discrete", "samme", "real", "samme.r"])
def test_the_minimiser_is_half_the_log_odds(algorithm):
    rng = np.random.default_rng(0)
    chances = np.array([0.1, 0.7, 0.3, 0.9, 0.5, 0.2])
    x = rng.integers(0, len(chances), 20_000)
    y = (rng.random(20_000) < chances[x]).astype(int)
    model = AdaBoostClassifier(n_estimators=400, algorithm=algorithm).fit(x[:, None].astype(float), y)
    grid = np.arange(len(chances))[:, None].astype(float)
    frequencies = np.array([y[x == k].mean() for k in range(len(chances))])
    log_odds = np.log(frequencies / (1 - frequencies))
    np.testing.assert_allclose(model._raw_decision(grid)[:, 1], 0.5 * log_odds, atol=0.03)
    if algorithm != "samme":  # which has scikit-learn's scale
        np.testing.assert_allclose(model.decision_function(grid), 0.5 * log_odds, atol=0.03)
    np.testing.assert_allclose(model.predict_proba(grid)[:, 1], chances, atol=0.03)


def test_probabilities_of_three_classes():
    rng = np.random.default_rng(1)
    chances = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2], [0.3, 0.4, 0.3]])
    x = rng.integers(0, 4, 40_000)
    y = (rng.random(40_000)[:, None] > chances[x].cumsum(axis=1)).sum(axis=1)
    model = AdaBoostClassifier(n_estimators=300, algorithm="samme.r").fit(x[:, None].astype(float), y)
    np.testing.assert_allclose(model.predict_proba(np.arange(4.0)[:, None]), chances, atol=0.03)


def test_real_is_samme_r_for_two_classes():
    X, y = TABLES["moons"]
    real, samme_r = (AdaBoostClassifier(n_estimators=40, algorithm=a).fit(X, y) for a in ("real", "samme.r"))
    np.testing.assert_allclose(real.decision_function(X), samme_r.decision_function(X), atol=1e-2)
    np.testing.assert_array_equal(real.predict(X), samme_r.predict(X))


@pytest.mark.parametrize("algorithm", ["discrete", "samme", "real", "samme.r"])
def test_stages_end_in_the_prediction_and_members_are_estimators(algorithm):
    X, y = TABLES["moons"]
    model = AdaBoostClassifier(n_estimators=15, algorithm=algorithm).fit(X, y)
    *_, last = model.staged_decision_function(X)
    np.testing.assert_allclose(last, model.decision_function(X), rtol=1e-12, atol=1e-12)
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))
    *_, last = model.staged_predict_proba(X)
    np.testing.assert_allclose(last, model.predict_proba(X), rtol=1e-9)
    assert list(model.staged_score(X, y))[-1] == model.score(X, y)
    assert len(model.estimators_) == len(model.estimator_weights_) == 15
    if algorithm in ("discrete", "samme"):
        votes = sum(
            np.where(m.predict(X) == 1, w, -w) for m, w in zip(model.estimators_, model.estimator_weights_, strict=True)
        )
        scale = 1.0 if algorithm == "discrete" else 2.0 / model.estimator_weights_.sum()
        np.testing.assert_allclose(model.decision_function(X), scale * votes, atol=1e-12)
        margins = model.margins(X, y)
        np.testing.assert_allclose(margins, np.where(y == 1, votes, -votes) / model.estimator_weights_.sum())
        *_, last = model.staged_margins(X, y)
        np.testing.assert_allclose(last, margins, atol=1e-12)
        assert np.abs(margins).max() <= 1.0


@pytest.mark.parametrize(
    "member",
    [
        DecisionTreeClassifier(max_depth=3),
        DecisionTreeClassifier(max_depth=1, min_samples_leaf=20),
        ExtraTreeClassifier(max_depth=4, random_state=0),
        LogisticRegression(),
        GaussianNB(),
        SingleFeatureNB(),
        SVC(C=0.5, kernel="linear"),
        Perceptron(),
    ],
    ids=lambda member: type(member).__name__,
)
def test_any_member_takes_weights(member):
    X, y = TABLES["breast cancer"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for algorithm in ("discrete", "samme", "samme.r"):
        model = AdaBoostClassifier(member, n_estimators=5, algorithm=algorithm, random_state=0)
        if algorithm == "samme.r" and not hasattr(member, "predict_proba"):
            with pytest.raises(CommitteeError, match="predict_proba"):
                model.fit(X, y)
            continue
        assert model.fit(X, y).score(X, y) > 0.9
        *_, last = model.staged_predict(X)
        np.testing.assert_array_equal(last, model.predict(X))


@pytest.mark.parametrize(
    "member",
    [None, DecisionTreeClassifier(max_depth=2), KNeighborsClassifier(1), Perceptron(), LogisticRegression()],
    ids=lambda member: type(member).__name__,
)
def test_any_member_takes_samples(member):
    X, y = TABLES["breast cancer"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = AdaBoostClassifier(member, n_estimators=5, method="resample", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))


def test_members_without_weights_are_named():
    with pytest.raises(CommitteeError, match=r"doesn't support sample_weight.*method='resample'"):
        AdaBoostClassifier(KNeighborsClassifier()).fit(*TABLES["moons"])


def test_a_member_worse_than_chance_is_turned_or_refused():
    class Contrary(GaussianNB):
        def predict(self, X):
            return 1 - super().predict(X)

    X, y = TABLES["breast cancer"]
    model = AdaBoostClassifier(Contrary(), n_estimators=5, algorithm="discrete").fit(X, y)
    assert (model.estimator_weights_ < 0).any()
    assert model.score(X, y) > 0.9
    assert (1.0 - np.array(list(model.staged_score(X, y))) <= model.training_error_bound() + 1e-12).all()
    with pytest.raises(CommitteeError, match="worse than random"):
        AdaBoostClassifier(Contrary(), n_estimators=5).fit(X, y)


def test_a_perfect_member_ends_it():
    X = np.arange(10.0)[:, None]
    for algorithm in ("discrete", "samme", "real", "samme.r"):
        model = AdaBoostClassifier(algorithm=algorithm).fit(X, X[:, 0] > 4)
        assert len(model.estimators_) == 1
        assert model.estimator_errors_[0] == 0.0
        assert model.score(X, X[:, 0] > 4) == 1.0


def test_samme_r_does_not_diverge():
    # Leaves that are pure would claim certainty, and the first mistake would take all the weight.
    X, y = make_classification(300, 5, n_informative=3, flip_y=0.2, random_state=0)
    for member in (None, DecisionTreeClassifier(max_depth=4)):
        model = AdaBoostClassifier(member, n_estimators=200, algorithm="samme.r").fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
        assert (np.diff(model.exponential_loss_) <= 1e-12).all()
        errors = 1.0 - np.array(list(model.staged_score(X, y)))
        assert errors[-1] <= errors[0]


def test_suspected_labels_are_the_wrong_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    turned = rng.choice(600, 30, replace=False)
    noisy = y.copy()
    noisy[turned] = 1 - noisy[turned]
    model = AdaBoostClassifier(n_estimators=100, keep_sample_weights=True).fit(X, noisy)
    suspects = model.suspected_labels(X, noisy, 30)
    assert np.isin(suspects, turned).mean() > 0.6
    final = AdaBoostClassifier(n_estimators=101, keep_sample_weights=True).fit(X, noisy).sample_weights_trace_[-1]
    np.testing.assert_allclose(final[suspects], np.sort(final)[::-1][:30], rtol=1e-9)
    with pytest.raises(CommitteeError, match="none of the classes"):
        model.suspected_labels(X, noisy + 1)


@pytest.mark.parametrize("member", [None, DecisionTreeClassifier(max_depth=3), OtherTree(max_depth=2)])
def test_early_stopping_keeps_the_best_round(member):
    X, y = make_classification(600, 8, flip_y=0.3, random_state=0)
    model = AdaBoostClassifier(member, n_estimators=300, n_iter_no_change=10, random_state=0).fit(X, y)
    scores = model.validation_scores_
    n = len(model.estimators_)
    assert n == scores.argmax() + 1 < 300
    assert len(scores) == n + 10
    assert len(model.estimator_weights_) == len(model.exponential_loss_) == n
    with pytest.raises(CommitteeError, match="so large that a row"):
        AdaBoostClassifier(n_iter_no_change=5, validation_fraction=1e-6).fit(X, y)


@pytest.mark.parametrize("member", [None, DecisionTreeClassifier(max_depth=2), OtherTree(max_depth=1)])
@pytest.mark.parametrize("algorithm", ["discrete", "samme", "samme.r"])
def test_warm_start_goes_on_where_it_was(member, algorithm):
    X, y = TABLES["noise"]
    whole = AdaBoostClassifier(member, n_estimators=12, algorithm=algorithm, random_state=0).fit(X, y)
    grown = AdaBoostClassifier(member, n_estimators=5, algorithm=algorithm, random_state=0, warm_start=True).fit(X, y)
    grown.set_params(n_estimators=12).fit(X, y)
    np.testing.assert_allclose(grown.estimator_weights_, whole.estimator_weights_, rtol=1e-6)
    np.testing.assert_allclose(grown.exponential_loss_, whole.exponential_loss_, rtol=1e-6)
    np.testing.assert_allclose(grown.decision_function(X), whole.decision_function(X), rtol=1e-6, atol=1e-9)
    with pytest.raises(CommitteeError, match="larger or equal"):
        grown.set_params(n_estimators=1).fit(X, y)
    with pytest.raises(CommitteeError, match="other features or classes"):
        grown.set_params(n_estimators=20).fit(X[:, :3], y)


def test_missing_values_categories_and_text_classes():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=500), "b": pd.Categorical(rng.choice(list("xyz"), 500))})
    y = np.where((frame["b"] == "y") | (frame["a"] > 1), "yes", "no")
    frame.loc[rng.random(500) < 0.1, "a"] = np.nan
    for exact in (False, True):
        for algorithm in ("discrete", "samme", "real", "samme.r"):
            model = AdaBoostClassifier(
                DecisionStumpClassifier(criterion="gini", exact=exact), n_estimators=20, algorithm=algorithm
            ).fit(frame, y)
            assert model.score(frame, y) > 0.95
            assert list(model.classes_) == ["no", "yes"]
            copy = pickle.loads(pickle.dumps(model))
            np.testing.assert_array_equal(copy.predict_proba(frame), model.predict_proba(frame))


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 12))
    y = (X[:, :4].sum(axis=1) + rng.normal(size=30_000) > 0).astype(int)
    for algorithm in ("samme", "real"):
        models = [AdaBoostClassifier(n_estimators=10, algorithm=algorithm, n_jobs=n).fit(X, y) for n in (1, 2, 4)]
        for model in models[1:]:
            np.testing.assert_array_equal(model.estimator_weights_, models[0].estimator_weights_)
            np.testing.assert_array_equal(model.decision_function(X), models[0].decision_function(X))


def test_importances_and_bounds():
    X, y = TABLES["breast cancer"]
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    importances = model.feature_importances_
    np.testing.assert_allclose(importances.sum(), 1.0)
    expected = np.zeros(X.shape[1])
    for stump, weight in zip(model.estimators_, model.estimator_weights_, strict=True):
        expected[stump.tree_.feature[0]] += weight
    np.testing.assert_allclose(importances, expected / expected.sum())
    with pytest.raises(AttributeError, match="feature_importances_"):
        AdaBoostClassifier(GaussianNB(), n_estimators=3).fit(X, y).feature_importances_  # noqa: B018
    assert vc_bound(10, 2) < vc_bound(11, 2) < vc_bound(11, 3)
    with pytest.raises(CommitteeError):
        vc_bound(0, 2)
    with pytest.raises(CommitteeError):
        edge_bound(0.7, 2)


def test_lecture_stumps_err_least():
    X, y = make_moons(80, noise=0.3, random_state=5)
    model = AdaBoostClassifier(exact_stump("error"), n_estimators=1, algorithm="discrete").fit(X, y)
    assert abs(model.estimator_errors_[0] - boost_discrete(X, y, 1, measure_error)[0][1]) < 1e-12


def test_scikit_learns_spelling_of_the_algorithms():
    X, y = load_iris(return_X_y=True)
    for spelling in ("SAMME", "SAMME.R"):
        ours = AdaBoostClassifier(n_estimators=5, algorithm=spelling.lower()).fit(X, y)
        model = AdaBoostClassifier(n_estimators=5, algorithm=spelling).fit(X, y)
        assert model.get_params()["algorithm"] == spelling
        np.testing.assert_array_equal(model.decision_function(X), ours.decision_function(X))


@pytest.mark.parametrize("algorithm", ["samme", "discrete"])
def test_weights_that_overflow_end_the_rounds(algorithm):
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=30, learning_rate=2000.0, algorithm=algorithm)
    with pytest.warns(UserWarning, match="Sample weights have reached infinite values"):
        model.fit(X, y if algorithm == "samme" else y == 1)
    assert 1 <= len(model) < 30


def test_default_member_is_a_tree_with_one_split():
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=4).fit(X, y)
    assert type(model.estimator_) is DecisionTreeClassifier
    assert len({member.random_state for member in model}) == 4
    stumps = AdaBoostClassifier(DecisionStumpClassifier(criterion="gini", exact=False), n_estimators=4).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), stumps.decision_function(X))


def test_labels_that_mix_text_and_integers_are_text():
    X = [[0.0], [1.0], [2.0], [3.0]]
    with pytest.warns(UserWarning, match="y mixes text and integers"):
        model = AdaBoostClassifier(n_estimators=2).fit(X, ["a", "a", 1, 1])
    assert model.classes_.tolist() == ["1", "a"]


@pytest.mark.parametrize("seed", range(12))
def test_classes_of_equal_scores_stay_equal_with_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, size=(60, 4)).astype(float), rng.integers(0, 3, size=60)
    weights = rng.integers(1, 4, size=60)
    copies = np.repeat(np.arange(60), weights)
    for algorithm in ("samme.r", "samme"):
        model = AdaBoostClassifier(algorithm=algorithm, n_estimators=10, random_state=0)
        weighted = model.fit(X, y, sample_weight=weights).predict(X)
        np.testing.assert_array_equal(weighted, model.fit(X[copies], y[copies]).predict(X))


def test_a_member_that_errs_by_chance_up_to_rounding_ends_the_rounds() -> None:
    rng = np.random.default_rng(147)
    for seed in range(20):
        X, y = rng.normal(size=(30, 2)), rng.integers(0, 2, size=30)
        model = AdaBoostClassifier(n_estimators=30, method="resample", random_state=seed).fit(X, y)
        assert (model.estimator_errors_ < 0.5 - 1e-12).all()


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("member", [None, LogisticRegression()], ids=["trees", "foreign"])
def test_samme_decides_in_the_scale_of_scikit_learn(n_classes, member):
    X, y = make_classification(300, n_informative=6, n_redundant=0, n_classes=n_classes, flip_y=0.2, random_state=3)
    model = AdaBoostClassifier(member, n_estimators=6, learning_rate=0.7).fit(X, y)
    peer = PeerAdaBoost().fit(X, y)  # decides over the members of ours
    peer.estimators_, peer.estimator_weights_ = list(model.estimators_), model.estimator_weights_
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), rtol=0, atol=1e-14)
    for mine, theirs in zip(model.staged_decision_function(X), peer.staged_decision_function(X), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-14)
    found = to_proba(model, model.decision_function(X), n_classes)
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-9)
    np.testing.assert_allclose(model.predictor().decision_function(X), model.decision_function(X), rtol=0, atol=1e-14)
    weights = model.boosting_weights(X, y)
    assert weights.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(np.argsort(-weights, kind="stable")[:1], model.suspected_labels(X, y, 1))


def to_proba(model, decision, n_classes):
    """Probabilities from the mean of the members' decisions and the sum of their weights."""
    total = model.estimator_weights_.sum()
    if n_classes == 2:
        return np.stack([expit(-decision * total / 2), expit(decision * total / 2)], axis=1)
    return softmax(decision * total * (n_classes - 1) / n_classes, axis=1)
