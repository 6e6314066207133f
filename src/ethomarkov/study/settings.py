"""Settings of a study. Nothing numerical is imported here: the help of the command line reads them too."""

import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ethomarkov._core.notes import field_notes
from ethomarkov.exceptions import InputFormatError
from ethomarkov.study.checked import CheckedSettings

if TYPE_CHECKING:
    from ethomarkov.selection import ModelChoice

SETTINGS_FILE = "settings.toml"
LARGEST_COUNT, LARGEST_SEED, LARGEST_NUMBER = 1_000_000, 2**63 - 1, 1e9
MOST_SIMULATED_MINUTES = 100_000
LARGEST_SETTINGS_FILE, LONGEST_LINE = 1_000_000, 5000

ADVANCED = "Advanced settings"
"""Heading of options that few people need."""


@dataclass(frozen=True, slots=True)
class Option:
    """How a setting is given on the command line.

    Parameters
    ----------
    name
        Of the option, without dashes; as the setting itself by default.
    group
        Heading in the help under which it stands.
    """

    name: str = ""
    group: str = "Model"


Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
CountOrNone = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
States = Annotated[int, Field(ge=2, le=LARGEST_COUNT)]
Positive = Annotated[float, Field(gt=0, le=LARGEST_NUMBER)]


class Settings(CheckedSettings):
    """All choices of a study; what is None is chosen from the data.

    Parameters
    ----------
    n_modes
        Posture modes.
    n_delays
        Frames per posture sequence, K; chosen from the recordings by default, see `ethomarkov choose`.
    n_states
        Microstates, N; chosen from the recordings by default.
    lag
        Lag of the chain, τ, in seconds; chosen from the recordings by default.
    min_measure
        Share of its parent's time that a state must hold to be divided from it.
    n_behaviours
        States at the finest level of the tree of states; by default as many as the recordings support. Fewer where no
        state can be divided any more.
    n_resamples
        Bootstrap resamples of animals that measure the stability of the states.
    cut
        How states are divided: "best", or "paper" as published; see `GrowthSettings`.
    partition
        How microstates are estimated: "lloyd", or "minibatch" as published; see `Partition`.
    names
        New names of states, from those that the study would give.
    n_walks
        Simulated animals.
    simulated_minutes
        Duration of each simulated animal.
    simulation_lag
        Step of simulated animals, in seconds; by default chosen by held-out prediction, and with the published
        unfolding the lag of the chain.
    simulation_passage
        Seconds for which simulated animals follow a recording at a time, of which a whole number makes a step; chosen
        with the step by default, and as long as a step that was set.
    unfolding
        How simulated microstates become postures: "matched", or "paper" as published; see `unfold_postures`.
    drag_ratio
        Normal over tangential drag of the body, α.
    scheme
        Integration of the path: "midpoint", or "paper" as published; see `propel`.
    scan
        Measure the published entropy rates over sequence lengths and numbers of microstates.
    seed
        Random seed of the whole study; the same seed gives the same result.

    Examples
    --------
    >>> settings = Settings(lag=0.5, n_states=100)
    >>> settings.lag, settings.n_delays is None, settings.is_complete
    (0.5, True, False)
    >>> Settings.paper().n_delays
    11
    """

    n_modes: Annotated[Count, Option("modes")] = 5
    n_delays: Annotated[Count | None, Option("delays")] = None
    n_states: Annotated[States | None, Option("microstates")] = None
    lag: Annotated[Positive | None, Option()] = None
    min_measure: Annotated[float, Field(ge=0, lt=0.5), Option(group=ADVANCED)] = 0.02
    n_behaviours: Annotated[States | None, Option("states")] = None
    n_resamples: Annotated[CountOrNone, Option("resamples", ADVANCED)] = 12
    cut: Annotated[Literal["best", "paper"], Option(group=ADVANCED)] = "best"
    partition: Annotated[Literal["lloyd", "minibatch"], Option(group=ADVANCED)] = "lloyd"
    names: dict[str, str] = Field(default_factory=dict)
    n_walks: Annotated[Count, Option("walks")] = 20
    simulated_minutes: Annotated[Positive, Option()] = 10.0
    simulation_lag: Annotated[Positive | None, Option(group=ADVANCED)] = None
    simulation_passage: Annotated[Positive | None, Option(group=ADVANCED)] = None
    unfolding: Annotated[Literal["matched", "paper"], Option(group=ADVANCED)] = "matched"
    drag_ratio: Annotated[Positive, Option()] = 30.0
    scheme: Annotated[Literal["midpoint", "paper"], Option(group=ADVANCED)] = "midpoint"
    scan: Annotated[bool, Option()] = True
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0

    @model_validator(mode="after")
    def _simulate_what_fits_into_memory(self) -> Self:
        minutes = self.n_walks * self.simulated_minutes
        if minutes > MOST_SIMULATED_MINUTES:
            raise ValueError(
                f"n_walks and simulated_minutes ask for {minutes:,.0f} simulated minutes; at most "
                f"{MOST_SIMULATED_MINUTES:,} are possible"
            )
        return self

    @classmethod
    def paper(cls) -> "Settings":
        """Give the published choices: eleven frames, 1000 microstates from mini-batches, 0.75 s, the published cut."""
        return cls(
            n_modes=5,
            n_delays=11,
            n_states=1000,
            lag=0.75,
            min_measure=0.0,
            n_behaviours=7,
            cut="paper",
            partition="minibatch",
            unfolding="paper",
            drag_ratio=30.0,
            scheme="paper",
        )

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be chosen from the data."""
        return None not in (self.n_delays, self.n_states, self.lag)

    def complete(self, choice: "ModelChoice") -> "CompleteSettings":
        """Fill in what was chosen from the data."""
        chosen = {"n_delays": choice.n_delays, "n_states": choice.n_states, "lag": choice.lag}
        return CompleteSettings.model_validate(self.model_dump() | chosen)


class CompleteSettings(Settings):
    """Settings with nothing left to be chosen from the data.

    Examples
    --------
    >>> CompleteSettings(n_delays=4, n_states=100, lag=0.5).is_complete
    True
    """

    n_delays: Count
    n_states: States
    lag: Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """Settings as they stand in a file, not checked yet.

    Parameters
    ----------
    path
        Of the file.
    values
        What it says.
    text
        As it was written, to tell in which line something stands.
    """

    path: Path
    values: dict[str, Any]
    text: str

    def place(self, names: Sequence[str | int]) -> str:
        """Tell file and line of a setting, as editors and compilers do."""
        line = _line_of(self.text, [str(name) for name in names])
        return f"{self.path}:{line}" if line else str(self.path)


def read_settings(file: Path) -> SettingsFile:
    """Read settings from a TOML file; they are checked when a study begins."""
    from ethomarkov.io.limits import check_regular

    try:
        check_regular(file)
        if file.stat().st_size > LARGEST_SETTINGS_FILE:
            raise InputFormatError("is larger than a megabyte")
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, InputFormatError) as error:
        reason = str(error).removeprefix(f"{file}: ").rstrip(".")
        raise InputFormatError(f"{file}: cannot be read as a file of settings ({reason}). Name a TOML file.") from error
    return SettingsFile(path=file, values=_parse(file, text), text=text)


def _parse(file: Path, text: str) -> dict[str, Any]:
    if any(len(line) > LONGEST_LINE for line in text.splitlines()):  # a.a.a… costs the square of its length
        raise InputFormatError(f"{file}: has a line of more than {LONGEST_LINE} characters. Correct it there.")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also about numbers of thousands of digits
        raise InputFormatError(f"{file}: is not valid TOML: {error}. Correct it there.") from error
    except RecursionError as error:
        raise InputFormatError(f"{file}: its values are nested too deeply for settings. Correct it there.") from error


def _line_of(text: str, names: Sequence[str]) -> int:
    """Find the line in which a setting stands, or its section; 0 where neither is found."""
    section, best = "", 0
    wanted = (".".join(names[:-1]), names[-1])
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
            section = header[1].strip("\"'")
            best = number if section == names[0] else best
        elif entry := re.match(r"\s*(\"[^\"]*\"|'[^']*'|[\w-]+)\s*=", line):
            name = entry[1].strip("\"'")
            if (section, name) == wanted:
                return number
            best = number if not section and name == names[0] else best
    return best


def write_settings(path: Path, settings: Settings) -> None:
    """Write all settings into a TOML file, each with what it is, defaults included.

    Parameters
    ----------
    path
        Of the file, which `read_settings` reads.
    settings
        To be written; what is None is left out, since TOML has no word for it.
    """
    from ethomarkov.io.atomic import atomic_path

    explained = field_notes(Settings)
    lines = [
        "# All settings of this study. Run it again with: ethomarkov run FILES --out DIRECTORY --settings THIS FILE"
    ]
    tables = []
    for name, value in settings.model_dump().items():
        if isinstance(value, dict):
            rows = [f"{_toml(key)} = {_toml(item)}" for key, item in value.items()]
            tables += ["", f"# {explained[name]}", f"[{name}]", *rows]
        elif value is not None:
            lines += ["", f"# {explained[name]}", f"{name} = {_toml(value)}"]
    with atomic_path(path) as temporary:
        temporary.write_text("\n".join([*lines, *tables]) + "\n", encoding="utf-8")


def _toml(value: object) -> str:
    """Write a value as TOML does; its strings are those of JSON."""
    return json.dumps(value, ensure_ascii=False)
