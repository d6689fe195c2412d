"""From the arguments of states and functions to what a certificate or a request shall be."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timezone
from typing import Any, Final

from cryptography import x509
from cryptography.x509.oid import ExtensionOID

from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers.x509 import documents, extensions, keys
from saltlite.providers.x509.documents import Request, Wanted
from saltlite.providers.x509.extensions import Keys

DAYS_VALID: Final = 365
DAYS_REMAINING: Final = 90

OLD_NAMES: Final = {"bits": "keysize", "algorithm": "digest", "Email": "MAIL"}
"""Arguments of Salt's x509 before 3006, and what they are called now."""

OLD: Final = frozenset(
    {"verbose", "version", "serial_bits", "unique", "cipher", "text", "overwrite"}
)
"""Arguments of Salt's x509 before 3006 that say nothing any more."""

ABSENT: Final = frozenset(
    {"ca_server", "signing_policy", "managed_private_key", "pkcs12_passphrase"}
)
"""Arguments that would be something else if they were passed over."""

_OF_CERTIFICATE: Final = frozenset(
    {
        "signing_private_key", "signing_private_key_passphrase", "signing_cert", "public_key",
        "private_key", "private_key_passphrase", "csr", "subject", "serial_number", "not_before",
        "not_after", "days_valid", "days_remaining", "digest", "encoding", "append_certs",
    }
)  # fmt: skip
_OF_REQUEST: Final = frozenset(
    {"private_key", "private_key_passphrase", "digest", "encoding", "subject"}
)
_ALWAYS: Final = frozenset({*documents.PARTS, *extensions.NAMES})


def source(host: Host, given: Any) -> bytes:
    """The content of a file, or a PEM that is given itself.

    Raises:
        FunctionError: it is neither. The text does not show it: it may be a key.
    """
    if isinstance(given, bytes):
        return given
    text = str(given or "")
    if "-----BEGIN" in text:
        return "\n".join(line.strip() for line in text.strip().splitlines()).encode() + b"\n"
    found = host.read_bytes(text) if text.startswith("/") else None
    if found is None:
        raise FunctionError(
            "Could not load provided source. You need to pass an existing file or a "
            "PEM-encoded string."
        )
    return found


def _plain(given: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
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
    if refused := sorted(set(found) & ABSENT):
        raise FunctionError(f"{refused[0]} is not there")
    if unknown := sorted(set(found) - known - _ALWAYS):
        raise FunctionError(f"{unknown[0]} is currently not implemented.")
    if found.get("encoding", "pem") != "pem":
        raise FunctionError(f"encoding is {found['encoding']}; allowed is pem")
    return found


def require_known(given: Mapping[str, Any], encoding: str) -> None:
    """Raises FunctionError for arguments that neither a key nor its file has."""
    unknown = sorted(each for each in set(given) - OLD if not each.startswith("__"))
    if unknown:
        raise FunctionError(f"{unknown[0]} is currently not implemented.")
    if encoding != "pem":
        raise FunctionError(f"encoding is {encoding}; allowed is pem")


def certificate(host: Host, given: Mapping[str, Any]) -> Wanted:
    """A certificate as its arguments declare it.

    Raises:
        FunctionError: the arguments make none; keys are not shown.
    """
    args = _plain(given, _OF_CERTIFICATE)
    signer = keys.private_key(
        source(host, args.get("signing_private_key")), args.get("signing_private_key_passphrase")
    )
    authority = _authority(host, args, signer)
    public = signer.public_key() if authority is None else _public(host, args)
    subject = documents.subject_of(args.get("subject"), args)
    days_valid = int(args.get("days_valid", DAYS_VALID))
    return Wanted(
        subject=subject,
        public=public,
        issuer=subject if authority is None else authority.subject,
        signer=signer,
        extensions=[
            *(own := extensions.parsed(args, Keys(public, signer.public_key(), authority))),
            *_asked_for(host, args, {value.oid for value, _ in own}),
        ],
        digest=_digest(args),
        days_valid=days_valid,
        days_remaining=_days_remaining(args, days_valid),
        serial=_serial(args.get("serial_number")),
        not_before=_time(args.get("not_before")),
        not_after=_time(args.get("not_after")),
        chain=_chain(host, args.get("append_certs") or ()),
    )


def request(host: Host, given: Mapping[str, Any]) -> Request:
    """A request as its arguments declare it.

    Raises:
        FunctionError: the arguments make none; keys are not shown.
    """
    args = _plain(given, _OF_REQUEST)
    key = keys.private_key(
        source(host, args.get("private_key")), args.get("private_key_passphrase")
    )
    public = key.public_key()
    return Request(
        subject=documents.subject_of(args.get("subject"), args),
        key=key,
        extensions=extensions.parsed(args, Keys(public, public)),
        digest=_digest(args),
    )


def _authority(
    host: Host, args: Mapping[str, Any], signer: keys.PrivateKey
) -> x509.Certificate | None:
    if "signing_cert" not in args:
        return None
    found = documents.certificate(source(host, args["signing_cert"]))
    if found.public_key() != signer.public_key():
        raise FunctionError("Signing private key does not match the certificate's public key")
    return found


def _public(host: Host, args: Mapping[str, Any]) -> keys.PublicKey:
    for name in ("private_key", "public_key", "csr"):
        if name in args:
            passphrase = args.get("private_key_passphrase")
            return keys.public_key(source(host, args[name]), passphrase)
    raise FunctionError(
        "This certificate is not self-signed (signing_cert is set) and thus needs public_key, "
        "private_key or csr to derive public key to sign"
    )


def _asked_for(
    host: Host, args: Mapping[str, Any], known: Collection[x509.ObjectIdentifier]
) -> list[tuple[x509.ExtensionType, bool]]:
    """The extensions of a request that are not declared; none that would make an authority."""
    if "csr" not in args:
        return []
    asked = documents.request(source(host, args["csr"]))
    if asked is None:
        raise FunctionError("Could not load PEM-encoded CSR.")
    refused = {ExtensionOID.BASIC_CONSTRAINTS, ExtensionOID.KEY_USAGE, *known}
    return [(each.value, each.critical) for each in asked.extensions if each.oid not in refused]


def _chain(host: Host, given: Any) -> list[x509.Certificate]:
    each = [given] if isinstance(given, str) else given
    chain = [documents.certificates(source(host, one)) for one in each]
    if not all(chain):
        raise FunctionError("append_certs has something that is no certificate")
    return [one for found in chain for one in found or ()]


def _digest(args: Mapping[str, Any]) -> str:
    name = str(args.get("digest", "sha256")).lower()
    if name not in keys.DIGESTS:
        raise FunctionError(f"digest is {name}; allowed are {', '.join(keys.DIGESTS)}")
    return name


def _days_remaining(args: Mapping[str, Any], days_valid: int) -> int:
    """Not so many that a new certificate would have to be made anew at once."""
    if "days_remaining" not in args:
        return min(DAYS_REMAINING, days_valid // 3)
    days = int(args["days_remaining"])
    if "not_after" not in args and days >= days_valid:
        raise FunctionError(f"days_remaining is {days}; it has to be less than days_valid")
    return days


def _serial(given: Any) -> int | None:
    if given is None or isinstance(given, int):
        return given
    text = str(given)
    try:
        return int(text.replace(":", ""), 16 if ":" in text else 10)
    except ValueError:
        raise FunctionError(f"serial_number is {text}; a number, or 01:AB") from None


def _time(given: Any) -> datetime | None:
    if given is None:
        return None
    if isinstance(given, datetime):
        return given.replace(tzinfo=timezone.utc)
    try:
        return datetime.strptime(str(given), documents.TIME).replace(tzinfo=timezone.utc)
    except ValueError:
        raise FunctionError(f"{given} is no time; one is 2030-12-31 23:59:59") from None
