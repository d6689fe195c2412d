"""Private keys, certificates and requests for certificates, made where they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from saltlite.context import MinionContext
from saltlite.core.dataclasses import dataclass, field
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Action, Declared, Verdict
from saltlite.modules import x509 as functions
from saltlite.providers.x509 import (
    declared,
    documents,
    encodings,
    keys,
    policies,
    revocation,
)
from saltlite.states._x509 import Document, OutputStatus, file_managed, split

PRIVATE = "0400"


def private_key_managed(
    name: str,
    algo: str = "rsa",
    keysize: int | None = None,
    passphrase: str | None = None,
    encoding: str = "pem",
    new: bool = False,
    overwrite: bool = False,
    pkcs12_encryption_compat: bool = False,
    bits: int | None = None,
    **kwargs: Any,
) -> Declared:
    """A private key of this kind and size, 0400 unless ``mode`` is another.

    ``encoding`` is ``pem``, ``der`` or ``pkcs12``; with another one, or another ``passphrase``
    where there was none, the key stays the same.

    ``new`` makes another one each time. ``overwrite`` replaces what is no key, or is encrypted with
    another ``passphrase``. Owner, mode, ``makedirs`` and ``backup`` are those of ``file.managed``.
    """
    how, rest = split(kwargs)
    declared.require_known(rest)
    keys.require_encoding(encoding)
    size = keysize or bits
    if size and algo in ("ed25519", "ed448"):
        raise FunctionError(f"keysize is an invalid parameter for {algo}")
    keys.require_algorithm(algo, size)
    key = Key(
        name=name,
        how={"mode": PRIVATE, **how},
        algo=algo,
        size=size,
        passphrase=passphrase,
        encoding=encoding,
        compat=pkcs12_encryption_compat,
        overwrite=overwrite,
    )
    if not new:
        return key
    return Action(
        would="The private key would have been recreated",
        run=key.renew,
        foreseen=key.would_renew,
    )


def certificate_managed(
    name: str,
    days_remaining: int | None = None,
    ca_server: str | None = None,
    signing_policy: str | None = None,
    encoding: str = "pem",
    signing_private_key: str | None = None,
    signing_private_key_passphrase: str | None = None,
    signing_cert: str | None = None,
    public_key: str | None = None,
    private_key: str | None = None,
    private_key_passphrase: str | None = None,
    csr: str | None = None,
    append_certs: object = None,
    pkcs12_passphrase: str | None = None,
    pkcs12_encryption_compat: bool = False,
    pkcs12_friendlyname: str | None = None,
    copypath: str | None = None,
    prepend_cn: bool = False,
    **kwargs: Any,
) -> Certificate:
    """A certificate as declared that is valid for ``days_remaining`` days at least (90).

    Without ``signing_cert`` it signs itself. Further arguments: ``subject`` or its parts ``CN``,
    ``O`` ...; ``days_valid`` (365), ``not_before``, ``not_after``, ``serial_number``, ``digest``;
    extensions as ``basicConstraints``; owner and mode as of ``file.managed``. ``copypath`` is a
    directory that gets a copy of each, named after its number, with ``prepend_cn`` after its CN.

    ``encoding`` is ``pem``, ``der``, ``pkcs7_pem``, ``pkcs7_der`` or ``pkcs12``; the last one has
    the key too. Another encoding or chain makes no other certificate. With ``ca_server`` that
    minion signs, as its ``signing_policy`` lays down.
    """
    how, rest = split(kwargs)
    given = {
        **rest,
        "days_remaining": days_remaining,
        "signing_private_key": signing_private_key,
        "signing_private_key_passphrase": signing_private_key_passphrase,
        "signing_cert": signing_cert,
        "public_key": public_key,
        "private_key": private_key,
        "private_key_passphrase": private_key_passphrase,
        "csr": csr,
        "append_certs": append_certs,
        "ca_server": ca_server,
        "signing_policy": signing_policy,
        "encoding": encoding,
        "pkcs12_passphrase": pkcs12_passphrase,
        "pkcs12_encryption_compat": pkcs12_encryption_compat,
        "pkcs12_friendlyname": pkcs12_friendlyname,
    }
    return Certificate(name=name, how=how, given=given, copypath=copypath, prepend_cn=prepend_cn)


def csr_managed(
    name: str,
    private_key: str,
    private_key_passphrase: str | None = None,
    digest: str = "sha256",
    encoding: str = "pem",
    subject: object = None,
    **kwargs: Any,
) -> Csr:
    """A request for a certificate as declared; further arguments as of ``certificate_managed``."""
    how, rest = split(kwargs)
    digest = rest.pop("algorithm", digest)  # its old name
    given = {
        **rest,
        "private_key": private_key,
        "private_key_passphrase": private_key_passphrase,
        "digest": digest,
        "encoding": encoding,
        "subject": subject,
    }
    return Csr(name=name, how=how, given=given)


def crl_managed(
    name: str,
    signing_private_key: str,
    revoked: object,
    days_remaining: int | None = None,
    signing_cert: str | None = None,
    signing_private_key_passphrase: str | None = None,
    include_expired: bool = False,
    days_valid: int | None = None,
    digest: str = "sha256",
    encoding: str = "pem",
    extensions: object = None,
    **kwargs: Any,
) -> Crl:
    """A list of revoked certificates as declared that is valid for ``days_remaining`` days (30).

    ``revoked`` is a list of maps with ``serial_number`` or ``certificate``, ``not_after``,
    ``revocation_date``, ``extensions`` (``CRLReason``, ``invalidityDate``). What is not valid any
    more is left out unless ``include_expired`` is set. A new list is valid for ``days_valid`` days
    (100). ``cRLNumber: auto`` among ``extensions`` counts the lists.
    """
    how, rest = split(kwargs)
    given = {
        **rest,
        "signing_private_key": signing_private_key,
        "revoked": revoked,
        "days_remaining": days_remaining,
        "signing_cert": signing_cert,
        "signing_private_key_passphrase": signing_private_key_passphrase,
        "include_expired": include_expired,
        "days_valid": days_valid,
        "digest": digest,
        "encoding": encoding,
        "extensions": extensions,
    }
    return Crl(name=name, how=how, given=given)


def pem_managed(ctx: MinionContext, name: str, text: str, **kwargs: Any) -> Declared:
    """A file with the one entry of a PEM; one with a private key is 0600 unless ``mode`` is."""
    how, rest = split(kwargs)
    declared.require_known(rest)
    entry = ctx.follow(functions.get_pem_entry, text)
    private = {"mode": "0600"} if "PRIVATE KEY" in entry else {}
    given = {**private, **how, "contents": entry, "show_changes": False}
    return file_managed(ctx, name, given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Document):
    """A private key."""

    what: ClassVar[str] = "private key"
    for_junk: ClassVar[str] = "recreated"

    algo: str
    size: int | None
    passphrase: str | None = field(repr=False)
    encoding: str
    compat: bool
    overwrite: bool

    def compare(self, ctx: MinionContext, data: bytes, now: datetime) -> OutputStatus:
        read = keys.read_private(data, self.passphrase)
        if read.key is None:
            return self._judge_unreadable(read)
        told: dict[str, Any] = {}
        size = keys.size_of(read.key)
        if keys.algorithm(read.key) != self.algo:
            told["algo"] = self.algo
        elif size is not None and size != self._key_size():
            told["keysize"] = self._key_size()
        if read.encrypted is not bool(self.passphrase):
            told["passphrase"] = True
        if read.encoding != self.encoding:
            told["encoding"] = self.encoding
        # A key that is only packed otherwise stays the key that others know.
        kept = read.key if told.keys() <= {"passphrase", "encoding"} else None
        return OutputStatus(is_there=True, differences=told, kept=kept)

    def _judge_unreadable(self, read: keys.Read) -> OutputStatus:
        if not self.overwrite:
            return OutputStatus(is_there=True, complaint=read.complaint)
        if read.encrypted:
            changes: dict[str, Any] = {"passphrase": True, "created": self.name}
            return OutputStatus(is_there=True, differences=changes)
        return OutputStatus(is_there=True, differences={"replaced": self.name})

    def _key_size(self) -> int:
        return self.size or {"rsa": 2048, "ec": 256}[self.algo]

    def make(self, ctx: MinionContext, now: datetime, before: OutputStatus) -> bytes:
        key = before.kept or keys.generate(self.algo, self.size)
        return keys.encode_private(key, self.passphrase, self.encoding, compat=self.compat)

    def renew(self, ctx: MinionContext) -> Verdict:
        """Another key, whatever there is."""
        foreseen = self.would_renew(ctx)
        if foreseen.result is False:
            return foreseen
        self.write(ctx, OutputStatus(is_there=True))
        comment = foreseen.comment.replace("would have been", "has been")
        return Verdict(result=True, comment=comment, changes=foreseen.changes)

    def would_renew(self, ctx: MinionContext) -> Verdict:
        """What ``renewed`` is going to do."""
        is_there = ctx.host.exists(self.name)
        verb, change = ("recreated", "replaced") if is_there else ("created", "created")
        comment = f"The private key would have been {verb}"
        return Verdict(result=None, comment=comment, changes={change: self.name})


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Document):
    """A certificate. ``OutputStatus.kept`` is the one that stays while its file changes."""

    what: ClassVar[str] = "certificate"

    given: Mapping[str, Any] = field(repr=False)
    copypath: str | None
    prepend_cn: bool

    def _build_wanted(self, ctx: MinionContext) -> documents.CertificateSpec:
        return declared.certificate(ctx.host, policies.apply_policy(ctx, self.given))

    def compare(self, ctx: MinionContext, data: bytes, now: datetime) -> OutputStatus:
        wanted = self._build_wanted(ctx)
        try:
            have = encodings.read_certificates(data, wanted.form.passphrase)
        except encodings.WrongPassphrase:
            return OutputStatus(is_there=True, differences={"pkcs12_passphrase": True})
        if have is None:
            return OutputStatus(is_there=True, differences={"replaced": self.name})
        told = documents.certificate_differences(have, wanted, now)
        kept = have.certificate if told.keys() <= documents.ONLY_AROUND else None
        return OutputStatus(is_there=True, differences=told, kept=kept)

    def make(self, ctx: MinionContext, now: datetime, before: OutputStatus) -> bytes:
        wanted = self._build_wanted(ctx)
        certificate = before.kept
        if certificate is None:
            certificate = self._issue_certificate(ctx, wanted, now)
            documents.keep_copy(certificate, self.copypath, with_name=self.prepend_cn)
        return encodings.encode_certificate(certificate, wanted.chain, wanted.form, wanted.own_key)

    def _issue_certificate(
        self, ctx: MinionContext, wanted: documents.CertificateSpec, now: datetime
    ) -> Any:
        if self.given["ca_server"] is not None:
            policy = str(self.given["signing_policy"])
            return policies.sign_remotely(ctx, self.given, policy, wanted)
        return documents.issue(wanted, now, documents.draw_serial())


@dataclass(frozen=True, slots=True, kw_only=True)
class Csr(Document):
    """A request for a certificate."""

    what: ClassVar[str] = "certificate signing request"

    given: Mapping[str, Any] = field(repr=False)

    def compare(self, ctx: MinionContext, data: bytes, now: datetime) -> OutputStatus:
        wanted = declared.request(ctx.host, self.given)
        found = encodings.read_request(data)
        if found is None:
            return OutputStatus(is_there=True, differences={"replaced": self.name})
        told = documents.request_differences(*found, wanted)
        return OutputStatus(
            is_there=True, differences=told, kept=found[0] if told.keys() <= {"encoding"} else None
        )

    def make(self, ctx: MinionContext, now: datetime, before: OutputStatus) -> bytes:
        wanted = declared.request(ctx.host, self.given)
        return encodings.encode_plain(
            before.kept or documents.build_request(wanted), wanted.encoding
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Crl(Document):
    """A list of revoked certificates. ``OutputStatus.kept``: the list before, if it stays."""

    what: ClassVar[str] = "certificate revocation list"

    given: Mapping[str, Any] = field(repr=False)

    @property
    def _crl_encoding(self) -> str:
        return str(self.given["encoding"])

    def compare(self, ctx: MinionContext, data: bytes, now: datetime) -> OutputStatus:
        wanted = declared.revocation_list(ctx.host, self.given, now)
        found = encodings.read_list(data)
        if found is None:
            return OutputStatus(is_there=True, differences={"replaced": self.name})
        have, encoding = found
        told = revocation.list_differences(have, wanted, now)
        stays = not told
        if encoding != self._crl_encoding:
            told["encoding"] = self._crl_encoding
        return OutputStatus(is_there=True, differences=told, kept=(have, stays))

    def make(self, ctx: MinionContext, now: datetime, before: OutputStatus) -> bytes:
        have, stays = before.kept or (None, False)
        if have is not None and stays:
            return encodings.encode_plain(have, self._crl_encoding)
        wanted = declared.revocation_list(ctx.host, self.given, now)
        made = revocation.make_list(wanted, now, have)
        return encodings.encode_plain(made, self._crl_encoding)
