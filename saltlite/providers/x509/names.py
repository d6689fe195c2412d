"""Names in certificates: parts of a subject, and those in extensions (``DNS:a``, ``dirName:CN=x``).

A name in an extension is declared as text (``kind:value``) or as a map ``{kind: value}``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509.oid import NameOID

from saltlite.errors import FunctionError

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

OLD_PARTS: Final = {
    "commonName": "CN",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationUnitName": "OU",
    "givenName": "GN",
    "surname": "SN",
    "Email": "MAIL",
    "emailAddress": "MAIL",
    "serialNumber": "SERIALNUMBER",
}
"""Long names of arguments of Salt before 3006, and what they are called now."""

_PART_NAMES: Final = {oid.dotted_string: name for name, oid in PARTS.items()}


def subject_of(given: object, parts: Mapping[str, object]) -> x509.Name:
    """Return a name from a text (``CN=a,O=b``), a list of its parts, a map, or from ``parts``.

    In a text the last part is the first one of the name (RFC 4514), in a list the first.

    Raises:
        FunctionError: it is no name.
    """
    try:
        if isinstance(given, Mapping):
            parts = given
        elif isinstance(given, list) and given:
            return x509.Name([relative_name(each) for each in given])
        elif given:
            return x509.Name.from_rfc4514_string(str(given))
        named = [(oid, parts[name]) for name, oid in PARTS.items() if parts.get(name) is not None]
        return x509.Name([x509.NameAttribute(oid, str(value)) for oid, value in named])
    except ValueError as error:
        raise FunctionError(f"Invalid subject: {error}") from None


def relative_name(text: object) -> x509.RelativeDistinguishedName:
    """Return one part of a name: ``CN=a``.

    Raises:
        FunctionError: it is none, or has several parts.
    """
    name = subject_of(str(text), {})
    if len(name.rdns) != 1:
        raise FunctionError(f"{text} is not one part of a name")
    return name.rdns[0]


def common_name(name: x509.Name) -> str | None:
    """Return the first CN of a name; ``None`` without one."""
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else None


def name_parts(name: x509.Name) -> dict[str, str]:
    """Return the parts of a name, by their short names."""
    return {
        _PART_NAMES.get(each.oid.dotted_string, each.oid.dotted_string): str(each.value)
        for each in name
    }


def name_hash(name: x509.Name) -> str:
    """Return the hash by which OpenSSL finds the certificate of an authority: ``88:32:1D:D9``.

    As Salt tells it: the bytes in the order of a machine that is little-endian.
    """
    digest = hashes.Hash(hashes.SHA1())  # noqa: S303 - OpenSSL's own
    digest.update(name.public_bytes())
    return digest.finalize()[3::-1].hex(":").upper()


def object_identifier(text: object) -> x509.ObjectIdentifier:
    """Return a number as ``1.3.6.1.5.5.7.3.1``.

    Raises:
        FunctionError: it is none.
    """
    try:
        return x509.ObjectIdentifier(str(text).strip())
    except ValueError:
        raise FunctionError(f"Invalid oid: {text}") from None


def general_pairs(given: Iterable[object]) -> list[tuple[str, Any]]:
    """Return ``(kind, value)`` of names that are texts (``DNS:a``) or maps."""
    pairs: list[tuple[str, Any]] = []
    for each in given:
        if isinstance(each, Mapping):
            pairs += [(str(kind), value) for kind, value in each.items() if kind != "critical"]
        else:
            kind, _, value = str(each).partition(":")
            pairs.append((kind.strip(), value.strip()))
    return pairs


def general_names(given: object, *, constraint: bool = False) -> list[x509.GeneralName]:
    """Return names of extensions; ``given`` is one of them or a list.

    In a ``constraint`` an IP is a network, a mail address may be a domain, and domains may begin
    with a dot.

    Raises:
        FunctionError: one is no name.
    """
    listed = given if isinstance(given, (list, tuple)) else [given]
    pairs = general_pairs(listed)
    return [_general_name(kind, value, constraint=constraint) for kind, value in pairs]


def _general_name(kind: str, value: object, *, constraint: bool) -> x509.GeneralName:
    try:
        match kind.lower():
            case "dns":
                return x509.DNSName(_ascii_domain(str(value), dot=constraint))
            case "ip":
                number = ipaddress.ip_network if constraint else ipaddress.ip_address
                return x509.IPAddress(number(str(value)))
            case "email":
                return x509.RFC822Name(_mail_address(str(value), constraint=constraint))
            case "uri":
                text = str(value)
                if constraint:
                    return x509.UniformResourceIdentifier(_ascii_domain(text, dot=True))
                return x509.UniformResourceIdentifier(_ascii_address(text))
            case "rid":
                return x509.RegisteredID(x509.ObjectIdentifier(str(value)))
            case "dirname":
                parts = value if isinstance(value, (Mapping, list)) else str(value)
                return x509.DirectoryName(subject_of(parts, {}))
            case "othername":
                return _other_name(value)
    except ValueError as error:
        raise FunctionError(f"{kind}:{value} is no valid name: {error}") from None
    raise FunctionError(f"GeneralName type {kind.lower()} is invalid")


def _ascii_domain(text: str, *, dot: bool = False) -> str:
    """A domain in ASCII; one that is already stays as it is."""
    rest = text.removeprefix(".") if dot else text
    if not rest or ".." in rest or rest.startswith(".") or any(each.isspace() for each in rest):
        raise ValueError("it is no domain")
    ascii_text = rest if rest.isascii() else rest.encode("idna").decode()
    return text[: len(text) - len(rest)] + ascii_text


def _mail_address(text: str, *, constraint: bool) -> str:
    user, at, domain = text.rpartition("@")
    if not at:
        if not constraint:
            raise ValueError("it has no @")
        return _ascii_domain(text, dot=True)
    return f"{user}@{_ascii_domain(domain)}"


def _ascii_address(text: str) -> str:
    from urllib.parse import quote, urlsplit

    if not urlsplit(text).scheme:
        raise ValueError("it has no scheme")
    if text.isascii():
        return text
    parts = urlsplit(text)
    netloc = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
    return quote(parts._replace(netloc=netloc).geturl(), safe="/:@!$&'()*+,;=%?#[]~")


def _other_name(value: object) -> x509.OtherName:
    if not isinstance(value, Mapping):
        oid, _, typed = str(value).partition(";")
        kind, _, text = typed.removeprefix("FORMAT:UTF8,").partition(":")
        if kind.upper() not in ("UTF8", "UTF8STRING"):
            raise ValueError("one is 1.2.3.4;UTF8:text")
        return x509.OtherName(object_identifier(oid), _encode_asn1(text))
    number = object_identifier(value.get("oid"))
    if "value" in value:
        return x509.OtherName(number, _encode_asn1(value["value"]))
    return x509.OtherName(number, _decode_blob(value.get("der")))


def _decode_blob(given: object) -> bytes:
    import base64

    if isinstance(given, bytes):
        return given
    form, _, text = str(given).partition(":")
    if form not in ("hex", "b64"):
        raise ValueError("der begins with hex: or b64:")
    return bytes.fromhex(text) if form == "hex" else base64.b64decode(text, validate=True)


def _encode_asn1(value: object) -> bytes:
    """A plain value in DER: text, truth, number or nothing. Source: X.690."""
    match value:
        case None:
            return b"\x05\x00"
        case bool():
            return b"\x01\x01\xff" if value else b"\x01\x01\x00"
        case int():
            body = value.to_bytes((value.bit_length() + 8) // 8, "big", signed=True)
            return b"\x02" + _asn1_length(len(body)) + body
    body = str(value).encode()
    return b"\x0c" + _asn1_length(len(body)) + body


def _asn1_length(length: int) -> bytes:
    if length < 0x80:
        return bytes([length])
    octets = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([0x80 | len(octets)]) + octets


def _asn1_text(data: bytes) -> str | None:
    """The text of a UTF8String; ``None`` if it is something else."""
    for header in range(2, min(len(data), 6) + 1):
        body = data[header:]
        if data[:header] == b"\x0c" + _asn1_length(len(body)):
            try:
                return body.decode()
            except UnicodeDecodeError:
                return None
    return None


def general_text(name: x509.GeneralName) -> str:
    """Return a name as OpenSSL writes it: its kind, a colon, itself."""
    match name:
        case x509.DNSName():
            return f"DNS:{name.value}"
        case x509.IPAddress():
            return f"IP:{name.value.exploded}"
        case x509.RFC822Name():
            return f"email:{name.value}"
        case x509.UniformResourceIdentifier():
            return f"URI:{name.value}"
        case x509.DirectoryName():
            return f"dirName:{name.value.rfc4514_string()}"
        case x509.RegisteredID():
            return f"RID:{name.value.dotted_string}"
        case x509.OtherName():
            text = _asn1_text(name.value)
            told = f"<hex:{name.value.hex()}>" if text is None else f"UTF8:{text}"
            return f"otherName:{name.type_id.dotted_string};{told}"
    return "<unsupported>"


def general_texts(names: Iterable[x509.GeneralName] | None) -> list[str]:
    """Return names as texts."""
    return [general_text(each) for each in names or ()]
