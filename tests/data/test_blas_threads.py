"""BLAS on one thread: for as long as was asked, without looking for its libraries again."""

from typing import Any

import pytest
import scipy.linalg
from threadpoolctl import ThreadpoolController

from committee.data.blas_threads import limit_blas


def count_threads() -> list[int]:
    assert scipy.linalg  # its BLAS is loaded
    return [library["num_threads"] for library in ThreadpoolController().info() if library["user_api"] == "blas"]


def test_all_libraries_have_one_thread_until_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    before = count_threads()
    with limit_blas():
        assert count_threads() == [1] * len(before)
    assert count_threads() == before

    def fail(_: Any) -> None:
        raise AssertionError("the libraries are known")

    monkeypatch.setattr(ThreadpoolController, "_load_libraries", fail)
    with limit_blas():
        pass
