"""Certificates and requests: what one shall be, whether it is, and making it.

Time and serial numbers are arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID, SignatureAlgorithmOID

from saltlite.errors import FunctionError
from saltlite.providers.x509 import extensions, keys
from saltlite.providers.x509.extensions import hexed, serial_text
from saltlite.providers.x509.keys import PrivateKey, PublicKey

PARTS: Final = {
    "C": NameOID.COUNTRY_NAME,
    "ST": NameOID.STATE_OR_PROVINCE_NAME,
    "L": NameOID.LOCALITY_NAME,
    "STREET": NameOID.STREET_ADDRESS,
    "O": NameOID.ORGANIZATION_NAME,
    "OU": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "CN": NameOID.COMMON_NAME,
    "MAIL": NameOID.EMAIL_ADDRESS,
    "SN": NameOID.SURNAME,
    "GN": NameOID.GIVEN_NAME,
    "UID": NameOID.USER_ID,
    "SERIALNUMBER": NameOID.SERIAL_NUMBER,
}
"""Parts of a subject by their arguments, in the order in which they are written."""

TIME: Final = "%Y-%m-%d %H:%M:%S"
_PART_NAMES: Final = {oid.dotted_string: name for name, oid in PARTS.items()}


def subject_of(given: Any, parts: Mapping[str, Any]) -> x509.Name:
    """A name from one text or list (``CN=a,O=b``), or from its parts.

    Raises:
        FunctionError: it is no name.
    """
    try:
        if given:
            text = ",".join(map(str, given)) if isinstance(given, list) else str(given)
            return x509.Name.from_rfc4514_string(text)
        named = [(oid, parts[name]) for name, oid in PARTS.items() if parts.get(name) is not None]
        return x509.Name([x509.NameAttribute(oid, str(value)) for oid, value in named])
    except ValueError as error:
        raise FunctionError(f"Invalid subject: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A certificate as declared. ``days_valid`` counts unless ``not_after`` is there.

    ``chain`` are the certificates that follow in the file.
    """

    subject: x509.Name
    public: PublicKey
    issuer: x509.Name
    signer: PrivateKey
    extensions: Sequence[tuple[x509.ExtensionType, bool]]
    digest: str
    days_valid: int
    days_remaining: int
    serial: int | None = None
    not_before: datetime | None = None
    not_after: datetime | None = None
    chain: Sequence[x509.Certificate] = ()


def draw_serial() -> int:
    """A number that no other certificate has."""
    return x509.random_serial_number()


def common_name(name: x509.Name) -> str | None:
    """The first CN of a name; ``None`` without one."""
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else None


def certificate(data: bytes) -> x509.Certificate:
    """The first certificate of a PEM.

    Raises:
        FunctionError: there is none.
    """
    found = certificates(data)
    if not found:
        raise FunctionError("Could not load PEM-encoded certificate.")
    return found[0]


def certificates(data: bytes) -> list[x509.Certificate] | None:
    """The certificates of a PEM; ``None`` if these are none."""
    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError:
        return None


def issued(wanted: Wanted, now: datetime, serial: int) -> str:
    """A new certificate, and those of its chain."""
    begin = wanted.not_before or now
    end = wanted.not_after or begin + timedelta(days=wanted.days_valid)
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
        made = builder.sign(wanted.signer, keys.digest_for(wanted.signer, wanted.digest))
    except ValueError as error:
        raise FunctionError(f"Cannot issue the certificate: {error}") from None
    return "".join(map(pem, (made, *wanted.chain)))


def pem(document: x509.Certificate | x509.CertificateSigningRequest) -> str:
    """As text."""
    return document.public_bytes(serialization.Encoding.PEM).decode()


def certificate_differences(
    found: Sequence[x509.Certificate], wanted: Wanted, now: datetime
) -> dict[str, Any]:
    """What of a file is another than declared, in the form of the state's ``changes``."""
    have = found[0]
    told: dict[str, Any] = {}
    if [each.fingerprint(hashes.SHA256()) for each in found[1:]] != [
        each.fingerprint(hashes.SHA256()) for each in wanted.chain
    ]:
        told["additional_certs"] = True
    if _expires(have, wanted, now):
        told["expiration"] = True
    if _digest(have) not in (None, wanted.digest.lower()):
        told["digest"] = wanted.digest.lower()
    if wanted.serial is not None and have.serial_number != wanted.serial:
        told["serial_number"] = wanted.serial
    if have.public_key() != wanted.public:
        told["private_key"] = True
    elif not is_signed(have, wanted.signer.public_key()):
        told["signing_private_key"] = True
    if not same_name(have.subject, wanted.subject):
        told["subject_name"] = wanted.subject.rfc4514_string()
    if not same_name(have.issuer, wanted.issuer):
        told["issuer_name"] = wanted.issuer.rfc4514_string()
    if others := extensions.differences(have.extensions, wanted.extensions):
        told["extensions"] = others
    return told


def same_name(one: x509.Name, other: x509.Name) -> bool:
    """Whether two names have the same parts, in any order."""
    return _parts(one) == _parts(other)


def _parts(name: x509.Name) -> list[str]:
    return sorted(each.rfc4514_string() for each in name.rdns)


def _expires(have: x509.Certificate, wanted: Wanted, now: datetime) -> bool:
    if wanted.not_before is not None and have.not_valid_before_utc != wanted.not_before:
        return True
    if wanted.not_after is not None:
        return have.not_valid_after_utc != wanted.not_after
    return have.not_valid_after_utc - now < timedelta(days=wanted.days_remaining)


def _digest(have: x509.Certificate | x509.CertificateSigningRequest) -> str | None:
    algorithm = have.signature_hash_algorithm
    return None if algorithm is None else algorithm.name


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
class Request:
    """A certificate signing request as declared."""

    subject: x509.Name
    key: PrivateKey
    extensions: Sequence[tuple[x509.ExtensionType, bool]]
    digest: str


def requested(wanted: Request) -> str:
    """A new request."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(wanted.subject)
    for value, critical in wanted.extensions:
        builder = builder.add_extension(value, critical)
    return pem(builder.sign(wanted.key, keys.digest_for(wanted.key, wanted.digest)))


def request(data: bytes) -> x509.CertificateSigningRequest | None:
    """The request of a PEM; ``None`` if this is none."""
    try:
        return x509.load_pem_x509_csr(data)
    except ValueError:
        return None


def request_differences(have: x509.CertificateSigningRequest, wanted: Request) -> dict[str, Any]:
    """What is another than declared, in the form of the state's ``changes``."""
    told: dict[str, Any] = {}
    if _digest(have) not in (None, wanted.digest.lower()):
        told["digest"] = wanted.digest.lower()
    if have.public_key() != wanted.key.public_key():
        told["private_key"] = True
    if not same_name(have.subject, wanted.subject):
        told["subject_name"] = wanted.subject.rfc4514_string()
    if others := extensions.differences(have.extensions, wanted.extensions):
        told["extensions"] = others
    return told


def named(name: x509.Name) -> dict[str, str]:
    """The parts of a name, by their short names."""
    return {
        _PART_NAMES.get(each.oid.dotted_string, each.oid.dotted_string): str(each.value)
        for each in name
    }


def signature_name(have: x509.Certificate) -> str:
    """The name of the algorithm of a signature, as OpenSSL has it."""
    digest = _digest(have)
    if digest is None:
        is_short = have.signature_algorithm_oid == SignatureAlgorithmOID.ED25519
        return "ed25519" if is_short else "ed448"
    is_rsa = have.signature_algorithm_oid.dotted_string.startswith("1.2.840.113549.")
    return f"{digest}WithRSAEncryption" if is_rsa else f"ecdsa-with-{digest.upper()}"


def told(have: x509.Certificate) -> dict[str, Any]:
    """A certificate as ``read_certificate`` tells it."""
    public = _public(have)
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
        "fingerprints": {each.name: hexed(have.fingerprint(each)) for each in prints},
        "subject": named(have.subject),
        "subject_str": have.subject.rfc4514_string(),
        "issuer": named(have.issuer),
        "issuer_str": have.issuer.rfc4514_string(),
        "not_before": have.not_valid_before_utc.strftime(TIME),
        "not_after": have.not_valid_after_utc.strftime(TIME),
        "public_key": keys.public_pem(public),
        "extensions": extensions.told(have.extensions),
        "signature_algorithm": signature_name(have),
    }


def told_request(have: x509.CertificateSigningRequest) -> dict[str, Any]:
    """A request as ``read_csr`` tells it."""
    public = _public(have)
    identifier = x509.SubjectKeyIdentifier.from_public_key(public).digest
    return {
        "key_size": keys.size_of(public),
        "key_type": keys.algorithm(public),
        "subject": named(have.subject),
        "subject_str": have.subject.rfc4514_string(),
        "public_key_hash": hexed(identifier),
        "extensions": extensions.told(have.extensions),
    }


def _public(have: x509.Certificate | x509.CertificateSigningRequest) -> PublicKey:
    found = have.public_key()
    if isinstance(found, PublicKey):
        return found
    raise FunctionError("This kind of public key is not supported")
