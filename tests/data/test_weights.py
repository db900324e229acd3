"""Sample weights times class weights, against scikit-learn's compute_sample_weight."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_sample_weight

from committee.data.class_weights import combine_weights
from committee.data.targets import encode_classes
from committee.data.weights import find_unit

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

Y = np.array(["a", "b", "b", "c", "b"])


def combine(sample_weight: Any, class_weight: Any = None, y: np.ndarray = Y) -> Any:
    return combine_weights(sample_weight, class_weight, encode_classes(y, "Tree"), len(y), "Tree")


@pytest.mark.parametrize(
    "weights",
    [
        [1, 2, 3, 4, 0],
        np.array([1, 2, 3, 4, 0], "f4"),
        np.array([1, 2, 3, 4, 0], "u1"),
        np.array([1, 2, 3, 4, 0], dtype=object),
        pd.Series([1, 2, 3, 4, 0]),
        pl.Series([1, 2, 3, 4, 0]),
    ],
)
def test_weights_of_every_kind(weights: Any) -> None:
    combined = combine(weights)
    assert combined.dtype == np.float64
    assert combined.tolist() == [1, 2, 3, 4, 0]


def test_weights_are_copied() -> None:
    weights = np.array([1.0, 2, 3, 4, 0])
    assert not np.shares_memory(combine(weights), weights)


@pytest.mark.parametrize("weights", [None, [1] * 5, [3.5] * 5, 2.0, np.ones(5, bool)])
def test_equal_weights_are_none(weights: Any) -> None:
    assert combine(weights) is None


@pytest.mark.parametrize(
    "rule",
    ["balanced", {"a": 2, "b": 3, "c": 0.5}, {"b": 3}, {"a": 1, "b": 2, "c": 3, "d": 4}, ["balanced"], [{"a": 2}]],
)
def test_class_weights_are_scikit_learns(rule: Any) -> None:
    expected = compute_sample_weight(rule[0] if isinstance(rule, list) else rule, Y)
    np.testing.assert_allclose(combine(None, rule), expected)


def test_class_weights_of_several_outputs_multiply() -> None:
    y = np.array([[0, 1], [1, 1], [1, 0]])
    np.testing.assert_allclose(combine(None, "balanced", y), compute_sample_weight("balanced", y))
    rules = [{0: 1, 1: 5}, {0: 2, 1: 3}]
    np.testing.assert_allclose(combine(None, rules, y), compute_sample_weight(rules, y))
    np.testing.assert_allclose(combine(None, [{0: 1, 1: 5}, None], y), [1, 5, 5])


def test_integer_and_boolean_labels_as_keys() -> None:
    assert combine(None, {0: 1, 1: 5}, np.array([0, 1, 1])).tolist() == [1, 5, 5]
    assert combine(None, {False: 1, True: 5}, np.array([False, True])).tolist() == [1, 5]
    assert combine(None, {1.0: 5}, np.array([1.0, 2.0])).tolist() == [5, 1]


def test_balanced_classes_that_are_balanced_are_none() -> None:
    assert combine(None, "balanced", np.array([0, 1, 0, 1])) is None


@given(counts=st.lists(st.integers(0, 4), min_size=5, max_size=5).filter(any))
def test_balanced_counts_a_weight_as_repetition(counts: list[int]) -> None:
    combined = combine(counts, "balanced")
    repeated = np.repeat(Y, counts)
    by_row = compute_sample_weight("balanced", repeated)
    expected = np.zeros(5)
    for row, count in enumerate(counts):
        if count:
            expected[row] = count * by_row[np.flatnonzero(repeated == Y[row])[0]]
    if combined is None:
        assert len(set(expected)) == 1
    else:
        np.testing.assert_allclose(combined, expected)


@pytest.mark.parametrize("factor", [1.0, 2.0, 0.5, 0.1, 1 / 3, 7.3])
@pytest.mark.parametrize("weights", [[1, 2, 3], [2, 3], [4, 6], [1, 1000], [20, 30, 70], [31, 17, 40]])
def test_a_factor_of_all_weights_is_one_of_the_unit(weights: list[int], factor: float) -> None:
    own = np.array(weights, dtype=float)
    assert find_unit(own * factor) == pytest.approx(factor * np.gcd.reduce(weights), rel=1e-12)


def test_large_whole_weights_are_repetitions_and_their_fractions_are_not() -> None:
    """The one exception: 63 and 41 copies are meant by who writes whole numbers, and not by 0.63 and 0.41."""
    weights = np.array([63.0, 41.0, 57.0])
    assert find_unit(weights) == 1.0
    assert find_unit(weights * 2) == 2.0
    assert find_unit(weights / 100) == pytest.approx(weights.mean() / 100)
