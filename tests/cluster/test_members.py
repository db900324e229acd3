"""Forests, bags and ensembles of members inside `committee.cluster`: the same bytes as without."""

import logging
import os
import pickle
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import committee
from committee.exceptions import DataSizeError, ParameterError, ParameterTypeError
from tests.cluster.tables import MIXED, Y_CLASS, Y_VALUE, digest_model

FITS: dict[str, Callable[[], Any]] = {
    "forest, out of bag": lambda: committee.RandomForestClassifier(25, oob_score=True, random_state=1).fit(
        MIXED, Y_CLASS
    ),
    "regression forest": lambda: committee.RandomForestRegressor(8, random_state=1, max_samples=0.5).fit(
        MIXED, Y_VALUE
    ),
    "extra-trees": lambda: committee.ExtraTreesClassifier(9, random_state=2).fit(MIXED, Y_CLASS),
    "exact forest": lambda: committee.ExtraTreesRegressor(6, random_state=2, bootstrap="group").fit(
        MIXED, Y_VALUE, groups=np.arange(len(MIXED)) % 20
    ),
    "stops early": lambda: committee.RandomForestClassifier(60, oob_score=True, oob_patience=10, random_state=0).fit(
        MIXED, Y_CLASS
    ),
    "bag of trees": lambda: committee.BaggingClassifier(
        n_estimators=25, max_features=0.5, oob_score=True, random_state=3
    ).fit(MIXED, Y_CLASS),
    "bag of others": lambda: committee.BaggingClassifier(
        LogisticRegression(), n_estimators=20, oob_score=True, random_state=3
    ).fit(np.nan_to_num(MIXED[["a", "b"]].to_numpy()), Y_CLASS),
    "voting": lambda: committee.VotingClassifier(
        [("f", committee.RandomForestClassifier(5)), ("t", committee.DecisionTreeClassifier(max_depth=3))],
        weights="learned",
        voting="soft",
        random_state=4,
    ).fit(MIXED, Y_CLASS),
    "stacking": lambda: committee.StackingRegressor(
        [("f", committee.RandomForestRegressor(5)), ("t", committee.DecisionTreeRegressor(max_depth=3))],
        cv=3,
        random_state=4,
    ).fit(MIXED, Y_VALUE),
    "super learner": lambda: committee.SuperLearnerRegressor(
        [("f", committee.RandomForestRegressor(5)), ("t", committee.DecisionTreeRegressor(max_depth=3))],
        cv=3,
        random_state=4,
    ).fit(MIXED, Y_VALUE),
    "selection": lambda: committee.EnsembleSelectionClassifier(
        [("f", committee.RandomForestClassifier(5)), ("t", committee.DecisionTreeClassifier(max_depth=3))],
        cv=3,
        random_state=4,
    ).fit(MIXED, Y_CLASS),
}


@pytest.fixture(scope="module")
def alone() -> dict[str, str]:
    return {name: digest_model(fit()) for name, fit in FITS.items()}


@pytest.mark.parametrize(("engine", "n_workers"), [("executor", 2), ("dask", 3), ("ray", 2)])
def test_equal_to_the_fit_without_a_cluster(
    engine: str, n_workers: int, make_workers: Any, alone: dict[str, str]
) -> None:
    with committee.cluster(make_workers(engine, n_workers), n_workers=n_workers, distribute="always") as active:
        found = {name: digest_model(fit()) for name, fit in FITS.items()}
        assert found == alone
        assert active.traffic.rounds >= len(FITS)
        assert active.traffic.lost == 0


def test_executor_of_several_processes(alone: dict[str, str], fork_context: Any) -> None:
    with (
        ProcessPoolExecutor(2, mp_context=fork_context) as executor,
        committee.cluster(executor, distribute="always"),
    ):
        assert digest_model(FITS["extra-trees"]()) == alone["extra-trees"]


class KillOnce(LogisticRegression):
    """Ends the process that fits it, the first time."""

    def __init__(self, marker: str = "") -> None:
        super().__init__()
        self.marker = marker

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        try:
            Path(self.marker).touch(exist_ok=False)
        except FileExistsError:
            return super().fit(X, y, sample_weight)
        os.kill(os.getpid(), signal.SIGKILL)
        return self


def test_worker_killed_while_members_are_fitted(make_workers: Any, tmp_path: Path) -> None:
    X = np.nan_to_num(MIXED[["a", "b"]].to_numpy())
    (tmp_path / "spared").touch()
    plain = committee.BaggingClassifier(KillOnce(str(tmp_path / "spared")), n_estimators=4, random_state=0).fit(
        X, Y_CLASS
    )
    with committee.cluster(make_workers("dask", 2), n_workers=2, distribute="always") as active:
        bag = committee.BaggingClassifier(KillOnce(str(tmp_path / "killed")), n_estimators=4, random_state=0)
        bag.fit(X, Y_CLASS)
        assert active.traffic.lost == 1
    assert np.array_equal(bag.predict_proba(X), plain.predict_proba(X))


def test_small_fits_stay_here_and_the_log_says_so(caplog: pytest.LogCaptureFixture, alone: dict[str, str]) -> None:
    with caplog.at_level(logging.INFO, "committee"), committee.cluster(2) as active:
        assert digest_model(FITS["extra-trees"]()) == alone["extra-trees"]
        assert active._hosts is None
    assert "A forest of 9 trees is fitted in this process" in caplog.text


def test_bins_larger_than_a_worker_are_refused(quick_processes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with committee.cluster(1, distribute="always") as active:
        monkeypatch.setattr(active.hosts.pool, "find_memory", lambda: 100)
        with pytest.raises(DataSizeError, match="GiB on each worker"):
            FITS["extra-trees"]()


def test_parameters_are_checked() -> None:
    with (
        pytest.raises(ParameterTypeError, match=r"a number of processes, a Dask client.*got 'spark'"),
        committee.cluster("spark") as active,
    ):
        assert active.hosts
    with pytest.raises(ParameterError, match="at least one process"), committee.cluster(0) as active:
        assert active.hosts
    with pytest.raises(ParameterError, match="'auto' or 'always'"):
        committee.cluster(2, distribute="never")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="seconds > 0"):
        committee.cluster(2, time_limit=0)


def test_error_of_a_member_is_that_of_the_member(quick_processes: None) -> None:
    bag = committee.BaggingClassifier(LogisticRegression(C=-1.0), n_estimators=3)
    X = np.nan_to_num(MIXED[["a", "b"]].to_numpy())
    with pytest.raises(ValueError, match="'C' parameter of LogisticRegression") as alone_error:
        bag.fit(X, Y_CLASS)
    with committee.cluster(1, distribute="always"), pytest.raises(type(alone_error.value), match="'C' parameter"):
        bag.fit(X, Y_CLASS)


def test_a_model_from_a_cluster_pickles(alone: dict[str, str], quick_processes: None) -> None:
    with committee.cluster(1, distribute="always"):
        model = FITS["bag of trees"]()
    assert digest_model(pickle.loads(pickle.dumps(model))) == alone["bag of trees"]


@pytest.mark.parametrize("family", [committee.HistGradientBoostingClassifier, committee.RandomForestClassifier])
def test_wide_sparse_tables_stay_here(family: Any, caplog: pytest.LogCaptureFixture) -> None:
    """In bytes this table would take 2 GB."""
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(0, 2000, 4000), rng.integers(0, 1_000_000, 4000)
    X = sparse.csr_array((np.ones(4000), (rows, columns)), shape=(2000, 1_000_000))
    y = rng.integers(0, 2, 2000)
    size = (
        {"max_iter": 2} if family is committee.HistGradientBoostingClassifier else {"n_estimators": 2, "max_depth": 3}
    )
    expected = family(random_state=0, **size).fit(X, y).predict_proba(X)
    with caplog.at_level("INFO", "committee"), committee.cluster(2, distribute="always") as active:
        found = family(random_state=0, **size).fit(X, y).predict_proba(X)
        assert active.traffic.sent == 0
    np.testing.assert_array_equal(found, expected)
    assert "1000000 columns is kept as entries" in caplog.text
