"""What scikit-learn's test configuration gives to its tests, and the list of known differences."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import fetch_california_housing

from tests.dropin.differences import find_difference

# Names of scikit-learn's tests by module, as they were collected.
COLLECTED = pytest.StashKey[dict[str, list[str]]]()


@pytest.fixture
def global_random_seed() -> int:
    """The seed that scikit-learn's tests use by default."""
    return 42


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request: pytest.FixtureRequest) -> type:
    """Precision of the input."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def fetch_california_housing_fxt() -> Callable[..., object]:
    """California housing from scikit-learn's cache in COMMITTEE_DATA; nothing is downloaded."""
    cache = Path(os.environ.get("COMMITTEE_DATA", "")) / "scikit_learn_data"
    if "COMMITTEE_DATA" not in os.environ or not cache.is_dir():
        pytest.skip("California housing is needed: set COMMITTEE_DATA to a folder with scikit_learn_data.")

    def fetch(**options: object) -> object:
        return fetch_california_housing(data_home=cache, download_if_missing=False, **options)

    return fetch


def pytest_configure(config: pytest.Config) -> None:
    """Know the marks of scikit-learn's tests."""
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's mark for tests that threads would disturb")


@pytest.hookimpl(tryfirst=True)  # before any test is deselected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Expect the listed tests to fail; one that begins to pass must leave the list."""
    collected = config.stash.setdefault(COLLECTED, {})
    for item in items:
        module = item.path.stem
        if item.path.parent != Path(__file__).parent or module == "test_list":
            continue
        collected.setdefault(module, []).append(item.name)
        difference = find_difference(module, item.name)
        if difference is not None:
            item.add_marker(pytest.mark.xfail(reason=f"{difference.kind}: {difference.reason}", strict=True))
        # A warning of this library that scikit-learn's test does not expect is no failure of the drop-in.
        # It comes first: the test's own filters are applied after it.
        item.add_marker(pytest.mark.filterwarnings("default"), append=False)
