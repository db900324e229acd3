"""Searches for the parameters of an estimator, with the interface of scikit-learn's, on one set of bins."""

from committee.search.default_spaces import default_space
from committee.search.run import SearchReport
from committee.search.searches import HalvingSearch, RandomSearch, TPESearch
from committee.search.space import IntegerRange, RealRange
from committee.search.threshold import TunedThreshold

__all__ = [
    "HalvingSearch",
    "IntegerRange",
    "RandomSearch",
    "RealRange",
    "SearchReport",
    "TPESearch",
    "TunedThreshold",
    "default_space",
]
