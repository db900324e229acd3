"""Stacking: scikit-learn's predictions for the same members and folds, and further options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn.ensemble
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_multilabel_classification
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, StratifiedKFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier as TheirTree
from sklearn.tree import DecisionTreeRegressor as TheirValueTree

import committee.data.binning
from committee import (
    BaggingClassifier,
    DecisionTreeClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
)
from committee.ensembles.combining.oob_correction import correct_oob_columns, estimate_oob_noise
from committee.exceptions import CommitteeError

IRIS = load_iris(return_X_y=True)
CANCER = tuple(part[:240] for part in load_breast_cancer(return_X_y=True))
DIABETES = load_diabetes(return_X_y=True)
MEMBERS = [
    ("nb", GaussianNB()),
    ("knn", KNeighborsClassifier(7)),
    ("tree", TheirTree(max_depth=3, random_state=0)),
]
VALUES = [
    ("ols", LinearRegression()),
    ("knn", KNeighborsRegressor(5)),
    ("tree", TheirValueTree(max_depth=3, random_state=0)),
]


def assert_equal_stacks(ours: Any, theirs: Any, X: Any) -> None:
    for method in ("transform", "predict_proba", "decision_function"):
        assert hasattr(ours, method) == hasattr(theirs, method)
        if hasattr(theirs, method):
            found, expected = (getattr(stack, method)(X) for stack in (ours, theirs))
            if sparse.issparse(expected):
                found, expected = found.toarray(), expected.toarray()
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10, err_msg=method)
    if np.asarray(theirs.predict(X)).dtype.kind == "f":
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-10)
    else:
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    assert ours.stack_method_ == theirs.stack_method_


@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["three classes", "two classes"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"cv": 3, "passthrough": True},
        {"cv": StratifiedKFold(4, shuffle=True, random_state=1), "stack_method": "predict_proba"},
        {"cv": KFold(3, shuffle=True, random_state=0), "stack_method": "predict"},
        {"final_estimator": TheirTree(max_depth=4, random_state=1)},
        {"final_estimator": GaussianNB(), "cv": 2},
    ],
    ids=str,
)
def test_classes_as_scikit_learn(data: Any, params: dict[str, Any]) -> None:
    X, y = data
    labels = np.array(["a", "b", "c"])[y]
    ours = StackingClassifier(MEMBERS, **params).fit(X, labels)
    theirs = sklearn.ensemble.StackingClassifier(MEMBERS, **params).fit(X, labels)
    assert_equal_stacks(ours, theirs, X)


def test_decisions_and_dropped_members_as_scikit_learn() -> None:
    X, y = IRIS
    members = [("svc", LinearSVC(random_state=0, max_iter=10_000)), *MEMBERS]
    for data in ((X, y), (X[y < 2], y[y < 2])):
        ours, theirs = (
            room.StackingClassifier(members).set_params(knn="drop").fit(*data) for room in (committee, sklearn.ensemble)
        )
        assert ours.stack_method_ == ["decision_function", "predict_proba", "predict_proba"]
        assert_equal_stacks(ours, theirs, X)


def test_weights_as_scikit_learn() -> None:
    X, y = CANCER
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    members = [MEMBERS[0], MEMBERS[2]]
    ours = StackingClassifier(members).fit(X, y, sample_weight=weights)
    theirs = sklearn.ensemble.StackingClassifier(members).fit(X, y, sample_weight=weights)
    assert_equal_stacks(ours, theirs, X)


def test_sparse_tables_as_scikit_learn() -> None:
    X, y = CANCER
    table = sparse.csr_matrix(np.where(np.median(X, axis=0) < X, 1.0, 0.0))
    members = [("lr", LogisticRegression()), ("tree", TheirTree(max_depth=3, random_state=0))]
    ours, theirs = (
        room.StackingClassifier(members, passthrough=True).fit(table, y) for room in (committee, sklearn.ensemble)
    )
    assert sparse.issparse(ours.transform(table))
    assert_equal_stacks(ours, theirs, table)


@pytest.mark.parametrize(
    "params",
    [{}, {"cv": 3, "passthrough": True}, {"final_estimator": Ridge(2.0), "cv": KFold(4, shuffle=True, random_state=0)}],
    ids=str,
)
def test_values_as_scikit_learn(params: dict[str, Any]) -> None:
    X, y = DIABETES
    ours = StackingRegressor(VALUES, **params).fit(X, y)
    theirs = sklearn.ensemble.StackingRegressor(VALUES, **params).fit(X, y)
    assert_equal_stacks(ours, theirs, X)


def test_fitted_members_as_scikit_learn() -> None:
    X, y = CANCER
    fitted = [
        (name, member.fit(X[:120], y[:120])) for name, member in [("nb", GaussianNB()), ("t", TheirTree(max_depth=3))]
    ]
    ours, theirs = (
        room.StackingClassifier(fitted, cv="prefit").fit(X[120:], y[120:]) for room in (committee, sklearn.ensemble)
    )
    assert ours.estimators_[0] is fitted[0][1]
    assert_equal_stacks(ours, theirs, X)
    text = np.array(["malignant", "benign"])
    named = [(name, member.fit(X[:120], text[y[:120]])) for name, member in fitted]
    stack = StackingClassifier(named, cv="prefit", stack_method="predict").fit(X[120:], text[y[120:]])
    assert stack.score(X, text[y]) > 0.8


def test_multilabel_as_scikit_learn() -> None:
    X, y = make_multilabel_classification(150, n_classes=3, random_state=0)
    members = [("knn", KNeighborsClassifier()), ("tree", TheirTree(max_depth=3, random_state=0))]
    final = KNeighborsClassifier(9)
    ours = StackingClassifier(members, final).fit(X, y)
    theirs = sklearn.ensemble.StackingClassifier(members, final).fit(X, y)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    # scikit-learn gives the probability of the first class of each label.
    np.testing.assert_allclose(np.stack(ours.predict_proba(X))[:, :, 0].T, theirs.predict_proba(X))
    assert StackingClassifier([*members, ("nb", GaussianNB())]).fit(X, y).predict(X).shape == y.shape


def test_several_outputs_of_values() -> None:
    X, y = DIABETES
    both = np.column_stack([y, X[:, 0] * 100])
    stack = StackingRegressor(VALUES).fit(X[:, 1:], both)
    assert stack.predict(X[:, 1:]).shape == both.shape
    assert stack.transform(X[:, 1:]).shape == (len(y), 6)
    stack = StackingRegressor(VALUES, "nonnegative").fit(X[:, 1:], both)
    assert stack.score(X[:, 1:], both) > 0.1


def test_members_predict_only_rows_that_they_were_not_fitted_on() -> None:
    X, y = DIABETES
    table, rows = StackingRegressor([("copy", KNeighborsRegressor(1))])._fit_stack(X, y, None, None, {})
    folds = KFold(5).split(X)
    expected = np.concatenate([KNeighborsRegressor(1).fit(X[a], y[a]).predict(X[b]) for a, b in folds])
    np.testing.assert_array_equal(table.X[:, 0], expected)
    assert len(rows) == len(y)


def test_rows_without_out_of_fold_predictions_are_left_out() -> None:
    X, y = DIABETES
    folds = TimeSeriesSplit(4)
    stack = StackingRegressor(VALUES, LinearRegression(), cv=folds).fit(X, y)
    parts = [(b, np.column_stack([m.fit(X[a], y[a]).predict(X[b]) for _, m in VALUES])) for a, b in folds.split(X)]
    rows, table = np.concatenate([p[0] for p in parts]), np.vstack([p[1] for p in parts])
    assert stack.n_meta_rows_ == len(rows) < len(X)
    np.testing.assert_allclose(stack.final_estimator_.coef_, LinearRegression().fit(table, y[rows]).coef_)
    assert stack.named_estimators_.knn.n_samples_fit_ == len(X)
    layered = StackingRegressor(VALUES, cv=folds, layers=[VALUES[:2]]).fit(X, y)
    assert layered.n_meta_rows_ < stack.n_meta_rows_


def test_rows_that_several_folds_leave_out_get_the_mean() -> None:
    X, y = DIABETES
    folds = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    training, _ = StackingRegressor([("ols", LinearRegression())], cv=folds)._fit_stack(X, y, None, None, {})
    total = np.zeros(len(y))
    for a, b in folds.split(X):
        total[b] += LinearRegression().fit(X[a], y[a]).predict(X[b])
    np.testing.assert_allclose(training.X[:, 0], total / 2)


def test_groups_stay_together() -> None:
    rng = np.random.default_rng(0)
    people = rng.permutation(np.repeat(np.arange(50), 6))
    X = np.column_stack([people, rng.normal(size=300)])
    y = rng.integers(0, 2, size=50)[people]
    copy = [("copy", KNeighborsClassifier(1))]
    apart = StackingClassifier(copy).fit(X, y, groups=people)
    explicit = StackingClassifier(copy, cv=GroupKFold(5)).fit(X, y, groups=people)
    leaky = StackingClassifier(copy).fit(X, y)
    assert leaky.final_estimator_.coef_[0, 0] > 3.0
    assert abs(apart.final_estimator_.coef_[0, 0]) < 1.0
    assert abs(explicit.final_estimator_.coef_[0, 0]) < 1.0
    forest = [("forest", RandomForestClassifier(30, bootstrap="group", random_state=0))]
    assert abs(StackingClassifier(forest, cv="oob").fit(X, y, groups=people).final_estimator_.coef_[0, 0]) < 2.0
    assert StackingClassifier(forest).fit(X, y, groups=people).n_meta_rows_ == 300
    with pytest.raises(CommitteeError, match="set bootstrap='group'"):
        StackingClassifier([("f", RandomForestClassifier(30))], cv="oob").fit(X, y, groups=people)
    with pytest.raises(CommitteeError, match="pass groups to fit"):
        StackingClassifier(forest).fit(X, y)


def count_calls(monkeypatch: pytest.MonkeyPatch, room: Any, name: str) -> list[int]:
    calls: list[int] = []
    original = getattr(room, name)

    def count(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return original(*args, **kwargs)

    monkeypatch.setattr(room, name, count)
    return calls


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_trees_and_forests_share_one_set_of_bins(monkeypatch: pytest.MonkeyPatch, n_jobs: int | None) -> None:
    X, y = CANCER
    members = [
        ("forest", RandomForestClassifier(5, random_state=0, class_weight="balanced")),
        ("extra", ExtraTreesClassifier(5, random_state=0)),
        ("tree", DecisionTreeClassifier(random_state=0, class_weight={0: 1.0, 1: 2.0})),
    ]
    binned = count_calls(monkeypatch, committee.data.binning, "bin_columns")
    stack = StackingClassifier(members, n_jobs=n_jobs).fit(X, y)
    assert len(binned) == 1
    # On all rows a member is what it is alone.
    for name, member in members:
        alone = member.fit(X, y)
        np.testing.assert_array_equal(stack.named_estimators_[name].predict_proba(X), alone.predict_proba(X))


def test_a_subclass_is_fitted_in_its_own_way() -> None:
    fits = []

    class Own(DecisionTreeClassifier):
        def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Any:
            fits.append(len(X))
            return super().fit(X, y, sample_weight)

    StackingClassifier([("own", Own())], cv=3).fit(*IRIS)
    assert fits == [100, 100, 100, 150]


def test_a_fold_is_a_fit_on_its_rows() -> None:
    # Whole numbers have the same bins in every fold, so that shared bins are those of the rows alone.
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(300, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] * (X[:, 2] > 2) + rng.normal(size=300) > 5).astype(int)
    for member in (
        RandomForestClassifier(10, random_state=0),
        RandomForestClassifier(10, random_state=0, class_weight="balanced", bootstrap="balanced"),
        RandomForestClassifier(10, random_state=0, class_weight="balanced_subsample"),
        ExtraTreesClassifier(10, random_state=0, class_weight={0: 1, 1: 3}),
        DecisionTreeClassifier(random_state=0, min_weight_fraction_leaf=0.02),
    ):
        training, _ = StackingClassifier([("m", member)], cv=3)._fit_stack(X, y, None, None, {})
        expected = np.zeros(len(y))
        for a, b in StratifiedKFold(3).split(X, y):
            expected[b] = member.fit(X[a], y[a]).predict_proba(X[b])[:, 1]
        np.testing.assert_allclose(training.X[:, 0], expected, atol=1e-12)


def test_out_of_bag_predictions_take_one_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = CANCER
    members = [
        ("forest", RandomForestClassifier(60, random_state=0)),
        ("bag", BaggingClassifier(n_estimators=60, random_state=0)),
    ]
    grown = count_calls(monkeypatch, committee._core, "grow_forest")
    training, rows = StackingClassifier(members, cv="oob")._fit_stack(X, y, None, None, {})
    assert len(grown) == 2
    bags = [clone(member).set_params(oob_score=True).fit(X, y) for _, member in members]
    predicted = np.column_stack([bag.oob_decision_function_[rows, 1] for bag in bags])
    noise = [estimate_oob_noise(bag, X, len(X), "predict_proba", [np.arange(2)]) for bag in bags]
    expected = correct_oob_columns(
        predicted, np.diag([own[0, 0] for own, _ in noise]), min(fraction for _, fraction in noise)
    )
    np.testing.assert_allclose(training.X, np.clip(expected, 0.0, 1.0), atol=1e-12)
    stack = StackingClassifier([*members, ("nb", GaussianNB())], cv="oob").fit(X, y)
    assert not members[0][1].oob_score
    assert stack.named_estimators_.forest.oob_score_ > 0.9
    theirs = StackingClassifier([("nb", GaussianNB())])._fit_stack(X, y, None, None, {})[0]
    found, rows = StackingClassifier([members[0], ("nb", GaussianNB())], cv="oob")._fit_stack(X, y, None, None, {})
    np.testing.assert_allclose(found.X[:, 1], theirs.X[rows, 0], atol=1e-12)


def test_out_of_bag_predictions_of_values_and_of_several_outputs() -> None:
    X, y = DIABETES
    forest = RandomForestRegressor(50, random_state=0)
    training, rows = StackingRegressor([("f", forest)], cv="oob")._fit_stack(X, y, None, None, {})
    predicted = forest.set_params(oob_score=True).fit(X, y).oob_prediction_[rows, None]
    noise, fraction = estimate_oob_noise(forest, X, len(X))
    np.testing.assert_allclose(training.X, correct_oob_columns(predicted, noise, fraction))
    assert 0.7 < training.X.std() / predicted.std() < 0.99
    labels = np.column_stack([IRIS[1], IRIS[1] > 0])
    classes = RandomForestClassifier(50, random_state=0)
    for method in ("predict_proba", "predict"):
        stack = StackingClassifier([("f", classes)], classes, cv="oob", stack_method=method).fit(IRIS[0], labels)
        assert stack.transform(IRIS[0]).shape == (150, 3 if method == "predict_proba" else 2)
        assert (stack.predict(IRIS[0]) == labels).mean() > 0.9
    few, known = StackingClassifier([("f", RandomForestClassifier(2, random_state=0))], cv="oob")._fit_stack(
        *IRIS, None, None, {}
    )
    assert len(known) < 150
    assert np.isfinite(few.X).all()


def test_fold_models_can_stay() -> None:
    X, y = IRIS
    folds = StratifiedKFold(3)
    for members, method in (
        (MEMBERS, "predict_proba"),
        (MEMBERS, "predict"),
        ([("svc", LinearSVC(random_state=0))], "auto"),
    ):
        stack = StackingClassifier(members, cv=folds, refit=False, stack_method=method).fit(X, y)
        refitted = StackingClassifier(members, cv=folds, stack_method=method).fit(X, y)
        assert [len(member.models) for member in stack.estimators_] == [3] * len(members)
        np.testing.assert_array_equal(stack.final_estimator_.coef_, refitted.final_estimator_.coef_)
        assert stack.score(X, y) > 0.9
    stack = StackingClassifier(MEMBERS, cv=folds, refit=False).fit(X, y)
    expected = np.mean([GaussianNB().fit(X[a], y[a]).predict_proba(X) for a, _ in folds.split(X, y)], axis=0)
    np.testing.assert_allclose(stack.transform(X)[:, :3], expected)
    values = StackingRegressor(VALUES, refit=False).fit(*DIABETES)
    assert values.score(*DIABETES) > 0.4
    assert values.n_features_in_ == 10


def test_layers_and_several_meta_models() -> None:
    X, y = CANCER
    logit, tree = LogisticRegression(), TheirTree(max_depth=2, random_state=0)
    stack = StackingClassifier(MEMBERS, "mean", layers=[[("logit", logit), ("tree", tree)]]).fit(X, y)
    first, _ = StackingClassifier(MEMBERS)._fit_stack(X, y, None, None, {})
    probabilities = [
        model.fit(first.X, y).predict_proba(StackingClassifier(MEMBERS).fit(X, y).transform(X))
        for model in (logit, tree)
    ]
    np.testing.assert_allclose(stack.predict_proba(X), np.mean(probabilities, axis=0))
    assert list(stack.get_feature_names_out()) == ["stackingclassifier_logit", "stackingclassifier_tree"]
    deep = StackingClassifier(MEMBERS, layers=[MEMBERS, [("logit", logit)]], passthrough=True, random_state=0).fit(X, y)
    assert deep.transform(X).shape == (len(X), 1 + X.shape[1])
    assert deep.score(X, y) > 0.9
    assert [len(layer.members) for layer in deep.layers_] == [3, 3, 1]
    for wrong in ("abc", [MEMBERS[0]], [[]], 3):
        with pytest.raises(CommitteeError, match="'layers'"):
            StackingClassifier(MEMBERS, layers=wrong).fit(X, y)


def test_meta_models_by_name() -> None:
    X, y = IRIS
    stack = StackingClassifier(MEMBERS, "mean").fit(X, y)
    vote = sklearn.ensemble.VotingClassifier(MEMBERS, voting="soft").fit(X, y)
    np.testing.assert_allclose(stack.predict_proba(X), vote.predict_proba(X))
    hard = sklearn.ensemble.VotingClassifier(MEMBERS).fit(X, y)
    np.testing.assert_array_equal(StackingClassifier(MEMBERS, "majority").fit(X, y).predict(X), hard.predict(X))
    assert_equal_stacks(StackingClassifier(MEMBERS, "logistic").fit(X, y), StackingClassifier(MEMBERS).fit(X, y), X)
    convex = StackingClassifier(MEMBERS, "nonnegative").fit(X, y)
    weights = convex.final_estimator_.weights_
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(), 1.0)
    values = StackingRegressor(VALUES, "linear", cv=3).fit(*DIABETES)
    assert_equal_stacks(
        values, sklearn.ensemble.StackingRegressor(VALUES, LinearRegression(), cv=3).fit(*DIABETES), DIABETES[0]
    )
    np.testing.assert_allclose(
        StackingRegressor(VALUES, "mean").fit(*DIABETES).predict(DIABETES[0]),
        sklearn.ensemble.VotingRegressor(VALUES).fit(*DIABETES).predict(DIABETES[0]),
    )
    for params in ({"passthrough": True}, {"stack_method": "predict"}):
        with pytest.raises(CommitteeError, match="can be 'mean' only without"):
            StackingClassifier(MEMBERS, "mean", **params).fit(X, y)


def test_invalid_arguments_are_refused() -> None:
    X, y = IRIS
    for params, message in [
        ({"final_estimator": LinearRegression()}, "must be a classifier"),
        ({"stack_method": "decision_function"}, "does not implement the method decision_function"),
        ({"cv": "prefit", "refit": False}, "must not be 'prefit'"),
        ({"cv": "prefix"}, "'cv' parameter"),
        ({"cv": [(np.arange(150), np.arange(10))]}, "these would leak"),
        ({"cv": [(np.arange(150), np.array([200]))]}, "beyond the 150"),
    ]:
        with pytest.raises(CommitteeError, match=message):
            StackingClassifier(MEMBERS, **params).fit(X, y)
    with pytest.raises(TypeError, match="does not support sample weights"):
        StackingClassifier(MEMBERS).fit(X, y, sample_weight=np.ones(150))
    with pytest.raises(CommitteeError, match="should be a regressor"):
        StackingRegressor(MEMBERS).fit(X, y)
    # As in scikit-learn, a classifier may stand on regressors, for classes with an order.
    assert StackingClassifier([("ols", LinearRegression())]).fit(X, y).score(X, y) > 0.9


def test_metadata_are_routed_to_members_that_request_them() -> None:
    X, y = DIABETES
    with config_context(enable_metadata_routing=True):
        wants = LinearRegression().set_fit_request(sample_weight=True)
        final = GaussianProcessRegressor().set_predict_request(return_std=True)
        stack = StackingRegressor([("wants", wants), ("knn", KNeighborsRegressor())], final)
        stack.fit(X[:60], y[:60])
        assert len(stack.predict(X[:5], return_std=True)) == 2
        halves = StackingRegressor([("wants", wants), ("knn", KNeighborsRegressor())], Ridge())
        weights = np.where(np.arange(len(y)) % 2, 1.0, 1e-12)
        halves.fit(X, y, sample_weight=weights)
        only = LinearRegression().fit(X[1::2], y[1::2])
        np.testing.assert_allclose(halves.estimators_[0].coef_, only.coef_, rtol=1e-4)


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_jobs_do_not_change_a_byte(n_jobs: int) -> None:
    X, y = CANCER
    members = [*MEMBERS, ("forest", RandomForestClassifier(10)), ("extra", ExtraTreesClassifier(10, bootstrap=True))]
    for cv in (3, "oob"):
        alone, many = (StackingClassifier(members, cv=cv, random_state=0, n_jobs=k).fit(X, y) for k in (1, n_jobs))
        assert alone.predict_proba(X).tobytes() == many.predict_proba(X).tobytes()


@pytest.mark.parametrize("params", [{"refit": False}, {"final_estimator": "nonnegative"}], ids=str)
def test_model_files(params: dict[str, Any], tmp_path: Any) -> None:
    X, y = CANCER
    members = [("forest", RandomForestClassifier(5, random_state=0)), ("tree", DecisionTreeClassifier(max_depth=3))]
    stack = StackingClassifier(members, **{"final_estimator": DecisionTreeClassifier(max_depth=2), **params}).fit(X, y)
    committee.save(stack, tmp_path / "stack")
    assert committee.load(tmp_path / "stack").predict_proba(X).tobytes() == stack.predict_proba(X).tobytes()
    forest = [("forest", RandomForestRegressor(5, random_state=0))]
    values = StackingRegressor(forest, "mean", refit=False).fit(*DIABETES)
    committee.save(values, tmp_path / "values")
    assert (committee.load(tmp_path / "values").predict(DIABETES[0]) == values.predict(DIABETES[0])).all()


def test_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    StackingClassifier(MEMBERS, verbose=1).fit(*IRIS)
    assert "18" in capsys.readouterr().err


def test_labels_that_apply_or_not_reach_one_member():
    X, y = make_multilabel_classification(n_samples=80, n_classes=3, random_state=0)
    stack = StackingClassifier([("ridge", RidgeClassifier())], KNeighborsClassifier(), stack_method="decision_function")
    stack.fit(X, y)
    assert type(stack[0]) is RidgeClassifier
    assert stack.transform(X).shape == (80, 3)


def test_members_may_return_nothing_from_fit():
    class Quiet(LogisticRegression):
        def fit(self, X, y):
            super().fit(X, y)

    X, y = load_iris(return_X_y=True)
    stack = StackingClassifier([("quiet", Quiet(max_iter=500))], Quiet()).fit(X, y)
    assert stack.score(X, y) > 0.9


def test_missing_method_of_the_meta_model_is_the_cause():
    stack = StackingClassifier([("nb", GaussianNB())], KNeighborsClassifier())
    with pytest.raises(AttributeError, match="has no attribute 'decision_function'") as raised:
        stack.decision_function([[0.0]])
    assert "KNeighborsClassifier" in str(raised.value.__cause__)


def test_weights_go_to_members_that_take_any_argument():
    class AnyArgument(GaussianNB):
        def fit(self, X, y, **given):
            self.weighted_ = "sample_weight" in given
            return super().fit(X, y)

    X, y = load_iris(return_X_y=True)
    stack = StackingClassifier([("nb", AnyArgument())]).fit(X, y, sample_weight=np.ones(len(y)))
    assert stack[0].weighted_
    with pytest.raises(TypeError, match=r"Underlying estimator KNeighborsClassifier does not support sample weights\."):
        StackingClassifier([("knn", KNeighborsClassifier())]).fit(X, y, sample_weight=np.ones(len(y)))
