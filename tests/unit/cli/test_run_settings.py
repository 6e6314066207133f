"""Settings of the command line over those of a file."""

import pytest

from ethomarkov.cli.commands import run as command
from ethomarkov.cli.commands.run import ModelOptions
from ethomarkov.cli.options import RunningOptions
from ethomarkov.exceptions import InputFormatError
from ethomarkov.study import Settings


@pytest.fixture
def chosen(monkeypatch, tmp_path):
    """Give ``chosen(text, seed=, **options)``: the settings with which a study would begin."""

    def choose(text, seed=None, **options):
        file = tmp_path / "settings.toml"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        seen = []
        monkeypatch.setattr(command, "read_recordings", lambda *_: None)
        monkeypatch.setattr("ethomarkov.study.study.plan_study", lambda *_, **__: [])
        monkeypatch.setattr("ethomarkov.study.study.run_study", lambda _, settings, **__: seen.append(settings))
        monkeypatch.setattr("ethomarkov.cli.outcome.write_outcome", lambda *_: None)
        monkeypatch.setattr("ethomarkov.cli.outcome.print_outcome", lambda *_: None)
        command.run(
            (tmp_path / "none.nc",),
            out=tmp_path,
            settings=file,
            model=ModelOptions(**options),
            running=RunningOptions(seed=seed, threads=1, quiet=True),
        )
        return seen[0]

    return choose


FILED = "n_modes = 4\nn_states = 321\nlag = 0.5\nn_walks = 7\nscan = false\ndrag_ratio = 12.0\n"


def test_an_empty_file_says_nothing(chosen):
    assert chosen("").model_dump() == Settings().model_dump()


def test_what_was_said_wins_over_what_was_filed(chosen):
    found = chosen(FILED, n_states=50, scan=True, drag_ratio=30.0, lag=0.25)
    assert (found.n_states, found.scan, found.drag_ratio, found.lag) == (50, True, 30.0, 0.25)
    assert (found.n_modes, found.n_walks) == (4, 7)


@pytest.mark.parametrize(
    ("text", "said", "seed"), [("seed = 5", None, 5), ("seed = 5", 0, 0), ("seed = 5", 8, 8), ("", 8, 8), ("", None, 0)]
)
def test_the_seed(chosen, text, said, seed):
    assert chosen(text, seed=said).seed == seed


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n_state = 10", "there is no setting 'n_state'; did you mean n_states?"),
        ("drag_ration = 3", "did you mean drag_ratio?"),
        ("xyzzy = 1", "there is no setting 'xyzzy'; there are n_modes, "),
        ("n_states = 1", "n_states is 1: "),
        ("n_states = 'many'", "n_states is many: "),
        ("n_states = 2.5", "n_states is 2.5: "),
        ("lag = nan", "lag is nan: "),
        ("lag = -1", "lag is -1: "),
        ("scheme = 'papr'", "scheme is papr: "),
        ("seed = -1", "seed is -1: "),
        ("names = 'run'", "names is run: "),
        ("[names]\nrun = 3", "names is 3: "),
        ("[n_states]\na = 1", "n_states is "),
    ],
)
def test_wrong_settings_are_named_with_the_file(chosen, text, words):
    with pytest.raises(InputFormatError) as caught:
        chosen(text)
    message = str(caught.value)
    assert message.count("\n") == 0
    assert f"settings.toml:{2 if text.startswith('[names]') else 1}: " in message
    assert words in message


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("n_modes = 5\n\n# n_state = 1\nn_state = 10", "settings.toml:4: there is no setting 'n_state'"),
        ("n_modes = 5\n[names]\nrun = 'a'\n'slow dorsal' = 3", "settings.toml:4: names is 3"),
        ("names = { run = 3 }", "settings.toml:1: names is 3"),
        ("n_modes = 5\n[cluster]\nqueue = 'short'\nmemry = '4GB'", "settings.toml:4: there is no setting 'memry'; did"),
        ("[clustr]\nqueue = 'short'", "settings.toml:1: there is no setting 'clustr'; did you mean cluster?"),
        ("n_modes = 5\ncluster = 3", "settings.toml:2: cluster is 3"),
    ],
)
def test_the_line_of_a_mistake_is_told(chosen, text, place):
    with pytest.raises(InputFormatError) as caught:
        chosen(text)
    assert place in str(caught.value)


def test_all_problems_at_once(chosen):
    with pytest.raises(InputFormatError, match=r"n_states is 1: .*; .*did you mean lag\?"):
        chosen("n_states = 1\nlags = 1")


def test_an_option_is_named_as_it_was_given(chosen):
    with pytest.raises(InputFormatError, match="--simulated-minutes is 0"):
        chosen("n_states = 10", simulated_minutes=0.0)
    with pytest.raises(InputFormatError, match="--microstates is 1"):
        chosen("n_states = 10", n_states=1)
