"""Constructor parameters of the searches, declared once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from committee.params import CrossValidation, HasMethods, Interval

__all__ = [
    "CandidateCount",
    "ErrorScore",
    "Factor",
    "ParamDistributions",
    "Resource",
    "SearchBins",
    "SearchBudget",
    "SearchCallbacks",
    "SearchCv",
    "SearchFinal",
    "SearchJobs",
    "SearchRefit",
    "SearchScoring",
    "SearchedEstimator",
    "WinnerEstimate",
]

SearchedEstimator: TypeAlias = Annotated[
    Any,
    HasMethods("fit"),
    "What is tuned: an estimator of this library, a pipeline around one, or any other estimator of scikit-learn's "
    "interface. It is the first candidate as it is, and stays in the search to the end.",
]
ParamDistributions: TypeAlias = Annotated[
    Mapping[str, Any] | None,
    "Names of parameters, with lists of values or distributions (`RealRange`, `IntegerRange`, those of scipy.stats). "
    "None: `default_space`.",
]
CandidateCount: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)] | None,
    "The number of candidates, the estimator as given among them. None: as many as the budget allows, or 30 without "
    "a budget.",
]
SearchScoring: TypeAlias = Annotated[
    Any,
    "The metric: the name of one of scikit-learn's scorers, a scorer, or several as a list or a dict. None: the "
    "estimator's own `score`.",
]
SearchCv: TypeAlias = Annotated[
    CrossValidation | Literal["oob"],
    "The folds: a number (None is five; stratified for classes, groups kept together where `fit` is given groups), a "
    "splitter of scikit-learn (`TimeSeriesSplit` for time), or pairs of training and test rows. ``'oob'``: bags and "
    "forests of this library are fitted once, on all rows, and scored by their out-of-bag predictions.",
]
SearchRefit: TypeAlias = Annotated[
    bool | str,
    "Whether the winner is fitted on all rows at the end; with several metrics, the name of the one that decides.",
]
SearchFinal: TypeAlias = Annotated[
    Literal["refit", "folds"],
    "What ``best_estimator_`` is. ``'refit'``: the winner, fitted once more on all rows. ``'folds'``: the mean of its "
    "models in the folds, which are fitted already. Mostly more accurate than one model, with the size and the "
    "prediction time of as many models as there are folds.",
]
SearchBudget: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None, closed="neither")] | None,
    "Seconds that `fit` may take. No fit is begun that would, by the time of those before, end after it; the last fit "
    "of the winner is part of it. The first candidate is always begun. None: no limit.",
]
SearchBins: TypeAlias = Annotated[
    Literal["shared", "fold"],
    "Where the bins of numeric columns come from. ``'shared'``: from all rows, once for all folds and candidates; the "
    "test rows of a fold have a part in where bins end, though not in what is learnt from them. ``'fold'``: from the "
    "training rows of each fold, once for all candidates.",
]
SearchJobs: TypeAlias = Annotated[
    Annotated[int, Interval(None, -1)] | Annotated[int, Interval(1, None)] | None,
    "Number of fits at a time, of folds and candidates; the result does not depend on it. None: one, which uses all "
    "cores by itself.",
]
ErrorScore: TypeAlias = Annotated[
    Any,
    "Score of a candidate whose fit fails, after a warning; ``'raise'`` raises the error.",
]
WinnerEstimate: TypeAlias = Annotated[
    Literal["bootstrap"] | None,
    "How the score of the winner on new rows is estimated, see ``honest_score_``. ``'bootstrap'``: by bootstrap bias "
    "corrected cross-validation, without further fits. None: not at all.",
]
SearchCallbacks: TypeAlias = Annotated[
    Sequence[Callable[[Any], Any]] | None,
    "Called after each evaluation of a candidate with a `SearchReport`; the search ends if one returns True.",
]
Resource: TypeAlias = Annotated[
    Literal["auto", "members", "rows"],
    "What grows from stage to stage. ``'members'``: rounds or trees, by warm starts. ``'rows'``: the fraction of the "
    "training rows. ``'auto'``: members where the estimator has them.",
]
Factor: TypeAlias = Annotated[
    float,
    Interval(1.1, None),
    "By how much the resource grows from stage to stage, and the number of candidates falls; the closer to 1, the more "
    "stages there are.",
]
