"""Keys that are accepted unseen: the lists, the markers, the grains."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.master import KeyOptions
from saltlite.master.autosign import AutoSign


@pytest.fixture
def autosign(tmp_path: Path) -> Callable[..., AutoSign]:
    (tmp_path / "minions_autosign").mkdir()

    def make(**options: Any) -> AutoSign:
        return AutoSign(KeyOptions(**options), tmp_path)

    return make


LINES = "# a comment\nweb*\n\nexact.example\nre[0-9]+x\n(broken\n"


@pytest.mark.parametrize(
    ("minion_id", "signed"),
    [
        ("web1", True),
        ("exact.example", True),
        ("re12x", True),
        ("db1", False),
        ("# a comment", False),
    ],
)
def test_the_lists(
    tmp_path: Path, autosign: Callable[..., AutoSign], minion_id: str, signed: bool
) -> None:
    path = tmp_path / "list"
    path.write_text(LINES)
    path.chmod(0o600)
    signs = autosign(autosign_file=str(path), autoreject_file=str(path))
    assert signs.signs(minion_id, {}, 0.0) is signed
    assert signs.rejects(minion_id) is signed


def test_a_slow_line_signs_nobody_and_is_told_of_once(
    tmp_path: Path, autosign: Callable[..., AutoSign], caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "list"
    path.write_text("(a+)+b\nweb1\n")
    path.chmod(0o600)
    signs = autosign(autosign_file=str(path))
    for length in (30, 31, 32):
        assert not signs.signs("a" * length, {}, 0.0)
    assert signs.signs("web1", {}, 0.0)
    assert caplog.text.count("it signs nobody") == 1


def test_a_list_that_others_may_write_counts_for_nothing(
    tmp_path: Path, autosign: Callable[..., AutoSign]
) -> None:
    path = tmp_path / "list"
    path.write_text("*\n")
    path.chmod(0o666)
    signs = autosign(autosign_file=str(path))
    assert not signs.signs("web1", {}, 0.0)
    path.chmod(0o600)
    assert signs.signs("web1", {}, 0.0)
    path.chmod(0o666)
    assert not signs.signs("web1", {}, 0.0)
    assert not autosign(autosign_file=str(tmp_path / "none")).signs("web1", {}, 0.0)


def test_a_marker_counts_once_and_for_a_time(
    tmp_path: Path, autosign: Callable[..., AutoSign]
) -> None:
    signs = autosign(autosign_timeout=1)
    marker = tmp_path / "minions_autosign" / "web1"
    marker.touch()
    os.utime(marker, (1000, 1000))
    assert signs.signs("web1", {}, 1059.0)
    assert not signs.signs("web1", {}, 1061.0)
    signs.sweep(1059.0)
    assert marker.exists()
    signs.consume_marker("web1")
    assert not marker.exists()
    marker.touch()
    os.utime(marker, (1000, 1000))
    signs.sweep(1061.0)
    assert not marker.exists()


def test_grains(tmp_path: Path, autosign: Callable[..., AutoSign]) -> None:
    grains = tmp_path / "grains"
    grains.mkdir(mode=0o700)
    (grains / "uuid").write_text("abc\n7\n")
    (grains / "uuid").chmod(0o600)
    secret = tmp_path / "secret"
    secret.write_text("y\n")
    signs = autosign(autosign_grains_dir=str(grains))
    assert signs.signs("web1", {"uuid": "abc"}, 0.0)
    assert signs.signs("web1", {"uuid": 7}, 0.0)
    assert not signs.signs("web1", {"uuid": "x"}, 0.0)
    assert not signs.signs("web1", {"../secret": "y"}, 0.0)
