"""The docker module on an engine that keeps state as the real one does. Seen on Salt 3006.30."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_docker import Engine, serve

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.providers.docker import engine as api
from saltlite.providers.docker import options


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


def call(ctx: MinionContext, name: str, /, *args: Any, **kwargs: Any) -> Any:
    return ctx.functions.call(f"docker.{name}", *args, **kwargs)


def moved(old: str, new: str, **more: Any) -> dict[str, Any]:
    return {"result": True, "state": {"old": old, "new": new}, **more}


def unmoved(old: str, comment: str) -> dict[str, Any]:
    return {"result": False, "state": {"old": old, "new": old}, "comment": comment}


def test_images(ctx: MinionContext, engine: Engine) -> None:
    assert call(ctx, "version")["ApiVersionInfo"] == [1, 43]
    assert call(ctx, "images") == {}
    pulled = call(ctx, "pull", "busybox")
    assert pulled.pop("Time_Elapsed") >= 0
    status = "Downloaded newer image for busybox:latest"
    assert pulled == {"retcode": 0, "Status": status, "Layers": {"Pulled": ["77ea7eee3d80"]}}
    assert "Layers" not in call(ctx, "pull", "busybox:latest")
    ((ident, facts),) = call(ctx, "images").items()
    assert (facts["Time_Created_Epoch"], facts["Size_Human"]) == (1682935200, "4.1 MiB")
    assert call(ctx, "resolve_image_id", "busybox") == ident
    assert call(ctx, "resolve_image_id", "nosuch") is False
    assert call(ctx, "resolve_tag", "busybox") == "busybox:latest"
    assert call(ctx, "tag", "busybox", "mine", tag="v2") is True
    assert call(ctx, "list_tags") == ["busybox:latest", "mine:v2"]
    assert call(ctx, "push", "mine:v2")["Layers"] == {"Pushed": ["5f70bf18a086"]}
    assert call(ctx, "rmi", "mine:v2") == {"Layers": [], "Tags": ["mine:v2"], "retcode": 0}
    call(ctx, "create", "busybox", name="a")
    refused = call(ctx, "rmi", "busybox")
    assert refused["retcode"] == 1
    assert refused["Errors"][1] == "Image is in use by container(s): a"
    with pytest.raises(FunctionError, match="Error 404: pull access denied for nosuch"):
        call(ctx, "pull", "nosuch:1")
    with pytest.raises(FunctionError, match="docker build"):
        call(ctx, "build", "/srv")


@pytest.mark.parametrize("name", ["../containers/json", "a/../../b", "a?x=1", "", "a b", "a//b"])
def test_names_that_lead_elsewhere(ctx: MinionContext, engine: Engine, name: str) -> None:
    with pytest.raises(UsageError, match="is no name of an image"):
        call(ctx, "inspect_image", name)
    assert engine.asked == []


def test_names_of_containers_are_one_part_of_a_path(ctx: MinionContext, engine: Engine) -> None:
    with pytest.raises(FunctionError, match=r"No such container|page not found"):
        call(ctx, "inspect_container", "../networks")
    for name in ("..", "."):
        with pytest.raises(UsageError, match="is no name"):
            call(ctx, "inspect_container", name)


def test_the_life_of_a_container(ctx: MinionContext, engine: Engine) -> None:
    made = call(ctx, "create", "busybox", name="b", command="sleep 5", port_bindings="8080:80")
    assert (made["Name"], made["Warnings"]) == ("b", [])
    assert call(ctx, "exists", "b") is True
    assert call(ctx, "exists", "z") is False
    assert call(ctx, "state", "b") == "stopped"
    assert call(ctx, "start", "b") == moved("stopped", "running")
    assert call(ctx, "start", "b") == unmoved("running", "Container 'b' already running")
    assert call(ctx, "port", "b", 80) == {"80/tcp": [{"HostIp": "0.0.0.0", "HostPort": "8080"}]}
    assert call(ctx, "port", "b", "81/udp") == {}
    assert call(ctx, "pid", "b") == 4711
    assert call(ctx, "pause", "b") == moved("running", "paused")
    assert call(ctx, "start", "b")["comment"] == "Container 'b' is paused, cannot start"
    assert "unpause=True" in call(ctx, "stop", "b")["comment"]
    assert call(ctx, "stop", "b", unpause=True) == moved("paused", "stopped")
    assert call(ctx, "stop", "b") == unmoved("stopped", "Container 'b' already stopped")
    assert call(ctx, "unpause", "b")["comment"] == "Container 'b' is stopped, cannot unpause"
    assert call(ctx, "restart", "b") == moved("stopped", "running", restarted=True)
    assert call(ctx, "logs", "b") == "out 1\nerr 1\nout 2\n"
    assert list(call(ctx, "ps")) == [made["Id"]]
    assert call(ctx, "list_containers") == ["b"]
    with pytest.raises(FunctionError, match="use force=True to forcibly remove"):
        call(ctx, "rm", "b")
    assert call(ctx, "kill", "b") == moved("running", "stopped")
    assert call(ctx, "rename", "b", "c") is True
    assert call(ctx, "rm", "c") == [made["Id"]]
    assert engine.containers == {}


def test_commands(ctx: MinionContext, engine: Engine) -> None:
    call(ctx, "run_container", "busybox", name="b", command="sleep 5", bg=True)
    assert call(ctx, "run", "b", "echo hi") == "ran echo hi\ncomplaint"
    assert call(ctx, "run_stdout", "b", "echo hi") == "ran echo hi"
    assert call(ctx, "run_all", "b", "exit 3")["retcode"] == 3
    assert call(ctx, "retcode", "b", "exit 3") == 3
    with pytest.raises(UsageError, match="stdin"):
        call(ctx, "run", "b", "cat", stdin="x")


def test_a_container_that_runs_to_its_end(ctx: MinionContext, engine: Engine) -> None:
    done = call(ctx, "run_container", "busybox", name="r", command="true")
    assert (done["ExitCode"], done["Logs"]) == (0, "out 1\nerr 1\nout 2\n")
    with pytest.raises(FunctionError, match=r"Run with replace=True"):
        call(ctx, "run_container", "busybox", name="r", command="true")
    again = call(ctx, "run_container", "busybox", name="r", command="true", replace=True)
    assert again["Replaces"] == [done["Id"]]


def test_networks_and_volumes(ctx: MinionContext, engine: Engine) -> None:
    call(ctx, "create", "busybox", name="a")
    call(ctx, "create_network", "n", driver="macvlan", subnet="10.5.0.0/24", labels=["a=b"])
    found = call(ctx, "inspect_network", "n")
    assert found["IPAM"]["Config"] == [{"Subnet": "10.5.0.0/24"}]
    assert (found["Driver"], found["Labels"]) == ("macvlan", {"a": "b"})
    assert call(ctx, "connect_container_to_network", "a", "n", ipv4_address="10.5.0.9") is True
    assert call(ctx, "connected", "n") == ["a"]
    with pytest.raises(FunctionError, match=r"Error 403: .*active endpoints"):
        call(ctx, "remove_network", "n")
    assert call(ctx, "disconnect_all_containers_from_network", "n") == ["a"]
    assert call(ctx, "remove_network", "n") is True
    assert [each["Name"] for each in call(ctx, "networks", names="host")] == ["host"]
    assert call(ctx, "create_volume", "v")["Driver"] == "local"
    assert call(ctx, "volumes", filters={"name": "v"})["Volumes"][0]["Name"] == "v"
    assert call(ctx, "inspect", "v")["Name"] == "v"
    assert call(ctx, "remove_volume", "v") is True
    with pytest.raises(FunctionError, match="Error 404: get v: no such volume"):
        call(ctx, "inspect_volume", "v")


def test_options_of_a_container() -> None:
    body = options.container(
        "i",
        {
            "environment": [{"A": 1}, "B=2"], "binds": "/srv:/data:ro,/x:/y", "cmd": "sleep 5",
            "port_bindings": ["127.0.0.1:8080:80/udp"], "restart_policy": "on-failure:5",
            "mem_limit": "64M", "ulimits": "nofile=1024:2048", "ports": "90", "log_opt": ["a=b"],
            "extra_hosts": {"h": "1.2.3.4"}, "devices": "/dev/null:/dev/n", "__id__": "x",
        },
    )  # fmt: skip
    host = body.pop("HostConfig")
    assert body == {
        "Image": "i", "Env": ["A=1", "B=2"], "Cmd": ["sleep", "5"], "AttachStdout": True,
        "AttachStderr": True, "ExposedPorts": {"90/tcp": {}, "80/udp": {}},
        "Volumes": {"/data": {}, "/y": {}},
    }  # fmt: skip
    assert host == {
        "Binds": ["/srv:/data:ro", "/x:/y"], "Memory": 64 * 1024**2,
        "PortBindings": {"80/udp": [{"HostIp": "127.0.0.1", "HostPort": "8080"}]},
        "RestartPolicy": {"Name": "on-failure", "MaximumRetryCount": 5},
        "Ulimits": [{"Name": "nofile", "Soft": 1024, "Hard": 2048}], "ExtraHosts": ["h:1.2.3.4"],
        "LogConfig": {"Type": "json-file", "Config": {"a": "b"}},
        "Devices": [{"PathOnHost": "/dev/null", "PathInContainer": "/dev/n",
                     "CgroupPermissions": "rwm"}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"foo": 1}, "foo is no option"),
        ({"mem_limit": "much"}, "is no size"),
        ({"port_bindings": "80:http"}, "is no port"),
        ({"ports": "70000"}, "is no port"),
        ({"ulimits": "nofile"}, "name=soft:hard"),
        ({"cmd": "a", "command": "b"}, "one option"),
        ({"command": "echo 'x"}, "command: .*is not understood"),
        ({"cpu_shares": "x"}, "cpu_shares: 'x' is not understood"),
    ],
)
def test_options_that_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        options.container("i", given)


def test_an_engine_that_is_not_there(ctx: MinionContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nonexistent/s")
    with pytest.raises(
        FunctionError, match="no answer of a Docker engine at unix:///nonexistent/s"
    ):
        call(ctx, "version")
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:2375")
    with pytest.raises(UsageError, match=re.escape("unix:///path")):
        call(ctx, "version")


def test_an_answer_is_bounded(
    ctx: MinionContext, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "LIMIT_BYTES", 10)
    with pytest.raises(FunctionError, match="more than 10 bytes"):
        call(ctx, "version")
