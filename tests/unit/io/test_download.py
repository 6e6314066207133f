"""Fetching the paper's data, without a network."""

import hashlib
import http.client
import io
import urllib.error
import zipfile

import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import download
from ethomarkov.io.download import DATASETS, DownloadError, fetch_dataset

FILES = {"PNAS2011-DataStitched.mat": b"amplitudes", "shapes.mat": b"shapes", "EigenWorms.csv": b"1,2\n"}
PAGE = "https://www.kaggle.com/datasets/someone/worms"
ARCHIVE = "https://www.kaggle.com/api/v1/datasets/download/someone/worms"


class Answer(io.BytesIO):
    """What the network gives: an address, some bytes, and how many it said there would be."""

    def __init__(self, url, content=b"", told=None):
        super().__init__(content)
        self.url = url
        self.headers = {} if told is None else {"Content-Length": str(told)}

    def geturl(self):
        return self.url


def archive(files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as opened:
        for name, content in files.items():
            opened.writestr(f"data/Foraging_N2/{name}", content)
    return made.getvalue()


@pytest.fixture
def network(monkeypatch):
    """Make a network of one page and one archive; give the addresses that are asked for."""

    def make(content, told=None, page=PAGE):
        asked = []

        def answer(request, timeout):
            assert timeout > 0
            asked.append(request.full_url)
            return Answer(page) if request.full_url == DATASETS["costa2024"].page else Answer(ARCHIVE, content, told)

        monkeypatch.setattr(download, "urlopen", answer)
        return asked

    return make


@pytest.fixture
def online(network):
    return network(archive(FILES))


def test_files_are_taken_out_and_described(online, tmp_path):
    found = fetch_dataset("costa2024", tmp_path / "worms")
    assert online == [DATASETS["costa2024"].page, ARCHIVE]
    assert {file.path.name: file.path.read_bytes() for file in found} == FILES
    assert [file.sha256 for file in found] == [hashlib.sha256(content).hexdigest() for content in FILES.values()]
    assert [file.size for file in found] == [10, 6, 4]
    assert not any(file.verified for file in found)
    assert sorted(path.name for path in (tmp_path / "worms").iterdir()) == sorted(FILES)


def test_what_is_there_is_not_fetched_again(online, tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    fetch_dataset("costa2024", tmp_path)
    assert online == []


def test_a_known_hash_is_checked(online, tmp_path, monkeypatch):
    right = hashlib.sha256(FILES["shapes.mat"]).hexdigest()
    monkeypatch.setitem(DATASETS["costa2024"].sha256, "shapes.mat", right)
    assert [file.verified for file in fetch_dataset("costa2024", tmp_path)] == [False, True, False]
    monkeypatch.setitem(DATASETS["costa2024"].sha256, "shapes.mat", "0" * 64)
    with pytest.raises(DownloadError, match=r"shapes\.mat: has SHA-256 .* fetch it again"):
        fetch_dataset("costa2024", tmp_path)


def test_without_a_network_the_manual_way_is_told(tmp_path, monkeypatch):
    def refuse(request, timeout):
        raise urllib.error.URLError("Name or service not known")

    monkeypatch.setattr(download, "urlopen", refuse)
    with pytest.raises(DownloadError) as caught:
        fetch_dataset("costa2024", tmp_path)
    message = str(caught.value)
    assert "Name or service not known" in message
    assert "https://doi.org/10.34740/kaggle/ds/3882219" in message
    assert all(name in message for name in FILES)
    assert str(tmp_path) in message


@pytest.mark.parametrize("place", ["https://www.kaggle.com/account/login", "https://doi.org/"])
def test_a_page_that_is_no_dataset(place, network, tmp_path):
    network(archive(FILES), page=place)
    with pytest.raises(DownloadError, match="no dataset of Kaggle"):
        fetch_dataset("costa2024", tmp_path)


def test_an_archive_without_a_needed_file(network, tmp_path):
    network(archive({name: content for name, content in FILES.items() if name != "shapes.mat"}))
    with pytest.raises(DownloadError, match=r"lacks shapes\.mat"):
        fetch_dataset("costa2024", tmp_path)


def test_a_page_in_place_of_an_archive(network, tmp_path):
    network(b"<html>sign in</html>")
    with pytest.raises(DownloadError, match="By hand"):
        fetch_dataset("costa2024", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_download_that_breaks_off_is_seen_and_leaves_nothing(network, tmp_path):
    whole = archive(FILES)
    network(whole, told=len(whole) + 1)
    with pytest.raises(DownloadError, match=rf"was to give {len(whole) + 1} bytes, and gave {len(whole)}\b.*By hand"):
        fetch_dataset("costa2024", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [http.client.IncompleteRead(b"PK"), TimeoutError("timed out")])
def test_a_connection_that_is_lost_is_told(error, online, tmp_path, monkeypatch):
    def fail(self, size=-1):
        raise error

    monkeypatch.setattr(Answer, "read", fail)
    with pytest.raises(DownloadError, match=r"could not be fetched .*By hand"):
        fetch_dataset("costa2024", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_unknown_datasets_are_refused(tmp_path):
    with pytest.raises(InputFormatError, match="costa2024"):
        fetch_dataset("stephens2008", tmp_path)
