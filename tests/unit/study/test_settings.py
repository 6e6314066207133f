"""Settings in files."""

import os

import pytest

from ethomarkov.exceptions import InputFormatError, SettingsError
from ethomarkov.study import Settings
from ethomarkov.study.settings import read_settings, write_settings


@pytest.fixture
def chosen(tmp_path):
    """Give ``chosen(text)``: the settings that a file says."""

    def choose(text):
        file = tmp_path / "settings.toml"
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return Settings.model_validate(read_settings(file).values)

    return choose


WHOLE = """
# a comment – with é
n_modes = 4
n_delays = 9
n_states = 321
lag = 0.5
min_measure = 0.01
n_behaviours = 5
n_resamples = 3
cut = "paper"
partition = "minibatch"
n_walks = 7
simulated_minutes = 2.5
simulation_lag = 1.0
simulation_passage = 0.25
unfolding = "paper"
drag_ratio = 12.0
scheme = "paper"
scan = false
seed = 42

[names]
"slow dorsal" = "head casting"
run = "crawl"
"""


def test_every_setting_can_be_filed(chosen):
    found = chosen(WHOLE).model_dump()
    assert set(found) == set(Settings.model_fields)
    assert found == {
        "n_modes": 4,
        "n_delays": 9,
        "n_states": 321,
        "lag": 0.5,
        "min_measure": 0.01,
        "n_behaviours": 5,
        "n_resamples": 3,
        "cut": "paper",
        "partition": "minibatch",
        "names": {"slow dorsal": "head casting", "run": "crawl"},
        "n_walks": 7,
        "simulated_minutes": 2.5,
        "simulation_lag": 1.0,
        "simulation_passage": 0.25,
        "unfolding": "paper",
        "drag_ratio": 12.0,
        "scheme": "paper",
        "scan": False,
        "seed": 42,
    }


def test_an_empty_file_changes_nothing(chosen):
    assert chosen("") == Settings()


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
        ("[names]\nrun = 3", "names.run is 3: "),
        ("[n_states]\na = 1", "n_states is "),
    ],
)
def test_wrong_settings_are_named(chosen, text, words):
    with pytest.raises(SettingsError) as caught:
        chosen(text)
    message = str(caught.value)
    assert message.count("\n") == 0
    assert words in message


@pytest.mark.parametrize(
    ("text", "names", "line"),
    [
        ("n_modes = 5\n\n# n_state = 1\nn_state = 10", ["n_state"], 4),
        ("n_modes = 5\n[names]\nrun = 'a'\n'slow dorsal' = 3", ["names", "slow dorsal"], 4),
        ("names = { run = 3 }", ["names", "run"], 1),
        ("n_modes = 5\n[cluster]\nqueue = 'short'\nmemry = '4GB'", ["cluster", "memry"], 4),
        ("[clustr]\nqueue = 'short'", ["clustr"], 1),
        ("n_modes = 5\ncluster = 3", ["cluster"], 2),
    ],
)
def test_the_line_of_a_setting_is_told(tmp_path, text, names, line):
    file = tmp_path / "settings.toml"
    file.write_text(text)
    assert read_settings(file).place(names) == f"{file}:{line}"


def test_a_setting_that_is_not_there_has_no_line(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text("n_modes = 5")
    assert read_settings(file).place(["lag"]) == str(file)


def test_settings_are_written_back_complete(tmp_path):
    settings = Settings(
        n_delays=7,
        n_states=33,
        lag=0.5,
        n_behaviours=3,
        simulation_lag=1.0,
        simulation_passage=0.5,
        names={'a "b" = é\\': "x", "run": "crawl"},
        scheme="paper",
    )
    write_settings(tmp_path / "settings.toml", settings)
    again = read_settings(tmp_path / "settings.toml")
    assert Settings.model_validate(again.values) == settings
    assert set(again.values) == set(Settings.model_fields)
    comments = [line for line in again.text.splitlines() if line.startswith("# ")]
    assert len(comments) == 1 + len(Settings.model_fields)
    assert "# Normal over tangential drag of the body, α." in comments


def test_what_the_recording_decides_is_left_out(tmp_path):
    write_settings(tmp_path / "settings.toml", Settings())
    again = read_settings(tmp_path / "settings.toml")
    assert Settings.model_validate(again.values) == Settings()
    assert not {"n_behaviours", "simulation_lag", "simulation_passage"} & set(again.values)


def test_all_problems_at_once(chosen):
    with pytest.raises(InputFormatError, match=r"n_states is 1: .*; .*did you mean lag\?"):
        chosen("n_states = 1\nlags = 1")


@pytest.mark.parametrize("text", ["n_states = ", "n_states : 3", "a = 1\na = 2", "[names\n", "n_states = 1e", "\x00"])
def test_invalid_toml(chosen, text):
    with pytest.raises(InputFormatError, match=r"settings\.toml: is not valid TOML: .*\(at (line \d+|end of)"):
        chosen(text)


def test_a_file_in_another_encoding(chosen):
    with pytest.raises(InputFormatError, match="cannot be read as a file of settings"):
        chosen("# é".encode("latin-1"))


def test_a_file_that_begins_with_a_byte_order_mark(chosen):
    """As some editors write it."""
    assert chosen(b"\xef\xbb\xbfn_states = 33").n_states == 33


def test_no_such_file(tmp_path):
    with pytest.raises(InputFormatError, match=r"nowhere\.toml: cannot be read.*Name a TOML file"):
        read_settings(tmp_path / "nowhere.toml")
    with pytest.raises(InputFormatError, match="cannot be read"):
        read_settings(tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("n_states = " + "[\n" * 100_000, "nested too deeply"),
        ("n_states = " + "9" * 4900, "is not valid TOML"),
        (".".join("a" * 100_000) + " = 1", "more than 5000 characters"),
        ("# x\n" * 250_001, "larger than a megabyte"),
    ],
    ids=["deep", "digits", "deep name", "large"],
)
def test_a_hostile_file_is_refused(tmp_path, text, told):
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(InputFormatError, match=told):
        read_settings(file)


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, told in ((tmp_path, "is a directory"), (tmp_path / "pipe", "is a pipe")):
        with pytest.raises(InputFormatError, match=rf"cannot be read as a file of settings \({told}.*Name a TOML file"):
            read_settings(path)
