"""Certificates that expire."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from saltlite.context import BeaconContext
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.errors import FunctionError
from saltlite.providers.watch import settings

log = logging.getLogger(__name__)

NOTIFY_DAYS: Final = 45
ALWAYS: Final = -1


@dataclass(frozen=True, slots=True)
class CertInfoOptions:
    """The configuration of this beacon."""

    files: Any = None
    notify_days: Any = NOTIFY_DAYS


def validate(config: Mapping[str, object]) -> tuple[bool, str]:
    """Check the configuration of this beacon."""
    options = read_fields(CertInfoOptions, config)
    if not isinstance(options.files, (list, tuple)):
        return False, "Configuration for cert_info beacon must contain files option, a list."
    try:
        list(_list_files(options))
    except ValueError as error:
        return False, f"Configuration for cert_info beacon: {error}."
    return settings.VALID


def beacon(ctx: BeaconContext, config: Mapping[str, object]) -> list[dict[str, Any]]:
    """Tell of all certificates that expire within ``notify_days``, or with -1 of all, at once."""
    now = datetime.now(timezone.utc)
    found = [
        certificate
        for path, days in _list_files(read_fields(CertInfoOptions, config))
        for certificate in _find_expiring(ctx, path, days, now)
    ]
    return [{"certificates": found}] if found else []


def _list_files(options: CertInfoOptions) -> Iterator[tuple[str, float]]:
    """The paths, each with its number of days.

    Raises:
        ValueError: one is neither a path nor a map of one with its options.
    """
    for each in options.files:
        for path, own in each.items() if isinstance(each, Mapping) else ((each, {}),):
            if not isinstance(path, str) or not isinstance(own or {}, Mapping):
                raise ValueError(f"{each!r:.80} is no path and no map of one")
            days = (own or {}).get("notify_days", options.notify_days)
            if isinstance(days, bool) or not isinstance(days, (int, float)):
                raise ValueError(f"notify_days must be a number, not {days!r:.80}")
            yield path, days


def _find_expiring(
    ctx: BeaconContext, path: str, days: float, now: datetime
) -> Iterator[dict[str, Any]]:
    stamp = ctx.minion.host.mtime_ns(path)
    if stamp is None:
        log.debug("there is no certificate %s", path)
        return
    from saltlite.providers.x509 import documents, expiry  # large: only for who has certificates

    if ctx.kept.get(path, (None,))[0] != stamp:
        data = ctx.minion.host.read_bytes(path) or b""
        try:
            ctx.kept[path] = (stamp, documents.certificate(data))
        except FunctionError as error:
            log.error("%s: %s", path, error)
            ctx.kept[path] = (stamp, None)
    certificate = ctx.kept[path][1]
    if certificate is None:
        return
    if days == ALWAYS or expiry.expires(certificate) - now < timedelta(days=days):
        yield expiry.describe(certificate, path, now)
