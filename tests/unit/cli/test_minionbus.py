"""What functions under ``salt-call`` fire is heard by the minion that runs beside it."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import zmq

from saltlite.cli.minionbus import MinionBus, NotedJobs, minion_bus
from saltlite.config.load import load_minion
from saltlite.context import MinionContext, NoEvents
from saltlite.highstate.apply import Wishes, refusal
from saltlite.host import Host
from saltlite.minion.proc import ProcDir
from saltlite.minion.taken_job import TakenJob
from saltlite.transport.addresses import MinionSockets
from saltlite.transport.bus import unpack_event


def config(root: Path):
    (root / "minion").write_text(f"id: m1\nsock_dir: {root}\nroot_dir: {root}\n")
    return load_minion(root)


def test_without_a_minion_nobody_hears(tmp_path):
    assert isinstance(minion_bus(config(tmp_path)), NoEvents)


def test_the_running_minion_hears(short_path):
    options = config(short_path)
    path = MinionSockets(Path(options.paths.sock_dir), "m1").event_pull
    path.parent.mkdir(parents=True, exist_ok=True)
    with zmq.Context() as context, context.socket(zmq.PULL) as pull:
        pull.setsockopt(zmq.LINGER, 0)
        pull.bind(f"ipc://{path}")
        events = minion_bus(options)
        assert isinstance(events, MinionBus)
        sender = threading.Thread(target=events.fire, args=("module_refresh", {"a": 1}))
        sender.start()
        assert pull.poll(10_000)
        event = unpack_event(pull.recv())
        sender.join(10)
    assert event.tag == "module_refresh"
    assert event.data["a"] == 1


def test_a_minion_of_another_id_is_not_told(tmp_path):
    options = config(tmp_path)
    sockets = Path(options.paths.sock_dir)
    sockets.mkdir(parents=True, exist_ok=True)
    (sockets / "minion_event_0123456789_pull.ipc").touch()
    minion_bus(options).fire("module_refresh", {})
    assert [each.name for each in sockets.glob("*.ipc")] == ["minion_event_0123456789_pull.ipc"]


def test_no_states_are_run_beside_a_job_that_runs_some(tmp_path):
    options = config(tmp_path)
    jobs = NotedJobs(options)
    assert jobs.running() == []
    noted = ProcDir(Path(options.paths.cachedir) / "proc")
    lives, waits, gone = "20260101000000000001", "20260101000000000002", "20260101000000000003"
    noted.write(TakenJob.of({"jid": lives, "fun": "state.apply", "arg": ["x"]}), os.getpid(), "m")
    noted.write(TakenJob.of({"jid": waits, "fun": "state.apply"}), 0, "m")
    noted.write(TakenJob.of({"jid": gone, "fun": "state.apply"}), 2**22 + 1, "m")
    assert [job["jid"] for job in jobs.running()] == [lives]
    ctx = MinionContext(config=options, host=Host(), grains={}, pillar={}, jobs=jobs)
    (told,) = refusal(ctx, Wishes.of(ctx, {}))
    assert f'"state.apply" is running as PID {os.getpid()} ' in told
    assert ctx.state["retcode"] == 1
    assert refusal(ctx, Wishes.of(ctx, {"concurrent": True})) is None
