"""The AutoML estimators: they select, fit and weight the models of a portfolio within a time budget."""

from committee.automatic.estimators import CommitteeClassifier, CommitteeRegressor

__all__ = ["CommitteeClassifier", "CommitteeRegressor"]
