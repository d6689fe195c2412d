"""Hashes of files, and hashes in lists."""

from __future__ import annotations

from pathlib import Path

import pytest
from repository import DATA, read_yaml

from saltlite.errors import FunctionError, UsageError
from saltlite.modules.file import sums
from saltlite.providers.file import hashes

CASES = DATA / "file"


@pytest.mark.parametrize("case", read_yaml(CASES / "hashes.yaml"))
def test_hashes_are_found_in_lists(case, tmp_path):
    path = tmp_path / "list"
    path.write_text(case["list"])
    for asked in case["asked"]:
        found = sums.extract_hash(str(path), *asked["for"])
        assert (found or {}).get("hsum") == asked["found"], asked


def test_hashes_of_files(tmp_path):
    path = str(tmp_path / "e")
    Path(path).write_text("")
    assert sums.get_hash(path, "md5") == "d41d8cd98f00b204e9800998ecf8427e"
    assert sums.get_sum(str(tmp_path)) == "File not found"
    assert sums.check_hash(path, "d41d8cd98f00b204e9800998ecf8427e")
    assert sums.check_hash(path, "md5:d41d8cd98f00b204e9800998ecf8427e")
    assert not sums.check_hash(path, "md5=d41d")
    with pytest.raises(ValueError, match=r"^Invalid hash type: xx$"):
        sums.get_hash(path, "xx")
    with pytest.raises(UsageError, match=r"could not be matched to a supported hash type"):
        sums.check_hash(path, "aa")


@pytest.mark.parametrize("text", ["zzz", "md5=25cc", "md5:" + "a" * 32, ""])
def test_source_hashes_that_are_none(text):
    with pytest.raises(FunctionError, match=r"format is invalid"):
        hashes.from_expression(text)
