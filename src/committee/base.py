"""The base class of every estimator, and the parameters that all of them resolve the same way."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from joblib.parallel import get_active_backend
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, check_random_state, metaestimators

from committee.constraints import document_params, list_names, show_value, validate_params
from committee.exceptions import CommitteeError, DataError, ParameterError, ParameterTypeError
from committee.foreign_names import hint_attribute, hint_parameter

__all__ = [
    "ClassifierScoreMixin",
    "CommitteeEstimator",
    "EngineJobs",
    "RegressorScoreMixin",
    "available_if",
    "not_fitted_error",
    "resolve_jobs",
    "resolve_seed",
    "seed_estimator",
]

_SEED_LIMIT = 2**64  # the engine's seeds have 64 bits
_DRAWN_LIMIT = 2**63

_Owner = TypeVar("_Owner")
_Method = TypeVar("_Method", bound=Callable[..., object])


class _ConstructorSignature:
    """The signature that ``help`` and editors show for a class: that of its constructor, not of ``__new__``."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        whole = inspect.signature(owner.__init__)  # type: ignore[misc]
        return whole.replace(parameters=list(whole.parameters.values())[1:], return_annotation=inspect.Signature.empty)


class _RowReader:
    """Where `score` reads its rows."""

    def _to_host(self, values: Any) -> Any:
        """Values in the memory of the host, where scikit-learn's metrics read them."""
        return values


class CommitteeEstimator(_RowReader, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's BaseEstimator with parameters that are declared once.

    A subclass annotates the arguments of its constructor with the aliases of :mod:`committee.params`. Its class
    docstring then gets its Parameters section by itself, and ``fit`` begins with ``self._validate_params()``.

    What it may be fitted on is what :func:`committee.data.take_in` reads: missing values, sparse matrices and
    categories included. A subclass that supports less declares it in the class attributes, and so does one that
    supports infinite values, or one that needs the whole table at once. One that never bins the table declares that
    as well, since a sparse table may then be larger than its bins would fit in memory.
    """

    accepts_missing: ClassVar[bool] = True
    accepts_infinity: ClassVar[bool] = False
    accepts_sparse: ClassVar[bool] = True
    accepts_categories: ClassVar[bool] = True
    bins_columns: ClassVar[bool] = True
    accepts_blocks: ClassVar[bool] = True
    __signature__: ClassVar = _ConstructorSignature()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        document_params(cls)

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Refuse parameters that the constructor does not have, with a hint."""
        known = list_names(cls)  # type: ignore[arg-type]
        if known is not None and (unknown := given.keys() - known):
            name = min(unknown)
            raise ParameterTypeError(
                f"{cls.__name__} got an unexpected keyword argument {name!r}. {hint_parameter(name, known)}"
            )
        self: Self = super().__new__(cls)
        return self

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Names of the parameters, sorted; a list of the caller's own."""
        return list(cls._read_param_names())

    @classmethod
    @cache
    def _read_param_names(cls) -> tuple[str, ...]:
        """Read the names from the constructor, once: every copy asks for them."""
        return tuple(super()._get_param_names())

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; those of a component as ``component__name``.

        Parameters
        ----------
        **params
            As `get_params` names them.

        Returns
        -------
        self
        """
        own = self.get_params(deep=False)
        held = {**self.get_params(deep=True), **params} if any("__" in name for name in params) else {}
        for name in params:
            part, nested, _ = name.partition("__")
            known = [other for other in held if "__" not in other] if nested else list(own)
            if part not in known:
                raise ParameterError(
                    f"Invalid parameter {part!r} for estimator {type(self).__name__}. {hint_parameter(part, known)}"
                )
            if nested and not hasattr(held[part], "set_params"):
                raise ParameterError(
                    f"{name!r} cannot be set: {part!r} of {type(self).__name__} is {show_value(held[part])}, not an "
                    "estimator."
                )
        super().set_params(**params)
        return self

    def validate_params(self) -> None:
        """Check every constructor parameter against its declaration; an ensemble checks its members so."""
        self._validate_params()

    def _validate_params(self) -> None:
        """Check every constructor parameter; scikit-learn's name for the hook, so that its tools find it."""
        validate_params(self)

    def _store_params(self, arguments: dict[str, object]) -> None:
        """Set each argument of the constructor (its ``locals()``) as the attribute of its name."""
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)

    def forget(self, rows: Any, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: object) -> Self:
        """The model that a fit without some rows gives, byte for byte, with a certificate of its own.

        As `committee.forget`: the model must have a certificate (`committee.certify`), and is not changed.

        Parameters
        ----------
        rows : array-like of int, or of bool with an entry for each row
            The rows to be forgotten, by number from 0.
        X, y, sample_weight
            The training data, with the rows to be forgotten; they are compared with the certificate.
        **fit_params
            Further arguments that ``fit`` had, such as ``groups``.

        Returns
        -------
        estimator
            Fitted on the other rows.

        Examples
        --------
        >>> import committee
        >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 1, 0]
        >>> model = committee.certify(committee.DecisionTreeClassifier(random_state=0), X, y)
        >>> model.forget([3], X, y).predict([[3.0]]).tolist()
        [1]
        """
        import committee

        without: Self = committee.forget(self, X, y, rows, sample_weight, **fit_params)
        return without

    def _replace_fitted(self, fitted: Mapping[str, Any], optional: Iterable[str] = ()) -> None:
        """Replace the fitted attributes at once; a failed or interrupted fit leaves the estimator unchanged.

        Parameters
        ----------
        fitted : mapping
            Names and values.
        optional : iterable of str
            Attributes that not every fit has; those of an earlier fit that are not in `fitted` are removed.
        """
        # A certificate and the scores of a distillation are of one fit.
        for name in ("certificate_", "distillation_", *optional):
            if name not in fitted:
                self.__dict__.pop(name, None)
        self.__dict__.update(fitted)

    def __getattr__(self, name: str) -> Any:
        """Called for missing attributes: the message explains it for a model that was saved for prediction only."""
        if "_stripped" in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}: the model was saved with strip=True, for "
                "prediction only."
            )
        if hint := hint_attribute(name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}. {hint}")
        # Raises the original error.
        return object.__getattribute__(self, name)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.accepts_missing
        tags.input_tags.sparse = self.accepts_sparse
        tags.input_tags.categorical = self.accepts_categories
        return tags


class ClassifierScoreMixin(_RowReader, ClassifierMixin):  # type: ignore[misc]
    """scikit-learn's mixin, whose `score` says in a sentence what is wrong with y."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean accuracy of the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their true classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.

        Returns
        -------
        float
        """
        return _score_rows(super().score, *(self._to_host(given) for given in (X, y, sample_weight)))


class RegressorScoreMixin(_RowReader, RegressorMixin):  # type: ignore[misc]
    """scikit-learn's mixin, whose `score` says in a sentence what is wrong with y."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their true values.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.

        Returns
        -------
        float
        """
        return _score_rows(super().score, *(self._to_host(given) for given in (X, y, sample_weight)))


def _score_rows(score: Callable[[Any, Any, Any], float], X: Any, y: Any, sample_weight: Any) -> float:
    try:
        return float(score(X, y, sample_weight))
    except (CommitteeError, NotFittedError):
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(
            f"y, or sample_weight, cannot be compared with the predictions: {str(error).rstrip('.')}."
        ) from error


def available_if(check: Callable[[_Owner], bool]) -> Callable[[_Method], _Method]:
    """scikit-learn's decorator of the same name, with types: a method that exists only where the check is true.

    Parameters
    ----------
    check : callable
        Of the estimator; may also raise AttributeError with a sentence of its own.
    """
    decorate: Callable[[_Method], _Method] = metaestimators.available_if(check)
    return decorate


def not_fitted_error(estimator: object) -> NotFittedError:
    """The error to raise where a method needs a fitted estimator; scikit-learn's sentence.

    Examples
    --------
    >>> from committee import BernoulliNB
    >>> not_fitted_error(BernoulliNB()).args[0][:48]
    'This BernoulliNB instance is not fitted yet. Cal'
    """
    return NotFittedError(
        f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
        "using this estimator."
    )


def resolve_seed(random_state: object) -> int:
    """One integer seed from any ``random_state``.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        An int is used as it is. A generator is advanced by one draw. None draws from NumPy's global generator,
        as in scikit-learn, so that ``numpy.random.seed`` controls it.

    Returns
    -------
    int
        A number in [0, 2**64).

    Examples
    --------
    >>> resolve_seed(42)
    42
    """
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if not 0 <= random_state < _SEED_LIMIT:
            raise ParameterError(f"The 'random_state' parameter must be in [0, 2**64); got {random_state}.")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_DRAWN_LIMIT))
    if random_state is None or isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(_DRAWN_LIMIT, dtype=np.int64))
    raise ParameterTypeError(
        "The 'random_state' parameter must be an int, a RandomState instance, a Generator instance or None; "
        f"got {random_state!r}."
    )


def seed_estimator(estimator: Any, seed: int, member: int) -> Any:
    """Give every ``random_state`` of an estimator, also of what it is made of, a number of its own.

    Parameters
    ----------
    estimator : estimator instance
        Is changed; not if it has no such parameter.
    seed, member : int
        The ensemble's seed and the number of the member in it, from which the integers are derived.

    Returns
    -------
    The estimator.

    Examples
    --------
    >>> from sklearn.linear_model import Perceptron
    >>> seed_estimator(Perceptron(), 0, 1).random_state
    3964924996
    """
    names = sorted(n for n in estimator.get_params(deep=True) if n == "random_state" or n.endswith("__random_state"))
    states = np.random.SeedSequence([seed, member]).generate_state(max(1, len(names)))
    return estimator.set_params(**dict(zip(names, (int(s) for s in states), strict=False)))


class EngineJobs(int):
    """The engine's number for ``n_jobs``; loops over rounds resolve it once and pass it on."""

    __slots__ = ()


def _is_dask_task() -> bool:
    """Whether this thread runs a task of a Dask worker, which counts as one thread; actors share out their own."""
    state = getattr(sys.modules.get("distributed.utils"), "thread_state", None)
    return hasattr(state, "key") and not getattr(state, "actor", False)


def resolve_jobs(n_jobs: object) -> EngineJobs:
    """The engine's number for ``n_jobs``: 0 to decide by the amount of work, otherwise as given.

    Inside a worker of joblib and inside a task of Dask None means one thread, since others use the other cores. A
    number that was resolved before is returned as it is.

    Examples
    --------
    >>> resolve_jobs(None), resolve_jobs(4), resolve_jobs(-1)
    (0, 4, -1)
    >>> resolve_jobs(resolve_jobs(None))
    0
    """
    if isinstance(n_jobs, EngineJobs):
        return n_jobs
    if n_jobs is None:
        return EngineJobs(bool(get_active_backend()[0].nesting_level) or _is_dask_task())
    if not isinstance(n_jobs, int | np.integer) or isinstance(n_jobs, bool):
        raise ParameterTypeError(f"The 'n_jobs' parameter must be an int other than 0 or None; got {n_jobs!r}.")
    if n_jobs == 0:
        raise ParameterError("The 'n_jobs' parameter must be an int other than 0 or None; got 0.")
    return EngineJobs(n_jobs)
