"""scikit-learn's own checks over every estimator that the library exports; exporting a class puts it here."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

import committee
from committee import DistributionalBoostingRegressor
from committee.ensembles.boosting import settings
from committee.ensembles.boosting.fit import BaseGradientBoosting
from tests.contract.instances import make_instance

EXPORTED = [getattr(committee, name) for name in sorted(committee.__all__)]
FEW = {"n_estimators": 10, "max_iter": 20, "n_rounds": 10, "n_bags": 3}
ESTIMATORS = [thing for thing in EXPORTED if isinstance(thing, type) and issubclass(thing, BaseEstimator)]


def list_exceptions(estimator):
    """Checks that cannot hold for an estimator, with the reason."""
    if hasattr(estimator, "stopping_folds") or hasattr(estimator, "outer_bags"):
        reason = "the fewest rows of a leaf are rows, whatever they weigh, and rows are held out by their place"
        return dict.fromkeys(
            [
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ],
            reason,
        )
    if getattr(estimator, "bootstrap", False) or type(estimator).__name__ == "ArcingClassifier":
        reason = "a bootstrap draws rows by their place, and the check compares tables in different order"
        return dict.fromkeys(
            [
                "check_sample_weight_equivalence_on_dense_data",
                "check_sample_weight_equivalence_on_sparse_data",
            ],
            reason,
        )
    return {}


def name_part(part):
    """The estimator by its class, since texts of all parameters take seconds; the check by its function."""
    if isinstance(part, BaseEstimator):
        return type(part).__name__
    options = ",".join(f"{name}={value}" for name, value in part.keywords.items())
    return f"{part.func.__name__}({options})" if options else part.func.__name__


# A few members show all that the checks ask of an ensemble. Models that choose the number of rounds do so by default.
INSTANCES = [
    make_instance(estimator, **({} if hasattr(make_instance(estimator), "stopping_folds") else FEW))
    for estimator in ESTIMATORS
]
CHECKS = parametrize_with_checks(INSTANCES, expected_failed_checks=list_exceptions).mark.args[1]


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch, request):
    """The most rounds of models that choose their number: they go on for as long as it takes to stop, not for 1000.

    Ordinal models search their thresholds in every round and pass with fewer.
    """
    few = 8 if "Ordinal" in request.node.name else BaseGradientBoosting.tuned_patience
    for family in (BaseGradientBoosting, DistributionalBoostingRegressor):
        monkeypatch.setattr(family, "tuned_patience", few)
    monkeypatch.setitem(settings._TUNED, "n_estimators", 2 * few)


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=name_part)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_there_are_estimators_to_check():
    assert len(ESTIMATORS) >= 5
