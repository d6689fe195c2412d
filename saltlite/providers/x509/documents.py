"""Certificates and requests: what one shall be, whether it is, and making it.

Time and serial numbers are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes

from saltlite import disk
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError, StoreError
from saltlite.providers.x509 import encodings, extension_texts, extensions, keys
from saltlite.providers.x509.encodings import PEM_FORM, CertificateFile, Form
from saltlite.providers.x509.extension_texts import colon_hex, serial_text
from saltlite.providers.x509.keys import PrivateKey, PublicKey
from saltlite.providers.x509.names import common_name, name_hash, name_parts
from saltlite.providers.x509.revocation import signature_name

TIME: Final = "%Y-%m-%d %H:%M:%S"


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateSpec:
    """A certificate as declared. ``days_valid`` counts unless ``not_after`` is there.

    ``chain`` are the certificates that follow in the file. ``signer`` is ``None`` where another
    minion signs; ``own_key`` is the key that PKCS#12 has beside the certificate.
    """

    subject: x509.Name
    public: PublicKey
    issuer: x509.Name
    signer: PrivateKey | None
    authority_key: PublicKey
    extensions: Sequence[tuple[x509.ExtensionType, bool]]
    digest: str
    days_valid: int
    days_remaining: int
    serial: int | None = None
    serial_as_given: Any = None
    not_before: datetime | None = None
    not_after: datetime | None = None
    chain: Sequence[x509.Certificate] = ()
    form: Form = PEM_FORM
    own_key: PrivateKey | None = None


def draw_serial() -> int:
    """A number that no other certificate has."""
    return x509.random_serial_number()


def certificate(data: bytes) -> x509.Certificate:
    """Return the certificate of a file in any encoding; the first one if it has several.

    Raises:
        FunctionError: there is none.
    """
    found = encodings.read_certificates(data)
    if found is None:
        raise FunctionError("Could not load PEM-encoded certificate.")
    return found.certificate


def issue(wanted: CertificateSpec, now: datetime, serial: int) -> x509.Certificate:
    """Return a new certificate.

    Raises:
        FunctionError: the library refuses it.
    """
    if wanted.signer is None:
        raise FunctionError("signing_private_key is missing")
    begin = wanted.not_before or now
    end = wanted.not_after or now + timedelta(days=wanted.days_valid)
    builder = (
        x509.CertificateBuilder()
        .subject_name(wanted.subject)
        .issuer_name(wanted.issuer)
        .public_key(wanted.public)
        .serial_number(wanted.serial or serial)
        .not_valid_before(begin)
        .not_valid_after(end)
    )
    for value, critical in wanted.extensions:
        builder = builder.add_extension(value, critical)
    try:
        return builder.sign(wanted.signer, keys.digest_for(wanted.signer, wanted.digest))
    except ValueError as error:
        raise FunctionError(f"Cannot issue the certificate: {error}") from None


def keep_copy(made: x509.Certificate, directory: object, *, with_name: bool) -> None:
    """Write a certificate below a directory, named after its number and perhaps its CN.

    Raises:
        FunctionError: it cannot be written.
    """
    if not directory:
        return
    name = common_name(made.subject)
    before = f"{name}-" if with_name and name else ""
    path = f"{before}{made.serial_number:x}.crt"
    try:
        data = encodings.encode_plain(made, "pem")
        disk.put_file(disk.child(Path(str(directory)), path), data, mode=0o644)
    except (StoreError, ValueError) as error:
        raise FunctionError(f"Cannot write the copy below {directory}: {error}") from error


def certificate_differences(
    found: CertificateFile, wanted: CertificateSpec, now: datetime
) -> dict[str, Any]:
    """Return what of a file is another than declared, in the form of the state's ``changes``."""
    told = _differences_around(found, wanted)
    have = found.certificate
    if _does_expire(have, wanted, now):
        told["expiration"] = True
    if _digest_name(have) not in (None, wanted.digest.lower()):
        told["digest"] = wanted.digest.lower()
    if wanted.serial is not None and have.serial_number != wanted.serial:
        told["serial_number"] = wanted.serial_as_given
    if have.public_key() != wanted.public:
        told["private_key"] = True
    elif not is_signed(have, wanted.authority_key):
        told["signing_private_key"] = True
    if have.subject != wanted.subject:
        told["subject_name"] = wanted.subject.rfc4514_string()
    if have.issuer != wanted.issuer:
        told["issuer_name"] = wanted.issuer.rfc4514_string()
    if others := extensions.differences(have.extensions, list(wanted.extensions)):
        told["extensions"] = others
    return told


def _differences_around(found: CertificateFile, wanted: CertificateSpec) -> dict[str, Any]:
    form = wanted.form
    told: dict[str, Any] = {}
    if found.encoding != form.encoding:
        told["encoding"] = form.encoding
    elif found.encoding == "pkcs12" and found.friendly_name != (form.friendly_name or None):
        told["pkcs12_friendlyname"] = form.friendly_name
    if not _same_chain(found, wanted.chain):
        told["additional_certs"] = True
    return told


ONLY_AROUND: Final = frozenset({"additional_certs", "encoding", "pkcs12_friendlyname"})
"""Differences that need no other certificate, only another file."""


def _same_chain(found: CertificateFile, wanted: Sequence[x509.Certificate]) -> bool:
    have, should = (
        [each.fingerprint(hashes.SHA256()) for each in chain] for chain in (found.chain, wanted)
    )
    if found.encoding.startswith("pkcs7"):  # it has no order
        return sorted(have) == sorted(should)
    return have == should


def _does_expire(have: x509.Certificate, wanted: CertificateSpec, now: datetime) -> bool:
    if wanted.not_before is not None and have.not_valid_before_utc != wanted.not_before:
        return True
    if wanted.not_after is not None:
        return have.not_valid_after_utc != wanted.not_after
    return have.not_valid_after_utc - now < timedelta(days=wanted.days_remaining)


def _digest_name(have: x509.Certificate | x509.CertificateSigningRequest) -> str | None:
    algorithm = have.signature_hash_algorithm
    return None if algorithm is None else algorithm.name.replace("-", "_")


def is_signed(have: x509.Certificate, by: PublicKey) -> bool:
    """Whether this key has signed a certificate."""
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

    algorithm, signature, data = (
        have.signature_hash_algorithm,
        have.signature,
        have.tbs_certificate_bytes,
    )
    try:
        if isinstance(by, rsa.RSAPublicKey) and algorithm is not None:
            by.verify(signature, data, padding.PKCS1v15(), algorithm)
        elif isinstance(by, ec.EllipticCurvePublicKey) and algorithm is not None:
            by.verify(signature, data, ec.ECDSA(algorithm))
        elif not isinstance(by, (rsa.RSAPublicKey, ec.EllipticCurvePublicKey)):
            by.verify(signature, data)
        else:
            return False
    except InvalidSignature:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class CsrSpec:
    """A certificate signing request as declared."""

    subject: x509.Name
    key: PrivateKey
    extensions: Sequence[tuple[x509.ExtensionType, bool]]
    digest: str
    encoding: str = "pem"


def build_request(wanted: CsrSpec) -> x509.CertificateSigningRequest:
    """Return a new request."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(wanted.subject)
    for value, critical in wanted.extensions:
        builder = builder.add_extension(value, critical)
    return builder.sign(wanted.key, keys.digest_for(wanted.key, wanted.digest))


def request(data: bytes) -> x509.CertificateSigningRequest | None:
    """Return a request in PEM or DER; ``None`` if this is none."""
    found = encodings.read_request(data)
    return None if found is None else found[0]


def request_differences(
    have: x509.CertificateSigningRequest, encoding: str, wanted: CsrSpec
) -> dict[str, Any]:
    """Return what is another than declared, in the form of the state's ``changes``."""
    told: dict[str, Any] = {}
    if encoding != wanted.encoding:
        told["encoding"] = wanted.encoding
    if _digest_name(have) not in (None, wanted.digest.lower()):
        told["digest"] = wanted.digest.lower()
    if have.public_key() != wanted.key.public_key():
        told["private_key"] = True
    if have.subject != wanted.subject:
        told["subject_name"] = wanted.subject.rfc4514_string()
    if others := extensions.differences(have.extensions, list(wanted.extensions)):
        told["extensions"] = others
    return told


def describe(have: x509.Certificate) -> dict[str, Any]:
    """A certificate as ``read_certificate`` tells it."""
    public = _public_key(have)
    prints: Iterable[hashes.HashAlgorithm] = (
        hashes.SHA1(),  # noqa: S303 - a fingerprint by which people know it
        hashes.SHA256(),
        hashes.MD5(),  # noqa: S303 - as above
    )
    return {
        "version": have.version.value + 1,
        "key_size": keys.size_of(public),
        "key_type": keys.algorithm(public),
        "serial_number": serial_text(have.serial_number),
        "fingerprints": {each.name: colon_hex(have.fingerprint(each)) for each in prints},
        "subject": name_parts(have.subject),
        "subject_hash": name_hash(have.subject),
        "subject_str": have.subject.rfc4514_string(),
        "issuer": name_parts(have.issuer),
        "issuer_hash": name_hash(have.issuer),
        "issuer_str": have.issuer.rfc4514_string(),
        "not_before": have.not_valid_before_utc.strftime(TIME),
        "not_after": have.not_valid_after_utc.strftime(TIME),
        "public_key": keys.public_pem(public),
        "extensions": extension_texts.describe(have.extensions),
        "signature_algorithm": signature_name(have),
    }


def describe_request(have: x509.CertificateSigningRequest) -> dict[str, Any]:
    """A request as ``read_csr`` tells it."""
    public = _public_key(have)
    identifier = x509.SubjectKeyIdentifier.from_public_key(public).digest
    return {
        "key_size": keys.size_of(public),
        "key_type": keys.algorithm(public),
        "subject": name_parts(have.subject),
        "subject_hash": name_hash(have.subject),
        "subject_str": have.subject.rfc4514_string(),
        "public_key_hash": colon_hex(identifier),
        "extensions": extension_texts.describe(have.extensions),
    }


def _public_key(have: x509.Certificate | x509.CertificateSigningRequest) -> PublicKey:
    found = have.public_key()
    if isinstance(found, PublicKey):
        return found
    raise FunctionError("This kind of public key is not supported")
