"""`history_`: the curves of a fit under one set of names, with nothing recorded for them alone."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import committee
from committee.ensembles.history import FitHistory, read_history
from committee.exceptions import DataError

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")
X, y = load_iris(return_X_y=True)


def test_boosting_has_training_validation_and_evaluation_curves() -> None:
    model = committee.GradientBoostingClassifier(
        n_estimators=6, early_stopping=True, n_iter_no_change=6, random_state=0
    )
    model.fit(X, y, eval_set=[(X, y)], eval_names=["test"], eval_metric="accuracy")
    found = model.history_
    assert "validation_score" in found
    np.testing.assert_array_equal(found["training_loss"], model.train_score_)
    np.testing.assert_array_equal(found["validation_score"], model.validation_score_)
    for metric, values in model.evals_result_["test"].items():
        np.testing.assert_array_equal(found[f"test_{metric}"], values)
    assert found.curves["validation_score"].rounds[0] == 0
    assert found.curves["training_loss"].rounds[0] == 1
    assert found.history["training_loss"] == model.train_score_.tolist()


def test_histogram_boosting_starts_before_the_first_round() -> None:
    model = committee.HistGradientBoostingClassifier(max_iter=5, early_stopping=True, random_state=0).fit(X, y)
    found = model.history_
    assert found.curves["training_loss"].rounds.tolist() == list(range(len(model.train_score_)))
    assert found.rounds == range(model.n_iter_ + 1)
    plain = committee.HistGradientBoostingClassifier(max_iter=5, early_stopping=False).fit(X, y)
    assert len(plain.history_) == 0
    with pytest.raises(DataError, match="recorded no curve"):
        plain.history_.plot()


def test_adaboost_and_forests() -> None:
    boosted = committee.AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(boosted.history_["member_error"], boosted.estimator_errors_)
    forest = committee.RandomForestClassifier(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    curve = forest.history_.curves["oob_score"]
    assert curve.rounds[-1] == 40
    assert curve.values[-1] == forest.oob_score_
    bag = committee.BaggingRegressor(n_estimators=30, oob_score=True, random_state=0).fit(X[:, :3], X[:, 3])
    assert "oob_score" in bag.history_


def test_frames_pictures_and_names() -> None:
    pd = pytest.importorskip("pandas")
    model = committee.GradientBoostingRegressor(n_estimators=4, early_stopping=False, random_state=0)
    model.fit(X[:, :3], X[:, 3], eval_set=[(X[:, :3], X[:, 3])])
    frame = model.history_.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.index.name == "round"
    assert frame.index.tolist() == [1, 2, 3, 4]
    assert list(frame) == list(model.history_)
    shown = model.history_.plot()
    assert [line.get_label() for line in shown.lines_] == list(model.history_)
    one = model.history_.plot(["training_loss"])
    assert one.measure == "training loss"
    with pytest.raises(KeyError, match="no curve 'loss'; it recorded training_loss"):
        model.history_["loss"]
    mpl.pyplot.close("all")


def test_before_the_fit_and_after_a_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    model = committee.RandomForestClassifier(n_estimators=30, oob_score=True, random_state=0)
    assert not hasattr(model, "history_")
    with pytest.raises(NotFittedError):
        _ = model.history_
    model.fit(X, y)
    committee.save(model, tmp_path / "m.committee")
    loaded = committee.load(tmp_path / "m.committee").history_
    assert loaded.history == model.history_.history
    assert "history_" not in vars(model)
    assert read_history({}) == FitHistory({})
