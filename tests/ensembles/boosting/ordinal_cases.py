"""Rows of ordered levels beside others that compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee.ensembles.boosting.ordinal_rows import LevelRows


def assert_same_rows(
    rows: LevelRows, twin: LevelRows, scores: Any, thresholds: Any, *, loss: float, rest: float
) -> None:
    """The loss within a part of its size, sums for the thresholds and gradients within another."""
    wanted = twin.sum_losses(scores, thresholds, 1)
    assert rows.sum_losses(scores, thresholds, 1) == pytest.approx(wanted, rel=loss)
    for found, other in zip(
        (*rows.sum_terms(scores, thresholds, 1), *rows.find_gradients(scores, thresholds, 1)),
        (*twin.sum_terms(scores, thresholds, 1), *twin.find_gradients(scores, thresholds, 1)),
        strict=True,
    ):
        np.testing.assert_allclose(found, other, rtol=rest, atol=1e-7 * max(1.0, np.abs(other).max(initial=0.0)))
