"""Cells of a table, and tables that are something else."""

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io import read, write_recording
from ethomarkov.recording import Recording, Track


def write_text(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("cell", ["1_5", "١٢", "１", "0x10", "1,5", "--1", "1_5.0e1_0"])
@pytest.mark.parametrize("beside", ["2.5", "", "nan"])
def test_what_only_python_takes_for_a_number(tmp_path, cell, beside):
    path = write_text(tmp_path / "a.csv", f"a1;a2\n0.5;1.5\n{beside};{cell}\n")
    with pytest.raises(InputFormatError, match=f"Line 3, column 'a2' holds '{cell}', which is not a number"):
        read(path, sampling_rate=1)


def test_names_may_hold_what_numbers_may_not(tmp_path):
    text = "individual,a1\nworm_1,0.5\nWürmchen_٢,1.5\nworm_1,0.25\nWürmchen_٢,-3e-1\n"
    recording = read(write_text(tmp_path / "a.csv", text), sampling_rate=1)
    assert recording.individuals == ("worm_1", "Würmchen_٢")
    np.testing.assert_allclose(recording.values[:, 0], [0.5, 0.25, 1.5, -0.3])


@pytest.mark.parametrize("cell", ["inf", "-Inf", "infinity", "1e400"])
def test_infinite_cells(tmp_path, cell):
    path = write_text(tmp_path / "a.csv", f"a1\n0.5\n{cell}\n1.5\n")
    with pytest.raises(InputFormatError, match=r"infinite|not a number"):
        read(path, sampling_rate=1)


def test_cells_with_spaces_and_empty_ones(tmp_path):
    path = write_text(tmp_path / "a.csv", "a1,a2\n 1.5 ,2\n,\xa03.25\n0.5,4\n, \n")
    np.testing.assert_array_equal(
        read(path, sampling_rate=1).values, np.array([[1.5, 2], [np.nan, 3.25], [0.5, 4], [np.nan, np.nan]])
    )


def test_one_wrong_time_is_told(tmp_path):
    time = np.arange(1000) / 16
    time[600:] += 9e7
    rows = "".join(f"{t:.12g},{np.sin(t):.6f}\n" for t in time)
    path = write_text(tmp_path / "late.csv", "time,a1\n" + rows)
    with pytest.raises(SamplingError, match=r"late\.csv: Times of 'late' jump from 37\.4375 s to 90000037\.5 s"):
        read(path)


class TestWithoutHeader:
    def test_a_basis(self, tmp_path):
        np.savetxt(
            tmp_path / "modes.csv", np.linalg.qr(np.random.default_rng(0).normal(size=(60, 5)))[0], delimiter=","
        )
        with pytest.raises(InputFormatError, match=r"5 numbers instead.*5 orthonormal shapes.*pass it with --basis"):
            read(tmp_path / "modes.csv")

    @pytest.mark.parametrize("shape", [(300, 30), (20, 30), (3, 3)])
    def test_a_raw_table(self, tmp_path, shape):
        np.savetxt(tmp_path / "larva.csv", np.random.default_rng(0).normal(size=shape), delimiter=",")
        with pytest.raises(InputFormatError, match=f"has no header; its first line holds {shape[1]} numbers") as caught:
            read(tmp_path / "larva.csv")
        said = str(caught.value)
        assert "a posture basis" not in said
        assert "a1, a2" in said
        assert "--basis" in said

    @pytest.mark.usefixtures("reads_here")
    def test_a_large_table_is_not_read_for_it(self, tmp_path, monkeypatch):
        monkeypatch.setattr("ethomarkov.io.readers.csv_table.LARGEST_BASIS", 100)
        np.savetxt(tmp_path / "a.csv", np.eye(20), delimiter=",")
        with pytest.raises(InputFormatError, match="a line of names above"):
            read(tmp_path / "a.csv")


class TestNames:
    @pytest.mark.parametrize(
        "names", [("=1+2", "'=1+2"), ("@x", "+y", "-z", '=HYPERLINK("http://x","y")'), ("-5", "'-5")]
    )
    def test_formulas_are_escaped_and_come_back(self, tmp_path, names):
        values = np.random.default_rng(0).normal(size=(4, 2))
        tracks = [Track(individual=name, values=values) for name in names]
        recording = Recording.from_tracks(tracks, kind="amplitude", sampling_rate=2)
        path = write_recording(recording, tmp_path / "a.csv")
        assert read(path).individuals == names
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if line.lstrip('"').startswith(("=", "@", "+"))]

    def test_formulas_as_keypoints(self, tmp_path):
        track = Track(individual="m", values=np.random.default_rng(0).normal(size=(5, 2, 2)))
        recording = Recording.from_tracks([track], kind="position", sampling_rate=3, labels=["=nose", "tail"])
        path = write_recording(recording, tmp_path / "m.csv")
        assert "'=nose_x" in path.read_text(encoding="utf-8").splitlines()[0]
        assert read(path).dataset["keypoint"].values.tolist() == ["=nose", "tail"]

    def test_long_names(self, tmp_path):
        path = write_text(tmp_path / "a.csv", f"individual,a1\n{'w' * 5000},0.5\n{'w' * 5000},1.5\n")
        with pytest.raises(InputFormatError, match="5,000 characters"):
            read(path, sampling_rate=1)

    def test_a_name_for_every_row(self, tmp_path):
        path = write_text(tmp_path / "a.csv", "individual,a1\n" + "".join(f"w{i},{i / 7}\n" for i in range(1500)))
        with pytest.raises(InputFormatError, match="1,500 rows name 1,500 individuals"):
            read(path, sampling_rate=1)

    def test_many_short_tracks(self, tmp_path):
        rows = "".join(f"w{i % 900},{i / 7}\n" for i in range(2700))
        recording = read(write_text(tmp_path / "a.csv", "individual,a1\n" + rows), sampling_rate=1)
        assert len(recording.individuals) == 900
        np.testing.assert_allclose(recording.select(["w5"]).values[:, 0], np.array([5, 905, 1805]) / 7, rtol=1e-6)
