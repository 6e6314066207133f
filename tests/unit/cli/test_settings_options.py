"""Options from the settings model: one for each setting, under one name, with its explanation."""

import dataclasses

import pytest

from ethomarkov._core.notes import field_notes
from ethomarkov.cli.app import RENAMED_OPTIONS
from ethomarkov.cli.commands.run import ModelOptions
from ethomarkov.cli.commands.states import TreeOptions
from ethomarkov.cli.settings_options import chosen_settings, given_settings, make_options, option_name, option_words
from ethomarkov.exceptions import SettingsError
from ethomarkov.study import Settings

WITHOUT_OPTION = {"names", "seed"}
"""States are renamed by `states --rename`; the seed is an option of every command that computes."""
VALUES = {
    "n_modes": 3,
    "n_delays": 4,
    "n_states": 50,
    "lag": 0.5,
    "min_measure": 0.1,
    "n_behaviours": 3,
    "n_resamples": 0,
    "cut": "paper",
    "partition": "minibatch",
    "n_walks": 2,
    "simulated_minutes": 1.5,
    "simulation_lag": 0.25,
    "simulation_passage": 0.25,
    "unfolding": "paper",
    "drag_ratio": 12.0,
    "scheme": "paper",
    "scan": False,
}


def test_every_setting_is_an_option():
    assert {item.name for item in dataclasses.fields(ModelOptions)} == set(Settings.model_fields) - WITHOUT_OPTION
    assert VALUES.keys() == {item.name for item in dataclasses.fields(ModelOptions)}


def test_names_are_those_of_the_vocabulary():
    names = {setting: option_name(setting) for setting in VALUES}
    assert names["n_states"] == "--microstates"
    assert names["n_behaviours"] == "--states"
    assert names["simulated_minutes"] == "--simulated-minutes"
    assert len(set(names.values())) == len(names)


def test_help_tells_what_settings_tell(cli):
    _, out, _ = cli("run", "--help")
    words = " ".join(out.replace("│", " ").split())
    notes = field_notes(Settings)
    for setting in VALUES:
        assert option_name(setting) in words
        assert notes[setting].replace("`", "") in words
    assert "Posture modes. [default: 5]" in words
    assert "Advanced settings" in out


def test_all_options_reach_the_settings():
    settings, _ = chosen_settings(ModelOptions(**VALUES), None, 7)
    assert settings == Settings(**VALUES, seed=7)
    assert chosen_settings(ModelOptions(), None, None)[0] == Settings()


def test_options_as_they_are_typed():
    words = option_words(TreeOptions(n_behaviours=4, min_measure=0.1))
    assert words == ["--states", "4", "--min-measure", "0.1"]


def test_only_what_was_given():
    made = make_options("Few", ["lag", "n_states"])
    assert [item.name for item in dataclasses.fields(made)] == ["lag", "n_states"]
    assert given_settings(made()) == {}
    assert given_settings(made(lag=1.0)) == {"lag": 1.0}


@pytest.mark.parametrize(("setting", "value"), [("n_states", 1), ("min_measure", 0.5), ("lag", -1.0), ("n_walks", 0)])
def test_limits_are_those_of_the_settings(setting, value):
    with pytest.raises(SettingsError, match=f"{option_name(setting)} is "):
        chosen_settings(ModelOptions(**{setting: value}), None, None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "a.csv", "--out", "x", "--n-states", "5"), "`--n-states` is now `--microstates`."),
        (("run", "a.csv", "--out", "x", "--n-delays=5"), "`--n-delays` is now `--delays`."),
        (("run", "a.csv", "--output", "x"), "`--output` is now `--out`."),
        (("explore", "x", "--output", "y"), "`--output` is now `--out`."),
        (("states", "x", "--levels", "3"), "`--levels` is now `--states`."),
        (("data", "explain", "--into", "x"), "`--into` is now `--out`."),
        (("simulate", "x", "--n-runs", "3"), "`--n-runs` is now `--runs`."),
        (("run", "a.csv", "--otu", "x"), "Did you mean --out?"),
        (("rnu", "a.csv"), 'Did you mean "run"?'),
        (("summary", "x", "--n-states", "5"), "Unknown option: --n-states."),
        (("timescales", "x"), "`timescales` is now `ethomarkov choose`"),
    ],
)
def test_old_names_and_slips_are_answered(cli, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, out, err = cli(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_every_new_name_is_an_option_somewhere(cli):
    pages = [cli(command, "--help")[1] for command in ("run", "states", "choose", "simulate")]
    for new in RENAMED_OPTIONS.values():
        assert any(f"{new} " in page for page in pages), new
