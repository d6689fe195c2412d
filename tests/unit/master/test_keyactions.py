"""What is done with keys, and what becomes of the data of their minions."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.master import MasterConfig, PathOptions
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import CryptoError
from saltlite.master.embedded import open_stores
from saltlite.master.keyactions import KeyActions
from saltlite.master.keystore import KeyState
from saltlite.master.minioncache import GRAINS, MinionCache
from saltlite.master.sessions import Sessions

PEM = PrivateKey.generate(2048).public.pem


@pytest.fixture
def actions(tmp_path: Path) -> tuple[KeyActions, list[tuple[str, Mapping[str, Any]]]]:
    paths = PathOptions(pki_dir=str(tmp_path / "pki"), cachedir=str(tmp_path / "cache"))
    fired: list[tuple[str, Mapping[str, Any]]] = []
    config = MasterConfig(paths=paths)
    stores = open_stores(config)
    made = KeyActions(config, stores, fire=lambda tag, data: fired.append((tag, data)))
    made.store.prepare()
    return made, fired


Actions = tuple[KeyActions, list[tuple[str, Mapping[str, Any]]]]


def test_a_deleted_minion_leaves_nothing_behind(tmp_path: Path, actions: Actions) -> None:
    keys, fired = actions
    cache = MinionCache(tmp_path / "cache")
    sessions = Sessions(tmp_path / "cache/sessions", lifetime_s=3600)
    keys.store.put("web1", KeyState.UNACCEPTED, PEM)
    assert keys.accept("web1")
    assert not keys.accept("web1")
    cache.write(GRAINS, "web1", {"os": "x"})
    sessions.get_or_make("web1")
    assert keys.delete("web1")
    assert not keys.delete("web1")
    assert keys.store.state("web1") is None
    assert sessions.get("web1") is None
    assert cache.read(GRAINS, "web1") is None
    assert stat.S_IMODE((tmp_path / "cache/.dfn").stat().st_mode) == 0o400
    assert [(tag, data["act"]) for tag, data in fired] == [
        ("salt/key", "accept"),
        ("salt/key", "delete"),
    ]


def test_rejecting_and_taking_back(tmp_path: Path, actions: Actions) -> None:
    keys, _fired = actions
    keys.store.put("web1", KeyState.ACCEPTED, PEM)
    assert not keys.reject("web1")
    assert keys.reject("web1", KeyState.ACCEPTED)
    assert (tmp_path / "cache/.dfn").exists()
    assert not keys.accept("web1")
    assert keys.accept("web1", KeyState.REJECTED)
    assert keys.store.state("web1") is KeyState.ACCEPTED


def test_a_denied_key_can_be_taken_up(actions: Actions) -> None:
    keys, _fired = actions
    keys.store.put("web1", KeyState.ACCEPTED, "old")
    keys.store.put("web1", KeyState.DENIED, PEM)
    assert keys.accept("web1", KeyState.DENIED)
    assert keys.store.key("web1", KeyState.ACCEPTED) == PEM
    assert keys.store.list(KeyState.DENIED) == []


@pytest.mark.parametrize("pem", ["", "junk", PEM[:-60], PrivateKey.generate(2048).pem.decode()])
def test_what_is_no_public_key_is_not_accepted(actions: Actions, pem: str) -> None:
    keys, fired = actions
    keys.store.put("web1", KeyState.UNACCEPTED, pem)
    with pytest.raises(CryptoError):
        keys.accept("web1")
    assert keys.store.state("web1") is KeyState.UNACCEPTED
    assert not fired


def test_an_outdated_decision_leaves_the_key_where_it_is_now(actions: Actions) -> None:
    """Each was decided while the key was waiting; since then somebody else has moved it."""
    keys, _fired = actions
    keys.store.put("web1", KeyState.ACCEPTED, PEM)
    assert not keys.delete("web1", [KeyState.UNACCEPTED])
    assert not keys.reject("web1", KeyState.UNACCEPTED)
    assert keys.store.state("web1") is KeyState.ACCEPTED
    keys.store.put("web2", KeyState.REJECTED, PEM)
    assert not keys.accept("web2", KeyState.UNACCEPTED)
    assert keys.store.state("web2") is KeyState.REJECTED


def test_a_made_key_replaces_an_accepted_one_only_if_it_may(
    tmp_path: Path, actions: Actions
) -> None:
    keys, _fired = actions
    sessions = Sessions(tmp_path / "cache/sessions", lifetime_s=3600)
    assert keys.admit("web1", "one", replace=False)
    sessions.get_or_make("web1")
    assert not keys.admit("web1", "two", replace=False)
    assert keys.store.key("web1", KeyState.ACCEPTED) == "one"
    assert sessions.get("web1") is not None
    assert not (tmp_path / "cache/.dfn").exists()
    assert keys.admit("web1", "two", replace=True)
    assert keys.store.key("web1", KeyState.ACCEPTED) == "two"
    assert sessions.get("web1") is None
    assert (tmp_path / "cache/.dfn").exists()
