"""Publisher: PULL takes job maps from workers, a port gives them, sealed and signed, to minions.

Each job gets the next serial under the current publication key. After this process was replaced,
the first job waits until the minions that were there are back, or half a second; those that come
later get it then (``repeats.py``). Source: docs/wire.md#sockets, #publications;
docs/reliability.md#processes-die.
"""

from __future__ import annotations

import logging
import os
import time
from typing import Any, Final

import zmq

from saltlite.channel.publication import seal_publication
from saltlite.core.messages import as_bytes, as_map
from saltlite.crypto.cipher import Crypticle
from saltlite.errors import StoreError, WireError
from saltlite.jobs.marks import SENT, Marks
from saltlite.master.child import BEAT_S, EXIT_CANNOT_START, Life
from saltlite.master.connections import Connections, available_descriptors
from saltlite.master.context import Shared
from saltlite.master.publishqueue import WAITING_LIMIT
from saltlite.master.repeats import SETTLE_S, Repeats
from saltlite.transport.addresses import MasterSockets, ipc
from saltlite.transport.codec import unpack_bin
from saltlite.transport.publish_port import PublishPort
from saltlite.transport.tcp import TcpOptions

log = logging.getLogger(__name__)

REJOIN_S: Final = 0.5

LINGER_S: Final = 1.0


class Publisher:
    """The process behind port 4505."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._crypticle: tuple[int, Crypticle] | None = None
        self._repeats: Repeats | None = None
        self._marks = Marks(shared.cachedir, "Publisher")

    def run(self, life: Life) -> None:
        """Open the sockets, publish until told to stop, then empty the line."""
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            self._connections = Connections(available_descriptors())
            pull = _bind_pull(context, self._shared.sockets)
            port = self._open_port()
        except (zmq.ZMQError, OSError, ValueError) as error:
            log.error("Publisher cannot listen: %s", error)
            raise SystemExit(EXIT_CANNOT_START) from error
        poller = zmq.Poller()
        poller.register(port.fileno(), zmq.POLLIN)
        life.register(poller)
        life.ready()
        try:
            self._wait_for_minions(life, poller, port)
            # Only now: jobs wait in line until those who were there are back.
            poller.register(pull, zmq.POLLIN)
            while not life.stopping:
                patience_s = self._serve_port(port)
                self._connections.release_memory(time.monotonic())
                self._repeat_jobs(port)
                if life.poll(poller, min(patience_s, self._patience_s())):
                    self._publish_all(pull, port)
            # The workers have ended by now; what they handed over is to go out.
            self._publish_all(pull, port)
            port.flush(LINGER_S)
        finally:
            port.close()
            context.destroy(linger=0)

    def _open_port(self) -> PublishPort:
        network = self._shared.config.network
        timeout_ms = network.zmq_heartbeat_timeout or network.zmq_heartbeat_ivl
        return PublishPort(
            network.interface.strip("[]"),
            network.publish_port,
            hwm=network.pub_hwm,
            backlog=network.zmq_backlog,
            heartbeat_ivl_s=network.zmq_heartbeat_ivl / 1000,
            heartbeat_timeout_s=timeout_ms / 1000,
            # An address may have so many connections only, and all of them are counted.
            admit=self._connections.admit,
            forget=self._connections.forget,
            tcp=TcpOptions(
                keepalive=network.tcp_keepalive,
                keepalive_idle_s=network.tcp_keepalive_idle,
                keepalive_cnt=network.tcp_keepalive_cnt,
                keepalive_intvl_s=network.tcp_keepalive_intvl,
            ),
        )

    # --- who is there --------------------------------------------------------------------

    def _wait_for_minions(self, life: Life, poller: zmq.Poller, port: PublishPort) -> None:
        """After a restart only: a job sent into the void reaches nobody."""
        if not life.restarts:
            return
        self._repeats = Repeats(time.monotonic())
        # In shared memory: how many the Publisher had that was lost.
        before = self._shared.subscribers.get()
        if not before:
            return
        until_s = time.monotonic() + REJOIN_S
        while len(self._connections) < before and time.monotonic() < until_s and not life.stopping:
            life.poll(poller, until_s - time.monotonic())
            self._serve_port(port)
        # The last of them are connected, but may not have subscribed yet.
        until_s = time.monotonic() + SETTLE_S
        while time.monotonic() < until_s and not life.stopping:
            life.poll(poller, until_s - time.monotonic())
            self._serve_port(port)

    def _serve_port(self, port: PublishPort) -> float:
        """Do what the port has to do, and count connections, for us and for a successor.

        How long until it has to be looked at again.
        """
        before, arrived = len(self._connections), self._connections.admitted
        now_s = time.monotonic()
        port.take_events(now_s)
        patience_s = port.keep_time(now_s)
        if self._repeats is not None and self._connections.admitted != arrived:
            self._repeats.note_arrival(now_s)
        if len(self._connections) != before:
            self._shared.subscribers.set(len(self._connections))
        return patience_s

    def _patience_s(self) -> float:
        if self._repeats is None:
            return BEAT_S
        return min(BEAT_S, self._repeats.wait_s(time.monotonic()))

    def _repeat_jobs(self, port: PublishPort) -> None:
        """Publish again what those could not get who have connected since."""
        if self._repeats is None:
            return
        now_s = time.monotonic()
        for kept in self._repeats.due(now_s):
            self._publish_job(port, kept.job, kept.topics)
        if self._repeats.is_over(now_s):
            self._repeats = None

    # --- jobs ----------------------------------------------------------------------------

    def _publish_all(self, pull: zmq.Socket[bytes], port: PublishPort) -> None:
        # No more than may wait at once: signals and connections get their turn.
        for _ in range(WAITING_LIMIT):
            try:
                frame = pull.recv(zmq.NOBLOCK)
            except zmq.Again:
                return
            try:
                order = as_map(unpack_bin(frame), "order")
                job = as_map(order.get("job"), "job")
                if "frame" in order:  # sealed by another node of the cluster, or by us for all
                    sealed = as_bytes(order["frame"], "frame")
                    self._send_frame(port, job.get("jid"), sealed, order.get("topics"))
                else:
                    self._publish_job(port, job, order.get("topics"))
                if self._repeats is not None:
                    self._repeats.keep(job, order.get("topics"))
            except WireError as error:
                log.error("A job could not be published: %s", error)

    def _publish_job(self, port: PublishPort, job: dict[str, Any], topics: Any) -> None:
        shared = self._shared
        # Before each job, so that a minion that was deleted cannot open it.
        self._renew_key()
        # Both in one step: a serial counts under its own key alone.
        key, serial = shared.publication.next_serial()
        if self._crypticle is None or self._crypticle[0] != key.generation:
            self._crypticle = (key.generation, Crypticle(key.key))
        keys = shared.config.keys
        message = seal_publication(
            job,
            aes=self._crypticle[1],
            serial=serial,
            signer=shared.key if keys.sign_pub_messages else None,
            sig_algo=keys.publish_signing_algorithm,
        )
        log.debug("Publishing job %s, serial %d", job.get("jid"), serial)
        self._send_frame(port, job.get("jid"), message, topics)

    def _send_frame(self, port: PublishPort, jid: Any, message: bytes, topics: Any) -> None:
        # Before it is sent: the first minion may have it sooner than this goes on.
        sent_us = time.time_ns() // 1000
        if self._shared.config.network.zmq_filtering:
            for topic in topics or ():
                port.publish(topic, message)
        else:
            port.publish(message)
        self._marks.note(SENT, str(jid), "", sent_us)

    def _renew_key(self) -> None:
        try:
            self._shared.renew_publication_key()
        except StoreError as error:
            log.error("The publication key is not changed as asked: %s", error)


def _bind_pull(
    context: zmq.Context[zmq.Socket[bytes]], sockets: MasterSockets
) -> zmq.Socket[bytes]:
    pull = context.socket(zmq.PULL)
    pull.setsockopt(zmq.RCVHWM, WAITING_LIMIT)
    pull.bind(ipc(sockets.publish_pull))
    # The umask has closed it to others from the start.
    os.chmod(sockets.publish_pull, 0o600)
    return pull
