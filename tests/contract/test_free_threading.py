"""Eight Python threads fit and predict at once; on a free-threaded interpreter the module takes no lock back."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

import committee

N_THREADS = 8


def test_eight_threads_fit_and_predict_as_one_does() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((600, 6))
    y = (X[:, 0] > X[:, 1]).astype(int)
    shared = committee.RandomForestClassifier(n_estimators=8, random_state=0, n_jobs=1).fit(X, y)
    kinds = (
        committee.RandomForestClassifier(n_estimators=8, n_jobs=1),
        committee.HistGradientBoostingClassifier(max_iter=8),
        committee.AdaBoostClassifier(n_estimators=8),
        committee.GradientBoostingClassifier(n_estimators=8),
    )
    start = Barrier(N_THREADS)

    def work(number: int) -> list[bytes]:
        start.wait()
        answers = []
        for turn in range(len(kinds)):
            kind = kinds[(number + turn) % len(kinds)]
            model = type(kind)(**{**kind.get_params(), "random_state": 1}).fit(X, y)
            answers.append((type(model).__name__, model.predict_proba(X).tobytes()))
        return [shared.predict_proba(X).tobytes(), *(answer for _, answer in sorted(answers))]

    with ThreadPoolExecutor(N_THREADS) as pool:
        found = list(pool.map(work, range(N_THREADS)))
    assert all(answers == found[0] for answers in found)
    assert found[0][0] == shared.predict_proba(X).tobytes()


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="the interpreter is not free-threaded")
def test_the_module_does_not_take_the_lock_back() -> None:
    # In a process of its own: other packages of the tests may need the lock.
    code = (
        "import sys, numpy; before = sys._is_gil_enabled(); import committee._core; "
        "print(before, sys._is_gil_enabled())"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert printed[0] == printed[1], "importing committee._core enabled the global interpreter lock"
