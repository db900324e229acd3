"""Parameters of additive models."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from committee.params import ArrayLike, Interval

__all__ = [
    "AdditiveLearningRate",
    "AdditivePatience",
    "AdditiveTol",
    "AdditiveValueLoss",
    "CycleCount",
    "FineBins",
    "HeldOutShare",
    "InteractionBins",
    "OuterBags",
    "PairChoice",
    "SmoothCycles",
    "StepLeaves",
    "StopsEarly",
]

AdditiveLearningRate: TypeAlias = Annotated[
    float,
    Interval(0.0, 1.0, closed="right"),
    "The factor that every step is multiplied by. Small steps let features that go together share what they explain.",
]
CycleCount: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)],
    "The most cycles over all features and, after them, over all pairs; in each cycle every term makes one step.",
]
StepLeaves: TypeAlias = Annotated[
    Annotated[int, Interval(2, 255)],
    "Leaves of the tree on the bins of a feature that a step is made of. Steps of pairs have up to four rectangles.",
]
OuterBags: TypeAlias = Annotated[
    Annotated[int, Interval(1, 1000)],
    "Fits that are averaged, each with other rows held out. Their spread is the deviation of a shape table.",
]
PairChoice: TypeAlias = Annotated[
    Annotated[int, Interval(0, None)]
    | Annotated[float, Interval(0.0, None)]
    | Annotated[Any, ArrayLike("of pairs of features")],
    "How many pairs of features become terms: a number, or a float as a multiple of the number of features; those "
    "that explain most of what the features alone leave are chosen, and kept as far as the rows held out confirm "
    "them, or all where most are confirmed. A list of pairs, by numbers or names of columns, names them instead.",
]
FineBins: TypeAlias = Annotated[
    Annotated[int, Interval(2, 65535)],
    "The most bins of a numeric feature alone. A feature with no more distinct values than this is represented "
    "exactly. Tables that are read in blocks have at most 255.",
]
InteractionBins: TypeAlias = Annotated[
    Annotated[int, Interval(2, 128)],
    "The most cells of a feature in pairs. Small tables have fewer, about two rows for each cell of a pair.",
]
HeldOutShare: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, 1.0, closed="neither")],
    "Share of the rows that each outer bag holds out, for early stopping.",
]
SmoothCycles: TypeAlias = Annotated[
    Annotated[int, Interval(0, None)],
    "The most cycles at the start, over the features and a twentieth as many over the pairs, whose steps are means "
    "over all cuts instead of the best one: curves without corners, from which the other cycles go on. They end early "
    "if the loss of the rows held out no longer falls.",
]
StopsEarly: TypeAlias = Annotated[
    bool,
    "Whether each outer bag holds rows out and keeps the tables of the cycle with their least loss. Without, every bag "
    "learns from all rows, so that one bag is enough.",
]
AdditivePatience: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)],
    "An outer bag stops after this many cycles without a smaller loss of the rows that it holds out.",
]
AdditiveTol: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, 1.0)],
    "A loss is smaller than another only if it is by more than this share of the loss without any term.",
]
AdditiveValueLoss: TypeAlias = Annotated[
    Literal["squared_error", "poisson", "gamma"],
    "The loss that is made small: squared error, or the deviance of Poisson or gamma targets, whose predictions are "
    "the exponential of the scores.",
]
