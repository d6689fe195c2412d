"""What ``format_events`` of a websocket shows: jobs and minions, put together from events.

Pure. Bounds: :data:`JOBS_MOST` jobs and :data:`MINIONS_MOST` minions of each listener, and
:data:`BYTES_MOST` of either as JSON; the oldest go first. A job of more than :data:`JOB_BYTES_MOST`
is shown without what its minions returned. Source: docs/api.md, "Websockets".
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from saltlite.api.negotiation import encode_json
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields

JOBS_MOST: Final = 200
MINIONS_MOST: Final = 10_000
BYTES_MOST: Final = 1024 * 1024
JOB_BYTES_MOST: Final = 256 * 1024
PENDING_BYTES_MOST: Final = 4 * 1024 * 1024
"""What may be kept of events until it is put together."""

GRAINS: Final = "grains.items"
RUNNING, COMPLETE = "running", "complete"

_KINDS: Final = ("salt/job/", "salt/key", "salt/presence/")
_RETURNED: Final = ("return", "retcode", "success")
_TEXT_START: Final = len(b"data: ")


def is_shown(tag: str) -> bool:
    """Whether an event of this tag may change what is shown."""
    return tag.startswith(_KINDS)


class JobsAndMinions:
    """The jobs and minions of one listener."""

    def __init__(self) -> None:
        self._jobs: dict[str, dict[str, Any]] = {}
        self._texts = _Texts(JOBS_MOST)
        self._minions = _Texts(MINIONS_MOST)
        self._changed: dict[str, None] = {}
        self._jobs_to_encode: dict[str, None] = {}
        self._large: set[str] = set()
        self._pending_bytes = 0

    @property
    def has_news(self) -> bool:
        """Whether :meth:`messages` would give some."""
        return bool(self._changed)

    def take_text(self, text: bytes) -> None:
        """Take an event as it goes over a plain websocket."""
        event = json.loads(text[_TEXT_START:])
        self.take(event["tag"], event["data"])
        self._pending_bytes += len(text)
        if self._pending_bytes > PENDING_BYTES_MOST:
            self._encode_jobs()

    def take(self, tag: str, data: object) -> None:
        """Take an event; one that is not as it should be changes nothing."""
        words = tag.split("/")
        if not is_shown(tag) or not isinstance(data, Mapping):
            return
        if words[1] == "job":
            self._take_job(words, data)
        elif words[1] == "key" and isinstance(data.get("id"), str):
            self._take_key(data["id"], data.get("act"))
        elif words[1] == "presence":
            self._take_presence(data)

    def messages(self) -> Iterator[bytes]:
        """Yield what changed since the last call, as JSON: all jobs, all minions."""
        changed, self._changed = self._changed, {}
        self._encode_jobs()
        for what in changed:
            if what == "jobs":
                jobs = (encode_json(jid) + b":" + text for jid, text in self._texts.items())
                yield b'{"jobs":{' + b",".join(jobs) + b"}}"
            else:
                minions = (text for _, text in self._minions.items())
                yield b'{"minions":[' + b",".join(minions) + b"]}"

    def _encode_jobs(self) -> None:
        """Put the jobs that changed into JSON, and forget those that there is no room for."""
        for jid in self._jobs_to_encode:
            text = encode_json(self._jobs[jid])
            if len(text) > JOB_BYTES_MOST:
                self._large.add(jid)
                for one in self._jobs[jid]["minions"].values():
                    one.pop("return", None)
                text = encode_json(self._jobs[jid])
            self._texts.put(jid, text)
        self._jobs_to_encode = {}
        self._pending_bytes = 0
        for jid in set(self._jobs) - self._texts.keys():
            del self._jobs[jid]
        self._large &= set(self._jobs)

    # --- events ----------------------------------------------------------------------------

    def _take_job(self, words: list[str], data: Mapping[str, object]) -> None:
        jid, what = words[2], words[3] if len(words) > 3 else ""
        if what == "new" and len(words) == 4:
            self._begin_job(jid, _read_job_event(data))
        elif what == "ret" and len(words) == 5:
            self._return(jid, words[4], data)

    def _begin_job(self, jid: str, data: JobEvent) -> None:
        minions = data.minions
        asked = [one for one in minions if isinstance(one, str)] if minions else []
        self._put_job(
            jid,
            {
                "jid": jid,
                "start_time": data.stamp,
                "minions": {one: {"success": False} for one in asked[:MINIONS_MOST]},
                "fun": data.fun,
                "tgt": data.tgt,
                "tgt_type": data.tgt_type,
                "state": RUNNING,
            },
        )
        if data.fun == GRAINS:
            self._minions.clear()

    def _return(self, jid: str, minion: str, data: Mapping[str, object]) -> None:
        job = self._jobs.get(jid, {"minions": {}})
        if len(job["minions"]) < MINIONS_MOST or minion in job["minions"]:
            shown = _RETURNED[jid in self._large :]
            job["minions"][minion] = {"success": False, "retcode": None} | {
                key: data[key] for key in shown if key in data
            }
        if all("retcode" in one for one in job["minions"].values()):
            job["state"] = COMPLETE
        self._put_job(jid, job)
        event = _read_job_event(data)
        if event.fun == GRAINS:
            self._put_minion(minion, {"grains": event.return_})

    def _take_key(self, minion: str, act: object) -> None:
        if act == "delete":
            self._minions.pop(minion)
        elif act == "accept" and minion not in self._minions:
            self._put_minion(minion, {})
        self._changed["minions"] = None

    def _take_presence(self, data: Mapping[str, Any]) -> None:
        """``present`` has all minions that are connected, ``change`` those that came and went."""
        event = read_fields(PresenceEvent, data)
        known = self._minions.keys()
        if isinstance(event.present, list):
            present = {one for one in event.present if isinstance(one, str)}
            lost, new = known - present, present - known
        else:
            lost = known & _names(event.lost)
            new = _names(event.new) - known
        for minion in lost:
            self._minions.pop(minion)
        for minion in sorted(new):
            self._put_minion(minion, {})
        if lost or new:
            self._changed["minions"] = None

    # --- what is kept ----------------------------------------------------------------------

    def _put_job(self, jid: str, job: dict[str, Any]) -> None:
        self._jobs[jid] = job
        self._jobs_to_encode[jid] = None
        self._changed["jobs"] = None
        if len(self._jobs) > 2 * JOBS_MOST:  # nobody has asked for long
            oldest = next(iter(self._jobs))
            del self._jobs[oldest]
            self._jobs_to_encode.pop(oldest, None)
            self._texts.pop(oldest)

    def _put_minion(self, minion: str, about: Mapping[str, object]) -> None:
        self._minions.put(minion, encode_json({**about, "id": minion}))
        self._changed["minions"] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """What an event tells of a job that begins, or of its return on one minion."""

    minions: Any = None
    stamp: object = None
    fun: object = None
    tgt: object = None
    tgt_type: object = None
    return_: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceEvent:
    """Which minions are connected, or which came and went."""

    present: Any = None
    lost: object = None
    new: object = None


def _read_job_event(data: Mapping[str, Any]) -> JobEvent:
    spelt = {"stamp": data.get("_stamp"), "return_": data.get("return")}
    return read_fields(JobEvent, {**data, **spelt})


def _names(value: object) -> set[str]:
    return {one for one in value if isinstance(one, str)} if isinstance(value, list) else set()


class _Texts:
    """JSON texts by name, so many and of so many bytes at most."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._texts: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def put(self, name: str, text: bytes) -> None:
        """Keep a text; the oldest go. One that is too long alone is not kept."""
        if len(text) > BYTES_MOST:  # it must not drive out the others
            self.pop(name)
            return
        if name in self._texts:  # it keeps its place
            self._bytes -= len(self._texts[name])
        self._texts[name] = text
        self._bytes += len(text)
        while self._bytes > BYTES_MOST or len(self._texts) > self._most:
            self._bytes -= len(self._texts.popitem(last=False)[1])

    def pop(self, name: str) -> None:
        """Forget a text, if it is there."""
        self._bytes -= len(self._texts.pop(name, b""))

    def clear(self) -> None:
        """Forget all."""
        self._texts.clear()
        self._bytes = 0

    def __contains__(self, name: object) -> bool:
        return name in self._texts

    def keys(self) -> set[str]:
        """The names."""
        return set(self._texts)

    def items(self) -> Iterator[tuple[str, bytes]]:
        """Names and texts, oldest first."""
        yield from self._texts.items()
