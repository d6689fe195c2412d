from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace

import pytest

from saltlite.config import identity
from saltlite.config.identity import (
    first_usable,
    names_in_files,
    with_domain,
    without_domain,
)
from saltlite.config.load import load_minion
from saltlite.minion.masters import MasterAddress, resolve


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([], "localhost"),
        (["", "localhost", "localhost.localdomain", "web1"], "web1"),
        (["ip6-localhost", "127.0.0.1", "::1", "fe00::0", "0.0.0.0", "10.1.2.3"], "10.1.2.3"),
        (["a.example.org", "b"], "a.example.org"),
    ],
)
def test_the_first_name_that_is_this_machines_own(names, found):
    assert first_usable(names) == found


def test_names_are_looked_up_only_when_needed():
    def names():
        yield "web1"
        raise AssertionError("asked for more")

    assert first_usable(names()) == "web1"


def test_names_in_files(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/hostname").write_text("box\n")
    (tmp_path / "etc/hosts").write_text(
        "127.0.0.1 localhost # me\n::1\tsix\n10.0.0.1 other\n"
        "127.0.1.1 box.lan box\n\n#127.0.0.1 x\n"
    )
    assert list(names_in_files(tmp_path)) == ["box", "localhost", "six", "box.lan", "box"]
    assert list(names_in_files(tmp_path / "none")) == []


@pytest.mark.parametrize(
    ("name", "remove", "left"),
    [
        ("a.b.c", True, "a"),
        ("a.b.c", False, "a.b.c"),
        ("a.b.c", ["x.y", "b.c"], "a"),
        ("a.b.c", ["c"], "a.b"),
        ("a.b.c", [], "a.b.c"),
        ("10.1.2.3", True, "10.1.2.3"),
    ],
)
def test_without_domain(name, remove, left):
    assert without_domain(name, remove) == left


def test_with_domain():
    assert with_domain("a", "b.c") == "a.b.c"
    assert with_domain("a.b.c", "b.c") == "a.b.c"
    assert with_domain("a.", "b.c") == "a."
    assert with_domain("a", "") == "a"


def nameless(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def refuse(*_args: object, **_kwargs: object) -> list[object]:
        raise UnicodeError("label too long")

    uname = SimpleNamespace(nodename=name)
    monkeypatch.setattr(identity.os, "uname", lambda: uname)
    monkeypatch.setattr(socket, "gethostname", lambda: name)
    monkeypatch.setattr(socket, "getfqdn", refuse if len(name) > 63 else lambda: name)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(identity, "names_in_files", lambda: ["localhost"])


@pytest.mark.parametrize("name", ["", "localhost", "localhost.localdomain"])
def test_a_machine_without_a_name_is_told_of(name, tmp_path, monkeypatch, caplog):
    nameless(monkeypatch, name)
    config = load_minion(tmp_path, {"root_dir": str(tmp_path)}, environ={})
    assert config.identity.id == "localhost"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "its id is localhost" in caplog.text
    assert not identity.cache_file(tmp_path).exists()


def test_a_name_that_is_too_long_for_the_dns_is_an_id(tmp_path, monkeypatch, caplog):
    nameless(monkeypatch, "a" * 64)
    config = load_minion(tmp_path, {"root_dir": str(tmp_path)}, environ={})
    assert config.identity.id == "a" * 64
    assert identity.full_name() == "a" * 64


def test_localhost_that_was_asked_for_is_nothing_to_say(tmp_path, caplog):
    load_minion(tmp_path, {"root_dir": str(tmp_path), "id": "localhost"}, environ={})
    assert not caplog.records


def test_a_masters_name_that_cannot_be_looked_up_is_an_error_as_any_other():
    master = MasterAddress("a" * 64 + ".example", 4506)
    with pytest.raises(OSError, match="looked up"):
        asyncio.run(_resolve(master))


async def _resolve(master):
    return await resolve(master, asyncio.get_running_loop())
