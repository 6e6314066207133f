"""Results in a few lines, as cards, tables and pictures, whatever they hold."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ethomarkov._core.interval import Interval
from ethomarkov._core.result import Result, array_field
from ethomarkov._core.showing import leading_array
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.plots import plot_result


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Toy(Result):
    """A toy.

    Parameters
    ----------
    names
        Of the <states>.
    rates, low
        How fast.
    many
        A matrix.
    note
        In words.
    """

    names: tuple[str, ...] = ("run", "rest")
    rates: np.ndarray = array_field("state", unit="1/s", default_factory=lambda: np.array([1.5, np.nan]))
    low: np.ndarray = array_field("state", unit="1/s", default_factory=lambda: np.array([1.0, 2.0]))
    many: np.ndarray = array_field("from_state", "to_state", default_factory=lambda: np.arange(4.0).reshape(2, 2))
    note: str = "a < b & c"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Words(Result):
    """Only words.

    Parameters
    ----------
    note
        In words.
    found
        An interval.
    """

    note: str = "x" * 500
    found: Interval = dataclasses.field(
        default_factory=lambda: Interval(estimate=1.0, low=0.5, high=2.0, level=0.95, over="animals", n=6)
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Result):
    """Rows.

    Parameters
    ----------
    rows
        Of words.
    """

    rows: tuple[Words, ...] = (Words(), Words(note="second"))


class TestLines:
    def test_fields_with_units_and_sizes(self):
        lines = repr(Toy()).splitlines()
        assert lines[0] == "Toy"
        assert lines[1].split(maxsplit=1) == ["names", "run, rest"]
        assert lines[2].split(maxsplit=1) == ["rates", "1.5, nan 1/s"]
        assert lines[4].split(maxsplit=1) == ["many", "2 from states x 2 to states, 0 to 3"]

    def test_long_words_are_cut(self):
        assert max(map(len, repr(Words()).splitlines())) < 120

    def test_a_headline_of_its_own(self, study):
        assert repr(study.chain).startswith("MarkovChain: ")

    def test_a_representation_of_its_own_stays(self):
        assert repr(Interval(estimate=1.0, low=0.5, high=2.0, level=0.95, over="animals", n=6)).count("\n") <= 8

    def test_equality_and_frozenness_stay(self):
        assert Words() == Words()
        with pytest.raises(dataclasses.FrozenInstanceError):
            Words().note = "y"


class TestCard:
    def test_markup_is_escaped(self):
        page = Toy()._repr_html_()
        assert "a &lt; b &amp; c" in page and "<states>" not in page

    def test_fields_explain_themselves(self):
        assert 'title="How fast."' in Toy()._repr_html_()


class TestTable:
    def test_arrays_of_common_dimensions(self):
        table = Toy().table()
        assert list(table.columns) == ["state", "rates", "low"]
        assert list(table["state"]) == ["run", "rest"]
        assert table.attrs["units"] == {"rates": "1/s", "low": "1/s"}

    def test_numbers_alone_make_one_row(self):
        table = Words().table()
        assert table.shape == (1, 4)
        assert table["found_low"].item() == 0.5

    def test_parts_make_rows(self):
        assert list(Rows().table()["note"]) == ["x" * 500, "second"]


class TestPicture:
    @pytest.fixture
    def axes(self):
        return Figure().subplots()

    def test_names_are_bars(self, axes):
        assert plot_result(Toy(), axes) is axes
        assert [label.get_text() for label in axes.get_xticklabels()] == ["run", "rest"]
        assert axes.get_ylabel() == "rates (1/s)"

    def test_nothing_to_draw(self, axes):
        with pytest.raises(InputFormatError, match=r"`table\(\)` lists"):
            plot_result(Words(), axes)

    def test_no_axes(self):
        with pytest.raises(InputFormatError, match="ax is a int"):
            Toy().plot(3)

    def test_more_than_two_dimensions_are_averaged(self):
        @dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
        class Deep(Result):
            """Deep."""

            values: np.ndarray = array_field("run", "a", "b", default_factory=lambda: np.arange(8.0).reshape(2, 2, 2))

        found = leading_array(Deep())
        np.testing.assert_array_equal(found.values, [[2, 3], [4, 5]])
        assert found.dims == ("a", "b")

    @pytest.mark.parametrize(
        "name",
        [
            "postures", "basis", "measured", "microstates", "symbols", "chain", "spectrum", "lag_scan",
            "noise_floor", "cut", "tree", "traits", "animals", "simulated", "simulation_choice", "path", "model",
            "scan",
        ],
    )  # fmt: skip
    def test_every_result_of_a_study(self, study, axes, name):
        result = getattr(study, name)
        result.plot(axes)
        assert axes.has_data()
        assert len(result.table()) >= 1
        assert len(repr(result).splitlines()) <= 15

    @pytest.mark.parametrize(
        ("name", "options"),
        [
            ("kinetics", {}),
            ("relaxation_times", {"n_shuffles": 3, "n_lags": 3}),
            ("published_dwell_law", {}),
            ("smoothed_states", {}),
            ("circulation", {}),
            ("sequence_map", {"method": "pca"}),
            ("runs", {"n_runs": 2, "minutes": 0.5}),
            ("state_runs", {"level": 2, "n_runs": 2, "minutes": 0.5}),
            ("reconstruction", {"window": 20.0}),
            ("foraging", {"level": 2, "n_runs": 2, "seconds": 20.0}),
            ("predictions", {"entry_walks": 5}),
            ("held_out_splits", {"n_held_out": 1}),
        ],
    )
    def test_every_analysis(self, study, axes, name, options):
        result = getattr(study, name)(**options)
        result.plot(axes)
        assert axes.has_data() or axes.images
        assert len(result.table()) >= 1
        assert len(repr(result).splitlines()) <= 15

    def test_nothing_was_chosen(self, study, axes):
        with pytest.raises(InputFormatError, match="free_choice"):
            study.choice.plot(axes)

    def test_too_few_dwells_for_laws(self, study, axes):
        with pytest.raises(InputFormatError, match="often enough"):
            study.dwell_law().plot(axes)

    def test_new_axes_are_those_of_pyplot(self):
        import matplotlib.pyplot as plt

        before = mpl.get_backend()
        plt.switch_backend("Agg")
        try:
            axes = Toy().plot()
            assert isinstance(axes, Axes)
            assert plt.gcf() is axes.figure
        finally:
            plt.close("all")
            plt.switch_backend(before)
