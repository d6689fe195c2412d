"""Lists of revoked certificates: what one shall be, whether it is, and making it.

Time is an argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from cryptography import x509
from cryptography.x509.oid import SignatureAlgorithmOID

from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.providers.x509 import extension_texts, extensions, keys, names
from saltlite.providers.x509.keys import PrivateKey

DAYS_VALID: Final = 100
DAYS_REMAINING: Final = 30
AUTO: Final = "auto"
"""The value of ``cRLNumber`` that counts up with each list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokedCertificate:
    """One revoked certificate; ``None`` for ``date``: now, or as it is in the list already."""

    serial: int
    date: datetime | None
    extensions: Sequence[tuple[x509.ExtensionType, bool]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedList:
    """A list as declared. With ``counts`` its number is one more than that of the list before."""

    issuer: x509.Name
    signer: PrivateKey
    entries: Sequence[RevokedCertificate]
    extensions: Sequence[tuple[x509.ExtensionType, bool]]
    digest: str
    days_valid: int
    days_remaining: int
    counts: bool = False


def make_list(
    wanted: WantedList, now: datetime, before: x509.CertificateRevocationList | None = None
) -> x509.CertificateRevocationList:
    """Return a new list that takes the place of ``before``.

    Raises:
        FunctionError: the library refuses it.
    """
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(wanted.issuer)
        .last_update(now)
        .next_update(now + timedelta(days=wanted.days_valid))
    )
    own = list(wanted.extensions)
    if wanted.counts:
        own.append((x509.CRLNumber(_list_number(before) + 1), False))
    try:
        for entry in wanted.entries:
            builder = builder.add_revoked_certificate(_make_entry(entry, now))
        for value, critical in own:
            builder = builder.add_extension(value, critical)
        return builder.sign(wanted.signer, keys.digest_for(wanted.signer, wanted.digest))
    except ValueError as error:
        raise FunctionError(f"Cannot make the list: {error}") from None


def _make_entry(entry: RevokedCertificate, now: datetime) -> x509.RevokedCertificate:
    builder = x509.RevokedCertificateBuilder().serial_number(entry.serial)
    builder = builder.revocation_date(entry.date or now)
    for value, critical in entry.extensions:
        builder = builder.add_extension(value, critical)
    return builder.build()


def _list_number(have: x509.CertificateRevocationList | None) -> int:
    if have is None:
        return 0
    try:
        return have.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number
    except x509.ExtensionNotFound:
        return 0


def list_differences(
    have: x509.CertificateRevocationList, wanted: WantedList, now: datetime
) -> dict[str, Any]:
    """Return what of a list is another than declared, in the form of the state's ``changes``."""
    told: dict[str, Any] = {}
    algorithm = have.signature_hash_algorithm
    if algorithm is not None and _plain_name(algorithm.name) != _plain_name(wanted.digest):
        told["digest"] = wanted.digest
    end = have.next_update_utc
    if end is not None and end - now < timedelta(days=wanted.days_remaining):
        told["expiration"] = True
    if have.issuer != wanted.issuer:
        told["issuer_name"] = wanted.issuer.rfc4514_string()
    if not have.is_signature_valid(wanted.signer.public_key()):
        told["public_key"] = True
    if revoked := _differences_of_entries(have, wanted.entries):
        told["revocations"] = revoked
    if others := _differences_of_extensions(have, wanted):
        told["extensions"] = others
    return told


def _plain_name(digest: str) -> str:
    return digest.lower().replace("-", "_")


def _differences_of_entries(
    have: x509.CertificateRevocationList, wanted: Sequence[RevokedCertificate]
) -> dict[str, list[str]]:
    there = {each.serial_number: each for each in have}
    should = {each.serial: each for each in wanted}
    told = {
        "added": [serial for serial in should if serial not in there],
        "changed": [
            serial
            for serial, entry in should.items()
            if serial in there
            and extensions.differences(there[serial].extensions, list(entry.extensions))
        ],
        "removed": [serial for serial in there if serial not in should],
    }
    if not any(told.values()):
        return {}
    return {how: sorted(map(extension_texts.serial_text, each)) for how, each in told.items()}


def _differences_of_extensions(
    have: x509.CertificateRevocationList, wanted: WantedList
) -> dict[str, list[str]]:
    told = extensions.differences(have.extensions, list(wanted.extensions))
    if not wanted.counts:
        return told
    if _list_number(have):  # it has a number; which one does not count
        told = {how: [name for name in each if name != "cRLNumber"] for how, each in told.items()}
        return told if any(told.values()) else {}
    return {**told, "added": [*told.get("added", []), "cRLNumber"]}


def describe(have: x509.CertificateRevocationList) -> dict[str, Any]:
    """Return a list as ``read_crl`` tells it."""
    update = have.next_update_utc
    return {
        "issuer": names.name_parts(have.issuer),
        "last_update": have.last_update_utc.strftime(extensions.TIME),
        "next_update": None if update is None else update.strftime(extensions.TIME),
        "revoked_certificates": {
            extension_texts.serial_text(each.serial_number).replace(":", ""): _describe_entry(each)
            for each in have
        },
        "extensions": extension_texts.describe(have.extensions),
        "signature_algorithm": signature_name(have),
    }


def _describe_entry(entry: x509.RevokedCertificate) -> Mapping[str, Any]:
    return {
        "revocation_date": entry.revocation_date_utc.strftime(extensions.TIME),
        "extensions": extension_texts.describe(entry.extensions),
    }


def signature_name(have: x509.Certificate | x509.CertificateRevocationList) -> str:
    """Return the name of the algorithm of a signature, as OpenSSL has it."""
    algorithm = have.signature_hash_algorithm
    if algorithm is None:
        is_short = have.signature_algorithm_oid == SignatureAlgorithmOID.ED25519
        return "ed25519" if is_short else "ed448"
    number = have.signature_algorithm_oid.dotted_string
    digest = algorithm.name
    if number.startswith("1.2.840.113549."):
        return f"{digest}WithRSAEncryption"
    return f"ecdsa-with-{digest.upper()}"
