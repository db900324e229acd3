"""Workers of others are not oversubscribed: a task that runs beside others takes one thread unless it is given more."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee import RandomForestClassifier
from committee.base import resolve_jobs


class Actor:
    """Has a worker of Dask to itself."""

    def resolve(self, n_jobs: int | None) -> int:
        return resolve_jobs(n_jobs)


def fit_and_count() -> tuple[Any, int]:
    """The answers of a fit that is worth several threads, and how many threads it started."""
    import os

    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 6)).astype(np.float32)
    before = set(os.listdir("/proc/self/task"))
    model = RandomForestClassifier(4, max_depth=5, random_state=0).fit(X, X[:, 0] > 0)
    return model.predict_proba(X[:50]), len(set(os.listdir("/proc/self/task")) - before)


def test_a_task_of_dask_takes_one_thread(dask_client: Any) -> None:
    found = [dask_client.submit(resolve_jobs, n_jobs, pure=False).result() for n_jobs in (None, 3, -1)]
    assert found == [1, 3, -1]
    assert resolve_jobs(None) == 0
    answers = [future.result() for future in [dask_client.submit(fit_and_count, pure=False) for _ in range(3)]]
    assert [n_started for _, n_started in answers] == [0, 0, 0]
    assert all(np.array_equal(answers[0][0], other) for other, _ in answers)


def test_an_actor_of_dask_decides_by_itself(dask_client: Any) -> None:
    """Our own hosts are actors, and are told how many threads their worker has."""
    with dask_client.as_current():
        actor = dask_client.submit(Actor, actor=True).result()
        assert actor.resolve(None).result() == 0
