"""Keys, certificates and requests for certificates.

Every argument that is a key, certificate or request may be a path, or a PEM, hex or base64.
Behaviour observed on Salt 3006.30 with its feature ``x509_v2``, which is the only one that works
there without M2Crypto and the only one of Salt 3008.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from saltlite import disk
from saltlite.context import MinionContext
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, StoreError
from saltlite.providers.x509 import declared as _declared
from saltlite.providers.x509 import documents as _documents
from saltlite.providers.x509 import encodings as _encodings
from saltlite.providers.x509 import keys as _keys
from saltlite.providers.x509 import names as _names
from saltlite.providers.x509 import policies as _policies
from saltlite.providers.x509 import revocation as _revocation

_ENTRY = regex(r"-----BEGIN ([A-Z0-9 ]+)-----\n[^-]+-----END \1-----", re.DOTALL)


def _write_document(
    data: bytes, encoding: str, path: str | None, *, raw: bool = False, overwrite: bool = True
) -> str | bytes:
    """Return text, or bytes with ``raw``; or a sentence once it is in a file, private at once."""
    if path is None:
        return data if raw else _encodings.as_text(data, encoding)
    if not overwrite and os.path.lexists(path):
        return f"File at {path} already exists. Nothing was written."
    try:
        disk.put_file(Path(path), data, mode=disk.PRIVATE_FILE)
    except StoreError as error:
        raise FunctionError(str(error)) from error
    return f"PEM written to {path}" if encoding == "pem" else f"File written to {path}"


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
) -> str | bytes:
    """Make a new private key; return it, or where it was written.

    ``algo`` is ``rsa``, ``ec``, ``ed25519`` or ``ed448``; ``keysize`` (or ``bits``) is 2048, 3072
    or 4096 for the first and 256, 384 or 521 for the second. ``encoding`` is ``pem``, or ``der`` or
    ``pkcs12`` in base64; with ``raw`` as bytes.

    CLI Example:

        salt '*' x509.create_private_key algo=ec keysize=384
    """
    _declared.require_known(kwargs)
    _keys.require_encoding(encoding)
    key = _keys.generate(algo, keysize or bits)
    data = _keys.encode_private(key, passphrase, encoding, compat=pkcs12_encryption_compat)
    return _write_document(data, encoding, path, raw=raw)


def encode_private_key(
    ctx: MinionContext,
    private_key: object,
    encoding: str = "pem",
    passphrase: str | None = None,
    private_key_passphrase: str | None = None,
    pkcs12_encryption_compat: bool = False,
    raw: bool = False,
) -> str | bytes:
    """Return a private key in another encoding, or with another passphrase.

    CLI Example:

        salt '*' x509.encode_private_key /etc/pki/my.key der
    """
    key = _keys.private_key(_declared.source(ctx.host, private_key), private_key_passphrase)
    data = _keys.encode_private(key, passphrase, encoding, compat=pkcs12_encryption_compat)
    return _write_document(data, encoding, None, raw=raw)


def create_certificate(
    ctx: MinionContext,
    ca_server: str | None = None,
    signing_policy: str | None = None,
    encoding: str = "pem",
    append_certs: object = None,
    pkcs12_passphrase: str | None = None,
    pkcs12_encryption_compat: bool = False,
    pkcs12_friendlyname: str | None = None,
    path: str | None = None,
    overwrite: bool = True,
    raw: bool = False,
    **kwargs: Any,
) -> str | bytes:
    """Make a new certificate; return it, or where it was written. Arguments as of the state.

    ``encoding`` is ``pem``, ``pkcs7_pem``, or in base64 ``der``, ``pkcs7_der``, ``pkcs12``; with
    ``raw`` as bytes.

    CLI Example:

        salt '*' x509.create_certificate signing_private_key='/etc/pki/myca.key' CN=example
    """
    copypath, prepend_cn = kwargs.pop("copypath", None), bool(kwargs.pop("prepend_cn", False))
    given = {
        **kwargs,
        "ca_server": ca_server,
        "signing_policy": signing_policy,
        "encoding": encoding,
        "append_certs": append_certs,
        "pkcs12_passphrase": pkcs12_passphrase,
        "pkcs12_encryption_compat": pkcs12_encryption_compat,
        "pkcs12_friendlyname": pkcs12_friendlyname,
    }
    policy = _policies.apply_policy(ctx, given)
    wanted = _declared.certificate(ctx.host, policy)
    made = _issue_certificate(ctx, given, signing_policy, wanted)
    _documents.keep_copy(made, copypath, with_name=prepend_cn)
    data = _encodings.encode_certificate(made, wanted.chain, wanted.form, wanted.own_key)
    return _write_document(data, encoding, path, raw=raw, overwrite=overwrite)


def _issue_certificate(
    ctx: MinionContext,
    given: dict[str, Any],
    policy: str | None,
    wanted: _documents.CertificateSpec,
) -> _encodings.Certificate:
    if given["ca_server"] is not None:
        return _policies.sign_remotely(ctx, given, str(policy), wanted)
    return _documents.issue(wanted, datetime.now(timezone.utc), _documents.draw_serial())


def encode_certificate(
    ctx: MinionContext,
    certificate: object,
    encoding: str = "pem",
    append_certs: object = None,
    private_key: object = None,
    private_key_passphrase: str | None = None,
    pkcs12_passphrase: str | None = None,
    pkcs12_encryption_compat: bool = False,
    pkcs12_friendlyname: str | None = None,
    raw: bool = False,
) -> str | bytes:
    """Return a certificate in another encoding, with others after it, or with its key (pkcs12).

    CLI Example:

        salt '*' x509.encode_certificate /etc/pki/my.crt pem /etc/pki/ca.crt
    """
    if encoding != "pkcs12" and private_key:
        raise FunctionError("Embedding private keys is only supported for pkcs12 encoding")
    form = _declared.form(
        _declared.Declaration(
            encoding=encoding,
            append_certs=append_certs,
            pkcs12_passphrase=pkcs12_passphrase,
            pkcs12_encryption_compat=pkcs12_encryption_compat,
            pkcs12_friendlyname=pkcs12_friendlyname,
        )
    )
    key = None
    if private_key:
        key = _keys.private_key(_declared.source(ctx.host, private_key), private_key_passphrase)
    have = _documents.certificate(_declared.source(ctx.host, certificate))
    chain = _declared.chain(ctx.host, append_certs or ())
    data = _encodings.encode_certificate(have, chain, form, key)
    return _write_document(data, encoding, None, raw=raw)


def create_csr(
    ctx: MinionContext,
    private_key: object,
    private_key_passphrase: str | None = None,
    digest: str = "sha256",
    encoding: str = "pem",
    path: str | None = None,
    raw: bool = False,
    **kwargs: Any,
) -> str | bytes:
    """Make a request for a certificate; return it, or where it was written.

    Arguments as of the state; ``encoding`` is ``pem``, or ``der`` in base64, with ``raw`` as bytes.

    CLI Example:

        salt '*' x509.create_csr private_key='/etc/pki/myca.key' CN='My Cert'
    """
    digest = kwargs.pop("algorithm", digest)  # its old name
    given = {
        **kwargs,
        "private_key": private_key,
        "private_key_passphrase": private_key_passphrase,
        "digest": digest,
        "encoding": encoding,
    }
    made = _documents.build_request(_declared.request(ctx.host, given))
    return _write_document(_encodings.encode_plain(made, encoding), encoding, path, raw=raw)


def encode_csr(
    ctx: MinionContext, csr: object, encoding: str = "pem", raw: bool = False
) -> str | bytes:
    """Return a request in another encoding.

    CLI Example:

        salt '*' x509.encode_csr /etc/pki/my.csr der
    """
    found = _documents.request(_declared.source(ctx.host, csr))
    if found is None:
        raise FunctionError("Could not load PEM-encoded CSR.")
    return _write_document(_encodings.encode_plain(found, encoding), encoding, None, raw=raw)


def create_crl(
    ctx: MinionContext,
    signing_private_key: object,
    revoked: object,
    signing_cert: object,
    signing_private_key_passphrase: str | None = None,
    include_expired: bool = False,
    days_valid: int | None = None,
    digest: str = "sha256",
    encoding: str = "pem",
    extensions: object = None,
    path: str | None = None,
    raw: bool = False,
    **kwargs: Any,
) -> str | bytes:
    """Make a list of revoked certificates; return it, or where it was written.

    ``revoked`` is a list of maps with ``serial_number`` or ``certificate``, ``not_after``,
    ``revocation_date`` and ``extensions`` (``CRLReason``, ``invalidityDate``). The list is valid
    for ``days_valid`` days (100).

    CLI Example:

        salt '*' x509.create_crl signing_cert=/etc/pki/ca.crt signing_private_key=/etc/pki/ca.key revoked="[]"
    """  # noqa: E501 - a command that is to be copied
    given = {
        **kwargs,
        "signing_private_key": signing_private_key,
        "revoked": revoked,
        "signing_cert": signing_cert,
        "signing_private_key_passphrase": signing_private_key_passphrase,
        "include_expired": include_expired,
        "days_valid": days_valid,
        "digest": digest,
        "encoding": encoding,
        "extensions": extensions,
    }
    now = datetime.now(timezone.utc)
    made = _revocation.make_list(_declared.revocation_list(ctx.host, given, now), now)
    return _write_document(_encodings.encode_plain(made, encoding), encoding, path, raw=raw)


def encode_crl(
    ctx: MinionContext, crl: object, encoding: str = "pem", raw: bool = False
) -> str | bytes:
    """Return a list of revoked certificates in another encoding.

    CLI Example:

        salt '*' x509.encode_crl /etc/pki/my.crl der
    """
    return _write_document(
        _encodings.encode_plain(_build_crl(ctx, crl), encoding), encoding, None, raw=raw
    )


def _build_crl(ctx: MinionContext, given: object) -> _encodings.RevocationList:
    found = _encodings.read_list(_declared.source(ctx.host, given))
    if found is None:
        raise FunctionError("Could not load PEM-encoded certificate revocation list.")
    return found[0]


def read_crl(ctx: MinionContext, crl: object) -> dict[str, Any]:
    """Return what is in a list of revoked certificates.

    CLI Example:

        salt '*' x509.read_crl /etc/pki/my.crl
    """
    return _revocation.describe(_build_crl(ctx, crl))


def verify_crl(ctx: MinionContext, crl: object, cert: object) -> bool:
    """Whether a list is signed by the key of this certificate.

    CLI Example:

        salt '*' x509.verify_crl /etc/pki/my.crl /etc/pki/my.crt
    """
    key = _keys.public_key(_declared.source(ctx.host, cert))
    return _build_crl(ctx, crl).is_signature_valid(key)


def get_signing_policy(
    ctx: MinionContext, signing_policy: str, ca_server: str | None = None
) -> dict[str, Any]:
    """Return a signing policy of this minion, or what another one tells of its own.

    CLI Example:

        salt '*' x509.get_signing_policy www
    """
    if ca_server is None:
        return _policies.find_policy(ctx, signing_policy)
    found = _policies.ask(ctx, ca_server, signing_policy, {}, only_policy=True)
    return dict(found or {})


def sign_remote_certificate(
    ctx: MinionContext,
    signing_policy: str,
    kwargs: object,
    get_signing_policy_only: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """Sign a certificate for another minion, as a signing policy lays down.

    Who asks is known by the master (``peer`` allows it this function) and has to be among the
    ``minions`` of the policy.

    CLI Example:

        salt '*' x509.sign_remote_certificate www kwargs="{'public_key': '/etc/pki/www.key'}"
    """
    requester = more.get("__pub_id")
    return _policies.answer_request(
        ctx,
        signing_policy,
        kwargs,
        None if requester is None else str(requester),
        only_policy=bool(get_signing_policy_only),
    )


def read_certificate(ctx: MinionContext, certificate: str) -> dict[str, Any]:
    """What is in a certificate.

    CLI Example:

        salt '*' x509.read_certificate /etc/pki/mycert.crt
    """
    return _documents.describe(_documents.certificate(_declared.source(ctx.host, certificate)))


def read_certificates(ctx: MinionContext, glob_path: str) -> dict[str, dict[str, Any]]:
    """What is in the certificates that a pattern finds, by path; others are left out.

    CLI Example:

        salt '*' x509.read_certificates "/etc/pki/*.crt"
    """
    found = {}
    for path in sorted(glob.glob(glob_path)):
        with contextlib.suppress(_encodings.WrongPassphrase):
            known = _encodings.read_certificates(ctx.host.read_bytes(path) or b"")
            if known:
                found[path] = _documents.describe(known.certificate)
    return found


def read_csr(ctx: MinionContext, csr: str) -> dict[str, Any]:
    """What is in a request for a certificate.

    CLI Example:

        salt '*' x509.read_csr /etc/pki/mycert.csr
    """
    found = _documents.request(_declared.source(ctx.host, csr))
    if found is None:
        raise FunctionError("Could not load PEM-encoded CSR.")
    return _documents.describe_request(found)


def get_public_key(
    ctx: MinionContext, key: str, passphrase: str | None = None, asObj: object = None
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
    return {**_describe_issuer(ctx, certificate), "expired": expires(ctx, certificate)}


def will_expire(ctx: MinionContext, certificate: str, days: int) -> dict[str, Any]:
    """``{"path", "cn", "check_days", "will_expire"}`` of a certificate.

    CLI Example:

        salt '*' x509.will_expire "/etc/pki/mycert.crt" days=30
    """
    told = {"check_days": days, "will_expire": expires(ctx, certificate, days)}
    return {**_describe_issuer(ctx, certificate), **told}


def _describe_issuer(ctx: MinionContext, certificate: str) -> dict[str, Any]:
    have = _documents.certificate(_declared.source(ctx.host, certificate))
    name = _names.common_name(have.subject)
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
    entry = get_pem_entry(ctx, text, pem_type).encode()
    return str(_write_document(entry, "pem", path, overwrite=overwrite))
