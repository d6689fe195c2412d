"""States of Docker on an engine that keeps state as the real one does. Seen on Salt 3006.30."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_docker import Engine, serve

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
