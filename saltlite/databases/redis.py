"""Redis: jobs, returns and events under Salt's keys. Source: observed on Salt 3006.30.

``load:<jid>`` is a job; ``ret:<jid>`` a hash, minion id → return; ``<minion>:<function>`` the last
jid; ``minions`` the set of all ids; ``events`` a stream. All but the last two end with the jobs.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from saltlite.core.jsontext import pack_json
from saltlite.databases.records import EventRecord, LoadRecord, Record
from saltlite.errors import RecordRefused, ServerAway, StoreError

log = logging.getLogger(__name__)

TIMEOUT_S: Final = 5.0
EVENTS_KEPT: Final = 100_000
SCAN_COUNT: Final = 1000


class RedisStore:
    """One connection; the driver opens it when it is needed."""

    def __init__(self, options: Mapping[str, Any], keep_s: float) -> None:
        try:
            import redis
        except ImportError as error:
            raise StoreError("Redis needs its driver: pip install 'saltlite[redis]'") from error
        self._errors = redis.RedisError
        self._refusals = redis.DataError
        self._expires_s = max(1, int(keep_s)) if keep_s > 0 else None  # 0: kept for ever
        path = options.get("unix_socket_path")
        where = (
            {"unix_socket_path": path}
            if path
            else {"host": options["host"], "port": int(options["port"])}
        )
        self._client: Any = redis.Redis(
            **where,
            db=int(options["db"] or 0),
            password=options.get("password") or None,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            decode_responses=True,
        )

    def write(self, records: Sequence[Record]) -> None:
        """Keep records in one transaction.

        Redis undoes nothing: a record of which it refuses a part is lost with a line in the log,
        and the others are kept, once.

        Raises:
            ServerAway: nothing was kept, or it is not known whether it was.
            RecordRefused: nothing was kept.
        """
        with self._talking():
            pipe = self._client.pipeline(transaction=True)
            owners: list[int] = []
            for number, record in enumerate(records):
                self._queue(pipe, record)
                owners += [number] * (len(pipe) - len(owners))
            answers = pipe.execute(raise_on_error=False)
        wrong = [found for found in zip(owners, answers, strict=True) if self._is_error(found[1])]
        for error in dict(wrong).values():
            log.error("A record is lost: Redis: %s", error)

    def _is_error(self, answer: object) -> bool:
        return isinstance(answer, self._errors)

    def _queue(self, pipe: Any, record: Record) -> None:
        if isinstance(record, LoadRecord):
            pipe.set(f"load:{record.jid}", pack_json(record.load), ex=self._expires_s)
        elif isinstance(record, EventRecord):
            fields = {
                "tag": record.tag,
                "data": pack_json(record.data),
                "master_id": record.master_id,
            }
            pipe.xadd("events", fields, maxlen=EVENTS_KEPT, approximate=True)
        else:
            self._queue_return(pipe, record.ret)

    def _queue_return(self, pipe: Any, ret: Mapping[str, Any]) -> None:
        jid, minion = str(ret.get("jid")), str(ret.get("id"))
        pipe.hset(f"ret:{jid}", minion, pack_json(ret))
        if self._expires_s is not None:
            pipe.expire(f"ret:{jid}", self._expires_s)
        pipe.set(f"{minion}:{ret.get('fun')}", jid, ex=self._expires_s)
        pipe.sadd("minions", minion)

    def clean(self, before_s: float, *, archive: bool) -> None:
        """Forget returns whose job has gone; jobs go by themselves."""
        del before_s, archive
        with self._talking():
            for key in self._scan("ret:*"):
                if not self._client.exists(f"load:{key.partition(':')[2]}"):
                    self._client.delete(key)

    def load(self, jid: str) -> dict[str, Any] | None:
        """Return a job, ``None`` for one that is not known."""
        with self._talking():
            text = self._client.get(f"load:{jid}")
        return None if text is None else _parse_map(text)

    def returns(self, jid: str) -> dict[str, Any]:
        """Return minion id → its whole return."""
        with self._talking():
            found = self._client.hgetall(f"ret:{jid}")
        return {minion: _parse_map(text) for minion, text in sorted(found.items())}

    def last_of(self, fun: str) -> dict[str, Any]:
        """Return minion id → its newest whole return of a function."""
        found = {}
        with self._talking():
            for minion in sorted(self._client.smembers("minions")):
                jid = self._client.get(f"{minion}:{fun}")
                text = self._client.hget(f"ret:{jid}", minion) if jid else None
                if text:
                    found[minion] = _parse_map(text)
        return found

    def loads(self) -> dict[str, dict[str, Any]]:
        """Return jid → job of all, oldest first."""
        with self._talking():
            keys = sorted(self._scan("load:*"))
            texts = self._client.mget(keys) if keys else []
        return {
            key.partition(":")[2]: _parse_map(text)
            for key, text in zip(keys, texts, strict=True)
            if text is not None
        }

    def minions(self) -> list[str]:
        """Return the ids that ever returned something, sorted."""
        with self._talking():
            return sorted(self._client.smembers("minions"))

    def close(self) -> None:
        """End the connection."""
        with contextlib.suppress(self._errors):
            self._client.close()

    def _scan(self, pattern: str) -> Iterator[str]:
        """The keys that fit, a part at a time: KEYS would hold the server."""
        yield from self._client.scan_iter(pattern, count=SCAN_COUNT)

    @contextlib.contextmanager
    def _talking(self) -> Iterator[None]:
        try:
            yield
        except (self._refusals, ValueError) as error:  # ValueError: half of a surrogate pair
            raise RecordRefused(f"Redis: {error}") from error
        except self._errors as error:  # full or locked, it may be other later
            if "WRONGTYPE" in str(error):  # a key of ours is somebody else's
                raise RecordRefused(f"Redis: {error}") from error
            raise ServerAway(f"Redis: {error}") from error


def _parse_map(text: str) -> dict[str, Any]:
    found = json.loads(text)
    return found if isinstance(found, dict) else {}
