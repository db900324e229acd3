"""Eight Python threads at once: fits and predictions, on models of their own and on one that all share."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import committee
from committee.inspection import shap_values

N_THREADS = 8
RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 5))
Y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)


def make_forest(n_jobs: int | None) -> Any:
    return committee.RandomForestClassifier(4, max_depth=6, random_state=0, n_jobs=n_jobs)


def make_boosting(n_jobs: int | None) -> Any:
    return committee.HistGradientBoostingClassifier(max_iter=4, random_state=0, n_jobs=n_jobs)


def make_stumps(n_jobs: int | None) -> Any:
    return committee.AdaBoostClassifier(n_estimators=4, random_state=0, n_jobs=n_jobs)


MAKERS: list[Callable[[int | None], Any]] = [make_forest, make_boosting, make_stumps]


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_eight_threads_fit_and_predict_as_one_does(n_jobs: int | None) -> None:
    shared = [make(1).fit(X, Y) for make in MAKERS]
    expected = [model.predict_proba(X).tobytes() for model in shared]
    explained = shap_values(shared[0], X[:20]).values.tobytes()
    together = threading.Barrier(N_THREADS)

    def work(number: int) -> list[bool]:
        together.wait(600)
        found = []
        for at in range(2 * len(MAKERS)):
            which = (number + at) % len(MAKERS)
            model = MAKERS[which](n_jobs).fit(X, Y) if (number + at) % 2 else shared[which]
            found.append(model.predict_proba(X).tobytes() == expected[which])
        found.append(shap_values(shared[0], X[:20]).values.tobytes() == explained)
        return found

    with ThreadPoolExecutor(N_THREADS) as pool:
        for found in pool.map(work, range(N_THREADS)):
            assert all(found)
            assert len(found) == 7


def test_eight_threads_make_what_a_model_makes_once() -> None:
    """A model that was just loaded derives what prediction needs when it is first asked; here by all at once."""
    model = make_forest(1).fit(X, Y)
    expected = model.predict_proba(X).tobytes()
    for _ in range(5):
        fresh = pickle.loads(pickle.dumps(model))
        together = threading.Barrier(N_THREADS)

        def ask(_: int, fresh: Any = fresh, together: Any = together) -> bytes:
            together.wait(600)
            answer: bytes = fresh.predict_proba(X).tobytes()
            return answer

        with ThreadPoolExecutor(N_THREADS) as pool:
            assert set(pool.map(ask, range(N_THREADS))) == {expected}
