"""Base of the stacking ensembles: parameters, out-of-fold predictions layer by layer, the meta-model."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from sklearn import get_config
from sklearn.base import TransformerMixin, clone, is_classifier, is_regressor
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from committee.constraints import show_value
from committee.data import ClassTarget
from committee.data.blocks import OpenedSource
from committee.data.folds import plan_folds, restrict_folds
from committee.data.opening import opens_table
from committee.data.passing import read_table
from committee.data.rows import select_rows
from committee.data.weights import read_sample_weight
from committee.engines.formula import JoinedTerms, ModelFormula, refuse_formula
from committee.ensembles.combining.member_predictions import choose_predict_method
from committee.ensembles.combining.meta_models import ConvexClassifier, ConvexRegressor
from committee.ensembles.combining.named_ensemble import NamedEnsemble, check_weight_argument
from committee.ensembles.combining.oob_correction import is_linear_model
from committee.ensembles.combining.out_of_fold import (
    check_oob_groups,
    predict_out_of_fold,
)
from committee.ensembles.combining.stacking_layers import Layer, join_columns
from committee.ensembles.combining.stacking_leak import (
    LeakReport,
    compare_losses,
    measure_naive_loss,
    measure_row_losses,
)
from committee.ensembles.combining.training_set import TrainingSet
from committee.ensembles.member_errors import explain_single_class
from committee.ensembles.member_formulas import align_probabilities, index_labels, open_members
from committee.exceptions import DataError, ParameterError
from committee.params import CrossValidation, HasMethods

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from committee.data import ValueTarget
    from committee.data.folds import Folds
    from committee.engines.formula import FormulaTerm
    from committee.typing import EstimatorLike, FloatArray

__all__ = [
    "BaseStacking",
    "ClassMetaModel",
    "Passthrough",
    "StackingCv",
    "StackingLayers",
    "StackingRefit",
    "ValueMetaModel",
    "final_has",
]


_CONVEX_MODELS = ("mean", "majority", "nonnegative")
_ANY_MODEL = Annotated[Any, HasMethods("fit")]

ClassMetaModel: TypeAlias = Annotated[
    Literal["mean", "majority", "logistic", "nonnegative"] | _ANY_MODEL | None,
    "The meta-model, which is fitted to the members' predictions: any classifier; ``'logistic'`` (also None); "
    "``'nonnegative'``, the convex combination of the members' probabilities with the least log-loss; or ``'mean'`` "
    "and ``'majority'``, which have nothing to fit.",
]
ValueMetaModel: TypeAlias = Annotated[
    Literal["mean", "linear", "nonnegative"] | _ANY_MODEL | None,
    "The meta-model, which is fitted to the members' predictions: any regressor; None: ridge regression with a "
    "penalty chosen by cross-validation; ``'linear'``: least squares; ``'nonnegative'``: the convex combination with "
    "the least squared error; ``'mean'``, which has nothing to fit.",
]
StackingCv: TypeAlias = Annotated[
    CrossValidation | Literal["prefit", "oob"],
    "Source of the predictions that the meta-model is fitted to. Folds: a number (None is five; stratified for "
    "classes, groups kept together where `fit` is given groups), a splitter of scikit-learn, or pairs of training and "
    "test rows. Rows that are in no test fold, as the first ones in folds by time, are left out of the fit of the "
    "meta-model; rows in several get the mean. ``'oob'``: bags and forests of this library use their out-of-bag "
    "predictions, one fit instead of six, and the other members five folds. An out-of-bag prediction averages fewer "
    "trees than later ones do; for a linear meta-model the columns are corrected for that noise. Extra-trees leave "
    "rows out as ``ExtraTreesClassifier(bootstrap=True)``, or better, since its trees are fitted on more rows, as "
    "``BaggingClassifier(ExtraTreeClassifier(), 100, bootstrap=False, max_samples=0.8)``. ``'prefit'``: members are "
    "fitted already and are not fitted again; pass `fit` rows that they were not fitted on.",
]
StackingRefit: TypeAlias = Annotated[
    bool,
    "Whether the members are fitted on all rows as well. False: the models of the folds are kept, and the mean of "
    "their predictions is the member's prediction.",
]
StackingLayers: TypeAlias = Annotated[
    Any,
    "Further layers between the members and the meta-model, each a list of pairs as ``estimators``: they are fitted to "
    "the out-of-fold predictions of the layer before, and their own out-of-fold predictions are passed on. For the "
    "mean of several meta-models, make them such a layer and set ``final_estimator='mean'``. None: no further layer.",
]
Passthrough: TypeAlias = Annotated[
    bool, "Whether later layers and the meta-model also get the table itself, after the columns of the members."
]


def final_has(method: str) -> Callable[[BaseStacking], bool]:
    """A check for `available_if`: whether the meta-model of a stack has a method."""
    return lambda stack: stack._has_final_method(method)


class BaseStacking(TransformerMixin, NamedEnsemble):  # type: ignore[misc]
    """Base class of the stacking classifier and regressor."""

    accepts_blocks: ClassVar[bool] = True
    _default_final: ClassVar[str]

    final_estimator: Any
    cv: StackingCv
    passthrough: Passthrough
    refit: StackingRefit
    layers: StackingLayers

    final_estimator_: Any
    stack_method_: list[str]
    layers_: list[Layer]
    n_meta_rows_: int

    # Fitting.

    @opens_table
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        **fit_params: object,
    ) -> Self:
        """Fit the members, and the meta-model to their predictions for rows that they were not fitted on.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of texts
            Passed to the members unchanged.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; every member and the meta-model must support them. Rows of weight zero are in no fold.
        groups : array-like of shape (n_samples,), optional
            Groups of rows: folds keep them together, and members that sample groups get them.
        **fit_params
            Further arguments of the members' `fit`, if metadata routing is enabled and they request them.

        Returns
        -------
        self
        """
        self._fit_stack(X, y, sample_weight, groups, fit_params)
        return self

    def _fit_stack(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None,
        params: dict[str, object],
    ) -> tuple[TrainingSet, NDArray[np.intp]]:
        """Fit all layers and the meta-model; returns the meta-model's training set and the numbers of its rows."""
        self._validate_params()
        self._check_fit_params(params)
        prefit = self._is_prefit()
        if prefit and (not self.refit or self.layers is not None):
            raise ParameterError(
                f"The 'cv' parameter of {type(self).__name__} must not be 'prefit' with refit=False or with layers, "
                "which are made of fits."
            )
        stages = [self._list_to_fit(strict=False), *self._list_layers()]
        X = X if isinstance(X, OpenedSource) else read_table(X)
        target = self._read_target(X, y)
        if prefit and isinstance(target, ClassTarget):
            target = self._add_member_classes(target)
        final = self._choose_final(target)
        training = self._make_training_set(X, target, sample_weight, groups)
        given = self._route_fit(stages[0], training.weights, params)
        folds = None if prefit else self._plan_folds(training)
        rows = np.arange(training.n_rows)
        layers: list[Layer] = []
        for pairs in stages:
            if layers:
                given = [_weight_arguments(name, member, training.weights) for name, member in pairs]
            layer, predictions = self._fit_layer(pairs, given, training, folds, target)
            columns = layer.to_columns(predictions)
            known = np.asarray(np.isfinite(columns).all(axis=1))
            if not known.any():
                raise DataError(
                    "No row has an out-of-fold prediction from every member; use other folds or larger bags."
                )
            rows, columns = rows[known], columns[known]
            if self._uses_oob() and len(layers) + 1 == len(stages) and is_linear_model(final):
                columns = layer.correct_oob(columns, training, known)
            table = join_columns(columns, X, rows) if self.passthrough else columns
            training = training.with_table(table, np.flatnonzero(known))
            layers.append(layer)
            if folds is not None and len(layers) < len(stages):
                folds = restrict_folds(folds, known)
        final = self._fit_final(final, layers[-1], training)
        fitted = {
            **self._target_attributes(target),
            "final_estimator_": final,
            "stack_method_": layers[0].methods,
            "layers_": layers,
            "n_meta_rows_": len(rows),
        }
        self._set_fitted(layers[0].members, X, fitted)
        return training, rows

    def _fit_layer(
        self,
        pairs: list[tuple[str, EstimatorLike]],
        given: list[dict[str, object]],
        training: TrainingSet,
        folds: Folds | None,
        target: ClassTarget | ValueTarget,
    ) -> tuple[Layer, list[FloatArray]]:
        """One layer: its fitted members, and their predictions for rows that they were not fitted on."""
        owner, method = type(self).__name__, getattr(self, "stack_method", "predict")
        names = [name for name, _ in pairs]
        if folds is None:
            methods = [choose_predict_method(name, member, method, owner) for name, member in pairs]
            known = target.classes if isinstance(target, ClassTarget) else None
            layer = Layer(names, [member for _, member in pairs], methods, known, [])
            return layer, layer.predict_members(training.X)
        members = self._make_member_fits(pairs, given, self._resolve_seed(), target, method)
        if self._uses_oob():
            check_oob_groups(members, training.groups, owner)
        classes = self._member_classes(target)
        predict_out_of_fold(
            training,
            members,
            folds,
            classes,
            refit=bool(self.refit),
            out_of_bag=self._uses_oob(),
            n_jobs=self.n_jobs,
            verbose=int(self.verbose),
            owner=self,
        )
        estimators = [one.to_estimator(classes) for one in members]
        layer = Layer(names, estimators, [one.method for one in members], classes, [])
        return layer, [one.predictions for one in members]

    def _fit_final(self, final: Any, layer: Layer, training: TrainingSet) -> Any:
        if isinstance(final, ConvexClassifier | ConvexRegressor):
            final.n_members = len(layer.members)
            single = training.y.ndim == 1 or self._task == "regress"
            needed = "predict_proba" if self._task == "classify" else "predict"
            if self.passthrough or not single or set(layer.methods) != {needed}:
                raise ParameterError(
                    f"The 'final_estimator' parameter of {type(self).__name__} can be {final.how!r} only without "
                    "passthrough, and for classes only if there is one output and every member has probabilities."
                )
        given = _weight_arguments("final_estimator", final, training.weights)
        with explain_single_class(final, training.y, training.weights):
            final.fit(training.X, training.y, **given)
        return final

    def _choose_final(self, target: ClassTarget | ValueTarget | None) -> Any:
        """The meta-model, not fitted."""
        given, classify = self.final_estimator, self._task == "classify"
        given = self._default_final if given is None else given
        if isinstance(given, str):
            if given in _CONVEX_MODELS:
                return (ConvexClassifier if classify else ConvexRegressor)(given, 1)
            given = _make_linear_model(given)
        elif not (is_classifier if classify else is_regressor)(given):
            raise ParameterError(
                f"The 'final_estimator' parameter of {type(self).__name__} must be a "
                f"{'classifier' if classify else 'regressor'}; got {show_value(given)}."
            )
        return self._make_member(clone(given), len(self._list_pairs()), self._resolve_seed(), target)

    def _list_layers(self) -> list[list[tuple[str, Any]]]:
        """The further layers, each checked as the first one."""
        if self.layers is None:
            return []
        if isinstance(self.layers, str) or not hasattr(self.layers, "__len__") or getattr(self.layers, "ndim", 1) == 0:
            raise ParameterError(
                f"The 'layers' parameter of {type(self).__name__} must be a list of lists of pairs of a name and an "
                f"estimator, or None; got {show_value(self.layers)}."
            )
        return [self._check_pairs("layers", one, strict=False) for one in self.layers]

    # Predictions.

    def _has_final_method(self, method: str) -> bool:
        """True; raises AttributeError, which becomes the cause of the ensemble's own, if the meta-model has it not."""
        final = self.__dict__.get("final_estimator_")
        getattr(self._choose_final(None) if final is None else final, method)
        return True

    def transform(self, X: Any) -> Any:
        """Predictions of the last layer: the table that the meta-model gets.

        Parameters
        ----------
        X : table
            Rows to transform.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            Member by member. Of two classes only the probability of the second one; with ``passthrough`` the table
            itself after them, sparse if X is.
        """
        return self._meta_table(X)

    def _meta_table(self, X: Any) -> Any:
        """The table that the meta-model gets, layer by layer."""
        self._check_fitted()
        X = X if isinstance(X, OpenedSource) else read_table(X, getattr(self, "feature_names_in_", None))
        table: Any = X
        for layer in self.layers_:
            columns = layer.predict(table)
            table = join_columns(columns, X) if self.passthrough else columns
        return table

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> NDArray[Any]:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features, for ``passthrough`` if X had none.

        Returns
        -------
        ndarray of str
        """
        self._check_fitted()
        owner, last, names = type(self).__name__.lower(), self.layers_[-1], []
        for name, width in zip(last.names, last.widths, strict=True):
            names += [f"{owner}_{name}{k}" for k in range(width)] if width > 1 else [f"{owner}_{name}"]
        if self.passthrough:
            known = getattr(self, "feature_names_in_", None)
            if known is None:
                known = [f"x{k}" for k in range(self.n_features_in_)] if input_features is None else input_features
            elif input_features is not None and list(input_features) != list(known):
                raise DataError("input_features is not equal to feature_names_in_")
            names += [str(name) for name in known]
        return np.asarray(names, dtype=object)

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted stack computes for a row, by default of its own table; exports are written from it."""
        self._check_fitted()
        opened = open_members(self, self.layers_[0].members, row)
        if self.passthrough and opened.schema.has_categories:
            raise refuse_formula(self, "passes categories on to the meta-model (passthrough=True)")
        table: FormulaTerm = opened.row
        for layer in self.layers_:
            formulas = opened.members if layer is self.layers_[0] else open_members(self, layer.members, table).members
            columns = layer.to_term(self, formulas)
            table = JoinedTerms((columns, opened.row)) if self.passthrough else columns
        final = open_members(self, [self.final_estimator_], table).members[0]
        known: list[NDArray[Any]] | None = self.__dict__.get("_classes")
        if known is None:
            return ModelFormula(opened.row, opened.schema, final.value)
        indices = [np.arange(len(c)) for c in known]
        shares = None if final.probabilities is None else align_probabilities(self, final, indices)
        label = index_labels(final, indices)
        return ModelFormula(opened.row, opened.schema, label, tuple(known), shares, final.decision)

    def _predict_final(self, X: Any, params: dict[str, object]) -> Any:
        table = self._meta_table(X)
        if get_config()["enable_metadata_routing"] and params:
            params = process_routing(self, "predict", **params).final_estimator_["predict"]
        return self.final_estimator_.predict(table, **params)

    def get_metadata_routing(self) -> MetadataRouter:
        """How metadata are routed to the members and the meta-model.

        Returns
        -------
        MetadataRouter
        """
        final = self.__dict__.get("final_estimator_", self.final_estimator)
        mapping = MethodMapping().add(caller="predict", callee="predict")
        return super().get_metadata_routing().add(final_estimator_=final, method_mapping=mapping)

    def measure_leak(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        cv: CrossValidation = None,
        level: float = 0.05,
    ) -> LeakReport:
        """Test for a leak: whether the stack is as good on new rows as the meta-model is on its training rows.

        The loss of the meta-model on its training rows is compared with a nested estimate, for which the whole stack
        is fitted once for each outer fold. If members were fitted on rows that they predict for the meta-model, the
        first is far better than the second. Members that are fitted already are compared with newly fitted ones.

        On simulated tables of 60 and 200 rows, at the level of 0.05, sound stacks raised 1 alarm in 160; members that
        had seen all rows were found in 40 of 40, groups that the stack's folds tore apart in 38 of 40, and members that
        had seen half of the rows in 20 of 20 with 200 rows and in 10 of 20 with 60 (``benchmarks/leak_alarm.py``).

        Parameters
        ----------
        X, y, sample_weight, groups
            As in `fit`.
        cv : int, splitter or iterable, optional
            Outer folds; five by default. To test whether groups that are split between folds leak, pass outer folds
            that keep them together, and no groups.
        level : float, default=0.05
            Probability of a false alarm if the gap between the two estimates is exactly the allowed one.

        Returns
        -------
        LeakReport
        """
        if not 0.0 < level < 1.0:
            raise ParameterError(f"The 'level' argument must be in (0, 1); got {level!r}.")
        X = read_table(X)
        # Which rows prefitted members were fitted on is unknown: the nested stacks are fitted from scratch.
        prefit = self._is_prefit()
        whole, unfitted = (copy(self), clone(self).set_params(cv=None)) if prefit else (clone(self), self)
        training, rows = whole._fit_stack(X, y, sample_weight, groups, {})
        target = whole._read_target(X, y)
        labels = whole._make_training_set(X, target, None).y
        weights = None if sample_weight is None else read_sample_weight(sample_weight, len(labels))
        inner = np.full(len(labels), np.nan)
        inner[rows] = measure_row_losses(whole.final_estimator_, training.X, training.y, self._task)
        nested = np.full(len(labels), np.nan)
        subject = "The 'cv' argument of measure_leak"
        for train, test in plan_folds(cv, X, labels, groups, self._task == "classify", weights, subject=subject):
            fold_weights = None if weights is None else weights[train]
            fold_groups = None if groups is None else np.asarray(groups)[train]
            stack = clone(unfitted)
            stack._fit_stack(select_rows(X, train), labels[train], fold_weights, fold_groups, {})
            nested[test] = measure_row_losses(stack, select_rows(X, test), labels[test], self._task)
        naive = measure_naive_loss(labels, self._task, hasattr(whole, "predict_proba"))
        return compare_losses(inner, nested, naive, weights, groups, training.X.shape[1] + 1, self._task, level)


def _make_linear_model(name: str) -> Any:
    from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV

    return {"logistic": LogisticRegression, "linear": LinearRegression, "ridge": RidgeCV}[name]()


def _weight_arguments(name: str, estimator: EstimatorLike, weights: FloatArray | None) -> dict[str, object]:
    if weights is None:
        return {}
    check_weight_argument(name, estimator)
    return {"sample_weight": weights}
