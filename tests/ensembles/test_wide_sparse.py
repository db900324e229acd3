"""Fits on sparse tables: the same whether columns are kept as bytes or as entries, and cheap where they are wide."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import committee as cm
from committee.data import binning, memory, rows
from committee.exceptions import DataError, DataSizeError
from committee.learners import tree_importances
from tests.naive.entries import sum_member_shares

FITS: dict[str, tuple[Callable[[], Any], str]] = {
    "hist boosting": (lambda: cm.HistGradientBoostingClassifier(max_iter=3), "classes"),
    "hist boosting of numbers": (lambda: cm.HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=2), "number"),
    "hist boosting, columns drawn": (
        lambda: cm.HistGradientBoostingClassifier(max_iter=3, max_features=0.5, random_state=0),
        "two classes",
    ),
    "vectors of boosting": (lambda: cm.HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=3), "numbers"),
    "boosting": (lambda: cm.GradientBoostingClassifier(n_estimators=3, random_state=0), "two classes"),
    "boosting, absolute error": (
        lambda: cm.GradientBoostingRegressor(n_estimators=3, loss="absolute_error", subsample=0.7, random_state=0),
        "number",
    ),
    "forest": (lambda: cm.RandomForestClassifier(n_estimators=3, random_state=0), "two classes"),
    "forest of classes": (lambda: cm.RandomForestClassifier(n_estimators=3, random_state=0), "classes"),
    "forest with limits": (
        lambda: cm.RandomForestClassifier(n_estimators=3, min_samples_leaf=3, class_weight="balanced", random_state=0),
        "classes",
    ),
    "forest of numbers": (lambda: cm.RandomForestRegressor(n_estimators=3, random_state=0), "number"),
    "forest of vectors": (lambda: cm.RandomForestRegressor(n_estimators=2, random_state=0), "numbers"),
    "extra-trees": (lambda: cm.ExtraTreesClassifier(n_estimators=3, random_state=0), "two classes"),
    "extra-trees of classes": (lambda: cm.ExtraTreesClassifier(n_estimators=3, random_state=0), "classes"),
    "extra-trees of numbers": (lambda: cm.ExtraTreesRegressor(n_estimators=3, random_state=0), "number"),
    "tree": (lambda: cm.DecisionTreeClassifier(), "two classes"),
    "tree of entropy": (lambda: cm.DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=7), "classes"),
    "tree of numbers": (lambda: cm.DecisionTreeRegressor(), "number"),
    "tree, absolute error": (lambda: cm.DecisionTreeRegressor(criterion="absolute_error", max_depth=4), "number"),
    "exact tree": (lambda: cm.DecisionTreeRegressor(exact=True, max_depth=4), "number"),
    "bagging": (lambda: cm.BaggingClassifier(n_estimators=3, max_features=0.5, random_state=0), "classes"),
    "naive Bayes on one feature": (lambda: cm.SingleFeatureNB(), "classes"),
    "AdaBoost": (lambda: cm.AdaBoostClassifier(n_estimators=5), "two classes"),
    "AdaBoost of classes": (lambda: cm.AdaBoostClassifier(n_estimators=4), "classes"),
    "AdaBoost, exact stumps": (
        lambda: cm.AdaBoostClassifier(cm.DecisionTreeClassifier(max_depth=1, exact=True), n_estimators=4),
        "two classes",
    ),
    "AdaBoost of trees": (
        lambda: cm.AdaBoostClassifier(cm.DecisionTreeClassifier(max_depth=2), n_estimators=3, random_state=0),
        "two classes",
    ),
    "AdaBoost of numbers": (lambda: cm.AdaBoostRegressor(n_estimators=3, random_state=0), "number"),
}


@st.composite
def draw_problem(draw: st.DrawFn) -> tuple[sparse.csc_array, np.random.Generator, np.ndarray | None]:
    """A table of entries of every kind, and weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n_columns = draw(st.integers(5, 120)), draw(st.integers(1, 60))
    X = np.zeros((n_rows, n_columns))
    stored = rng.random(X.shape) < draw(st.sampled_from([0.0, 0.02, 0.1, 0.4]))
    values = draw(st.sampled_from(["numbers", "counts", "ones"]))
    drawn = {"numbers": rng.normal(size=X.shape).round(1), "counts": rng.integers(-2, 4, X.shape), "ones": 1.0}[values]
    X = np.where(stored, drawn, 0.0)
    if draw(st.booleans()):
        X[stored & (rng.random(X.shape) < 0.1)] = np.nan
    if draw(st.booleans()):
        X[:, rng.integers(n_columns)] = rng.normal(size=n_rows)
    at = np.nonzero(stored | (X != 0.0))  # some entries are zero
    S = sparse.csc_array((X[at], at), shape=X.shape)
    weights = {
        "none": None,
        "counts": rng.integers(0, 3, n_rows).astype(float),
        "shares": rng.random(n_rows),
    }[draw(st.sampled_from(["none", "counts", "shares"]))]
    if weights is not None:
        weights[:2] = 1.0
    return S, rng, weights


def make_target(kind: str, S: sparse.csc_array, rng: np.random.Generator) -> np.ndarray:
    score = np.nan_to_num(S.toarray()).sum(axis=1) + 0.3 * rng.normal(size=S.shape[0])
    if kind == "number":
        return score
    if kind == "numbers":
        return np.stack([score, score**2], axis=1)
    cuts = [0.0] if kind == "two classes" else [-0.2, 0.2]
    y = np.digitize(score, cuts)
    y[: len(cuts) + 1] = np.arange(len(cuts) + 1)
    return y


def read_answers(model: Any, X: np.ndarray) -> bytes:
    ask = getattr(model, "predict_proba", model.predict)
    return np.asarray(ask(X)).tobytes() + np.asarray(getattr(model, "feature_importances_", 0)).tobytes()


@pytest.mark.parametrize("name", FITS)
@settings(max_examples=12, deadline=None)
@given(draw_problem())
def test_entries_and_bytes_give_the_same_fit(
    name: str, problem: tuple[sparse.csc_array, np.random.Generator, np.ndarray | None]
) -> None:
    S, rng, weights = problem
    make, kind = FITS[name]
    y = make_target(kind, S, rng)
    X = S.toarray()
    try:
        dense = make().fit(X, y, sample_weight=weights)
    except DataError:  # nothing can be learnt from it
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binning, "ENTRIES_FROM", 0)
        listed = make().fit(S, y, sample_weight=weights)
    assert read_answers(listed, X) == read_answers(dense, X)


@pytest.mark.parametrize("kind", ["one-hot", "few values", "many values"])
@pytest.mark.parametrize("name", ["hist boosting", "hist boosting of numbers", "boosting"])
def test_boosting_of_many_rows_has_the_precision_of_bytes(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes of columns with few values are joined, and the number of bytes decides how gradients are rounded."""
    rng = np.random.default_rng(0)
    n_rows, n_columns = 5000, 300
    levels = rng.integers(0, n_columns // 3, (n_rows, 3)) + np.arange(3) * (n_columns // 3)
    values = {"one-hot": np.ones, "few values": lambda n: rng.integers(1, 9, n), "many values": rng.normal}[kind]
    entries = values(n_rows * 3) if kind != "many values" else rng.normal(size=n_rows * 3)
    S = sparse.csc_array((entries, (np.repeat(np.arange(n_rows), 3), levels.ravel())), shape=(n_rows, n_columns))
    make, target = FITS[name]
    y = make_target(target, S, rng)
    weights = rng.integers(0, 3, n_rows).astype(float)
    dense = make().fit(S.toarray(), y, sample_weight=weights)
    monkeypatch.setattr(binning, "ENTRIES_FROM", 0)
    assert read_answers(make().fit(S, y, sample_weight=weights), S.toarray()) == read_answers(dense, S.toarray())


@pytest.mark.parametrize("name", ["hist boosting", "forest", "tree", "AdaBoost"])
def test_threads_do_not_matter(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binning, "ENTRIES_FROM", 0)
    rng = np.random.default_rng(0)
    S = sparse.random_array((6000, 400), density=0.02, format="csc", random_state=rng)
    make, kind = FITS[name]
    y = make_target(kind, S, rng)
    answers = {read_answers(make().set_params(n_jobs=n).fit(S, y), S.toarray()) for n in (1, 3)}
    assert len(answers) == 1


@pytest.mark.parametrize("name", ["hist boosting", "forest", "tree of entropy", "AdaBoost", "bagging"])
def test_predictions_of_wide_rows_look_at_the_columns_of_the_trees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    S = sparse.random_array((300, 90), density=0.05, format="csr", random_state=rng)
    make, kind = FITS[name]
    model = make().fit(S, make_target(kind, S, rng))
    expected = model.predict_proba(S.toarray())
    np.testing.assert_array_equal(model.predict_proba(S), expected)
    monkeypatch.setattr(rows, "_DENSE_VALUES", 200)  # blocks of two rows or more
    np.testing.assert_array_equal(model.predict_proba(S), expected)


def test_votes_out_of_bag_of_wide_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    S = sparse.random_array((200, 50), density=0.1, format="csr", random_state=rng)
    y = make_target("classes", S, rng)

    def fit(X: Any) -> np.ndarray:
        forest = cm.RandomForestClassifier(n_estimators=20, oob_score=True, random_state=0).fit(X, y)
        return np.asarray(forest.oob_decision_function_)

    expected = fit(S.toarray())
    monkeypatch.setattr(rows, "_DENSE_VALUES", 500)
    np.testing.assert_array_equal(fit(S), expected)


@pytest.mark.parametrize("name", ["forest of classes", "extra-trees", "bagging", "AdaBoost of trees"])
def test_importances_of_many_columns_are_sparse(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    S = sparse.random_array((300, 90), density=0.05, format="csr", random_state=rng)
    make, kind = FITS[name]
    y = make_target(kind, S, rng)
    dense = make().fit(S, y)
    monkeypatch.setattr(tree_importances, "_WIDE", 10)
    monkeypatch.setattr(tree_importances, "_DENSE_BYTES", 1)  # a few trees at a time
    model = make().set_params(n_estimators=6).fit(S, y)
    expected = make().set_params(n_estimators=6)
    monkeypatch.undo()
    expected.fit(S, y)
    np.testing.assert_array_equal(model.predict_proba(S), expected.predict_proba(S))
    kept = model._members.importances if hasattr(model, "_members") else model._importances
    listed = dense._members.importances if hasattr(dense, "_members") else dense._importances
    assert sparse.issparse(kept)
    assert isinstance(listed, np.ndarray)
    loaded = cm.load(cm.save(model, tmp_path / "model.committee") or tmp_path / "model.committee")
    for fitted in (model, loaded):
        if hasattr(expected, "feature_importances_"):
            np.testing.assert_allclose(fitted.feature_importances_, expected.feature_importances_, rtol=1e-12)
        for own, other in zip(fitted.estimators_, expected.estimators_, strict=True):
            np.testing.assert_array_equal(own.feature_importances_, other.feature_importances_)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_shares_of_sparse_importances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((5, 12)) < 0.3, rng.random((5, 12)), 0.0)
    weights = rng.random(5)
    expected = sum_member_shares(table, weights)
    for form in (table, sparse.csr_array(table)):
        np.testing.assert_allclose(tree_importances.sum_shares(form, weights), expected, rtol=1e-12)
        np.testing.assert_array_equal(tree_importances.read_importances(form, 3), table[3])


WIDE_FIT = """
import numpy as np, scipy.sparse as sp
import committee as cm
rng = np.random.default_rng(0)
n_rows, n_columns, n_entries = 50_000, 1_000_000, 200_000
at = rng.integers(0, n_rows, n_entries), rng.integers(0, n_columns, n_entries)
X = sp.csr_array((rng.integers(1, 4, n_entries).astype(float), at), shape=(n_rows, n_columns))
score = np.bincount(at[0], np.where(at[1] < n_columns // 2, 1.0, -1.0), minlength=n_rows)
y = (score > 0).astype(int)
for model in (
    cm.HistGradientBoostingClassifier(max_iter=5, early_stopping=False),
    cm.RandomForestClassifier(n_estimators=40, max_depth=20, random_state=0),
    cm.AdaBoostClassifier(n_estimators=30),
):
    open('/proc/self/clear_refs', 'w').write('5')  # the peak begins anew
    assert model.fit(X, y).predict(X).shape == (n_rows,)
    # Not ru_maxrss, which begins with the peak of the parent process.
    print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read as Linux counts it")
@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer needs memory of its own")
def test_fifty_thousand_rows_of_a_million_columns_take_less_than_a_gigabyte() -> None:
    """Of boosting, a forest and AdaBoost. As bytes they would take 93 GiB."""
    run = subprocess.run([sys.executable, "-c", WIDE_FIT], capture_output=True, text=True, check=True)
    peaks = [int(line) for line in run.stdout.split()]
    assert len(peaks) == 3
    assert max(peaks) < 1 << 20  # kilobytes


def test_the_need_of_a_sparse_table_goes_with_its_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "measure_available_memory", lambda: 1 << 30)
    memory.check_room_for(50_000, 1_000_000, 2, 200_000)
    with pytest.raises(DataSizeError, match=r"needs 93\.1 GiB"):
        memory.check_room_for(50_000, 1_000_000, 2)
    with pytest.raises(DataSizeError, match=r"needs 4\.7 GiB"):
        memory.check_room_for(50_000, 1_000_000, 2, 100_000_000)
