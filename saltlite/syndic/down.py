"""Jobs on their way down: from a master above to the one of this machine, under the same job id."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final

import zmq.asyncio

from saltlite.client.identity import local_key, sender
from saltlite.client.jobs import find_request_address
from saltlite.config.master import MasterConfig
from saltlite.core.fields import write_fields
from saltlite.core.messages import Envelope, Job, PublishLoad, refusal
from saltlite.errors import RequestTimeout, SaltliteError
from saltlite.transport.areq import AsyncRequester
from saltlite.transport.codec import pack, unpack

log = logging.getLogger(__name__)

WAITING_MOST: Final = 10_000
"""Jobs that wait for a lower master that does not answer."""

KNOWN_MOST: Final = 10_000
"""Jobs of which it is known who asked for them."""

AT_ONCE: Final = 4
ANSWER_S: Final = 15.0
PATIENCE_S: Final = 60.0
"""So long after it came a job is tried again; who asked has given up by then."""

FROM_MASTER: Final = "from_master"
"""In ``kwargs`` of the lower master's record: the master above that is to have the returns."""

_JOB_OPTIONS: Final = (
    "metadata", "module_executors", "executor_opts", "ret_config", "ret_kwargs", "start_event",
    "master_id",
)  # fmt: skip


def make_load(job: Job, upper: str, timeout_s: int, key: str) -> dict[str, Any]:
    """The ``publish`` for the lower master."""
    given = job.extra.get("auth_list")
    # Sent even if empty: by it the lower master knows a syndic's job, which may come twice.
    kwargs: dict[str, Any] = {"auth_list": given if given else [], FROM_MASTER: upper}
    if job.user:
        kwargs["user"] = job.user
    if job.delimiter != ":":
        kwargs["delimiter"] = job.delimiter
    options = write_fields(job)
    kwargs |= {name: options[name] for name in _JOB_OPTIONS if options[name] is not None}
    patience = timeout_s if job.to is None else job.to
    return PublishLoad(
        tgt=job.tgt,
        fun=job.fun,
        arg=job.arg,
        tgt_type=job.tgt_type,
        ret=job.ret,
        jid=job.jid,
        user=sender(),
        key=key,
        kwargs=kwargs,
        to=max(0, patience - 1),
    ).to_wire()


class JobsDown:
    """Publishes jobs of masters above on the lower master. ``run`` does the work."""

    def __init__(self, config: MasterConfig, context: zmq.asyncio.Context) -> None:
        self._config = config
        self._context = context
        self._own_master_id = config.extra.get("master_id")
        self._queue: asyncio.Queue[tuple[Job, str, float]] = asyncio.Queue(WAITING_MOST)
        self._origins: OrderedDict[str, str] = OrderedDict()

    def take(self, job: Job, upper: str) -> None:
        """Take a job that ``upper`` has published; each once, whoever else publishes it."""
        if job.master_id is not None and job.master_id == self._own_master_id:
            return
        if job.jid in self._origins:
            log.debug("job %s came before, from %s", job.jid, self._origins[job.jid])
            return
        try:
            self._queue.put_nowait((job, upper, time.monotonic()))
        except asyncio.QueueFull:
            log.error("job %s of master %s is lost: %d wait", job.jid, upper, WAITING_MOST)
            return
        self._origins[job.jid] = upper
        if len(self._origins) > KNOWN_MOST:
            self._origins.popitem(last=False)

    def origin(self, jid: str) -> str | None:
        """The master that asked, as far as this process has seen it."""
        return self._origins.get(jid)

    async def run(self) -> None:
        """Publish what was taken, until cancelled."""
        await asyncio.gather(*(self._publish_next() for _ in range(AT_ONCE)))

    async def _publish_next(self) -> None:
        address = find_request_address(self._config)
        requester = AsyncRequester(address, context=self._context)
        try:
            while True:
                job, upper, came_s = await self._queue.get()
                await self._publish(requester, job, upper, came_s)
        finally:
            requester.close()

    async def _publish(
        self, requester: AsyncRequester, job: Job, upper: str, came_s: float
    ) -> None:
        while time.monotonic() - came_s <= PATIENCE_S:
            if await self._try_to_publish(requester, job, upper):
                return
        log.error("job %s is lost: the master here does not answer", job.jid)

    async def _try_to_publish(self, requester: AsyncRequester, job: Job, upper: str) -> bool:
        """``False`` if it is to be tried again: by its jid the master here takes it once."""
        try:
            await self._publish_once(requester, job, upper)
        except RequestTimeout as error:
            log.warning("job %s: %s", job.jid, error)
            return False
        except SaltliteError as error:
            log.error("job %s cannot be published here: %s", job.jid, error)
        return True

    async def _publish_once(self, requester: AsyncRequester, job: Job, upper: str) -> None:
        # Read each time: a master that starts anew has another key.
        key = local_key(Path(self._config.paths.cachedir))
        load = make_load(job, upper, int(self._config.jobs.timeout), key)
        frame = pack(Envelope(enc="clear", load=load).to_wire())
        answer = unpack(await requester.request(frame, timeout_s=ANSWER_S))
        refused = refusal(answer)
        if refused is not None:
            log.warning("job %s of master %s is refused here: %s", job.jid, upper, refused[1])
            return
        log.info("job %s of master %s: %s is published", job.jid, upper, ",".join(job.functions))
