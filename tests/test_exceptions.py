"""The tree of errors, and whom a warning blames."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from committee import exceptions
from committee.data.targets import read_target

BUILTINS = {
    "ParameterError": ValueError,
    "ParameterTypeError": TypeError,
    "DataError": ValueError,
    "DataSizeError": MemoryError,
    "DataTypeError": TypeError,
}


@pytest.mark.parametrize("name", BUILTINS)
def test_every_error_is_also_the_builtin_that_callers_catch(name: str) -> None:
    error = getattr(exceptions, name)
    assert issubclass(error, exceptions.CommitteeError)
    assert issubclass(error, BUILTINS[name])
    assert str(error("A sentence.")) == "A sentence."


def test_the_docstring_draws_every_class() -> None:
    drawn = exceptions.__doc__ or ""
    for name in exceptions.__all__:
        if name not in ("NotFittedError", "warn_caller"):
            assert name in drawn


def test_not_fitted_is_scikit_learns() -> None:
    assert exceptions.NotFittedError is NotFittedError


def test_a_warning_blames_the_line_outside_the_library() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_target(np.ones((2, 1)), 2, "Tree", multi_output=False)
    assert [w.filename for w in caught] == [__file__]
