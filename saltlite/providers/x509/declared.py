"""From the arguments of states and functions to what a certificate or a request shall be."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timezone
from typing import Any, Final

from cryptography import x509
from cryptography.x509.oid import ExtensionOID

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers.x509 import documents, encodings, extensions, keys, names, revocation
from saltlite.providers.x509.documents import CertificateSpec, CsrSpec
from saltlite.providers.x509.encodings import Form
from saltlite.providers.x509.extensions import ExtensionKeys
from saltlite.providers.x509.revocation import AUTO, RevokedCertificate, WantedList

DAYS_VALID: Final = 365
DAYS_REMAINING: Final = 90

OLD_NAMES: Final = {
    "bits": "keysize",
    "algorithm": "digest",
    **names.OLD_PARTS,
    **extensions.OLD_NAMES,
}
"""Arguments of Salt's x509 before 3006, and what they are called now."""

OLD: Final = frozenset(
    {"verbose", "version", "serial_bits", "unique", "cipher", "text", "overwrite"}
)
"""Arguments of Salt's x509 before 3006 that say nothing any more."""

_OF_CERTIFICATE: Final = frozenset(
    {
        "signing_private_key", "signing_private_key_passphrase", "signing_cert", "public_key",
        "private_key", "private_key_passphrase", "csr", "subject", "serial_number", "not_before",
        "not_after", "days_valid", "days_remaining", "digest", "encoding", "append_certs",
        "pkcs12_passphrase", "pkcs12_encryption_compat", "pkcs12_friendlyname", "ca_server",
    }
)  # fmt: skip
_OF_REQUEST: Final = frozenset(
    {"private_key", "private_key_passphrase", "digest", "encoding", "subject"}
)
_ALWAYS: Final = frozenset({*names.PARTS, *extensions.NAMES})


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The arguments of a certificate, a request or a list, by their names of now.

    ``None`` is what was not given. ``rest`` has all of them, for parts of names and extensions.
    """

    append_certs: object = None
    ca_server: object = None
    csr: object = None
    days_remaining: float | str | None = None
    days_valid: float | str | None = None
    digest: object = "sha256"
    encoding: object = "pem"
    extensions: object = None
    include_expired: object = False
    not_after: object = None
    not_before: object = None
    pkcs12_encryption_compat: object = False
    pkcs12_friendlyname: object = None
    pkcs12_passphrase: object = None
    private_key: object = None
    private_key_passphrase: Any = None
    public_key: object = None
    revoked: Iterable[Any] | None = None
    serial_number: object = None
    signing_cert: object = None
    signing_private_key: object = None
    signing_private_key_passphrase: Any = None
    subject: object = None
    rest: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokedEntry:
    """One of ``revoked``, as a list of revoked certificates declares it."""

    certificate: object = None
    extensions: object = None
    not_after: object = None
    reason: object = None
    revocation_date: object = None
    serial_number: object = None


def source(host: Host, given: object) -> bytes:
    """Return the content of a file; or bytes that are given as they are, as PEM, hex or base64.

    Raises:
        FunctionError: it is none of them. The text does not show it: it may be a key.
    """
    if isinstance(given, bytes):
        return given
    text = str(given or "")
    if "-----BEGIN" in text:
        return "\n".join(line.strip() for line in text.strip().splitlines()).encode() + b"\n"
    found = host.read_bytes(text) if text.startswith("/") else None
    if found is None:
        found = _decode_binary(text)
    if found is None:
        raise FunctionError(
            "neither a file that is there nor a key or certificate in PEM, hex or base64"
        )
    return found


def _decode_binary(text: str) -> bytes | None:
    """What is hex or base64; both begin as DER does."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        try:
            found = base64.b64decode(text.removeprefix("b64:"), validate=True)
        except ValueError:
            return None
    return found if found[:1] == b"\x30" else None


def _read_arguments(given: Mapping[str, object], known: frozenset[str]) -> Declaration:
    """The arguments by their names of now; those without a value are left out.

    Raises:
        FunctionError: there is no such argument, or not here.
    """
    found = {OLD_NAMES.get(name, name): value for name, value in given.items()}
    found = {
        name: value
        for name, value in found.items()
        if name not in OLD and not name.startswith("__") and value is not None
    }
    if unknown := sorted(set(found) - known - _ALWAYS):
        raise FunctionError(f"{unknown[0]} is currently not implemented.")
    return read_fields(Declaration, {**found, "rest": found})


def require_known(given: Mapping[str, object]) -> None:
    """Raises FunctionError for arguments that neither a key nor its file has."""
    unknown = sorted(each for each in set(given) - OLD if not each.startswith("__"))
    if unknown:
        raise FunctionError(f"{unknown[0]} is currently not implemented.")


def current_names(given: Mapping[str, object]) -> dict[str, Any]:
    """Return arguments by their names of now."""
    return {OLD_NAMES.get(name, name): value for name, value in given.items()}


def certificate(host: Host, given: Mapping[str, object]) -> CertificateSpec:
    """Return a certificate as its arguments declare it.

    With ``ca_server`` another minion signs: then there is no key to sign with, and
    ``signing_cert`` has to be there.

    Raises:
        FunctionError: the arguments make none; keys are not shown.
    """
    args = _read_arguments(given, _OF_CERTIFICATE)
    signer = None if args.ca_server else _load_signer(host, args)
    authority = _load_authority(host, args, signer)
    own_key = signer if authority is None else _own_key(host, args)
    public = _load_public(host, args, own_key)
    issuer_key = public if authority is None else _public_of(authority)
    subject = names.subject_of(args.subject, args.rest)
    days_valid = _count_days(args.days_valid, DAYS_VALID)
    return CertificateSpec(
        subject=subject,
        public=public,
        issuer=subject if authority is None else authority.subject,
        signer=signer,
        authority_key=issuer_key,
        extensions=[
            *(
                own := extensions.parse_certificate_extensions(
                    args.rest, ExtensionKeys(public, issuer_key, authority)
                )
            ),
            *_find_asked(host, args, {value.oid for value, _ in own}, _find_forbidden(given)),
        ],
        digest=_find_digest(args),
        days_valid=days_valid,
        days_remaining=_days_remaining(args, days_valid),
        serial=_parse_serial(args.serial_number),
        serial_as_given=args.serial_number,
        not_before=_parse_time(args.not_before),
        not_after=_parse_time(args.not_after),
        chain=chain(host, args.append_certs or ()),
        form=form(args),
        own_key=own_key,
    )


def form(args: Declaration) -> Form:
    """Return how a certificate is to be encoded.

    Raises:
        FunctionError: there is no such encoding, or it cannot have what shall be in it.
    """
    encoding = str(args.encoding)
    keys.require_encoding(encoding, encodings.OF_CERTIFICATES)
    if encoding == "der" and args.append_certs:
        raise FunctionError("Cannot encode a certificate chain in DER")
    passphrase, name = args.pkcs12_passphrase, args.pkcs12_friendlyname
    return Form(
        encoding=encoding,
        passphrase=None if passphrase is None else str(passphrase),
        compat=bool(args.pkcs12_encryption_compat),
        friendly_name=str(name) if name else None,
    )


def request(host: Host, given: Mapping[str, object]) -> CsrSpec:
    """Return a request as its arguments declare it.

    Raises:
        FunctionError: the arguments make none; keys are not shown.
    """
    args = _read_arguments(given, _OF_REQUEST)
    key = keys.private_key(source(host, args.private_key), args.private_key_passphrase)
    public = key.public_key()
    encoding = str(args.encoding)
    keys.require_encoding(encoding, encodings.PLAIN)
    return CsrSpec(
        subject=names.subject_of(args.subject, args.rest),
        key=key,
        extensions=extensions.parse_request_extensions(args.rest, ExtensionKeys(public, public)),
        digest=_find_digest(args),
        encoding=encoding,
    )


_OF_LIST: Final = frozenset(
    {
        "signing_private_key", "signing_private_key_passphrase", "signing_cert", "revoked",
        "include_expired", "days_valid", "days_remaining", "digest", "encoding", "extensions",
    }
)  # fmt: skip


def revocation_list(host: Host, given: Mapping[str, object], now: datetime) -> WantedList:
    """Return a list of revoked certificates as its arguments declare it.

    Raises:
        FunctionError: the arguments make none; keys are not shown.
    """
    args = _read_arguments(given, _OF_LIST)
    keys.require_encoding(str(args.encoding), encodings.PLAIN)
    signer = _load_signer(host, args)
    authority = _load_authority(host, args, signer)
    if authority is None:
        raise FunctionError("signing_cert is missing")
    public = _public_of(authority)
    own = _join_maps(args.extensions or {})
    counts = own.get("cRLNumber") == AUTO
    if counts:
        del own["cRLNumber"]
    entries = [
        _build_entry(host, read_fields(RevokedEntry, _join_maps(each)), now)
        for each in args.revoked or ()
    ]
    days_valid = _count_days(args.days_valid, revocation.DAYS_VALID)
    return WantedList(
        issuer=authority.subject,
        signer=signer,
        entries=[
            entry for entry, end in entries if end is None or end >= now or args.include_expired
        ],
        extensions=extensions.parse_list_extensions(own, ExtensionKeys(public, public, authority)),
        digest=_find_digest(args),
        days_valid=days_valid,
        days_remaining=_count_days(args.days_remaining, revocation.DAYS_REMAINING),
        counts=counts,
    )


def _join_maps(given: object) -> dict[str, Any]:
    """A map, or the list of maps that people write instead; ``{name: [maps]}`` is the same."""
    if isinstance(given, Mapping):
        only = next(iter(given.values())) if len(given) == 1 else None
        is_named = isinstance(only, list) and all(isinstance(each, Mapping) for each in only)
        if not (is_named and only):
            return dict(given)
        given = only
    if not (isinstance(given, list) and all(isinstance(each, Mapping) for each in given)):
        raise FunctionError(f"{given} is no map")
    return {name: value for each in given for name, value in each.items()}


def _build_entry(
    host: Host, told: RevokedEntry, now: datetime
) -> tuple[RevokedCertificate, datetime | None]:
    """One revoked certificate, and until when it would be valid."""
    serial, end = _parse_serial(told.serial_number), _parse_time(told.not_after)
    if told.certificate is not None:
        found = documents.certificate(source(host, told.certificate))
        serial, end = found.serial_number, found.not_valid_after_utc
    if not serial:
        raise FunctionError("Need serial_number or certificate")
    own = _join_maps(told.extensions or {})
    if told.reason is not None:
        own["CRLReason"] = told.reason
    # What an entry tells is not derived from keys.
    parsed = extensions.parse_entry_extensions(own, _NO_KEYS)
    return RevokedCertificate(
        serial=serial, date=_parse_time(told.revocation_date), extensions=parsed
    ), end


_NO_KEYS: Final = ExtensionKeys(None, None)


def _load_signer(host: Host, args: Declaration) -> keys.PrivateKey:
    given = args.signing_private_key
    return keys.private_key(source(host, given), args.signing_private_key_passphrase)


def _load_authority(
    host: Host, args: Declaration, signer: keys.PrivateKey | None
) -> x509.Certificate | None:
    if args.signing_cert is None:
        if signer is None:
            raise FunctionError("The signing policy of ca_server has no signing_cert")
        return None
    found = documents.certificate(source(host, args.signing_cert))
    if signer is not None and found.public_key() != signer.public_key():
        raise FunctionError("Signing private key does not match the certificate's public key")
    return found


def _public_of(authority: x509.Certificate) -> keys.PublicKey:
    return keys.public_key(encodings.encode_plain(authority, "der"))


def _own_key(host: Host, args: Declaration) -> keys.PrivateKey | None:
    if args.private_key is None:
        return None
    return keys.private_key(source(host, args.private_key), args.private_key_passphrase)


def _load_public(host: Host, args: Declaration, own_key: keys.PrivateKey | None) -> keys.PublicKey:
    if own_key is not None:
        return own_key.public_key()
    for given in (args.public_key, args.csr):
        if given is not None:
            return keys.public_key(source(host, given))
    raise FunctionError(
        "This certificate is not self-signed (signing_cert is set) and thus needs public_key, "
        "private_key or csr to derive public key to sign"
    )


def _find_forbidden(given: Mapping[str, object]) -> set[x509.ObjectIdentifier]:
    """The extensions that are declared as ``None``: a request does not bring them either."""
    found = current_names(given)
    return {oid for name, oid in extensions.IDENTIFIERS.items() if found.get(name, oid) is None}


def _find_asked(
    host: Host,
    args: Declaration,
    known: Collection[x509.ObjectIdentifier],
    forbidden: Collection[x509.ObjectIdentifier],
) -> list[tuple[x509.ExtensionType, bool]]:
    """The extensions of a request that are not declared, and that could be.

    None that would make an authority, and none that no argument has.
    """
    if args.csr is None:
        return []
    asked = documents.request(source(host, args.csr))
    if asked is None:
        raise FunctionError("Could not load PEM-encoded CSR.")
    refused = {*_NEVER_ASKED_FOR, *known, *forbidden}
    wanted = frozenset(extensions.IDENTIFIERS.values()) - refused
    return [(each.value, each.critical) for each in asked.extensions if each.oid in wanted]


_NEVER_ASKED_FOR: Final = (
    ExtensionOID.BASIC_CONSTRAINTS,
    ExtensionOID.KEY_USAGE,
    ExtensionOID.AUTHORITY_INFORMATION_ACCESS,
    ExtensionOID.AUTHORITY_KEY_IDENTIFIER,
    ExtensionOID.ISSUER_ALTERNATIVE_NAME,
    ExtensionOID.CRL_DISTRIBUTION_POINTS,
)
"""What is the authority's to say."""


def chain(host: Host, given: object) -> list[x509.Certificate]:
    """Return the certificates that follow another one, of a source or a list of them.

    Raises:
        FunctionError: one has none.
    """
    listed = given if isinstance(given, (list, tuple)) else [given]
    found = [encodings.read_certificates(source(host, one)) for one in listed]
    if not all(found):
        raise FunctionError("append_certs has something that is no certificate")
    return [one for each in found if each for one in (each.certificate, *each.chain)]


def _count_days(given: float | str | None, otherwise: int) -> int:
    return otherwise if given is None else int(given)


def _find_digest(args: Declaration) -> str:
    name = str(args.digest).lower()
    if name not in keys.DIGESTS:
        raise FunctionError(f"digest is {name}; allowed are {', '.join(keys.DIGESTS)}")
    return name


def _days_remaining(args: Declaration, days_valid: int) -> int:
    """Not so many that a new certificate would have to be made anew at once."""
    if args.days_remaining is None:
        return min(DAYS_REMAINING, days_valid // 3)
    days = int(args.days_remaining)
    if args.not_after is None and days >= days_valid:
        raise FunctionError(f"days_remaining is {days}; it has to be less than days_valid")
    return days


def _parse_serial(given: object) -> int | None:
    """A number, or hexadecimal text."""
    if given is None or isinstance(given, int):
        return given
    text = str(given)
    try:
        return int.from_bytes(bytes.fromhex(text.replace(":", "")), "big")
    except ValueError:
        raise FunctionError(f"serial_number is {text}; a number, or 01:AB") from None


def _parse_time(given: object) -> datetime | None:
    if given is None:
        return None
    if isinstance(given, datetime):
        return given.replace(tzinfo=timezone.utc)
    try:
        return datetime.strptime(str(given), documents.TIME).replace(tzinfo=timezone.utc)
    except ValueError:
        raise FunctionError(f"{given} is no time; one is 2030-12-31 23:59:59") from None
