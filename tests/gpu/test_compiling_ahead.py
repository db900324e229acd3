"""Kernels are compiled while a table is binned: those that the fit then takes, each part once."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from committee import ExtraTreesRegressor, HistGradientBoostingClassifier, RandomForestClassifier, _core
from committee.engines.gpu import device_bins
from committee.engines.gpu.boosting_kernels import BoostingKernels, foresee_kernels
from committee.engines.gpu.device import _CupyDevice
from committee.engines.gpu.forest_grower import foresee_kind
from committee.engines.gpu.options import TreeOptions
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence

N_ROWS = device_bins.LEAST_DEVICE_ROWS
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "leaves of 20 rows": {"min_samples_leaf": 20},
    "leaves of some weight": {"min_weight_leaf": 0.01},
    "drawn features": {"colsample_tree": 0.5},
    "monotone": {"monotonic": [1, 0]},
    "drawn by gradient": {"goss_top": 0.2, "goss_other": 0.1},
}


@pytest.fixture(scope="module")
def bins() -> _core.BinnedMatrix:
    X = np.random.default_rng(0).integers(0, 9, (N_ROWS, 2)).astype(np.float32)
    return _core.BinMapper.fit(X, None, np.zeros(2, np.uint32), 255, 1).transform(X, 1)


@pytest.mark.parametrize("loss", ["logistic", "poisson", "softmax", "given"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_kernels_of_a_fit_are_foreseen(bins: _core.BinnedMatrix, case: str, weighted: bool, loss: str) -> None:
    params = _core.BoostingParams()
    for name, value in CASES[case].items():
        setattr(params, name, value)
    weights = np.arange(1.0, N_ROWS + 1) if weighted else None
    given, n_scores = loss == "given", 3 if loss == "softmax" else 1
    name = "squared_error" if given else loss
    plan = _core.plan_boosting(bins, weights, _core.Loss.make(name, float("nan"), n_scores, []), params)
    options = TreeOptions(bins, plan, params)
    taken = BoostingKernels.choose(plan, options, params, name, n_scores, N_ROWS, given=given)
    assert foresee_kernels(N_ROWS, weights, name, n_scores, params, given=given) == taken


def test_the_kernels_of_a_small_fit_are_not() -> None:
    assert foresee_kernels(N_ROWS - 1, None, "logistic", 1, _core.BoostingParams(), given=False) is None


@pytest.mark.parametrize("n_classes", [None, 2, 3])
@pytest.mark.parametrize("bootstrap", [False, True])
def test_the_kind_of_a_forest_is_foreseen(n_classes: int | None, bootstrap: bool) -> None:
    X = np.arange(60, dtype=np.float32).reshape(30, 2)
    data = _core.BinMapper.fit(X, None, np.zeros(2, np.uint32), 255, 1).transform(X, 1)
    params, plan = _core.GrowParams(), _core.ForestPlan()
    plan.n_trees = 1
    if bootstrap:
        plan.sampling.n_draws, plan.sampling.replace = 30, True
    labels, values = np.arange(30, dtype=np.uint32)[:, None] % (n_classes or 1), None
    if n_classes is None:
        labels, values = None, np.arange(30.0)[:, None]
        params.criterion = "squared_error"
    sample = _core.sample_forest(data, labels, [n_classes or 0] if n_classes else [], values, None, params, plan)
    assert foresee_kind(n_classes, params) == sample.kinds[0]


class Recorder:
    """A device that keeps what it was asked to compile."""

    def __init__(self) -> None:
        self.compiled: list[tuple[str, list[str]]] = []

    def compile(self, source: str, defines: Sequence[str], kernels: Sequence[str] = ()) -> None:
        assert kernels
        self.compiled.append((source, list(defines)))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            HistGradientBoostingClassifier(early_stopping=False),
            ("boosting.cu", ["COMMITTEE_NARROW", "COMMITTEE_FRESH_LOSS=4"]),
        ),
        (RandomForestClassifier(), ("forest.cu", ["COMMITTEE_KIND=0", "COMMITTEE_CRITERION=Gini"])),
        (
            ExtraTreesRegressor(),
            ("forest.cu", ["COMMITTEE_KIND=3", "COMMITTEE_CRITERION=SquaredError", "COMMITTEE_RANDOM"]),
        ),
    ],
)
def test_a_fit_compiles_before_it_bins(model: Any, expected: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    device, seen = Recorder(), []

    def bin_nothing(*_: Any) -> Any:
        seen.extend(device.compiled)
        raise EngineError("nothing is binned here")

    monkeypatch.setattr("committee.engines.gpu.device.open_device", lambda: device)
    monkeypatch.setattr(device_bins, "bin_on_device", bin_nothing)
    X = np.zeros((N_ROWS, 1), np.float32)
    X[::2] = 1.0
    model.set_params(engine="gpu")
    with pytest.raises(EngineError, match="nothing is binned here"):
        model.fit(X, X[:, 0].astype(int))
    assert seen == [expected]


def test_parts_are_loaded_once() -> None:
    loaded: list[str] = []
    asked: list[str] = []  # a kernel that does nothing, once for each list of options

    class Module:
        def __init__(self, code: str, options: tuple[str, ...], backend: str) -> None:
            self._code = code

        def compile(self) -> None:
            (asked if "do_nothing" in self._code else loaded).append(self._code)

        def get_function(self, name: str) -> Any:
            assert f" {name}(" in self._code.split('extern "C" __global__', 1)[1]
            return lambda *_, **__: None

    class Current(nullcontext[None]):
        id = 0
        attributes = {"MultiProcessorCount": 1}  # noqa: RUF012 - as CuPy has it

        def __init__(self, _: int = 0) -> None:
            super().__init__()

    cuda = SimpleNamespace(Stream=lambda non_blocking: nullcontext(), Device=Current)
    device = _CupyDevice(SimpleNamespace(cuda=cuda, RawModule=Module))
    first = device.compile("forest.cu", ["COMMITTEE_KIND=0"], ["grow_few", "grow_many"])
    again = device.compile("forest.cu", ["COMMITTEE_KIND=0"], ["grow_few", "grow_many"])
    assert first is again
    for kernel in ("grow_few", "grow_many", "grow_few"):
        first.launch(kernel, 1, 32, [])
    assert len(loaded) == 2
    first.launch("grow_some", 1, 32, [])
    again.launch("grow_some", 1, 32, [])
    assert len(loaded) == 3
    assert device.compile("forest.cu", ["COMMITTEE_KIND=1"]) is not first
    assert len(loaded) == 3
    assert len(asked) == 2
