"""Pictures are drawn without a screen, and none is left open."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest


@pytest.fixture(autouse=True)
def close_figures():
    before = set(plt.get_fignums())
    yield
    plt.close("all")
    assert not before, "an earlier test left figures open"


@pytest.fixture
def ax():
    figure, axes = plt.subplots(figsize=(8, 5))
    yield axes
    plt.close(figure)
