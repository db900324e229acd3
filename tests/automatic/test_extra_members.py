"""Members of other libraries: the same folds, the same weights, and refusals in sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from committee import CommitteeClassifier, CommitteeRegressor, load, save
from committee.exceptions import CommitteeError, ParameterError, ParameterTypeError

X, CLASSES = make_classification(240, 6, n_informative=4, random_state=0)
LABELS = np.where(CLASSES == 1, "yes", "no")


class Recorder(LogisticRegression):  # type: ignore[misc]
    """Records the rows and the classes of its fits."""

    fits: list[tuple[int, tuple[Any, ...], Any]] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        type(self).fits.append((len(X), tuple(np.unique(y)), self.random_state))
        return super().fit(X, y, sample_weight)


def test_a_member_goes_through_the_folds() -> None:
    Recorder.fits = []
    model = CommitteeClassifier(portfolio=["extra trees"], extra_members=[("mine", Recorder())], random_state=0)
    model.fit(X, LABELS)
    assert sorted(n for n, _, _ in Recorder.fits) == [192] * 5 + [240]
    assert {classes for _, classes, _ in Recorder.fits} == {(0, 1)}
    assert all(0 <= seed < 2**31 for _, _, seed in Recorder.fits)
    row = next(row for row in model.leaderboard_ if row["name"] == "mine")
    assert row["rounds"] is None
    assert np.isfinite([row["score"], row["error"]]).all()
    assert model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_a_good_member_gets_weight() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 4))
    values = table @ [1.0, -2.0, 3.0, 0.5] + 0.01 * rng.normal(size=200)
    model = CommitteeRegressor(portfolio=["extra trees"], extra_members=[("ols", LinearRegression())], random_state=0)
    best = model.fit(table, values).leaderboard_[0]
    assert best["name"] == "ols"
    assert best["weight"] > 0.9
    assert any(isinstance(member, LinearRegression) for member in model.estimators_)


def test_other_members_are_what_they_were() -> None:
    plain = CommitteeClassifier(portfolio=["linear", "extra trees"], random_state=0).fit(X, LABELS)
    more = clone(plain).set_params(extra_members=[("mine", LogisticRegression())]).fit(X, LABELS)
    scores = {row["name"]: row["score"] for row in more.leaderboard_}
    assert {row["name"]: row["score"] for row in plain.leaderboard_}.items() <= scores.items()
    assert set(scores) == {"prior", "linear", "extra trees", "mine"}


def test_a_model_file_holds_it(tmp_path: Path) -> None:
    pytest.importorskip("skops")
    model = CommitteeClassifier(portfolio=["linear"], extra_members=[("near", KNeighborsClassifier())], random_state=0)
    save(model.fit(X, LABELS), tmp_path / "a.model")
    with pytest.raises(CommitteeError, match="trusted"):
        load(tmp_path / "a.model")
    trusted = ["sklearn.metrics._dist_metrics.EuclideanDistance64", "sklearn.neighbors._kd_tree.KDTree"]
    again = load(tmp_path / "a.model", trusted=trusted)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_lightgbm() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    Y = make_regression(200, 4, random_state=0)
    member = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1)
    model = CommitteeRegressor(portfolio=["linear"], extra_members=[("lgbm", member)], random_state=0).fit(*Y)
    assert {row["name"] for row in model.leaderboard_} == {"prior", "linear", "lgbm"}


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ([LogisticRegression()], ParameterTypeError, r"must be None or a list of \(name, estimator\) pairs"),
        ([("a", LogisticRegression)], ParameterTypeError, "must hold estimators"),
        ([("a", LinearRegression())], ParameterError, "must be a classifier; it is a LinearRegression"),
        ([("a", LinearSVC())], ParameterError, "must have predict_proba"),
        ([("boosting", LogisticRegression())], ParameterError, "the name of another model"),
        ([("a", LogisticRegression()), ("a", LogisticRegression())], ParameterError, "the name of another model"),
    ],
)
def test_refusals(given: Any, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        CommitteeClassifier(portfolio=["linear"], extra_members=given).fit(X, LABELS)


def test_a_member_without_weights_is_refused_where_rows_have_some() -> None:
    model = CommitteeClassifier(portfolio=["linear"], extra_members=[("near", KNeighborsClassifier())])
    with pytest.raises(CommitteeError, match="does not support sample weights"):
        model.fit(X, LABELS, sample_weight=np.linspace(1.0, 2.0, 240))
