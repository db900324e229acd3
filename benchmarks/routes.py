"""Time each fast path of tree growth on and off: `python benchmarks/routes.py`.

A path that saves less than 5 % on every case here is not worth its code. Times are seconds of CPU time on one thread,
the best of some interleaved runs; `--table` prints the list of the paths for ARCHITECTURE.md instead.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from committee import _core

N_ROWS = 50_000
REPEATS = 3
BEGIN, END = "<!-- routes: begin (python benchmarks/routes.py --table) -->", "<!-- routes: end -->"
ROUTES = tuple(name for name, _, _ in _core.list_routes())
Grow = Callable[[int], dict[str, int]]


def render_table() -> str:
    """The routes as a table: bit, name, what it does, when it is taken."""
    lines = ["| bit | route | what | when |", "|---|---|---|---|"]
    lines += [f"| {bit} | `{name}` | {what} | {when} |" for bit, (name, what, when) in enumerate(_core.list_routes())]
    return "\n".join(lines)


def make_case(target: str, *, n_bits: int = 0, n_trees: int = 0, weighted: bool = False, **params: Any) -> Grow:
    """A function that grows a tree, or a forest of n_trees, with some routes allowed and counts the nodes of each.

    The table has 20 columns, and n_bits more of two values. The target is "values" or a number of classes.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 20 + n_bits))
    X[:, 15:20] = np.round(X[:, 15:20], 1)
    X[:, 20:] = X[:, 20:] > 0.7
    score = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 15] + rng.normal(size=N_ROWS)
    score += X[:, 20:].sum(axis=1)
    values = score[:, None] if target == "values" else None
    labels, n_classes = None, []
    if values is None:
        n_classes = [int(target)]
        ranks = np.argsort(np.argsort(score))
        labels = (ranks * n_classes[0] // N_ROWS).astype(np.uint32)[:, None]
    weights = rng.integers(1, 4, size=N_ROWS).astype(float) if weighted else None
    binned = _core.BinMapper.fit(X, None, np.zeros(X.shape[1], np.uint32), 255, 1).transform(X, 1)
    plan = _core.ForestPlan()
    plan.n_trees = n_trees
    chosen = _core.GrowParams()
    for name, value in {"n_jobs": 1, "shuffle_ties": True, **params}.items():
        setattr(chosen, name, value)

    def grow(routes: int) -> dict[str, int]:
        chosen.routes = routes
        arguments = (binned, None, labels, n_classes, values, weights, chosen)
        return _core.testing.count_nodes_by_route(*arguments, plan if n_trees else None)  # type: ignore[no-any-return]

    return grow


def list_cases() -> dict[str, Grow]:
    extra: dict[str, Any] = {"random_splits": True, "max_features": 4}
    values: dict[str, Any] = {"criterion": "squared_error"}
    return {
        "tree, 2 classes": make_case("2"),
        "tree, 5 classes": make_case("5"),
        "tree, values": make_case("values", **values),
        "tree, values, depth 8": make_case("values", **values, max_depth=8),
        "forest, 2 classes": make_case("2", n_trees=3, max_features=4),
        "forest, 5 classes": make_case("5", n_trees=3, max_features=4),
        "forest, 12 classes": make_case("12", n_trees=3, max_features=4),
        "forest, values": make_case("values", **values, n_trees=2, max_features=6),
        "forest, 2 classes, 40 bits": make_case("2", n_bits=40, n_trees=3, max_features=7),
        "forest, 5 classes, 40 bits": make_case("5", n_bits=40, n_trees=3, max_features=7),
        "forest, 12 classes, 40 bits": make_case("12", n_bits=40, n_trees=3, max_features=7),
        "forest, values, 40 bits": make_case("values", **values, n_bits=40, n_trees=2, max_features=20),
        "extra-trees, 2 classes": make_case("2", n_trees=4, **extra),
        "extra-trees, 2 classes, weighted": make_case("2", n_trees=4, weighted=True, **extra),
        "extra-trees, 5 classes": make_case("5", n_trees=3, **extra),
        "extra-trees, values": make_case("values", n_trees=2, **values, **extra),
    }


def measure(grow: Grow, masks: list[int]) -> list[float]:
    """Best CPU seconds under each mask, the runs interleaved."""
    best = [np.inf] * len(masks)
    for _ in range(REPEATS):
        for k, mask in enumerate(masks):
            start = time.process_time()
            grow(mask)
            best[k] = min(best[k], time.process_time() - start)
    return best


def main(words: list[str]) -> None:
    if "--table" in words:
        print(render_table())
        return
    everything = 0xFFFFFFFF
    for title, grow in list_cases().items():
        if words and not any(word in title for word in words):
            continue
        taken = [bit for bit, route in enumerate(ROUTES) if grow(everything)[route] > 0]
        seconds = measure(grow, [everything, *(everything & ~(1 << bit) for bit in taken)])
        ratios = "  ".join(f"{ROUTES[bit]} {off / seconds[0]:.2f}" for bit, off in zip(taken, seconds[1:], strict=True))
        print(f"{title:34} {seconds[0]:6.2f} s; without: {ratios}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
