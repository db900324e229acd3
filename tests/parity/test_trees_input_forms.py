"""The same rows in another form give the same tree: precision, frame, order in memory, sparse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import committee
from tests.parity.data_sets import REGRESSION, DataSet, load_data_set

FORMS: dict[str, Callable[[DataSet, np.ndarray], Any]] = {
    "float64": lambda data, X: X.astype(np.float64),
    "columns first": lambda data, X: np.asfortranarray(X),
    "every other row of a larger array": lambda data, X: np.repeat(X, 2, axis=0)[::2],
    "frame": lambda data, X: data.frame.__class__(X, columns=[f"c{j}" for j in range(X.shape[1])]),
    "frame of float64": lambda data, X: data.frame.__class__(X.astype(np.float64)).add_prefix("c"),
    "csr": lambda data, X: sparse.csr_matrix(X),
    "csc": lambda data, X: sparse.csc_array(X),
    "lists": lambda data, X: X.tolist(),
}
CLASSES = ("DecisionTree", "ExtraTree")


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("family", CLASSES)
@pytest.mark.parametrize("name", ["higgs_7500", "california_housing", "spambase", "vowel", "boston"])
def test_the_form_of_the_table_does_not_matter(name: str, family: str, exact: bool) -> None:
    data = load_data_set(name)
    X, y = data.numbers.astype(np.float32)[:3000], data.y[:3000]
    train, test = X[::2], X[1::2]
    kind = getattr(committee, family + ("Regressor" if name in REGRESSION else "Classifier"))

    def predict(form: Callable[[DataSet, np.ndarray], Any]) -> np.ndarray:
        tree = kind(random_state=3, exact=exact, n_jobs=1).fit(form(data, train), y[::2])
        return tree.predict(form(data, test))

    plain = predict(lambda data, X: X)
    for form, make in FORMS.items():
        np.testing.assert_array_equal(predict(make), plain, err_msg=form)


@pytest.mark.parametrize("name", ["adult", "titanic", "mushroom"])
def test_frames_of_other_libraries_give_the_same_tree(name: str) -> None:
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    data = load_data_set(name)
    frame = data.frame
    train, test = frame.iloc[::2], frame.iloc[1::2]

    def predict(convert: Callable[[Any], Any]) -> np.ndarray:
        tree = committee.DecisionTreeClassifier(random_state=0, n_jobs=1).fit(convert(train), data.y[::2])
        return tree.predict_proba(convert(test))

    plain = predict(lambda rows: rows)
    arrow = predict(lambda rows: pyarrow.Table.from_pandas(rows, preserve_index=False))
    np.testing.assert_array_equal(arrow, plain)
    np.testing.assert_array_equal(predict(polars.from_pandas), plain)
