"""Losses of boosting by name: values, gradients, baseline, link function and the targets that they allow.

A loss is a file in ``cpp/include/committee/losses``: its formulas, its link and the range of its targets.
`describe_loss` reads these from the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from math import inf, nan
from typing import ClassVar, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.exceptions import DataError
from committee.typing import FloatArray

__all__ = [
    "LeafRenewal",
    "LossFunction",
    "LossLink",
    "LossTraits",
    "TargetRange",
    "apply_exp",
    "apply_exp2",
    "apply_expm1",
    "apply_log",
    "apply_log1p",
    "apply_log_gamma",
    "apply_sigmoid",
    "apply_softmax",
    "apply_softplus",
    "describe_loss",
    "list_losses",
    "list_value_losses",
]

LossLink: TypeAlias = Literal["identity", "log", "logit", "half_logit", "softmax", "other"]
"""The function that turns predictions into scores; ``half_logit`` is half the log-odds."""
TargetRange: TypeAlias = Literal["real", "non_negative", "positive", "classes"]


@dataclass(frozen=True)
class LossTraits:
    """What boosting knows of a loss besides its formulas.

    Attributes
    ----------
    link : LossLink
        The link function; scores are turned into predictions by its inverse.
    target_range : TargetRange
        The targets that the loss is defined for.
    takes_alpha : bool
        Whether its parameter is a quantile in (0, 1), the ``alpha`` of `GradientBoostingRegressor`.
    takes_levels : bool
        Whether several such quantiles can be fitted together.
    is_adaptive : bool
        Whether the loss changes from round to round, so that its values in different rounds cannot be compared.
    takes_newton_steps : bool
        Whether leaf values are sums of gradients over sums of hessians.
    largest_step : float
        What these are held within, before the learning rate.
    """

    link: LossLink = "identity"
    target_range: TargetRange = "real"
    takes_alpha: bool = False
    takes_levels: bool = False
    is_adaptive: bool = False
    takes_newton_steps: bool = True
    largest_step: float = inf


_LN_2 = 0.6931471805599453
_FURTHEST_EXPONENT = 2000.0  # whose power of two is infinite, or zero

#: What only some losses have, besides what the engine knows of each.
_OPTIONS = {
    "huber": {"takes_alpha": True, "is_adaptive": True},
    "quantile": {"takes_alpha": True, "takes_levels": True},
}


def list_losses() -> list[str]:
    """Names of all losses.

    Examples
    --------
    >>> "logistic" in list_losses()
    True
    """
    return _core.list_losses()


@cache
def describe_loss(name: str) -> LossTraits:
    """Link, target range and other traits of a loss.

    Parameters
    ----------
    name : str
        One of `list_losses`.

    Examples
    --------
    >>> describe_loss("gamma").link
    'log'
    """
    info = next(info for info in _core.describe_losses() if info.name == name)
    is_class = info.target_range in ("binary", "classes")
    return LossTraits(
        link=cast("LossLink", info.link),
        target_range=cast("TargetRange", "classes" if is_class else info.target_range),
        takes_newton_steps=info.takes_newton_steps,
        largest_step=info.largest_step,
        **_OPTIONS.get(name, {}),
    )


def list_value_losses(link: LossLink | None = None) -> list[str]:
    """Names of the losses of regression, or of those with a given link.

    Examples
    --------
    >>> list_value_losses("log")
    ['poisson', 'gamma', 'tweedie']
    """
    traits = ((name, describe_loss(name)) for name in list_losses())
    return [name for name, known in traits if known.target_range != "classes" and link in (None, known.link)]


@dataclass(frozen=True)
class LossFunction:
    """A loss of a target and one or several scores a row.

    Attributes
    ----------
    name : str
        One of `list_losses`.
    parameter : float
        Level of ``quantile``, quantile of the residuals that ``huber`` turns linear at, power of ``tweedie``; NaN for
        the loss's own default.
    n_scores : int
        Classes of ``softmax``; for all others the number of outputs.
    levels : tuple of float
        Of ``quantile`` only: several levels, ascending, that are fitted to one target, one score each. Predictions are
        sorted, so that they never cross [Chernozhukov2010].

    Examples
    --------
    >>> import numpy as np
    >>> loss = LossFunction("logistic")
    >>> loss.find_means(np.zeros((2, 1)))
    array([[0.5],
           [0.5]])
    """

    is_custom: ClassVar[bool] = False

    name: str
    parameter: float = nan
    n_scores: int = 1
    levels: tuple[float, ...] = ()

    @cached_property
    def made(self) -> _core.Loss:
        """The engine's object."""
        return _core.Loss.make(self.name, self.parameter, self.n_scores, list(self.levels))

    @property
    def traits(self) -> LossTraits:
        """LossLink, target range and other traits."""
        return describe_loss(self.name)

    def __getstate__(self) -> dict[str, object]:
        return {"name": self.name, "parameter": self.parameter, "n_scores": self.n_scores, "levels": self.levels}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    def find_values(self, y: NDArray[np.float64], scores: FloatArray) -> FloatArray:
        """Loss of each row, of shape (n_rows,); the sum over outputs where there are several."""
        return self.made.find_values(self.lay_out(y), np.asfortranarray(scores))

    def find_gradients(self, y: NDArray[np.float64], scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients and hessians by each score, both of shape (n_rows, n_scores)."""
        gradients, hessians = self.made.find_gradients(self.lay_out(y), np.asfortranarray(scores))
        return gradients, hessians

    def find_means(self, scores: FloatArray) -> FloatArray:
        """Scores to predictions, of shape (n_rows, n_scores): the inverse link."""
        return self.made.find_means(np.asfortranarray(scores))

    def find_baseline(self, y: NDArray[np.float64], weights: FloatArray | None = None) -> FloatArray:
        """Constant scores with the least loss, of shape (n_scores,); for ``huber``, which is adaptive, the median."""
        return np.asarray(self.made.find_baseline(self.lay_out(y), weights, len(y)))

    def lay_out(self, y: NDArray[np.float64]) -> FloatArray:
        """The target as the engine reads it: outputs one after another; with several levels, a copy for each."""
        outputs = np.ascontiguousarray(np.asarray(y, dtype=np.float64).ravel(order="F"))
        return np.tile(outputs, len(self.levels)) if self.levels else outputs

    def check_target(self, values: FloatArray) -> None:
        """Raise DataError if the loss is not defined for these targets.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_outputs)
            The targets of all rows of positive weight.
        """
        allowed = self.traits.target_range
        if allowed == "non_negative" and ((values < 0.0).any() or not (values.sum(axis=0) > 0.0).all()):
            raise DataError(f"loss='{self.name}' requires non-negative y and sum(y) > 0.")
        if allowed == "positive" and (values <= 0.0).any():
            raise DataError(f"loss='{self.name}' requires strictly positive y.")


class LeafRenewal:
    """Values of leaves that are no Newton steps: quantiles of the residuals of their rows, or Huber's rule.

    Parameters
    ----------
    loss : LossFunction
        One whose traits say so.
    y : ndarray
        The target of all rows; outputs one after another.
    weights : ndarray of shape (n_rows,) or None
        As how many rows each row counts.

    Examples
    --------
    >>> renewal = LeafRenewal(LossFunction("absolute_error"), np.array([1.0, 2.0, 6.0, 8.0]), None)
    >>> renewal.find_values(0, np.zeros((4, 1)), np.array([0, 0, 0, 2]), 3).tolist()
    [2.0, 0.0, 8.0]
    """

    def __init__(self, loss: LossFunction, y: NDArray[np.float64], weights: FloatArray | None) -> None:
        # An object of its own: Huber's loss learns from the rows where it turns linear.
        self._loss = _core.Loss.make(loss.name, loss.parameter, loss.n_scores, list(loss.levels))
        self._y = loss.lay_out(y).reshape(loss.n_scores, -1)
        none = np.empty(0, np.uint32)
        self._weights = none if weights is None else _core.fix_row_weights(weights)
        self._present = none if weights is None else np.flatnonzero(weights > 0.0).astype(np.uint32)

    def adapt(self, scores: FloatArray) -> None:
        """What the loss learns before a round, from scores of shape (n_rows, n_scores)."""
        self._loss.adapt(self._y.ravel(), np.asfortranarray(scores), self._weights)

    def find_values(
        self, score: int, scores: FloatArray, leaves: NDArray[np.intp], n_leaves: int, n_jobs: int = 1
    ) -> FloatArray:
        """The values of the leaves of a tree, before the learning rate; zero where a leaf has no row.

        Parameters
        ----------
        score : int
            That the tree adds to.
        scores : ndarray of shape (n_rows, n_scores)
            So far.
        leaves : ndarray of shape (n_rows,)
            The leaf of each row, from 0 on.
        n_leaves, n_jobs : int
            How many there are; threads.
        """
        y, own, numbers = self._y[score], np.ascontiguousarray(scores[:, score]), leaves.astype(np.uint32)
        return np.asarray(
            _core.renew_leaf_values(self._loss, score, y, own, self._weights, self._present, numbers, n_leaves, n_jobs)
        )


# --- the engine's exponentials -----------------------------------------------------------------------------------


@cache
def _get_link(name: str, n_scores: int = 1) -> LossFunction:
    return LossFunction(name, nan, n_scores)


def apply_sigmoid(scores: FloatArray) -> FloatArray:
    """``1 / (1 + exp(-x))`` of each number, to the same bits on every platform; exponents are held within 708.

    Examples
    --------
    >>> apply_sigmoid(np.array([0.0, 800.0])).tolist()
    [0.5, 1.0]
    """
    return _get_link("logistic").find_means(scores.reshape(-1, 1)).reshape(scores.shape)


def apply_softmax(scores: FloatArray) -> FloatArray:
    """The softmax of each row, to the same bits on every platform.

    Examples
    --------
    >>> apply_softmax(np.array([[0.0, 0.0], [9.0, 9.0]])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    if scores.shape[1] == 1:
        return np.ones_like(scores)
    return np.ascontiguousarray(_get_link("softmax", scores.shape[1]).find_means(scores))


def apply_exp2(exponents: FloatArray) -> FloatArray:
    """``2 ** x`` of each number, to the same bits on every platform; exact for whole numbers.

    Examples
    --------
    >>> apply_exp2(np.array([-1.0, 0.0, 3.0])).tolist()
    [0.5, 1.0, 8.0]
    """
    whole = np.clip(np.rint(exponents), -_FURTHEST_EXPONENT, _FURTHEST_EXPONENT)
    rest = _get_link("poisson").find_means(((exponents - whole) * _LN_2).reshape(-1, 1)).reshape(exponents.shape)
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(rest, whole.astype(np.intp))


def apply_exp(exponents: FloatArray) -> FloatArray:
    """``e ** x`` of each number, to the same bits on every platform.

    Examples
    --------
    >>> apply_exp(np.array([-np.inf, 0.0, 1.0, 1000.0])).tolist()
    [0.0, 1.0, 2.718281828459045, inf]
    """
    return _core.find_exponentials(np.asarray(exponents, dtype=np.float64))


def apply_log(values: FloatArray) -> FloatArray:
    """The natural logarithm of each number, to the same bits on every platform.

    Examples
    --------
    >>> apply_log(np.array([0.0, 1.0, 2.0, np.inf])).tolist()
    [-inf, 0.0, 0.6931471805599453, inf]
    """
    return _core.find_logs(np.asarray(values, dtype=np.float64))


def apply_log_gamma(values: FloatArray) -> FloatArray:
    """``ln Γ(x)`` of each number above 0, to the same bits on every platform; NaN below.

    Examples
    --------
    >>> apply_log_gamma(np.array([0.0, 1.0, 3.0, np.inf])).round(6).tolist()
    [inf, 0.0, 0.693147, inf]
    """
    return _core.find_log_gammas(np.asarray(values, dtype=np.float64))


def apply_log1p(values: FloatArray) -> FloatArray:
    """``log(1 + x)`` of each number above -1, to the same bits on every platform.

    Examples
    --------
    >>> apply_log1p(np.array([0.0, 1e-20])).tolist()
    [0.0, 1e-20]
    """
    given = np.asarray(values, dtype=np.float64)
    above = 1.0 + given
    # What was lost in the sum, to first order.
    return apply_log(above) - ((above - 1.0) - given) / above


def apply_expm1(exponents: FloatArray) -> FloatArray:
    """``e ** x - 1`` of each number, to the same bits on every platform, and accurate where x is small.

    Examples
    --------
    >>> apply_expm1(np.array([-np.inf, 0.0, 1e-20])).tolist()
    [-1.0, 0.0, 1e-20]
    """
    given = np.asarray(exponents, dtype=np.float64)
    powers = apply_exp(given)
    # The rounding of the power divides out: (u - 1) / log u is smooth in u.
    is_near = (powers != 1.0) & (np.abs(given) < 1.0)
    u = np.where(is_near, powers, 2.0)
    near = (u - 1.0) * np.where(is_near, given, 0.0) / apply_log(u)
    return np.where(is_near, near, np.where(powers == 1.0, given, powers - 1.0))


def apply_softplus(scores: FloatArray) -> FloatArray:
    """``log(1 + exp(x))`` of each number, to the same bits on every platform; exponents are held within 708.

    Examples
    --------
    >>> apply_softplus(np.array([-1000.0, 0.0, 1000.0])).tolist()
    [3.3075530036384083e-308, 0.6931471805599453, 1000.0]
    """
    given = np.asarray(scores, dtype=np.float64)
    # The loss of a row of the class 0.
    return _get_link("logistic").find_values(np.zeros((given.size, 1)), given.reshape(-1, 1)).reshape(given.shape)
