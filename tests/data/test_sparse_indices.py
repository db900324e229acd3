"""Sparse matrices whose index arrays do not match their shape are refused; SciPy would read outside of its buffers."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import committee
from committee.data.arrays import check_sparse
from committee.exceptions import DataError
from tests.io.models import ESTIMATORS, make_model

TABLE = np.eye(40)[:, :3] + 1.0
TABLE[::3, 1] = 0.0


def break_compressed(make: Any, attribute: str, index: int, value: int) -> Any:
    X = make(TABLE)
    getattr(X, attribute)[index] = value
    return X


def break_coo(axis: str, value: int) -> Any:
    X = sp.coo_matrix(TABLE)
    getattr(X, axis)[0] = value
    return X


def break_lil() -> Any:
    X = sp.lil_matrix(TABLE)
    X.rows[3] = [0, 9]
    return X


BROKEN = {
    "csr index": lambda: break_compressed(sp.csr_matrix, "indices", 0, 2**30),
    "csr index just outside": lambda: break_compressed(sp.csr_array, "indices", 0, 3),
    "csr negative index": lambda: break_compressed(sp.csr_matrix, "indices", 5, -1),
    "csr pointer": lambda: break_compressed(sp.csr_matrix, "indptr", 3, 10**6),
    "csr last pointer": lambda: break_compressed(sp.csr_matrix, "indptr", -1, 10**6),
    "csc index": lambda: break_compressed(sp.csc_matrix, "indices", 0, 77),
    "csc pointer": lambda: break_compressed(sp.csc_matrix, "indptr", 1, 10**6),
    "csc first pointer": lambda: break_compressed(sp.csc_array, "indptr", 0, 1),
    "bsr index": lambda: break_compressed(sp.bsr_matrix, "indices", 0, 50),
    "coo row": lambda: break_coo("row", 40),
    "coo column": lambda: break_coo("col", -2),
    "lil": break_lil,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_the_check_names_what_is_wrong(kind: str) -> None:
    with pytest.raises(DataError, match=r"sparse X must|Sparse X must"):
        check_sparse(BROKEN[kind]())


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csr_array])
def test_sound_matrices_pass_unchanged(form: str, make: Any) -> None:
    X = make(TABLE).asformat(form)
    check_sparse(X)
    np.testing.assert_array_equal(X.toarray(), TABLE)


@pytest.mark.parametrize("kind", ["csr index", "csc pointer"])
@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_every_estimator_refuses_it(cls: type[Any], kind: str) -> None:
    model = make_model(cls)
    with pytest.raises(committee.exceptions.CommitteeError, match="sparse"):
        model.fit(BROKEN[kind](), np.arange(40) % 2)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("kind", ["csr index", "csc index"])
def test_predict_refuses_it(kind: str) -> None:
    model = committee.RandomForestClassifier(3, random_state=0).fit(TABLE, np.arange(40) % 2)
    with pytest.raises(DataError, match="indices of sparse X"):
        model.predict(BROKEN[kind]())


def test_indices_that_were_changed_after_they_were_sorted_are_sorted_again() -> None:
    X = sp.csc_matrix(TABLE)
    assert X.has_canonical_format  # noted by the matrix
    X.indices[:2] = X.indices[1::-1].copy()
    X.data[:2] = X.data[1::-1].copy()
    y = np.arange(40) % 2
    found = committee.DecisionTreeClassifier(random_state=0).fit(X, y).predict_proba(TABLE)
    np.testing.assert_array_equal(
        found, committee.DecisionTreeClassifier(random_state=0).fit(TABLE, y).predict_proba(TABLE)
    )


@pytest.mark.parametrize("attribute", ["data", "indices", "indptr"])
def test_parts_that_are_not_aligned_are_read(attribute: str) -> None:
    X, y = sp.csc_matrix(TABLE), np.arange(40) % 2
    plain = committee.RandomForestClassifier(3, random_state=0).fit(X.copy(), y)
    part = getattr(X, attribute)
    moved = np.frombuffer(bytearray(b"x" + part.tobytes()), np.uint8)[1:].view(part.dtype)
    assert not moved.flags.aligned
    setattr(X, attribute, moved)
    fitted = committee.RandomForestClassifier(3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), plain.predict_proba(TABLE))
