"""Observers of a fit: objects that are notified when models are fitted and folds are scored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FitObserver", "FitObserverGroup"]


class FitObserver:
    """Receives the events of a fit. The methods of this base class do nothing."""

    def on_start(self) -> None:
        """All arguments are valid; the first model is fitted next."""

    def on_fit_end(self) -> None:
        """A model has been fitted."""

    def on_fold_end(self, model: Any, test: NDArray[np.intp]) -> None:
        """A fold has been scored.

        Parameters
        ----------
        model : estimator
            Fitted without the rows of the fold.
        test : ndarray of int
            Indices of these rows.
        """

    def on_score(self, text: str) -> None:
        """The mean score over the folds so far has changed.

        Parameters
        ----------
        text : str
            The score, formatted.
        """


class FitObserverGroup(FitObserver):
    """Forwards each event to several observers, in order.

    Parameters
    ----------
    observers : iterable of FitObserver
        The receivers.
    """

    def __init__(self, observers: Iterable[FitObserver]) -> None:
        self._observers = tuple(observers)

    def on_start(self) -> None:
        """Forward the start."""
        for observer in self._observers:
            observer.on_start()

    def on_fit_end(self) -> None:
        """Forward the end of a model's fit."""
        for observer in self._observers:
            observer.on_fit_end()

    def on_fold_end(self, model: Any, test: NDArray[np.intp]) -> None:
        """Forward the model and the test rows of a fold."""
        for observer in self._observers:
            observer.on_fold_end(model, test)

    def on_score(self, text: str) -> None:
        """Forward the score so far."""
        for observer in self._observers:
            observer.on_score(text)
