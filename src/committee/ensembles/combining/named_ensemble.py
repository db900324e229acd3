"""Base of the ensembles of named estimators: members are checked, seeded, fitted in parallel, and kept by name.

Voting, stacking, super learners and ensemble selection share it; each adds how the members' predictions are combined.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from sklearn import get_config
from sklearn.base import TransformerMixin, clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from committee.base import CommitteeEstimator, not_fitted_error, resolve_seed
from committee.constraints import show_value
from committee.data import ClassTarget
from committee.data.folds import plan_folds
from committee.data.rows import count_rows
from committee.data.targets import encode_classes, encode_values, read_target
from committee.data.weights import read_sample_weight
from committee.ensembles.combining.member_predictions import choose_predict_method
from committee.ensembles.combining.out_of_fold import MemberFit
from committee.ensembles.combining.training_set import TrainingSet
from committee.ensembles.member_access import MemberAccessMixin
from committee.ensembles.member_texts import read_texts_of_members
from committee.exceptions import DataError, DataTypeError, ParameterError, ParameterTypeError
from committee.learners.prepared_predictor import PredictorMixin

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from committee.data import ValueTarget
    from committee.data.folds import Folds
    from committee.ensembles.combining.member_predictions import Classes
    from committee.params import CrossValidation, MemberTextColumns, NJobs, RandomState, Verbose
    from committee.typing import EstimatorLike, FloatArray, Task

__all__ = ["Estimators", "MemberSeeds", "NamedEnsemble", "PredictionTransformerMixin", "check_weight_argument"]

Estimators: TypeAlias = Annotated[
    Sequence[tuple[str, Any]],
    "The members: pairs of a name and an estimator of any library, which is cloned. ``'drop'`` in place of an "
    "estimator leaves it out. Members are fitted to the indices of the classes, 0 to K - 1, in the order of "
    "``classes_``; those that predict one output only are fitted once for each of several outputs.",
]
MemberSeeds: TypeAlias = Annotated[
    int | np.random.RandomState | np.random.Generator | None,
    "Seeds every ``random_state`` of the members that is None, each with a number of its own, and the random numbers "
    "of the ensemble itself. None: the members stay as they are.",
]


class PredictionTransformerMixin(TransformerMixin):  # type: ignore[misc]
    """Ensembles whose `transform` returns predictions, whatever the type of X."""

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class NamedEnsemble(PredictorMixin, MemberAccessMixin, CommitteeEstimator):
    """Base class of the ensembles of named members; a subclass sets what it predicts (`_task`)."""

    accepts_blocks: ClassVar[bool] = False

    _task: ClassVar[Task]

    # Weights and groups are passed on by this class itself; with metadata routing, members request them.
    __metadata_request__fit: ClassVar = {"sample_weight": UNUSED, "groups": UNUSED}

    estimators: Estimators
    cv: CrossValidation | Literal["oob", "prefit"]
    text_columns: MemberTextColumns = "auto"  # pickles of earlier versions lack it
    n_jobs: NJobs
    random_state: RandomState
    verbose: Verbose

    estimators_: list[EstimatorLike]
    named_estimators_: Bunch
    n_features_in_: int
    n_outputs_: int

    # Parameters of the members, by name.

    @property
    def named_estimators(self) -> Bunch:
        """The members as they were passed, by name."""
        return Bunch(**dict(self.estimators))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the ensemble and, if deep, its members and their parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the members and their parameters.

        Returns
        -------
        dict
        """
        params: dict[str, object] = super().get_params(deep=deep)
        for name, member in self._list_pairs() if deep else []:
            params[name] = member
            if hasattr(member, "get_params") and not isinstance(member, type):
                params.update({f"{name}__{key}": value for key, value in member.get_params(deep=True).items()})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the ensemble, replace members by name, or set parameters of members.

        Parameters
        ----------
        **params
            As `get_params` names them; ``name="drop"`` leaves a member out.

        Returns
        -------
        self
        """
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        names = {name for name, _ in self._list_pairs()}
        replaced = {name: params.pop(name) for name in list(params) if name in names}
        if replaced:
            self.estimators = [(name, replaced.get(name, member)) for name, member in self.estimators]
        super().set_params(**params)
        return self

    def _list_pairs(self) -> list[tuple[str, Any]]:
        """The members, if all are pairs of a name and an object; an empty list otherwise, which `fit` refuses."""
        return _read_pairs(self.estimators)

    def _list_active(self, strict: bool = True) -> list[tuple[str, Any]]:
        """The members that are not dropped, after a check of them all.

        Parameters
        ----------
        strict : bool, default=True
            Whether classifiers may only have classifiers as members; regressors only ever have regressors.
        """
        return self._check_pairs("estimators", self.estimators, strict)

    def _list_to_fit(self, strict: bool = True) -> list[tuple[str, Any]]:
        """The same as they are fitted: with the ensemble's ``text_columns``."""
        active = self._list_active(strict)
        if not self._is_prefit():
            return read_texts_of_members(self, active)
        if not (isinstance(self.text_columns, str) and self.text_columns == "auto"):
            raise ParameterError(
                f"The 'text_columns' parameter of {type(self).__name__} is for members that are fitted, and these are; "
                "leave it at 'auto'."
            )
        return active

    def _is_prefit(self) -> bool:
        """Whether the members come fitted."""
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _check_pairs(self, parameter: str, given: object, strict: bool) -> list[tuple[str, Any]]:
        owner, pairs = type(self).__name__, _read_pairs(given)
        if not pairs:
            raise ParameterError(
                f"Invalid {parameter!r} attribute, {parameter!r} should be a non-empty list of (string, estimator) "
                f"tuples; {owner} got {show_value(given)}."
            )
        self._check_names([name for name, _ in pairs])
        active = [(name, member) for name, member in pairs if not (isinstance(member, str) and member == "drop")]
        if not active:
            raise ParameterError(
                "All estimators are dropped. At least one is required to be an estimator in the "
                f"{parameter!r} of {owner}."
            )
        fits, kind = (is_classifier, "classifier") if self._task == "classify" else (is_regressor, "regressor")
        for name, member in active:
            if isinstance(member, type) or not hasattr(member, "fit"):
                raise ParameterTypeError(
                    f"The {parameter!r} parameter of {owner} must hold estimators; {name!r} is {show_value(member)}."
                )
            if not fits(member) and (strict or self._task == "regress"):
                raise ParameterError(
                    f"The estimator {type(member).__name__} should be a {kind}: {name!r} is a member of {owner}."
                )
        return active

    def _check_names(self, names: list[str]) -> None:
        if len(set(names)) < len(names):
            raise ParameterError(f"Names provided are not unique: {names}; each member needs a name of its own.")
        own = super().get_params(deep=False)
        if taken := sorted(set(names) & set(own)):
            raise ParameterError(
                f"Estimator names conflict with constructor arguments: {taken}. Choose other names for the members of "
                f"{type(self).__name__}."
            )
        if nested := [name for name in names if "__" in name]:
            raise ParameterError(
                f"Estimator names must not contain __: got {nested}. It separates a member from its parameters."
            )

    # Training data.

    def _read_labels(self, X: Any, y: Any) -> NDArray[Any]:
        name, n_rows = type(self).__name__, count_rows(X)
        labels = read_target(y, n_rows, name, multi_output=True)
        if n_rows == 0:
            raise DataError(f"{name} needs rows to learn from; X has 0 sample(s).")
        return labels

    def _read_target(self, X: Any, y: Any) -> ClassTarget | ValueTarget:
        labels = self._read_labels(X, y)
        return encode_classes(labels, type(self).__name__) if self._task == "classify" else encode_values(labels)

    def _add_member_classes(self, target: ClassTarget | None) -> ClassTarget:
        """The target with the classes of the fitted members in addition to its own."""
        found = [getattr(member, "classes_", None) for _, member in self._list_active(strict=False)]
        known = [c if isinstance(c, list) else [c] for c in found if c is not None]
        if len(known) < len(found):
            raise NotFittedError(f"{type(self).__name__} takes its members as fitted, and not all of them are.")
        outputs = [np.unique(np.concatenate([np.asarray(c[k]) for c in known])) for k in range(len(known[0]))]
        if target is None:
            return ClassTarget(np.zeros((0, len(outputs)), dtype=np.uint32), outputs, len(outputs) == 1)
        classes = [np.union1d(own, c) for own, c in zip(target.classes, outputs, strict=True)]
        pairs = enumerate(zip(classes, target.classes, strict=True))
        labels = [np.searchsorted(all_of, own)[target.labels[:, k]] for k, (all_of, own) in pairs]
        return ClassTarget(np.stack(labels, axis=1).astype(np.uint32), classes, target.one_dimensional)

    def _make_training_set(
        self,
        X: Any,
        target: ClassTarget | ValueTarget,
        sample_weight: ArrayLike | None,
        groups: ArrayLike | None = None,
    ) -> TrainingSet:
        y: NDArray[Any] = target.labels.astype(np.intp) if isinstance(target, ClassTarget) else target.values
        weights = None if sample_weight is None else read_sample_weight(sample_weight, len(y))
        return TrainingSet(X, y[:, 0] if target.n_outputs == 1 else y, weights, groups)

    def _make_member(
        self, member: EstimatorLike, number: int, seed: int | None, target: ClassTarget | ValueTarget | None
    ) -> Any:
        """A seeded clone of a member, wrapped as one estimator per output if it predicts a single output only."""
        cloned = clone(member)
        if seed is not None:
            _fill_seeds(cloned, seed, number)
        if target is not None and target.n_outputs > 1 and not _predicts_outputs(cloned, target):
            from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor

            cloned = (MultiOutputClassifier if is_classifier(cloned) else MultiOutputRegressor)(cloned)
        return cloned

    def _make_member_fits(
        self,
        pairs: list[tuple[str, EstimatorLike]],
        given: list[dict[str, object]],
        seed: int | None,
        target: ClassTarget | ValueTarget,
        method: str,
    ) -> list[MemberFit]:
        """Members to be fitted, with the further arguments of their fits and the method that they predict by."""
        owner, members = type(self).__name__, []
        for number, ((name, member), params) in enumerate(zip(pairs, given, strict=True)):
            made = self._make_member(member, number, seed, target)
            members.append(MemberFit(name, made, choose_predict_method(name, made, method, owner), params))
        return members

    def _uses_oob(self) -> bool:
        """Whether bags and forests are to predict their out-of-bag rows instead of the rows of folds."""
        return isinstance(self.cv, str) and self.cv == "oob"

    def _plan_folds(self, training: TrainingSet) -> Folds:
        cv = None if self._uses_oob() else self.cv
        subject, classify = f"The 'cv' parameter of {type(self).__name__}", self._task == "classify"
        return plan_folds(cv, training.X, training.y, training.groups, classify, training.weights, subject=subject)

    def _resolve_seed(self) -> int | None:
        return None if self.random_state is None else resolve_seed(self.random_state)

    def _member_classes(self, target: ClassTarget | ValueTarget) -> Classes:
        """The classes as members are fitted with them here: their indices."""
        return [np.arange(n) for n in target.n_classes] if isinstance(target, ClassTarget) else None

    # Fitted state.

    def __sklearn_is_fitted__(self) -> bool:
        return "estimators_" in self.__dict__

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self)

    def _set_fitted(self, members: list[EstimatorLike], X: Any, fitted: dict[str, object]) -> None:
        """Set the members, the number and names of the features, and further fitted attributes."""
        names = [name for name, member in self._list_pairs() if not isinstance(member, str)]
        by_name = dict(zip(names, members, strict=True))
        fitted = {
            **fitted,
            "estimators_": members,
            "named_estimators_": Bunch(**{name: by_name.get(name, "drop") for name, _ in self._list_pairs()}),
        }
        widths = [member.n_features_in_ for member in members if hasattr(member, "n_features_in_")]
        shape: Any = getattr(X, "shape", ())
        if widths or len(shape) == 2:
            fitted["n_features_in_"] = int(widths[0] if widths else shape[1])
        named = [member.feature_names_in_ for member in members if hasattr(member, "feature_names_in_")]
        if named:
            fitted["feature_names_in_"] = named[0]
        self._replace_fitted({**fitted, "_settled": tuple(fitted)}, optional=self.__dict__.get("_settled", ()))

    def _target_attributes(self, target: ClassTarget | ValueTarget) -> dict[str, object]:
        if not isinstance(target, ClassTarget):
            return {"n_outputs_": target.n_outputs}
        if target.n_outputs == 1:
            return {"classes_": target.classes[0], "n_outputs_": 1, "_classes": target.classes}
        return {"classes_": target.classes, "n_outputs_": target.n_outputs, "_classes": target.classes}

    # Metadata routing of scikit-learn.

    def get_metadata_routing(self) -> MetadataRouter:
        """How metadata are routed to the members.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=type(self).__name__)
        for name, member in self._list_pairs():
            router.add(**{name: member}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def _route_fit(
        self, active: list[tuple[str, EstimatorLike]], sample_weight: FloatArray | None, given: dict[str, object]
    ) -> list[dict[str, object]]:
        """Arguments of the `fit` of each member besides X and y."""
        given = given if sample_weight is None else {**given, "sample_weight": sample_weight}
        if get_config()["enable_metadata_routing"]:
            if not given:
                return [{} for _ in active]
            routed = process_routing(self, "fit", **given)
            return [dict(routed[name].fit) for name, _ in active]
        for name, member in active if given else []:
            check_weight_argument(name, member)
        return [dict(given) for _ in active]

    def _check_fit_params(self, given: dict[str, object]) -> None:
        """Refuse arguments of `fit` that nobody routes to the members."""
        if given and not get_config()["enable_metadata_routing"]:
            raise DataError(
                f"Passing extra keyword arguments to {type(self).__name__}.fit is only supported if "
                f"enable_metadata_routing=True, which you can set using `sklearn.set_config`; got {sorted(given)}."
            )

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        inputs = [get_tags(member).input_tags for _, member in self._list_pairs() if not isinstance(member, str)]
        tags.input_tags.allow_nan = all(own.allow_nan for own in inputs)
        tags.input_tags.sparse = all(own.sparse for own in inputs)
        tags.input_tags.categorical = all(own.categorical for own in inputs)
        tags.input_tags.string = all(own.string for own in inputs)
        tags.target_tags.multi_output = True
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = True
        return tags


def _read_pairs(given: Any) -> list[tuple[str, Any]]:
    try:
        pairs = [(name, member) for name, member in given]
    except (TypeError, ValueError):
        return []
    return pairs if all(isinstance(name, str) for name, _ in pairs) else []


def check_weight_argument(name: str, estimator: EstimatorLike) -> None:
    """Refuse an estimator whose `fit` takes no weights."""
    if has_fit_parameter(estimator, "sample_weight"):
        return
    parameters = signature(estimator.fit).parameters.values()
    if not isinstance(estimator, Pipeline) and any(one.kind is one.VAR_KEYWORD for one in parameters):
        return
    raise DataTypeError(
        f"Underlying estimator {type(estimator).__name__} does not support sample weights. It is {name!r} of the "
        "ensemble; leave it out, or fit without sample_weight."
    )


def _predicts_outputs(estimator: EstimatorLike, target: ClassTarget | ValueTarget) -> bool:
    """Whether one estimator predicts all outputs: any number of them, or several labels that apply or not."""
    tags = get_tags(estimator)
    if tags.target_tags.multi_output or not isinstance(target, ClassTarget) or tags.classifier_tags is None:
        return bool(tags.target_tags.multi_output)
    return bool(tags.classifier_tags.multi_label) and all(n == 2 for n in target.n_classes)


def _fill_seeds(estimator: Any, seed: int, number: int) -> None:
    """Give every ``random_state`` of an estimator that is None a number that depends on the seed and the member."""
    params = estimator.get_params(deep=True)
    names = sorted(n for n in params if n == "random_state" or n.endswith("__random_state"))
    states = np.random.SeedSequence([seed, number]).generate_state(max(1, len(names)))
    missing = {n: int(s) for n, s in zip(names, states, strict=False) if params[n] is None}
    estimator.set_params(**missing)
