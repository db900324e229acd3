"""Parameters that only gradient boosting has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from committee.constraints import join_phrases
from committee.losses import list_value_losses
from committee.params import (
    HasMethods,
    Hint,
    Interval,
    JobCount,
    MaxBins,
    MaxDepth,
    MaxFeatures,
    MaxLeafNodes,
    MinSamplesLeaf,
)

__all__ = [
    "AutoDefaults",
    "AutoGrowPolicy",
    "AutoLearningRate",
    "AutoMaxDepth",
    "AutoMaxFeatures",
    "AutoMaxLeafNodes",
    "AutoMinSamplesLeaf",
    "AutoTol",
    "BoostingEngine",
    "BoostingForm",
    "BoostingJobs",
    "BoostingRounds",
    "BoostingSplitter",
    "CallableLoss",
    "ClassInit",
    "ClassLoss",
    "ColsampleByLevel",
    "ColsampleByNode",
    "ColsampleByTree",
    "DropRate",
    "DroppedCriterion",
    "EarlyStoppingMode",
    "GammaSplit",
    "GrowPolicy",
    "HistEarlyStopping",
    "HistMaxBins",
    "HistValueLoss",
    "HuberAlpha",
    "Init",
    "MinChildWeight",
    "MultiStrategy",
    "OtherRate",
    "PairSteepness",
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
    "methods ``gradient`` and ``hessian`` and, if wanted, ``value``, ``mean`` and ``baseline``. Without ``value`` "
    "losses are not recorded, and early stopping goes by the estimator's own `score`."
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

RankLossName: TypeAlias = Annotated[
    Literal["lambdarank", "pairwise", "listwise"],
    "What is minimised: LambdaMART's loss of pairs, weighted by the change of NDCG; RankNet's loss of pairs alike; or "
    "the cross entropy of a query's scores with its gains.",
]
TruncationLevel: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)],
    "Of the losses of pairs: each pair has a row among so many first places by the scores so far, and the NDCG of "
    "``loss='lambdarank'`` is that of these places. Somewhat larger than the number of places that matter.",
]
PairSteepness: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None, closed="neither")],
    "The factor σ of the difference of two scores in the loss of a pair.",
]
RankNormalize: TypeAlias = Annotated[
    bool,
    "Of the losses of pairs: divide pairs by the distance of their scores, and the gradients of a query by a "
    "function of their sum, so that no query dominates.",
]
RankScoring: TypeAlias = Annotated[
    str | Callable[..., Any],
    "What early stopping goes by: ``'ndcg'`` or ``'map'``, of the first k places as ``'ndcg@10'``; ``'loss'``; or a "
    "function of relevances and scores with the keyword ``qid``.",
]

# --- rounds ------------------------------------------------------------------------------------------------------

BoostingRounds: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)] | Literal["auto"],
    "Number of rounds; the most of them with ``early_stopping`` or ``n_iter_no_change``. ``'auto'``: early stopping "
    "chooses it, up to 1,000 (100 with ``defaults='scikit-learn'``).",
]
AutoDefaults: TypeAlias = Annotated[
    Literal["auto", "tuned", "scikit-learn"],
    "What parameters left at ``'auto'`` mean: values that were tuned on public data sets, or those of scikit-learn. "
    "``'auto'``: scikit-learn's where you give the number of rounds (a number for ``n_estimators``), tuned ones where "
    "the fit chooses it (no such number, or ``early_stopping`` is True or ``'oob'``).",
]
AutoLearningRate: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None, closed="neither")] | Literal["auto"],
    "The factor that every tree is multiplied by before it is added. ``'auto'``: tuned by the number of rows, from "
    "0.03 for few to 0.1 for many; scikit-learn's is 0.1.",
]
BoostingForm: TypeAlias = Annotated[
    Literal["plain", "dart", "goss"],
    "Friedman's algorithm; DART, which drops some of the earlier trees while each round is grown; or GOSS, which grows "
    "them from the rows with the largest gradients and a sample of the others.",
]
Subsample: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, 1.0, closed="right")] | Literal["auto"],
    "Fraction of the rows (of a ranking: of the queries) that are drawn for each round, without replacement; the "
    "others are out of bag. ``'auto'``: tuned 0.8, scikit-learn's 1.0; all rows with ``boosting='goss'``.",
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
ClassInit: TypeAlias = Annotated[
    Annotated[Any, HasMethods("fit", "predict_proba")] | Literal["zero"] | None,
    "What scores start from: the best constant (None), zero, or the probabilities of an estimator, which is cloned and "
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

BoostingEngine: TypeAlias = Annotated[
    Literal["cpu", "gpu", "auto"],
    "Where the rounds are computed; the model is the same to the bit. ``'gpu'``: on a CUDA device, with CuPy; an error "
    "where there is none, or where the GPU engine does not support what the fit asks of it. ``'auto'``: there if the "
    'table is large, a device is there and supports it, else on the CPU; the logger "committee" says which.',
]

# --- trees -------------------------------------------------------------------------------------------------------

AutoMaxDepth: TypeAlias = Annotated[
    MaxDepth | Literal["auto"],
    "The largest depth of a tree. None: no limit. ``'auto'``: tuned None; scikit-learn's is 3, and None if "
    "``max_leaf_nodes`` is given.",
]
AutoMaxLeafNodes: TypeAlias = Annotated[
    MaxLeafNodes | Literal["auto"],
    "The most leaves of a tree. None: no limit. ``'auto'``: tuned 31, scikit-learn's None.",
]
AutoMinSamplesLeaf: TypeAlias = Annotated[
    MinSamplesLeaf | Literal["auto"],
    "The fewest rows that each side of a split must keep; a float is a fraction of all rows, rounded up. ``'auto'``: "
    "tuned 5, or a tenth of fewer than 50 rows; scikit-learn's is 1.",
]
AutoMaxFeatures: TypeAlias = Annotated[
    MaxFeatures | Literal["auto"],
    "How many features are drawn as candidates at each node: a number, a fraction of all features, their square root, "
    "their binary logarithm, or all of them (None). ``'auto'``: tuned 0.5, and fewer of them on less than 20,000 rows "
    "(see the guide on gradient boosting); scikit-learn's None.",
]
DroppedCriterion: TypeAlias = Annotated[
    Literal["deprecated", "friedman_mse", "squared_error"],
    "Has no effect: trees follow the loss. Accepted with a warning, as in scikit-learn 1.9.",
]
_GROW_POLICIES = (
    "Split the leaf with the largest gain next, or level by level; or split all nodes of a depth alike, by the feature "
    "and the threshold that gain most in all of them together, as CatBoost does (``'symmetric'``; the tuned "
    "depth is 6). ``'mixed'``: the first round by leaves, the second symmetric, and so on, with leaf values from all "
    "rows, also those that ``subsample`` leaves out."
)
GrowPolicy: TypeAlias = Annotated[Literal["leaf", "level", "symmetric", "mixed"], _GROW_POLICIES]
AutoGrowPolicy: TypeAlias = Annotated[
    Literal["auto", "leaf", "level", "symmetric", "mixed"],
    _GROW_POLICIES + " ``'auto'``: tuned ``'mixed'`` on less than 20,000 rows, unless another parameter does not go "
    "with it (see the guide on gradient boosting); else ``'leaf'``.",
]
BoostingSplitter: TypeAlias = Annotated[
    Literal["best", "random"],
    "Take the best threshold of every candidate feature, or one random threshold of each, as LightGBM does with "
    "``extra_trees``: trees differ more from one another, and overfit later.",
]
MultiStrategy: TypeAlias = Annotated[
    Literal["one_output_per_tree", "multi_output_tree"],
    "What a round grows where a row has several scores (classes, outputs, levels of quantiles): a tree for each, or "
    "one tree for all of them, whose splits maximise the sum of their gains and whose leaves are vectors.",
]
RegLambda: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None)] | Literal["auto"],
    "L2 regularisation: added to the sum of second derivatives of every leaf, which draws its value towards zero. "
    "``'auto'``: tuned 1.0, scikit-learn has none.",
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
    Annotated[float, Interval(0.0, None)] | Literal["auto"],
    "The smallest sum of second derivatives that each side of a split must keep. ``'auto'``: tuned 0.001, scikit-learn "
    "has none.",
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
    "Whether to choose the number of rounds by rows that no tree is grown from: by the last of ``eval_set`` if `fit` "
    "is given any, otherwise by rows held out. ``'oob'``: by the rows out of bag, with ``subsample`` below 1. "
    "``'auto'``: if ``n_estimators`` is ``'auto'`` or ``n_iter_no_change`` is a number; not with DART, nor with fewer "
    "than 50 rows unless ``n_iter_no_change`` is a number. Rounds after the best one are dropped, except with "
    "scikit-learn's defaults.",
]
HistEarlyStopping: TypeAlias = Annotated[
    Literal["auto"] | bool,
    "Whether to stop before all rounds when the score no longer improves. ``'auto'``: with more than 10,000 "
    "rows, or if `fit` is given a validation set.",
]
HistMaxBins: TypeAlias = Annotated[
    MaxBins,
    "The most bins of a numeric feature. A feature with no more distinct values than this is represented exactly. A "
    "value below 255 is also the most levels of a category, as in scikit-learn; with 255 any number is allowed.",
]
StoppingPatience: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)] | Literal["auto"] | None,
    "Stop after this many rounds without a score that is better by more than ``tol``. None: no early stopping. "
    "``'auto'``: tuned 20 (33 for distributions), scikit-learn's None.",
]
AutoTol: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None)] | Literal["auto"],
    "A score is better than another only if it is by more than this. ``'auto'``: tuned 0, scikit-learn's 0.0001.",
]
StoppingFolds: TypeAlias = Annotated[
    Annotated[int, Interval(2, None)] | Literal["auto"] | None,
    "Folds by which the number of rounds is chosen: each fold is held out once, and the round with the best mean score "
    "is taken. None: one part of the rows is held out, of size ``validation_fraction``. ``'auto'``: tuned 3 folds "
    "up to 5,000 rows, one part beyond; scikit-learn's is one part.",
]
RefitAllRows: TypeAlias = Annotated[
    bool | Literal["auto"],
    "Whether the model is fitted again on all rows, for as many rounds as the rows held out have chosen; always so "
    "with folds, never with ``warm_start``, which will hold the same rows out again. With tuned ``growth='mixed'`` for "
    "a quarter more rounds. ``'auto'``: tuned True, scikit-learn's False.",
]
