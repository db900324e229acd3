"""The committee that puts itself together: a portfolio of members, chosen and weighed by what they said out of fold."""

from committee.automatic.estimators import CommitteeClassifier, CommitteeRegressor

__all__ = ["CommitteeClassifier", "CommitteeRegressor"]
