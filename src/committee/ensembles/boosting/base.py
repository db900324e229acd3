"""What all boosted models share: the set-up of a fit, the fitted state, and predictions from scores."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from committee.base import resolve_jobs, resolve_seed
from committee.data.device_tables import is_on_device
from committee.data.intake import take_in, take_in_rows
from committee.data.targets import has_several_columns
from committee.engines import get_engine
from committee.engines.block_boosting import bin_for_boosting
from committee.engines.choice import compile_for_boosting
from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    ModelFormula,
    RowFunction,
    TableRow,
    TreeTerm,
    present_scores,
    refuse_formula,
)
from committee.engines.several_targets import present_target_scores, take_spans
from committee.engines.tree_model import TreeModel
from committee.ensembles.boosting.booster import Booster, InitialScores, PreviousFit
from committee.ensembles.boosting.custom_loss import CustomLoss
from committee.ensembles.boosting.group_loss import GroupLoss
from committee.ensembles.boosting.joined_loss import JoinedLoss
from committee.ensembles.boosting.leaf_refit import BoostingLeafRefit
from committee.ensembles.boosting.objective import Objective, predict_initial_scores
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.learners.training_arrays import target_attributes
from committee.learners.tree_estimator import TreeEstimator
from committee.learners.tree_params import TreeSettings, make_grow_params
from committee.learners.tree_rows import predict_boosted, predict_trees
from committee.learners.tree_view import normalize_importances
from committee.losses import LossFunction

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from committee.data import Dataset
    from committee.data.dataset import ClassTarget, ValueTarget
    from committee.engines import BoostingParams
    from committee.engines.formula import FormulaTerm
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.ensembles.boosting.params import BoostingEngine, BoostingSplitter
    from committee.params import ClassWeight, InteractionCst, MonotonicCst, RandomState, Verbose, WarmStart
    from committee.typing import FloatArray, IndexArray

__all__ = ["BaseBoosting"]

_LARGEST_LEAF = 1e300  # of which sums are finite


class BaseBoosting(BoostingLeafRefit, TreeEstimator):
    """A sum of trees and a baseline, with a loss that turns its scores into predictions.

    A subclass has the constructor and a `fit`, chooses the loss (`_make_loss`) and sets the engine's parameters
    (`_set_engine_params`). Whether it predicts classes or values is the matter of a mixin, see
    `committee.ensembles.boosting.predictions`.
    """

    # Bins keep the order of values, and infinities have a place in it.
    accepts_infinity: ClassVar[bool] = True
    accepts_device: ClassVar[bool] = True

    monotonic_cst: MonotonicCst
    interaction_cst: InteractionCst
    random_state: RandomState
    warm_start: WarmStart
    verbose: Verbose
    # Pickles from before the parameters existed have none of their own.
    engine: BoostingEngine = "cpu"
    splitter: BoostingSplitter = "best"

    _loss: BoostingLoss
    _baseline: FloatArray
    _slots: IndexArray
    _gains: FloatArray
    _seed: int

    def _make_loss(self, dataset: Dataset) -> BoostingLoss:
        """The loss that the parameters name, checked against the target."""
        raise NotImplementedError

    def _set_engine_params(self, params: BoostingParams, dataset: Dataset, whole: Dataset) -> None:
        """Set what the constructor's parameters mean for the engine; `whole` as in `_make_booster`."""
        raise NotImplementedError

    # Fitting.

    def take_in(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, class_weight: ClassWeight = None
    ) -> Dataset:
        """Read and check a table and its target as `fit` does; there may be several targets."""
        return take_in(
            self,
            X,
            y,
            sample_weight,
            task=self._task,
            class_weight=class_weight,
            categorical_features=self.categorical_features,
            unseen=self.unseen,
            text_columns=self.text_columns,
            multi_output=self._task == "regress" or has_several_columns(y),
        )

    def _resolve_seed(self) -> int:
        """The seed, which a warm start keeps so that the same rows are held out again."""
        return self._seed if self._continues() else resolve_seed(self.random_state)

    def _continues(self) -> bool:
        """Whether the trees of the last fit are kept."""
        return bool(self.warm_start) and self.__sklearn_is_fitted__()

    def _check_rounds(self, name: str, wanted: int, fitted: int) -> None:
        if self._continues() and wanted < fitted:
            raise ParameterError(
                f"{name}={wanted} must be larger or equal to {fitted}, the rounds of the last fit, when "
                "warm_start==True"
            )

    def _make_booster(
        self, dataset: Dataset, loss: BoostingLoss, seed: int, initial: InitialScores, whole: Dataset | None = None
    ) -> Booster:
        """The model before its first round, or after the rounds of the last fit if these are kept.

        Trees grow as those of all rows (`whole`), of which the data set may be a part: rounds are chosen for these.
        """
        initial = replace(initial, engine=self.engine)
        if self._continues():
            initial = replace(initial, previous=self._get_previous_fit(dataset))
        params = get_engine().BoostingParams()
        params.seed, params.n_jobs = seed, resolve_jobs(self.n_jobs)
        self._set_engine_params(params, dataset, dataset if whole is None else whole)
        constraints = TreeSettings(
            type(self).__name__,
            "squared_error",
            monotonic_cst=self.monotonic_cst,
            interaction_cst=self.interaction_cst,
        )
        # Constraints are on the score: the levels or columns of the target of a loss of groups are no outputs.
        single = isinstance(loss, GroupLoss) and loss.n_scores == 1
        constrained = replace(dataset, target=None) if single else dataset
        growth = make_grow_params(constraints, constrained, dataset.weights, seed)
        params.monotonic, params.interaction_groups = growth.monotonic, growth.interaction_groups
        if params.min_samples_leaf == 1:
            # Every side of a split has a row. The engine first tests sums of hessians, which would refuse sides whose
            # rows have small weights.
            params.min_samples_leaf = 0
        objective = Objective.of(loss, dataset)
        prepare = partial(
            compile_for_boosting,
            n_rows=dataset.n_rows,
            weights=objective.weights,
            loss=(loss.name, loss.n_scores),
            params=params,
            given=not isinstance(loss, LossFunction),
        )
        bins = bin_for_boosting(dataset, self.max_bins, params.n_jobs, self.engine, prepare)
        booster = Booster(dataset, bins, objective, params, initial)
        groups = self._number_groups(dataset) if params.subsample < 1.0 else None
        if groups is not None:
            booster.state.draw_groups(groups)
        return booster

    def _number_groups(self, dataset: Dataset) -> IndexArray | None:
        """The number of each row's group, from 0 on, where ``subsample`` draws groups of rows as a whole."""
        return None

    def _get_previous_fit(self, dataset: Dataset) -> PreviousFit:
        """The trees of the last fit, after a check that they fit these data."""
        schema, attributes = dataset.schema, self._describe_target(dataset.target)
        same_target = all(_are_equal(value, self.__dict__.get(name)) for name, value in attributes.items())
        pairs = zip(schema.categories, self._schema.categories, strict=False)
        same_table = schema.inputs == self._schema.inputs and all(_are_equal(one, other) for one, other in pairs)
        if not same_target or not same_table or schema.n_features != self._schema.n_features:
            raise DataError(
                f"{type(self).__name__} keeps its trees (warm_start=True), but these data have other features, "
                "categories or classes than those that the trees were grown on."
            )
        return PreviousFit(self._trees, self._slots, self._baseline, self._gains)

    def _describe_target(self, target: ClassTarget | ValueTarget | None) -> dict[str, Any]:
        """Fitted attributes about the target; columns that a loss of groups reads are no outputs."""
        return target_attributes(target)

    def _finalize(self, booster: Booster, n_rounds: int | None, attributes: dict[str, Any]) -> None:
        """Store the first rounds (None: all) and other fitted attributes."""
        self._set_fitted(self._list_fitted(booster, n_rounds, attributes), booster.dataset.schema)

    def _list_fitted(self, booster: Booster, n_rounds: int | None, attributes: dict[str, Any]) -> dict[str, Any]:
        """Fitted attributes by name, without those about the columns."""
        trees, slots = booster.finish(n_rounds)
        values = trees.values
        if values.size and not np.abs(values).max() < _LARGEST_LEAF:
            raise DataError(
                f"The scores of {type(self).__name__} grew beyond all bounds: the values of its leaves are no numbers "
                f"below {_LARGEST_LEAF:.0e}. Choose a smaller learning_rate, or scale the target."
            )
        return {
            **self._describe_target(booster.objective.target),
            "_trees": trees,
            "_slots": slots,
            "_baseline": booster.baseline,
            "_loss": booster.loss.prediction_loss if isinstance(booster.loss, GroupLoss) else booster.loss,
            "_gains": booster.gains,
            **attributes,
        }

    # Predicting.

    def _raw_predict(self, X: Any) -> FloatArray:
        """Scores, of shape (n_rows, n_scores)."""
        if is_on_device(X):
            on_device: FloatArray = self._predict_on_device(X)
            return on_device
        trees, rows = self.fitted_trees(), take_in_rows(self, X, self._schema)
        scores = predict_boosted(trees, rows, self._tree_slots(), self._baseline, self.n_jobs)
        offset = self._predict_offset(X)
        return scores if offset is None else scores + offset

    def _predict_means(self, X: Any, two_classes: bool = False) -> FloatArray:
        """Predictions by the inverse link; with ``two_classes``, the probabilities of both."""
        self.fitted_trees()
        loss = self._loss
        if is_on_device(X):
            from committee.engines.gpu.serving import apply_device_link

            link = self.to_tree_model().link
            means: FloatArray = apply_device_link(link, self._predict_on_device(X), two_classes=two_classes)
            return means
        if isinstance(loss, LossFunction) and self._initial_estimator() is None:
            return self._predict_encoded_means(take_in_rows(self, X, self._schema), two_classes=two_classes)
        means = loss.find_means(self._raw_predict(X))
        return np.concatenate((1.0 - means, means), axis=1) if two_classes else means

    def _predict_encoded_means(self, rows: Any, *, two_classes: bool) -> FloatArray:
        """The same of rows that are encoded already, by a loss of the core."""
        assert isinstance(self._loss, LossFunction)
        loss = self._loss.made
        return predict_boosted(
            self._trees, rows, self._tree_slots(), self._baseline, self.n_jobs, loss=loss, two_classes=two_classes
        )

    def _find_host_part(self) -> str | None:
        return super()._find_host_part() if self._initial_estimator() is None else "an initial estimator"

    def _scores_by_round(self, X: Any) -> Iterator[FloatArray]:
        """Scores after each round; those of the last one are, to the bit, those of all trees."""
        trees, slots, n_scores = self.fitted_trees(), self._tree_slots(), self._loss.n_scores
        rows, offset, step = take_in_rows(self, X, self._schema), self._predict_offset(X), self._count_trees_per_round()
        total: FloatArray | float = 0.0
        for first in range(0, trees.n_trees, step):
            newest = range(first, first + step)
            total = total + predict_trees(trees, rows, "sum", self.n_jobs, slots=slots, out_width=n_scores, span=newest)
            scores = total + self._baseline
            yield scores if offset is None else scores + offset

    def _initial_estimator(self) -> Any:
        """The fitted estimator that scores start from (parameter ``init``), or None."""
        init = self.__dict__.get("init_")
        return None if isinstance(init, str) else init

    def _predict_offset(self, X: Any) -> FloatArray | None:
        """Scores of the initial estimator."""
        return predict_initial_scores(self._initial_estimator(), X, self._loss, classes=self._task == "classify")

    def _tree_slots(self) -> IndexArray | None:
        """The score that each tree adds to; None where every tree adds to all."""
        return self._slots if self._trees.width == 1 else None

    def _count_trees_per_round(self) -> int:
        return self._loss.n_scores if self._trees.width == 1 else 1

    def to_tree_model(self) -> TreeModel:
        """The fitted trees and how they are combined, for importance, partial dependence and Shapley values."""
        trees, loss, init = self.fitted_trees(), self._loss, self._initial_estimator()
        if init is not None:
            raise ParameterTypeError(
                f"This {type(self).__name__} starts from a {type(init).__name__} (parameter 'init'), so that its trees "
                "alone do not explain its predictions."
            )
        link = loss.traits.link
        return TreeModel(
            trees,
            self._schema,
            "sum",
            slots=self._tree_slots(),
            n_columns=loss.n_scores,
            baseline=self._baseline,
            # Several quantiles are sorted besides.
            link="other" if loss.levels or link == "half_logit" else link,
        )

    def _score_term(self, row: FormulaTerm) -> FormulaTerm:
        """The scores of a row, as a term of a formula."""
        if self._initial_estimator() is not None:
            raise refuse_formula(self, "starts from another estimator (parameter 'init')")
        trees, n_scores = self.fitted_trees(), self._loss.n_scores
        sums = TreeTerm(row, trees, "sum", slots=self._tree_slots(), n_columns=n_scores)
        return Arithmetic("+", sums, ConstantTerm(np.asarray(self._baseline, dtype=np.float64)))

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted estimator computes for a row, by default of its own table; exports are written from it."""
        self.fitted_trees()
        row = TableRow(self._schema.n_features) if row is None else row
        if isinstance(self._loss, CustomLoss) and hasattr(self._loss.function, "mean"):
            raise refuse_formula(self, "has a loss whose 'mean' is written in Python")
        scores = self._score_term(row)
        if self._task == "classify" and isinstance(self.classes_, list):
            return self._present_targets(row, scores)
        means = _invert_link(scores, self._loss, classes=self._task == "classify")
        if self._task != "classify":
            return ModelFormula(row, self._schema, means)
        return present_scores(row, self._schema, self.classes_, scores, means)

    def _present_targets(self, row: FormulaTerm, scores: FormulaTerm) -> ModelFormula:
        """The formula of several class targets."""
        classes, loss = self.classes_, self._loss
        each: Sequence[LossFunction]
        if isinstance(loss, JoinedLoss):
            each = loss.losses
        else:  # two classes each
            assert isinstance(loss, LossFunction)
            each = [replace(loss, n_scores=1)] * len(classes)
        parts = take_spans(scores, [own.n_scores for own in each])
        means = [_invert_link(part, own, classes=True) for part, own in zip(parts, each, strict=True)]
        return present_target_scores(row, self._schema, classes, parts, means)

    @property
    def feature_importances_(self) -> FloatArray:
        """Gain of each feature over all splits, as a fraction of the sum."""
        self.fitted_trees()
        return normalize_importances(self._schema.sum_features(self._gains, axis=0))


def _invert_link(scores: FormulaTerm, loss: BoostingLoss, *, classes: bool) -> FormulaTerm:
    """Predictions from scores, as `find_means` of the loss gives them."""
    link = loss.traits.link
    if not isinstance(loss, LossFunction):
        link = "identity" if not classes else "logit" if loss.n_scores == 1 else "softmax"
    if link == "half_logit":
        return RowFunction("sigmoid", Arithmetic("*", ConstantTerm(np.array([2.0])), scores))
    if link == "logit":
        return RowFunction("sigmoid", scores)
    if link == "softmax":
        return RowFunction("softmax", scores)
    means: FormulaTerm = RowFunction("exp", scores) if link == "log" else scores
    return RowFunction("sort", means) if loss.levels else means


def _are_equal(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(np.array_equal, one, other))
    return np.array_equal(one, other)
