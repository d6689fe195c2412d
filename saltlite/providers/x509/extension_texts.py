"""Extensions as ``read_certificate``, ``read_csr`` and ``read_crl`` tell them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cryptography import x509

from saltlite.providers.x509.extensions import NAMES_BY_OID, PURPOSES, TIME, name_of
from saltlite.providers.x509.names import general_text, general_texts

_PURPOSE_NAMES = {
    oid.dotted_string: name
    for name, oid in PURPOSES.items()
    if name not in ("msCodeInd", "msCodeCom", "msCTLSign", "msEFS")  # told as numbers, as in Salt
}
_ACCESS_NAMES = {
    "1.3.6.1.5.5.7.48.1": "OCSP",
    "1.3.6.1.5.5.7.48.2": "caIssuers",
    "1.3.6.1.5.5.7.48.5": "caRepository",
}


def describe(found: Iterable[x509.Extension[x509.ExtensionType]]) -> dict[str, Any]:
    """Return what is in extensions, by their names; in the order of the table of names."""
    order = list(NAMES_BY_OID)
    listed = sorted(found, key=lambda each: _rank_of(order, each.oid.dotted_string))
    return {name_of(e.oid): {"critical": e.critical, **_show_value(e.value)} for e in listed}


def _rank_of(order: list[str], number: str) -> int:
    return order.index(number) if number in order else len(order)


def colon_hex(data: bytes | None) -> str | None:
    """Return ``AB:CD``."""
    return None if data is None else data.hex(":").upper()


def serial_text(number: int) -> str:
    """Return ``01:AB``."""
    length = max(1, (number.bit_length() + 7) // 8)
    return number.to_bytes(length, "big").hex(":").upper()


def _show_value(value: x509.ExtensionType) -> dict[str, Any]:
    match value:
        case x509.BasicConstraints():
            return {"ca": value.ca, "pathlen": value.path_length}
        case x509.KeyUsage():
            return _show_usages(value)
        case x509.ExtendedKeyUsage():
            names = (each.dotted_string for each in value)
            return {"value": [_PURPOSE_NAMES.get(each, each) for each in names]}
        case x509.SubjectKeyIdentifier():
            return {"value": colon_hex(value.digest)}
        case x509.AuthorityKeyIdentifier():
            return _show_authority(value)
        case (
            x509.SubjectAlternativeName() | x509.IssuerAlternativeName() | x509.CertificateIssuer()
        ):
            return {"value": general_texts(value)}
        case x509.CRLDistributionPoints() | x509.FreshestCRL():
            return {"value": [_show_point(each) for each in value]}
        case x509.AuthorityInformationAccess():
            return {"value": [_show_access(each) for each in value]}
    return _rarer_values(value)


def _rarer_values(value: x509.ExtensionType) -> dict[str, Any]:
    match value:
        case x509.IssuingDistributionPoint():
            return _issuing_point(value)
        case x509.CertificatePolicies():
            return {"value": [_show_policy(each) for each in value]}
        case x509.PolicyConstraints():
            return {
                "inhibitPolicyMapping": value.inhibit_policy_mapping,
                "requireExplicitPolicy": value.require_explicit_policy,
            }
        case x509.InhibitAnyPolicy():
            return {"value": value.skip_certs}
        case x509.NameConstraints():
            return {
                "excluded": general_texts(value.excluded_subtrees),
                "permitted": general_texts(value.permitted_subtrees),
            }
        case x509.OCSPNoCheck():
            return {"value": True}
        case x509.TLSFeature():
            return {"value": [each.name for each in value]}
    return _values_of_lists(value)


def _values_of_lists(value: x509.ExtensionType) -> dict[str, Any]:
    match value:
        case x509.CRLNumber() | x509.DeltaCRLIndicator():
            return {"value": value.crl_number}
        case x509.CRLReason():
            return {"value": value.reason.value}
        case x509.InvalidityDate():
            return {"value": value.invalidity_date_utc.strftime(TIME)}
    return {"value": colon_hex(value.public_bytes())}


def _show_usages(value: x509.KeyUsage) -> dict[str, bool]:
    plain = {
        "digitalSignature": value.digital_signature,
        "nonRepudiation": value.content_commitment,
        "keyEncipherment": value.key_encipherment,
        "dataEncipherment": value.data_encipherment,
        "keyAgreement": value.key_agreement,
        "keyCertSign": value.key_cert_sign,
        "cRLSign": value.crl_sign,
        "encipherOnly": value.key_agreement and value.encipher_only,
        "decipherOnly": value.key_agreement and value.decipher_only,
    }
    return dict(sorted(plain.items()))


def _show_authority(value: x509.AuthorityKeyIdentifier) -> dict[str, Any]:
    serial = value.authority_cert_serial_number
    return {
        "keyid": colon_hex(value.key_identifier),
        "issuer": general_texts(value.authority_cert_issuer) or None,
        "issuer_sn": None if serial is None else serial_text(serial),
    }


def _show_reasons(given: frozenset[x509.ReasonFlags] | None) -> list[str]:
    return sorted(each.value for each in given or ())


def _show_relative(name: x509.RelativeDistinguishedName | None) -> str | None:
    return None if name is None else name.rfc4514_string()


def _show_point(point: x509.DistributionPoint) -> dict[str, Any]:
    return {
        "crlissuer": general_texts(point.crl_issuer),
        "fullname": general_texts(point.full_name),
        "reasons": _show_reasons(point.reasons),
        "relativename": _show_relative(point.relative_name),
    }


def _show_access(description: x509.AccessDescription) -> dict[str, str]:
    number = description.access_method.dotted_string
    place = general_text(description.access_location).partition(":")[2]
    return {_ACCESS_NAMES.get(number, number): place}


def _issuing_point(value: x509.IssuingDistributionPoint) -> dict[str, Any]:
    return {
        "fullname": general_texts(value.full_name),
        "onlysomereasons": _show_reasons(value.only_some_reasons),
        "relativename": _show_relative(value.relative_name),
        "onlyuser": value.only_contains_user_certs,
        "onlyCA": value.only_contains_ca_certs,
        "onlyAA": value.only_contains_attribute_certs,
        "indirectCRL": value.indirect_crl,
    }


def _show_policy(policy: x509.PolicyInformation) -> dict[str, list[dict[str, Any]]]:
    listed = [_show_qualifier(each) for each in policy.policy_qualifiers or ()]
    return {policy.policy_identifier.dotted_string: listed}


def _show_qualifier(given: str | x509.UserNotice) -> dict[str, Any]:
    if isinstance(given, str):
        return {"practice_statement": given}
    reference = given.notice_reference
    return {
        "organization": None if reference is None else reference.organization,
        "notice_numbers": None if reference is None else list(reference.notice_numbers),
        "explicit_text": given.explicit_text,
    }
