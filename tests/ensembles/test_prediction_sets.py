"""Conformal sets of classes: coverage, order of scores, weights, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

import committee
from committee import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from committee.ensembles.prediction_sets import find_class_sets, score_classes
from committee.exceptions import DataError, ParameterError

MAKERS = [
    lambda seed: RandomForestClassifier(40, oob_score=True, random_state=seed),
    lambda seed: BaggingClassifier(n_estimators=30, oob_score=True, random_state=seed),
]


def draw(seed: int, n_rows: int = 900) -> tuple[Any, Any]:
    return make_classification(n_rows, 8, n_informative=4, n_classes=3, flip_y=0.2, random_state=seed)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("method", ["lac", "aps"])
def test_sets_cover_as_often_as_they_say_and_not_much_more(make: Any, method: Any) -> None:
    hits = []
    for seed in range(12):
        X, y = draw(seed)
        sets = make(seed).fit(X[:300], y[:300]).predict_set(X[300:], alpha=0.2, method=method)
        hits.append(sets[np.arange(600), y[300:]].mean())
    # The standard error of the mean over twelve tables is about 0.01.
    assert 0.78 < np.mean(hits) < 0.88


def test_scores_rank_classes_by_probability_and_ties_are_equal() -> None:
    shares = np.array([[0.5, 0.2, 0.2, 0.1]])
    for method in ("lac", "aps"):
        scores = score_classes(shares, method)[0]
        assert scores[0] < scores[1] == scores[2] < scores[3]
    np.testing.assert_allclose(score_classes(shares, "aps")[0], [0.25, 0.7, 0.7, 0.95])


def test_a_smaller_rate_of_errors_has_larger_sets_and_one_row_is_as_in_a_batch() -> None:
    X, y = draw(0)
    forest = MAKERS[0](0).fit(X[:300], y[:300])
    wide, narrow = (forest.predict_set(X[300:], alpha=alpha) for alpha in (0.05, 0.3))
    assert (wide >= narrow).all()
    assert wide.sum() > narrow.sum()
    np.testing.assert_array_equal(
        np.concatenate([forest.predict_set(row[None], 0.3) for row in X[300:310]]), narrow[:10]
    )
    assert forest.predict_set(X[300:], alpha=0.001).all()  # too few rows for so rare errors


def test_a_row_of_weight_two_is_two_rows() -> None:
    scores, shares = np.array([0.1, 0.2, 0.6, 0.9]), np.array([[0.35, 0.65]])
    repeats = np.array([1.0, 2.0, 3.0, 1.0])
    for alpha in (0.2, 0.4, 0.6):
        np.testing.assert_array_equal(
            find_class_sets(shares, scores, repeats, alpha, "lac"),
            find_class_sets(shares, np.repeat(scores, repeats.astype(int)), None, alpha, "lac"),
        )


def test_a_model_file_keeps_the_sets(tmp_path: Path) -> None:
    X, y = draw(1, 300)
    for model in (MAKERS[0](0), ExtraTreesClassifier(20, bootstrap=True, oob_score=True, random_state=0)):
        model.fit(X, np.array(["a", "b", "c"])[y])
        committee.save(model, tmp_path / "m.committee")
        again = committee.load(tmp_path / "m.committee")
        np.testing.assert_array_equal(again.predict_set(X), model.predict_set(X))


def test_what_is_wrong_is_said() -> None:
    X, y = draw(2, 300)
    with pytest.raises(NotFittedError, match="oob_score=True"):
        RandomForestClassifier(5, random_state=0).fit(X, y).predict_set(X)
    forest = MAKERS[0](0).fit(X, y)
    with pytest.raises(DataError, match="alpha"):
        forest.predict_set(X, alpha=1.5)
    with pytest.raises(ParameterError, match="'lac' or 'aps'"):
        forest.predict_set(X, method="raps")
    calibrated = RandomForestClassifier(20, oob_score=True, calibration="isotonic", random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="calibration=None"):
        calibrated.predict_set(X)
