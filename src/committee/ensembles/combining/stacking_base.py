"""What stacks for classes and for values share: parameters, members that answer out of fold, the meta-model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from sklearn import get_config
from sklearn.base import TransformerMixin, clone, is_classifier, is_regressor
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from committee.constraints import show_value
from committee.data import ClassTarget
from committee.ensembles.combining.fold_average import FoldAverage
from committee.ensembles.combining.member_predictions import choose_method, predict_member
from committee.ensembles.combining.meta_models import ShareBlend, ValueBlend
from committee.ensembles.combining.named_ensemble import NamedEnsemble
from committee.ensembles.combining.oob_correction import is_linear
from committee.ensembles.combining.out_of_fold import Candidate, answer_out_of_fold, check_bags, cut_folds, plan_folds
from committee.ensembles.combining.stacking_layers import Layer, join_columns
from committee.ensembles.combining.stacking_leak import LeakReport, compare_estimates
from committee.ensembles.combining.training_set import TrainingSet, read_table
from committee.exceptions import DataError, DataTypeError, ParameterError
from committee.params import CrossValidation, HasMethods

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["BaseStacking", "ClassMeta", "Layers", "Passthrough", "Refit", "StackCv", "ValueMeta", "final_has"]


_MADE_OF_WEIGHTS = ("mean", "majority", "nonnegative")
_ANY_MODEL = Annotated[Any, HasMethods("fit", "predict")]

ClassMeta: TypeAlias = Annotated[
    Literal["mean", "majority", "logistic", "nonnegative"] | _ANY_MODEL | None,
    "The meta-model, which learns from the members' answers: any classifier; ``'logistic'`` (also None); "
    "``'nonnegative'``, a mixture of the members' probabilities whose weights, not negative and with sum one, make "
    "the true classes likeliest; or ``'mean'`` and ``'majority'``, which learn nothing.",
]
ValueMeta: TypeAlias = Annotated[
    Literal["mean", "linear", "nonnegative"] | _ANY_MODEL | None,
    "The meta-model, which learns from the members' answers: any regressor; None: ridge regression with a penalty "
    "chosen by cross-validation; ``'linear'``: least squares; ``'nonnegative'``: least squares with weights that are "
    "not negative and sum to one; ``'mean'``, which learns nothing.",
]
StackCv: TypeAlias = Annotated[
    CrossValidation | Literal["prefit", "oob"],
    "Where the answers come from that the meta-model learns from. Folds: a number (None is five; stratified for "
    "classes, groups kept together where `fit` is given groups), a splitter of scikit-learn, or pairs of training and "
    "left-out rows. Rows that no fold leaves out, as the first ones in folds by time, are left out of the fit of the "
    "meta-model; rows that several leave out get the mean. ``'oob'``: bags and forests of this library answer for "
    "rows out of their own bags, one fit instead of six, and the other members for five folds. Fewer trees answer so "
    "than later; for a linear meta-model their columns are corrected for that noise. Extra-trees leave rows out as "
    "``ExtraTreesClassifier(bootstrap=True)``, or better, since its trees see more, "
    "``BaggingClassifier(ExtraTreeClassifier(), 100, bootstrap=False, max_samples=0.8)``. ``'prefit'``: members are "
    "fitted already and are not fitted again; give `fit` rows that they have not seen.",
]
Refit: TypeAlias = Annotated[
    bool,
    "Whether the members are fitted on all rows once the meta-model has learnt. False: the models of the folds stay, "
    "and their mean is the member's answer.",
]
Layers: TypeAlias = Annotated[
    Any,
    "Further layers between the members and the meta-model, each a list of pairs as ``estimators``: they learn from "
    "the out-of-fold answers of the layer before, and their own out-of-fold answers go on. Several meta-models on an "
    "equal footing are one such layer and ``final_estimator='mean'``. None: no further layer.",
]
Passthrough: TypeAlias = Annotated[
    bool, "Whether later layers and the meta-model also see the table itself, behind the members' answers."
]


def final_has(method: str) -> Callable[[Any], bool]:
    """Whether a stack's meta-model has a method, for `available_if`."""

    def look(stack: Any) -> bool:
        final = stack.__dict__.get("final_estimator_")
        return hasattr(stack._choose_final(1) if final is None else final, method)

    return look


class BaseStacking(TransformerMixin, NamedEnsemble):  # type: ignore[misc]
    """What stacking of classes and of values share: the layers, the folds, the meta-model."""

    _usual: ClassVar[str]

    final_estimator: Any
    cv: StackCv
    passthrough: Passthrough
    refit: Refit
    layers: Layers

    final_estimator_: Any
    stack_method_: list[str]
    layers_: list[Layer]
    n_meta_rows_: int

    # Fitting.

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, **fit_params: Any) -> Self:
        """Fit the members, get their answers about rows they have not seen, and fit the meta-model on these.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or list of texts
            What the members can read; it reaches them as it is.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows; every member and the meta-model must take them. Rows of weight zero are in no fold.
        groups : array-like of shape (n_samples,), optional
            Groups of rows: folds keep them together, and members that draw groups get them.
        **fit_params
            What the members' `fit` is given besides, if metadata routing is on and they ask for it.

        Returns
        -------
        self
        """
        self._train(X, y, sample_weight, groups, fit_params)
        return self

    def _train(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, params: dict[str, Any]
    ) -> tuple[TrainingSet, NDArray[np.intp]]:
        """Fit everything; gives back what the meta-model has learnt from, and the numbers of its rows."""
        self._validate_params()
        if self.cv == "prefit" and (not self.refit or self.layers is not None):
            raise ParameterError(
                f"The 'cv' parameter of {type(self).__name__} must not be 'prefit' with refit=False or with layers, "
                "which are made of fits."
            )
        stages = [self._list_present(strict=False), *self._list_layers()]
        table = read_table(X)
        target = self._read_target(table, y)
        if self.cv == "prefit" and isinstance(target, ClassTarget):
            target = self._recall_classes(target)
        final = self._choose_final(target.n_outputs)
        training = self._open_lesson(table, target, sample_weight, groups)
        given = self._route_fit(stages[0], training.weights, params)
        folds, rows = self._plan(training), np.arange(training.n_rows)
        layers: list[Layer] = []
        for pairs in stages:
            if layers:
                given = [_weigh_one(member, training.weights) for _, member in pairs]
            layer, answers = self._stack(pairs, given, training, folds, target)
            columns = layer.lay_out(answers)
            known = np.asarray(np.isfinite(columns).all(axis=1))
            if not known.any():
                raise DataError("No row has an out-of-fold answer from every member; use other folds or larger bags.")
            rows, columns = rows[known], columns[known]
            if self.cv == "oob" and len(layers) + 1 == len(stages) and is_linear(final):
                columns = layer.quieten(columns, training, known)
            training = training.cut(
                join_columns(columns, table, rows) if self.passthrough else columns, np.flatnonzero(known)
            )
            folds = folds and cut_folds(folds, known)
            layers.append(layer)
        final = self._fit_final(final, layers[-1], training)
        fitted = {
            **self._target_attributes(target),
            "final_estimator_": final,
            "stack_method_": layers[0].methods,
            "layers_": layers,
            "n_meta_rows_": len(rows),
        }
        self._set_fitted(layers[0].members, table, fitted)
        return training, rows

    def _plan(self, training: TrainingSet) -> Any:
        """The folds, or None if members are fitted already."""
        if self.cv == "prefit":
            return None
        cv = None if self.cv == "oob" else self.cv
        return plan_folds(cv, training.X, training.y, training.groups, self._task == "classify", training.weights)

    def _stack(
        self, pairs: list[tuple[str, Any]], given: list[dict[str, Any]], training: TrainingSet, folds: Any, target: Any
    ) -> tuple[Layer, list[FloatArray]]:
        """One layer: its fitted members, and their answers about rows that they have not seen."""
        name, asked = type(self).__name__, getattr(self, "stack_method", "predict")
        names = [pair[0] for pair in pairs]
        if folds is None:
            members = [member for _, member in pairs]
            methods = [choose_method(n, m, asked, name) for n, m in pairs]
            layer = Layer(names, members, methods, getattr(target, "classes", None), [])
            told = [predict_member(m, training.X, how, layer.classes) for m, how in zip(members, methods, strict=True)]
            return layer, told
        seed, classes = self._resolve_seed(), self._number_classes(target)
        fresh = [self._make_member(member, k, seed, target.n_outputs) for k, (_, member) in enumerate(pairs)]
        candidates = [
            Candidate(n, member, choose_method(n, member, asked, name), own)
            for n, member, own in zip(names, fresh, given, strict=True)
        ]
        if self.cv == "oob":
            check_bags(candidates, training.groups, name)
        answer_out_of_fold(
            training,
            candidates,
            folds,
            classes,
            refit=bool(self.refit),
            out_of_bag=self.cv == "oob",
            n_jobs=self.n_jobs,
            verbose=int(self.verbose),
        )
        members = [FoldAverage(one.by_fold, classes) if one.whole is None else one.whole for one in candidates]
        layer = Layer(names, members, [one.method for one in candidates], classes, [])
        return layer, [one.answers for one in candidates]

    def _fit_final(self, final: Any, layer: Layer, training: TrainingSet) -> Any:
        if isinstance(final, ShareBlend | ValueBlend):
            final.n_members = len(layer.members)
            single = training.y.ndim == 1 or self._task == "regress"
            wanted = "predict_proba" if self._task == "classify" else "predict"
            if self.passthrough or not single or set(layer.methods) != {wanted}:
                raise ParameterError(
                    f"The 'final_estimator' parameter of {type(self).__name__} can be {final.how!r} only without "
                    "passthrough, and for classes only if there is one output and every member has probabilities."
                )
        return final.fit(training.X, training.y, **_weigh_one(final, training.weights))

    def _choose_final(self, n_outputs: int) -> Any:
        """The meta-model, not fitted."""
        given, classify = self.final_estimator, self._task == "classify"
        given = self._usual if given is None else given
        if isinstance(given, str):
            if given in _MADE_OF_WEIGHTS:
                return (ShareBlend if classify else ValueBlend)(given, 1)
            given = _make_usual(given)
        elif not (is_classifier if classify else is_regressor)(given):
            raise ParameterError(
                f"The 'final_estimator' parameter of {type(self).__name__} must be a "
                f"{'classifier' if classify else 'regressor'}; got {show_value(given)}."
            )
        return self._make_member(clone(given), len(self._list_pairs()), self._resolve_seed(), n_outputs)

    def _list_layers(self) -> list[list[tuple[str, Any]]]:
        """The further layers, each checked as the first one is."""
        if self.layers is None:
            return []
        if isinstance(self.layers, str) or not hasattr(self.layers, "__len__"):
            raise ParameterError(
                f"The 'layers' parameter of {type(self).__name__} must be a list of lists of pairs of a name and an "
                f"estimator, or None; got {show_value(self.layers)}."
            )
        return [self._check_pairs("layers", one, strict=False) for one in self.layers]

    # Asking the fitted stack.

    def transform(self, X: Any) -> Any:
        """What the last layer says about rows: the table that the meta-model reads.

        Parameters
        ----------
        X : table
            Rows to transform.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            Member by member. Of two classes the second one's share only; with ``passthrough`` the table itself
            behind it, sparse if it is.
        """
        return self._climb(X)

    def _climb(self, X: Any) -> Any:
        """The table that the meta-model reads, layer by layer."""
        self._check_fitted()
        X = read_table(X)
        table: Any = X
        for layer in self.layers_:
            answers = layer.ask(table)
            table = join_columns(answers, X) if self.passthrough else answers
        return table

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of `transform`.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features, for ``passthrough`` where X had none.

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

    def _predict_final(self, X: Any, params: dict[str, Any]) -> Any:
        table = self._climb(X)
        if get_config()["enable_metadata_routing"] and params:
            params = process_routing(self, "predict", **params).final_estimator_["predict"]
        return self.final_estimator_.predict(table, **params)

    def get_metadata_routing(self) -> MetadataRouter:
        """How metadata reach the members and the meta-model.

        Returns
        -------
        MetadataRouter
        """
        final = self.__dict__.get("final_estimator_", self.final_estimator)
        mapping = MethodMapping().add(caller="predict", callee="predict")
        return super().get_metadata_routing().add(final_estimator_=final, method_mapping=mapping)

    def measure_leak(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, cv: Any = None, level: float = 0.05
    ) -> LeakReport:
        """Look for a leak: whether the stack is as good on new rows as the meta-model's own rows say.

        The meta-model's own rows are compared with a nested estimate, for which the whole stack is fitted once for
        each outer fold. Members that knew the answers of rows they answered for make the first look far better than
        the second, and the meta-model trusts them. Members that are fitted already are compared with fresh ones.

        On simulated tables of 60 and 200 rows, at the level of 0.05, sound stacks raised 1 alarm in 160; members that
        had seen all rows were found in 40 of 40, groups that the stack's folds tore apart in 38 of 40, and members that
        had seen half of the rows in 20 of 20 with 200 rows and in 10 of 20 with 60 (``benchmarks/leak_alarm.py``).

        Parameters
        ----------
        X, y, sample_weight, groups
            As in `fit`.
        cv : int, splitter or iterable, optional
            Outer folds; five by default. To ask whether rows of a group in different folds leak, give outer folds that
            keep them together, and no groups.
        level : float, default=0.05
            The alarm's chance to be false, where the gap between the two estimates is just what is allowed.

        Returns
        -------
        LeakReport
        """
        return compare_estimates(self, X, y, sample_weight, groups, cv, level)


def _make_usual(name: str) -> Any:
    from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV

    return {"logistic": LogisticRegression, "linear": LinearRegression, "ridge": RidgeCV}[name]()


def _weigh_one(estimator: Any, weights: FloatArray | None) -> dict[str, Any]:
    if weights is None:
        return {}
    if not has_fit_parameter(estimator, "sample_weight"):
        raise DataTypeError(f"Underlying estimator {type(estimator).__name__} does not support sample weights.")
    return {"sample_weight": weights}
