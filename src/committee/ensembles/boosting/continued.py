"""Fits that go on from round to round on a data set that was read before, as ensembles need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from committee.data.dataset import ClassTarget
from committee.data.intake import take_in_rows
from committee.ensembles.boosting.callbacks import Callbacks
from committee.ensembles.boosting.fit import BaseGradientBoosting

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.ensembles.boosting.booster import Booster
    from committee.typing import AnyArray, FloatArray, FloatMatrix, SparseMatrix

__all__ = ["ContinuedBoosting", "FollowedFit"]

_MOST_KEPT = 1 << 18
"""Scores of training rows up to which the state of a fit is kept between its steps, some 50 bytes for each."""


class ContinuedBoosting(BaseGradientBoosting):
    """Gradient boosting that an ensemble boosts further and further."""

    features_by_rows: ClassVar[bool] = True

    def continue_fit(self, dataset: Dataset, booster: Booster | None = None) -> Booster:
        """Boost up to ``n_estimators`` rounds, and record no losses of the rounds, which take a fifth of the time.

        The trees are those of `fit_dataset` with ``early_stopping=False``.

        Parameters
        ----------
        dataset : Dataset
            From `committee.data.intake.take_in`, with the weights of the rows.
        booster : Booster, optional
            What the call before returned, which spares the scores of its trees. Without it ``warm_start`` decides
            whether the trees of the last fit are kept.

        Returns
        -------
        Booster
            For the next call.
        """
        if booster is None:
            booster, seed = self._start_fit(dataset)
        else:
            seed = self._seed
        booster.boost(int(self._resolve().n_estimators))
        self._keep_rounds(booster, seed)
        return booster

    def _start_fit(self, dataset: Dataset) -> tuple[Booster, int]:
        """The model before its first new round, and the seed."""
        self.validate_params()
        self._check_together()
        loss, seed = self._make_loss(dataset), self._resolve_seed()
        return self._make_booster(dataset, loss, seed, self._find_initial_scores(None, None, loss)), seed

    def _keep_rounds(self, booster: Booster, seed: int) -> None:
        self._finalize(booster, None, self._list_attributes(booster, Callbacks(), None, None, seed, None))

    def follow_fit(self, dataset: Dataset, rows: FloatMatrix | SparseMatrix) -> FollowedFit:
        """A fit that goes on step by step, with the predictions of other rows after each step.

        Parameters
        ----------
        dataset : Dataset
            As for `continue_fit`.
        rows : ndarray or sparse matrix
            Other rows, encoded by `encode_rows`.
        """
        return FollowedFit(self, dataset, rows)

    def encode_rows(self, X: Any, dataset: Dataset) -> FloatMatrix | SparseMatrix:
        """Rows as a fit on a data set encodes them."""
        return take_in_rows(self, X, dataset.schema)

    def predict_encoded(self, rows: FloatMatrix | SparseMatrix) -> FloatArray:
        """Class probabilities or values of rows from `encode_rows`, of shape (n_rows, width)."""
        two_classes = self.task == "classify" and self._loss.n_scores == 1
        return self._predict_encoded_means(rows, two_classes=two_classes)


class FollowedFit:
    """A fit that goes on step by step, and the predictions of some rows that it does not learn from.

    A step costs its own rounds: neither the scores of the training rows nor those of the other rows are computed again
    from all trees. The trees are those of `ContinuedBoosting.continue_fit`, the predictions those of the model but for
    the order of sums.

    Parameters
    ----------
    model : ContinuedBoosting
        Has ``warm_start=True``; is fitted by `pause`.
    dataset : Dataset
        The training rows.
    rows : ndarray or sparse matrix
        The rows to predict, encoded.

    Attributes
    ----------
    rate : float
        The learning rate.
    """

    def __init__(self, model: ContinuedBoosting, dataset: Dataset, rows: FloatMatrix | SparseMatrix) -> None:
        self.model, self._dataset, self._rows = model, dataset, rows
        self._booster: Booster | None = None
        self._seed = self._n_added = 0
        self._scores: FloatArray | None = None
        self.rate = model._resolve().find_rate(dataset)

    @property
    def classes(self) -> AnyArray | None:
        """The classes of a classifier."""
        target = self._dataset.target
        return target.classes[0] if isinstance(target, ClassTarget) else None

    def boost(self, n_rounds: int) -> None:
        """Boost up to a number of rounds."""
        self.model.set_params(n_estimators=n_rounds)
        if self._booster is None:
            self._booster, self._seed = self.model._start_fit(self._dataset)
            self._n_added = 0
        booster = self._booster
        booster.boost(n_rounds)
        if self._scores is None:
            self._scores = np.tile(booster.baseline, (self._rows.shape[0], 1))
        with np.errstate(over="ignore", invalid="ignore"):  # scores beyond all bounds are refused when rounds are kept
            self._scores = self._scores + booster.sum_newest(self._rows, self._n_added)
        self._n_added = booster.state.n_trees
        if self._dataset.n_rows * booster.loss.n_scores > _MOST_KEPT:
            self.pause()

    def predict(self) -> FloatArray:
        """Class probabilities or values of the other rows after the last step, of shape (n_rows, width)."""
        assert self._scores is not None, "boost first"
        loss = self.model._loss if self._booster is None else self._booster.loss
        means = loss.find_means(self._scores)
        two_classes = self.model.task == "classify" and means.shape[1] == 1
        return np.concatenate((1.0 - means, means), axis=1) if two_classes else means

    def keep_first(self, n_rounds: int) -> ContinuedBoosting:
        """The fitted model with the first rounds only."""
        self.pause()
        model = self.model
        n_trees = n_rounds * model._count_trees_per_round()
        model._trees, model._slots = model._trees.select(0, n_trees), model._slots[:n_trees]
        model.n_estimators_, model.best_iteration_ = n_rounds, n_rounds - 1
        model.train_score_ = model.train_score_[:n_rounds]
        model.set_params(n_estimators=n_rounds)
        return model

    def pause(self) -> None:
        """Keep the rounds so far in the model, and drop what only further rounds need: they compute it again."""
        if self._booster is not None:
            self.model._keep_rounds(self._booster, self._seed)
            self._booster = None
