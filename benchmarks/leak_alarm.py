"""How often the leak alarm of stacks errs: `python benchmarks/leak_alarm.py`, with --repeats for fewer or more tables.

Tables of two classes are simulated, of pure noise and with a strong signal. Sound stacks answer out of fold, out of
bag, by members that were fitted on other rows, or with groups kept together; in leaking ones members have seen all rows
or half of them, or folds tear groups apart whose rows are alike (the outer folds keep them together). Counted is how
often `measure_leak` raises its alarm at the usual level of 0.05.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if not __package__:
    # Called as a script, Python looks for modules beside this file rather than beside its folder.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

N_FEATURES = 4
ROWS_OF_A_GROUP = 4
SIGNALS = {"noise": 0.0, "signal": 2.0}


def make_members(seed: int) -> list[tuple[str, Any]]:
    """Some that copy their rows, and some that do not."""
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
    """Groups of rows that are nearly the same, and have one label."""
    groups = np.repeat(np.arange(n_rows // ROWS_OF_A_GROUP), ROWS_OF_A_GROUP)
    X, y = draw_table(len(np.unique(groups)), strength, rng)
    order = rng.permutation(len(groups))
    return (X[groups] + 0.01 * rng.normal(size=(len(groups), N_FEATURES)))[order], y[groups][order], groups[order]


def ask_folds(n_rows: int, strength: float, seed: int, rng: Any) -> bool:
    from committee import StackingClassifier

    X, y = draw_table(n_rows, strength, rng)
    return bool(StackingClassifier(make_members(seed), random_state=seed).measure_leak(X, y).alarm)


def ask_out_of_bag(n_rows: int, strength: float, seed: int, rng: Any) -> bool:
    from committee import StackingClassifier

    X, y = draw_table(n_rows, strength, rng)
    return bool(StackingClassifier(make_members(seed), cv="oob", random_state=seed).measure_leak(X, y).alarm)


def ask_groups(n_rows: int, strength: float, seed: int, rng: Any) -> bool:
    from committee import StackingClassifier

    X, y, groups = draw_groups(n_rows, strength, rng)
    return bool(StackingClassifier(make_members(seed), random_state=seed).measure_leak(X, y, groups=groups).alarm)


def ask_torn_groups(n_rows: int, strength: float, seed: int, rng: Any) -> bool:
    from sklearn.model_selection import GroupKFold

    from committee import StackingClassifier

    X, y, groups = draw_groups(n_rows, strength, rng)
    outer = GroupKFold(5).split(X, y, groups)
    return bool(StackingClassifier(make_members(seed), random_state=seed).measure_leak(X, y, cv=outer).alarm)


def ask_fitted(share: float) -> Callable[[int, float, int, Any], bool]:
    """Members that were fitted on a share of the rows, and otherwise on rows of their own."""

    def ask(n_rows: int, strength: float, seed: int, rng: Any) -> bool:
        from committee import StackingClassifier

        X, y = draw_table(2 * n_rows, strength, rng)
        # Of the rows from `first` on, which the members learn from, the share is among those that the stack is given.
        first = n_rows - round(share * n_rows)
        learnt = slice(first, first + n_rows)
        seen = [(name, member.fit(X[learnt], y[learnt])) for name, member in make_members(seed)]
        return bool(StackingClassifier(seen, cv="prefit").measure_leak(X[:n_rows], y[:n_rows]).alarm)

    return ask


SOUND: dict[str, Any] = {
    "folds": ask_folds,
    "out of bag": ask_out_of_bag,
    "groups kept together": ask_groups,
    "fitted on other rows": ask_fitted(0.0),
}
LEAKING: dict[str, Any] = {
    "fitted on all rows": ask_fitted(1.0),
    "fitted on half of the rows": ask_fitted(0.5),
    "groups torn apart": ask_torn_groups,
}


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10, help="tables of each kind and size")
    parser.add_argument("--rows", type=int, nargs="+", default=[60, 200])
    asked = parser.parse_args(words)
    print("| stack | rows | table | alarms | of |\n|---|---|---|---|---|")
    for kind, cases in (("sound", SOUND), ("leaking", LEAKING)):
        total = [0, 0]
        for name, ask in cases.items():
            for n_rows in asked.rows:
                for signal, strength in SIGNALS.items():
                    draws = [np.random.default_rng([seed, n_rows, int(strength)]) for seed in range(asked.repeats)]
                    alarms = sum(ask(n_rows, strength, seed, rng) for seed, rng in enumerate(draws))
                    total = [total[0] + alarms, total[1] + asked.repeats]
                    print(f"| {kind}: {name} | {n_rows} | {signal} | {alarms} | {asked.repeats} |", flush=True)
        print(f"| **{kind}** | | | {total[0]} | {total[1]} |", flush=True)


if __name__ == "__main__":
    main()
