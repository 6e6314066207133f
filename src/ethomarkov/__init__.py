"""Predictive Markov models of animal behaviour across scales."""

__version__ = "0.1.0"
