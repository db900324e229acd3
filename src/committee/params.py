"""Constructor parameters, declared once.

An alias such as ``MaxDepth`` holds the type, the range and the sentence for the manual together. A constructor
uses it as the annotation of its argument; the check in ``fit``, the error sentence and the Parameters section of
the class docstring all come from there.

A union may give each of its members a range of its own by nesting: see ``MinSamplesSplit``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from committee.constraints import (
    ArrayLike,
    HasMethods,
    Hint,
    Instance,
    Interval,
    Options,
    document_params,
    validate_params,
)

__all__ = [
    "ArrayLike",
    "BoostingScoring",
    "Calibration",
    "CategoricalFeatures",
    "CcpAlpha",
    "ClassBootstrap",
    "ClassCriterion",
    "ClassWeight",
    "Contamination",
    "CrossValidation",
    "Exact",
    "FeatureShare",
    "ForestClassWeight",
    "ForestEngine",
    "HasMethods",
    "Hint",
    "HoldOutFraction",
    "Instance",
    "InteractionCst",
    "Interval",
    "IsolationRows",
    "JobCount",
    "KeepLeafSamples",
    "L2Regularization",
    "LearningRate",
    "LogLoss",
    "MaxBins",
    "MaxDepth",
    "MaxFeatures",
    "MaxIter",
    "MaxLeafNodes",
    "MaxSamples",
    "MemberTextColumns",
    "MinImpurityDecrease",
    "MinSamplesLeaf",
    "MinSamplesLeafCount",
    "MinSamplesSplit",
    "MinWeightFractionLeaf",
    "MonotonicCst",
    "NEstimators",
    "NIterNoChange",
    "NJobs",
    "OobPatience",
    "OobScore",
    "OobTol",
    "Options",
    "QuantileLevel",
    "RandomState",
    "RowBootstrap",
    "SparseOutput",
    "Splitter",
    "StoppingTol",
    "SurvivalOobScore",
    "TextColumns",
    "TreeCount",
    "TreeFeatures",
    "TreeRandomState",
    "Unseen",
    "ValidationFraction",
    "ValueBootstrap",
    "ValueCriterion",
    "Verbose",
    "WarmStart",
    "document_params",
    "validate_params",
]

# --- the shape of a tree -------------------------------------------------------------------------------------

ClassCriterion: TypeAlias = Annotated[
    Literal["gini", "entropy", "log_loss", "gain_ratio", "error"],
    "The impurity that a split must lower: the Gini index, the entropy (``log_loss`` is another name for it), the "
    "entropy's gain divided by the information of the split itself (``gain_ratio``, as in C4.5), or the weighted "
    "fraction of rows that are not of the majority class (``error``).",
]
ValueCriterion: TypeAlias = Annotated[
    Literal["squared_error", "friedman_mse", "absolute_error", "poisson"],
    "The impurity that a split must lower: the variance, the mean absolute deviation from the median, or half the mean "
    "Poisson deviance (targets must then not be negative). ``'friedman_mse'`` is deprecated: it chooses the same "
    "splits as ``'squared_error'``.",
]
Splitter: TypeAlias = Annotated[
    Literal["best", "random"],
    "Take the best threshold of every candidate feature, or one random threshold of each.",
]
MaxDepth: TypeAlias = Annotated[
    int | None,
    Interval(1, None),
    Hint("None grows without a limit."),
    "The largest depth of a tree; a tree that is only a root has depth 0. None: no limit.",
]
MinSamplesSplit: TypeAlias = Annotated[
    Annotated[int, Interval(2, None)] | Annotated[float, Interval(0.0, 1.0, closed="right")],
    "The fewest rows of a node that may be split; a float is a fraction of all rows, rounded up.",
]
MinSamplesLeaf: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)] | Annotated[float, Interval(0.0, 1.0, closed="neither")],
    "The fewest rows that each side of a split must keep; a float is a fraction of all rows, rounded up.",
]
MinWeightFractionLeaf: TypeAlias = Annotated[
    float,
    Interval(0.0, 0.5),
    "The smallest fraction of the total weight that each side of a split must keep.",
]
MaxFeatures: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)]
    | Annotated[float, Interval(0.0, 1.0, closed="right")]
    | Literal["sqrt", "log2"]
    | None,
    "How many features are drawn as candidates at each node: a number, a fraction of all features, their square root, "
    "their binary logarithm, or all of them (None).",
]
MaxLeafNodes: TypeAlias = Annotated[
    int | None,
    Interval(2, None),
    Hint("None grows without a limit."),
    "Grow best-first until the tree has this many leaves. None: depth-first, no limit.",
]
MinImpurityDecrease: TypeAlias = Annotated[
    float,
    Interval(0.0, None),
    "A node is split only if this lowers the impurity, weighted by the node's fraction of the total weight, by at "
    "least this much.",
]
CcpAlpha: TypeAlias = Annotated[
    float,
    Interval(0.0, None),
    "The complexity parameter of minimal cost-complexity pruning; the largest subtree whose every branch justifies it "
    "is kept. 0: no pruning.",
]
MonotonicCst: TypeAlias = Annotated[
    Mapping[str, int] | Annotated[Any, ArrayLike("of -1, 0 or 1")] | None,
    "For each feature 1 if the prediction may only rise with it, -1 if it may only fall, 0 if it is free; a dict "
    "goes by feature names. In a binary classification this holds for the probability of the second class.",
]
InteractionCst: TypeAlias = Annotated[
    Literal["pairwise", "no_interactions"] | Annotated[Any, ArrayLike("of groups of features")] | None,
    "Groups of features (numbers) that may meet on one path from the root; features in no group "
    "form one more. ``'no_interactions'``: each feature alone. ``'pairwise'``: every pair.",
]
Exact: TypeAlias = Annotated[
    bool,
    "Scan the sorted values themselves instead of at most ``max_bins`` bins: slower, and different only where a "
    "feature has more distinct values than bins.",
]
MaxBins: TypeAlias = Annotated[
    int,
    Interval(2, 255),
    "The most bins of a numeric feature. A feature with no more distinct values than this is represented exactly.",
]

# --- data ----------------------------------------------------------------------------------------------------

ClassWeight: TypeAlias = Annotated[
    Mapping[Any, float] | Sequence[Mapping[Any, float]] | Literal["balanced"] | None,
    "Weights of the classes, multiplied with the sample weights: a dict from class to weight, ``'balanced'`` for "
    "weights in inverse proportion to the weight of each class, and a list of these for several outputs.",
]
CategoricalFeatures: TypeAlias = Annotated[
    Literal["from_dtype"] | Annotated[Any, ArrayLike("of indices, names or a mask")] | None,
    "Which features are categories. ``'from_dtype'``: those whose column holds a categorical type, or strings that "
    "are no free text. An array names them by index, by name or by a mask. None: no feature is.",
]
Unseen: TypeAlias = Annotated[
    Literal["missing", "error"],
    "What a category that did not occur in training is at prediction: a missing value, or an error.",
]
TextColumns: TypeAlias = Annotated[
    Sequence[str] | Sequence[int] | Literal["auto"] | None,
    "Columns of free text, by name or number: their length and up to 30 topics of their words become features. "
    "``'auto'``: strings without a categorical type, at least half of them distinct, these of three words or more on "
    "average. None: strings are categories.",
]

MemberTextColumns: TypeAlias = Annotated[
    Sequence[str] | Sequence[int] | Literal["auto"] | None,
    "Columns of free text, by name or number, for all members that have this parameter too (of a stack: those of its "
    "first layer). ``'auto'``: as each of them has it, by default strings that look like text. None: strings are "
    "categories.",
]

# --- ensembles -----------------------------------------------------------------------------------------------

NEstimators: TypeAlias = Annotated[
    int,
    Interval(1, None),
    "How many members the ensemble has; with ``oob_patience``, the most that it may have.",
]
ClassBootstrap: TypeAlias = Annotated[
    bool | Literal["balanced", "stratified", "group"],
    "How the rows of a member are drawn. True: with replacement, the chance of a row proportional to its weight; "
    "there are as many rows as the weights amount to in the unit that they share. False: no drawing, the "
    "weights go to the members. ``'balanced'``: as many rows of each class as the smallest class has. "
    "``'stratified'``: of each class as many as it has. ``'group'``: whole groups, which `fit` is given.",
]
ValueBootstrap: TypeAlias = Annotated[
    bool | Literal["group"],
    "How the rows of a member are drawn. True: with replacement, the chance of a row proportional to its weight; "
    "there are as many rows as the weights amount to in the unit that they share. False: no drawing, the "
    "weights go to the members. ``'group'``: whole groups, which `fit` is given.",
]
MaxSamples: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)] | Annotated[float, Interval(0.0, None, closed="neither")] | None,
    "How many rows (or groups) are drawn for each member: a number, a fraction, or all (None).",
]
OobScore: TypeAlias = Annotated[
    bool | Callable[..., float] | str,
    "Whether to judge every row by the members that did not see it. True scores with accuracy or R²; a function of "
    "the true and the predicted target, or the name of one of scikit-learn's scorers, scores with that. Larger must "
    "be better. Rows count by their weight; a function is given them if it has the parameter ``sample_weight``.",
]
SurvivalOobScore: TypeAlias = Annotated[
    bool | Callable[..., float],
    "Whether to judge every row by the members that did not see it. True scores with the concordance; a function of "
    "the survival target and the risks scores with that. Larger must be better. Rows count by their weight; a function "
    "is given them if it has the parameter ``sample_weight``.",
]
OobTol: TypeAlias = Annotated[
    float,
    Interval(0.0, None),
    "An out-of-bag score is better than another only if it is by more than this.",
]
OobPatience: TypeAlias = Annotated[
    int | None,
    Interval(1, None),
    Hint("None grows all members."),
    "Stop growing when this many members have come without a better out-of-bag score. None: grow all.",
]
ForestEngine: TypeAlias = Annotated[
    Literal["cpu", "gpu", "auto"],
    "Where the trees are grown; they are the same to the bit. ``'gpu'``: on a CUDA device, with CuPy; an error where "
    "there is none, or where the GPU engine does not support what the fit asks of it. ``'auto'``: there if rows and "
    'trees are many, a device is there and supports it, else on the CPU; the logger "committee" says which.',
]
Calibration: TypeAlias = Annotated[
    Literal["isotonic", "sigmoid"] | None,
    "Calibrate the probabilities on the out-of-bag predictions of the training rows: by isotonic regression, by "
    "Platt's sigmoid, or not at all (None).",
]
KeepLeafSamples: TypeAlias = Annotated[
    bool,
    "Whether to keep which training rows are in which leaf, as `predict_quantiles` needs: about 12 bytes for each "
    "row and tree.",
]
WarmStart: TypeAlias = Annotated[
    bool,
    "Whether `fit` keeps the members of the last fit and only adds those that are missing.",
]
CrossValidation: TypeAlias = Annotated[
    Annotated[int, Interval(2, None)]
    | Annotated[Any, HasMethods("split", "get_n_splits")]
    | Annotated[Any, ArrayLike("of (train, test) pairs")]
    | None,
    "The folds, where any are needed: a number of them (stratified for classes, groups kept together where `fit` is "
    "given groups), a splitter of scikit-learn, or pairs of training and left-out rows. None: five folds.",
]
ForestClassWeight: TypeAlias = Annotated[
    Mapping[Any, float] | Sequence[Mapping[Any, float]] | Literal["balanced", "balanced_subsample"] | None,
    "Weights of the classes, multiplied with the sample weights: a dict from class to weight, ``'balanced'`` for "
    "weights in inverse proportion to the weight of each class, ``'balanced_subsample'`` for the same from each "
    "member's own sample, and a list of dicts for several outputs.",
]

TreeCount: TypeAlias = Annotated[
    int,
    Interval(1, None),
    "How many trees the forest has.",
]
IsolationRows: TypeAlias = Annotated[
    Literal["auto"] | Annotated[int, Interval(1, None)] | Annotated[float, Interval(0.0, 1.0, closed="right")],
    "How many rows are drawn for each tree: a number, a fraction, or ``'auto'`` for 256; at most all of them.",
]
Contamination: TypeAlias = Annotated[
    Literal["auto"] | Annotated[float, Interval(0.0, 0.5, closed="right")],
    "The share of anomalies among the training rows, which decides from which score on `predict` calls a row one. "
    "``'auto'``: from -0.5 on, as in the paper.",
]
TreeFeatures: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)] | Annotated[float, Interval(0.0, 1.0, closed="right")],
    "How many features are drawn for each tree: a number or a fraction.",
]
SparseOutput: TypeAlias = Annotated[
    bool,
    "Whether the result is a sparse matrix rather than an array.",
]
RowBootstrap: TypeAlias = Annotated[
    bool,
    "Whether rows are drawn with replacement.",
]

# --- boosting ------------------------------------------------------------------------------------------------

LearningRate: TypeAlias = Annotated[
    float,
    Interval(0.0, None, closed="neither"),
    "The factor that every member is multiplied by before it is added: smaller steps need more rounds and generalise "
    "better.",
]
MaxIter: TypeAlias = Annotated[
    int,
    Interval(1, None),
    "The most rounds; each adds one tree, or one for each of more than two classes.",
]
FeatureShare: TypeAlias = Annotated[
    float,
    Interval(0.0, 1.0, closed="right"),
    "Share of the features that are drawn as candidates at each node.",
]
BoostingScoring: TypeAlias = Annotated[
    str | Callable[..., float] | None,
    "The score that early stopping looks at: ``'loss'``, the name of one of scikit-learn's scorers, a function of a "
    "model, rows and their target that is larger for better models, or None for the estimator's own `score`.",
]
ValidationFraction: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, 1.0, closed="neither")] | Annotated[int, Interval(1, None)] | None,
    "Share or number of the rows that are held out for early stopping; None: the training rows are looked at.",
]
HoldOutFraction: TypeAlias = Annotated[
    float,
    Interval(0.0, 1.0, closed="neither"),
    "Fraction of the rows that are held out as the validation set, with ``n_iter_no_change``.",
]
NIterNoChange: TypeAlias = Annotated[
    int,
    Interval(1, None),
    "Stop when this many rounds have come without a score that is better by more than ``tol``.",
]
StoppingTol: TypeAlias = Annotated[
    float,
    Interval(0.0, None),
    "A score is better than another only if it is by more than this.",
]
LogLoss: TypeAlias = Annotated[
    Literal["log_loss"],
    "The loss that is made small: binary or multinomial deviance.",
]
MinSamplesLeafCount: TypeAlias = Annotated[
    int,
    Interval(1, None),
    "The fewest rows that each side of a split must keep.",
]
L2Regularization: TypeAlias = Annotated[
    float,
    Interval(0.0, None),
    "Added to the sum of second derivatives of every leaf, which draws its value towards zero.",
]
QuantileLevel: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, 1.0)] | Sequence[float] | None,
    "The quantile that is fitted, with ``loss='quantile'``; a list of them, ascending, is learnt together, and their "
    "predictions never cross.",
]

# --- running -------------------------------------------------------------------------------------------------

RandomState: TypeAlias = Annotated[
    int | np.random.RandomState | np.random.Generator | None,
    Interval(0, 2**32 - 1),
    "The seed of all randomness, or a generator to draw it from. With a fixed number the result is the same to the "
    "last bit, whatever the number of threads. None: another result each time.",
]
TreeRandomState: TypeAlias = Annotated[
    int | np.random.RandomState | np.random.Generator | None,
    Interval(0, 2**64 - 1),
    "The seed of all randomness, or a generator to draw it from. With a fixed number the result is the same to the "
    "last bit, whatever the number of threads. None: another result each time. A member of a forest has a number that "
    "grows it again.",
]
JobCount: TypeAlias = Annotated[int, Interval(None, -1)] | Annotated[int, Interval(1, None)] | None
"""What every ``n_jobs`` may be."""
NJobs: TypeAlias = Annotated[
    JobCount,
    Hint("None lets the library decide."),
    "Threads to use. None: as many as the amount of work justifies, at most the cores this process may use; -1: all of "
    "these, -2: all but one, and so on.",
]
Verbose: TypeAlias = Annotated[
    Annotated[int, Interval(0, None)] | bool,
    "Verbosity while fitting; 0 is silent.",
]
