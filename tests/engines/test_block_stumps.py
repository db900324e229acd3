"""Stumps over blocks of rows: the bytes of one trainer over all rows, for any blocks, also after a block was lost."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import _core
from committee.engines.block_stumps import BlockStumps, StumpBlockMaker, StumpBlockState
from committee.engines.hosts import LocalHosts


def draw(n: int, n_classes: int, seed: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Numbers with missing values, a category and one with many levels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 3], X[:, 4] = rng.integers(0, 7, n), rng.integers(0, 400, n)
    y = np.digitize(X[:, 0] + (X[:, 3] % 2) + 0.5 * rng.normal(size=n), np.linspace(0.0, 1.0, n_classes - 1))
    X[rng.random(n) < 0.1, 0] = np.nan
    X[rng.random(n) < 0.1, 4] = np.nan
    return X, y.astype(np.uint32), np.array([0, 0, 0, 7, 400], dtype=np.uint32)


def divide(n: int, n_blocks: int, seed: int) -> list[int]:
    """Offsets of blocks of all sizes, also empty ones."""
    cuts = np.sort(np.random.default_rng(seed).integers(0, n + 1, n_blocks - 1))
    return [0, *cuts.tolist(), n]


def boost(trainer: Any, n_rounds: int, n_classes: int) -> Iterator[tuple[bytes, ...]]:
    """SAMME: all that the trainer gives, as bytes."""
    for _ in range(n_rounds):
        trees, importances, shares = trainer.grow()
        yield (pickle.dumps(trees), importances.tobytes(), shares.tobytes(), trainer.weights.tobytes())
        wrong = shares.argmax(axis=1)[:, None] != np.arange(n_classes)
        error = (shares * wrong).sum()
        if not 0.0 < error < 1.0 - 1.0 / n_classes:
            return
        trainer.multiply(np.exp((np.log((1 - error) / error) + np.log(n_classes - 1)) * wrong))


@pytest.mark.parametrize(
    ("n", "criterion"),
    [(1500, "gini"), (1500, "entropy"), (30_000, "gini")],  # with scales of the classes, too
)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", ["no", "whole", "real"])
def test_blocks_give_the_stumps_of_the_whole(n_classes: int, weighted: str, criterion: str, n: int) -> None:
    X, y, levels = draw(n, n_classes, 1)
    rng = np.random.default_rng(2)
    weights = {"no": None, "whole": rng.integers(0, 4, n).astype(float), "real": rng.gamma(0.5, size=n)}[weighted]
    mapper = _core.BinMapper.fit(X, weights, levels, 255, 1)
    n_counted = float(n if weights is None else weights.sum())
    whole = _core.StumpTrainer(mapper.transform(X, 1), None, y, n_classes, weights, criterion, 1, n_counted)
    expected = list(boost(whole, 12, n_classes))
    for n_blocks in (1, 3, 17):
        offsets = divide(n, n_blocks, n_blocks)

        def load(block: int, offsets: list[int] = offsets) -> _core.BinnedMatrix:
            return mapper.transform(X[offsets[block] : offsets[block + 1]], 1)

        hosts = LocalHosts()
        stumps = BlockStumps(
            hosts, "fit", StumpBlockMaker(load), mapper, offsets, y, n_classes, weights, criterion, 1, n_counted
        )
        found = []
        for t, round_ in enumerate(boost(stumps, 12, n_classes)):
            found.append(round_)
            if t == 5:
                hosts.drop("fit", n_blocks - 1)  # made again, and brought up to date by the log
        assert found == expected
        stumps.close()


def test_an_unknown_command_is_refused() -> None:
    X, _, levels = draw(50, 2, 0)
    state = StumpBlockState(_core.BinMapper.fit(X, None, levels, 255, 1).transform(X, 1), 1)
    with pytest.raises(ValueError, match="knows no command 'stop'"):
        state.run("stop", ())


def test_blocks_check_what_they_are_given() -> None:
    X, y, levels = draw(50, 2, 0)
    mapper = _core.BinMapper.fit(X, None, levels, 255, 1)
    bins = mapper.transform(X, 1)
    with pytest.raises(ValueError, match="one entry a row"):
        _core.StumpBlock(bins, y, 2, np.ones(3, dtype=np.uint64), None, 50.0, 1)
    block = _core.StumpBlock(bins, y, 2, None, None, 50.0, 1)
    with pytest.raises(ValueError, match="no feature 9"):
        block.assign((9, 0, False, []))
    with pytest.raises(ValueError, match="beyond the levels"):
        block.assign((3, 0, False, [7]))
    with pytest.raises(ValueError, match="leaf and class"):
        block.multiply(np.ones((2, 2)), [1.0, 1.0], [1.0, 1.0])
    block.assign((0, 3, False, []))
    with pytest.raises(ValueError, match="for each class"):
        block.multiply(np.ones((2, 2)), [1.0], [1.0])
    driver = _core.StumpDriver(mapper, 2, "gini", 1, 50.0)
    with pytest.raises(ValueError, match="found last"):
        driver.plan(np.ones((2, 2)), np.ones((2, 2, 2), dtype=np.int64))
    with pytest.raises(ValueError, match="these columns and classes"):
        _core.StumpDriver(mapper, 3, "gini", 1, 50.0).find(block.histograms)
