"""What is recorded after each round: losses of training and out-of-bag rows, evaluation sets, the user's callbacks."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.dataset import ClassTarget
from committee.ensembles.boosting.booster import RoundCallback
from committee.ensembles.boosting.group_loss import GroupLoss
from committee.ensembles.boosting.scorer import BoostingScorer
from committee.ensembles.fit_callbacks import should_stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from committee.engines import BoostingParams
    from committee.ensembles.boosting.booster import Booster, RoundLosses
    from committee.ensembles.boosting.dart import Dart
    from committee.ensembles.boosting.early_stopping import EarlyStopping
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.ensembles.boosting.validation import ValidationSet
    from committee.ensembles.progress import ProgressCallback
    from committee.typing import FloatArray

__all__ = [
    "Callbacks",
    "EvalSets",
    "OutOfBagLoss",
    "RoundReport",
    "RoundTable",
    "ShowProgress",
    "TrainingLoss",
    "UserCallbacks",
]


@dataclass(frozen=True)
class RoundReport:
    """What a user's callback gets after a round.

    Attributes
    ----------
    iteration : int
        Number of the round, from zero.
    evals : dict
        For each evaluation set the latest value of each metric.
    params : object
        The engine's parameters; its ``learning_rate`` may be set for the rounds to come.
    """

    iteration: int
    evals: dict[str, dict[str, float]]
    params: BoostingParams


def find_factor(loss: BoostingLoss) -> float:
    """The factor of a loss in ``train_score_``, as in scikit-learn: no half of squared error and binary deviance."""
    return 2.0 if not loss.is_custom and loss.name in ("squared_error", "logistic") else 1.0


class TrainingLoss(RoundCallback):
    """Records the loss of the training rows after each round, times `find_factor`."""

    def __init__(self, loss: BoostingLoss) -> None:
        self.losses: list[float] = []
        self._scorer, self._factor = BoostingScorer("loss", loss), find_factor(loss)

    @property
    def records_losses_only(self) -> bool:
        """Whether the engine can measure the loss."""
        return self._scorer.runs_in_engine

    def record(self, losses: RoundLosses) -> None:
        """Take the losses of all rounds."""
        with np.errstate(over="ignore"):  # scores beyond all bounds have an infinite loss
            self.losses.extend((self._factor * losses.training).tolist())

    def before_training(self, booster: Booster) -> None:
        """Make losses comparable."""
        self._scorer.fix_loss(booster)

    def after_round(self, booster: Booster) -> bool:
        """Record the loss; never stops."""
        self.losses.append(-self._factor * self._scorer.score_training(booster))
        return False

    def describe(self) -> str:
        """The latest loss."""
        return f"training loss {self.losses[-1]:.4g}" if self.losses else ""


class OutOfBagLoss(RoundCallback):
    """Records the loss of the out-of-bag rows of each round, before and after it, times `find_factor`.

    Rounds are chosen by the improvements. Where the loss is a measure of an order these say little: the order of rows
    that were in the bag before is nearly right, and a tree that was grown without them can hardly improve it. There
    rounds are chosen by what the trees were grown for, the second-order model of the loss whose gradients there are.

    Parameters
    ----------
    loss : LossFunction, CustomLoss or GroupLoss
        What is minimised.
    patience : int or None
        Stop after this many rounds without a new best sum of improvements; None never stops.
    """

    def __init__(self, loss: BoostingLoss, patience: int | None) -> None:
        self.losses: list[float] = []
        self.improvements: list[float] = []
        self._gains: list[float] = []
        self._by_gains = isinstance(loss, GroupLoss) and not loss.is_differentiable
        self._known: FloatArray = np.empty(0)
        self._factor = find_factor(loss)
        self._patience, self._before = patience, np.nan

    @property
    def records_losses_only(self) -> bool:
        """Whether it never stops."""
        return self._patience is None

    def record(self, losses: RoundLosses) -> None:
        """Take the losses of all rounds."""
        with np.errstate(over="ignore", invalid="ignore"):  # scores beyond all bounds have an infinite loss
            self.losses.extend((self._factor * losses.out_of_bag_after).tolist())
            improvements = self._factor * (losses.out_of_bag_before - losses.out_of_bag_after)
        self.improvements.extend(improvements.tolist())

    def before_round(self, booster: Booster) -> None:
        """Measure the rows that the round leaves out."""
        self._before = self._factor * _measure_out_of_bag(booster)
        if self._by_gains:
            self._known = np.asarray(booster.state.scores)[booster.state.held_out_rows]

    def after_round(self, booster: Booster) -> bool:
        """Measure them again."""
        self.losses.append(self._factor * _measure_out_of_bag(booster))
        self.improvements.append(self._before - self.losses[-1])
        if self._by_gains:
            self._gains.append(_measure_gain(booster, self._known))
        return self._patience is not None and len(self.improvements) - self.best_round >= self._patience

    def describe(self) -> str:
        """The latest loss."""
        return f"out-of-bag loss {self.losses[-1]:.4g}" if self.losses else ""

    @property
    def best_round(self) -> int:
        """Rounds up to the largest sum of improvements, at least one."""
        return int(np.argmax(np.cumsum(self._gains if self._by_gains else self.improvements))) + 1


def _measure_out_of_bag(booster: Booster) -> float:
    if not booster.loss.is_custom:
        return booster.state.measure_held_out_loss()
    rows, target, weights = booster.state.held_out_rows, booster.objective.target, booster.dataset.weights
    if not len(rows):
        return np.nan
    if isinstance(target, ClassTarget):
        target = replace(target, labels=target.labels[rows])
    else:
        target = replace(target, values=target.values[rows])
    scores, own = np.asarray(booster.state.scores)[rows], None if weights is None else weights[rows]
    return -BoostingScorer("loss", booster.loss).score_others(booster, target, scores, own)


def _measure_gain(booster: Booster, known: FloatArray) -> float:
    """-(g δ + h δ² / 2), summed over the out-of-bag rows, where the latest trees have changed known scores by δ."""
    assert booster.gradients is not None
    rows = booster.state.held_out_rows
    g, h = (derivative[rows] for derivative in booster.gradients)
    change = np.asarray(booster.state.scores)[rows] - known
    gains = -(g * change + 0.5 * h * change**2).sum(axis=1)
    weights = booster.objective.weights
    return float(gains.sum() if weights is None else gains @ weights[rows])


class EvalSets(RoundCallback):
    """Records metrics of the user's evaluation sets after each round.

    Parameters
    ----------
    tables : dict of ValidationSet
        The sets, by name.
    scorers : dict of BoostingScorer
        The metrics, by name.
    """

    def __init__(self, tables: Mapping[str, ValidationSet], scorers: Mapping[str, BoostingScorer]) -> None:
        self.tables = tables
        self.latest: dict[str, dict[str, float]] = {}
        self.history: dict[str, dict[str, list[float]]] = {}
        self._scorers = scorers

    def before_training(self, booster: Booster) -> None:
        """Make losses comparable."""
        for scorer in self._scorers.values():
            scorer.fix_loss(booster)

    def after_round(self, booster: Booster) -> bool:
        """Evaluate all sets; never stops."""
        self.latest = {name: self._evaluate(table, booster) for name, table in self.tables.items()}
        for name, metrics in self.latest.items():
            for metric, value in metrics.items():
                self.history.setdefault(name, {}).setdefault(metric, []).append(value)
        return False

    def _evaluate(self, table: ValidationSet, booster: Booster) -> dict[str, float]:
        scores = table.update_scores(booster)
        values = {
            name: own.score_others(booster, table.target, scores, table.weights) for name, own in self._scorers.items()
        }
        return {name: -value if self._scorers[name].is_loss else value for name, value in values.items()}


class UserCallbacks(RoundCallback):
    """Calls the user's functions with a `RoundReport`; one that returns True stops training.

    Parameters
    ----------
    functions : sequence of callables
        Called in this order, all of them in every round.
    eval_sets : EvalSets
        What the reports show.
    """

    def __init__(self, functions: Sequence[Callable[[RoundReport], Any]], eval_sets: EvalSets | None) -> None:
        self._functions, self._eval_sets = functions, eval_sets

    def after_round(self, booster: Booster) -> bool:
        """Call all of them; whether one stops."""
        evals = {} if self._eval_sets is None else self._eval_sets.latest
        report = RoundReport(booster.n_rounds - 1, evals, booster.state.params)
        stops = [bool(function(report)) for function in self._functions]
        return any(stops)


class RoundTable(RoundCallback):
    """Prints a line for a round, in the form of scikit-learn: round, training loss, improvement, remaining time.

    Parameters
    ----------
    verbose : int
        1 prints the first ten rounds, then every tenth up to the hundredth, and so on; 2 and more print every round.
    last : int
        The number of rounds.
    training_loss : TrainingLoss or None
        Whose latest loss is printed.
    out_of_bag : OutOfBagLoss or None
        Whose latest improvement is printed.
    """

    def __init__(
        self, verbose: int, last: int, training_loss: TrainingLoss | None, out_of_bag: OutOfBagLoss | None
    ) -> None:
        self._verbose, self._last = verbose, last
        self._training_loss, self._out_of_bag = training_loss, out_of_bag
        self._step, self._n_done, self._started = 1, 0, 0.0

    def before_training(self, booster: Booster) -> None:
        """Print the names of the columns."""
        names = ["Train Loss"] * (self._training_loss is not None) + ["OOB Improve"] * (self._out_of_bag is not None)
        sys.stdout.write(f"{'Iter':>10} " + " ".join(f"{name:>16}" for name in (*names, "Remaining Time")) + "\n")
        self._started = time.monotonic()

    def after_round(self, booster: Booster) -> bool:
        """Print the round if it is its turn; never stops."""
        self._n_done += 1
        if self._n_done % self._step:
            return False
        numbers = [] if self._training_loss is None else [self._training_loss.losses[-1]]
        numbers += [] if self._out_of_bag is None else [self._out_of_bag.improvements[-1]]
        seconds = (self._last - booster.n_rounds) * (time.monotonic() - self._started) / self._n_done
        remaining = f"{seconds / 60.0:.2f}m" if seconds > 60.0 else f"{seconds:.2f}s"
        cells = [f"{booster.n_rounds:>10d}", *(f"{x:>16.4f}" for x in numbers), f"{remaining:>16}"]
        sys.stdout.write(" ".join(cells) + "\n")
        if self._verbose == 1 and self._n_done >= 10 * self._step:
            self._step *= 10
        return False


class ShowProgress(RoundCallback):
    """Passes on how many rounds are done, with the description of the last callback that has one.

    Parameters
    ----------
    on_progress : callable
        Called after each round.
    described : sequence of RoundCallback
        Whose scores or losses are shown.
    """

    def __init__(self, on_progress: ProgressCallback, described: Sequence[RoundCallback]) -> None:
        self._on_progress, self._described = on_progress, described

    def after_round(self, booster: Booster) -> bool:
        """Pass the number of rounds on; stops if scikit-learn's callbacks do."""
        notes = [note for callback in self._described if (note := callback.describe())]
        self._on_progress(booster.n_rounds, notes[-1] if notes else "")
        return should_stop(self._on_progress)


@dataclass
class Callbacks:
    """The callbacks of a fit, in the order in which they are called; None for those that it does without."""

    dart: Dart | None = None
    training_loss: TrainingLoss | None = None
    out_of_bag: OutOfBagLoss | None = None
    eval_sets: EvalSets | None = None
    early_stopping: EarlyStopping | None = None
    user: UserCallbacks | None = None
    table: RoundTable | None = None

    def __iter__(self) -> Iterator[RoundCallback]:
        callbacks = (getattr(self, field.name) for field in fields(self))
        return (callback for callback in callbacks if callback is not None)

    def collect(self, on_progress: ProgressCallback | None) -> list[RoundCallback]:
        """All of them in a list, and `ShowProgress` at its end if progress is to be shown."""
        own = list(self)
        return own if on_progress is None else [*own, ShowProgress(on_progress, own)]
