"""`ethomarkov bench`: its table, its file and its refusals."""

import pytest

from ethomarkov.study import Settings
from ethomarkov.study.bench import Bench, Machine, StageCost
from ethomarkov.study.study import KEPT


@pytest.fixture
def asked(monkeypatch):
    """Have `bench_study` tell made-up times at once, and note what it is asked for."""
    calls = []

    def instead(sizes, settings, *, seconds, threads, progress):
        calls.append((sizes, settings.n_states, seconds, threads))
        costs = [
            StageCost(stage=stage, n_frames=n, seconds=per_frame * n / 2, cpu_seconds=per_frame * n, peak_gb=n / 1e5)
            for n in (10_000, 20_000)
            for stage, per_frame in (("even", 1e-3), ("brief", 1e-7))
        ]
        machine = Machine(processor="abacus", cores=2, memory_gb=8.0, system="wood", versions=("Python 3",))
        return Bench(
            machine=machine,
            threads=threads,
            settings=Settings(n_delays=11, lag=0.75, n_states=7),
            costs=tuple(costs),
            first_use_seconds=4.0,
        )

    monkeypatch.setattr("ethomarkov.study.bench.bench_study", instead)
    return calls


def test_table_of_made_up_times(cli, asked, tmp_path):
    file = tmp_path / "deep" / "bench.md"
    code, out, err = cli("bench", "--threads", 2, "--out", file)
    assert (code, err) == (0, "")
    assert asked == [((2, 4, 8), 1000, 2100.0, 2)]
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines[:5] == [
        "| stage | s at 10k | s at 20k | CPU s | peak GB | growth | paper | 10⁶ |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| even | 5.00 | 10.00 | 20.00 | 0.20 | 1.00 | 3 min | 8 min |",  # 201.6 s and 500 s
        "| brief | 0.00 | 0.00 | 0.00 | 0.20 | – | < 1 s | < 1 s |",
        "| all | 5.00 | 10.00 | 20.00 | 0.20 |  | 3 min | 8 min |",
    ]
    for words in ("abacus, 2 cores, 8 GB, wood; Python 3", "up to 4 s", "7 microstates"):
        assert words in "\n".join(lines)
        assert words in out
    assert "403,200 frames (the paper): about 3 min and 4.0 GB." in out
    assert "1,000,000 frames: about 8 min and 10.0 GB." in out
    assert list(file.parent.iterdir()) == [file]


def test_sizes_can_be_chosen(cli, asked):
    assert cli("bench", "--quick")[0] == 0
    assert cli("bench", "--worms", 1, 2, "--minutes", 3, "--microstates", 50)[0] == 0
    quick, chosen = asked
    assert quick[:3] == ((2, 4), 1000, 1200.0)
    assert chosen[:3] == ((1, 2), 50, 180.0)


def test_bench_is_quiet_when_asked(cli, asked):
    assert cli("bench", "--quiet") == (0, "", "")
    assert len(asked) == 1


@pytest.mark.slow
def test_bench_of_tiny_studies(cli):
    code, out, err = cli("bench", "--worms", 1, 2, "--minutes", 1, "--microstates", 12, "--threads", 1)
    assert (code, err) == (0, "")
    for words in (*(stage.name for stage in KEPT), "growth", "960, 1,920 frames", "403,200 frames"):
        assert words in out


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--minutes", "0"), "--minutes"),
        (("--minutes", "nan"), "--minutes"),
        (("--microstates", "1"), "--microstates"),
        (("--cluster", "local"), "--cluster"),
    ],
)
def test_bad_options_of_bench(cli, asked, options, named):
    code, out, err = cli("bench", *options)
    assert code == 2
    assert named in err
    assert "Traceback" not in out + err
    assert asked == []


def test_a_single_size_is_refused(cli):
    code, _, err = cli("bench", "--worms", 3)
    assert code == 2
    assert "two different" in err
