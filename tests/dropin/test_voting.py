"""scikit-learn's `ensemble/tests/test_voting.py` with this library's estimators."""

from tests.dropin.swap import load_tests

globals().update(load_tests("sklearn.ensemble.tests.test_voting"))
