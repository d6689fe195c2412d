"""Certificates, requests and lists of revoked certificates as bytes: PEM, DER, PKCS#7, PKCS#12."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs7, pkcs12

from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.providers.x509 import keys
from saltlite.providers.x509.keys import PrivateKey

OF_CERTIFICATES: Final = ("pem", "der", "pkcs7_pem", "pkcs7_der", "pkcs12")
PLAIN: Final = ("pem", "der")
TEXTS: Final = ("pem", "pkcs7_pem")
"""Encodings that are text; of others functions give back base64."""

Certificate = x509.Certificate
RevocationList = x509.CertificateRevocationList

_LINE_BEGIN: Final = b"-----BEGIN"


class WrongPassphrase(FunctionError):
    """A container is encrypted, and not with this passphrase."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How a certificate is encoded; all but ``encoding`` is for PKCS#12."""

    encoding: str = "pem"
    passphrase: str | None = field(default=None, repr=False)
    compat: bool = False
    friendly_name: str | None = None


PEM_FORM: Final = Form()


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateFile:
    """What a file has: a certificate, those that come with it, and how they are encoded."""

    certificate: x509.Certificate
    encoding: str
    chain: tuple[x509.Certificate, ...] = ()
    friendly_name: str | None = None


def read_certificates(data: bytes, passphrase: str | None = None) -> CertificateFile | None:
    """Return the certificates of a file; ``None`` if it has none.

    Raises:
        WrongPassphrase: it is PKCS#12 with another passphrase.
    """
    if _LINE_BEGIN in data:
        return _read_pem(data)
    try:
        found = x509.load_der_x509_certificate(data)
        return CertificateFile(certificate=found, encoding="der")
    except ValueError:
        return _read_pkcs12(data, passphrase) or _read_pkcs7(data, "pkcs7_der")


def _read_pem(data: bytes) -> CertificateFile | None:
    if b"-----BEGIN PKCS7" in data:
        return _read_pkcs7(data, "pkcs7_pem")
    try:
        first, *chain = x509.load_pem_x509_certificates(data)
    except ValueError:
        return None
    return CertificateFile(certificate=first, encoding="pem", chain=tuple(chain))


def _read_pkcs12(data: bytes, passphrase: str | None) -> CertificateFile | None:
    try:
        found = pkcs12.load_pkcs12(data, passphrase.encode() if passphrase else None)
    except (ValueError, UnsupportedAlgorithm) as error:
        if "password" in str(error).lower():
            raise WrongPassphrase("Bad decrypt - is the password correct?") from None
        return None
    if found.cert is None:
        return None
    name = found.cert.friendly_name
    return CertificateFile(
        certificate=found.cert.certificate,
        encoding="pkcs12",
        chain=tuple(each.certificate for each in found.additional_certs),
        friendly_name=None if name is None else name.decode("utf-8", "replace"),
    )


def _read_pkcs7(data: bytes, encoding: str) -> CertificateFile | None:
    is_pem = encoding == "pkcs7_pem"
    load = pkcs7.load_pem_pkcs7_certificates if is_pem else pkcs7.load_der_pkcs7_certificates
    try:
        bundle = load(data)
    except (ValueError, UnsupportedAlgorithm):
        return None
    if not bundle:
        return None
    leaf = _find_leaf(bundle)
    chain = tuple(each for each in bundle if each != leaf)
    return CertificateFile(certificate=leaf, encoding=encoding, chain=chain)


def _find_leaf(bundle: Sequence[x509.Certificate]) -> x509.Certificate:
    """The one that none of the others is issued by: PKCS#7 has no order."""
    for each in bundle:
        if not any(other.issuer == each.subject for other in bundle if other != each):
            return each
    return bundle[0]


def encode_certificate(
    certificate: x509.Certificate,
    chain: Sequence[x509.Certificate],
    form: Form,
    key: PrivateKey | None = None,
) -> bytes:
    """Return a certificate and those that come with it; ``key`` goes into PKCS#12 alone.

    Raises:
        FunctionError: this encoding cannot have that, or there is none such.
    """
    keys.require_encoding(form.encoding, OF_CERTIFICATES)
    if form.encoding == "der" and chain:
        raise FunctionError("Cannot encode a certificate chain in DER")
    if form.encoding == "pkcs12":
        return _encode_pkcs12(certificate, chain, form, key)
    if form.encoding in PLAIN:
        return b"".join(encode_plain(each, form.encoding) for each in (certificate, *chain))
    kind = (
        serialization.Encoding.PEM if form.encoding == "pkcs7_pem" else serialization.Encoding.DER
    )
    return pkcs7.serialize_certificates([certificate, *chain], kind)


def _encode_pkcs12(
    certificate: x509.Certificate,
    chain: Sequence[x509.Certificate],
    form: Form,
    key: PrivateKey | None,
) -> bytes:
    if key is None:
        raise FunctionError(
            "Creating a PKCS12-encoded certificate without embedded private key is unsupported"
        )
    name = form.friendly_name.encode() if form.friendly_name else None
    how = keys.encryption(form.passphrase, "pkcs12", compat=form.compat)
    return pkcs12.serialize_key_and_certificates(name, key, certificate, list(chain), how)


Plain = x509.Certificate | x509.CertificateSigningRequest | x509.CertificateRevocationList


def encode_plain(document: Plain, encoding: str) -> bytes:
    """Return one document in PEM or DER.

    Raises:
        FunctionError: there is no such encoding.
    """
    keys.require_encoding(encoding, PLAIN)
    is_pem = encoding == "pem"
    return document.public_bytes(
        serialization.Encoding.PEM if is_pem else serialization.Encoding.DER
    )


def read_request(data: bytes) -> tuple[x509.CertificateSigningRequest, str] | None:
    """Return a request and its encoding; ``None`` if this is none."""
    is_pem = _LINE_BEGIN in data
    try:
        load = x509.load_pem_x509_csr if is_pem else x509.load_der_x509_csr
        return load(data), "pem" if is_pem else "der"
    except ValueError:
        return None


def read_list(data: bytes) -> tuple[x509.CertificateRevocationList, str] | None:
    """Return a list of revoked certificates and its encoding; ``None`` if this is none."""
    is_pem = _LINE_BEGIN in data
    try:
        load = x509.load_pem_x509_crl if is_pem else x509.load_der_x509_crl
        return load(data), "pem" if is_pem else "der"
    except ValueError:
        return None


def as_text(data: bytes, encoding: str) -> str:
    """Return what a function gives back: text, or base64 of what is none."""
    import base64

    return data.decode() if encoding in TEXTS else base64.b64encode(data).decode()
