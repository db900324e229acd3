"""Ensemble selection as in the paper, a member at a time: the twin of `select_greedily`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def select_naively(answers: np.ndarray, score: Callable[[np.ndarray], float], n_rounds: int, n_init: int) -> np.ndarray:
    ranking = sorted(range(len(answers)), key=lambda m: (-score(answers[m]), m))
    chosen = ranking[:n_init]
    history = [list(chosen)] if chosen else []
    for _ in range(n_rounds):
        trials = [score(np.mean([answers[k] for k in [*chosen, m]], axis=0)) for m in range(len(answers))]
        chosen = [*chosen, int(np.argmax(trials))]
        history.append(list(chosen))
    best = max(history, key=lambda team: score(np.mean([answers[k] for k in team], axis=0)))
    return np.bincount(best, minlength=len(answers))
