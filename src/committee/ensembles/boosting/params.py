"""Parameters that only gradient boosting has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from committee.params import HasMethods, Hint, Interval, JobCount

__all__ = [
    "AutoLearningRate",
    "BoostingForm",
    "BoostingJobs",
    "CallableLoss",
    "ClassLoss",
    "ColsampleByLevel",
    "ColsampleByNode",
    "ColsampleByTree",
    "DropRate",
    "GammaSplit",
    "Growth",
    "HuberAlpha",
    "Init",
    "MinChildWeight",
    "MultiStrategy",
    "OtherRate",
    "Patience",
    "Refit",
    "RegAlpha",
    "RegLambda",
    "SkipDrop",
    "StartScore",
    "Stopping",
    "StoppingFolds",
    "Subsample",
    "TopRate",
    "ValueLoss",
]

CallableLoss: TypeAlias = Annotated[Any, HasMethods("gradient", "hessian")] | Callable[..., Any]

ClassLoss: TypeAlias = Annotated[
    Literal["log_loss", "exponential"] | CallableLoss,
    "The loss that is made small: binary or multinomial deviance, AdaBoost's exponential loss (two classes), or one of "
    "your own: a function of target and scores that returns first and second derivatives, or an object with the "
    "methods ``gradient`` and ``hessian`` and, if wanted, ``value``, ``mean`` and ``baseline``.",
]
ValueLoss: TypeAlias = Annotated[
    Literal["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"] | CallableLoss,
    "The loss that is made small. ``poisson``, ``gamma`` and ``tweedie`` predict through an exponential. Or one of "
    "your own: a function of target and scores that returns first and second derivatives, or an object with the "
    "methods ``gradient`` and ``hessian`` and, if wanted, ``value``, ``mean`` and ``baseline``.",
]
AutoLearningRate: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None, closed="neither")] | Literal["auto"],
    "The factor that every tree is multiplied by before it is added. ``'auto'``: by the number of rows, from 0.03 for "
    "few to 0.1 for many.",
]
BoostingJobs: TypeAlias = Annotated[
    JobCount,
    Hint("None lets the library decide."),
    "Threads to use. None: as many as the work is worth, at most the cores this process may use; -1: all of these, "
    "-2: all but one, and so on. More than two are used only if there are 48,000 values of the table for each: with "
    "fewer, threads of boosting wait for one another longer than they work.",
]
Subsample: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, 1.0, closed="right")] | Literal["auto"],
    "Share of the rows that are drawn for each round, without replacement; the others are out of bag. ``'auto'``: 0.8, "
    "or all rows with ``boosting='goss'``.",
]
Growth: TypeAlias = Annotated[
    Literal["leaf", "level"],
    "Split the leaf with the largest gain next, or level by level.",
]
BoostingForm: TypeAlias = Annotated[
    Literal["plain", "dart", "goss"],
    "Friedman's algorithm; DART, which drops some of the earlier trees while each round is grown; or GOSS, which grows "
    "them from the rows with the largest gradients and a sample of the others.",
]
TopRate: TypeAlias = Annotated[
    float,
    Interval(0.0, 1.0, closed="neither"),
    "Share of the rows, those with the largest gradients, that are kept with ``boosting='goss'``.",
]
OtherRate: TypeAlias = Annotated[
    float,
    Interval(0.0, 1.0, closed="neither"),
    "Share of the rows that are drawn of the others, and count for more, with ``boosting='goss'``.",
]
DropRate: TypeAlias = Annotated[
    float, Interval(0.0, 1.0), "Chance of each earlier round to be dropped, with ``boosting='dart'``."
]
SkipDrop: TypeAlias = Annotated[
    float, Interval(0.0, 1.0), "Chance of a round to drop nothing, with ``boosting='dart'``."
]
RegLambda: TypeAlias = Annotated[
    float,
    Interval(0.0, None),
    "Added to the sum of second derivatives of every leaf, which draws its value towards zero.",
]
RegAlpha: TypeAlias = Annotated[
    float,
    Interval(0.0, None),
    "Taken off the absolute sum of first derivatives of every leaf; a leaf with less says zero.",
]
GammaSplit: TypeAlias = Annotated[
    float, Interval(0.0, None), "A split must lower the regularised objective by more than this."
]
MinChildWeight: TypeAlias = Annotated[
    float, Interval(0.0, None), "The smallest sum of second derivatives that each side of a split must keep."
]
ColsampleByTree: TypeAlias = Annotated[
    float, Interval(0.0, 1.0, closed="right"), "Share of the features that are drawn for each tree."
]
ColsampleByLevel: TypeAlias = Annotated[
    float, Interval(0.0, 1.0, closed="right"), "Share of these that are drawn for each depth of a tree."
]
ColsampleByNode: TypeAlias = Annotated[
    float, Interval(0.0, 1.0, closed="right"), "Share of these that are drawn for each node, times ``max_features``."
]
HuberAlpha: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, 1.0, closed="neither")] | Sequence[float],
    "Level of ``loss='quantile'``, or a list of levels, ascending, that are learnt together and whose predictions "
    "never cross; quantile of the absolute residuals from which on ``loss='huber'`` is linear.",
]
MultiStrategy: TypeAlias = Annotated[
    Literal["one_output_per_tree", "multi_output_tree"],
    "What a round grows where a row has several scores (classes, outputs, levels of quantiles): a tree for each, or "
    "one tree for all of them, whose splits serve their sum and whose leaves are vectors.",
]
Patience: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)] | None,
    "Stop when this many rounds have come without a score that is better by more than ``tol``. None: no early "
    "stopping.",
]
Init: TypeAlias = Annotated[
    Annotated[Any, HasMethods("fit", "predict")] | Literal["zero"] | None,
    "What scores start from: the best constant (None), zero, or the predictions of an estimator, which is cloned and "
    "fitted first.",
]
StartScore: TypeAlias = Annotated[
    float | None,
    "The score that all rows start from, in place of the best constant; for a classifier log-odds.",
]
Stopping: TypeAlias = Annotated[
    Literal["auto", "oob"] | bool,
    "Whether to choose the number of rounds by rows that are not learnt from. ``'auto'``: by the last of ``eval_set`` "
    "if `fit` is given any, otherwise by rows held out; not with DART nor with fewer than 50 rows. ``'oob'``: by the "
    "rows out of bag, with ``subsample`` below 1. Rounds after the best one are dropped.",
]
StoppingFolds: TypeAlias = Annotated[
    Annotated[int, Interval(2, None)] | Literal["auto"] | None,
    "Folds by which the number of rounds is chosen: each fold is held out once, and the round with the best mean score "
    "is taken. None: one part is held out, of size ``validation_fraction``. ``'auto'``: 3 folds up to 5,000 rows, one "
    "part beyond.",
]
Refit: TypeAlias = Annotated[
    bool,
    "Whether all rows are learnt from in the end, for as many rounds as the rows held out have chosen; always so with "
    "folds, never with ``warm_start``, which will hold the same rows out again.",
]
