"""Where the work of a command is done."""

import pytest

from ethomarkov._core import parallel
from ethomarkov.cli.options import RunningOptions
from ethomarkov.cli.work import at_work
from ethomarkov.exceptions import InputFormatError
from ethomarkov.study.cluster_settings import ClusterSettings


def test_here_by_default():
    with at_work(RunningOptions(threads=3)) as threads:
        assert threads == 3
        assert parallel._workers.get() is None


def test_the_cluster_gets_settings_and_threads(monkeypatch):
    asked = []

    class Opened:
        def __init__(self, *args, **options):
            asked.append((*args, options))

        def __enter__(self):
            asked.append("open")

        def __exit__(self, *error):
            asked.append("closed")

    monkeypatch.setattr("ethomarkov.study.cluster.cluster", Opened)
    settings = ClusterSettings(workers=2)
    with at_work(RunningOptions(threads=1, cluster="local"), settings) as threads:
        assert threads == 1
        assert asked == [("local", settings, {"threads": 1}), "open"]
    assert asked[-1] == "closed"


def test_a_wrong_place_is_refused_before_anything_is_read():
    with pytest.raises(InputFormatError, match="Did you mean slurm"):
        RunningOptions(cluster="slrum")


def test_a_wrong_place_ends_with_one_message(cli, tmp_path):
    code, out, err = cli("map", tmp_path / "absent", "--cluster", "slrum")
    assert code == 2
    assert "Did you mean slurm?" in err
    assert "Traceback" not in out + err
