"""Settings of all tests: none depends on how busy the machine is."""

import gc
import os

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


def pytest_sessionfinish() -> None:
    """What was left alone is freed at the end; the bindings would report it as leaked."""
    gc.unfreeze()
