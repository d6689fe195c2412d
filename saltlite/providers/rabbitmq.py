"""A RabbitMQ broker, through ``rabbitmqctl`` and ``rabbitmq-plugins``.

Passwords go to their standard input, never into arguments. Source: rabbitmqctl(8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.core.dataclasses import asdict, dataclass
from saltlite.errors import FunctionError, ProgramMissing
from saltlite.host import Host

CONTROL = "rabbitmqctl"
PLUGINS = "rabbitmq-plugins"
UPSTREAM = "federation-upstream"

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamOptions:
    """What can be said of an upstream besides its address; ``None`` leaves it to the broker."""

    prefetch_count: int | None = None
    reconnect_delay: int | None = None
    ack_mode: str | None = None
    trust_user_id: bool | None = None
    exchange: str | None = None
    max_hops: int | None = None
    expires: int | None = None
    message_ttl: int | None = None
    ha_policy: str | None = None
    queue: str | None = None

    def with_address(self, uri: str) -> dict[str, Any]:
        """All of the upstream, by Salt's names."""
        return {"uri": uri, **asdict(self)}


def run(
    host: Host,
    *words: str,
    program: str = CONTROL,
    runas: str | None = None,
    secret: str | None = None,
) -> str:
    """Run a command of the broker; what it said.

    Raises:
        ProgramMissing: the program is not there.
        FunctionError: the broker refuses, or is not there.
    """
    found = host.which(program)
    if found is None:
        raise ProgramMissing(program)
    if secret is not None and "\n" in secret:
        raise FunctionError("a password has no line feeds")
    stdin = None if secret is None else f"{secret}\n"
    done = host.run([found, *words], runas=runas, stdin=stdin, env={"LC_ALL": "C.UTF-8"})
    if done.exit_code != 0:
        raise FunctionError(
            f"RabbitMQ command failed: {done.stderr.strip() or done.stdout.strip()}"
        )
    return done.stdout.strip()


def table(text: str, headers: Sequence[str]) -> list[Row]:
    """The rows of a listing by the names of their columns.

    Brokers from 3.8 on print a line of headers, which may have another order than ``headers``.
    """
    rows = [line.split("\t") for line in text.splitlines() if "\t" in line or len(headers) == 1]
    rows = [row for row in rows if not row[0].startswith(("Listing ", "..."))]
    names = list(headers)
    if rows and sorted(rows[0]) == sorted(headers):
        names = rows.pop(0)
    return [dict(zip(names, row, strict=False)) for row in rows]


def tags_of(text: str) -> list[str]:
    """The tags in ``[administrator, monitoring]``."""
    return [tag.strip() for tag in text.strip().removeprefix("[").removesuffix("]").split(",")]
