"""The page on notebooks, line by line as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest

import ethomarkov as em

PAGE = Path(__file__).parents[3] / "docs" / "notebook.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def recordings(tmp_path, monkeypatch):
    """Two short recordings in the directory in which the page is tried."""
    import matplotlib.pyplot as plt

    made = em.simulate_worms(2, 120.0, seed=3)
    (tmp_path / "recordings").mkdir()
    for k, name in enumerate(made.recording.individuals):
        em.write_recording(made.recording.select([name]), tmp_path / "recordings" / f"worm{k}.npz")
    np.savetxt(tmp_path / "recordings" / "EigenWorms.csv", made.basis.vectors, delimiter=",")
    monkeypatch.chdir(tmp_path)
    before = plt.get_backend()
    plt.switch_backend("Agg")
    yield tmp_path
    plt.close("all")
    plt.switch_backend(before)


@pytest.mark.slow
def test_every_line_runs(recordings):
    assert len(BLOCKS) >= 8
    known: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), known)
    assert known["study"].names(2)[0] == "crawling"
    assert (known["states"] >= 0).sum() == 990
    assert {"state", "duration"} <= set(known["bouts"].columns)
