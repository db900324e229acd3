"""Settings of all tests: none depends on how busy the machine is."""

import gc
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from committee._core import testing

# As many processes run tests as there are cores. Threads of OpenMP, which scikit-learn and other libraries start, would
# wait for one another there: some comparisons took five times as long. It is read when these libraries are loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("committee", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("committee")

# Fits of small tables use one thread, however many are asked for: where tests ask for more they mean it.
testing.grant_threads(2)


def pytest_collection_finish() -> None:
    """Modules and items live until the end: the collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """The traceback of an expected failure is plain: to find the statements around it takes long in large modules."""
    style = item.config.option.tbstyle
    if call.excinfo is not None and item.get_closest_marker("xfail") is not None:
        item.config.option.tbstyle = "native"
    try:
        return (yield)
    finally:
        item.config.option.tbstyle = style


def pytest_sessionfinish() -> None:
    """What was left alone is freed at the end; the bindings would report it as leaked."""
    gc.unfreeze()
