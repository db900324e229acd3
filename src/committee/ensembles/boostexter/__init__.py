"""BoosTexter: AdaBoost.MH on words."""

from committee.ensembles.boostexter.classifier import BoosTexterClassifier

__all__ = ["BoosTexterClassifier"]
