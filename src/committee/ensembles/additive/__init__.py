"""Additive models that can be read: tables of features and of pairs [LouCaruana2012, LouCaruana2013, Nori2019]."""

from committee.ensembles.additive.estimators import ExplainableBoostingClassifier, ExplainableBoostingRegressor

__all__ = ["ExplainableBoostingClassifier", "ExplainableBoostingRegressor"]
