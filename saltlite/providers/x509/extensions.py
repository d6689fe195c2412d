"""Extensions as states declare them (``critical CA:true``, lists, maps) and as they are told."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

from saltlite.errors import FunctionError
from saltlite.providers.x509.keys import PublicKey

USAGES: Final = {
    "digitalSignature": "digital_signature",
    "nonRepudiation": "content_commitment",
    "keyEncipherment": "key_encipherment",
    "dataEncipherment": "data_encipherment",
    "keyAgreement": "key_agreement",
    "keyCertSign": "key_cert_sign",
    "cRLSign": "crl_sign",
    "encipherOnly": "encipher_only",
    "decipherOnly": "decipher_only",
}
_PURPOSES: Final = {
    "serverAuth": ExtendedKeyUsageOID.SERVER_AUTH,
    "clientAuth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "codeSigning": ExtendedKeyUsageOID.CODE_SIGNING,
    "emailProtection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "timeStamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "OCSPSigning": ExtendedKeyUsageOID.OCSP_SIGNING,
}
_PURPOSE_NAMES: Final = {oid.dotted_string: name for name, oid in _PURPOSES.items()}


@dataclass(frozen=True, slots=True)
class Keys:
    """What extensions are derived from: the key that is certified, and who certifies it."""

    subject: PublicKey
    issuer: PublicKey
    issuer_certificate: x509.Certificate | None = None


def _words(given: Any) -> tuple[bool, list[str]]:
    """Whether it is critical, and the rest, of a text with commas or a list."""
    parts = given if isinstance(given, (list, tuple)) else re.split(r",\s*", str(given))
    words = [str(each).strip() for each in parts]
    if words and words[0].split()[:1] == ["critical"]:
        rest = words[0].removeprefix("critical").strip()
        return True, [*([rest] if rest else []), *words[1:]]
    return False, [each for each in words if each]


def _basic(given: Any, keys: Keys) -> tuple[x509.ExtensionType, bool]:
    if isinstance(given, Mapping):
        critical, told = bool(given.get("critical")), {str(k): v for k, v in given.items()}
    else:
        critical, words = _words(given)
        told = dict(each.split(":", 1) for each in words if ":" in each)
    told = {name.lower(): value for name, value in told.items()}
    if "ca" not in told:
        raise FunctionError("Invalid configuration for basicConstraints: CA:true or CA:false lacks")
    is_ca = str(told["ca"]).strip().lower() == "true"
    length = told.get("pathlen")
    depth = None if length is None or not is_ca else int(length)
    return x509.BasicConstraints(is_ca, depth), critical


def _usage(given: Any, keys: Keys) -> tuple[x509.ExtensionType, bool]:
    critical, words = _words(given)
    if unknown := [each for each in words if each not in USAGES]:
        raise FunctionError(f"Invalid keyUsage: {unknown[0]}. Valid: {', '.join(USAGES)}")
    flags = {flag: name in words for name, flag in USAGES.items()}
    return x509.KeyUsage(**flags), critical


def _purposes(given: Any, keys: Keys) -> tuple[x509.ExtensionType, bool]:
    critical, words = _words(given)
    return x509.ExtendedKeyUsage([_purpose(each) for each in words]), critical


def _purpose(name: str) -> x509.ObjectIdentifier:
    try:
        return _PURPOSES.get(name) or x509.ObjectIdentifier(name)
    except ValueError:
        raise FunctionError(f"Invalid oid: {name}") from None


def _subject_key(given: Any, keys: Keys) -> tuple[x509.ExtensionType, bool]:
    critical, words = _words(given)
    if words == ["hash"]:
        return x509.SubjectKeyIdentifier.from_public_key(keys.subject), critical
    try:
        return x509.SubjectKeyIdentifier(bytes.fromhex("".join(words).replace(":", ""))), critical
    except ValueError:
        raise FunctionError("subjectKeyIdentifier is neither hash nor hexadecimal") from None


def _authority_key(given: Any, keys: Keys) -> tuple[x509.ExtensionType, bool]:
    critical, words = _words(given)
    wanted = {each.partition(":")[0]: each.partition(":")[2] for each in words}
    signer = keys.issuer_certificate
    if wanted.get("issuer") == "always" and signer is None:
        raise FunctionError(
            "Could not add authority_cert_issuer and authority_cert_serial_number, "
            "but was set to always."
        )
    issuer = serial = None
    if wanted.get("issuer") == "always" and signer is not None:
        issuer, serial = [x509.DirectoryName(signer.issuer)], signer.serial_number
    key = x509.AuthorityKeyIdentifier.from_issuer_public_key(keys.issuer).key_identifier
    return x509.AuthorityKeyIdentifier(key, issuer, serial), critical


def _names(given: Any) -> tuple[bool, list[x509.GeneralName]]:
    critical, words = _words(given)
    return critical, [_general(each) for each in words]


def _general(text: str) -> x509.GeneralName:
    kind, _, value = text.partition(":")
    try:
        match kind.strip().lower():
            case "dns":
                return x509.DNSName(value.strip().encode("idna").decode())
            case "ip":
                address = value.strip()
                is_net = "/" in address
                return x509.IPAddress(
                    ipaddress.ip_network(address) if is_net else ipaddress.ip_address(address)
                )
            case "email":
                return x509.RFC822Name(value.strip())
            case "uri":
                return x509.UniformResourceIdentifier(value.strip())
            case "rid":
                return x509.RegisteredID(x509.ObjectIdentifier(value.strip()))
    except ValueError as error:
        raise FunctionError(f"{text} is no valid name: {error}") from None
    raise FunctionError(f"GeneralName type {kind.lower()} is invalid")


def _alternatives(given: Any, keys: Keys) -> tuple[x509.ExtensionType, bool]:
    critical, names = _names(given)
    return x509.SubjectAlternativeName(names), critical


def _points(given: Any, keys: Keys) -> tuple[x509.ExtensionType, bool]:
    critical, names = _names(given)
    points = [x509.DistributionPoint([each], None, None, None) for each in names]
    return x509.CRLDistributionPoints(points), critical


_PARSERS: Final[
    dict[str, tuple[x509.ObjectIdentifier, Callable[..., tuple[x509.ExtensionType, bool]]]]
] = {
    "basicConstraints": (ExtensionOID.BASIC_CONSTRAINTS, _basic),
    "keyUsage": (ExtensionOID.KEY_USAGE, _usage),
    "extendedKeyUsage": (ExtensionOID.EXTENDED_KEY_USAGE, _purposes),
    "subjectKeyIdentifier": (ExtensionOID.SUBJECT_KEY_IDENTIFIER, _subject_key),
    "authorityKeyIdentifier": (ExtensionOID.AUTHORITY_KEY_IDENTIFIER, _authority_key),
    "subjectAltName": (ExtensionOID.SUBJECT_ALTERNATIVE_NAME, _alternatives),
    "crlDistributionPoints": (ExtensionOID.CRL_DISTRIBUTION_POINTS, _points),
}
NAMES: Final = tuple(_PARSERS)
_NAMES_BY_OID: Final = {oid.dotted_string: name for name, (oid, _) in _PARSERS.items()}


def parsed(declared: Mapping[str, Any], keys: Keys) -> list[tuple[x509.ExtensionType, bool]]:
    """The extensions and whether each is critical, in a fixed order.

    Raises:
        FunctionError: one is not as it may be.
    """
    return [_PARSERS[name][1](declared[name], keys) for name in NAMES if name in declared]


def name_of(extension: x509.ObjectIdentifier) -> str:
    """The name in declarations; the dotted number if it has none."""
    return _NAMES_BY_OID.get(extension.dotted_string, extension.dotted_string)


def differences(
    found: x509.Extensions, wanted: Sequence[tuple[x509.ExtensionType, bool]]
) -> dict[str, list[str]]:
    """``{"added", "changed", "removed"}``: names of extensions; empty if they are the same."""
    there = {each.oid: (each.value, each.critical) for each in found}
    should = {value.oid: (value, critical) for value, critical in wanted}
    told = {
        "added": [name_of(oid) for oid in should if oid not in there],
        "changed": [name_of(o) for o in should if o in there and should[o] != there[o]],
        "removed": [name_of(oid) for oid in there if oid not in should],
    }
    return told if any(told.values()) else {}


def told(found: x509.Extensions) -> dict[str, Any]:
    """Extensions as ``read_certificate`` tells them."""
    return {name_of(e.oid): {"critical": e.critical, **_values(e.value)} for e in found}


def hexed(data: bytes | None) -> str | None:
    """``AB:CD``."""
    return None if data is None else data.hex(":").upper()


def _values(value: x509.ExtensionType) -> dict[str, Any]:
    match value:
        case x509.BasicConstraints():
            return {"ca": value.ca, "pathlen": value.path_length}
        case x509.KeyUsage():
            return _usages(value)
        case x509.ExtendedKeyUsage():
            names = (each.dotted_string for each in value)
            return {"value": [_PURPOSE_NAMES.get(each, each) for each in names]}
        case x509.SubjectKeyIdentifier():
            return {"value": hexed(value.digest)}
        case x509.AuthorityKeyIdentifier():
            issuers = [general_text(each) for each in value.authority_cert_issuer or ()]
            serial = value.authority_cert_serial_number
            return {
                "keyid": hexed(value.key_identifier),
                "issuer": issuers or None,
                "issuer_sn": None if serial is None else serial_text(serial),
            }
        case x509.SubjectAlternativeName():
            return {"value": [general_text(each) for each in value]}
        case x509.CRLDistributionPoints():
            points = (each.full_name or [] for each in value)
            return {"value": [general_text(name) for names in points for name in names]}
    return {"value": hexed(value.public_bytes())}


def _usages(value: x509.KeyUsage) -> dict[str, bool]:
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


def general_text(name: x509.GeneralName) -> str:
    """A name as OpenSSL writes it: its kind, a colon, itself."""
    match name:
        case x509.DNSName():
            return f"DNS:{name.value}"
        case x509.IPAddress():
            return f"IP:{name.value}"
        case x509.RFC822Name():
            return f"email:{name.value}"
        case x509.UniformResourceIdentifier():
            return f"URI:{name.value}"
        case x509.DirectoryName():
            return f"dirName:{name.value.rfc4514_string()}"
        case x509.RegisteredID():
            return f"RID:{name.value.dotted_string}"
    return "otherName:<unsupported>"


def serial_text(number: int) -> str:
    """``01:AB``."""
    length = max(1, (number.bit_length() + 7) // 8)
    return number.to_bytes(length, "big").hex(":").upper()
