"""Keys, certificates and requests for certificates.

Every argument that is a key, certificate or request may be a path or a PEM. Behaviour observed on
Salt 3006.30 with its feature ``x509_v2``, which is the only one that works there without M2Crypto
and the only one of Salt 3008.
"""

from __future__ import annotations

import glob
import os
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, StoreError
from saltlite.providers.x509 import declared as _declared
from saltlite.providers.x509 import documents as _documents
from saltlite.providers.x509 import keys as _keys

_ENTRY = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\n[^-]+-----END \1-----", re.DOTALL)


def _written(text: str, path: str | None, overwrite: bool = True) -> str:
    """The text, or once it is in a file, private from the first moment, a sentence."""
    if path is None:
        return text
    if not overwrite and os.path.lexists(path):
        return f"File at {path} already exists. Nothing was written."
    try:
        disk.put_file(Path(path), text.encode(), mode=disk.PRIVATE_FILE)
    except StoreError as error:
        raise FunctionError(str(error)) from error
    return f"PEM written to {path}"


def create_private_key(
    ctx: MinionContext,
    algo: str = "rsa",
    keysize: int | None = None,
    passphrase: str | None = None,
    encoding: str = "pem",
    pkcs12_encryption_compat: bool = False,
    path: str | None = None,
    raw: bool = False,
    bits: int | None = None,
    **kwargs: Any,
) -> str:
    """A new private key as PEM, or where it was written.

    ``algo`` is ``rsa``, ``ec``, ``ed25519`` or ``ed448``; ``keysize`` (or ``bits``) is 2048, 3072
    or 4096 for the first and 256, 384 or 521 for the second. ``encoding`` can only be ``pem``.

    CLI Example:

        salt '*' x509.create_private_key algo=ec keysize=384
    """
    _declared.require_known(kwargs, encoding)
    key = _keys.generate(algo, keysize or bits)
    return _written(_keys.private_pem(key, passphrase), path)


def create_certificate(
    ctx: MinionContext, path: str | None = None, overwrite: bool = True, **kwargs: Any
) -> str:
    """A new certificate as PEM, or where it was written. Arguments as of the state.

    CLI Example:

        salt '*' x509.create_certificate signing_private_key='/etc/pki/myca.key' CN=example
    """
    wanted = _declared.certificate(ctx.host, kwargs)
    text = _documents.issued(wanted, datetime.now(timezone.utc), _documents.draw_serial())
    return _written(text, path, overwrite)


def create_csr(
    ctx: MinionContext,
    private_key: str,
    private_key_passphrase: str | None = None,
    digest: str = "sha256",
    path: str | None = None,
    **kwargs: Any,
) -> str:
    """A new request for a certificate as PEM, or where it was written. Arguments as of the state.

    CLI Example:

        salt '*' x509.create_csr private_key='/etc/pki/myca.key' CN='My Cert'
    """
    given = {
        **kwargs,
        "private_key": private_key,
        "private_key_passphrase": private_key_passphrase,
        "digest": digest,
    }
    return _written(_documents.requested(_declared.request(ctx.host, given)), path)


def read_certificate(ctx: MinionContext, certificate: str) -> dict[str, Any]:
    """What is in a certificate.

    CLI Example:

        salt '*' x509.read_certificate /etc/pki/mycert.crt
    """
    return _documents.told(_documents.certificate(_declared.source(ctx.host, certificate)))


def read_certificates(ctx: MinionContext, glob_path: str) -> dict[str, dict[str, Any]]:
    """What is in the certificates that a pattern finds, by path; others are left out.

    CLI Example:

        salt '*' x509.read_certificates "/etc/pki/*.crt"
    """
    found = {}
    for path in sorted(glob.glob(glob_path)):
        known = _documents.certificates(ctx.host.read_bytes(path) or b"")
        if known:
            found[path] = _documents.told(known[0])
    return found


def read_csr(ctx: MinionContext, csr: str) -> dict[str, Any]:
    """What is in a request for a certificate.

    CLI Example:

        salt '*' x509.read_csr /etc/pki/mycert.csr
    """
    found = _documents.request(_declared.source(ctx.host, csr))
    if found is None:
        raise FunctionError("Could not load PEM-encoded CSR.")
    return _documents.told_request(found)


def get_public_key(
    ctx: MinionContext, key: str, passphrase: str | None = None, asObj: Any = None
) -> str:
    """The public key of a key, certificate or request, as PEM.

    CLI Example:

        salt '*' x509.get_public_key /etc/pki/mycert.cer
    """
    return _keys.public_pem(_keys.public_key(_declared.source(ctx.host, key), passphrase))


def get_private_key_size(
    ctx: MinionContext, private_key: str, passphrase: str | None = None
) -> int | None:
    """The size of a private key in bits.

    CLI Example:

        salt '*' x509.get_private_key_size /etc/pki/my.key
    """
    return _keys.size_of(_keys.private_key(_declared.source(ctx.host, private_key), passphrase))


def verify_private_key(
    ctx: MinionContext, private_key: str, public_key: str, passphrase: str | None = None
) -> bool:
    """Whether a private key belongs to a public one, a certificate or a request.

    CLI Example:

        salt '*' x509.verify_private_key /etc/pki/myca.key /etc/pki/myca.crt
    """
    private = _keys.private_key(_declared.source(ctx.host, private_key), passphrase)
    return private.public_key() == _keys.public_key(_declared.source(ctx.host, public_key))


def verify_signature(
    ctx: MinionContext,
    certificate: str,
    signing_pub_key: str | None = None,
    signing_pub_key_passphrase: str | None = None,
) -> bool:
    """Whether a certificate is signed by this key or certificate, or else by itself.

    The passphrase is that of a private key, from which the public one is taken.

    CLI Example:

        salt '*' x509.verify_signature /etc/pki/mycert.pem signing_pub_key=/etc/pki/myca.crt
    """
    by = _declared.source(ctx.host, signing_pub_key or certificate)
    have = _documents.certificate(_declared.source(ctx.host, certificate))
    return _documents.is_signed(have, _keys.public_key(by, signing_pub_key_passphrase))


def expires(ctx: MinionContext, certificate: str, days: int = 0) -> bool:
    """Whether a certificate is not valid any more in so many days.

    CLI Example:

        salt '*' x509.expires /etc/pki/my.crt days=7
    """
    end = _documents.certificate(_declared.source(ctx.host, certificate)).not_valid_after_utc
    return end < datetime.now(timezone.utc) + timedelta(days=days)


def expired(ctx: MinionContext, certificate: str) -> dict[str, Any]:
    """``{"path", "cn", "expired"}`` of a certificate.

    CLI Example:

        salt '*' x509.expired "/etc/pki/mycert.crt"
    """
    return {**_whose(ctx, certificate), "expired": expires(ctx, certificate)}


def will_expire(ctx: MinionContext, certificate: str, days: int) -> dict[str, Any]:
    """``{"path", "cn", "check_days", "will_expire"}`` of a certificate.

    CLI Example:

        salt '*' x509.will_expire "/etc/pki/mycert.crt" days=30
    """
    told = {"check_days": days, "will_expire": expires(ctx, certificate, days)}
    return {**_whose(ctx, certificate), **told}


def _whose(ctx: MinionContext, certificate: str) -> dict[str, Any]:
    have = _documents.certificate(_declared.source(ctx.host, certificate))
    name = _documents.common_name(have.subject)
    found: dict[str, Any] = {"path": certificate} if ctx.host.exists(certificate) else {}
    return found if name is None else {**found, "cn": name}


def get_pem_entry(ctx: MinionContext, text: str, pem_type: str | None = None) -> str:
    """The one entry of a PEM, perhaps of a type as ``CERTIFICATE``, in its plain form.

    CLI Example:

        salt '*' x509.get_pem_entry "-----BEGIN CERTIFICATE REQUEST-----MIICyzCC Ar8CAQI...-----END"
    """
    data = _declared.source(ctx.host, text).decode("ascii", "replace")
    entries = [each for each in _ENTRY.finditer(data) if pem_type in (None, each[1])]
    if len(entries) != 1:
        what = f" of type {pem_type}" if pem_type else ""
        raise FunctionError(f"PEM does not contain a single entry{what}")
    return f"{entries[0][0]}\n"


def get_pem_entries(ctx: MinionContext, glob_path: str) -> dict[str, str]:
    """The entries of the files that a pattern finds, by path; files with none are left out.

    CLI Example:

        salt '*' x509.get_pem_entries "/etc/pki/*.crt"
    """
    found: dict[str, str] = {}
    for path in sorted(glob.glob(glob_path)):
        text = (ctx.host.read_bytes(path) or b"").decode("ascii", "replace")
        if len(_ENTRY.findall(text)) == 1:
            found[path] = get_pem_entry(ctx, text)
    return found


def write_pem(
    ctx: MinionContext, text: str, path: str, overwrite: bool = True, pem_type: str | None = None
) -> str:
    """Write the one entry of a PEM into a file that nobody else can read.

    CLI Example:

        salt '*' x509.write_pem text="-----BEGIN CERTIFICATE-----..." path=/etc/pki/mycert.crt
    """
    return _written(get_pem_entry(ctx, text, pem_type), path, overwrite)
