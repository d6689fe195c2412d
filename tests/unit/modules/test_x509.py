"""Keys and certificates are made, read and compared; what is read is told as Salt 3006.30 does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from repository import DATA, read_yaml

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.loader.registry import Registry

DOCUMENTS = json.loads((DATA / "x509_documents.json").read_text())
RECORDED = read_yaml(DATA / "x509_read.yaml")

Call = Callable[..., Any]


@pytest.fixture
def call() -> Call:
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx.functions.call


@pytest.mark.parametrize(
    ("function", "what"), [("read_certificate", "certificate"), ("read_csr", "request")]
)
def test_what_is_read_is_told_as_by_salt(call: Call, function: str, what: str) -> None:
    assert call(f"x509.{function}", RECORDED[what]["pem"]) == RECORDED[what]["told"]


def test_each_document_of_salt_is_told_as_by_salt(call: Call) -> None:
    """One with each extension, encoding and kind of key, as ``record/x509`` had Salt tell them."""
    assert len(DOCUMENTS) >= 60
    wrong = [
        f"{found}\n{document['told']}"
        for document in DOCUMENTS
        if (found := call(f"x509.{document['function']}", document["source"])) != document["told"]
    ]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize(
    ("algo", "size"), [("rsa", 2048), ("ec", 384), ("ed25519", None), ("ed448", None)]
)
def test_a_certificate_of_each_kind_of_key(call: Call, algo: str, size: int | None) -> None:
    key = call("x509.create_private_key", algo=algo, keysize=size)
    assert call("x509.get_private_key_size", key) == size
    made = call("x509.create_certificate", signing_private_key=key, CN="x", days_valid=10)
    told = call("x509.read_certificate", made)
    assert (told["key_type"], told["key_size"], told["subject"]) == (algo, size, {"CN": "x"})
    assert told["signature_algorithm"] == {
        "rsa": "sha256WithRSAEncryption",
        "ec": "ecdsa-with-SHA256",
    }.get(algo, algo)
    assert call("x509.verify_private_key", key, made) is True
    assert call("x509.verify_signature", made) is True
    assert call("x509.get_public_key", key) == call("x509.get_public_key", made)
    other = call("x509.create_private_key", algo="ec")
    assert call("x509.verify_private_key", other, made) is False
    assert call("x509.verify_signature", made, other) is False


def test_files_that_are_written_are_private(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "k"
    assert call("x509.create_private_key", algo="ec", path=str(path)) == f"PEM written to {path}"
    assert path.stat().st_mode & 0o777 == 0o600
    copy = tmp_path / "c"
    call("x509.write_pem", str(path), str(copy))
    assert copy.read_bytes() == path.read_bytes()
    said = call("x509.write_pem", str(path), str(copy), overwrite=False)
    assert said == f"File at {copy} already exists. Nothing was written."


def test_a_request_is_the_base_of_a_certificate(call: Call) -> None:
    mine, theirs = (call("x509.create_private_key", algo="ec") for _ in range(2))
    authority = call("x509.create_certificate", signing_private_key=mine, CN="ca")
    asked = {"subjectAltName": "DNS:a", "basicConstraints": "CA:true", "keyUsage": "keyCertSign"}
    request = call("x509.create_csr", theirs, CN="asked", **asked)
    made = call(
        "x509.create_certificate", signing_private_key=mine, signing_cert=authority, csr=request,
        CN="given", append_certs=[authority], crlDistributionPoints="URI:http://x/crl",
    )  # fmt: skip
    told = call("x509.read_certificate", made)
    point = {"crlissuer": [], "fullname": ["URI:http://x/crl"], "reasons": [], "relativename": None}
    assert (told["subject"], told["issuer"]) == ({"CN": "given"}, {"CN": "ca"})
    assert told["extensions"] == {
        "crlDistributionPoints": {"critical": False, "value": [point]},
        "subjectAltName": {"critical": False, "value": ["DNS:a"]},
    }, "what is asked for makes no authority"
    assert made.endswith(authority)
    assert call("x509.verify_private_key", theirs, made) is True
    assert call("x509.verify_signature", made, authority) is True


def test_how_long_a_certificate_is_valid(call: Call, tmp_path: Path) -> None:
    path = str(tmp_path / "c")
    key = call("x509.create_private_key", algo="ec")
    call("x509.create_certificate", path=path, signing_private_key=key, CN="x", days_valid=10)
    whose = {"path": path, "cn": "x"}
    assert call("x509.expired", path) == {**whose, "expired": False}
    assert call("x509.expires", path, 11) is True
    assert call("x509.will_expire", path, 9) == {**whose, "check_days": 9, "will_expire": False}


def test_entries_of_files(call: Call, tmp_path: Path) -> None:
    key = call("x509.create_private_key", algo="ec", path=str(tmp_path / "k.pem"))
    certificate = RECORDED["certificate"]["pem"]
    (tmp_path / "c.pem").write_text(certificate)
    (tmp_path / "junk.pem").write_text("junk\n")
    entries = call("x509.get_pem_entries", f"{tmp_path}/*.pem")
    assert sorted(entries) == [f"{tmp_path}/c.pem", f"{tmp_path}/k.pem"]
    assert list(call("x509.read_certificates", f"{tmp_path}/*.pem")) == [f"{tmp_path}/c.pem"]
    both = certificate + entries[f"{tmp_path}/k.pem"]
    assert call("x509.get_pem_entry", both, "CERTIFICATE") == certificate
    with pytest.raises(FunctionError, match=r"does not contain a single entry$") as refused:
        call("x509.get_pem_entry", both)
    assert "PRIVATE" not in str(refused.value), key


def test_an_encrypted_key_needs_its_passphrase(call: Call) -> None:
    key = call("x509.create_private_key", algo="ec", passphrase="hunter2")
    assert call("x509.get_private_key_size", key, "hunter2") == 256
    for passphrase, said in ((None, "Private key is encrypted"), ("other", "Bad decrypt")):
        with pytest.raises(FunctionError, match=said) as refused:
            call("x509.get_private_key_size", key, passphrase)
        assert "BEGIN" not in str(refused.value)


@pytest.mark.parametrize("given", ["junk", "/nonexistent/key", "-----BEGIN PRIVATE KEY-----\nx"])
def test_what_is_no_key_is_not_shown(call: Call, given: str) -> None:
    with pytest.raises(FunctionError, match=r"neither a file|Could not load") as refused:
        call("x509.get_private_key_size", given)
    assert given not in str(refused.value)
