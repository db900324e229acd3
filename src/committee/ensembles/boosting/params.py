"""Parameters that only gradient boosting has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from committee.constraints import join_phrases
from committee.losses import list_value_losses
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
    "EarlyStoppingMode",
    "GammaSplit",
    "GrowPolicy",
    "HistEarlyStopping",
    "HistValueLoss",
    "HuberAlpha",
    "Init",
    "MinChildWeight",
    "MultiStrategy",
    "OtherRate",
    "RefitAllRows",
    "RegAlpha",
    "RegLambda",
    "SkipDrop",
    "StartScore",
    "StoppingFolds",
    "StoppingPatience",
    "Subsample",
    "TopRate",
    "ValueLoss",
    "ValueLossName",
]

# --- losses ------------------------------------------------------------------------------------------------------

if TYPE_CHECKING:
    ValueLossName: TypeAlias = str
else:
    # The names that the engine lists: a new loss needs no line here.
    ValueLossName = Literal[tuple(list_value_losses())]

_LOG_LINK = join_phrases((f"``{name}``" for name in list_value_losses("log")), "and")
_VALUE_LOSS = f"The loss that is minimised. {_LOG_LINK} predict through an exponential."
_CUSTOM_LOSS = (
    "one of your own: a function of target and scores that returns first and second derivatives, or an object with the "
    "methods ``gradient`` and ``hessian`` and, if wanted, ``value``, ``mean`` and ``baseline``."
)

CallableLoss: TypeAlias = Annotated[Any, HasMethods("gradient", "hessian")] | Callable[..., Any]
ClassLoss: TypeAlias = Annotated[
    Literal["log_loss", "exponential"] | CallableLoss,
    "The loss that is minimised: binary or multinomial deviance, AdaBoost's exponential loss (two classes), or "
    + _CUSTOM_LOSS,
]
ValueLoss: TypeAlias = Annotated[ValueLossName | CallableLoss, f"{_VALUE_LOSS} Or {_CUSTOM_LOSS}"]
HistValueLoss: TypeAlias = Annotated[ValueLossName, _VALUE_LOSS]
HuberAlpha: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, 1.0, closed="neither")] | Sequence[float],
    "Level of ``loss='quantile'``, or a list of levels, ascending, that are fitted together and whose predictions "
    "never cross; quantile of the absolute residuals from which on ``loss='huber'`` is linear.",
]

# --- rounds ------------------------------------------------------------------------------------------------------

AutoLearningRate: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None, closed="neither")] | Literal["auto"],
    "The factor that every tree is multiplied by before it is added. ``'auto'``: by the number of rows, from 0.03 for "
    "few to 0.1 for many.",
]
BoostingForm: TypeAlias = Annotated[
    Literal["plain", "dart", "goss"],
    "Friedman's algorithm; DART, which drops some of the earlier trees while each round is grown; or GOSS, which grows "
    "them from the rows with the largest gradients and a sample of the others.",
]
Subsample: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, 1.0, closed="right")] | Literal["auto"],
    "Fraction of the rows that are drawn for each round, without replacement; the others are out of bag. ``'auto'``: "
    "0.8, or all rows with ``boosting='goss'``.",
]
TopRate: TypeAlias = Annotated[
    float,
    Interval(0.0, 1.0, closed="neither"),
    "Fraction of the rows, those with the largest gradients, that are kept with ``boosting='goss'``.",
]
OtherRate: TypeAlias = Annotated[
    float,
    Interval(0.0, 1.0, closed="neither"),
    "Fraction of the rows that are drawn from the others, with larger weights, with ``boosting='goss'``.",
]
DropRate: TypeAlias = Annotated[
    float, Interval(0.0, 1.0), "Probability of each earlier round to be dropped, with ``boosting='dart'``."
]
SkipDrop: TypeAlias = Annotated[
    float, Interval(0.0, 1.0), "Probability of a round to drop nothing, with ``boosting='dart'``."
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
BoostingJobs: TypeAlias = Annotated[
    JobCount,
    Hint("None lets the library decide."),
    "Threads to use. None: as many as the work justifies, at most the cores this process may use; -1: all of these, "
    "-2: all but one, and so on. More than two are used only if there are 48,000 values of the table for each: with "
    "fewer, threads of boosting wait for one another longer than they work.",
]

# --- trees -------------------------------------------------------------------------------------------------------

GrowPolicy: TypeAlias = Annotated[
    Literal["leaf", "level"],
    "Split the leaf with the largest gain next, or level by level.",
]
MultiStrategy: TypeAlias = Annotated[
    Literal["one_output_per_tree", "multi_output_tree"],
    "What a round grows where a row has several scores (classes, outputs, levels of quantiles): a tree for each, or "
    "one tree for all of them, whose splits maximise the sum of their gains and whose leaves are vectors.",
]
RegLambda: TypeAlias = Annotated[
    float,
    Interval(0.0, None),
    "L2 regularisation: added to the sum of second derivatives of every leaf, which draws its value towards zero.",
]
RegAlpha: TypeAlias = Annotated[
    float,
    Interval(0.0, None),
    "L1 regularisation: subtracted from the absolute sum of first derivatives of every leaf; a leaf with less has the "
    "value zero.",
]
GammaSplit: TypeAlias = Annotated[
    float, Interval(0.0, None), "A split must lower the regularised objective by more than this."
]
MinChildWeight: TypeAlias = Annotated[
    float, Interval(0.0, None), "The smallest sum of second derivatives that each side of a split must keep."
]
ColsampleByTree: TypeAlias = Annotated[
    float, Interval(0.0, 1.0, closed="right"), "Fraction of the features that are drawn for each tree."
]
ColsampleByLevel: TypeAlias = Annotated[
    float, Interval(0.0, 1.0, closed="right"), "Fraction of these that are drawn for each depth of a tree."
]
ColsampleByNode: TypeAlias = Annotated[
    float, Interval(0.0, 1.0, closed="right"), "Fraction of these that are drawn for each node, times ``max_features``."
]

# --- early stopping ----------------------------------------------------------------------------------------------

EarlyStoppingMode: TypeAlias = Annotated[
    Literal["auto", "oob"] | bool,
    "Whether to choose the number of rounds by rows that no tree is grown from. ``'auto'``: by the last of "
    "``eval_set`` if `fit` is given any, otherwise by rows held out; not with DART nor with fewer than 50 rows. "
    "``'oob'``: by the rows out of bag, with ``subsample`` below 1. Rounds after the best one are dropped.",
]
HistEarlyStopping: TypeAlias = Annotated[
    Literal["auto"] | bool,
    "Whether to stop before all rounds when the score no longer improves. ``'auto'``: with more than 10,000 rows.",
]
StoppingPatience: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)] | None,
    "Stop after this many rounds without a score that is better by more than ``tol``. None: no early stopping.",
]
StoppingFolds: TypeAlias = Annotated[
    Annotated[int, Interval(2, None)] | Literal["auto"] | None,
    "Folds by which the number of rounds is chosen: each fold is held out once, and the round with the best mean score "
    "is taken. None: one part of the rows is held out, of size ``validation_fraction``. ``'auto'``: 3 folds up to "
    "5,000 rows, one part beyond.",
]
RefitAllRows: TypeAlias = Annotated[
    bool,
    "Whether the model is fitted again on all rows, for as many rounds as the rows held out have chosen; always so "
    "with folds, never with ``warm_start``, which will hold the same rows out again.",
]
