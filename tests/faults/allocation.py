"""Runs calls of the library again and again; each time another request of the core for memory fails.

Usage: LD_PRELOAD=failing_new.so python -m tests.faults.allocation FIRST STEP:NAME... Prints a line of JSON before each
request that fails, so that one which ends the process is known, and the counts of each call. FIRST is the first request
of the first call; every STEP-th request of a call fails.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import committee
from committee import _core
from committee.exceptions import ModelFileError
from committee.inspection import partial_dependence, permutation_importance, shap_values

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
SPARSE = sp.csc_matrix(np.where(X > 0.5, X, 0.0))
VALUES = X[:, 0] + X[:, 1] * X[:, 2]
CLASSES = (VALUES > 0).astype(int)
MANY = np.digitize(VALUES, [-1.0, 0.0, 1.0])
TIMES = np.exp(VALUES)
FOLDER = Path(tempfile.mkdtemp(prefix="allocation-"))

#: Name, how it is made, and its target.
FAMILIES: dict[str, tuple[Callable[[], Any], Any]] = {
    "tree": (lambda: committee.DecisionTreeClassifier(max_depth=3, random_state=0, n_jobs=1), CLASSES),
    "exact tree": (lambda: committee.DecisionTreeRegressor(exact=True, max_depth=3, random_state=0, n_jobs=1), VALUES),
    "median tree": (lambda: committee.DecisionTreeRegressor(criterion="absolute_error", max_depth=2, n_jobs=1), VALUES),
    "forest": (lambda: committee.RandomForestClassifier(2, random_state=0, n_jobs=1, oob_score=True), CLASSES),
    "forest of classes": (lambda: committee.RandomForestClassifier(2, random_state=0, n_jobs=1), MANY),
    "threads": (lambda: committee.RandomForestRegressor(4, random_state=0, n_jobs=2), VALUES),
    "extra trees": (lambda: committee.ExtraTreesRegressor(2, random_state=0, n_jobs=1), VALUES),
    "boosting": (lambda: committee.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2, n_jobs=1), CLASSES),
    "boosted classes": (
        lambda: committee.HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=5, n_jobs=1),
        MANY,
    ),
    "AdaBoost": (lambda: committee.AdaBoostClassifier(n_estimators=2, n_jobs=1), CLASSES),
    "bagging": (lambda: committee.BaggingRegressor(n_estimators=2, random_state=0, n_jobs=1), VALUES),
    "isolation": (lambda: committee.IsolationForest(n_estimators=2, random_state=0, n_jobs=1), None),
    "survival": (lambda: committee.RandomSurvivalForest(n_estimators=2, random_state=0, n_jobs=1), TIMES),
    "ranking": (
        lambda: committee.GradientBoostingRanker(n_estimators=2, min_samples_leaf=2, random_state=0, n_jobs=1),
        MANY,
    ),
    "words": (lambda: committee.BoosTexterClassifier(n_estimators=2), CLASSES),
}
EXPLAINED = ("tree", "forest", "extra trees", "boosting")


class Call(NamedTuple):
    """What is called, what must be as before when it failed, and what is read from what it returned."""

    work: Callable[[], Any]
    kept: Any = None
    read: Callable[[Any], Any] = lambda returned: returned

    def run(self) -> bytes:
        """The result of a call in which nothing fails."""
        return pickle.dumps(self.read(self.work()))


def fit_family(model: Any, name: str) -> Any:
    queries = {"qid": np.arange(len(X)) // 8} if name == "ranking" else {}
    return model.fit(X, FAMILIES[name][1], **queries)


@cache
def make_fitted(name: str) -> Any:
    return fit_family(FAMILIES[name][0](), name)


def answer(model: Any) -> Any:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def make_fit(name: str) -> Call:
    model = pickle.loads(pickle.dumps(make_fitted(name)))
    return Call(lambda: fit_family(model, name), model, answer)


def make_save(name: str) -> Call:
    model = make_fitted(name)

    def save() -> bytes:
        committee.save(model, FOLDER / "saved")
        return (FOLDER / "saved").read_bytes()

    return Call(save, model)


def make_load(name: str, mmap: bool) -> Call:
    committee.save(make_fitted(name), FOLDER / "whole")
    return Call(lambda: answer(committee.load(FOLDER / "whole", mmap=mmap)))


def make_binning(name: str) -> Call:
    levels = np.zeros(X.shape[1], dtype=np.uint32)
    mapper = _core.BinMapper.fit(X, None, levels, 255, 1)
    parts = (SPARSE.data, SPARSE.indices, SPARSE.indptr, SPARSE.shape)
    calls: dict[str, Callable[[], Any]] = {
        "fit": lambda: _core.BinMapper.fit(X, None, levels, 16, 1),
        "transform": lambda: mapper.transform(X, 1),
        "fit_csc": lambda: _core.BinMapper.fit_csc(*parts, None, levels, 255, 1),
        "transform_csc": lambda: mapper.transform_csc(*parts, 1),
        "presort": lambda: _core.presort_columns(X, levels, 1),
    }
    work = calls[name]
    return Call(lambda: work() is None)


@cache
def make_calls() -> dict[str, Callable[[], Call]]:
    """What is tried, by name."""
    calls: dict[str, Callable[[], Call]] = {}
    for name in FAMILIES:
        calls[f"fit {name}"] = lambda name=name: make_fit(name)
        calls[f"predict {name}"] = lambda name=name: Call(lambda: answer(make_fitted(name)), make_fitted(name))
        calls[f"save {name}"] = lambda name=name: make_save(name)
        calls[f"load {name}"] = lambda name=name: make_load(name, mmap=name == "forest")
    for name in EXPLAINED:
        calls[f"SHAP {name}"] = lambda name=name: Call(lambda: shap_values(make_fitted(name), X[:3]).values)
    for name in ("fit", "transform", "fit_csc", "transform_csc", "presort"):
        calls[f"binning: {name}"] = lambda name=name: make_binning(name)
    forest = "forest"
    calls["apply"] = lambda: Call(lambda: make_fitted(forest).apply(X))
    calls["SHAP pairs"] = lambda: Call(lambda: shap_values(make_fitted(forest), X[:2], interactions=True).values)
    calls["SHAP background"] = lambda: Call(lambda: shap_values(make_fitted("threads"), X[:2], background=X[:5]).values)
    calls["permutation"] = lambda: Call(
        lambda: (
            permutation_importance(make_fitted(forest), X[:20], CLASSES[:20], n_repeats=1, random_state=0).importances
        )
    )
    calls["dependence"] = lambda: Call(
        lambda: partial_dependence(make_fitted(forest), X[:9], [0], grid_resolution=3).average
    )
    calls["pickle"] = lambda: Call(lambda: answer(pickle.loads(pickle.dumps(make_fitted(forest)))))
    return calls


def is_lack_of_memory(error: BaseException) -> bool:
    # A file that needs more memory than there is may only claim to: that is said of the file, with the cause.
    return isinstance(error, MemoryError) or (
        isinstance(error, ModelFileError) and isinstance(error.__cause__, MemoryError)
    )


def try_at(library: Any, call: Call, at: int, expected: bytes) -> str:
    """What comes of the call if that request fails: succeeded, no memory, or what is wrong."""
    before = dict(vars(call.kept)) if call.kept is not None else {}
    library.arm(at)
    try:
        found = call.work()
        library.arm(-1)
    except BaseException as error:
        library.arm(-1)
        if not is_lack_of_memory(error):
            return f"raised {error!r}"
        after = dict(vars(call.kept)) if call.kept is not None else {}
        if after.keys() != before.keys() or any(after[name] is not before[name] for name in before):
            return "the estimator is not as before"
        return "no memory"
    return "succeeded" if pickle.dumps(call.read(found)) == expected else "another result"


def sweep(library: Any, name: str, first: int, step: int) -> None:
    """Every `step`-th request of a call, from `first` on."""
    call = make_calls()[name]()
    expected = call.run()  # what is made once, such as threads and tables, is there from now on
    library.arm(0)
    call.work()
    n_requests = library.count()
    library.arm(-1)
    counts: dict[str, Any] = {"name": name, "requests": n_requests, "succeeded": 0, "no memory": 0, "wrong": {}}
    for at in range(first, n_requests + 1, step):
        print(json.dumps({"at": at, **counts}), flush=True)
        outcome = try_at(library, call, at, expected)
        if outcome in counts:
            counts[outcome] += 1
        else:
            counts["wrong"][at] = outcome
    if call.run() != expected:
        counts["wrong"][0] = "afterwards it gives another result"
    print(json.dumps({"at": None, **counts}), flush=True)


def main(first: int, words: list[str]) -> None:
    library = ctypes.CDLL(os.environ["LD_PRELOAD"])
    library.count.restype = ctypes.c_long
    library.arm.argtypes = [ctypes.c_long]
    for word in words:
        step, _, name = word.partition(":")
        sweep(library, name, first, int(step))
        first = 1


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), sys.argv[2:])
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
