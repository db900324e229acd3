"""A kernel of many landmarks in folds: out-of-fold predictions, model files, exports and its place in a budget."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from committee import CommitteeClassifier, CommitteeRegressor, load, save
from committee.automatic.kernel_member import FoldKernelMember, KernelMember
from committee.automatic.portfolio import PORTFOLIO
from committee.automatic.time_limits import has_time
from committee.ensembles.combining.training_set import TrainingSet
from committee.exceptions import ParameterError

X, Y = load_digits(n_class=3, return_X_y=True)


def fit(n_jobs: int, **params: Any) -> Any:
    usual = {"portfolio": ["large kernel", "linear"], "random_state": 0, "n_jobs": n_jobs}
    return CommitteeClassifier(**{**usual, **params}).fit(X, Y)


def test_it_is_a_kernel_of_more_landmarks() -> None:
    one, other = FoldKernelMember(True).fit(X, Y), KernelMember(True, n_landmarks=2400).fit(X, Y)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert one._left_out is None
    assert one.to_formula().schema.n_features == X.shape[1]


def test_a_committee_has_the_mean_of_the_folds(tmp_path: Path) -> None:
    model = fit(1)
    member = next(one for one in model.estimators_ if hasattr(one, "models"))
    assert [type(one) for one in member.models] == [FoldKernelMember] * 5
    wanted = model.predict_proba(X)
    np.testing.assert_array_equal(fit(2).predict_proba(X), wanted)
    np.testing.assert_array_equal(model.predict_proba(X[17:18])[0], wanted[17])
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), wanted)
    np.testing.assert_allclose(model.predictor().predict_proba(X), wanted, rtol=0, atol=1e-10)


def test_values_have_none() -> None:
    model = CommitteeRegressor(portfolio=["large kernel"])
    with pytest.raises(ParameterError, match="large kernel"):
        model.fit(X, Y.astype(float))


def test_one_fit_tells_the_time_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("committee.automatic.time_limits.time", SimpleNamespace(perf_counter=lambda: clock.now))

    class Timed(TrainingSet):
        def fit_member(self, member: Any, rows: Any, params: Any) -> Any:
            clock.now += 3.0
            return member

    # A kernel that leaves rows out itself is fitted in folds where there are groups.
    for name, kernel in (("large kernel", FoldKernelMember(True)), ("kernel", KernelMember(True))):
        entry = next(e for e in PORTFOLIO if e.name == name)
        for deadline, possible in ((18.0, True), (17.9, False)):
            clock.now = 0.0
            assert has_time(entry, kernel, Timed(X, Y), {}, 5, [0.0, 0.5], deadline) == possible
