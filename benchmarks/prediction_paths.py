"""Compare the prediction methods: `python benchmarks/prediction_paths.py`.

The constants at the top of cpp/src/predict/predict.cpp are based on these figures: nanoseconds of CPU time per row
and tree, on one thread, for random trees whose thresholds are chosen from 254 values per column.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from committee import _core

N_COLUMNS = 28


def draw_tree(rng: np.random.Generator, n_leaves: int, grid: np.ndarray) -> dict[str, Any]:
    """Split random leaves, with a preference for older ones, until there are enough."""
    left, right, leaves = [-1], [-1], [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(int(rng.integers(len(leaves), size=2).min()))
        left[node], right[node] = len(left), len(left) + 1
        leaves += [left[node], right[node]]
        left += [-1, -1]
        right += [-1, -1]
    n = len(left)
    feature = rng.integers(N_COLUMNS, size=n)
    return {
        "children_left": np.array(left),
        "children_right": np.array(right),
        "feature": feature,
        "threshold": grid[rng.integers(len(grid), size=n), feature],
        "missing_go_to_left": rng.random(n) < 0.5,
        "n_node_samples": np.ones(n, int),
        "weighted_n_node_samples": np.ones(n),
        "impurity": np.zeros(n),
        "value": rng.normal(size=n),
    }


def build(rng: np.random.Generator, n_trees: int, n_leaves: int, X: np.ndarray) -> _core.Trees:
    grid = np.quantile(X[:20_000], np.linspace(0, 1, 256)[1:-1], axis=0).astype(np.float32)
    drawn = [draw_tree(rng, n_leaves, grid) for _ in range(min(n_trees, 20))]
    return _core.testing.build_trees([drawn[t % len(drawn)] for t in range(n_trees)], [], N_COLUMNS)


def measure(trees: _core.Trees, X: np.ndarray, path: str) -> float:
    """Best of five runs, in nanoseconds per row and tree."""
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        _core.testing.predict_by_path(trees, X, "sum", n_jobs=1, path=path)
        best = min(best, time.process_time() - start)
    return best * 1e9 / len(X) / trees.n_trees


def compare(title: str, trees: _core.Trees, X: np.ndarray, paths: tuple[str, ...]) -> None:
    figures = "  ".join(f"{path} {measure(trees, X, path):7.2f}" for path in paths)
    print(f"{title:36} {figures}")


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, N_COLUMNS)).astype(np.float32)
    both = ("interleaved", "sequence")
    for n_leaves in (8, 16, 31, 64, 96, 128, 160, 192, 256):
        compare(f"200 trees, {n_leaves} leaves", build(rng, 200, n_leaves, X), X[:40_000], both)
    for n_trees in (1, 7, 14, 28, 56):
        compare(f"{n_trees} trees, 31 leaves", build(rng, n_trees, 31, X), X[:40_000], both)
    trees = build(rng, 100, 31, X)
    for n_rows in (4, 8, 16, 64, 256, 1024):
        compare(f"100 trees, 31 leaves, {n_rows} rows", trees, X[:n_rows], ("plain", *both))
    compare("500 trees, 31 leaves, 100,000 rows", build(rng, 500, 31, X), X, both)
    # The byte representation is derived from the nodes in the first call, which the best of five does not include.
    large = ("interleaved", "bytes")
    for n_leaves in (192, 1_000, 15_000):
        compare(f"100 trees, {n_leaves} leaves", build(rng, 100, n_leaves, X), X[:40_000], large)
    for n_trees in (2, 7, 14):
        compare(f"{n_trees} trees, 15,000 leaves", build(rng, n_trees, 15_000, X), X[:40_000], large)
    trees = build(rng, 100, 15_000, X)
    for n_rows in (64, 1_000, 8_000):
        compare(f"100 trees, 15,000 leaves, {n_rows} rows", trees, X[:n_rows], large)


if __name__ == "__main__":
    main()
