"""Two of the master's processes at once, in every order of their store calls.

Each case holds for all orders, and does not once its mend is taken out: so the orders tried are
those that matter. Source: docs/reliability.md#interleavings.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from interleave import DIES, FAILS, Clock, Found, Run, Scene, explore

from saltlite.channel.handshake import MinionHandshake
from saltlite.channel.minion import MinionChannel
from saltlite.config.load import load_master
from saltlite.config.master import PillarOptions
from saltlite.crypto.cipher import new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import CryptoError, KeyRejected, SaltliteError
from saltlite.master import jobcache
from saltlite.master.acl import key_path, process_user, write_keys
from saltlite.master.context import MasterContext, Shared, make_context
from saltlite.master.dispatch import Dispatcher
from saltlite.master.keyactions import KeyActions
from saltlite.master.keystore import KeyState, KeyStore
from saltlite.master.maintenance import Maintenance
from saltlite.master.minioncache import MINE, MinionCache
from saltlite.master.pillarcache import PillarCache
from saltlite.master.replay import table_bytes
from saltlite.master.shared import SharedArea
from saltlite.transport.codec import pack, unpack

MINION = "web"
AT_ONCE = 2
"""Actors."""


class Bus:
    def fire(self, tag: str, data: Mapping[str, Any]) -> bool:
        return True


class Jobs:
    """What went out on the publish port."""

    def __init__(self) -> None:
        self.published: list[str] = []

    def publish(self, job: Mapping[str, Any], topics: list[bytes]) -> None:
        self.published.append(str(job["jid"]))


class Master:
    """What the processes of a master share, and a worker for each actor."""

    def __init__(self, key: PrivateKey, clock: Clock) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="sl-"))
        (self.root / "master").write_text(f"root_dir: {self.root}\nauto_accept: True\n")
        config = load_master(self.root)
        for name in (config.paths.pki_dir, config.paths.cachedir):
            Path(name).mkdir(parents=True)
        self.shared = Shared(
            config=config, key=key, sign_key=None, pub_sig=None, user=process_user(),
            nonces=SharedArea("test", table_bytes()),
        )  # fmt: skip
        self.shared.publication.rotate(new_key_string(), 0.0)
        self.keys = KeyStore(self.shared.pki_dir)
        self.keys.prepare()
        write_keys(self.shared.cachedir, [process_user()], new_key_string)
        self.jobs = Jobs()
        self._opened: list[MasterContext] = []
        self._clock = clock

    def worker(self) -> Dispatcher:
        """Another process that answers requests."""
        # The windows of requests are of the wall's clock, which the minions' channel has, too.
        ctx = make_context(self.shared, events=Bus(), publisher=self.jobs, workers=AT_ONCE)
        self._opened.append(ctx)
        return Dispatcher(ctx)

    def bury(self) -> None:
        """What the first worker has open ends with it, a transaction too."""
        self._opened[0].jobs.close()

    def actions(self) -> KeyActions:
        return KeyActions(self.shared.config, self.shared.stores())

    def maintenance(self) -> Maintenance:
        made = Maintenance(self.shared)
        made._events = Bus()  # type: ignore[assignment]
        return made

    def close(self) -> None:
        for ctx in self._opened:
            ctx.jobs.close()
        self.shared.close()
        shutil.rmtree(self.root)


def sign_in(worker: Dispatcher, key: PrivateKey) -> MinionChannel | None:
    """The channel of a minion that is let in."""
    shake = MinionHandshake(key, MINION)
    with contextlib.suppress(KeyRejected):
        accepted = shake.accept(worker.answer(shake.request()))
        return MinionChannel(MINION, key, accepted.session, master_key=accepted.master_key)
    return None


@pytest.fixture(scope="module")
def rsa() -> list[PrivateKey]:
    return [PrivateKey.generate(2048) for _ in range(3)]


@contextlib.contextmanager
def nobody_waits(*_words: object) -> Iterator[None]:
    """Instead of a lock."""
    yield


def holds(make: Callable[[Clock], Scene], **how: Any) -> int:
    """No order breaks anything; how many were tried."""
    tried, found = explore(make, **how)
    assert found is None, f"{found.plan}: {found.error!r}" if found else ""
    return tried


def breaks(make: Callable[[Clock], Scene], **how: Any) -> Found:
    """Some order does."""
    tried, found = explore(make, **how)
    assert found is not None, f"none of {tried} orders breaks it"
    assert isinstance(found.error, AssertionError), found
    return found


# --- two new keys for one id -------------------------------------------------------------


def two_sign_ins(rsa: list[PrivateKey]) -> Callable[[Clock], Scene]:
    def make(clock: Clock) -> Scene:
        master = Master(rsa[0], clock)
        first, second = master.worker(), master.worker()

        def check(run: Run) -> None:
            let_in = [one for one in run.actors if one.result is not None]
            assert len(let_in) == 1
            assert master.keys.state(MINION) is KeyState.ACCEPTED

        work = {
            "first": lambda: sign_in(first, rsa[1]),
            "second": lambda: sign_in(second, rsa[2]),
        }
        return Scene(work, check, master.close)

    return make


def test_of_two_new_keys_one_is_let_in(rsa: list[PrivateKey]) -> None:
    assert holds(two_sign_ins(rsa), changes=1) > 20


def test_without_the_lock_on_the_id_both_are(
    rsa: list[PrivateKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(KeyStore, "hold", nobody_waits)
    breaks(two_sign_ins(rsa))


# --- a first sign-in, and the look for sessions without a key ----------------------------


def sign_in_under_a_look(rsa: list[PrivateKey]) -> Callable[[Clock], Scene]:
    def make(clock: Clock) -> Scene:
        master = Master(rsa[0], clock)
        worker, keeper = master.worker(), master.maintenance()
        generation = master.shared.publication.current().generation

        def check(run: Run) -> None:
            assert run.actors[0].result is not None
            assert MINION in master.shared.stores().sessions.ids(), "its session was ended"
            assert master.shared.publication.current().generation == generation

        work = {"sign-in": lambda: sign_in(worker, rsa[1]), "look": keeper._drop_orphans}
        return Scene(work, check, master.close)

    return make


def test_a_look_for_orphans_ends_no_new_session(rsa: list[PrivateKey]) -> None:
    assert holds(sign_in_under_a_look(rsa), changes=1) > 20


def test_keys_before_sessions_and_no_second_look_end_one(
    rsa: list[PrivateKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    def end_orphans(self: Maintenance) -> None:
        accepted = self._keys.ids(KeyState.ACCEPTED)
        for one in self._sessions.ids():
            if one not in accepted:
                self._sessions.delete(one)

    monkeypatch.setattr(Maintenance, "_drop_orphans", end_orphans)
    breaks(sign_in_under_a_look(rsa))


# --- the mine -----------------------------------------------------------------------------


def mine_comes_and_goes(rsa: list[PrivateKey]) -> Callable[[Clock], Scene]:
    def make(clock: Clock) -> Scene:
        master = Master(rsa[0], clock)
        first, second = master.worker(), master.worker()
        channel = sign_in(first, rsa[1])
        assert channel is not None
        MinionCache(master.shared.cachedir).write(MINE, MINION, {"old": 1})
        added, _ = channel.seal({"cmd": "_mine", "data": {"new": 2}})
        dropped, _ = channel.seal({"cmd": "_mine_delete", "fun": "old"})

        def check(_run: Run) -> None:
            assert MinionCache(master.shared.cachedir).read(MINE, MINION) == {"new": 2}

        work = {"add": lambda: first.answer(added), "drop": lambda: second.answer(dropped)}
        return Scene(work, check, master.close)

    return make


def test_mine_data_that_come_and_go_at_once(rsa: list[PrivateKey]) -> None:
    assert holds(mine_comes_and_goes(rsa), changes=1) > 10


def test_without_the_lock_of_the_minion_mine_data_are_lost(
    rsa: list[PrivateKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MinionCache, "hold_lock", nobody_waits)
    breaks(mine_comes_and_goes(rsa))


# --- a pillar that is compiled while it is refreshed --------------------------------------


def pillar_is_refreshed(clock: Clock) -> Scene:
    root = Path(tempfile.mkdtemp(prefix="sl-"))
    source = root / "source"
    source.write_text("old")
    options = PillarOptions(pillar_cache=True)

    def cache() -> PillarCache:
        return PillarCache(options, MinionCache(root), clock, lambda _minion_id: 1)

    def compile_pillar(kept: PillarCache) -> None:
        begun_s = clock()
        with source.open() as file:
            value = file.read()
        source.stat()  # there are more files to be looked at
        kept.put(MINION, None, {"value": value}, begun_s)

    def refresh(kept: PillarCache) -> None:
        draft = root / "draft"
        draft.write_text("new")
        draft.rename(source)
        kept.clean(MINION)

    def check(_run: Run) -> None:
        assert cache().get(MINION, None) in (None, {"value": "new"})

    one, other = cache(), cache()
    work = {"compile": lambda: compile_pillar(one), "refresh": lambda: refresh(other)}
    return Scene(work, check, lambda: shutil.rmtree(root))


def test_an_old_pillar_does_not_outlive_a_refresh() -> None:
    assert holds(pillar_is_refreshed) > 40


def test_stamped_when_it_is_done_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    put = PillarCache.put

    def put_late(self: PillarCache, *words: Any) -> None:
        put(self, *words[:3], self._wall_s())

    monkeypatch.setattr(PillarCache, "put", put_late)
    breaks(pillar_is_refreshed)


# --- a denied key that is accepted and deleted at once ------------------------------------


def denied_key_goes(rsa: list[PrivateKey]) -> Callable[[Clock], Scene]:
    def make(clock: Clock) -> Scene:
        master = Master(rsa[0], clock)
        master.keys.put(MINION, KeyState.ACCEPTED, rsa[1].public.pem)
        master.keys.put(MINION, KeyState.DENIED, rsa[2].public.pem)
        one, other = master.actions(), master.actions()

        def check(_run: Run) -> None:
            assert master.keys.state(MINION) is KeyState.ACCEPTED, "it has no key at all"

        def accept() -> None:
            with contextlib.suppress(CryptoError):  # it has just gone, which the user is told
                one.accept(MINION, KeyState.DENIED)

        work = {
            "accept": accept,
            "delete": lambda: other.delete(MINION, [KeyState.DENIED]),
        }
        return Scene(work, check, master.close)

    return make


def test_a_minion_keeps_a_key_whoever_is_first(rsa: list[PrivateKey]) -> None:
    assert holds(denied_key_goes(rsa), changes=1) > 10


def test_without_the_lock_and_the_old_key_gone_first_it_has_none(
    rsa: list[PrivateKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave_all(self: KeyActions, minion_id: str, *_states: KeyState) -> None:
        self.store.delete(minion_id, KeyState.ACCEPTED)

    monkeypatch.setattr(KeyStore, "hold", nobody_waits)
    monkeypatch.setattr(KeyActions, "_leave_others", leave_all)
    breaks(denied_key_goes(rsa))


# --- a late return, and the cleaning of jobs ----------------------------------------------

JID = "20260101000000000000"


def late_return(clock: Clock) -> Scene:
    root = Path(tempfile.mkdtemp(prefix="sl-"))
    one, other = (jobcache.SqliteJobStore(root) for _ in range(AT_ONCE))
    one.new_job(JID, {"fun": "test.ping", "tgt": "*"}, [MINION])
    other.count()  # opened, as that of a process that runs

    def check(_run: Run) -> None:
        with sqlite3.connect(root / "jobs.sqlite") as db:
            query = "SELECT count(*) FROM returns WHERE jid NOT IN (SELECT jid FROM jobs)"
            assert db.execute(query).fetchone() == (0,), "a return without a job"

    def close() -> None:
        for store in (one, other):
            store.close()
        shutil.rmtree(root)

    def accept_return() -> None:
        if one.job(JID) is not None:  # as the command looks who was asked
            one.add_return(JID, MINION, {"return": True})

    work = {"return": accept_return, "clean": lambda: other.clean("3")}
    return Scene(work, check, close)


def test_a_return_comes_with_its_job_or_not_at_all() -> None:
    assert holds(late_return) > 20


def test_without_a_look_in_the_same_step_it_comes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        jobcache,
        "_ADD_RETURN",
        "INSERT OR IGNORE INTO returns SELECT ?, ?, ?, ? WHERE ? IS NOT NULL",
    )
    breaks(late_return)


# --- a worker that is killed at any of its calls, or whose call fails ---------------------


def publish_frame(master: Master) -> bytes:
    load = {
        "cmd": "publish", "tgt": MINION, "fun": "test.ping", "arg": [], "tgt_type": "glob",
        "ret": "", "jid": "", "user": process_user(),
        "key": key_path(master.shared.cachedir, process_user()).read_text(),
    }  # fmt: skip
    return pack({"enc": "clear", "load": load, "version": 3})


def killed_publish(rsa: list[PrivateKey]) -> Callable[[Clock], Scene]:
    def make(clock: Clock) -> Scene:
        master = Master(rsa[0], clock)
        master.keys.put(MINION, KeyState.ACCEPTED, rsa[1].public.pem)
        worker, frame = master.worker(), publish_frame(master)

        def check(run: Run) -> None:
            master.bury()
            store = master.shared.job_store()
            lost = [jid for jid in master.jobs.published if store.job(jid) is None]
            answer: Any = run.actors[0].result
            reply = None if answer is None else unpack(answer)
            jid = reply["load"].get("jid") if isinstance(reply, dict) and "load" in reply else None
            assert jid is None or jid in master.jobs.published
            store.close()
            assert not lost, f"P-job: published and not on record: {lost}"

        def answer() -> bytes | None:
            with contextlib.suppress(SaltliteError):  # MWorker says that it failed
                return worker.answer(frame)
            return None

        return Scene({"publish": answer}, check, master.close)

    return make


@pytest.mark.parametrize("first", [DIES, FAILS])
def test_a_job_that_went_out_is_on_record_wherever_its_worker_ends(
    rsa: list[PrivateKey], first: int
) -> None:
    assert holds(killed_publish(rsa), changes=1, first=first) > 10


def test_published_before_it_is_recorded_it_is_not(
    rsa: list[PrivateKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = jobcache.SqliteJobStore.new_job
    gone: list[Master] = []

    def publish_first(self: Any, jid: str, load: Mapping[str, Any], minions: Any) -> bool:
        for master in gone:
            master.jobs.publish({"jid": jid}, [])
        return record(self, jid, load, minions)

    class Noted(Master):
        def __init__(self, *words: Any) -> None:
            super().__init__(*words)
            gone[:] = [self]

    monkeypatch.setattr(jobcache.SqliteJobStore, "new_job", publish_first)
    monkeypatch.setitem(globals(), "Master", Noted)
    breaks(killed_publish(rsa), changes=1, first=DIES)


def killed_return(rsa: list[PrivateKey]) -> Callable[[Clock], Scene]:
    """A worker dies over a return, the minion sends it again to the next one."""

    def make(clock: Clock) -> Scene:
        master = Master(rsa[0], clock)
        first, second = master.worker(), master.worker()
        channel = sign_in(first, rsa[1])
        assert channel is not None
        jid = unpack(second.answer(publish_frame(master)))["load"]["jid"]  # type: ignore[index, call-overload]
        load = {"cmd": "_return", "jid": jid, "fun": "test.ping", "fun_args": [], "return": True,
                "retcode": 0, "success": True}  # fmt: skip

        def send() -> object:
            sent, nonce = channel.seal(load)
            return channel.open(first.answer(sent), nonce)

        def check(run: Run) -> None:
            master.bury()
            store = master.shared.job_store()
            is_acknowledged = run.actors[0].result is None and not run.actors[0].is_killed
            assert not is_acknowledged or store.returns(str(jid)), "P-ret"
            store.close()
            again, nonce = channel.seal(load)
            assert channel.open(second.answer(again), nonce) is None, "not acknowledged"
            store = master.shared.job_store()
            kept = store.returns(str(jid))
            store.close()
            assert [*kept] == [MINION]

        return Scene({"return": send}, check, master.close)

    return make


@pytest.mark.parametrize("first", [DIES, FAILS])
def test_a_return_is_on_record_once_wherever_its_worker_ends(
    rsa: list[PrivateKey], first: int
) -> None:
    assert holds(killed_return(rsa), changes=1, first=first) > 5


def killed_sign_in(rsa: list[PrivateKey]) -> Callable[[Clock], Scene]:
    def make(clock: Clock) -> Scene:
        master = Master(rsa[0], clock)
        first, second = master.worker(), master.worker()

        def check(_run: Run) -> None:
            assert sign_in(second, rsa[1]) is not None, "shut out by what was left half done"
            states = [state for state in KeyState if master.keys.path(MINION, state).exists()]
            assert states == [KeyState.ACCEPTED]

        def try_once() -> None:
            with contextlib.suppress(SaltliteError):  # it tries again
                sign_in(first, rsa[1])

        return Scene({"sign-in": try_once}, check, master.close)

    return make


@pytest.mark.parametrize("first", [DIES, FAILS])
def test_a_minion_signs_in_wherever_the_worker_before_ended(
    rsa: list[PrivateKey], first: int
) -> None:
    assert holds(killed_sign_in(rsa), changes=1, first=first) > 10
