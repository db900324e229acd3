"""Forests beside scikit-learn's on public data: test scores within the standard error."""

from typing import Any

import numpy as np
import pytest
import sklearn.ensemble as theirs

import committee as ours
from tests.parity.data_sets import REGRESSION, load_data_set
from tests.parity.scores import Contest, check_no_worse

N_TREES = 50
MOST_ROWS = 2000
"""Forests of both libraries on all sets are to take minutes, nearly all of it the other's."""
SETS = (
    "higgs_7500",
    "magic_telescope",
    "spambase",
    "pima_diabetes",
    "sonar",
    "letter",
    "vowel",
    "dna",
    "california_housing",
    "abalone",
    "boston",
    "wine_quality",
)

BEHIND = "behind by less than 0.01 over sixty seeds with bins; on abalone exact splits are level"
#: Where we are known to be worse; each is to be removed with its cause.
KNOWN = {("california_housing", "ExtraTrees"), ("abalone", "RandomForest")}


def list_contests() -> list[Any]:
    keys = [(name, family) for name in SETS for family in ("RandomForest", "ExtraTrees")]
    mark = pytest.mark.xfail(reason=BEHIND, strict=True)
    return [pytest.param(*key, marks=mark if key in KNOWN else (), id="-".join(key)) for key in keys]


def set_up_contest(name: str, family: str) -> Contest:
    data = load_data_set(name)
    rows = np.random.default_rng(0).permutation(len(data.y))[:MOST_ROWS]
    kind = family + ("Regressor" if name in REGRESSION else "Classifier")
    X = data.filled[rows]
    return Contest(
        lambda seed: getattr(ours, kind)(N_TREES, random_state=seed, n_jobs=1),
        lambda seed: getattr(theirs, kind)(N_TREES, random_state=seed, n_jobs=1),
        (X, X),
        data.y[rows],
        classes=not data.is_regression,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "family"), list_contests())
def test_scores_are_no_worse(name: str, family: str) -> None:
    check_no_worse(set_up_contest(name, family), f"{name} {family}")
