"""Test scores of two ways to learn, side by side over the same splits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

FEW = 5
STAGES = ((FEW, 1.0), (20, 0.5), (60, 2.0))
"""Numbers of seeds, each a split of its own, and how many standard errors ours may be worse by. Two equal learners
differ by more than one standard error over five seeds in a fifth of all comparisons, so where they do, it is looked at
over twenty; and where these are not clear, over sixty, and two standard errors are what counts."""
FLOOR = 0.002
"""Differences below this are no difference (accuracy or R2)."""

Learner = Callable[[int], Any]
"""Makes a learner from a seed."""


@dataclass(frozen=True)
class Comparison:
    """Scores over the seeds: ours, theirs, and the number of rows that each was measured on."""

    ours: np.ndarray
    theirs: np.ndarray
    n_test: int

    @property
    def difference(self) -> float:
        """Mean of ours minus theirs."""
        return float((self.ours - self.theirs).mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean of the paired differences over the seeds."""
        return float((self.ours - self.theirs).std(ddof=1) / np.sqrt(len(self.ours)))

    def is_no_worse(self, errors: float) -> bool:
        """Whether ours is worse by no more than so many standard errors, or by one test row of a split."""
        return self.difference >= -max(errors * self.standard_error, FLOOR, 1.0 / self.n_test)

    def __str__(self) -> str:
        return (
            f"ours {self.ours.mean():.4f}, theirs {self.theirs.mean():.4f}, difference {self.difference:+.4f}, "
            f"standard error {self.standard_error:.4f}, {len(self.ours)} seeds"
        )


@dataclass(frozen=True)
class Contest:
    """Two learners and the forms of the same rows that each is given."""

    ours: Learner
    theirs: Learner
    tables: tuple[Any, Any]
    y: np.ndarray
    classes: bool
    most_rows: int | None = None
    """Of more rows than these each seed draws as many as these would give to learn from, and up to twice these to be
    judged by. One sample for all seeds could be anybody's luck, which no spread over seeds shows."""

    def compare(self, n_seeds: int, first: Comparison | None = None) -> Comparison:
        """Fit and score both on the same splits, one for each seed; `first` has the scores of the first seeds."""
        scores = [] if first is None else np.column_stack([first.ours, first.theirs]).tolist()
        for seed in range(len(scores), n_seeds):
            strata = self.y if self.classes else None
            n = len(self.y)
            n_most = min(n, self.most_rows or n)
            n_train = n_most - int(0.3 * n_most)
            sizes = {"train_size": n_train, "test_size": min(n - n_train, 2 * n_most)}
            train, test = train_test_split(np.arange(n), **sizes, random_state=seed, stratify=strata)
            learners = (self.ours(seed), self.theirs(seed))
            scores.append([self._score(*pair, train, test) for pair in zip(learners, self.tables, strict=True)])
        both = np.array(scores)
        return Comparison(both[:, 0], both[:, 1], len(test))

    def _score(self, learner: Any, X: Any, train: np.ndarray, test: np.ndarray) -> float:
        take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
        return float(learner.fit(take(train), self.y[train]).score(take(test), self.y[test]))


def check_no_worse(contest: Contest, label: str, first: Comparison | None = None) -> None:
    """Within the standard errors of a stage, or else of a later one with more seeds; `first` has few seeds."""
    found = first
    for n_seeds, errors in STAGES:
        found = found if found is not None and n_seeds == FEW else contest.compare(n_seeds, found)
        print(f"PARITY {label}: {found}")
        if found.is_no_worse(errors):
            return
    pytest.fail(str(found))
