"""Connections that keep silent or say much at once.

Source: docs/security.md#malformed-input, #limits.
"""

from __future__ import annotations

import contextlib
import resource
import socket
import threading
import time
import uuid
from collections.abc import Iterator

import pytest
import zmq
from programs import many_descriptors

from attacks import Stranger, Victim, auth_answer, clear, decoded, unharmed, wire
from cluster import Cluster, eventually
from saltlite.crypto.keys import PrivateKey
from zmtp import COMMAND, exactly, frame, greeting, peer, ready

LIMIT = 256
PIPELINED = 40


def test_replies_to_one_dealer_keep_their_order(victim: Victim) -> None:
    """Those that cost RSA and those that cost nothing, on several workers."""
    pem = PrivateKey.generate(2048).public.pem
    nonces = [uuid.uuid4().hex if number % 3 else "" for number in range(PIPELINED)]
    auth = {"cmd": "_auth", "id": "dealer", "pub": pem, "enc_algo": "OAEP-SHA1",
            "sig_algo": "PKCS1v15-SHA1"}  # fmt: skip
    requests = [clear({**auth, "nonce": one} if one else {"cmd": "ping"}) for one in nonces]
    with unharmed(victim, written=r"/minions_pre/(dealer)?$", events="salt/auth"):
        dealer = victim.stranger.context.socket(zmq.DEALER)
        dealer.connect(victim.stranger.address)
        for request in requests:
            dealer.send_multipart([b"", wire(request)])
        replies = []
        for _ in requests:
            assert dealer.poll(5000), f"{len(replies)} replies to {len(requests)} requests"
            replies.append(decoded(dealer.recv_multipart()[-1]))
        dealer.close(0)
    answers = [auth_answer(one) for one in replies]
    assert [one.get("nonce", "") for one in answers] == nonces
    (victim.cluster.pki_dir / "minions_pre" / "dealer").unlink()


PINGS = frame(b"\x04PING\0\0", flags=COMMAND) * 200
EMPTY = frame(b"") * 30_000


@pytest.mark.parametrize("said", [PINGS, EMPTY], ids=["pings", "empty messages"])
def test_a_flood_of_what_costs_nothing_keeps_nobody_waiting(victim: Victim, said: bytes) -> None:
    """What the port answers by itself, from a hundred connections as fast as they can."""
    ended = threading.Event()

    def flood() -> None:
        with contextlib.ExitStack() as stack:
            peers = []
            for _ in range(100):
                one = stack.enter_context(peer(victim.cluster.ret_port))
                one.setblocking(False)
                peers.append(one)
            flooding.set()
            while not ended.is_set():
                for one in peers:
                    with contextlib.suppress(OSError):
                        one.send(said)
                    with contextlib.suppress(OSError):
                        one.recv(1 << 20)

    flooding = threading.Event()
    thread = threading.Thread(target=flood)
    thread.start()
    try:
        assert flooding.wait(20)
        took_s = []
        for _ in range(20):
            begun_s = time.monotonic()
            assert victim.stranger.send(clear({"cmd": "ping"})) == {"cmd": "ping"}
            took_s.append(time.monotonic() - begun_s)
        # Without a bound of what one turn does it was two seconds, and ten.
        assert sorted(took_s)[10] < 0.5, took_s
    finally:
        ended.set()
        thread.join(20)


@pytest.fixture
def narrow() -> Iterator[Cluster]:
    """A master that may open few files."""
    options = {"worker_threads": 1, "max_open_files": LIMIT}
    with Cluster(minions=0, master_options=options) as cluster:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, hard))
        try:
            cluster.master.start()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        eventually(cluster._master_listens, what="master listens")
        yield cluster


@contextlib.contextmanager
def idle_peers(port: int, socket_type: bytes, count: int) -> Iterator[list[socket.socket]]:
    """Connections from another address whose handshake is done, and that say nothing more."""
    with contextlib.ExitStack() as stack:
        peers = []
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            one.bind(("127.0.0.2", 0))
            one.settimeout(5)
            one.connect(("127.0.0.1", port))
            with contextlib.suppress(OSError):
                one.sendall(greeting() + ready(socket_type))
                exactly(one, 64)
            peers.append(one)
        yield peers


def test_idle_connections_keep_nobody_out(narrow: Cluster) -> None:
    """More than the master may have descriptors, on both ports, from one address."""
    with (
        many_descriptors(4 * LIMIT + 500),
        idle_peers(narrow.ret_port, b"DEALER", 2 * LIMIT),
        idle_peers(narrow.publish_port, b"SUB", 2 * LIMIT),
    ):
        for name in ("ReqServer", "Publisher"):
            (process,) = narrow.master.titled(f"salt-master {name}")
            assert process.num_fds() < LIMIT - 32
            cpu_s = sum(process.cpu_times()[:2])
            time.sleep(1)  # the time over which it is measured
            assert sum(process.cpu_times()[:2]) - cpu_s < 0.5, "spins"
        stranger = Stranger(narrow.ret_port)
        assert stranger.send(clear({"cmd": "ping"})) == {"cmd": "ping"}
        stranger.close()
        minion = narrow.add_minion("m1")
        minion.start()
        narrow.wait_for_ping("m1")
    told = narrow.master.log().count("Refused a connection from ")
    assert 2 <= told <= 20
