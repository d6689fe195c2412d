"""States of Docker on an engine that keeps state as the real one does. Seen on Salt 3006.30."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docker_cases import answer_of, plain_answer
from fake_docker import Engine, Refused, serve
from repository import DATA, read_yaml

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="d") as folder:
        path = Path(folder, "s")
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        with serve(path) as found:
            yield found


@pytest.fixture
def ctx() -> MinionContext:
    found = MinionContext(config=MinionConfig(), host=Host(), grains={"id": "x"}, pillar={})
    found.functions = Registry(found)
    return found


def run(ctx: MinionContext, state: str, /, *, test: bool = False, **kwargs: Any) -> Verdict:
    try:
        return realise(resolve(state, ctx).call(**kwargs), ctx, test=test)
    except SaltliteError as error:
        return Verdict(result=False, comment=str(error))


def lawful(ctx: MinionContext, engine: Engine, state: str, /, **kwargs: Any) -> Verdict:
    """The real run: a test run acted on nothing, told it, and afterwards nothing is to be done."""
    engine.asked.clear()
    told = run(ctx, state, test=True, **kwargs)
    assert {method for method, _ in engine.asked} == {"GET"}
    done = run(ctx, state, **kwargs)
    assert (told.result, done.result) == (None, True), (told, done)
    assert set(told.changes) <= set(done.changes)
    again = run(ctx, state, **kwargs)
    assert (again.result, again.changes) == (True, {})
    return done


def test_volumes(ctx: MinionContext, engine: Engine) -> None:
    made = lawful(ctx, engine, "docker_volume.present", name="v")
    assert made.changes["created"]["Driver"] == "local"
    refused = run(ctx, "docker_volume.present", name="v", driver="other")
    assert refused.comment == (
        "Driver for existing volume 'v' ('local') does not match specified driver ('other')"
        " and force is False"
    )
    kept = {"name": "v", "driver": "other", "force": True}
    replaced = lawful(ctx, engine, "docker_volume.present", **kept)
    assert replaced.changes["removed"] is True
    assert engine.volumes["v"]["Driver"] == "other"
    assert lawful(ctx, engine, "docker_volume.absent", name="v").changes == {"removed": True}
    failed = run(ctx, "docker_volume.present", name="w", driver="bad")
    assert (failed.result, failed.changes) == (False, {})
    assert "error looking up volume plugin bad" in failed.comment


def test_images(ctx: MinionContext, engine: Engine) -> None:
    done = lawful(ctx, engine, "docker_image.present", name="busybox", tag="1.36")
    assert done.comment == "Image 'busybox:1.36' was pulled"
    assert done.changes == {"Status": "Downloaded newer image for busybox:1.36"}
    again = run(ctx, "docker_image.present", name="busybox:1.36", force=True)
    assert again.comment == "Image 'busybox:1.36' was pulled, but there were no changes"
    refused = run(ctx, "docker_image.present", name="nosuch:1")
    assert refused.result is False
    assert refused.comment.startswith("Encountered error pulling nosuch:1: Error 404: pull access")
    for given in ({"build": "/x"}, {"load": "/x"}, {"sls": "a"}, {"build": "/x", "load": "/y"}):
        assert run(ctx, "docker_image.present", name="a:1", **given).result is False
    gone = lawful(ctx, engine, "docker_image.absent", images=["busybox:1.36", "q:1"])
    assert gone.changes == {"Tags": ["busybox:1.36"]}
    none = run(ctx, "docker_image.absent", name="busybox:1.36")
    assert none.comment == "Image busybox:1.36 is not present"


def test_containers(ctx: MinionContext, engine: Engine) -> None:
    for name in ("a", "b"):
        ctx.functions.call("docker.create", "busybox", name=name, command="sleep 5", start=True)
    used = run(ctx, "docker_image.absent", name="busybox")
    assert "Image is in use by container(s): a, b" in used.comment
    refused = run(ctx, "docker_container.absent", name="a")
    assert refused.comment == "Container is running, set force to True to forcibly remove it"
    done = lawful(ctx, engine, "docker_container.stopped", containers=["a", "b"])
    assert done.comment == "The following container(s) were stopped: a, b"
    assert done.changes["a"] == {"result": True, "state": {"old": "running", "new": "stopped"}}
    missing = run(ctx, "docker_container.stopped", name="z")
    assert missing.comment == "The following container(s) are absent: z"
    assert run(ctx, "docker_container.stopped", name="z", error_on_absent=False).result is True
    ctx.functions.call("docker.start", "b")
    ctx.functions.call("docker.pause", "b")
    assert run(ctx, "docker_container.stopped", name="b").result is False
    assert lawful(ctx, engine, "docker_container.stopped", name="b", unpause=True).result is True
    assert lawful(ctx, engine, "docker_container.absent", name="a").comment == (
        "Removed container 'a'"
    )
    ctx.functions.call("docker.start", "b")
    gone = lawful(ctx, engine, "docker_container.absent", name="b", force=True)
    assert gone.comment == "Forcibly removed container 'b'"
    assert engine.containers == {}


RECORDED = read_yaml(DATA / "docker/states.yaml")


@pytest.mark.parametrize("scenario", RECORDED, ids=[each["name"] for each in RECORDED])
def test_as_salt_answers(ctx: MinionContext, engine: Engine, scenario: Any) -> None:
    for number, step in enumerate(scenario["steps"]):
        engine.asked.clear()
        said = plain_answer(answer_of(ctx, step))
        assert said == step.get("ours", step["said"]), (number, step)
        if step.get("test"):
            assert {method for method, _ in engine.asked} <= {"GET"}, (number, step)


DECLARED = {"name": "a", "image": "busybox", "cmd": "sleep 5"}


def test_the_law_of_running_containers(ctx: MinionContext, engine: Engine) -> None:
    for number in (1, 2):
        ctx.functions.call("docker.create_network", f"n{number}", subnet=f"10.{number}.0.0/24")
    state = "docker_container.running"
    lawful(ctx, engine, state, **DECLARED)
    lawful(ctx, engine, state, networks=["n1"], **DECLARED)
    lawful(ctx, engine, state, networks=[{"n1": [{"aliases": "x"}]}, "n2"], **DECLARED)
    lawful(ctx, engine, state, environment={"A": 1}, memory="64M", **DECLARED)
    lawful(ctx, engine, state, **{**DECLARED, "image": "alpine"})
    ctx.functions.call("docker.stop", "a")
    lawful(ctx, engine, state, **{**DECLARED, "image": "alpine"})
    lawful(ctx, engine, "docker_network.present", name="n1", labels="a=b", containers=["a"])
    lawful(ctx, engine, "docker_network.absent", name="n1")


def test_a_failure_leaves_the_old_container(
    ctx: MinionContext, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctx.functions.call("docker.create_network", "n1")
    run(ctx, "docker_container.running", **DECLARED)
    (old,) = engine.containers

    connect = engine.connect

    def refuse(network: dict[str, Any], *args: Any) -> None:
        if network["Name"] == "n1":
            raise Refused(403, "no address is left")
        connect(network, *args)

    monkeypatch.setattr(engine, "connect", refuse)
    done = run(ctx, "docker_container.running", networks=["n1"], environment="A=1", **DECLARED)
    assert (done.result, done.changes) == (False, {})
    assert "no address is left" in done.comment
    assert list(engine.containers) == [old]
    assert engine.containers[old]["State"]["Running"] is True


def test_other_spellings_of_an_engine_are_no_differences(
    ctx: MinionContext, engine: Engine
) -> None:
    other = ctx.functions.call("docker.create", "busybox", name="o", start=True)["Id"]
    given = {
        **DECLARED, "cap_add": ["net_admin"], "links": "o:db", "network_mode": "bridge",
        "pid_mode": "container:o", "working_dir": "/x/", "restart_policy": "always",
    }  # fmt: skip
    run(ctx, "docker_container.running", **given)
    made = engine.container("a")
    made["HostConfig"].update(
        CapAdd=["CAP_NET_ADMIN"], Links=["/o:/a/db"], NetworkMode="default",
        PidMode=f"container:{other}", Ulimits=[{"Name": "nofile", "Soft": 1, "Hard": 1}],
    )  # fmt: skip
    made["Config"]["WorkingDir"] = "/x"
    made["NetworkSettings"]["Networks"]["bridge"]["Aliases"] = [made["Id"][:12]]
    again = run(ctx, "docker_container.running", **given)
    assert (again.result, again.changes) == (True, {}), again


def test_what_containers_and_networks_refuse(ctx: MinionContext, engine: Engine) -> None:
    for state, given, said in (
        ("docker_container.running", {"skip_translate": True}, "skip_translate: "),
        ("docker_container.running", {"imagee": 1}, "imagee is no option of containers"),
        ("docker_container.running", {"networks": [{"n": [{"x": 1}]}]}, "x: no option of a"),
        ("docker_container.running", {"networks": [{"n": "x"}]}, "is no map of options"),
        ("docker_container.run", {"skip_translate": "dns"}, "skip_translate: "),
        ("docker_container.run", {"device_read_bps": "/dev/sda"}, "of the form path:number"),
        ("docker_network.present", {"drivr": "x"}, "drivr: no option of networks"),
        ("docker_network.present", {"skip_translate": True}, "skip_translate: "),
    ):
        own = {"name": "n"} if "network" in state else DECLARED
        refused = run(ctx, state, **own, **given)
        assert (refused.result, refused.changes) == (False, {})
        assert said in refused.comment
    assert {method for method, _ in engine.asked} <= {"GET"}
