"""Forests that are grown on the device have the CPU's bytes."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from committee import _core
from committee.engines.gpu import Device, forest_grower
from committee.engines.gpu.forest import grow_device_forest
from committee.exceptions import EngineError
from tests.gpu.comparing import Floats
from tests.gpu.shim_device import ShimDevice


@dataclass(frozen=True)
class Case:
    """A table, a target and the parameters of the trees."""

    n_rows: int = 500
    n_features: int = 6
    missing: float = 0.0
    decimals: int | None = None
    n_classes: int = 2
    bootstrap: bool = True
    weigh: Callable[[np.random.Generator, int], Floats] | None = None
    some_rows: int = 2048
    balanced: bool = False
    params: dict[str, Any] = field(default_factory=dict)


def _draw(rng: np.random.Generator, n: int) -> Floats:
    return rng.random(n)


def _leave_out(rng: np.random.Generator, n: int) -> Floats:
    return (rng.random(n) < 0.7).astype(float)


CASES = {
    "two classes": Case(missing=0.1, some_rows=100),
    "all features": Case(n_rows=300, params={"max_features": 6}),
    "ties by number": Case(decimals=0, params={"shuffle_ties": False}),
    "coarse": Case(decimals=0, some_rows=64, params={"max_features": 1}),
    "rows of a leaf": Case(params={"min_samples_leaf": 5}),
    "rows of a leaf without bootstrap": Case(bootstrap=False, params={"min_samples_leaf": 5}),
    "depth": Case(params={"max_depth": 3}),
    "decrease": Case(params={"min_impurity_decrease": 0.002}),
    "weight of a leaf": Case(params={"min_weight_leaf": 20.0}),
    "a fold": Case(weigh=_leave_out),
    "balanced": Case(balanced=True),
    "extra-trees": Case(bootstrap=False, missing=0.1, some_rows=100, params={"random_splits": True}),
    "entropy": Case(missing=0.1, params={"criterion": "entropy"}),
    "gain ratio": Case(params={"criterion": "gain_ratio"}),
    "error": Case(params={"criterion": "error"}),
    "several classes": Case(n_classes=5, missing=0.1, some_rows=100),
    "several classes, rows of a leaf": Case(n_classes=3, params={"min_samples_leaf": 4}),
    "several classes, extra-trees": Case(n_classes=4, params={"random_splits": True}),
    "weights": Case(n_classes=3, weigh=_draw, bootstrap=False),
    "two classes, weights": Case(weigh=_draw),
    "numbers": Case(n_classes=0, missing=0.1, some_rows=100, params={"criterion": "squared_error"}),
    "numbers, all features": Case(n_rows=200, n_classes=0, params={"criterion": "squared_error", "max_features": 6}),
    "numbers, rows of a leaf": Case(n_classes=0, params={"criterion": "squared_error", "min_samples_leaf": 7}),
    "numbers, weights": Case(n_classes=0, weigh=_draw, params={"criterion": "friedman_mse"}),
    "numbers, extra-trees": Case(n_classes=0, params={"criterion": "squared_error", "random_splits": True}),
    "counts": Case(n_classes=0, params={"criterion": "poisson"}),
    "many columns": Case(n_rows=200, n_features=70, params={"max_features": 8}),
    "one leaf": Case(n_rows=60, params={"min_samples_split": 1000}),
    "one leaf of numbers": Case(
        n_rows=60, n_classes=0, params={"criterion": "squared_error", "min_samples_split": 1000}
    ),
}


def make_arguments(case: Case) -> tuple[Any, ...]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(case.n_rows, case.n_features)).astype(np.float32)
    if case.decimals is not None:
        X = np.round(X, case.decimals)
    z = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=case.n_rows)
    X[rng.random(X.shape) < case.missing] = np.nan
    weights = None if case.weigh is None else case.weigh(rng, case.n_rows)
    bins = _core.BinMapper.fit(X, weights, np.zeros(case.n_features, np.uint32), 255, 1).transform(X, 1)
    params, plan, sampling = _core.GrowParams(), _core.ForestPlan(), _core.RowSampling()
    params.n_jobs, params.seed, params.shuffle_ties, params.max_features = 1, 7, True, 3
    for name, value in case.params.items():
        setattr(params, name, value)
    sampling.replace, sampling.n_draws = True, case.n_rows if case.bootstrap else 0
    plan.sampling, plan.first_tree, plan.n_trees, plan.balance_classes = sampling, 2, 3, case.balanced
    if case.n_classes == 0:
        values = np.round(np.exp(z / 2)) if params.criterion == "poisson" else z.astype(np.float64)
        return bins, None, None, [], values[:, None].astype(np.float64), weights, params, plan
    edges = np.quantile(z, np.arange(1, case.n_classes) / case.n_classes)
    labels = np.digitize(z, edges).astype(np.uint32)[:, None]
    return bins, None, labels, [case.n_classes], None, weights, params, plan


@pytest.mark.parametrize("name", CASES)
def test_forests_have_the_same_bytes(device: Device, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    monkeypatch.setattr(forest_grower, "_SOME_ROWS", case.some_rows)
    arguments = make_arguments(case)
    expected, expected_importances = _core.grow_forest(*arguments)
    found, importances = grow_device_forest(*arguments, device=device)
    digests = [hashlib.sha256(pickle.dumps(trees)).hexdigest() for trees in (expected, found)]
    assert digests[0] == digests[1]
    np.testing.assert_array_equal(importances, expected_importances)
    if isinstance(device, ShimDevice):
        device.check_guards()


def test_trees_are_grown_in_batches_of_the_memory(device: Device) -> None:
    if not isinstance(device, ShimDevice):
        pytest.skip("its memory cannot be limited")
    arguments = make_arguments(CASES["two classes"])
    device.free_bytes = 120_000
    seen: list[int] = []
    found, _ = grow_device_forest(*arguments, progress=seen.append, device=device)
    assert len(seen) == 4
    assert seen == sorted(seen)
    assert seen[-1] == 3
    assert pickle.dumps(found) == pickle.dumps(_core.grow_forest(*arguments)[0])
    device.free_bytes = 1000
    with pytest.raises(EngineError, match=r"A forest needs .* GB of the GPU's memory beside the table for 1 trees"):
        grow_device_forest(*arguments, device=device)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("exact", True, "exact splits"),
        ("max_leaf_nodes", 8, "best-first growth"),
        ("ccp_alpha", 0.1, "pruning"),
        ("monotonic", [1, 0, 0, 0, 0, 0], "monotone constraints"),
        ("interaction_groups", [[0, 1]], "interaction constraints"),
    ],
)
def test_what_is_not_supported_is_an_error(name: str, value: Any, sentence: str) -> None:
    arguments = make_arguments(CASES["two classes"])
    setattr(arguments[6], name, value)
    with pytest.raises(EngineError, match=sentence):
        grow_device_forest(*arguments, device=ShimDevice())
