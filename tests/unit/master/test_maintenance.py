"""Maintenance, one task at a time, on directories that change while it looks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from saltlite import disk
from saltlite.channel.payload import open_sealed
from saltlite.config.master import MasterConfig, PathOptions
from saltlite.core import tags
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import CryptoError
from saltlite.master.autosign import AutoSign
from saltlite.master.context import Shared
from saltlite.master.keyactions import ROTATE_REQUEST, request_rotation
from saltlite.master.keystore import KeyState, KeyStore
from saltlite.master.maintenance import LEFTOVER_AGE_S, Maintenance, remove_leftovers
from saltlite.master.publisher import Publisher
from saltlite.master.sessions import Sessions
from saltlite.transport.codec import unpack


class Bus:
    def fire(self, tag: str, data: Any) -> bool:
        return True


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Shared]:
    paths = PathOptions(pki_dir=str(tmp_path / "pki"), cachedir=str(tmp_path / "cache"))
    key = PrivateKey.generate(2048)
    made = Shared(MasterConfig(paths=paths), key=key, sign_key=None, pub_sig=None, user="root")
    KeyStore(made.pki_dir).prepare()
    made.publication.rotate(new_key_string(), 0.0)
    yield made
    made.close()


@pytest.fixture
def maintenance(shared: Shared) -> Maintenance:
    made = Maintenance(shared)
    made._events = Bus()  # type: ignore[assignment]
    return made


def sign_in(shared: Shared, minion_id: str) -> None:
    KeyStore(shared.pki_dir).put(minion_id, KeyState.ACCEPTED, "PEM")
    shared.stores().sessions.get_or_make(minion_id)


def generation(shared: Shared) -> int:
    return shared.publication.current().generation


def do_first(monkeypatch: pytest.MonkeyPatch, kind: type, name: str, do: Callable[[], Any]) -> None:
    """Have something happen just before the first call of a method."""
    method, pending = getattr(kind, name), [do]

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if pending:
            pending.pop()()
        return method(self, *args, **kwargs)

    monkeypatch.setattr(kind, name, call)


def test_a_minion_that_signs_in_during_the_look_keeps_its_session(
    shared: Shared, maintenance: Maintenance, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in(shared, "old")
    do_first(monkeypatch, Sessions, "ids", lambda: sign_in(shared, "new"))
    before = generation(shared)
    maintenance._drop_orphans()
    assert sorted(shared.stores().sessions.ids()) == ["new", "old"]
    assert generation(shared) == before


def test_a_key_that_comes_back_during_the_look_keeps_its_session(
    shared: Shared, maintenance: Maintenance, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in(shared, "web1")
    keys = KeyStore(shared.pki_dir)
    keys.move("web1", KeyState.ACCEPTED, KeyState.REJECTED)

    def take_back() -> None:
        keys.move("web1", KeyState.REJECTED, KeyState.ACCEPTED)

    do_first(monkeypatch, KeyStore, "hold", take_back)
    maintenance._drop_orphans()
    assert shared.stores().sessions.get("web1") is not None


def test_a_session_that_somebody_else_ends_is_not_a_second_reason_to_rotate(
    shared: Shared, maintenance: Maintenance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``salt-key -d`` has asked for another publication key already."""
    sign_in(shared, "web1")
    KeyStore(shared.pki_dir).delete("web1", KeyState.ACCEPTED)
    do_first(monkeypatch, KeyStore, "hold", lambda: shared.stores().sessions.delete("web1"))
    before = generation(shared)
    maintenance._drop_orphans()
    assert generation(shared) == before


def test_a_key_that_went_by_hand_ends_its_session_and_rotates_once(
    shared: Shared, maintenance: Maintenance
) -> None:
    for name in ("web1", "web2", "stays"):
        sign_in(shared, name)
    for name in ("web1", "web2"):
        KeyStore(shared.pki_dir).path(name, KeyState.ACCEPTED).unlink()
    before = generation(shared)
    maintenance._drop_orphans()
    maintenance._drop_orphans()
    assert shared.stores().sessions.ids() == ["stays"]
    assert generation(shared) == before + 1


@pytest.mark.parametrize("is_done", [True, False])
def test_an_old_key_is_changed_as_soon_as_it_can_be(
    shared: Shared, maintenance: Maintenance, monkeypatch: pytest.MonkeyPatch, is_done: bool
) -> None:
    """In a cluster whose engine is away it has to wait, and that is no error each second."""
    told: list[str] = []
    monkeypatch.setattr(maintenance, "_tell_of_rotation", told.append)
    maintenance._generation = generation(shared)
    if not is_done:
        monkeypatch.setattr(shared.publication, "rotate_if", lambda *_given: False)
    monkeypatch.setattr(shared.publication, "age_s", lambda _now_s: 1e9)
    maintenance._look_after_key()
    assert told == (["old"] if is_done else [])


class Sent:
    """In place of the socket of the publish port."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []

    def publish(self, *parts: bytes) -> None:
        self.frames.append(parts[-1])


def publish(shared: Shared) -> Any:
    """What the load of the next publication is, for who knows the key of now."""
    sent = Sent()
    Publisher(shared)._publish_job(sent, {"fun": "test.ping", "jid": "1"}, [b"broadcast"])  # type: ignore[arg-type]
    return unpack(sent.frames[0])["load"]


def test_the_next_publication_has_the_key_that_was_asked_for(
    shared: Shared, maintenance: Maintenance
) -> None:
    before = shared.publication.current()
    request_rotation(shared.cachedir)
    load = publish(shared)
    with pytest.raises(CryptoError):
        open_sealed(Crypticle(before.key), load)
    now = shared.publication.current()
    assert open_sealed(Crypticle(now.key), load)["serial"] == 1
    assert now.generation == before.generation + 1
    maintenance._look_after_key()
    assert generation(shared) == now.generation
    assert not (shared.cachedir / ROTATE_REQUEST).exists()


def test_whoever_changes_the_key_it_is_told_once(shared: Shared, maintenance: Maintenance) -> None:
    told: list[str] = []
    maintenance._events.fire = lambda tag, _data: bool(told.append(tag))  # type: ignore[method-assign,func-returns-value]
    request_rotation(shared.cachedir)
    publish(shared)
    for _ in range(2):
        maintenance._look_after_key()
    request_rotation(shared.cachedir)
    for _ in range(2):
        maintenance._look_after_key()
    assert told == [tags.KEY_ROTATED] * 2


def test_a_request_of_another_mode_is_none(shared: Shared) -> None:
    request_rotation(shared.cachedir)
    (shared.cachedir / ROTATE_REQUEST).chmod(0o600)
    before = generation(shared)
    publish(shared)
    assert generation(shared) == before


# What is left over is swept.


def test_only_old_temporary_files_are_left_overs(tmp_path: Path) -> None:
    old, young, other = (tmp_path / name for name in (".a.1.tmp", ".b.2.tmp", ".root_key"))
    for path in (old, young, other):
        path.write_text("x")
    for path in (old, other):
        os.utime(path, (0, 0))
    remove_leftovers(tmp_path)
    remove_leftovers(tmp_path / "not there")
    assert {path.name for path in tmp_path.iterdir()} == {young.name, other.name}


# What vanishes while it is swept.


class Vanishing:
    """An entry whose file goes between its listing and the look at it."""

    def __init__(self, entry: os.DirEntry[str]) -> None:
        self.name, self.path, self._entry = entry.name, entry.path, entry

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        if "vanishes" in self.name:
            raise FileNotFoundError(2, "No such file or directory", self.path)
        return self._entry.stat(follow_symlinks=follow_symlinks)


@pytest.fixture
def vanishing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.scandir

    class Entries(list[Any]):
        def __enter__(self) -> Entries:
            return self

        def __exit__(self, *_error: object) -> None:
            pass

    def scandir(path: Any) -> Entries:
        with real(path) as entries:
            return Entries(Vanishing(one) for one in entries)

    monkeypatch.setattr(disk.os, "scandir", scandir)


def make_old(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()
        os.utime(folder / name, (0, time.time() - 2 * LEFTOVER_AGE_S))


def test_a_sweep_goes_on_past_what_vanishes(tmp_path: Path, vanishing: None) -> None:
    make_old(tmp_path, ".a.1.tmp", ".vanishes.2.tmp", ".z.3.tmp", "stays")
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".vanishes.2.tmp", "stays"]
    remove_leftovers(tmp_path / "nowhere")


def test_so_do_markers_of_autosign(tmp_path: Path, vanishing: None) -> None:
    from saltlite.config.master import KeyOptions

    signing = AutoSign(KeyOptions(), tmp_path)
    folder = signing._markers
    folder.mkdir()
    make_old(folder, "a", "vanishes", "z")
    for name in ("a", "vanishes", "z"):
        os.utime(folder / name, (0, 0))
    signing.sweep(time.time())
    assert os.listdir(folder) == ["vanishes"]


def test_files_by_age_without_what_vanishes(tmp_path: Path, vanishing: None) -> None:
    for age, name in enumerate(["new.p", "vanishes.p", "old.p", "other"]):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 1000 - age))
    assert [path.name for path in disk.newest_first(tmp_path, ".p")] == ["new.p", "old.p"]
