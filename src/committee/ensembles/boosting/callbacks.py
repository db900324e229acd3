"""What is recorded after each round: losses of training and out-of-bag rows, evaluation sets, the user's callbacks."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.ensembles.boosting.booster import RoundCallback
from committee.ensembles.boosting.objective import require_target
from committee.ensembles.boosting.scorer import BoostingScorer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from committee.engines import BoostingParams
    from committee.ensembles.boosting.booster import Booster, RoundLosses
    from committee.ensembles.boosting.dart import Dart
    from committee.ensembles.boosting.early_stopping import EarlyStopping
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.ensembles.boosting.validation import ValidationSet
    from committee.ensembles.progress import ProgressCallback

__all__ = ["Callbacks", "EvalSets", "OutOfBagLoss", "RoundReport", "ShowProgress", "TrainingLoss", "UserCallbacks"]


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


class TrainingLoss(RoundCallback):
    """Records the loss of the training rows after each round."""

    def __init__(self, loss: BoostingLoss) -> None:
        self.losses: list[float] = []
        self._scorer = BoostingScorer("loss", loss)

    @property
    def records_losses_only(self) -> bool:
        """Whether the engine can measure the loss."""
        return self._scorer.runs_in_engine

    def record(self, losses: RoundLosses) -> None:
        """Take the losses of all rounds."""
        self.losses.extend(losses.training.tolist())

    def before_training(self, booster: Booster) -> None:
        """Make losses comparable."""
        self._scorer.fix_loss(booster)

    def after_round(self, booster: Booster) -> bool:
        """Record the loss; never stops."""
        self.losses.append(-self._scorer.score_training(booster))
        return False

    def describe(self) -> str:
        """The latest loss."""
        return f"training loss {self.losses[-1]:.4g}" if self.losses else ""


class OutOfBagLoss(RoundCallback):
    """Records the loss of the out-of-bag rows of each round, before and after it.

    Parameters
    ----------
    patience : int or None
        Stop after this many rounds without a new best sum of improvements; None never stops.
    """

    def __init__(self, patience: int | None) -> None:
        self.losses: list[float] = []
        self.improvements: list[float] = []
        self._patience, self._before = patience, np.nan

    @property
    def records_losses_only(self) -> bool:
        """Whether it never stops."""
        return self._patience is None

    def record(self, losses: RoundLosses) -> None:
        """Take the losses of all rounds."""
        self.losses.extend(losses.out_of_bag_after.tolist())
        self.improvements.extend((losses.out_of_bag_before - losses.out_of_bag_after).tolist())

    def before_round(self, booster: Booster) -> None:
        """Measure the rows that the round leaves out."""
        self._before = _measure_out_of_bag(booster)

    def after_round(self, booster: Booster) -> bool:
        """Measure them again."""
        self.losses.append(_measure_out_of_bag(booster))
        self.improvements.append(self._before - self.losses[-1])
        return self._patience is not None and len(self.improvements) - self.best_round >= self._patience

    def describe(self) -> str:
        """The latest loss."""
        return f"out-of-bag loss {self.losses[-1]:.4g}" if self.losses else ""

    @property
    def best_round(self) -> int:
        """Rounds up to the largest sum of improvements, at least one."""
        return int(np.argmax(np.cumsum(self.improvements))) + 1


def _measure_out_of_bag(booster: Booster) -> float:
    if not booster.loss.is_custom:
        return booster.state.measure_held_out_loss()
    rows = booster.state.held_out_rows
    sample, scores = booster.dataset.take_rows(rows), np.asarray(booster.state.scores)[rows]
    return -BoostingScorer("loss", booster.loss).score(require_target(sample), scores, sample.weights)


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
        values = {name: own.score(table.target, scores, table.weights) for name, own in self._scorers.items()}
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
        """Pass the number of rounds on; never stops."""
        notes = [note for callback in self._described if (note := callback.describe())]
        self._on_progress(booster.n_rounds, notes[-1] if notes else "")
        return False


@dataclass
class Callbacks:
    """The callbacks of a fit, in the order in which they are called; None for those that it does without."""

    dart: Dart | None = None
    training_loss: TrainingLoss | None = None
    out_of_bag: OutOfBagLoss | None = None
    eval_sets: EvalSets | None = None
    early_stopping: EarlyStopping | None = None
    user: UserCallbacks | None = None

    def __iter__(self) -> Iterator[RoundCallback]:
        callbacks = (getattr(self, field.name) for field in fields(self))
        return (callback for callback in callbacks if callback is not None)

    def collect(self, on_progress: ProgressCallback | None) -> list[RoundCallback]:
        """All of them in a list, and `ShowProgress` at its end if progress is to be shown."""
        own = list(self)
        return own if on_progress is None else [*own, ShowProgress(on_progress, own)]
