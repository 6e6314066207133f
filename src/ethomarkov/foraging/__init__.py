"""What a path finds: the area that a body sweeps, and the food in it."""

from ethomarkov.foraging.coverage import Coverage, Footprint, SweepSettings, footprints, measure_coverage
from ethomarkov.foraging.food import (
    Annulus,
    Disc,
    FoodCurve,
    Matching,
    Patches,
    StateCoverage,
    cover_states,
    first_encounter,
    food_curve,
    match_time,
    share_found,
)

__all__ = [
    "Annulus",
    "Coverage",
    "Disc",
    "FoodCurve",
    "Footprint",
    "Matching",
    "Patches",
    "StateCoverage",
    "SweepSettings",
    "cover_states",
    "first_encounter",
    "food_curve",
    "footprints",
    "match_time",
    "measure_coverage",
    "share_found",
]
