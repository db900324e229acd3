"""Forests beside scikit-learn's on public data: test scores within the standard error."""

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


def set_up_contest(name: str, family: str) -> Contest:
    data = load_data_set(name)
    kind = family + ("Regressor" if name in REGRESSION else "Classifier")
    return Contest(
        lambda seed: getattr(ours, kind)(N_TREES, random_state=seed, n_jobs=1),
        lambda seed: getattr(theirs, kind)(N_TREES, random_state=seed, n_jobs=1),
        (data.filled, data.filled),
        data.y,
        classes=not data.is_regression,
        most_rows=MOST_ROWS,
    )


@pytest.mark.slow
@pytest.mark.parametrize("family", ["RandomForest", "ExtraTrees"])
@pytest.mark.parametrize("name", SETS)
def test_scores_are_no_worse(name: str, family: str) -> None:
    check_no_worse(set_up_contest(name, family), f"{name} {family}")
