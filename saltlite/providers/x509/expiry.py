"""Certificates as the beacon ``cert_info`` tells them: in the words of pyOpenSSL. Pure.

Source: events of Salt 3006.30 with pyOpenSSL 26.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from cryptography import x509

from saltlite.providers.x509 import names, revocation
from saltlite.providers.x509.extensions import name_of

RAW_TIME = "%Y%m%d%H%M%SZ"
TIME = "%Y-%m-%d %H:%M:%SZ"


def expires(certificate: x509.Certificate) -> datetime:
    """When it does, in UTC."""
    return certificate.not_valid_after_utc


def describe(certificate: x509.Certificate, path: str, now: datetime) -> dict[str, Any]:
    """All that an event says of a certificate."""
    after, before = certificate.not_valid_after_utc, certificate.not_valid_before_utc
    return {
        "cert_path": path,
        "issuer": _show_components(certificate.issuer),
        "issuer_dict": names.name_parts(certificate.issuer),
        "notAfter_raw": after.strftime(RAW_TIME),
        "notAfter": after.strftime(TIME),
        "notBefore_raw": before.strftime(RAW_TIME),
        "notBefore": before.strftime(TIME),
        "serial_number": str(certificate.serial_number),
        "signature_algorithm": revocation.signature_name(certificate),
        "subject": _show_components(certificate.subject),
        "subject_dict": names.name_parts(certificate.subject),
        "version": certificate.version.value,
        "extensions": [_show_extension(each) for each in certificate.extensions],
        "has_expired": after < now,
    }


def _show_components(name: x509.Name) -> str:
    return ",".join(f'{part}="{value}"' for part, value in names.name_parts(name).items())


def _show_extension(found: x509.Extension[x509.ExtensionType]) -> dict[str, str]:
    return {"ext_name": name_of(found.oid), "ext_data": _show_value(found.value)}


def _show_value(value: x509.ExtensionType) -> str:
    match value:
        case x509.BasicConstraints():
            length = "" if value.path_length is None else f", pathlen:{value.path_length}"
            return f"CA:{str(value.ca).upper()}{length}"
        case x509.SubjectAlternativeName():
            return ", ".join(map(names.general_text, value))
    return str(value)
