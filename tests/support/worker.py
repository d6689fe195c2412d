"""A worker of the master without sockets, and minions that speak to it."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saltlite.channel.handshake import MinionHandshake
from saltlite.channel.minion import MinionChannel
from saltlite.config.load import load_master
from saltlite.crypto.cipher import new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import StoreError
from saltlite.master.acl import key_path, process_user, write_keys
from saltlite.master.context import MasterContext, Shared, make_context
from saltlite.master.dispatch import Dispatcher
from saltlite.master.keystore import KeyStore
from saltlite.master.replay import table_bytes
from saltlite.master.shared import SharedArea
from saltlite.transport.codec import pack, unpack


class Bus:
    def __init__(self) -> None:
        self.events: list[tuple[str, Mapping[str, Any]]] = []

    def fire(self, tag: str, data: Mapping[str, Any]) -> bool:
        self.events.append((tag, data))
        return True

    def tags(self) -> list[str]:
        return [tag for tag, _data in self.events]


class Jobs:
    def __init__(self) -> None:
        self.published: list[Mapping[str, Any]] = []
        self.fails = False

    def publish(self, job: Mapping[str, Any], topics: list[bytes]) -> None:
        if self.fails:
            raise StoreError("the publisher does not take jobs")
        self.published.append(job)


@dataclass
class World:
    """A worker without sockets, and minions that speak to it."""

    ctx: MasterContext
    dispatcher: Dispatcher
    bus: Bus = field(default_factory=Bus)
    jobs: Jobs = field(default_factory=Jobs)
    nonces: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def clear(self, load: Any, **envelope: Any) -> Any:
        return unpack(
            self.dispatcher.answer(pack({"enc": "clear", "load": load, "version": 3, **envelope}))
        )

    def root_key(self) -> str:
        return key_path(self.ctx.shared.cachedir, process_user()).read_text()

    def publish(self, **load: Any) -> Any:
        whole = {
            "cmd": "publish", "tgt": "*", "fun": "test.ping", "arg": [], "tgt_type": "glob",
            "ret": "", "jid": "", "user": process_user(), "key": self.root_key(), **load,
        }  # fmt: skip
        return self.clear(whole)

    def minion(self, minion_id: str, key: PrivateKey, *, signs: bool = False) -> Minion:
        shake = MinionHandshake(key, minion_id)
        accepted = shake.accept(self.dispatcher.answer(shake.request()))
        channel = MinionChannel(
            minion_id, key, accepted.session, sign_messages=signs, master_key=accepted.master_key
        )
        return Minion(self, channel)


@dataclass
class Minion:
    world: World
    channel: MinionChannel

    def ask(self, cmd: str, **load: Any) -> Any:
        frame, nonce = self.channel.seal({"cmd": cmd, **load})
        return self.channel.open(self.world.dispatcher.answer(frame), nonce)


@contextlib.contextmanager
def worker_world(root: Path, key: PrivateKey, options: str) -> Iterator[World]:
    """A master with these options below ``root``, and ``key`` for its own."""
    (root / "master").write_text(f"root_dir: {root}\n{options}")
    config = load_master(root)
    for name in (config.paths.pki_dir, config.paths.cachedir):
        Path(name).mkdir(parents=True)
    shared = Shared(
        config=config,
        key=key,
        sign_key=None,
        pub_sig=None,
        user=process_user(),
        nonces=SharedArea("test", table_bytes()),
    )
    shared.publication.rotate(new_key_string(), 0.0)
    KeyStore(shared.pki_dir).prepare()
    write_keys(shared.cachedir, [process_user()], new_key_string)
    bus, jobs = Bus(), Jobs()
    ctx = make_context(shared, events=bus, publisher=jobs)
    yield World(ctx, Dispatcher(ctx), bus, jobs)
    ctx.jobs.close()
    shared.close()
