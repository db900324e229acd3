"""What both additive models share: the fit, shape tables and their changes, contributions of terms to predictions."""

from __future__ import annotations

from copy import copy
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from committee.base import resolve_jobs, resolve_seed
from committee.constraints import show_value
from committee.data.dataset import ClassTarget
from committee.data.intake import take_in, take_in_rows
from committee.data.opening import opens_table
from committee.engines import get_engine
from committee.engines.formula import Arithmetic, ConstantTerm, TreeTerm
from committee.engines.tree_model import TreeModel
from committee.ensembles.additive.fit import AdditivePlan, ShapeFit, count_pairs, draw_held_out
from committee.ensembles.additive.term_trees import make_term_trees
from committee.ensembles.fit_callbacks import FitInput
from committee.ensembles.progress import show_progress
from committee.exceptions import DataError, ParameterError
from committee.learners.training_arrays import target_attributes
from committee.learners.tree_estimator import TreeEstimator
from committee.learners.tree_params import TreeSettings, make_grow_params
from committee.learners.tree_rows import predict_boosted, predict_trees
from committee.learners.tree_view import normalize_importances
from committee.value_checks import read_doubles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import ArrayLike

    from committee.data import Dataset
    from committee.engines.formula import FormulaTerm
    from committee.ensembles.additive.fit import FittedTerms
    from committee.ensembles.additive.shapes import TermShape
    from committee.losses import LossFunction
    from committee.typing import FloatArray, IndexArray

__all__ = ["BaseExplainableBoosting"]

_CYCLES_PER_SMOOTH_PAIR_CYCLE = 20
"""Smooth cycles over features for each over pairs. All pairs take part in these, also those of noise, which steps with
the best cuts leave alone: with five times as many, 30 pairs of which one is real fitted the noise
(``benchmarks/results/explainable.md``)."""


class BaseExplainableBoosting(TreeEstimator):
    """A sum of shape tables, fitted by boosting in cycles.

    A subclass has the constructor, chooses the loss (`_make_loss`) and predicts classes or values.
    """

    accepts_infinity: ClassVar[bool] = True
    _combine = "sum"

    _loss: LossFunction
    _baseline: FloatArray
    _slots: IndexArray
    _shapes: list[TermShape]

    def _make_loss(self, dataset: Dataset) -> LossFunction:
        """The loss that the parameters name, checked against the target."""
        raise NotImplementedError

    # Fitting.

    def take_in(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, class_weight: Any = None) -> Dataset:
        """Read and check a table and its target as `fit` does."""
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
            multi_output=False,
        )

    @opens_table
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the tables of features, choose pairs, and fit theirs.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : array-like of shape (n_samples,)
            Classes or values to learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent.

        Returns
        -------
        self
        """
        self.validate_params()
        dataset = self.take_in(X, y, sample_weight, self._choose_class_weight())
        return self._fit(dataset, FitInput(X, y, sample_weight))

    def fit_dataset(self, dataset: Dataset, weights: FloatArray | None = None) -> Self:
        """Fit on a data set that was read before; ensembles share one data set in this way.

        Parameters
        ----------
        dataset : Dataset
            From `take_in`; class weights are in its weights already (`weigh_rows`).
        weights : ndarray of shape (n_samples,), optional
            Row weights in place of the data set's own.

        Returns
        -------
        self
        """
        self.validate_params()
        return self._fit(dataset if weights is None else dataset.reweighted(weights), None)

    def _fit(self, dataset: Dataset, given: FitInput | None) -> Self:
        plan, seed = self._make_plan(dataset), resolve_seed(self.random_state)
        if dataset.weights is not None and not (dataset.weights > 0.0).all():
            dataset = dataset.take_rows(np.flatnonzero(dataset.weights > 0.0))
        loss = self._make_loss(dataset)
        fraction = float(self.validation_fraction) if self.early_stopping else None
        held_out = draw_held_out(dataset, int(self.outer_bags), fraction, seed)
        total = int(self.max_iter) * (1 if plan.n_pairs == 0 else 2)
        with show_progress("Cycles", total, verbose=int(self.verbose), estimator=self, given=given) as on_progress:
            fitted = ShapeFit(dataset, loss, held_out, plan).run(on_progress)
        self._set_fitted(
            {
                **target_attributes(dataset.target),
                **self._list_terms(fitted.shapes, dataset.n_features),
                "_loss": loss,
                "_baseline": fitted.baseline,
                **_describe_cycles(fitted),
            },
            dataset.schema,
        )
        return self

    def _make_plan(self, dataset: Dataset) -> AdditivePlan:
        constraints = TreeSettings(type(self).__name__, "squared_error", monotonic_cst=self.monotonic_cst)
        signs = list(make_grow_params(constraints, dataset, None, 0).monotonic) or [0] * dataset.n_features
        params = get_engine().AdditiveParams()
        params.learning_rate = float(self.learning_rate)
        params.max_leaves = int(self.max_leaf_nodes)
        params.min_samples_leaf = min(int(self.min_samples_leaf), 2**32 - 1)
        params.reg_lambda = float(self.l2_regularization)
        params.patience = min(int(self.n_iter_no_change), 2**32 - 1)
        params.smooth_cycles = min(int(self.smooth_iter), 2**32 - 1)
        params.smooth_pair_cycles = ceil(params.smooth_cycles / _CYCLES_PER_SMOOTH_PAIR_CYCLE)
        params.tolerance = float(self.tol)
        pairs, n_pairs = None, 0
        if isinstance(self.interactions, int | float | np.number):
            n_pairs = count_pairs(cast("float", self.interactions), dataset.schema.n_inputs)
        else:
            pairs = self._read_pairs(dataset, signs)
            n_pairs = len(pairs)
        return AdditivePlan(
            params,
            int(self.max_iter),
            signs,
            n_pairs,
            pairs,
            int(self.max_bins),
            int(self.max_interaction_bins),
            resolve_jobs(self.n_jobs),
        )

    def _read_pairs(self, dataset: Dataset, signs: list[int]) -> list[tuple[int, int]]:
        """The pairs that the user names, as numbers of features."""
        schema, pairs = dataset.schema, []
        subject = f"The 'interactions' parameter of {type(self).__name__}"
        for given in self.interactions:
            if isinstance(given, str) or not np.iterable(given) or len(list(given)) != 2:
                raise ParameterError(f"{subject} must be a number or a list of pairs; it has {show_value(given)}.")
            columns = [_find_column(schema, name, subject) for name in given]
            features = [schema.list_features(column) for column in columns]
            if columns[0] == columns[1] or any(len(own) != 1 for own in features):
                raise ParameterError(
                    f"{subject} must name two columns of numbers or categories in each pair; it has "
                    f"{show_value(given)}."
                )
            pair = features[0][0], features[1][0]
            if any(signs[feature] for feature in pair):
                raise ParameterError(
                    f"{subject} has the pair {show_value(given)}, of which a feature is monotonic ('monotonic_cst'). "
                    "Tables of pairs are not constrained; leave the pair or the constraint out."
                )
            if pair not in pairs and pair[::-1] not in pairs:
                pairs.append(pair)
        return pairs

    def _list_terms(self, shapes: Sequence[TermShape], n_features: int) -> dict[str, Any]:
        """The fitted attributes that hold the terms."""
        trees = make_term_trees(shapes, n_features)
        return {"_shapes": list(shapes), "_trees": trees, "_slots": np.zeros(trees.n_trees, dtype=np.uint32)}

    # Shape tables.

    @property
    def shapes_(self) -> list[TermShape]:
        """The shape table of each term: features in their order, then pairs by what they explain."""
        self.fitted_trees()
        return list(self._shapes)

    @property
    def term_names_(self) -> list[str]:
        """The name of each term."""
        return [shape.name for shape in self.shapes_]

    @property
    def intercept_(self) -> float | FloatArray:
        """What the score of every row begins with: a number, or one for each of several classes."""
        self.fitted_trees()
        return float(self._baseline[0]) if len(self._baseline) == 1 else np.array(self._baseline)

    @property
    def term_importances_(self) -> FloatArray:
        """Mean absolute contribution of each term over the training rows."""
        return np.array([shape.importance for shape in self.shapes_])

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean absolute contribution of each feature's terms, half of a pair's each, as a fraction of the sum."""
        self.fitted_trees()
        found = np.zeros(self._schema.n_features)
        for shape in self._shapes:
            for feature in shape.features:
                found[feature] += shape.importance / len(shape.features)
        return normalize_importances(self._schema.sum_features(found, axis=0))

    def shape(self, term: int | str | Sequence[int | str]) -> TermShape:
        """The shape table of one term.

        Parameters
        ----------
        term : int, str or pair of these
            The number of a term, the name of a feature, or two names or numbers of features.

        Returns
        -------
        TermShape
        """
        return self._shapes[self._find_term(term)]

    def edit(self, term: int | str | Sequence[int | str], values: ArrayLike) -> Self:
        """A copy of the model whose shape table of one term has other values; the model itself stays as it is.

        Parameters
        ----------
        term : int, str or pair of these
            As for `shape`.
        values : array-like
            Of the shape of the table's ``values``; for one score also without the axis of scores. Zero takes a term
            out of the model.

        Returns
        -------
        Self
            Its predictions are the sum of the changed tables. Nothing is fitted again or centred.
        """
        number = self._find_term(term)
        old = self._shapes[number]
        new = read_doubles(values, "values", f"an array of shape {old.values.shape}")
        if new.shape in (old.values.shape[1:], ()):
            new = np.broadcast_to(new, old.values.shape)
        if new.shape != old.values.shape or not np.isfinite(new).all():
            raise DataError(
                f"values must be finite numbers of shape {old.values.shape}, a value for each score and cell; got "
                f"an array of shape {new.shape}. shape({show_value(term)}).values is the table at hand."
            )
        shapes = list(self._shapes)
        shapes[number] = old.with_values(np.array(new, dtype=np.float64))
        edited = copy(self)
        edited._replace_fitted(self._list_terms(shapes, self._schema.n_features))
        return edited

    def _find_term(self, term: int | str | Sequence[int | str]) -> int:
        self.fitted_trees()
        if isinstance(term, int | np.integer):
            if not -len(self._shapes) <= term < len(self._shapes):
                raise ParameterError(f"The model has {len(self._shapes)} terms; there is no term {term}.")
            return int(term) % len(self._shapes)
        if isinstance(term, str):
            known = self.term_names_
            if term in known:
                return known.index(term)
            raise ParameterError(f"The model has no term {term!r}; the terms are {show_value(known)}.")
        names = self._schema.name_features("x{}")
        numbers = range(len(names))
        wanted = {names[k] if isinstance(k, int | np.integer) and k in numbers else str(k) for k in term}
        for number, shape in enumerate(self._shapes):
            if len(shape.names) == len(wanted) and set(shape.names) == wanted:
                return number
        raise ParameterError(
            f"The model has no term of {show_value(term)}; the terms are {show_value(self.term_names_)}."
        )

    def explain(self, X: Any) -> FloatArray:
        """What each term adds to the score of each row; with `intercept_` the sum is the score.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to explain.

        Returns
        -------
        ndarray of shape (n_samples, n_terms), or (n_samples, n_terms, n_classes) with several scores
            Terms in the order of `term_names_`.
        """
        trees, rows = self.fitted_trees(), take_in_rows(self, X, self._schema)
        n_scores = self._loss.n_scores
        parts = [
            predict_trees(trees, rows, "sum", self.n_jobs, out_width=n_scores, span=range(term, term + 1))
            for term in range(trees.n_trees)
        ]
        found = np.stack(parts, axis=1)
        return found[:, :, 0] if n_scores == 1 else found

    # Predicting.

    def _raw_predict(self, X: Any) -> FloatArray:
        """Scores, of shape (n_rows, n_scores)."""
        trees, rows = self.fitted_trees(), take_in_rows(self, X, self._schema)
        return predict_boosted(trees, rows, self._tree_slots(), self._baseline, self.n_jobs)

    def _predict_means(self, X: Any, two_classes: bool = False) -> FloatArray:
        """Predictions by the inverse link; with ``two_classes``, the probabilities of both."""
        trees, rows = self.fitted_trees(), take_in_rows(self, X, self._schema)
        return predict_boosted(
            trees,
            rows,
            self._tree_slots(),
            self._baseline,
            self.n_jobs,
            loss=self._loss.made,
            two_classes=two_classes,
        )

    def _tree_slots(self) -> IndexArray | None:
        """The score that each tree adds to; None where every tree adds to all."""
        return self._slots if self._trees.width == 1 else None

    def to_tree_model(self) -> TreeModel:
        """One tree for each term, for permutation importance, partial dependence and Shapley values."""
        trees, loss = self.fitted_trees(), self._loss
        link = loss.traits.link
        return TreeModel(
            trees,
            self._schema,
            "sum",
            slots=self._tree_slots(),
            n_columns=loss.n_scores,
            baseline=self._baseline,
            link="other" if link == "half_logit" else link,
        )

    def _score_term(self, row: FormulaTerm) -> FormulaTerm:
        """The scores of a row, as a term of a formula."""
        sums = TreeTerm(row, self.fitted_trees(), "sum", slots=self._tree_slots(), n_columns=self._loss.n_scores)
        return Arithmetic("+", sums, ConstantTerm(np.asarray(self._baseline, dtype=np.float64)))


def _find_column(schema: Any, name: Any, subject: str) -> int:
    """The number of a column of the user's table."""
    names = schema.name_inputs("x{}")
    if isinstance(name, str) and name in names:
        return int(names.index(name))
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and 0 <= int(name) < len(names):
        return int(name)
    raise ParameterError(f"{subject} must name columns of X, by name or number; {name!r} is none.")


def _describe_cycles(fitted: FittedTerms) -> dict[str, Any]:
    """Fitted attributes about the cycles."""
    return {
        "n_iter_": int(fitted.cycles.max(initial=0)),
        "bag_cycles_": fitted.cycles,
        "validation_loss_": np.concatenate(fitted.losses),
    }


def count_classes(dataset: Dataset) -> int:
    """Classes of a data set with one target."""
    target = dataset.target
    assert isinstance(target, ClassTarget)
    return target.n_classes[0]
