"""Constructor parameters of the AutoML estimators, declared once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from committee.automatic.portfolio import PORTFOLIO
from committee.params import CrossValidation, Interval

__all__ = [
    "Combine",
    "CommitteeCv",
    "CommitteeMetric",
    "CommitteeTextColumns",
    "ExtraMembers",
    "MaxLatency",
    "NMembers",
    "Portfolio",
    "PresetName",
    "TimeBudget",
]

PresetName: TypeAlias = Annotated[
    Literal["fast", "balanced", "best"],
    "How much is fitted. ``'fast'``: boosting of at most 120 rounds of rate 0.2 (also of logs), extra-trees and "
    "linear models in two of four folds; up to 1,000 rows the kernel, and all four of two classes or values. "
    "``'balanced'``: the portfolio, five folds; of more than two classes on dense tables of 100 columns and 500,000 "
    "cells or more two of them, with a tenth of the features for a node of boosting. "
    "``'best'``: ten folds, below 2,000 rows three times in other orders, "
    "forests of 500 trees, boosting with random thresholds, from 1,000 rows on boosting and extra-trees of the table "
    "with the sums and differences of its columns (of values and two classes, with two to twelve columns of numbers, "
    "up to 20,000 rows), from 3,000 rows on boosting of symmetric trees and by code of logs, and networks (in three "
    "times ten folds as well; of more than two classes from 300 rows on, and above 1,000 rows a large kernel); from "
    "2,000 rows on a second layer, extra-trees and boosting of the table and the other models' predictions, unless "
    "``portfolio`` or ``n_members`` is given. What a time budget leaves is spent on the folds of up to six orders for "
    "members with weight, unless there are groups, ``cv`` or ``max_latency_us``. "
    "``portfolio`` and ``cv`` take precedence.",
]
ExtraMembers: TypeAlias = Annotated[
    Sequence[tuple[str, Any]] | None,
    "Further models: pairs of a name and an estimator of any library with scikit-learn's interface, which are fitted "
    "in the same folds and weighted with the others, besides ``n_members``. They get the table as numbers: categories "
    "as codes, missing values as NaN, texts as topics; and the classes as indices. A model file holds them through "
    "skops.",
]
MaxLatency: TypeAlias = Annotated[
    float | None,
    Interval(0.0, None, closed="neither"),
    "Microseconds that the members with weight may take together to predict one row, as measured at the end of the "
    "fit; reading the row comes in addition. The result depends on the machine then. None: no limit.",
]
NMembers: TypeAlias = Annotated[
    int | None,
    Interval(1, None),
    "The maximum number of models of the portfolio to fit, in its order; None for all. With this budget alone the "
    "result depends on nothing but data and seed.",
]
TimeBudget: TypeAlias = Annotated[
    float | None,
    Interval(0.0, None, closed="neither"),
    "Seconds in which the fit is expected to end, by the time of a few rounds, trees or rows of each model: rounds of "
    "boosting, trees of forests and epochs of networks become fewer, to at most half of the time that is left while "
    "other models follow, and models that would take too long are left out. A quarter of the budget is kept for a "
    "second layer, where one follows. A few rounds of the first model are always fitted. None: no limit.",
]
CommitteeMetric: TypeAlias = Annotated[
    Callable[..., float] | str | None,
    "The metric to maximise: the name of one of scikit-learn's scorers, or a function of the true and the predicted "
    "target (classes as indices). None: minus the log-loss, or minus the root of the mean squared error.",
]
Combine: TypeAlias = Annotated[
    Literal["selection", "nonnegative"],
    "How members are weighted. ``'selection'``: greedy selection with replacement, by the metric. ``'nonnegative'``: "
    "the convex weights with the least log-loss or squared error, whatever the metric.",
]
Portfolio: TypeAlias = Annotated[
    Sequence[str] | None,
    "Names of the models to fit, in that order. None: all that suit the table: "
    + ", ".join(entry.name for entry in PORTFOLIO)
    + ". Networks, the large kernel, random and symmetric boosting, those of pairs and by code of logs with the preset "
    "``'best'`` only; networks, kernels, neighbours and those of pairs up to 20,000 rows; "
    "models that need a dense table not on sparse tables of over 1e8 cells; those of words if there are texts; of "
    "pairs if two to twelve columns hold numbers; of logs, in place of shallow boosting, if values are positive with a "
    "long tail.",
]
CommitteeTextColumns: TypeAlias = Annotated[
    Sequence[str] | Sequence[int] | Literal["auto"] | None,
    "Columns of free text, by name or number. ``'auto'``: strings, at least half of them distinct, these of three "
    "words or more on average. None: strings are categories. Linear and naive Bayes models of words use the tf-idf "
    "weights of words and bigrams, all others the length and up to 30 topics.",
]
CommitteeCv: TypeAlias = Annotated[
    CrossValidation,
    "The folds. None: five (fewer if a class or the groups are fewer), at random, stratified for classes, groups kept "
    "together; if all rows have the same weight, forests use their out-of-bag predictions instead. Otherwise all "
    "models are fitted in the folds: a number of them, a splitter of scikit-learn, or pairs of training and test rows.",
]
