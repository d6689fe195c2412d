"""The key directory: states are folders, whoever moves the files."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from saltlite import disk
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import CryptoError, StoreError
from saltlite.master import keystore
from saltlite.master.keystore import KeyState, KeyStore, load_or_make_key


@pytest.fixture(scope="module")
def keys() -> list[PrivateKey]:
    return [PrivateKey.generate(2048) for _ in range(2)]


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    made = KeyStore(tmp_path / "pki")
    made.prepare()
    return made


def test_directories_are_private(store: KeyStore) -> None:
    for path in [store.pki_dir, *store.pki_dir.iterdir()]:
        wanted = 0o600 if path.name == keystore.LOCK_FILE else 0o700
        assert path.stat().st_mode & 0o777 == wanted


def test_a_key_is_in_one_exclusive_state(store: KeyStore) -> None:
    store.put("web1", KeyState.UNACCEPTED, "PEM")
    assert store.state("web1") is KeyState.UNACCEPTED
    assert store.move("web1", KeyState.UNACCEPTED, KeyState.ACCEPTED)
    assert store.state("web1") is KeyState.ACCEPTED
    store.put("web1", KeyState.REJECTED, "PEM")
    assert [store.list(state) for state in KeyState] == [[], [], ["web1"], []]
    assert store.key("web1", KeyState.REJECTED) == "PEM"
    assert store.path("web1", KeyState.REJECTED).stat().st_mode & 0o777 == 0o600


def test_one_id_is_held_once_by_all_and_ids_do_not_wait_for_others(store: KeyStore) -> None:
    """By another process; it ends with its lock, and another store of this process does not."""
    ready, done = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        with KeyStore(store.pki_dir).hold("web1"):
            os.write(ready[1], b"x")
            os.read(done[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    with store.hold("web2"), store.hold_count():
        pass
    slot = zlib.crc32(b"web1")
    with (
        pytest.raises(StoreError, match="locked by another process"),
        disk.hold_lock_slot(store.pki_dir / keystore.LOCK_FILE, slot, patience_s=0.05),
    ):
        pytest.fail("held twice")
    os.write(done[1], b"x")
    with (
        store.hold("web1"),
        pytest.raises(StoreError, match="locked by another process"),
        disk.hold_lock_slot(store.pki_dir / keystore.LOCK_FILE, slot, patience_s=0.05),
    ):
        pytest.fail("held twice by one process")
    os.waitpid(pid, 0)
    for fd in (*ready, *done):
        os.close(fd)


def test_a_denied_key_lies_beside_the_state(store: KeyStore) -> None:
    store.put("web1", KeyState.ACCEPTED, "one")
    store.put("web1", KeyState.DENIED, "two")
    assert store.state("web1") is KeyState.ACCEPTED
    assert store.list(KeyState.DENIED) == ["web1"]


def test_files_moved_by_others_are_seen_at_once(store: KeyStore) -> None:
    store.put("web1", KeyState.UNACCEPTED, "PEM")
    assert store.list(KeyState.UNACCEPTED) == ["web1"]
    os.rename(store.path("web1", KeyState.UNACCEPTED), store.path("web1", KeyState.ACCEPTED))
    assert store.list(KeyState.UNACCEPTED) == []
    assert store.list(KeyState.ACCEPTED) == ["web1"]
    for number in range(50):  # changes faster than the directory's clock ticks
        (store.folder(KeyState.ACCEPTED) / f"m{number}").touch()
        assert len(store.ids(KeyState.ACCEPTED)) == number + 2


def test_names_that_are_no_ids_are_not_listed(store: KeyStore) -> None:
    for name in (".key_cache", ".web1.123.tmp", "a b"):
        (store.folder(KeyState.ACCEPTED) / name).touch()
    assert store.list(KeyState.ACCEPTED) == []


@pytest.mark.parametrize("minion_id", ["", "..", "a/b", "../x", "a\0b", ".hidden", "a b"])
def test_an_id_never_leads_elsewhere(store: KeyStore, minion_id: str) -> None:
    with pytest.raises(ValueError, match="not a minion id"):
        store.path(minion_id, KeyState.ACCEPTED)


def test_the_accepted_key_is_parsed_once_and_again_when_the_file_is_another(
    store: KeyStore, keys: list[PrivateKey]
) -> None:
    assert store.load_accepted("web1") is None
    store.put("web1", KeyState.ACCEPTED, keys[0].public.pem)
    first = store.load_accepted("web1")
    assert first is not None
    assert first.pem == keys[0].public.pem
    assert store.load_accepted("web1") is first
    store.put("web1", KeyState.ACCEPTED, keys[1].public.pem)
    second = store.load_accepted("web1")
    assert second is not None
    assert second.pem == keys[1].public.pem
    store.delete("web1", KeyState.ACCEPTED)
    assert store.load_accepted("web1") is None


@pytest.mark.parametrize("content", ["", "junk", "-----BEGIN PUBLIC KEY-----\nAA\n-----END"])
def test_a_damaged_accepted_key_refuses_that_minion_only(
    store: KeyStore, keys: list[PrivateKey], content: str, caplog: pytest.LogCaptureFixture
) -> None:
    store.put("bad", KeyState.ACCEPTED, content)
    store.put("good", KeyState.ACCEPTED, keys[0].public.pem)
    for _ in range(3):  # anybody may write the id on a request
        assert store.load_accepted("bad") is None
    assert store.load_accepted("good") is not None
    assert caplog.text.count("The accepted key of minion bad cannot be used: ") == 1


def test_a_key_that_is_damaged_once_more_is_told_of_once_more(
    store: KeyStore, keys: list[PrivateKey], caplog: pytest.LogCaptureFixture
) -> None:
    for pem in ("junk", keys[0].public.pem, "junk"):
        store.put("web1", KeyState.ACCEPTED, pem)
        store.load_accepted("web1")
    assert caplog.text.count("The accepted key of minion web1 cannot be used: ") == 2


def test_a_fifo_in_place_of_a_key_blocks_nobody(store: KeyStore) -> None:
    os.mkfifo(store.folder(KeyState.ACCEPTED) / "pipe")
    assert store.load_accepted("pipe") is None


def test_denied_keys_are_bounded(store: KeyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keystore, "DENIED_LIMIT", 3)
    for number in range(5):
        store.put(f"m{number}", KeyState.DENIED, "PEM")
        os.utime(store.path(f"m{number}", KeyState.DENIED), (number, number))
    assert len(store.ids(KeyState.DENIED)) <= 4
    assert "m0" not in store.list(KeyState.DENIED)


def test_the_masters_key_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "master.pem"
    made = load_or_make_key(path, keysize=2048)
    assert path.stat().st_mode & 0o777 == 0o400
    assert load_or_make_key(path, keysize=2048).pem == made.pem
    assert path.with_suffix(".pub").read_text().strip() == made.public.pem


@pytest.mark.parametrize("content", [b"", b"junk", b"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n"])
def test_a_bad_private_key_is_never_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "master.pem"
    path.write_bytes(content)
    with pytest.raises(CryptoError, match=r"master\.pem"):
        load_or_make_key(path, keysize=2048)
    assert path.read_bytes() == content


def test_a_dangling_link_is_not_replaced_by_a_new_key(tmp_path: Path) -> None:
    path = tmp_path / "master.pem"
    path.symlink_to(tmp_path / "gone.pem")
    with pytest.raises(CryptoError):
        load_or_make_key(path, keysize=2048)
    assert path.is_symlink()


def test_a_key_with_a_passphrase_is_made_so_that_it_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "master.pem"
    made = load_or_make_key(path, keysize=2048, passphrase="open sesame")
    assert b"ENCRYPTED" in path.read_bytes()
    assert load_or_make_key(path, keysize=2048, passphrase="open sesame").pem == made.pem
    with pytest.raises(CryptoError, match="needs a passphrase"):
        load_or_make_key(path, keysize=2048)
