"""How a study came about: versions, settings, inputs, and when, how long and with how much memory each stage ran."""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ethomarkov import __version__
from ethomarkov.io.atomic import atomic_path
from ethomarkov.io.digest import digest
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.workflow.config import Settings
from ethomarkov.workflow.engine import Engine, StageRecord

PROVENANCE_FILE = "provenance.json"


def write_provenance(directory: Path, settings: Settings, engine: Engine, inputs: Mapping[str, object]) -> Path:
    """Write ``provenance.json`` beside a study and return its path.

    It stands beside the study and not in it, because times differ from run to run and the study does not.

    Parameters
    ----------
    directory
        Of the study.
    settings
        With what was chosen from the data.
    engine
        That ran the stages. Those that were taken from before keep the record of the run that computed them.
    inputs
        What went in, as from `recording_inputs`.
    """
    path = directory / PROVENANCE_FILE
    records = _former_records(path) | _on_shelf(engine) | engine.records
    stages = [
        {"kept": name not in engine.records} | asdict(records[name])
        for name, key in engine.keys.items()
        if name in records and records[name].key == key
    ]
    told: dict[str, Any] = {
        "version": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "machine": {"system": platform.platform(), "processor": platform.machine(), "cores": os.cpu_count()},
        "settings": settings.model_dump(),
        "seed": settings.seed,
        "inputs": dict(inputs),
        "stages": stages,
    }
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def recording_inputs(recording: Recording, basis: PostureBasis | None) -> dict[str, object]:
    """Give the fingerprints of a recording and of the posture modes that were given with it."""
    return {
        "recording": digest(recording.dataset),
        "files": str(recording.dataset.attrs.get("source_file", "")),
        "basis": digest(basis),
    }


def _on_shelf(engine: Engine) -> dict[str, StageRecord]:
    return engine.shelf.records(engine.keys) if engine.shelf is not None else {}


def _former_records(path: Path) -> dict[str, StageRecord]:
    """Read the records of the last complete run; none where there is no readable file."""
    try:
        former = json.loads(path.read_text(encoding="utf-8"))["stages"]
        names = StageRecord.__dataclass_fields__
        return {one["stage"]: StageRecord(**{name: one[name] for name in names}) for one in former}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
