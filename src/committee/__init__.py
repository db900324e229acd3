"""Ensemble learning on one fast engine, behind scikit-learn's interface."""

__version__ = "0.1.0"
