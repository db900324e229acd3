"""The AdaBoost family, and arcing."""

from committee.ensembles.adaboost.arcing import ArcingClassifier
from committee.ensembles.adaboost.classifier import AdaBoostClassifier
from committee.ensembles.adaboost.regressor import AdaBoostRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "ArcingClassifier",
]
