"""Signing policies: what an authority lays down for the certificates that it signs for others.

They are in pillar or the configuration as ``x509_signing_policies``. What a policy says wins over
what is asked for. A minion with ``ca_server`` has another one sign: the master has to allow it
``x509.sign_remote_certificate`` (``peer``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.providers.x509 import declared, documents, encodings, extensions, keys, names

OPTION: Final = "x509_signing_policies"
TIMEOUT_S: Final = 60
SOURCE_LIMIT_BYTES: Final = 65536
ARGUMENT_LIMIT: Final = 64

SIGN: Final = "x509.sign_remote_certificate"

_SECRETS: Final = frozenset({"signing_private_key", "signing_private_key_passphrase", "minions"})
"""What stays with who signs."""

_OF_FILES: Final = frozenset({"private_key", "private_key_passphrase", "pkcs12_passphrase"})
"""What is secret in a policy too, where it does nothing, and is each minion's own elsewhere."""

_ASKED: Final = frozenset(
    {
        "subject", "public_key", "csr", "serial_number", "not_before", "not_after", "days_valid",
        "digest", *names.PARTS, *extensions.NAMES,
    }
)  # fmt: skip
"""All that another minion may ask for: no path, and nothing that says where something is kept."""

_NOT_OF_POLICIES: Final = frozenset({"minions", "copypath", "prepend_cn"})
_NOT_OF_OTHERS: Final = ("serial_number",)
"""What another minion may ask for only as the policy says it."""


def find_policy(ctx: MinionContext, name: str | None) -> dict[str, Any]:
    """Return a policy of this minion by the names of now; ``{}`` if there is none."""
    if name is None:
        return {}
    for place in ("pillar.get", "config.get"):
        found = (ctx.functions.call(place, OPTION, {}) or {}).get(name)
        if found:
            parts = found if isinstance(found, list) else [found]
            joined = {key: value for part in parts for key, value in part.items()}
            return declared.current_names(joined)
    return {}


def merge(policy: Mapping[str, object], given: Mapping[str, object]) -> dict[str, Any]:
    """Return arguments with those of a policy on them.

    A policy with parts of a name leaves no ``subject`` in force; two lists or maps of a subject
    are joined. With ``days_valid`` in a policy no end is asked for by its date. ``None`` in a
    policy forbids an extension.
    """
    asked = declared.current_names(given)
    rules = {name: value for name, value in policy.items() if name not in _NOT_OF_POLICIES}
    if any(name in rules for name in names.PARTS):
        asked.pop("subject", None)
    if rules.get("days_valid") is not None:
        asked.pop("not_after", None)
    mine, theirs = rules.get("subject"), asked.get("subject")
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        rules["subject"] = {**theirs, **mine}
    elif isinstance(mine, list) and isinstance(theirs, list):
        rules["subject"] = [*mine, *theirs]
    return {**asked, **rules}


def apply_policy(ctx: MinionContext, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a certificate with its ``signing_policy`` on them.

    Raises:
        FunctionError: there is no such policy, or ``ca_server`` does not tell it.
    """
    asked = {key: value for key, value in given.items() if key != "signing_policy"}
    name, server = given.get("signing_policy"), given.get("ca_server")
    if server is None:
        return merge(find_policy(ctx, name), asked) if name is not None else asked
    if name is None:
        raise FunctionError("signing_policy must be specified to request a remote certificate")
    policy = ask(ctx, str(server), str(name), {}, only_policy=True)
    if not isinstance(policy, Mapping):
        raise FunctionError(f"{server} did not tell its signing policy {name}")
    rules = {key: value for key, value in policy.items() if key not in _SECRETS | _OF_FILES}
    plain = {key: value for key, value in asked.items() if key not in _SECRETS}
    return merge(declared.current_names(rules), plain)


def ask(
    ctx: MinionContext,
    server: str,
    policy: str,
    arguments: Mapping[str, object],
    *,
    only_policy: bool = False,
) -> Any:
    """Return what another minion signed, or its policy.

    Raises:
        FunctionError: it did not answer, or refused.
    """
    given = [policy, dict(arguments), only_policy]
    said = ctx.functions.call("publish.publish", server, SIGN, arg=given, timeout=TIMEOUT_S)
    if not said:
        raise FunctionError(
            f"ca_server did not respond. Salt master must permit peers to call {SIGN}."
        )
    answer = next(iter(said.values()))
    if not isinstance(answer, Mapping) or "data" not in answer:
        raise FunctionError("Received invalid return value from ca_server")
    if answer.get("errors"):
        raise FunctionError("ca_server reported errors: " + "; ".join(map(str, answer["errors"])))
    return answer["data"]


def sign_remotely(
    ctx: MinionContext, given: Mapping[str, object], policy: str, wanted: documents.CertificateSpec
) -> x509.Certificate:
    """Return the certificate that ``ca_server`` signs; no private key leaves this minion."""
    asked = {
        name: value
        for name, value in declared.current_names(given).items()
        if name in _ASKED and value is not None
    }
    if "csr" in asked:
        csr = encodings.read_request(declared.source(ctx.host, asked["csr"]))
        if csr is None:
            raise FunctionError("Could not load PEM-encoded CSR.")
        asked["csr"] = encodings.encode_plain(csr[0], "pem").decode()
    asked["public_key"] = keys.public_pem(wanted.public)
    found = ask(ctx, str(given["ca_server"]), policy, asked)
    signed = documents.certificate(declared.source(ctx.host, found))
    if signed.public_key() != wanted.public:
        raise FunctionError("ca_server has certified another key")
    return signed


def answer_request(
    ctx: MinionContext, name: object, asked: object, requester: str | None, *, only_policy: bool
) -> dict[str, Any]:
    """Return what another minion is to get: ``{"data": ..., "errors": [...]}``.

    It is somebody else's request: closed lists, no path of this machine, a bound on each size.
    """
    try:
        policy = _policy_for(ctx, name, requester)
        if only_policy:
            return {"data": _public_policy(ctx, policy), "errors": []}
        return {"data": _sign_document(ctx, policy, asked), "errors": []}
    except FunctionError as error:
        return {"data": None, "errors": [str(error)]}


def _policy_for(ctx: MinionContext, name: object, requester: str | None) -> dict[str, Any]:
    policy = find_policy(ctx, str(name)) if name else {}
    if not policy:
        raise FunctionError("signing_policy must be specified and defined on signing minion")
    if "minions" in policy:
        if requester is None:
            raise FunctionError("minion sending this request could not be identified")
        if not any(
            ctx.functions.call("match.glob", one, requester) for one in _allowed_minions(policy)
        ):
            raise FunctionError("minion not permitted to use specified signing policy")
    return policy


def _allowed_minions(policy: Mapping[str, object]) -> list[str]:
    """The globs of those who may use a policy."""
    given = policy["minions"]
    return [str(one) for one in (given if isinstance(given, (list, tuple)) else [given])]


def _public_policy(ctx: MinionContext, policy: Mapping[str, object]) -> dict[str, Any]:
    told = {name: one for name, one in policy.items() if name not in _SECRETS | _OF_FILES}
    if "signing_cert" in told:
        found = documents.certificate(declared.source(ctx.host, told["signing_cert"]))
        told["signing_cert"] = encodings.encode_plain(found, "pem").decode()
    return told


def _sign_document(ctx: MinionContext, policy: Mapping[str, object], asked: object) -> str:
    from datetime import datetime, timezone

    closed = _check_arguments(asked)
    for name in _NOT_OF_OTHERS:
        if name in closed and name not in policy:
            raise FunctionError(f"{name} has to be in the signing policy")
    given = merge(policy, closed)
    wanted = declared.certificate(ctx.host, given)
    _refuse_authority(wanted, policy)
    serial = documents.draw_serial()
    made = documents.issue(wanted, datetime.now(timezone.utc), serial)
    documents.keep_copy(made, policy.get("copypath"), with_name=bool(policy.get("prepend_cn")))
    return encodings.encode_plain(made, "pem").decode()


def _refuse_authority(wanted: documents.CertificateSpec, policy: Mapping[str, object]) -> None:
    """Raise FunctionError if a certificate that only asks for it could speak for the authority.

    It signs others, or says by OCSP which of them are revoked.
    """
    for value, _ in wanted.extensions:
        if isinstance(value, x509.BasicConstraints) and value.ca:
            name = "basicConstraints"
        elif isinstance(value, x509.KeyUsage) and (value.key_cert_sign or value.crl_sign):
            name = "keyUsage"
        elif isinstance(value, x509.ExtendedKeyUsage) and ExtendedKeyUsageOID.OCSP_SIGNING in value:
            name = "extendedKeyUsage"
        else:
            continue
        if name not in policy:
            raise FunctionError(f"{name} of an authority has to be in the signing policy")


def _check_arguments(asked: object) -> dict[str, Any]:
    if not isinstance(asked, Mapping) or len(asked) > ARGUMENT_LIMIT:
        raise FunctionError("the request is no map of arguments")
    plain = {str(name): value for name, value in asked.items() if value is not None}
    found = {name: value for name, value in declared.current_names(plain).items() if name in _ASKED}
    for name in ("public_key", "csr"):
        value = found.get(name)
        if isinstance(value, str) and "-----BEGIN" not in value:
            raise FunctionError(f"{name} has to be PEM or DER")
        if isinstance(value, (str, bytes)) and len(value) > SOURCE_LIMIT_BYTES:
            raise FunctionError(f"{name} is longer than {SOURCE_LIMIT_BYTES} bytes")
    return found
