"""What the flagship writes down after each round: several tables by several measures, out-of-bag losses, callbacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.ensembles.boosting.validation import HeldOut, Judge, Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from committee.ensembles.boosting.rounds import Rounds

__all__ = ["BoostingLog", "RoundReport"]


@dataclass(frozen=True)
class RoundReport:
    """What a callback is told after a round.

    Attributes
    ----------
    iteration : int
        Number of the round, from zero.
    evals : dict
        For each table the latest value of each measure.
    params : object
        The engine's parameters; its ``learning_rate`` may be set for the rounds to come.
    """

    iteration: int
    evals: dict[str, dict[str, float]]
    params: Any


@dataclass
class BoostingLog:
    """All that is measured while boosting, and the rules that stop it.

    Attributes
    ----------
    watch : Watch or None
        The rule on rows held out.
    loss_judge : Judge or None
        Measures the loss of training rows and, with ``samples``, of rows out of bag; None measures neither.
    samples : bool
        Whether rounds draw rows.
    oob_patience : int or None
        Stop when this many rounds have come without a new best sum of out-of-bag improvements.
    tables, judges : dict
        What is measured besides, and how.
    callbacks : sequence of callables
        Called after each round with a `RoundReport`; True stops.
    """

    watch: Watch | None = None
    loss_judge: Judge | None = None
    samples: bool = False
    oob_patience: int | None = None
    tables: dict[str, HeldOut] = field(default_factory=dict)
    judges: dict[str, Judge] = field(default_factory=dict)
    callbacks: Sequence[Callable[[RoundReport], Any]] = ()
    train_losses: list[float] = field(default_factory=list)
    oob_losses: list[float] = field(default_factory=list)
    oob_gains: list[float] = field(default_factory=list)
    evals: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    _before: float = np.nan

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be written down."""
        nothing = self.watch is None and self.loss_judge is None
        return nothing and not (self.tables or self.callbacks or self.samples)

    def open(self, rounds: Rounds) -> None:
        """Begin."""
        for judge in (self.loss_judge, *self.judges.values()):
            if judge is not None:
                judge.prepare(rounds)
        if self.watch is not None:
            self.watch.open(rounds)

    def look_before(self, rounds: Rounds) -> None:
        """The loss of the rows out of bag before their round."""
        if self.samples:
            self._before = self._measure_out_of_bag(rounds)

    def look(self, rounds: Rounds) -> bool:
        """Write the latest round down; whether it is enough."""
        if self.loss_judge is not None:
            self.train_losses.append(-self.loss_judge.judge_training(rounds))
        if self.samples:
            self.oob_losses.append(self._measure_out_of_bag(rounds))
            self.oob_gains.append(self._before - self.oob_losses[-1])
        latest = {name: self._measure_table(name, rounds) for name in self.tables}
        enough = self.watch is not None and self.watch.look(rounds)
        enough |= self.oob_patience is not None and len(self.oob_gains) - self.best_out_of_bag >= self.oob_patience
        report = RoundReport(rounds.n_rounds - 1, latest, rounds.state.params)
        # Every callback is called, whatever the others say.
        said = [bool(callback(report)) for callback in self.callbacks]
        return enough or any(said)

    def describe(self) -> str:
        """The latest score of rows held out, or else the latest loss of rows out of bag or of training, in words."""
        if self.watch is not None:
            return self.watch.describe()
        for what, losses in (("out-of-bag", self.oob_losses), ("training", self.train_losses)):
            if losses:
                return f"{what} loss {losses[-1]:.4g}"
        return ""

    @property
    def best_out_of_bag(self) -> int:
        """Rounds up to the largest sum of out-of-bag improvements, at least one."""
        return int(np.argmax(np.cumsum(self.oob_gains))) + 1

    def _measure_table(self, name: str, rounds: Rounds) -> dict[str, float]:
        table = self.tables[name]
        scores = table.catch_up(rounds)
        told = self.evals.setdefault(name, {})
        latest = {}
        for how, judge in self.judges.items():
            value = judge.judge(table.target, scores, table.weights)
            latest[how] = -value if judge.is_loss else value
            told.setdefault(how, []).append(latest[how])
        return latest

    def _measure_out_of_bag(self, rounds: Rounds) -> float:
        if not rounds.loss.is_custom:
            return float(rounds.state.measure_held_out_loss())
        rows = rounds.state.held_out_rows
        part = rounds.dataset.take_rows(rows)
        scores = np.asarray(rounds.state.scores)[rows]
        return -Judge("loss", rounds.loss).judge(part.target, scores, part.weights)
