"""Fetching the paper's data, without a network."""

import hashlib
import io
import urllib.error
import zipfile

import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import download
from ethomarkov.io.download import DATASETS, DownloadError, fetch_dataset

FILES = {"PNAS2011-DataStitched.mat": b"amplitudes", "shapes.mat": b"shapes", "EigenWorms.csv": b"1,2\n"}
PAGE = "https://www.kaggle.com/datasets/someone/worms"


class Answer(io.BytesIO):
    def __init__(self, url):
        super().__init__()
        self.url = url

    def geturl(self):
        return self.url


def archive(path, files):
    with zipfile.ZipFile(path, "w") as made:
        for name, content in files.items():
            made.writestr(f"data/Foraging_N2/{name}", content)
    return path


@pytest.fixture
def online(monkeypatch):
    """A network of one page and one archive; give the addresses that were asked for."""
    asked = []

    def retrieve(url, known_hash, fname, path):
        asked.append(url)
        path.mkdir(parents=True, exist_ok=True)
        return str(archive(path / fname, FILES))

    monkeypatch.setattr(download, "urlopen", lambda request, timeout: Answer(PAGE))
    monkeypatch.setattr("pooch.retrieve", retrieve)
    return asked


def test_files_are_taken_out_and_described(online, tmp_path):
    found = fetch_dataset("costa2024", tmp_path / "worms")
    assert online == ["https://www.kaggle.com/api/v1/datasets/download/someone/worms"]
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
def test_a_page_that_is_no_dataset(place, online, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "urlopen", lambda request, timeout: Answer(place))
    with pytest.raises(DownloadError, match="no dataset of Kaggle"):
        fetch_dataset("costa2024", tmp_path)


def test_an_archive_without_a_needed_file(online, tmp_path, monkeypatch):
    partial = {name: content for name, content in FILES.items() if name != "shapes.mat"}
    monkeypatch.setattr("pooch.retrieve", lambda url, known_hash, fname, path: str(archive(path / fname, partial)))
    with pytest.raises(DownloadError, match=r"lacks shapes\.mat"):
        fetch_dataset("costa2024", tmp_path)


def test_a_page_in_place_of_an_archive(online, tmp_path, monkeypatch):
    def page(url, known_hash, fname, path):
        (path / fname).write_text("<html>sign in</html>")
        return str(path / fname)

    monkeypatch.setattr("pooch.retrieve", page)
    with pytest.raises(DownloadError, match="By hand"):
        fetch_dataset("costa2024", tmp_path)


def test_unknown_datasets_are_refused(tmp_path):
    with pytest.raises(InputFormatError, match="costa2024"):
        fetch_dataset("stephens2008", tmp_path)
