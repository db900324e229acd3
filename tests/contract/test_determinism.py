"""Contract 1: the same bytes for any number of threads, any layout of the input, any blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from tests.contract.tree_models import MODELS, ask_model, assert_same_bytes, describe_model, draw_data, make_model

every_model = pytest.mark.parametrize("name", MODELS)
THREADS = (1, 2, 5, 16)


@every_model
def test_threads_do_not_change_a_byte(name: str) -> None:
    # Large enough for subtrees to become tasks of their own, which happens above 512 rows.
    X, y = draw_data(name, 4000)
    models = [make_model(name, n_jobs=n_jobs).fit(X, y) for n_jobs in THREADS]
    first = describe_model(models[0]), ask_model(models[0], X)
    assert len(first[0]["feature"]) >= 3
    for model in models[1:]:
        assert_same_bytes(first[0], describe_model(model))
        assert_same_bytes(first[1], ask_model(model, X))


@pytest.mark.parametrize("n_classes", [0, 2, 7])
def test_threads_do_not_change_a_byte_where_features_are_searched_in_parallel(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 40)).astype(np.float32)  # above a million values
    y: Any = X[:, 3] + X[:, 30] * X[:, 7]
    cls: Any = DecisionTreeRegressor
    if n_classes:
        y, cls = np.digitize(y, np.linspace(-1, 1, n_classes - 1)), DecisionTreeClassifier
    models = [cls(max_depth=5, random_state=0, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 5)]
    for model in models[1:]:
        assert_same_bytes(describe_model(models[0]), describe_model(model))
        np.testing.assert_array_equal(models[0].predict(X), model.predict(X))


def list_layouts(X: Any) -> dict[str, Any]:
    """The same table in other memory."""
    n_rows, n_cols = X.shape
    spread = np.full((2 * n_rows, 3 * n_cols), 7.0, dtype=X.dtype)
    spread[::2, ::3] = X
    return {
        "columns": np.asfortranarray(X),
        "spread": spread[::2, ::3],
        "rows backwards": np.ascontiguousarray(X[::-1])[::-1],
        "columns backwards": np.asfortranarray(X[:, ::-1])[:, ::-1],
        "transposed": np.ascontiguousarray(X.T).T,
        "swapped bytes": X.astype(X.dtype.newbyteorder()),
        "read-only": np.frombuffer(X.tobytes(), dtype=X.dtype).reshape(X.shape),
        "misaligned": np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8)[1:].view(X.dtype).reshape(X.shape),
    }


@every_model
def test_the_layout_of_the_input_does_not_change_a_byte(name: str) -> None:
    X, y = draw_data(name, 400)
    for table in (X, X.astype(np.float32)):
        table = np.ascontiguousarray(table)
        model = make_model(name).fit(table, y)
        inside, answers = describe_model(model), ask_model(model, table)
        for layout, other in list_layouts(table).items():
            assert np.array_equal(other, table, equal_nan=True), layout
            assert_same_bytes(inside, describe_model(make_model(name).fit(other, y)))
            assert_same_bytes(answers, ask_model(model, other))


@every_model
def test_the_width_of_the_floats_does_not_change_the_tree_of_values_that_fit_both(name: str) -> None:
    X, y = draw_data(name, 400)
    X = X.astype(np.float32)
    wide, narrow = (make_model(name).fit(table, y) for table in (X.astype(np.float64), X))
    assert_same_bytes(describe_model(wide), describe_model(narrow))
    assert_same_bytes(ask_model(wide, X), ask_model(narrow, X.astype(np.float64)))


@every_model
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_blocks_of_rows_are_predicted_as_the_whole(name: str, n_jobs: int) -> None:
    X, y = draw_data(name, 500)
    model = make_model(name, n_jobs=n_jobs).fit(X, y)
    big = np.tile(X, (8, 1))
    whole = ask_model(model, big)
    for size in (1, 7, 64, 1000):
        starts = range(0, len(big) if size > 1 else 50, size)
        blocks = [ask_model(model, big[start : start + size]) for start in starts]
        for key, answer in whole.items():
            joined = np.concatenate([block[key] for block in blocks])
            np.testing.assert_array_equal(joined, answer[: len(joined)], err_msg=key)


@every_model
def test_a_second_fit_gives_the_same_bytes(name: str) -> None:
    X, y = draw_data(name, 300)
    model = make_model(name)
    first = describe_model(model.fit(X, y))
    assert_same_bytes(first, describe_model(model.fit(X, y)))
