"""The work behind ``committee reproduce``: published textbook results, reproduced."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from committee.cli.errors import USAGE, CommandError, suggest
from committee.cli.reproduce.closed_forms import reproduce_bootstrap, reproduce_toy
from committee.cli.reproduce.forests import reproduce_iris, reproduce_mnist, reproduce_titanic
from committee.cli.reproduce.housing import reproduce_housing
from committee.cli.reproduce.members import reproduce_calibration, reproduce_naive_bayes, reproduce_small_trees
from committee.cli.reproduce.moons import reproduce_bags, reproduce_overfitting, reproduce_votes
from committee.cli.reproduce.results import MissingDataError, ReproductionSettings, Result
from committee.cli.reproduce.rounds import (
    reproduce_letters,
    reproduce_long_run,
    reproduce_plane,
    reproduce_ten_dimensions,
)

__all__ = ["EXPERIMENTS", "choose_rows", "reproduce_rows"]

# Title and function of each result; the title is shown if the result is skipped.
EXPERIMENTS: dict[str, tuple[str, Callable[[ReproductionSettings], Result]]] = {
    "R1": ("Hard and soft votes on moons", reproduce_votes),
    "R2": ("Bagging trees on moons", reproduce_bags),
    "R3": ("Importances of iris", reproduce_iris),
    "R4": ("Importance of the pixels of MNIST", reproduce_mnist),
    "R5": ("AdaBoost on moons: SAMME.R against SAMME", reproduce_overfitting),
    "R6": ("Boosted stumps in the plane", reproduce_plane),
    "R7": ("Boosted stumps in ten dimensions", reproduce_ten_dimensions),
    "R8": ("Loss and errors by round", reproduce_long_run),
    "R9": ("Ten points, three stumps", reproduce_toy),
    "R10": ("California housing", reproduce_housing),
    "R11": ("Titanic", reproduce_titanic),
    "R12": ("A thousand rounds of trees", reproduce_letters),
    "R13": ("Bootstrap samples and the variance of bagging", reproduce_bootstrap),
    "R14": ("Trees of few leaves on moons", reproduce_small_trees),
    "R15": ("Naive Bayes, alone and boosted", reproduce_naive_bayes),
    "R16": ("Brier scores before and after calibration", reproduce_calibration),
}


def choose_rows(requested: Sequence[str]) -> list[str]:
    """The keys of the requested results, in the order of ``EXPERIMENTS``.

    Parameters
    ----------
    requested : sequence of str
        Their names, or ``"all"``; empty for all.

    Returns
    -------
    list of str
    """
    wanted = [name.upper() for name in requested] or ["ALL"]
    for name, plain in zip(requested, wanted, strict=False):
        if plain not in EXPERIMENTS and plain != "ALL":
            raise CommandError(f"There is no result '{name}'.", suggest(plain, [*EXPERIMENTS, "all"], 20), USAGE)
    return [key for key in EXPERIMENTS if key in wanted or "ALL" in wanted]


def reproduce_rows(keys: Sequence[str], settings: ReproductionSettings) -> Iterator[Result]:
    """Run experiments one after the other.

    Parameters
    ----------
    keys : sequence of str
        Keys of ``EXPERIMENTS``.
    settings : ReproductionSettings
        Seeds and threads.

    Yields
    ------
    Result
        Skipped, with the reason, if data are missing.
    """
    for key in keys:
        title, experiment = EXPERIMENTS[key]
        started = time.perf_counter()
        try:
            found = experiment(settings)
        except MissingDataError as reason:
            found = Result(key, title, "", skipped=str(reason))
        found.seconds = time.perf_counter() - started
        yield found
