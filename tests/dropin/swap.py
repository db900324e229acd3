"""scikit-learn's own tests with this library's estimators in place of scikit-learn's.

The tests are part of scikit-learn's wheel. A module of them is executed under another name while the names in
`sklearn.ensemble` are replaced; the module's functions keep this library's classes, and `sklearn.ensemble` is
restored at once, so that no other test sees the replacement.
"""

import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sklearn
import sklearn.ensemble
from sklearn.utils.fixes import parse_version

import committee

# The list of differences was made for the tests of this version.
VERSION = (1, 9)


def list_swapped_names() -> list[str]:
    """Public classes of `sklearn.ensemble` that this library has as well."""
    return [name for name in sklearn.ensemble.__all__ if inspect.isclass(getattr(committee, name, None))]


@contextmanager
def swap_ensembles() -> Iterator[None]:
    """Let `from sklearn.ensemble import ...` give this library's classes inside the block."""
    originals = {name: getattr(sklearn.ensemble, name) for name in list_swapped_names()}
    try:
        for name in originals:
            setattr(sklearn.ensemble, name, getattr(committee, name))
        yield
    finally:
        for name, original in originals.items():
            setattr(sklearn.ensemble, name, original)


def load_tests(module_name: str) -> dict[str, object]:
    """Tests and fixtures of a scikit-learn test module, with this library's estimators inside."""
    if parse_version(sklearn.__version__).release[:2] != VERSION:
        pytest.skip(
            f"The differences are listed for scikit-learn {VERSION[0]}.{VERSION[1]}; this is {sklearn.__version__}.",
            allow_module_level=True,
        )
    source = importlib.util.find_spec(module_name)
    if source is None or source.origin is None:
        pytest.skip(f"This installation of scikit-learn has no {module_name}.", allow_module_level=True)
    spec = importlib.util.spec_from_file_location(f"dropin_{module_name.replace('.', '_')}", source.origin)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # classes that are defined in the tests can be pickled
    with swap_ensembles():
        spec.loader.exec_module(module)
    return {name: value for name, value in vars(module).items() if not name.startswith("__")}
