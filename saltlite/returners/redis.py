"""``redis``: keeps jobs, returns and events in Redis, under Salt's keys.

Options ``redis.host``, ``port``, ``unix_socket_path``, ``db``, ``password``. Needs
``saltlite[redis]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from saltlite.databases.redis import RedisStore
from saltlite.databases.returner import ServerReturner, make_returner
from saltlite.jobs.returner_context import ReturnerContext

DRIVER: Final = "redis"

DEFAULTS: Final[Mapping[str, Any]] = {
    "host": "salt", "port": 6379, "unix_socket_path": None, "db": "0", "password": "",
}  # fmt: skip

SCHEMA: Final = None
"""There are no tables."""


def make_server(ctx: ReturnerContext) -> ServerReturner:
    """Return what keeps records on the server that the options name."""
    return make_returner(ctx, "redis", open_store, DEFAULTS)


def open_store(options: Mapping[str, object], keep_s: float) -> RedisStore:
    """Return a connection that is made when it is used; raises StoreError without the driver."""
    return RedisStore(options, keep_s)
