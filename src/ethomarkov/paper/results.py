"""Results of a study by name, with what the reproduction of the paper adds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ethomarkov.paper.stages import ALL_STAGES
from ethomarkov.report.results import StudyResults
from ethomarkov.study import Study

FROM_PAPER: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "scan": ("published_scan", lambda result: result),
    "lag_scan": ("worm_relaxation", lambda result: result.lag_scan),
    "noise_floor": ("worm_relaxation", lambda result: result.noise_floor),
    "spectrum": ("worm_relaxation", lambda result: result.spectrum),
}
"""Results that figures ask for, and what the reproduction has for them."""


class PaperResults(StudyResults):
    """Results of a study by name; see `StudyResults`. What the reproduction measured more exactly comes first."""

    def _make(self, name: str) -> Any:  # noqa: ANN401 (any result)
        held = self.study.held(FROM_PAPER[name][0]) if name in FROM_PAPER else None
        return super()._make(name) if held is None else FROM_PAPER[name][1](held)


def open_results(source: Path, **given: Any) -> PaperResults:  # noqa: ANN401
    """Read a study, and what was asked of it when a figure needs it.

    Parameters
    ----------
    source
        Directory of the study, or its file.
    given
        See `StudyResults`.
    """
    return PaperResults(Study.load(source, stages=ALL_STAGES), **given)
