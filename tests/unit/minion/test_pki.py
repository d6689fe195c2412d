from __future__ import annotations

from pathlib import Path

import pytest

from saltlite.crypto.keys import PrivateKey
from saltlite.errors import CryptoError
from saltlite.minion.pki import MinionKeys


@pytest.fixture(scope="module")
def key() -> PrivateKey:
    return PrivateKey.generate(2048)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_key_is_made_once_and_private(tmp_path: Path) -> None:
    files = MinionKeys(tmp_path / "pki")
    made = files.own(2048)
    assert files.own(2048).pem == made.pem
    assert mode(tmp_path / "pki") == 0o700
    assert mode(tmp_path / "pki" / "minion.pem") == 0o400
    assert (tmp_path / "pki" / "minion.pub").read_text() == made.public.pem + "\n"


@pytest.mark.parametrize("junk", [b"", b"\x00\xff" * 50, b"-----BEGIN RSA PRIVATE KEY-----\n"])
def test_a_bad_private_key_is_never_overwritten(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "minion.pem"
    path.write_bytes(junk)
    with pytest.raises(CryptoError, match=r"minion\.pem"):
        MinionKeys(tmp_path).own(2048)
    assert path.read_bytes() == junk


def test_a_link_to_nowhere_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "minion.pem").symlink_to(tmp_path / "nowhere")
    with pytest.raises(CryptoError):
        MinionKeys(tmp_path).own(2048)
    assert not (tmp_path / "nowhere").exists()


def test_the_master_is_pinned_as_salt_does_it(tmp_path: Path, key: PrivateKey) -> None:
    files = MinionKeys(tmp_path)
    assert files.load_pinned() is None
    files.pin(key.public)
    pinned = files.load_pinned()
    assert pinned is not None
    assert pinned.pem == key.public.pem
    path = tmp_path / "minion_master.pub"
    assert path.read_text() == key.public.pem, "no newline at the end"
    assert mode(path) == 0o600
    path.write_text(key.public.pem.replace("\n", "\r\n") + "\r\n")
    pinned = files.load_pinned()
    assert pinned is not None
    assert pinned.pem == key.public.pem


@pytest.mark.parametrize("junk", [b"", b"\xff", b"-----BEGIN PUBLIC KEY-----\nMIIB"])
def test_a_bad_pinned_key_is_an_error_and_not_a_new_first_contact(
    tmp_path: Path, junk: bytes
) -> None:
    (tmp_path / "minion_master.pub").write_bytes(junk)
    with pytest.raises(CryptoError, match=r"minion_master\.pub"):
        MinionKeys(tmp_path).load_pinned()


def test_the_signing_key_has_to_be_there(tmp_path: Path, key: PrivateKey) -> None:
    with pytest.raises(CryptoError, match="no such key"):
        MinionKeys(tmp_path).signing("master_sign")
    (tmp_path / "master_sign.pub").write_text(key.public.pem)
    assert MinionKeys(tmp_path).signing("master_sign").pem == key.public.pem
