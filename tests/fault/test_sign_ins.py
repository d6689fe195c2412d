"""Many minions sign in for the first time, keys go and come: nobody else's session suffers.

Source: docs/security.md#keys-that-come-change-and-go.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Iterator

import pytest

from attacks import Stranger, auth_answer, clear
from cluster import Cluster, eventually
from rogue import Rogue, Sealed
from saltlite.crypto.keys import PrivateKey

pytestmark = pytest.mark.alone

NEWCOMERS = 600
LOOK_S = 1.0
"""How often Maintenance looks for sessions without a key."""


@pytest.fixture
def world() -> Iterator[tuple[Cluster, Stranger]]:
    with Cluster(minions=0, master_options={"worker_threads": 3}) as cluster:
        cluster.start_master()
        stranger = Stranger(cluster.ret_port)
        yield cluster, stranger
        stranger.close()


def rotations(cluster: Cluster) -> list[str]:
    return re.findall(r"The publication key was changed \((.*)\)", cluster.master.log())


def test_first_sign_ins_end_no_session(world: tuple[Cluster, Stranger]) -> None:
    """While Maintenance looks all the time, since keys come all the time."""
    cluster, stranger = world
    pem = PrivateKey.generate(2048).public.pem
    until_s = time.monotonic() + 3 * LOOK_S
    number = 0
    while number < NEWCOMERS or time.monotonic() < until_s:
        offers = [
            clear({"cmd": "_auth", "id": f"m{n}", "nonce": uuid.uuid4().hex, "pub": pem,
                   "enc_algo": "OAEP-SHA1", "sig_algo": "PKCS1v15-SHA1"})
            for n in range(number, number + 50)
        ]  # fmt: skip
        assert all("aes" in auth_answer(one) for one in stranger.send_many(offers, within_s=30))
        number += 50
    time.sleep(2 * LOOK_S)
    assert len(list((cluster.cache_dir / "sessions").iterdir())) == number
    assert "its key is not accepted" not in cluster.master.log()
    assert not rotations(cluster)


def test_one_deletion_changes_the_publication_key_once(world: tuple[Cluster, Stranger]) -> None:
    """By whatever hand; and the others go on with the sessions they have."""
    cluster, stranger = world
    staying = Rogue(cluster, stranger, "stays")
    staying.authenticate()
    for number, how in enumerate(["salt-key", "salt-key", "by hand", "salt-key"]):
        going = Rogue(cluster, stranger, f"goes{number}", staying.key)
        going.authenticate()
        if how == "salt-key":
            assert cluster.salt_key("-d", going.id, "-y").exit_code == 0
        else:
            (cluster.pki_dir / "minions" / going.id).unlink()
        eventually(lambda n=number: len(rotations(cluster)) > n, within_s=10, what="a rotation")
        time.sleep(2 * LOOK_S)
        assert len(rotations(cluster)) == number + 1
        assert not (cluster.cache_dir / "sessions" / going.id).exists()
        assert staying.send({"cmd": "_file_envs"}) == Sealed(["base"])


def test_keys_that_go_while_their_minions_sign_in(world: tuple[Cluster, Stranger]) -> None:
    """No session is left to an id that has no key, whoever was first."""
    cluster, stranger = world
    key = PrivateKey.generate(2048)
    minions = [Rogue(cluster, stranger, f"churn{n}", key) for n in range(4)]
    done = threading.Event()

    def remove_keys() -> None:
        while not done.is_set():
            for one in minions:
                (cluster.pki_dir / "minions" / one.id).unlink(missing_ok=True)
                time.sleep(0.01)

    thread = threading.Thread(target=remove_keys)
    thread.start()
    try:
        for _ in range(100):
            for one in minions:
                one.authenticate()  # each time the key is accepted again
    finally:
        done.set()
        thread.join()
    for one in minions:
        (cluster.pki_dir / "minions" / one.id).unlink(missing_ok=True)
    sessions = cluster.cache_dir / "sessions"
    eventually(lambda: not list(sessions.iterdir()), within_s=10, what="no session without a key")
