"""Training of networks beside its NumPy twin, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from joblib import Parallel, delayed

from committee import _core
from committee._core import testing
from committee.engines.networks import plan_rates, train_network
from tests.interrupts import count_polls, interrupt_at_poll
from tests.naive.network import NaiveNetwork


def make_params(seed: int = 3, dropout: float = 0.0, weight_decay: float = 0.0) -> Any:
    params = _core.NetworkParams()
    params.seed, params.dropout, params.weight_decay = seed, dropout, weight_decay
    return params


def draw_rows(n: int, d: int, n_classes: int, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(n, d)).astype(np.float32)
    values = table[:, 0] * 0.5 + np.abs(table[:, -1])
    target = np.digitize(values, np.quantile(values, np.arange(1, n_classes) / n_classes)) if n_classes else values
    return table, target.astype(np.float32), rng.uniform(0.5, 2.0, n).astype(np.float32)


@pytest.mark.parametrize("hidden", [[], [8], [20, 12], [4, 36, 8]])
@pytest.mark.parametrize("n_classes", [0, 2, 3, 9])
def test_steps_have_the_bits_of_the_twin(hidden: list[int], n_classes: int) -> None:
    table, target, weights = draw_rows(53, 7, n_classes)
    widths = [7, *hidden, n_classes or 1]
    options = {"seed": 12345678901, "dropout": 0.3, "weight_decay": 0.2}
    network = _core.Network(widths, n_classes > 0, make_params(**options))
    twin = NaiveNetwork(widths, n_classes > 0, **options)
    for epoch in range(3):
        rates = np.array([0.01, 0.02, 0.005, 0.03], dtype=np.float32)
        network.run_epoch(table, target, weights, epoch, rates)
        twin.run_epoch(table, target, weights, epoch, rates)
    for k, layer in enumerate(twin.layers):
        np.testing.assert_array_equal(network.copy_layer(k), layer)


def test_forms_for_other_instructions() -> None:
    """Steps of four and of eight rows on x86-64, vectors of eight and of sixteen; rows and columns are left over."""
    table, target, weights = draw_rows(203, 21, 3)

    def train(most: str) -> list[bytes]:
        testing.limit_instructions(most)
        try:
            network = _core.Network([21, 44, 36, 3], True, make_params(dropout=0.1))
            network.run_epoch(table, target, weights, 0, np.full(5, 0.01, dtype=np.float32))
            return [network.copy_layer(k).tobytes() for k in range(3)]
        finally:
            testing.limit_instructions("avx512")

    assert train("plain") == train("avx2") == train("avx512")


def test_a_network_learns() -> None:
    table, target, _ = draw_rows(2000, 4, 0)
    spread = float(target.std())
    target = (target - target.mean()) / spread
    options = {"n_classes": 0, "n_epochs": 20, "batch_rows": 64, "rate": 0.01, "params": make_params()}
    layers = train_network(table, target, np.ones(2000), [32, 32], **options)
    units = table
    for layer in layers[:-1]:
        units = np.maximum(units @ layer[:-1] + layer[-1], 0.0)
    predicted = (units @ layers[-1][:-1] + layers[-1][-1])[:, 0]
    assert ((predicted - target) ** 2).mean() < 0.01


def test_threads_and_weights_in_proportion() -> None:
    table, target, weights = draw_rows(300, 5, 2)

    def train(counts: Any) -> bytes:
        options = {"n_classes": 2, "n_epochs": 3, "batch_rows": 50, "rate": 0.01, "params": make_params(dropout=0.2)}
        return b"".join(layer.tobytes() for layer in train_network(table, target, counts, [16], **options))

    alone = train(weights.astype(np.float64))
    # All weights times a power of two: the same shares of their mean.
    both = Parallel(n_jobs=2, prefer="threads")(delayed(train)(weights.astype(np.float64) * 4.0) for _ in range(4))
    assert set(both) == {alone}


def test_rates_rise_and_fall() -> None:
    rates = plan_rates(0.5, 200)
    assert rates.argmax() < 20
    assert 0.49 < rates.max() <= 0.5
    assert (np.diff(rates[20:]) < 0.0).all()
    assert rates[-1] == 0.0


def test_interrupts() -> None:
    table, target, weights = draw_rows(100, 5, 2)

    def work() -> None:
        network = _core.Network([5, 8, 2], True, make_params())
        network.run_epoch(table, target, weights, 0, np.full(7, 0.01, dtype=np.float32))

    assert count_polls(work) == 7
    for at in (1, 7):
        interrupt_at_poll(at, work)


@pytest.mark.parametrize(
    ("widths", "classify", "options", "sentence"),
    [
        ([3], True, {}, "widths"),
        ([3, 0, 2], True, {}, "widths"),
        ([3, 6, 2], True, {}, "multiples of four"),
        ([3, 4, 2], False, {}, "one output"),
        ([3, 4, 2], True, {"dropout": 1.0}, "out of range"),
        ([3, 4, 2], True, {"dropout": -0.1}, "out of range"),
        ([3, 4, 2], True, {"weight_decay": np.nan}, "out of range"),
    ],
)
def test_networks_that_cannot_be(widths: list[int], classify: bool, options: dict, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        _core.Network(widths, classify, make_params(**options))


def test_rows_that_do_not_fit() -> None:
    table, target, weights = draw_rows(20, 3, 2)
    network = _core.Network([3, 4, 2], True, make_params())
    rates = np.full(2, 0.01, dtype=np.float32)
    for changed, sentence in (
        ({"table": table[:, :2]}, "other inputs"),
        ({"target": target[1:]}, "one entry a row"),
        ({"weights": weights[1:]}, "one entry a row"),
        ({"target": target + 1.0}, "indices of classes"),
        ({"target": target - 0.5}, "indices of classes"),
        ({"target": np.full(20, np.nan, np.float32)}, "indices of classes"),
        ({"rates": np.full(21, 0.01, np.float32)}, "must have a row"),
    ):
        given = {"table": table, "target": target, "weights": weights, "epoch": 0, "rates": rates, **changed}
        with pytest.raises(ValueError, match=sentence):
            network.run_epoch(**given)
    with pytest.raises(IndexError, match="no such layer"):
        network.copy_layer(2)
