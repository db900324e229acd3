"""Parameters of AdaBoost and arcing."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from committee.params import HasMethods, Interval

__all__ = [
    "AccuracyPatience",
    "AdaBoostAlgorithm",
    "AdaBoostMember",
    "AdaBoostRegressorMember",
    "AdaBoostRounds",
    "ArcingAlgorithm",
    "ArcingMember",
    "ErrorPower",
    "ErrorThreshold",
    "KeepSampleWeights",
    "RegressorAlgorithm",
    "RegressorLoss",
    "StumpEngine",
    "WeightingMethod",
]

AdaBoostMember: TypeAlias = Annotated[
    Annotated[Any, HasMethods("fit", "predict")] | None,
    "The members: any classifier, cloned for each round (a regressor for ``'gentle'`` and ``'logit'``). None: a stump, "
    "``DecisionTreeClassifier(max_depth=1)`` or ``DecisionTreeRegressor(max_depth=1)``. Trees of "
    "this library share one set of bins; stumps update their histograms from round to round.",
]
AdaBoostRegressorMember: TypeAlias = Annotated[
    Annotated[Any, HasMethods("fit", "predict")] | None,
    "The members: any regressor, cloned for each round. None: ``DecisionTreeRegressor(max_depth=3)``. Trees of this "
    "library share one set of bins.",
]
ArcingMember: TypeAlias = Annotated[
    Annotated[Any, HasMethods("fit", "predict")] | None,
    "The members: any classifier, cloned for each round. None: a full ``DecisionTreeClassifier()``. Trees of this "
    "library share one set of bins.",
]
AdaBoostRounds: TypeAlias = Annotated[
    int,
    Interval(1, None),
    "The maximum number of rounds; boosting ends earlier if a member is perfect or no better than chance.",
]
AdaBoostAlgorithm: TypeAlias = Annotated[
    Literal["discrete", "samme", "samme.r", "real", "gentle", "logit", "SAMME", "SAMME.R"],
    "``'discrete'``: AdaBoost of Freund and Schapire, two classes. ``'samme'``: the same for any number of classes, "
    "with scikit-learn's weights. ``'samme.r'``: members vote with the logarithms of their probabilities. ``'real'``: "
    "with half their log-odds, two classes. ``'gentle'`` and ``'logit'``: members are regressors, fitted to the labels "
    "or to a Newton step on the log-likelihood. ``'SAMME'`` and ``'SAMME.R'`` are scikit-learn's spelling.",
]
RegressorAlgorithm: TypeAlias = Annotated[
    Literal["r2", "rt"],
    "``'r2'``: AdaBoost.R2, by the size of each row's error. ``'rt'``: AdaBoost.RT, by whether the error exceeds "
    "``threshold``.",
]
ArcingAlgorithm: TypeAlias = Annotated[
    Literal["arc-x4", "arc-gv"],
    "``'arc-x4'``: rows are sampled in proportion to 1 + m⁴, m the number of members that misclassified the row, and "
    "all members have equal votes. ``'arc-gv'``: AdaBoost with member weights that increase the smallest margin, two "
    "classes.",
]
RegressorLoss: TypeAlias = Annotated[
    Literal["linear", "square", "exponential"],
    "For ``'r2'``: the loss of a row from its absolute error e, relative to the largest: e, e² or 1 - exp(-e).",
]
ErrorThreshold: TypeAlias = Annotated[
    float,
    Interval(0.0, None, closed="neither"),
    "For ``'rt'``: the error, relative to the absolute value of the target, above which a prediction is wrong.",
]
ErrorPower: TypeAlias = Annotated[
    int, Interval(1, None), "For ``'rt'``: the power of the error that the weights of correct rows are multiplied by."
]
WeightingMethod: TypeAlias = Annotated[
    Literal["reweight", "resample"],
    "How the weights reach a member: as `sample_weight` (``'reweight'``), or through a sample with replacement of as "
    "many rows as there are, drawn in proportion to the weights (``'resample'``), for members that take no weights.",
]
StumpEngine: TypeAlias = Annotated[
    Literal["cpu", "gpu", "auto"],
    "Where stumps are boosted; they are the same to the bit. ``'gpu'``: on a CUDA device, with CuPy; an error where "
    "there is none, or where the members are no stumps. ``'auto'``: there if the table is large, a device is there and "
    'supports it, else on the CPU; the logger "committee" says which.',
]
AccuracyPatience: TypeAlias = Annotated[
    int | None,
    Interval(1, None),
    "Early stopping: stop after this many rounds without a better accuracy on a validation set, and keep the members "
    "up to the best round. The validation set is drawn from the rows, class by class. None: no early stopping.",
]
KeepSampleWeights: TypeAlias = Annotated[
    bool,
    "Whether to keep the row weights that each member was fitted with, as ``sample_weights_trace_``: 8 bytes for each "
    "row and round.",
]
