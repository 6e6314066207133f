"""The scoreboard on what is at hand of the paper's data."""

import pytest

from ethomarkov.paper.data import PaperData, find_paper_data
from ethomarkov.paper.published import GAINS, N_WORMS
from ethomarkov.paper.reproduce import reproduce_paper

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def paper_data(request):
    find = request.getfixturevalue("shared_data")
    for name in ("worm6.npz", "centroids_12_worms.npz", "paper_entropy_scan.npz", "eigenworms.csv"):
        folder = find(name).parent
    return find_paper_data(folder)


@pytest.fixture(scope="module")
def rows(paper_data):
    """All that needs no study."""
    known = PaperData(paths=paper_data.paths, scan=paper_data.scan, lags=paper_data.lags)
    return {row.published.key: row for row in reproduce_paper(known).rows}


def test_what_is_there(paper_data):
    assert paper_data.worms == (6,)
    assert paper_data.paths.segments.n_individuals == N_WORMS
    assert paper_data.scan is not None
    assert paper_data.lags is not None


@pytest.mark.parametrize("what", ["slope", "speed", "MSD 1 s", "MSD 10 s", "MSD 60 s", "MSD 100 s"])
def test_paths_of_all_twelve_worms_agree(rows, what):
    """To all digits printed, but for one: the slope of worm 0 is 0.33884 here and 0.3387 there."""
    judged = {worm: rows[f"worm {worm} {what}"] for worm in range(N_WORMS)}
    wrong = {worm: row.reason for worm, row in judged.items() if row.verdict != "agrees"}
    assert wrong == ({0: "by the digits printed: +0.042 %"} if what == "slope" else {})


def test_choices_from_the_published_tables(rows):
    assert rows["N*"].verdict == "agrees"
    assert {rows[f"gain K={n_delays}"].verdict for n_delays in GAINS} == {"agrees"}


def test_choices_that_the_paper_made_by_eye(rows):
    """Its text finds that six frames are enough and takes eleven; its lag is before the plateau. Ours follow a rule."""
    assert (rows["K*"].ours.estimate, rows["K*"].verdict) == (5, "differs")
    assert rows["tau*"].ours.estimate == pytest.approx(17 / 16)
    assert rows["tau*"].verdict == "differs"
