"""WCON: every rule of the format, written by hand and read back; and the way out and in again."""

import json
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ethomarkov import io
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.readers import wcon
from ethomarkov.recording import Recording, Track

UNITS = {"t": "s", "x": "mm", "y": "mm"}


def wave(n_frames, n_points, phase=0.0):
    """Draw a crawling sine, (frames, points, 2), about 1 mm long."""
    along = np.linspace(0, 1, n_points)
    when = np.arange(n_frames)[:, None]
    return np.stack([along + 0.01 * when, 0.1 * np.sin(6 * along + 0.3 * when + phase)], axis=2)


def record(points, rate=10.0, name="1", **more):
    time = (np.arange(len(points)) / rate).tolist()
    return {"id": name, "t": time, "x": points[..., 0].tolist(), "y": points[..., 1].tolist()} | more


def save(path, data, units=UNITS, **more):
    path.write_text(json.dumps({"units": units, "data": data} | more), encoding="utf-8")
    return path


def test_reads_spines_times_and_names(tmp_path):
    one, two = wave(5, 7), wave(4, 7, 1.0)
    path = save(tmp_path / "a.wcon", [record(one, name="a"), record(two, name=2)])
    recording = io.read(path)
    assert recording.kind == "centerline"
    assert recording.individuals == ("a", "2")
    assert recording.sampling.rate == pytest.approx(10)
    np.testing.assert_allclose(recording.values, np.concatenate([one, two]), atol=1e-6)
    np.testing.assert_allclose(recording.time[:5], np.arange(5) / 10)
    np.testing.assert_allclose(recording.centroid[:5], one.mean(axis=1), atol=1e-6)
    length = np.median(np.hypot(*np.diff(one, axis=1).T).sum(axis=0))
    assert recording.body_lengths["a"] == pytest.approx(length)
    attrs = recording.dataset.attrs
    assert (attrs["length_unit"], attrs["ventral_side"], attrs["head_first"], attrs["source_format"]) == (
        "mm",
        "unknown",
        "true",
        "wcon",
    )


def test_reads_one_record_with_single_times(tmp_path):
    points = wave(3, 4)
    records = [
        {"id": "w", "t": 0.5 * i, "x": points[i, :, 0].tolist(), "y": points[i, :, 1].tolist()} for i in range(3)
    ]
    recording = io.read(save(tmp_path / "a.wcon", records))
    np.testing.assert_allclose(recording.values, points, atol=1e-6)
    assert recording.sampling.rate == pytest.approx(2)
    alone = io.read(save(tmp_path / "b.wcon", record(points)))
    np.testing.assert_allclose(alone.values, points, atol=1e-6)


def test_joins_records_of_one_animal_by_time(tmp_path):
    points = wave(6, 4)
    early, late = record(points[:3]), record(points[3:])
    late["t"] = [0.3, 0.4, 0.5]
    recording = io.read(save(tmp_path / "a.wcon", [late, early]))
    assert recording.individuals == ("1",)
    np.testing.assert_allclose(recording.values, points, atol=1e-6)


def test_null_is_missing_and_absent_time_is_a_gap(tmp_path):
    entry = record(wave(6, 4))
    entry["x"][1][2] = None
    entry["x"][2] = entry["y"][2] = None
    for key in "txy":
        del entry[key][4]
    recording = io.read(save(tmp_path / "a.wcon", entry))
    valid = np.isfinite(recording.values).all(axis=(1, 2))
    assert valid.tolist() == [True, False, False, True, False, True]
    assert np.isfinite(recording.values[1, 3]).all()


def test_resamples_spines_to_the_most_frequent_count(tmp_path):
    straight = np.stack([np.linspace(0, 1, 5), np.zeros(5)], axis=1)
    rows = [np.stack([np.linspace(0, 1, n) ** 2 + 0.1 * i, np.zeros(n)], axis=1) for i, n in enumerate((3, 5, 5, 9, 1))]
    rows[1], rows[2] = straight, straight + 1
    entry = {
        "id": 1,
        "t": [0, 1, 2, 3, 4],
        "x": [r[:, 0].tolist() for r in rows],
        "y": [r[:, 1].tolist() for r in rows],
    }
    recording = io.read(save(tmp_path / "a.wcon", entry))
    assert recording.values.shape == (5, 5, 2)
    np.testing.assert_allclose(recording.values[1], straight, atol=1e-6)
    np.testing.assert_allclose(recording.values[0, :, 0], np.linspace(0, 1, 5), atol=1e-6)
    np.testing.assert_allclose(recording.values[3, :, 0], np.linspace(0.3, 1.3, 5), atol=1e-6)
    assert np.isnan(recording.values[4]).all()


def test_resampling_a_collapsed_spine_keeps_its_place():
    np.testing.assert_array_equal(wcon._resample(np.ones((3, 2)), 4), np.ones((4, 2)))


@pytest.mark.parametrize("constant", [True, False])
def test_adds_the_origin_to_points_and_centroid(tmp_path, constant):
    points = wave(4, 5)
    origin = np.full(4, 2.0) if constant else np.arange(4.0)
    more = {"ox": 2.0, "oy": 2.0} if constant else {"ox": origin.tolist(), "oy": origin.tolist()}
    more |= {"cx": [0.5] * 4, "cy": [None, 0.1, 0.1, 0.1]}
    units = UNITS | {"ox": "mm", "oy": "mm", "cx": "mm", "cy": "mm"}
    recording = io.read(save(tmp_path / "a.wcon", record(points, **more), units))
    np.testing.assert_allclose(recording.values, points + origin[:, None, None], atol=1e-6)
    np.testing.assert_allclose(recording.centroid[1:, 0], 0.5 + origin[1:], atol=1e-6)
    assert np.isnan(recording.centroid[0, 1])


def test_turns_spines_so_that_the_head_comes_first(tmp_path):
    points = wave(4, 5)
    flipped = points.copy()
    flipped[2:] = flipped[2:, ::-1]
    entry = record(flipped, head=["L", "L", "R", "R"], ventral=["CW", "CW", "CCW", "CCW"])
    recording = io.read(save(tmp_path / "a.wcon", entry))
    np.testing.assert_allclose(recording.values, points, atol=1e-6)
    assert recording.dataset.attrs["ventral_side"] == "clockwise"


@pytest.mark.parametrize(
    ("labels", "side", "head"),
    [
        ({"head": "L", "ventral": "CCW"}, "anticlockwise", "true"),
        ({"head": "R", "ventral": "CCW"}, "clockwise", "true"),
        ({"head": "?", "ventral": "?"}, "unknown", "unknown"),
        ({"ventral": ["CW", None, "CW"]}, "clockwise", "true"),
        ({"ventral": ["CW", "CCW", "CW"]}, "mixed", "true"),
    ],
)
def test_keeps_the_sides(tmp_path, labels, side, head):
    attrs = io.read(save(tmp_path / "a.wcon", record(wave(3, 5), **labels))).dataset.attrs
    assert (attrs["ventral_side"], attrs["head_first"]) == (side, head)


@pytest.mark.parametrize(
    "text",
    [
        "furlong",
        "px",
        "1",
        "",
        "s",
        "mm^2",
        "mm*mm",
        "0*mm",
        "mm/0",
        "nan*mm",
        "msecond",
        "millis",
        "C",
        "rad",
        "mm^",
        "mm^x",
        "(mm",
        "mm)",
        "2mm",
        "1_5*mm",
        "m^9999",
        "mm*0^-1",
        "-1*mm",
        3,
    ],
)
def test_refuses_other_units_by_name(tmp_path, text):
    path = save(tmp_path / "a.wcon", record(wave(3, 4)), UNITS | {"x": text})
    with pytest.raises(InputFormatError) as caught:
        io.read(path)
    assert repr(text) in str(caught.value)
    assert "units.x" in str(caught.value)
    assert "micron" in str(caught.value)
    assert str(path) in str(caught.value)


def test_converts_to_seconds_and_millimetres(tmp_path):
    points = wave(4, 5)
    entry = record(points * 1000, rate=1.0)
    recording = io.read(save(tmp_path / "a.wcon", entry, {"t": "0.04*s", "x": "\u00b5m", "y": "\u03bcm"}))
    np.testing.assert_allclose(recording.values, points, atol=1e-6)
    assert recording.sampling.rate == pytest.approx(25)


def test_stated_rate_replaces_that_of_the_file(tmp_path):
    entry = record(wave(6, 4), rate=10)
    for key in "txy":
        del entry[key][2]
    recording = io.read(save(tmp_path / "a.wcon", entry), sampling_rate=25)
    assert recording.sampling.rate == 25
    assert np.isfinite(recording.values).all(axis=(1, 2)).tolist() == [True, True, False, True, True, True]


def test_ignores_what_it_does_not_know(tmp_path):
    entry = record(wave(3, 4), walk={"4": "Mg"}) | {"@OMG": {"speed": [1, 2, 3]}}
    path = save(tmp_path / "a.wcon", entry, UNITS | {"speed": "mm^2/s"}, **{"@OMG": {}, "metadata": {"strain": "N2"}})
    assert io.read(path).values.shape == (3, 4, 2)


def test_leaves_out_animals_without_a_frame(tmp_path):
    empty = {"id": "ghost", "t": [], "x": [], "y": []}
    assert io.read(save(tmp_path / "a.wcon", [record(wave(3, 4)), empty])).individuals == ("1",)


# --- recognising -----------------------------------------------------------------------------------------------------


def test_recognises_json_with_late_units(tmp_path):
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"data": record(wave(300, 12)), "units": UNITS}), encoding="utf-8")
    assert io.read(path).dataset.attrs["source_format"] == "wcon"


def test_does_not_claim_other_json(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"units": "mm", "values": [1, 2]}', encoding="utf-8")
    with pytest.raises(InputFormatError, match="no known posture format"):
        io.read(path)


# --- chunks ----------------------------------------------------------------------------------------------------------


def test_follows_chunks_beside_the_file(tmp_path):
    points = wave(6, 4)
    first, middle, last = record(points[:3]), record(points[3:5] * 1000), record(points[5:])
    middle["t"], last["t"] = [0.3, 0.4], [0.5]
    start = save(tmp_path / "run_0.wcon", first, files={"this": "_0", "prev": None, "next": ["_1", "_2"]})
    save(tmp_path / "run_1.wcon", middle, UNITS | {"x": "um", "y": "um"}, files={"current": "_1", "prev": "_0"})
    save(tmp_path / "run_2.wcon", last)
    recording = io.read(start)
    np.testing.assert_allclose(recording.values, points, atol=1e-6)
    assert recording.dataset.attrs["source_chunks"] == "run_0.wcon, run_1.wcon, run_2.wcon"
    assert np.array_equal(io.read(tmp_path / "run_1.wcon").values, recording.values)


def test_a_missing_chunk_is_named(tmp_path):
    path = save(tmp_path / "run_0.wcon", record(wave(3, 4)), files={"this": "_0", "next": ["_1"]})
    with pytest.raises(InputFormatError, match=r"run_1\.wcon is not beside it"):
        io.read(path)


@pytest.mark.parametrize("files", [{"this": "_7", "next": "_1"}, {"next": "_1"}, {"this": "", "next": [""]}, "none"])
def test_reads_a_renamed_chunk_alone(tmp_path, files):
    assert len(io.read(save(tmp_path / "run_0.wcon", record(wave(3, 4)), files=files)).values) == 3


@pytest.mark.parametrize("part", ["/etc/x", "../x", "..", "a/b", "C:\\x", "..\\x"])
def test_refuses_chunks_outside_the_folder(tmp_path, part):
    path = save(tmp_path / "run_0.wcon", record(wave(3, 4)), files={"this": "_0", "next": [part]})
    with pytest.raises(InputFormatError, match="same folder"):
        io.read(path)


# --- archives --------------------------------------------------------------------------------------------------------


def pack(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


@pytest.mark.parametrize(("archive", "member"), [("a.wcon.zip", "a.wcon"), ("a.zip", "deep/a.json")])
def test_reads_archives(tmp_path, archive, member):
    text = json.dumps({"units": UNITS, "data": record(wave(3, 4))})
    path = pack(tmp_path / archive, {"readme.txt": "hello", member: text, f"__MACOSX/._{member}": "x"})
    np.testing.assert_allclose(io.read(path).values, wave(3, 4), atol=1e-6)


@pytest.mark.parametrize("name", ["../evil.wcon", "/abs.wcon", "a/../../b.wcon", "..\\b.wcon", "C:\\b.wcon"])
def test_refuses_archives_that_leave_their_folder(tmp_path, name):
    text = json.dumps({"units": UNITS, "data": record(wave(3, 4))})
    path = pack(tmp_path / "a.wcon.zip", {"good.wcon": text, name: text})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputFormatError, match="leaves its folder"):
        io.read(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_refuses_archives_with_two_recordings(tmp_path):
    with pytest.raises(InputFormatError, match="holds 2"):
        io.read(pack(tmp_path / "a.wcon.zip", {"a.wcon": "{}", "b.wcon": "{}"}))


def test_refuses_absurd_expansion(tmp_path, monkeypatch):
    monkeypatch.setattr(wcon, "FREE_BYTES", 1000)
    monkeypatch.setattr(wcon, "TEXT_BYTES_PER_BYTE", 1)
    with pytest.raises(InputFormatError, match="would unpack"):
        wcon.read_wcon(pack(tmp_path / "a.wcon.zip", {"a.wcon": " " * 5000}), io.ReadOptions())


@pytest.mark.parametrize("name", ["auto", "wcon"])
def test_refuses_truncated_archives(tmp_path, name):
    path = pack(tmp_path / "a.wcon.zip", {"a.wcon": json.dumps({"units": UNITS, "data": record(wave(9, 9))})})
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputFormatError, match="copy it again"):
        io.read(path, format=name)


def test_refuses_damaged_archives(tmp_path):
    path = pack(tmp_path / "a.wcon.zip", {"a.wcon": json.dumps({"units": UNITS, "data": record(wave(40, 9))})})
    content = bytearray(path.read_bytes())
    content[100:140] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(InputFormatError, match="archive cannot be read"):
        io.read(path)


# --- bad files -------------------------------------------------------------------------------------------------------


def test_malformed_json_tells_the_place(tmp_path):
    path = tmp_path / "a.wcon"
    path.write_text('{"units": {},\n "data": [1, }', encoding="utf-8")
    with pytest.raises(InputFormatError, match=r"line 2, column \d+"):
        io.read(path)


@pytest.mark.parametrize("content", [b"\xff\xfe\xfa", b"[" * 100_000, b"[1, 2]", b"7"])
def test_other_content_of_a_wcon_file(tmp_path, content):
    path = tmp_path / "a.wcon"
    path.write_bytes(content)
    with pytest.raises(InputFormatError, match="JSON"):
        io.read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "beyond all depth"),
        ("9" * 5000, "digits"),
        ('{"units": NaN}', "holds NaN; JSON has null"),
        ('{"units": -Infinity}', "holds -Infinity"),
        ('{"units": {"t": "s", "t": "ms"}}', "'t' stands twice"),
    ],
)
def test_json_that_no_tracker_writes(tmp_path, text, message):
    path = tmp_path / "a.wcon"
    path.write_text(text)
    with pytest.raises(InputFormatError, match=message) as caught:
        io.read(path)
    assert len(str(caught.value)) < 400


def test_numbers_beyond_the_range_of_numbers(tmp_path):
    path = save(tmp_path / "a.wcon", record(wave(3, 4)))
    path.write_text(path.read_text().replace('"t": [0.0', '"t": [1e999'))
    with pytest.raises(InputFormatError, match="Infinity"):
        io.read(path)


@pytest.mark.parametrize("key", ["units", "data"])
def test_missing_sections(tmp_path, key):
    path = tmp_path / "a.wcon"
    path.write_text(json.dumps({k: v for k, v in {"units": UNITS, "data": []}.items() if k != key}), encoding="utf-8")
    with pytest.raises(InputFormatError, match=f"lacks '{key}'"):
        io.read(path)


@pytest.mark.parametrize("units", [{"t": "s", "x": "mm"}, {}, "mm"])
def test_missing_units(tmp_path, units):
    with pytest.raises(InputFormatError, match="'units' lacks"):
        io.read(save(tmp_path / "a.wcon", record(wave(3, 4)), units))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, "lacks id"),
        ({"t": None}, "lacks t"),
        ({"x": None}, "lacks x"),
        ({"x": [[1, 2, 3, 4]]}, "1 entries for 3 times"),
        ({"x": 5}, "a single value for 3 times"),
        ({"x": [[1, 2], [1, 2], [1, 2]]}, "2 x and 4 y in frame 0"),
        ({"x": [[1, "a", 3, 4]] * 3}, "else than numbers"),
        ({"x": [[[1]] * 4] * 3}, "nested"),
        ({"x": [[10**400, 2, 3, 4]] * 3}, "else than numbers"),
        ({"t": [0, "now", 2]}, 'else than numbers and null: "now"'),
        ({"t": [0, "1_5", 2]}, '"1_5"'),
        ({"x": [["1.5", 2, 3, 4]] * 3}, '"1.5"'),
        ({"x": [[True, 2, 3, 4]] * 3}, "true"),
        ({"x": [[[], 2, 3, 4]] * 3}, "else than numbers and null: list"),
        ({"t": {"a": 1}}, "dict"),
        ({"id": [1]}, "id is no name"),
        ({"head": [["L"], "L", "L"]}, "head holds"),
        ({"ox": 1}, "ox alone"),
        ({"cx": [1, 2], "cy": [1, 2]}, "2 values for 3 times"),
        ({"head": "N"}, "'N'"),
        ({"ventral": ["CW"]}, "1 values"),
    ],
)
def test_bad_records(tmp_path, change, message):
    path = save(tmp_path / "a.wcon", [record(wave(3, 4)), record(wave(3, 4), name="2") | change])
    with pytest.raises(InputFormatError, match=message) as caught:
        io.read(path)
    assert "data[1]" in str(caught.value)


def test_centroids_alone_are_no_posture(tmp_path):
    with pytest.raises(InputFormatError, match="no posture"):
        io.read(save(tmp_path / "a.wcon", {"id": 1, "t": [0, 1], "x": [1, 2], "y": [1, 2]}))
    with pytest.raises(InputFormatError, match="no posture"):
        io.read(save(tmp_path / "b.wcon", {"id": 1, "t": 0, "x": 1, "y": 2}))


def test_all_frames_missing(tmp_path):
    nothing = {"id": 1, "t": [0, 1, 2], "x": [None, [None, None], []], "y": [None, [1, None], []]}
    with pytest.raises(InputFormatError, match="None of 3 frames"):
        io.read(save(tmp_path / "a.wcon", nothing))


@pytest.mark.parametrize("data", [[], [1], "worm"])
def test_no_animals(tmp_path, data):
    with pytest.raises(InputFormatError):
        io.read(save(tmp_path / "a.wcon", data))


@pytest.mark.parametrize("time", [[0, 0, 1], [0, None, 1]])
def test_bad_times(tmp_path, time):
    with pytest.raises(SamplingError):
        io.read(save(tmp_path / "a.wcon", record(wave(3, 4)) | {"t": time}))


# --- writing ---------------------------------------------------------------------------------------------------------


def centerlines(n_frames=6, n_points=5, **attrs):
    points = wave(n_frames, n_points)
    points[2] = np.nan
    track = Track(individual="a", values=points, time=1 + np.arange(n_frames) / 16, centroid=points.mean(axis=1))
    attrs = {"length_unit": "mm", "ventral_side": "anticlockwise"} | attrs
    return Recording.from_tracks([track], kind="centerline", attrs=attrs)


@pytest.mark.parametrize("name", ["out.wcon", "out.wcon.zip", "OUT.WCON.ZIP"])
def test_written_recording_reads_back(tmp_path, name):
    recording = centerlines()
    path = io.write_recording(recording, tmp_path / name)
    again = io.read(path)
    np.testing.assert_allclose(again.values, recording.values, atol=1e-6)
    np.testing.assert_allclose(again.centroid, recording.centroid, atol=1e-6)
    np.testing.assert_allclose(again.time, recording.time)
    assert again.individuals == recording.individuals
    for key in ("ventral_side", "head_first", "length_unit"):
        assert again.dataset.attrs[key] == recording.dataset.attrs[key]
    assert sorted(tmp_path.iterdir()) == [path]


def test_written_file_is_plain_json(tmp_path):
    path = io.write_recording(centerlines(length_unit="um", head_first="unknown"), tmp_path / "a.wcon")
    document = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert document["units"] == {"t": "s", "x": "um", "y": "um", "cx": "um", "cy": "um"}
    assert document["metadata"]["software"]["name"] == "ethomarkov"
    (entry,) = document["data"]
    assert entry["x"][2] == [None] * 5
    assert entry["cx"][2] is None
    assert (entry["head"], entry["ventral"]) == ("?", "CCW")


def angles(body_length, centroid=None, **attrs):
    values = 0.8 * np.sin(np.linspace(0, 6, 10) + 0.4 * np.arange(8)[:, None])
    values[3] = np.nan
    track = Track(individual="a", values=values, centroid=centroid, body_length=body_length)
    return Recording.from_tracks([track], kind="angle", sampling_rate=4, attrs=attrs)


def test_angles_are_drawn_as_centerlines(tmp_path):
    centroid = np.stack([np.arange(8.0), -np.arange(8.0)], axis=1)
    centroid[5] = np.nan
    recording = angles(1.2, centroid, length_unit="mm")
    again = io.read(io.write_recording(recording, tmp_path / "a.wcon"))
    assert again.values.shape == (8, 11, 2)
    steps = np.diff(again.values.astype(float), axis=1)
    np.testing.assert_allclose(np.arctan2(steps[..., 1], steps[..., 0]), recording.values, atol=1e-4)
    assert again.body_lengths["a"] == pytest.approx(1.2, rel=1e-4)
    placed = np.array([0, 1, 2, 4, 6, 7])
    np.testing.assert_allclose(again.values[placed].mean(axis=1), centroid[placed], atol=1e-5)
    np.testing.assert_allclose(again.values[5].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(again.centroid[placed], centroid[placed], atol=1e-6)


@pytest.mark.parametrize(
    ("recording", "message"),
    [
        (centerlines(length_unit=""), "length_unit is ''"),
        (centerlines(length_unit="pixel"), "length_unit is 'pixel'"),
        (angles(1.2), "length_unit is ''"),
        (angles(None, length_unit="mm"), "body length of a is unknown"),
        (
            Recording.from_tracks(
                [Track(individual="a", values=wave(4, 3)[..., 0])], kind="amplitude", sampling_rate=1
            ),
            "angles with a basis",
        ),
        (
            Recording.from_tracks([Track(individual="a", values=wave(4, 3))], kind="position", sampling_rate=1),
            "position",
        ),
    ],
)
def test_refuses_to_write(tmp_path, recording, message):
    with pytest.raises(InputFormatError, match=message):
        io.write_recording(recording, tmp_path / "a.wcon")
    assert not list(tmp_path.iterdir())


@st.composite
def recordings(draw):
    n_points = draw(st.integers(2, 12))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    tracks = []
    for index in range(draw(st.integers(1, 3))):
        n_frames = draw(st.integers(3, 20))
        points = rng.uniform(-5, 5, (n_frames, n_points, 2))
        missing = draw(st.lists(st.integers(2, n_frames - 1), max_size=n_frames - 2))
        points[missing] = np.nan
        time = draw(st.integers(0, 1000)) + np.arange(n_frames) / 16
        tracks.append(Track(individual=f"w{index}", values=points, time=time))
    return Recording.from_tracks(tracks, kind="centerline", sampling_rate=16.0, attrs={"length_unit": "mm"})


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recording=recordings())
def test_any_recording_survives_the_way_out_and_in(tmp_path, recording):
    again = io.read(io.write_recording(recording, tmp_path / "a.wcon"))
    assert again.individuals == recording.individuals
    assert again.sampling.rate == pytest.approx(16)
    np.testing.assert_allclose(again.values, recording.values, atol=1.5e-6)
    np.testing.assert_allclose(again.time, recording.time)
    np.testing.assert_array_equal(again.segments.bounds, recording.segments.bounds)
