"""Private keys, certificates and requests for certificates, made where they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from saltlite.context import MinionContext
from saltlite.highstate.resource import Action, Declared, Verdict
from saltlite.modules import x509 as functions
from saltlite.providers.x509 import declared, documents, keys
from saltlite.states._x509 import Document, Found, copy_below, file_managed, split

PRIVATE = "0400"


def private_key_managed(
    name: str,
    algo: str = "rsa",
    keysize: int | None = None,
    passphrase: str | None = None,
    encoding: str = "pem",
    new: bool = False,
    overwrite: bool = False,
    bits: int | None = None,
    **kwargs: Any,
) -> Declared:
    """A private key of this kind and size, 0400 unless ``mode`` is another.

    ``new`` makes another one each time. ``overwrite`` replaces what is no key, or is encrypted with
    another ``passphrase``. Owner, mode, ``makedirs`` and ``backup`` are those of ``file.managed``.
    """
    how, rest = split(kwargs)
    declared.require_known(rest, encoding)
    size = keysize or bits
    keys.require_algorithm(algo, size)
    key = Key(
        name=name,
        how={"mode": PRIVATE, **how},
        algo=algo,
        size=size,
        passphrase=passphrase,
        overwrite=overwrite,
    )
    if not new:
        return key
    return Action(
        would="The private key would have been recreated",
        run=key.renewed,
        foreseen=key.would_renew,
    )


def certificate_managed(
    name: str,
    days_remaining: int | None = None,
    signing_private_key: str | None = None,
    signing_private_key_passphrase: str | None = None,
    signing_cert: str | None = None,
    public_key: str | None = None,
    private_key: str | None = None,
    private_key_passphrase: str | None = None,
    csr: str | None = None,
    append_certs: Any = None,
    copypath: str | None = None,
    prepend_cn: bool = False,
    **kwargs: Any,
) -> Certificate:
    """A certificate as declared that is valid for ``days_remaining`` days at least (90).

    Without ``signing_cert`` it signs itself. Further arguments: ``subject`` or its parts ``CN``,
    ``O`` ...; ``days_valid`` (365), ``not_before``, ``not_after``, ``serial_number``, ``digest``;
    extensions as ``basicConstraints``; owner and mode as of ``file.managed``. ``copypath`` is a
    directory that gets a copy of each, named after its number, with ``prepend_cn`` after its CN.
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
    }
    return Certificate(name=name, how=how, given=given, copypath=copypath, prepend_cn=prepend_cn)


def csr_managed(
    name: str,
    private_key: str,
    private_key_passphrase: str | None = None,
    digest: str = "sha256",
    encoding: str = "pem",
    subject: Any = None,
    **kwargs: Any,
) -> Csr:
    """A request for a certificate as declared; further arguments as of ``certificate_managed``."""
    how, rest = split(kwargs)
    given = {
        **rest,
        "private_key": private_key,
        "private_key_passphrase": private_key_passphrase,
        "digest": digest,
        "encoding": encoding,
        "subject": subject,
    }
    return Csr(name=name, how=how, given=given)


def pem_managed(ctx: MinionContext, name: str, text: str, **kwargs: Any) -> Declared:
    """A file with the one entry of a PEM; one with a private key is 0600 unless ``mode`` is."""
    how, rest = split(kwargs)
    declared.require_known(rest, "pem")
    entry = functions.get_pem_entry(ctx, text)
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
    overwrite: bool

    def compared(self, ctx: MinionContext, data: bytes, now: datetime) -> Found:
        read = keys.read_private(data, self.passphrase)
        if read.key is None:
            return self._unreadable(read)
        told: dict[str, Any] = {}
        size = keys.size_of(read.key)
        if keys.algorithm(read.key) != self.algo:
            told["algo"] = self.algo
        elif size is not None and size != self._wanted_size():
            told["keysize"] = self._wanted_size()
        if read.encrypted is not bool(self.passphrase):
            told["passphrase"] = True
        if b"-----BEGIN" not in data:
            told["encoding"] = "pem"
        return Found(is_there=True, differences=told)

    def _unreadable(self, read: keys.Read) -> Found:
        if not self.overwrite:
            return Found(is_there=True, complaint=read.complaint)
        if read.encrypted:
            changes: dict[str, Any] = {"passphrase": True, "created": self.name}
            return Found(is_there=True, differences=changes)
        return Found(is_there=True, differences={"replaced": self.name})

    def _wanted_size(self) -> int:
        return self.size or {"rsa": 2048, "ec": 256}[self.algo]

    def made(self, ctx: MinionContext, now: datetime) -> str:
        return keys.private_pem(keys.generate(self.algo, self.size), self.passphrase)

    def renewed(self, ctx: MinionContext) -> Verdict:
        """Another key, whatever there is."""
        foreseen = self.would_renew(ctx)
        if foreseen.result is False:
            return foreseen
        self.write(ctx)
        comment = foreseen.comment.replace("would have been", "has been")
        return Verdict(result=True, comment=comment, changes=foreseen.changes)

    def would_renew(self, ctx: MinionContext) -> Verdict:
        """What ``renewed`` is going to do."""
        now = self.read(ctx)
        if now.complaint:
            return Verdict(result=False, comment=now.complaint)
        verb, change = ("recreated", "replaced") if now.is_there else ("created", "created")
        comment = f"The private key would have been {verb}"
        return Verdict(result=None, comment=comment, changes={change: self.name})


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Document):
    """A certificate."""

    what: ClassVar[str] = "certificate"

    given: Mapping[str, Any] = field(repr=False)
    copypath: str | None
    prepend_cn: bool

    def compared(self, ctx: MinionContext, data: bytes, now: datetime) -> Found:
        wanted = declared.certificate(ctx.host, self.given)
        have = documents.certificates(data)
        if not have:
            return Found(is_there=True, differences={"replaced": self.name})
        told = documents.certificate_differences(have, wanted, now)
        return Found(is_there=True, differences=told)

    def made(self, ctx: MinionContext, now: datetime) -> str:
        wanted = declared.certificate(ctx.host, self.given)
        serial = documents.draw_serial()
        text = documents.issued(wanted, now, serial)
        if self.copypath:
            copy_below(self.copypath, self._copy_name(wanted, wanted.serial or serial), text)
        return text

    def _copy_name(self, wanted: documents.Wanted, serial: int) -> str:
        name = documents.common_name(wanted.subject)
        before = f"{name}-" if self.prepend_cn and name else ""
        return f"{before}{serial:x}.crt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Csr(Document):
    """A request for a certificate."""

    what: ClassVar[str] = "certificate signing request"

    given: Mapping[str, Any] = field(repr=False)

    def compared(self, ctx: MinionContext, data: bytes, now: datetime) -> Found:
        wanted = declared.request(ctx.host, self.given)
        have = documents.request(data)
        if have is None:
            return Found(is_there=True, differences={"replaced": self.name})
        told = documents.request_differences(have, wanted)
        return Found(is_there=True, differences=told)

    def made(self, ctx: MinionContext, now: datetime) -> str:
        return documents.requested(declared.request(ctx.host, self.given))
