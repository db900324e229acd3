"""scikit-learn's tests of histogram gradient boosting with this library's estimators."""

from tests.dropin.swap import load_tests

globals().update(load_tests("sklearn.ensemble._hist_gradient_boosting.tests.test_gradient_boosting"))
