"""All panels, grouped by what they show; to import this package is to register them."""

from ethomarkov.figures.panels import (
    chain,
    choice,
    foraging,
    kinetics,
    paths,
    postures,
    simulation,
    states,
    validation,
)

__all__ = ["chain", "choice", "foraging", "kinetics", "paths", "postures", "simulation", "states", "validation"]
