"""How a study came about: versions, settings, inputs, and when, how long and with how much memory each stage ran."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ethomarkov import __version__
from ethomarkov.io.atomic import atomic_path
from ethomarkov.study.graph import Graph
from ethomarkov.study.store import Entry, StageRecord

PROVENANCE_FILE = "provenance.json"


def write_provenance(directory: Path, graph: Graph, entries: Sequence[Entry], inputs: Mapping[str, object]) -> Path:
    """Write ``provenance.json`` beside a study and return its path.

    It stands beside the study and not in it, because times differ from run to run and the study does not.

    Parameters
    ----------
    directory
        Of the study.
    graph
        That ran the stages. Those that were taken from before keep the record of the run that computed them.
    entries
        The stages of the study.
    inputs
        What went in, by name.
    """
    path = directory / PROVENANCE_FILE
    on_disk = graph.store.records(entries) if graph.store is not None else {}
    records = read_records(path) | on_disk | graph.records
    stages = [
        {"kept": one.stage not in graph.records} | asdict(records[one.stage])
        for one in entries
        if one.stage in records and records[one.stage].key == one.key
    ]
    settings = graph.completed()
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


def read_records(path: Path) -> dict[str, StageRecord]:
    """Read the records of the last complete run; none where there is no readable file."""
    try:
        former = json.loads(path.read_text(encoding="utf-8"))["stages"]
        names = StageRecord.__dataclass_fields__
        return {one["stage"]: StageRecord(**{name: one[name] for name in names}) for one in former}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def read_inputs(path: Path) -> dict[str, object]:
    """Read what went into the last complete run; nothing where there is no readable file."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["inputs"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}
