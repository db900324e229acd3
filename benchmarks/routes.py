"""Time each fast path of tree growth on and off: `python benchmarks/routes.py [--write] [CASE ...]`.

A path that saves less than 5 % on every case here is not worth its code. Times are seconds of CPU time on one thread,
the best of some interleaved runs; `--write` puts them into ``results/routes_<processor>.md``, `--quick` takes small
tables, words choose the cases whose titles have them, and `--table` prints the list of the paths for ARCHITECTURE.md
instead.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import measure_load, name_processor, show_machine
from committee import _core

N_ROWS = 50_000
#: Of the case that is as large as covertype, with its 44 columns of two values.
N_MANY_ROWS = 400_000
REPEATS = 3
#: Of --quick.
N_QUICK_ROWS = 1_500
EVERYTHING = 0xFFFFFFFF
RESULTS = Path(__file__).parent / "results"
BEGIN, END = "<!-- routes: begin (python benchmarks/routes.py --table) -->", "<!-- routes: end -->"
ROUTES = tuple(name for name, _, _ in _core.list_routes())


@dataclass
class Case:
    """How to grow a tree, or a forest of n_trees; the table has 20 columns, n_bits more of two values, and n_noise."""

    #: "values" or a number of classes.
    target: str
    n_bits: int = 0
    n_noise: int = 0
    n_trees: int = 0
    weighted: bool = False
    n_rows: int = N_ROWS
    params: dict[str, Any] | None = None


@dataclass
class Timing:
    """Seconds of a case without a route and with it, and whether it is the same model."""

    case: str
    route: str
    off: float
    on: float
    same: bool


def render_table() -> str:
    """The routes as a table: bit, name, what it does, when it is taken."""
    lines = ["| bit | route | what | when |", "|---|---|---|---|"]
    lines += [f"| {bit} | `{name}` | {what} | {when} |" for bit, (name, what, when) in enumerate(_core.list_routes())]
    return "\n".join(lines)


class Grower:
    """The table of a case, from which it grows with some routes allowed."""

    def __init__(self, case: Case, n_rows: int) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_rows, 20 + case.n_bits))
        X[:, 15:20] = np.round(X[:, 15:20], 1)
        X[:, 20:] = X[:, 20:] > 0.7
        score = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 15] + rng.normal(size=n_rows)
        score += X[:, 20:].sum(axis=1)
        values = score[:, None] if case.target == "values" else None
        labels, n_classes = None, []
        if values is None:
            n_classes = [int(case.target)]
            ranks = np.argsort(np.argsort(score))
            labels = (ranks * n_classes[0] // n_rows).astype(np.uint32)[:, None]
        weights = rng.integers(1, 4, size=n_rows).astype(float) if case.weighted else None
        if case.n_noise:
            X = np.hstack([X, rng.normal(size=(n_rows, case.n_noise))])
        levels = np.zeros(X.shape[1], np.uint32)
        binned = _core.BinMapper.fit(X, None, levels, 255, 1).transform(X, 1)
        presort = _core.presort_columns(X, levels, 1) if (case.params or {}).get("exact") else None
        self.data = (binned, presort, labels, n_classes, values, weights)
        self.params = _core.GrowParams()
        for name, value in {"n_jobs": 1, "shuffle_ties": True, **(case.params or {})}.items():
            setattr(self.params, name, value)
        self.plan = None
        if case.n_trees:
            self.plan = _core.ForestPlan()
            self.plan.n_trees = case.n_trees

    def count_nodes(self, routes: int) -> dict[str, int]:
        """Nodes by the route that grew or searched them; this is what is timed."""
        self.params.routes = routes
        return _core.testing.count_nodes_by_route(*self.data, self.params, self.plan)  # type: ignore[no-any-return]

    def digest(self, routes: int) -> str:
        """Of the trees."""
        self.params.routes = routes
        if self.plan is None:
            trees = _core.grow_tree(*self.data, self.params)[0]
        else:
            trees = _core.grow_forest(*self.data, self.params, self.plan)[0]
        return sha256(pickle.dumps(trees)).hexdigest()


def list_cases() -> dict[str, Case]:
    extra: dict[str, Any] = {"random_splits": True, "max_features": 4}
    wide: dict[str, Any] = {"random_splits": True, "max_features": 32}
    values: dict[str, Any] = {"criterion": "squared_error"}
    few: dict[str, Any] = {"max_features": 4}
    bits: dict[str, Any] = {"max_features": 7}
    return {
        "tree, 2 classes": Case("2"),
        "tree, 5 classes": Case("5"),
        "tree, 5 classes, entropy": Case("5", params={"criterion": "entropy"}),
        "tree, values": Case("values", params=values),
        "tree, values, depth 8": Case("values", params={**values, "max_depth": 8}),
        "tree, 2 classes, exact": Case("2", params={"exact": True}),
        "tree, 5 classes, exact": Case("5", params={"exact": True}),
        "tree, values, exact": Case("values", params={**values, "exact": True}),
        "forest, 2 classes": Case("2", n_trees=3, params=few),
        "forest, 5 classes": Case("5", n_trees=3, params=few),
        "forest, 12 classes": Case("12", n_trees=3, params=few),
        "forest, values": Case("values", n_trees=2, params={**values, "max_features": 6}),
        "forest, 2 classes, 40 bits": Case("2", n_bits=40, n_trees=3, params=bits),
        "forest, 5 classes, 40 bits": Case("5", n_bits=40, n_trees=3, params=bits),
        "forest, 12 classes, 40 bits": Case("12", n_bits=40, n_trees=3, params=bits),
        "forest, 7 classes, 44 bits, 400,000 rows": Case("7", n_bits=44, n_trees=2, n_rows=N_MANY_ROWS, params=bits),
        "forest, values, 40 bits": Case("values", n_bits=40, n_trees=2, params={**values, "max_features": 20}),
        "extra-trees, 2 classes": Case("2", n_trees=4, params=extra),
        "extra-trees, 2 classes, weighted": Case("2", n_trees=4, weighted=True, params=extra),
        "extra-trees, 2 classes, 1,000 columns": Case("2", n_noise=980, n_trees=30, n_rows=5_000, params=wide),
        "extra-trees, 5 classes": Case("5", n_trees=3, params=extra),
        "extra-trees, values": Case("values", n_trees=2, params={**values, **extra}),
    }


def measure(grower: Grower, masks: list[int], repeats: int) -> list[float]:
    """Best CPU seconds under each mask, the runs interleaved."""
    best = [np.inf] * len(masks)
    for _ in range(repeats):
        for k, mask in enumerate(masks):
            start = time.process_time()
            grower.count_nodes(mask)
            best[k] = min(best[k], time.process_time() - start)
    return best


def time_case(title: str, case: Case, quick: bool) -> Iterator[Timing]:
    """The case without each of the routes that it takes."""
    grower = Grower(case, N_QUICK_ROWS if quick else case.n_rows)
    taken = [bit for bit, route in enumerate(ROUTES) if grower.count_nodes(EVERYTHING)[route] > 0]
    masks = [EVERYTHING, *(EVERYTHING & ~(1 << bit) for bit in taken)]
    on, *offs = measure(grower, masks, 1 if quick else REPEATS)
    digest = grower.digest(EVERYTHING)
    for bit, mask, off in zip(taken, masks[1:], offs, strict=True):
        yield Timing(title, ROUTES[bit], off, on, grower.digest(mask) == digest)


def render_page(machine: str, timings: list[Timing]) -> str:
    lines = [
        "# Fast paths of tree growth, on and off",
        "",
        machine,
        "",
        "Seconds of CPU time on one thread, the best of interleaved runs; the ratio is that without the path to that",
        "with it. By `python benchmarks/routes.py --write`; ARCHITECTURE.md says what the paths are.",
        "",
        "| path | case | seconds off | seconds on | ratio | same trees |",
        "|---|---|---|---|---|---|",
    ]
    for t in sorted(timings, key=lambda timing: ROUTES.index(timing.route)):
        cells = [
            f"`{t.route}`",
            t.case,
            f"{t.off:.3f}",
            f"{t.on:.3f}",
            f"{t.off / t.on:.2f}",
            "yes" if t.same else "**no**",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="of the titles of the cases")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    if options.table:
        print(render_table())
        return
    machine = f"{show_machine()}.\nOthers used {100 * measure_load():.0f}% of the machine before the start."
    timings: list[Timing] = []
    for title, case in list_cases().items():
        if options.words and not any(word in title for word in options.words):
            continue
        found = list(time_case(title, case, options.quick))
        ratios = "  ".join(f"{t.route} {t.off / t.on:.2f}{'' if t.same else ' (other trees)'}" for t in found)
        print(f"{title:42} {found[0].on if found else 0:6.2f} s; without: {ratios}", flush=True)
        timings += found
    if options.write:
        (options.out / f"routes_{name_processor()}.md").write_text(render_page(machine, timings), encoding="utf-8")


if __name__ == "__main__":
    main()
