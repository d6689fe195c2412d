"""Extensions as states declare them (``critical, CA:true``, lists, maps).

Which form each one has is Salt's; ``extension_texts`` tells them again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from cryptography import x509
from cryptography.x509.oid import (
    AuthorityInformationAccessOID,
    CRLEntryExtensionOID,
    ExtendedKeyUsageOID,
    ExtensionOID,
    SubjectInformationAccessOID,
)

from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError
from saltlite.providers.x509.keys import PublicKey
from saltlite.providers.x509.names import (
    general_names,
    general_pairs,
    object_identifier,
    relative_name,
)

TIME: Final = "%Y-%m-%d %H:%M:%S"

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
PURPOSES: Final = {
    "serverAuth": ExtendedKeyUsageOID.SERVER_AUTH,
    "clientAuth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "codeSigning": ExtendedKeyUsageOID.CODE_SIGNING,
    "emailProtection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "timeStamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "OCSPSigning": ExtendedKeyUsageOID.OCSP_SIGNING,
    "msSmartcardLogin": x509.ObjectIdentifier("1.3.6.1.4.1.311.20.2.2"),
    "pkInitKDC": x509.ObjectIdentifier("1.3.6.1.5.2.3.5"),
    "ipsecIKE": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.17"),
    "msCodeInd": x509.ObjectIdentifier("1.3.6.1.4.1.311.2.1.21"),
    "msCodeCom": x509.ObjectIdentifier("1.3.6.1.4.1.311.2.1.22"),
    "msCTLSign": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.1"),
    "msEFS": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.4"),
}
_ACCESS: Final = {
    "OCSP": AuthorityInformationAccessOID.OCSP,
    "caIssuers": AuthorityInformationAccessOID.CA_ISSUERS,
    "caRepository": SubjectInformationAccessOID.CA_REPOSITORY,
}
_NEVER_CRITICAL: Final = "{} has to be without critical"


@dataclass(frozen=True, slots=True)
class ExtensionKeys:
    """What extensions are derived from: the key that is certified, and who certifies it.

    Entries of lists of revoked certificates have no keys, and no extension that needs them.
    """

    subject: PublicKey | None
    issuer: PublicKey | None
    issuer_certificate: x509.Certificate | None = None


def _split_words(given: object) -> tuple[bool, list[Any]]:
    """Whether it is critical, and the rest, of a text with commas or a list; maps stay in it."""
    parts = given if isinstance(given, (list, tuple)) else re.split(r",\s*", str(given))
    words = [each if isinstance(each, Mapping) else str(each).strip() for each in parts]
    if words and isinstance(words[0], str) and words[0].split()[:1] == ["critical"]:
        rest = words[0].removeprefix("critical").strip()
        return True, [*([rest] if rest else []), *words[1:]]
    return "critical" in words, [each for each in words if each and each != "critical"]


def _split_settings(given: object) -> tuple[bool, dict[str, Any]]:
    """Whether it is critical, and a map, of a map or of a text such as ``critical, CA:true``."""
    if isinstance(given, Mapping):
        rest = {str(name): value for name, value in given.items() if name != "critical"}
        return bool(given.get("critical")), rest
    critical, words = _split_words(given)
    pairs = (str(each).partition(":") for each in words)
    return critical, {name.strip(): value.strip() for name, _, value in pairs}


def _parse_number(name: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise FunctionError(f"{name} is {value}; it has to be a number") from None


def _parse_basic_constraints(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    critical, told = _split_settings(given)
    told = {name.lower(): value for name, value in told.items()}
    if "ca" not in told:
        raise FunctionError("Invalid configuration for basicConstraints: CA:true or CA:false lacks")
    is_ca = str(told["ca"]).strip().lower() == "true"
    length = told.get("pathlen")
    depth = None if length is None or not is_ca else _parse_number("pathlen", length)
    limit = _depth_below(keys.issuer_certificate) if is_ca else None
    if depth is not None and limit is not None and depth > limit:
        raise FunctionError(f"pathlen is {depth}; that of the issuing certificate allows {limit}")
    return x509.BasicConstraints(is_ca, limit if depth is None else depth), critical


def _depth_below(issuer: x509.Certificate | None) -> int | None:
    """How many authorities there may be below one that this one certifies; ``None``: any."""
    if issuer is None:
        return None
    try:
        found = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        return None
    return None if found.path_length is None else found.path_length - 1


def _parse_usage(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    critical, words = _split_words(given)
    if unknown := [each for each in words if each not in USAGES]:
        raise FunctionError(f"Invalid keyUsage: {unknown[0]}. Valid: {', '.join(USAGES)}")
    flags = {flag: name in words for name, flag in USAGES.items()}
    try:
        return x509.KeyUsage(**flags), critical
    except ValueError as error:
        raise FunctionError(f"Invalid keyUsage: {error}") from None


def _parse_purposes(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    critical, words = _split_words(given)
    listed = [PURPOSES.get(str(each)) or object_identifier(each) for each in words]
    return x509.ExtendedKeyUsage(listed), critical


def _parse_subject_key(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    if isinstance(given, bytes):
        return x509.SubjectKeyIdentifier(given), False
    critical, words = _split_words(given)
    if critical:
        raise FunctionError(_NEVER_CRITICAL.format("subjectKeyIdentifier"))
    if words == ["hash"] and keys.subject is not None:
        return x509.SubjectKeyIdentifier.from_public_key(keys.subject), False
    try:
        return x509.SubjectKeyIdentifier(bytes.fromhex("".join(words).replace(":", ""))), False
    except ValueError:
        raise FunctionError("subjectKeyIdentifier is neither hash nor hexadecimal") from None


def _parse_authority_key(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    critical, wanted = _split_settings(given)
    if critical:
        raise FunctionError(_NEVER_CRITICAL.format("authorityKeyIdentifier"))
    signer = keys.issuer_certificate
    key = _identifier_of_issuer(keys) if "keyid" in wanted else None
    if wanted.get("issuer") == "always" and signer is None:
        raise FunctionError(
            "Could not add authority_cert_issuer and authority_cert_serial_number, "
            "but was set to always."
        )
    issuer = serial = None
    has_issuer = wanted.get("issuer") == "always" or ("issuer" in wanted and key is None)
    if has_issuer and signer is not None:
        issuer, serial = [x509.DirectoryName(signer.issuer)], signer.serial_number
    return x509.AuthorityKeyIdentifier(key, issuer, serial), False


def _identifier_of_issuer(keys: ExtensionKeys) -> bytes | None:
    """What the issuer's certificate says its key is called; without one a hash of the key."""
    if keys.issuer_certificate is not None:
        found = keys.issuer_certificate.extensions
        try:
            return found.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
        except x509.ExtensionNotFound:
            pass
    if keys.issuer is None:
        return None
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(keys.issuer).key_identifier


def _list_names(given: object) -> tuple[bool, list[Any]]:
    if isinstance(given, Mapping):
        critical, rest = _split_settings(given)
        return critical, [{name: value} for name, value in rest.items()]
    return _split_words(given)


def _parse_alternatives(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    critical, names = _list_names(given)
    return x509.SubjectAlternativeName(general_names(names)), critical


def _issuer_names(given: object, keys: ExtensionKeys) -> tuple[bool, list[x509.GeneralName]]:
    """Names; ``issuer:copy`` stands for the alternative names of the issuer's certificate."""
    critical, listed = _list_names(given)
    pairs = general_pairs(listed)
    names: list[x509.GeneralName] = []
    if ("issuer", "copy") in pairs:
        if keys.issuer_certificate is None:
            raise FunctionError("issuer:copy needs the certificate of the issuer")
        found = keys.issuer_certificate.extensions
        try:
            names += found.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound as error:
            raise FunctionError(str(error)) from None
    rest = [{kind: value} for kind, value in pairs if kind != "issuer"]
    return critical, [*names, *general_names(rest)]


def _parse_issuer_alternatives(
    given: object, keys: ExtensionKeys
) -> tuple[x509.ExtensionType, bool]:
    critical, names = _issuer_names(given, keys)
    return x509.IssuerAlternativeName(names), critical


def _parse_entry_issuer(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    critical, names = _issuer_names(given, keys)
    return x509.CertificateIssuer(names), critical


def _parse_access(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    pairs: list[tuple[str, Any]] = []
    for each in [given] if isinstance(given, Mapping) else _split_words(given)[1]:
        if isinstance(each, Mapping):
            pairs += [(str(name), value) for name, value in each.items() if name != "critical"]
        else:
            method, _, place = str(each).partition(";")
            pairs.append((method.strip(), place.strip()))
    return x509.AuthorityInformationAccess(
        [
            x509.AccessDescription(_ACCESS.get(method) or object_identifier(method), name)
            for method, value in pairs
            for name in general_names(value)
        ]
    ), False


def _parse_reasons(given: object) -> frozenset[x509.ReasonFlags] | None:
    if not given:
        return None
    try:
        return frozenset(x509.ReasonFlags(str(each)) for each in _split_words(given)[1])
    except ValueError as error:
        raise FunctionError(str(error)) from None


def _parse_point(given: object) -> x509.DistributionPoint:
    told = given if isinstance(given, Mapping) else {"fullname": given}
    relative, issuer, full = (told.get(name) for name in ("relativename", "crlissuer", "fullname"))
    try:
        return x509.DistributionPoint(
            general_names(full) if full else None,
            relative_name(relative) if relative else None,
            _parse_reasons(told.get("reasons")),
            general_names(issuer) if issuer else None,
        )
    except (TypeError, ValueError) as error:
        raise FunctionError(str(error)) from None


def _parse_points(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    critical, points = _split_words([given] if isinstance(given, Mapping) else given)
    return x509.CRLDistributionPoints([_parse_point(each) for each in points]), critical


def _parse_freshest(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    _, points = _split_words([given] if isinstance(given, Mapping) else given)
    return x509.FreshestCRL([_parse_point(each) for each in points]), False


@dataclass(frozen=True, slots=True)
class IssuingPoint:
    """An ``issuingDistributionPoint``; named as in a configuration of OpenSSL."""

    fullname: Any = None
    relativename: Any = None
    onlyuser: Any = False
    onlyCA: Any = False
    onlysomereasons: Any = None
    indirectCRL: Any = False
    onlyAA: Any = False
    critical: Any = False


def _parse_issuing_point(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    if not isinstance(given, Mapping):
        raise FunctionError("issuingDistributionPoint has to be a map")
    point = read_fields(IssuingPoint, given)
    full, relative = point.fullname, point.relativename
    try:
        value = x509.IssuingDistributionPoint(
            full_name=general_names(full) if full else None,
            relative_name=relative_name(relative) if relative else None,
            only_contains_user_certs=bool(point.onlyuser),
            only_contains_ca_certs=bool(point.onlyCA),
            only_some_reasons=_parse_reasons(point.onlysomereasons),
            indirect_crl=bool(point.indirectCRL),
            only_contains_attribute_certs=bool(point.onlyAA),
        )
    except (TypeError, ValueError) as error:
        raise FunctionError(str(error)) from None
    return value, bool(point.critical)


def _parse_policies(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    if isinstance(given, Mapping):
        critical, told = _split_settings(given)
    else:
        critical, words = _split_words(given)
        told = {str(each): None for each in words}
    listed = [
        x509.PolicyInformation(object_identifier(number), _parse_qualifiers(listed))
        for number, listed in told.items()
    ]
    return x509.CertificatePolicies(listed), critical


def _parse_qualifiers(given: object) -> list[str | x509.UserNotice] | None:
    if not given:
        return None
    found: list[str | x509.UserNotice] = []
    for each in given if isinstance(given, list) else [given]:
        if not isinstance(each, Mapping):
            found.append(str(each))
            continue
        numbers, text = each.get("noticeNumbers"), each.get("text")
        reference = None
        if numbers:
            counted = [_parse_number("noticeNumbers", number) for number in numbers]
            reference = x509.NoticeReference(each.get("organization"), counted)
        found.append(x509.UserNotice(reference, None if text is None else str(text)))
    return found


def _parse_policy_constraints(
    given: object, keys: ExtensionKeys
) -> tuple[x509.ExtensionType, bool]:
    critical, told = _split_settings(given)
    explicit, mapping = (
        None if told.get(name) is None else _parse_number(name, told[name])
        for name in ("requireExplicitPolicy", "inhibitPolicyMapping")
    )
    try:
        return x509.PolicyConstraints(explicit, mapping), critical
    except ValueError as error:
        raise FunctionError(str(error)) from None


def _parse_inhibit_any(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    if isinstance(given, Mapping):
        critical, value = bool(given.get("critical")), given.get("value")
    else:
        critical, words = _split_words(given)
        value = words[0].removeprefix("value:") if words else None
    try:
        return x509.InhibitAnyPolicy(_parse_number("inhibitAnyPolicy", value)), critical
    except ValueError as error:
        raise FunctionError(str(error)) from None


def _parse_name_constraints(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    scopes: dict[str, list[Any]] = {"permitted": [], "excluded": []}
    if isinstance(given, Mapping):
        critical = bool(given.get("critical"))
        for scope in scopes:
            listed = given.get(scope) or []
            scopes[scope] += listed if isinstance(listed, list) else [listed]
    else:
        critical, words = _split_words(given)
        for word in words:
            scope, _, name = str(word).partition(";")
            if scope not in scopes:
                raise FunctionError(f"Invalid nameConstraints: {word}; one is permitted;IP:1.2.3.4")
            scopes[scope].append(name)
    permitted, excluded = (
        general_names(scopes[scope], constraint=True) or None for scope in ("permitted", "excluded")
    )
    if not (permitted or excluded):
        raise FunctionError("nameConstraints needs permitted or excluded names")
    return x509.NameConstraints(permitted, excluded), critical


def _parse_no_check(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    return x509.OCSPNoCheck(), "critical" in str(given)


def _parse_tls_feature(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    critical, words = _split_words(given)
    try:
        return x509.TLSFeature([x509.TLSFeatureType[str(each)] for each in words]), critical
    except KeyError as error:
        raise FunctionError(f"Invalid tlsfeature: {error}") from None


def _parse_crl_number(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    return x509.CRLNumber(_parse_number("cRLNumber", given)), False


def _parse_delta(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    critical, words = _split_words(given)
    if len(words) != 1:
        raise FunctionError("deltaCRLIndicator has to be one number")
    return x509.DeltaCRLIndicator(_parse_number("deltaCRLIndicator", words[0])), critical


def _parse_reason(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    critical, words = _split_words(given)
    try:
        return x509.CRLReason(x509.ReasonFlags(str(words[0]))), critical
    except (IndexError, ValueError):
        raise FunctionError(f"Invalid CRLReason: {given}") from None


def _parse_invalidity(given: object, keys: ExtensionKeys) -> tuple[x509.ExtensionType, bool]:
    critical, words = _split_words(given)
    try:
        return x509.InvalidityDate(datetime.strptime(str(words[0]), TIME)), critical  # noqa: DTZ007
    except (IndexError, ValueError):
        raise FunctionError(f"{given} is no time; one is 2030-12-31 23:59:59") from None


_Parser = Callable[[Any, ExtensionKeys], tuple[x509.ExtensionType, bool]]
_PARSERS: Final[dict[str, tuple[x509.ObjectIdentifier, _Parser]]] = {
    "basicConstraints": (ExtensionOID.BASIC_CONSTRAINTS, _parse_basic_constraints),
    "keyUsage": (ExtensionOID.KEY_USAGE, _parse_usage),
    "extendedKeyUsage": (ExtensionOID.EXTENDED_KEY_USAGE, _parse_purposes),
    "subjectKeyIdentifier": (ExtensionOID.SUBJECT_KEY_IDENTIFIER, _parse_subject_key),
    "authorityKeyIdentifier": (ExtensionOID.AUTHORITY_KEY_IDENTIFIER, _parse_authority_key),
    "issuerAltName": (ExtensionOID.ISSUER_ALTERNATIVE_NAME, _parse_issuer_alternatives),
    "authorityInfoAccess": (ExtensionOID.AUTHORITY_INFORMATION_ACCESS, _parse_access),
    "subjectAltName": (ExtensionOID.SUBJECT_ALTERNATIVE_NAME, _parse_alternatives),
    "crlDistributionPoints": (ExtensionOID.CRL_DISTRIBUTION_POINTS, _parse_points),
    "certificatePolicies": (ExtensionOID.CERTIFICATE_POLICIES, _parse_policies),
    "policyConstraints": (ExtensionOID.POLICY_CONSTRAINTS, _parse_policy_constraints),
    "inhibitAnyPolicy": (ExtensionOID.INHIBIT_ANY_POLICY, _parse_inhibit_any),
    "nameConstraints": (ExtensionOID.NAME_CONSTRAINTS, _parse_name_constraints),
    "noCheck": (ExtensionOID.OCSP_NO_CHECK, _parse_no_check),
    "tlsfeature": (ExtensionOID.TLS_FEATURE, _parse_tls_feature),
    "cRLNumber": (ExtensionOID.CRL_NUMBER, _parse_crl_number),
    "deltaCRLIndicator": (ExtensionOID.DELTA_CRL_INDICATOR, _parse_delta),
    "freshestCRL": (ExtensionOID.FRESHEST_CRL, _parse_freshest),
    "issuingDistributionPoint": (ExtensionOID.ISSUING_DISTRIBUTION_POINT, _parse_issuing_point),
    "certificateIssuer": (CRLEntryExtensionOID.CERTIFICATE_ISSUER, _parse_entry_issuer),
    "CRLReason": (CRLEntryExtensionOID.CRL_REASON, _parse_reason),
    "invalidityDate": (CRLEntryExtensionOID.INVALIDITY_DATE, _parse_invalidity),
}
_OF_LISTS: Final = (
    "authorityKeyIdentifier", "authorityInfoAccess", "cRLNumber", "deltaCRLIndicator",
    "freshestCRL", "issuerAltName", "issuingDistributionPoint",
)  # fmt: skip
_OF_ENTRIES: Final = ("certificateIssuer", "CRLReason", "invalidityDate")
NAMES: Final = tuple(
    name for name in _PARSERS if name not in (*_OF_ENTRIES, *_OF_LISTS[2:5], _OF_LISTS[6])
)
"""Those of certificates, in the order in which they are written."""

IDENTIFIERS: Final = {name: _PARSERS[name][0] for name in NAMES}

NOT_OF_REQUESTS: Final = (
    "authorityInfoAccess", "authorityKeyIdentifier", "issuerAltName", "crlDistributionPoints",
)  # fmt: skip
"""Those that a request cannot have; only who signs knows them."""

OLD_NAMES: Final = {
    "X509v3 Basic Constraints": "basicConstraints",
    "X509v3 Key Usage": "keyUsage",
    "X509v3 Extended Key Usage": "extendedKeyUsage",
    "X509v3 Subject Key Identifier": "subjectKeyIdentifier",
    "X509v3 Authority Key Identifier": "authorityKeyIdentifier",
    "X509v3 Issuer Alternative Name": "issuerAltName",
    "issuserAltName": "issuerAltName",
    "Authority Information Access": "authorityInfoAccess",
    "X509v3 Subject Alternative Name": "subjectAltName",
    "X509v3 CRL Distribution Points": "crlDistributionPoints",
    "X509v3 Certificate Policies": "certificatePolicies",
    "X509v3 Policy Constraints": "policyConstraints",
    "X509v3 Inhibit Any Policy": "inhibitAnyPolicy",
    "X509v3 Name Constraints": "nameConstraints",
    "OCSP No Check": "noCheck",
    "TLS Feature": "tlsfeature",
}
"""Long names of Salt before 3006, and what they are called now."""

_STANDARD_NAMES: Final = {
    "crlDistributionPoints": "cRLDistributionPoints",
    "noCheck": "OCSPNoCheck",
    "tlsfeature": "TLSFeature",
    "CRLReason": "cRLReason",
}

NAMES_BY_OID: Final = {oid.dotted_string: name for name, (oid, _) in _PARSERS.items()}

Extensions = list[tuple[x509.ExtensionType, bool]]


def parse_certificate_extensions(declared: Mapping[str, object], keys: ExtensionKeys) -> Extensions:
    """Return the extensions of a certificate and whether each is critical, in a fixed order.

    Raises:
        FunctionError: one is not as it may be.
    """
    return [_PARSERS[name][1](declared[name], keys) for name in NAMES if name in declared]


def parse_request_extensions(declared: Mapping[str, object], keys: ExtensionKeys) -> Extensions:
    """Return the extensions of a request; what it cannot have is passed over, as in Salt."""
    possible = {name: value for name, value in declared.items() if name not in NOT_OF_REQUESTS}
    return parse_certificate_extensions(possible, keys)


def parse_list_extensions(declared: Mapping[str, object], keys: ExtensionKeys) -> Extensions:
    """Return the extensions of a list of revoked certificates.

    Raises:
        FunctionError: one is not as it may be, or belongs to no list.
    """
    return _parse_known(declared, _OF_LISTS, keys)


def parse_entry_extensions(declared: Mapping[str, object], keys: ExtensionKeys) -> Extensions:
    """Return the extensions of one entry of a list of revoked certificates.

    Raises:
        FunctionError: one is not as it may be, or belongs to no entry.
    """
    return _parse_known(declared, _OF_ENTRIES, keys)


def _parse_known(
    declared: Mapping[str, object], known: Sequence[str], keys: ExtensionKeys
) -> Extensions:
    if unknown := [name for name in declared if name not in known]:
        raise FunctionError(f"Invalid extension: {unknown[0]}. Valid: {', '.join(known)}")
    return [_PARSERS[name][1](value, keys) for name, value in declared.items()]


def name_of(extension: x509.ObjectIdentifier) -> str:
    """Return the name in declarations; the dotted number if it has none."""
    return NAMES_BY_OID.get(extension.dotted_string, extension.dotted_string)


def change_name(extension: x509.ObjectIdentifier) -> str:
    """Return the name as changes of a state tell it: that of the standards."""
    return _STANDARD_NAMES.get(name_of(extension), name_of(extension))


def differences(
    found: Iterable[x509.Extension[x509.ExtensionType]], wanted: Extensions
) -> dict[str, list[str]]:
    """Return ``{"added", "changed", "removed"}``, names of extensions; empty if there are none."""
    there = {each.oid: (each.value, each.critical) for each in found}
    should = {value.oid: (value, critical) for value, critical in wanted}
    told = {
        "added": [change_name(oid) for oid in should if oid not in there],
        "changed": [change_name(o) for o in should if o in there and should[o] != there[o]],
        "removed": [change_name(oid) for oid in there if oid not in should],
    }
    return told if any(told.values()) else {}
