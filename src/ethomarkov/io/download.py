"""The paper's dataset, from where its authors keep it."""

import hashlib
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.io.atomic import atomic_path

KAGGLE = "www.kaggle.com"
TIMEOUT = 30.0
BLOCK_BYTES = 2**20


class DownloadError(EthomarkovError, OSError):
    """A dataset cannot be fetched; the message says how to get it by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A public dataset.

    Parameters
    ----------
    name
        By which it is asked for.
    title, citation
        What it is, and whom to cite.
    doi
        Address that stays.
    files
        Files that a study needs, by name, with what they hold.
    sha256
        Of the files that are known; of the others none was ever published.
    """

    name: str
    title: str
    citation: str
    doi: str
    files: dict[str, str]
    sha256: dict[str, str]

    @property
    def page(self) -> str:
        """Address of the page that people read."""
        return f"https://doi.org/{self.doi}"

    def instructions(self, into: Path) -> str:
        """Say how to get the dataset by hand."""
        files = "; ".join(f"{name} ({what})" for name, what in self.files.items())
        return (
            f"By hand: open {self.page} in a browser (Kaggle may ask you to sign in), download it, and put these files "
            f"into {into}: {files}. Then run `ethomarkov reproduce --data {into}`."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedFile:
    """A file that was fetched.

    Parameters
    ----------
    path, size, sha256
        Where it is, its bytes, and its hash.
    verified
        Whether the hash was known before and is the same; a file without a known hash is not verified.
    """

    path: Path
    size: int
    sha256: str
    verified: bool


DATASETS = {
    "costa2024": Dataset(
        name="costa2024",
        title="Postures and paths of twelve foraging worms, 35 minutes each",
        citation="Costa, Ahamed, Jordan & Stephens, PNAS 2024, 10.1073/pnas.2318805121; recordings of Stephens et al. "
        "2008 and Broekmans et al. 2016",
        doi="10.34740/kaggle/ds/3882219",
        files={
            "PNAS2011-DataStitched.mat": "mode amplitudes at 16 Hz",
            "shapes.mat": "measured paths and body lengths at 32 Hz",
            "EigenWorms.csv": "shapes of the modes",
        },
        sha256={},
    )
}


def find_dataset(name: str) -> Dataset:
    """Give a dataset by its name."""
    if name not in DATASETS:
        raise InputFormatError(f"No dataset is named {name!r}; there is {', '.join(DATASETS)}. Name one of these.")
    return DATASETS[name]


def fetch_dataset(name: str, into: Path) -> tuple[FetchedFile, ...]:
    """Download a dataset, unless its files are there already.

    Parameters
    ----------
    name
        "costa2024".
    into
        Directory of the files; made if it does not exist.

    Returns
    -------
    The files, each with its hash, and whether that could be verified.
    """
    dataset = find_dataset(name)
    if not all((into / file).is_file() for file in dataset.files):
        try:
            _fetch(dataset, into)
        except (OSError, ValueError, HTTPException, zipfile.BadZipFile) as error:
            raise DownloadError(f"{name} could not be fetched ({error}). {dataset.instructions(into)}") from error
    return tuple(_describe(dataset, into / file) for file in dataset.files)


def _fetch(dataset: Dataset, into: Path) -> None:
    """Download the archive into a file without a name, which vanishes whatever happens, and take the files out."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=into) as archive:
        _download(dataset, archive)
        _extract(archive, dataset, into)


def _download(dataset: Dataset, archive: BinaryIO) -> None:
    """Fetch the archive of a dataset.

    Kaggle makes the archive anew for every download, so that only the files in it can have a hash.
    """
    url = _archive_url(dataset)
    with _open(url) as answer:
        shutil.copyfileobj(answer, archive, BLOCK_BYTES)
        told, size = answer.headers.get("Content-Length"), archive.tell()
    if told is not None and int(told) != size:  # the standard library takes a lost connection for the end
        raise OSError(f"{url} was to give {told} bytes, and gave {size}")


def _archive_url(dataset: Dataset) -> str:
    """Follow the DOI to the dataset's place on Kaggle, which has a public address for its archive."""
    with _open(dataset.page) as answer:
        place = urlsplit(answer.geturl())
    parts = place.path.strip("/").split("/")
    if place.netloc != KAGGLE or parts[0] != "datasets" or len(parts) < 3:
        raise OSError(f"{dataset.page} leads to {place.geturl()}, which is no dataset of Kaggle")
    return f"https://{KAGGLE}/api/v1/datasets/download/{parts[1]}/{parts[2]}"


def _open(url: str) -> HTTPResponse:
    """Ask for an address; an answer that does not come, or stops, is an error after `TIMEOUT` seconds."""
    try:
        answer: HTTPResponse = urlopen(Request(url, headers={"User-Agent": "ethomarkov"}), timeout=TIMEOUT)
    except URLError as error:
        raise OSError(f"no connection to {url}: {error.reason}") from error
    return answer


def _extract(archive: BinaryIO, dataset: Dataset, into: Path) -> None:
    """Take the needed files out of the archive, whatever folders they are in."""
    with zipfile.ZipFile(archive) as opened:
        members = {Path(member).name: member for member in opened.namelist()}
        missing = [file for file in dataset.files if file not in members]
        if missing:
            raise OSError(f"the archive lacks {', '.join(missing)}")
        for file in dataset.files:
            with atomic_path(into / file) as temporary, temporary.open("wb") as target:
                shutil.copyfileobj(opened.open(members[file]), target)


def _describe(dataset: Dataset, path: Path) -> FetchedFile:
    with path.open("rb") as handle:
        digest = hashlib.file_digest(handle, "sha256").hexdigest()
    expected = dataset.sha256.get(path.name)
    if expected is not None and expected != digest:
        raise DownloadError(
            f"{path}: has SHA-256 {digest}, and {expected} is expected. It is damaged or was changed; delete it and "
            "fetch it again."
        )
    return FetchedFile(path=path, size=path.stat().st_size, sha256=digest, verified=expected is not None)
