"""Error rates of `measure_leak`: `python benchmarks/leak_alarm.py`; --repeats sets the number of data sets.

The data sets have two classes and either pure noise or a strong signal. Correct stacks use folds, out-of-bag
predictions, members fitted on other rows, or grouped folds. In leaking stacks the members were fitted on all rows or on
half of them, or the folds split groups of similar rows (the outer folds keep the groups together). The script counts
how often `measure_leak` raises its alarm at the default level of 0.05.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

N_FEATURES = 4
ROWS_OF_A_GROUP = 4
SIGNALS = {"noise": 0.0, "signal": 2.0}


def make_members(seed: int) -> list[tuple[str, Any]]:
    """Members with and without a strong tendency to overfit."""
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    from committee import DecisionTreeClassifier, RandomForestClassifier

    forest = RandomForestClassifier(20, random_state=seed, n_jobs=1)
    tree = DecisionTreeClassifier(random_state=seed)
    return [("copy", KNeighborsClassifier(1)), ("tree", tree), ("forest", forest), ("bayes", GaussianNB())]


def draw_table(n_rows: int, strength: float, rng: Any) -> tuple[Any, Any]:
    X = rng.normal(size=(n_rows, N_FEATURES))
    y = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-strength * X[:, 0]))
    return X, y.astype(int)


def draw_groups(n_rows: int, strength: float, rng: Any) -> tuple[Any, Any, Any]:
    """Groups of nearly identical rows with the same label."""
    groups = np.repeat(np.arange(n_rows // ROWS_OF_A_GROUP), ROWS_OF_A_GROUP)
    X, y = draw_table(len(np.unique(groups)), strength, rng)
    order = rng.permutation(len(groups))
    return (X[groups] + 0.01 * rng.normal(size=(len(groups), N_FEATURES)))[order], y[groups][order], groups[order]


def check_folds(n_rows: int, strength: float, seed: int, rng: Any) -> bool:
    from committee import StackingClassifier

    X, y = draw_table(n_rows, strength, rng)
    return bool(StackingClassifier(make_members(seed), random_state=seed).measure_leak(X, y).alarm)


def check_out_of_bag(n_rows: int, strength: float, seed: int, rng: Any) -> bool:
    from committee import StackingClassifier

    X, y = draw_table(n_rows, strength, rng)
    return bool(StackingClassifier(make_members(seed), cv="oob", random_state=seed).measure_leak(X, y).alarm)


def check_groups(n_rows: int, strength: float, seed: int, rng: Any) -> bool:
    from committee import StackingClassifier

    X, y, groups = draw_groups(n_rows, strength, rng)
    return bool(StackingClassifier(make_members(seed), random_state=seed).measure_leak(X, y, groups=groups).alarm)


def check_split_groups(n_rows: int, strength: float, seed: int, rng: Any) -> bool:
    from sklearn.model_selection import GroupKFold

    from committee import StackingClassifier

    X, y, groups = draw_groups(n_rows, strength, rng)
    outer = GroupKFold(5).split(X, y, groups)
    return bool(StackingClassifier(make_members(seed), random_state=seed).measure_leak(X, y, cv=outer).alarm)


def check_fitted(share: float) -> Callable[[int, float, int, Any], bool]:
    """Members fitted on a fraction of the rows of the stack and on other rows."""

    def check(n_rows: int, strength: float, seed: int, rng: Any) -> bool:
        from committee import StackingClassifier

        X, y = draw_table(2 * n_rows, strength, rng)
        # The members are fitted on the rows from `first` on; the fraction `share` of them is passed to the stack.
        first = n_rows - round(share * n_rows)
        training = slice(first, first + n_rows)
        seen = [(name, member.fit(X[training], y[training])) for name, member in make_members(seed)]
        return bool(StackingClassifier(seen, cv="prefit").measure_leak(X[:n_rows], y[:n_rows]).alarm)

    return check


CORRECT: dict[str, Any] = {
    "folds": check_folds,
    "out of bag": check_out_of_bag,
    "groups kept together": check_groups,
    "fitted on other rows": check_fitted(0.0),
}
LEAKING: dict[str, Any] = {
    "fitted on all rows": check_fitted(1.0),
    "fitted on half of the rows": check_fitted(0.5),
    "groups split": check_split_groups,
}


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10, help="number of data sets of each kind and size")
    parser.add_argument("--rows", type=int, nargs="+", default=[60, 200])
    arguments = parser.parse_args(words)
    print("| stack | rows | table | alarms | of |\n|---|---|---|---|---|")
    for kind, cases in (("correct", CORRECT), ("leaking", LEAKING)):
        total = [0, 0]
        for name, check in cases.items():
            for n_rows in arguments.rows:
                for signal, strength in SIGNALS.items():
                    draws = [np.random.default_rng([seed, n_rows, int(strength)]) for seed in range(arguments.repeats)]
                    alarms = sum(check(n_rows, strength, seed, rng) for seed, rng in enumerate(draws))
                    total = [total[0] + alarms, total[1] + arguments.repeats]
                    print(f"| {kind}: {name} | {n_rows} | {signal} | {alarms} | {arguments.repeats} |", flush=True)
        print(f"| **{kind}** | | | {total[0]} | {total[1]} |", flush=True)


if __name__ == "__main__":
    main()
