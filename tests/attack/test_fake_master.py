"""A minion in the hands of somebody who is not its master. Source: docs/security.md#impersonation,
#malformed-input.

Whatever comes in replies and publications: nothing runs that the master did not sign, the minion
stays up, and it is as well as ever when its master is back.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psutil
import pytest

from cluster import Cluster, Daemon
from fakemaster import Answer, Asked, FakeMaster
from saltlite.channel.payload import seal
from saltlite.crypto.cipher import Crypticle, new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.transport.codec import pack

START_S = 30.0
REPLY_S = 20.0
OPTIONS = {"return_retry_timer": 1, "return_retry_timer_max": 1, "request_channel_timeout": 3}
JIDS = (f"20240101{number:012d}" for number in itertools.count())


def _is_job(one: psutil.Process) -> bool:
    """Whether a process of a minion is a job's, or has been: it may have gone meanwhile."""
    try:
        return " job " in " ".join(one.cmdline())
    except psutil.NoSuchProcess:
        return True


@dataclass
class Prey:
    """One minion, and the master it believes in."""

    id: str
    daemon: Daemon
    master: FakeMaster

    def loop_pids(self) -> set[int]:
        """The parent and the loop; jobs come and go."""
        found = self.daemon.titled("salt-minion")
        return {one.pid for one in found if not _is_job(one)}

    def runs(self, *, jid: str = "", within_s: float = REPLY_S) -> str:
        """An honest job comes back; its jid."""
        jid = jid or next(JIDS)
        self.master.send(self.master.publication(self.master.job(jid, self.id)))
        self.came_back(jid, within_s)
        return jid

    def came_back(self, jid: str, within_s: float = REPLY_S) -> None:
        self.master.wait(
            lambda: self.master.returned(self.id).get(jid) is True, within_s, f"return of {jid}"
        )

    def ran(self) -> set[str]:
        return set(self.master.returned(self.id))

    def log_since(self, size: int) -> list[str]:
        return self.daemon.log()[size:].splitlines()


@pytest.fixture(scope="module")
def field() -> Iterator[tuple[Cluster, FakeMaster]]:
    with Cluster(minions=0, minion_options=OPTIONS) as cluster:
        master = FakeMaster(cluster.publish_port, cluster.ret_port)
        try:
            yield cluster, master
        finally:
            for daemon in cluster.minions.values():
                daemon.stop()
            master.close()


def start(field: tuple[Cluster, FakeMaster], minion_id: str, **options: Any) -> Prey:
    cluster, master = field
    daemon = cluster.add_minion(minion_id, **options)
    daemon.start()
    return Prey(minion_id, daemon, master)


def is_up(prey: Prey) -> None:
    prey.master.wait(
        lambda: len(prey.master.requests(prey.id, "_minion_event")) >= 2, START_S, "start events"
    )


@pytest.fixture(scope="module")
def prey(field: tuple[Cluster, FakeMaster]) -> Prey:
    one = start(field, "prey")
    is_up(one)
    one.runs()
    return one


def untouched(prey: Prey, *messages: tuple[bytes, ...], quiet: bool = True) -> None:
    """The messages make nothing run; an honest job after them does."""
    pids, ran, size = prey.loop_pids(), prey.ran(), len(prey.daemon.log())
    for frames in messages:
        prey.master.send(*frames)
    honest = prey.runs()
    assert prey.ran() == ran | {honest}
    assert prey.loop_pids() == pids, "the minion was started again"
    lines = prey.log_since(size)
    assert not [line for line in lines if "Traceback" in line or "ERROR" in line], lines
    if quiet:
        assert len(lines) < 20, lines


# --- publications ---------------------------------------------------------------------------------


def forged_publications(master: FakeMaster, tgt: str) -> dict[str, bytes]:
    """CVE-2017-7893, CVE-2016-1866: with the key that all minions share in hand."""
    rogue, seen = PrivateKey.generate(2048), master.serial

    def job(**fields: Any) -> dict[str, Any]:
        return master.job(next(JIDS), tgt, **fields)

    def sealed() -> bytes:
        return seal(Crypticle(master.aes), {**job(), "serial": master.serial + 100})

    def signed(load: bytes, algorithm: Any, signature: Any) -> bytes:
        return pack({"enc": "aes", "load": load, "sig_algo": algorithm, "sig": signature})

    good = sealed()
    signature = master.key.sign(good, "PKCS1v15-SHA1")
    clear = job()
    return {
        "in the clear": pack({"enc": "clear", "load": clear}),
        "clear and signed": signed(pack(clear), "PKCS1v15-SHA1", signature)
        .replace(b"\xa3aes", b"\xa5clear"),
        "unsigned": master.publication(job(), signer=None),
        "signed by the rogue": master.publication(job(), signer=rogue),
        "other bytes signed": signed(sealed(), "PKCS1v15-SHA1", signature),
        "empty signature": signed(good, "PKCS1v15-SHA1", b""),
        "no signature": pack({"enc": "aes", "load": good, "sig_algo": "PKCS1v15-SHA1"}),
        "no algorithm": pack({"enc": "aes", "load": good, "sig": signature}),
        "algorithm none": signed(good, "none", signature),
        "algorithm MD5": signed(good, "PKCS1v15-MD5", signature),
        "algorithm mismatch": signed(good, "PKCS1v15-SHA224", signature),
        "algorithm null": signed(good, None, signature),
        "algorithm a list": signed(good, ["PKCS1v15-SHA1"], signature),
        "signature a list": signed(good, "PKCS1v15-SHA1", [signature]),
        "signature a map": signed(good, "PKCS1v15-SHA1", {}),
        "switched off inside": master.publication(job(sign_pub_messages=False), signer=None),
        "equal serial": master.publication(job(), serial=seen),
        "lower serial": master.publication(job(), serial=0),
        "negative serial": master.publication(job(), serial=-5),
        "serial as text": master.publication(job(), serial="99"),
        "serial a float": master.publication(job(), serial=1e9),
        "enc pub": signed(good, "PKCS1v15-SHA1", signature).replace(b"\xa3aes", b"\xa3pub"),
    }  # fmt: skip


def test_nothing_runs_that_the_master_did_not_sign(prey: Prey) -> None:
    frames = forged_publications(prey.master, prey.id)
    untouched(prey, *((frame,) for frame in frames.values()))


def test_what_is_meant_for_others_is_not_run(prey: Prey) -> None:
    master = prey.master
    targets: list[tuple[Any, str]] = [
        ("somebody-else", "glob"), (["x", "y"], "list"), ("x.*", "pcre"), ("", "glob"),
        ("os:nosuch", "grain"), ("G@os:nosuch", "compound"), (prey.id, "no-such-type"),
        ("*", "nodegroup"), ([], "list"), ("(", "pcre"), ("((", "compound"), (5, "glob"),
        ({}, "list"), (None, "glob"), ("*", ""), ("10.255.255.255", "ipcidr"),
    ]  # fmt: skip
    jobs = [{**master.job(next(JIDS), "*"), "tgt": t, "tgt_type": kind} for t, kind in targets]
    untouched(prey, *((master.publication(job),) for job in jobs))


def test_a_job_of_no_shape_is_not_run(prey: Prey) -> None:
    master = prey.master
    spoilt: list[dict[str, Any]] = [
        {"jid": "x/../new"}, {"jid": 5}, {"jid": None}, {"jid": "../../x"}, {"jid": ""},
        {"fun": 5}, {"fun": {}}, {"fun": [5]}, {"fun": None}, {"arg": "x"}, {"arg": {}},
        {"arg": 5}, {"fun": ["test.ping"], "arg": []}, {"fun": ["test.ping"], "arg": ["x"]},
        {"ret": 5}, {"tgt_type": 5}, {"user": ["root"]}, {"metadata": 5}, {"ret_kwargs": "x"},
        {"module_executors": 5}, {"to": "x"}, {"delimiter": 5},
    ]  # fmt: skip
    jobs = [{**master.job(next(JIDS), prey.id), **one} for one in spoilt]
    missing = [master.job(next(JIDS), prey.id) for _ in range(4)]
    for job, name in zip(missing, ("fun", "arg", "tgt", "jid"), strict=True):
        del job[name]
    untouched(prey, *((master.publication(job),) for job in [*jobs, *missing]))


def test_a_signed_publication_that_holds_no_job(prey: Prey) -> None:
    master = prey.master
    crypticle = Crypticle(master.aes)
    plains = [b"", b"pickle::", b"pickle::\xc1", b"pickle::\xc0", b"pickle::\x90", b"pickle::\x05",
              b"pickle::" + b"\x91" * 600 + b"\xc0", b"junk", b"pickle::\x81\x90\x01"]  # fmt: skip
    loads = [crypticle.encrypt(plain) for plain in plains] + [b"", b"x" * 31, b"x" * 64]
    frames = [
        pack({"enc": "aes", "load": load, "sig_algo": "PKCS1v15-SHA1",
              "sig": master.key.sign(load, "PKCS1v15-SHA1")})
        for load in loads
    ]  # fmt: skip
    untouched(prey, *((frame,) for frame in frames), quiet=False)


def test_junk_on_the_publish_port(prey: Prey) -> None:
    honest = prey.master.publication(prey.master.job(next(JIDS), "somebody-else"))
    messages: list[tuple[bytes, ...]] = [
        (b"",), (b"\xc1",), (b"\xff" * 64,), (pack([]),), (pack("x"),), (pack({}),), (pack(None),),
        (honest[:-1],), (honest + b"\xc0",), (b"", b""), (b"x", b"y", b"z"), (b"topic", b"\xc1"),
        tuple(b"x" for _ in range(1000)), (b"\x91" * 100_000 + b"\xc0",), (os.urandom(2**20),),
        (b"\xdd\xff\xff\xff\xff",), (b"\xdf\xff\xff\xff\xff",), (pack({"enc": "aes"}),),
        (pack({"enc": "aes", "load": 5}),), (pack({"enc": ["aes"], "load": b"x"}),),
        (pack({"enc": "aes", "load": {"fun": "test.ping"}}),), (b"broadcast",),
    ]  # fmt: skip
    untouched(prey, *messages, *(((os.urandom(50)),) for _ in range(500)))


def test_a_publication_that_no_key_opens_brings_no_storm_of_sign_ins(prey: Prey) -> None:
    """One a second, though each gives a new session."""
    master, begun_s = prey.master, time.monotonic()
    before = len(master.requests(prey.id, "_auth"))
    master.send(master.publication(master.job(next(JIDS), prey.id), aes=new_key_string()))
    # The first at once; what the tests before have left behind may bring another one.
    master.wait(
        lambda: len(master.requests(prey.id, "_auth")) >= before + 5, REPLY_S, "five sign-ins"
    )
    assert time.monotonic() - begun_s > 2.5


def test_a_publication_is_taken_once(prey: Prey) -> None:
    """As it is, and as a new message about a job that ran already."""
    master = prey.master
    jid = next(JIDS)
    frame = master.publication(master.job(jid, prey.id))
    master.send(frame)
    prey.came_back(jid)
    returns = len(master.requests(prey.id, "_return"))
    again = master.publication(master.job(jid, prey.id))
    untouched(prey, (frame,), (again,), (frame,))
    assert len(master.requests(prey.id, "_return")) == returns + 1


def test_a_function_that_is_none_is_not_available(prey: Prey) -> None:
    """CVE-2021-33226; and no name is looked for outside the table of modules."""
    master = prey.master
    names = ["a" * 100_000, "test.__class__", "os.system", "test..ping", "test", ".", "",
             "../test.ping", "test.ping\0", "builtins.eval", "subprocess.run", "test.ping.x",
             "saltlite.host", "__init__.x", "test.Any", "test.annotations"]  # fmt: skip
    jobs = {next(JIDS): name for name in names}
    for jid, name in jobs.items():
        master.send(master.publication(master.job(jid, prey.id, fun=name, arg=["id"])))
    prey.runs()
    master.wait(lambda: jobs.keys() <= prey.ran(), REPLY_S, "returns of all")
    for jid, name in jobs.items():
        assert "is not available" in str(master.returned(prey.id)[jid]), name[:40]


# --- replies to requests --------------------------------------------------------------------------

JUNK: list[bytes] = [
    b"", b"\xc1", b"\xff" * 40, os.urandom(500), pack("bad load"), pack("x" * 31), pack("x" * 32),
    pack("payload and load must be a dict"), pack({}), pack([]), pack(None), pack(True), pack(5),
    pack({"enc": "clear", "load": {}}), pack({"msg": "bad load"}), b"\xdd\xff\xff\xff\xff",
    b"\x91" * 100_000 + b"\xc0", pack(b"\xff" * 63), pack(b"\xff" * 64), pack(b"\xff" * 2**20),
]  # fmt: skip


def wrong_nonce(master: FakeMaster, asked: Asked) -> bytes:
    return master.sealed(asked, None, nonce="0" * 32)


def other_session(master: FakeMaster, asked: Asked) -> bytes:
    return master.sealed(asked, None, session=new_key_string())


def no_nonce(master: FakeMaster, asked: Asked) -> bytes:
    return master.sealed(asked, None, nonce="")


def cut(master: FakeMaster, asked: Asked) -> bytes:
    return master.sealed(asked, None)[:-1]


def flipped(master: FakeMaster, asked: Asked) -> bytes:
    sealed = bytearray(master.sealed(asked, None))
    sealed[20] ^= 1
    return bytes(sealed)


REPLIES: list[Answer] = [*JUNK, wrong_nonce, other_session, no_nonce, cut, flipped]


def test_a_return_survives_junk_for_an_answer(prey: Prey) -> None:
    """Each junk once; the return is sent again until a master answers that knows the session."""
    pids, size = prey.loop_pids(), len(prey.daemon.log())
    master = prey.master
    for answer in REPLIES:
        master.script(prey.id, "_return", answer)
        jid = prey.runs()
        master.wait(
            lambda jid=jid: [o.load["jid"] for o in master.requests(prey.id, "_return")].count(jid)
            >= 2, REPLY_S, f"the return again after {str(answer)[:40]}",
        )  # fmt: skip
    assert prey.loop_pids() == pids
    assert "Traceback" not in prey.daemon.log()[size:]


# --- replies to _auth -----------------------------------------------------------------------------


def unsigned(master: FakeMaster, asked: Asked) -> bytes:
    reply: Any = _unpacked(master.let_in(asked))
    return pack({"enc": "clear", "load": reply["load"]})


def badly_signed(master: FakeMaster, asked: Asked) -> bytes:
    reply: Any = _unpacked(master.let_in(asked))
    return pack({**reply, "sig": PrivateKey.generate(2048).sign(reply["load"], "PKCS1v15-SHA1")})


def _unpacked(frame: bytes) -> Any:
    from saltlite.core.messages import as_bytes
    from saltlite.transport.codec import unpack

    reply: Any = unpack(frame)
    return {**reply, "load": as_bytes(reply["load"], "load"), "sig": as_bytes(reply["sig"], "sig")}


def spoilt(**changes: Any) -> Answer:
    def answer(master: FakeMaster, asked: Asked) -> bytes:
        return master.let_in(asked, **changes)

    return answer


def refusal_unsigned(master: FakeMaster, asked: Asked) -> bytes:
    return pack({"enc": "clear", "load": pack({"ret": False, "nonce": "0" * 32})})


AUTH_JUNK: list[Answer] = [
    *JUNK[:8], pack({"enc": "clear", "load": 5}), pack({"enc": "clear", "load": b"\xc1"}),
    pack({"enc": "clear", "load": {"ret": "bad enc algo"}}), refusal_unsigned, unsigned,
    badly_signed, spoilt(nonce="0" * 32), spoilt(aes=b"x" * 256), spoilt(session=b"x" * 256),
    spoilt(session=None), spoilt(sig=b"x" * 256), spoilt(sig=b""), spoilt(publish_port="4505"),
    spoilt(publish_port=None), spoilt(pub_key="junk"), spoilt(pub_key=5), spoilt(aes=[]),
    spoilt(pub_key=PrivateKey.generate(2048).public.pem), spoilt(pub_sig="x"), spoilt(enc="x"),
]  # fmt: skip


def unsigned_pillar(master: FakeMaster, asked: Asked) -> bytes:
    return master.sealed(asked, {"a": 1})


def clear_pillar(_master: FakeMaster, _asked: Asked) -> bytes:
    return pack({"a": 1})


def pillar_in_the_clear(master: FakeMaster, asked: Asked) -> bytes:
    return pack({"key": "", "pillar": {"a": 1}})


def signed_by_another(master: FakeMaster, asked: Asked) -> bytes:
    return master.pillar(asked, signer=PrivateKey.generate(2048))


def of_another_request(master: FakeMaster, asked: Asked) -> bytes:
    return master.pillar(asked, nonce="0" * 32)


def for_another_key(master: FakeMaster, asked: Asked) -> bytes:
    return master.pillar(asked, minion_key=PrivateKey.generate(2048).public)


def cut_pillar(master: FakeMaster, asked: Asked) -> bytes:
    return master.pillar(asked)[:-20]


PILLAR_JUNK: list[Answer] = [
    unsigned_pillar, clear_pillar, pillar_in_the_clear, signed_by_another, of_another_request,
    for_another_key, cut_pillar,
]  # fmt: skip


def pillar_of(prey: Prey) -> Any:
    """What the minion holds for its pillar value ``a``."""
    master, jid = prey.master, next(JIDS)
    master.send(master.publication(master.job(jid, prey.id, fun="pillar.get", arg=["a"])))
    prey.master.wait(lambda: jid in prey.ran(), REPLY_S, "pillar.get")
    return master.returned(prey.id)[jid]


def test_junk_at_first_contact(field: tuple[Cluster, FakeMaster], prey: Prey) -> None:
    """Every minion gets a few kinds in turn, and comes up when they are over.

    CVE-2022-22935: no reply, however bad, ends the minion. CVE-2022-22934: no pillar of another
    signer, another request or no signature is taken.
    """
    _, master = field
    herd = []
    for number, junk in enumerate(PILLAR_JUNK):
        name = f"herd{number}"
        master.script(name, "_auth", *AUTH_JUNK[number :: len(PILLAR_JUNK)])
        master.script(name, "_pillar", junk, junk)
        herd.append(start(field, name))
    for one in herd:
        master.wait(
            lambda one=one: master.requests(one.id, "_minion_event"), 100, f"{one.id} comes up"
        )
        assert not master.scripted(one.id, "_auth")
        assert not master.scripted(one.id, "_pillar")
        assert pillar_of(one) == ""
    assert pillar_of(prey) == 1
    for one in herd:
        assert "Traceback" not in one.daemon.log()
        assert one.daemon.stop() == 0


def test_another_masters_key_is_refused_by_those_who_know_theirs(
    field: tuple[Cluster, FakeMaster], prey: Prey
) -> None:
    """After a rotation of the publication key somebody in the middle answers first."""
    _, master = field
    pinned = (prey.daemon.log_path.parent / prey.id / "pki" / "minion_master.pub").read_text()
    stranger = PrivateKey.generate(2048)

    def another_master(real: FakeMaster, asked: Asked) -> bytes:
        kept, real.key = real.key, stranger
        try:
            return real.let_in(asked)
        finally:
            real.key = kept

    def unread_token(real: FakeMaster, asked: Asked) -> bytes:
        return real.let_in(asked, token=b"x" * 256)

    master.script(prey.id, "_auth", another_master, unread_token, refusal_unsigned)
    pids = prey.loop_pids()
    master.aes, master.serial = new_key_string(), 0
    prey.runs(within_s=40)
    assert not master.scripted(prey.id, "_auth")
    assert prey.loop_pids() == pids
    after = (prey.daemon.log_path.parent / prey.id / "pki" / "minion_master.pub").read_text()
    assert after == pinned


def test_a_fingerprint_is_demanded_at_first_contact(field: tuple[Cluster, FakeMaster]) -> None:
    """Nothing is pinned and nothing runs; the minion ends with 42.

    Source: docs/wire.md#what-the-minion-does-next.
    """
    cluster, _ = field
    one = start(field, "careful", master_finger=":".join(["00"] * 32))
    assert one.daemon.process is not None
    assert one.daemon.process.wait(START_S) == 42
    assert not (cluster.root / "careful" / "pki" / "minion_master.pub").exists()
