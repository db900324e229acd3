"""Fits of the lab: what is shown after a round is what the estimators say."""

import contextlib
import io
import itertools

import numpy as np
import pytest

from committee import AdaBoostClassifier, GradientBoostingRegressor, RandomForestClassifier
from committee.exceptions import DataError
from committee.lab.curves import measure_bias, measure_curves
from committee.lab.fits import BagFit, fit_rounds
from committee.lab.snippet import fill_snippet, write_snippet
from committee.lab.state import LabState, read_fields, read_link

METHODS = ["bagging", "forest", "extra_trees", "adaboost", "boosting", "voting", "stacking"]
DRAWN = "points=0,0,0_1,1,2_0,1,2_1,0,0_0.5,0.2,0_0.4,0.9,2&data=points&box=-1,2,-1,2"


def run_snippet(code: str) -> dict[str, object]:
    namespace: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "<snippet>", "exec"), namespace)
    return namespace


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", ["moons", "circles", "spirals", "iris", "sine", "steps"])
def test_the_snippet_makes_the_state(data: str, method: str) -> None:
    state = read_fields({"data": data, "method": method, "n": 60, "rounds": 6, "depth": 2, "flip": 0.1, "seed": 3})
    fit = fit_rounds(state)
    errors = measure_curves(fit).errors
    snippet = write_snippet(state, fit)
    all_rounds = range(1, fit.n_rounds + 1) if method in ("voting", "stacking") else {1, fit.n_rounds}
    for number in all_rounds:
        made = run_snippet(fill_snippet(snippet, number))
        assert made["training_error"] == pytest.approx(errors["training"][number - 1], abs=1e-12)
        assert made["test_error"] == pytest.approx(errors["test"][number - 1], abs=1e-12)
        np.testing.assert_array_equal(made["X"], fit.sample.X)
        np.testing.assert_array_equal(made["y"], fit.sample.y)


@pytest.mark.parametrize("algorithm", ["samme", "discrete", "samme.r", "real", "gentle", "logit"])
def test_the_snippet_makes_every_algorithm_of_adaboost(algorithm: str) -> None:
    state = LabState("moons", n=50, algorithm=algorithm, rounds=5, rate=0.5)
    fit = fit_rounds(state)
    made = run_snippet(fill_snippet(write_snippet(state, fit), 4))
    curves = measure_curves(fit)
    assert made["training_error"] == pytest.approx(curves.errors["training"][3], abs=1e-12)
    assert (curves.losses["bound of the training error"] + 1e-12 >= curves.errors["training"]).all()


@pytest.mark.parametrize("link", [DRAWN, "data=line_points&points=0,1_1,2_2,0_3,4_4,4&box=0,5,0,5"])
@pytest.mark.parametrize("method", METHODS[:-1])  # so few points cannot be split into the folds of stacking
def test_the_snippet_holds_drawn_points(link: str, method: str) -> None:
    state = read_link(f"{link}&method={method}&rounds=3&depth=2")
    fit = fit_rounds(state)
    number = min(2, fit.n_rounds)
    made = run_snippet(fill_snippet(write_snippet(state, fit), number))
    errors = measure_curves(fit).errors
    assert set(errors) - {"out-of-bag"} == {"training"}
    assert made["training_error"] == pytest.approx(errors["training"][number - 1], abs=1e-12)
    assert made["test_error"] is None


def test_a_class_without_points_keeps_its_number() -> None:
    fit = fit_rounds(read_link(DRAWN + "&method=forest&rounds=5&depth=3"))
    predicted = fit.predict_rounds(fit.sample.X, 5, 5)[0]
    assert predicted.shape == (6, 3)
    assert (predicted[:, 1] == 0).all()
    assert set(predicted.argmax(axis=1)) == {0, 2}


def test_curves_of_adaboost_are_those_of_the_estimator() -> None:
    state = LabState("moons", n=100, rounds=15, algorithm="discrete")
    fit, curves = fit_rounds(state), measure_curves(fit_rounds(state))
    model = fit.model
    assert isinstance(model, AdaBoostClassifier)
    expected = [1.0 - score for score in model.staged_score(fit.sample.X_test, fit.sample.y_test)]
    np.testing.assert_allclose(curves.errors["test"], expected, atol=1e-12)
    np.testing.assert_array_equal(curves.losses["bound of the training error"], model.training_error_bound())
    assert curves.margins is not None
    np.testing.assert_allclose(curves.margins[-1], model.margins(fit.sample.X, fit.sample.y), atol=1e-12)
    # Before the first round all weights are equal; their mean is 1 in all rounds.
    np.testing.assert_allclose(fit.weights[0], 1.0)
    np.testing.assert_allclose(fit.weights.mean(axis=1), 1.0)
    assert fit.weights[-1].max() > 1.5


@pytest.mark.parametrize("data", ["moons", "sine"])
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_the_out_of_bag_curve_ends_at_the_estimators_own(data: str, subsample: float) -> None:
    state = read_fields({"data": data, "method": "forest", "n": 80, "rounds": 60, "depth": 4, "subsample": subsample})
    fit = fit_rounds(state)
    last = measure_curves(fit).errors["out-of-bag"][-1]
    own = fit.model.set_params(oob_score=True).fit(fit.sample.X, fit.sample.y)
    if isinstance(own, RandomForestClassifier):
        expected = 1.0 - own.oob_score_
    else:
        expected = np.mean((own.oob_prediction_ - fit.sample.y) ** 2)
    assert last == pytest.approx(expected, abs=1e-9)


def test_extra_trees_without_samples_have_no_out_of_bag_curve() -> None:
    state = LabState(method="extra_trees", n=50, rounds=5, depth=3)
    assert "out-of-bag" not in measure_curves(fit_rounds(state)).errors
    assert "out-of-bag" in measure_curves(fit_rounds(read_fields({**vars(state), "subsample": 0.5}))).errors


@pytest.mark.parametrize(("data", "method"), list(itertools.product(["moons", "iris", "sine"], METHODS)))
def test_one_round_is_that_of_all_rounds(data: str, method: str) -> None:
    fit = fit_rounds(read_fields({"data": data, "method": method, "n": 60, "rounds": 5, "depth": 2}))
    X = fit.sample.X_test[:20]
    after, members = fit.predict_rounds(X, 1, fit.n_rounds), fit.predict_each_member(X)
    for number in range(1, fit.n_rounds + 1):
        np.testing.assert_allclose(fit.predict_round(X, number), after[number - 1], atol=1e-12)
        np.testing.assert_allclose(fit.predict_member(X, number), members[number - 1], atol=1e-9)
    if isinstance(fit, BagFit):
        np.testing.assert_allclose(fit.predict_round(X, fit.n_rounds), fit._predict_last(X), atol=1e-12)


@pytest.mark.parametrize("algorithm", ["samme", "discrete", "samme.r", "real", "gentle", "logit"])
@pytest.mark.parametrize("data", ["moons", "iris"])
def test_margins_and_members_are_those_of_the_estimator(data: str, algorithm: str) -> None:
    if data == "iris" and algorithm in ("discrete", "real"):
        pytest.skip("for two classes")
    fit = fit_rounds(read_fields({"data": data, "algorithm": algorithm, "n": 60, "rounds": 6, "depth": 2, "flip": 0.2}))
    X, y = fit.sample.X, fit.sample.y
    own = np.clip(np.stack(list(fit.model.staged_margins(X, y))), -1.0, 1.0)
    np.testing.assert_allclose(measure_curves(fit).margins, own, atol=1e-12)
    members = fit.predict_each_member(X)
    np.testing.assert_array_equal(members, [fit.predict_member(X, number + 1) for number in range(fit.n_rounds)])


@pytest.mark.parametrize("algorithm", ["r2", "rt"])
def test_rounds_of_boosted_values_are_those_of_the_estimator(algorithm: str) -> None:
    fit = fit_rounds(LabState("sine", n=80, algorithm=algorithm, rounds=25, depth=4, noise=0.1))
    assert fit.n_rounds > 5
    expected = np.stack(list(fit.model.staged_predict(fit.sample.X)))
    np.testing.assert_allclose(fit.predict_rounds(fit.sample.X, 1, fit.n_rounds), expected, atol=1e-12)
    np.testing.assert_allclose(fit.predict_rounds(fit.sample.X, 4, 5), expected[3:5], atol=1e-12)
    members = [member.predict(fit.sample.X) for member in fit.model.estimators_]
    np.testing.assert_allclose(fit.predict_each_member(fit.sample.X), members, atol=1e-12)


def test_a_step_of_boosting_leads_to_the_residuals() -> None:
    state = LabState("sine", algorithm="r2", method="boosting", n=60, rounds=3, rate=0.1, depth=12, noise=0.1)
    fit = fit_rounds(state)
    assert isinstance(fit.model, GradientBoostingRegressor)
    # A full tree fits its residuals exactly, so that its step at full length ends at the targets.
    np.testing.assert_allclose(fit.predict_member(fit.sample.X, 2), np.asarray(fit.sample.y, float), atol=1e-6)


def test_bias_and_variance_add_up_to_the_error() -> None:
    state = LabState("moons", n=60, method="forest", rounds=20, depth=4)
    fit = fit_rounds(state)
    found = measure_bias(state, fit.sample.X, fit.sample.y, 5)
    assert found["members"] == 5
    assert found["bias"] + found["variance"] == pytest.approx(found["error"], abs=1e-9)
    assert 0.0 < found["error"] < 0.5


@pytest.mark.parametrize(
    ("link", "sentence"),
    [
        ("data=points&points=0,0,0", "A fit needs points of two classes, four or more; got 1"),
        ("data=points&points=0,0,0_1,1,0_2,2,0_3,3,0", "A fit needs points of two classes"),
        ("data=points&points=0,0_1,1", "Each point of the lab is 3 numbers"),
        ("data=points&points=a,b,c", "Each point of the lab is 3 numbers"),
        ("data=points&points=0,0,9_1,1,1_2,2,0_3,3,0", "whole numbers from 0 to 7"),
        ("data=points&points=0,0,0.5_1,1,1_2,2,0_3,3,0", "whole numbers from 0 to 7"),
        ("data=line_points&points=0,inf_1,1_2,2_3,3", "Each point of the lab is 2 numbers"),
        ("data=line_points&points=0,1e30_1,1_2,2_3,3", "between -1e9 and 1e9"),
        ("data=line_points&points=" + "_".join(["1,1"] * 1001), "at most 1000 points; got 1001"),
        (DRAWN.replace("-1,2,-1,2", "2,-1,-1,2"), "left,right,bottom,top in rising order"),
    ],
)
def test_wrong_points_are_answered_with_a_sentence(link: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        fit_rounds(read_link(link))
