"""Packages of the extras."""

import json

import pytest

from ethomarkov._core.optional import require
from ethomarkov.exceptions import EthomarkovError, MissingDependencyError


def test_an_installed_package_is_returned():
    assert require("json", extra="x", purpose="reading") is json


@pytest.mark.parametrize("module", ["ethomarkov_absent", "ethomarkov_absent.inner"])
def test_a_missing_package_says_how_to_install_it(module):
    with pytest.raises(MissingDependencyError) as caught:
        require(module, extra="cluster", purpose="clusters")
    assert str(caught.value) == 'ethomarkov_absent is needed for clusters: pip install "ethomarkov[cluster]"'
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, EthomarkovError)


def test_a_broken_package_shows_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "ethomarkov_broken.py").write_text("import ethomarkov_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="ethomarkov_not_there") as caught:
        require("ethomarkov_broken", extra="x", purpose="y")
    assert not isinstance(caught.value, MissingDependencyError)
