"""States of services against a small machine."""

from __future__ import annotations

from typing import Any

import pytest
from package_machine import Machine, make

from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.errors import SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.loader.states import resolve
from saltlite.providers.service.systemd import BOOTED


def run(machine: Machine, case: dict[str, Any], *, test: bool) -> Verdict:
    ctx = make(machine)
    try:
        found = realise(resolve(case["fun"], ctx).call(**case["with"]), ctx, test=test)
    except SaltliteError as error:
        return Verdict(result=False, comment=str(error))
    assert isinstance(found, Verdict)
    return found


def test_a_service_manager_without_masks_refuses_the_declaration() -> None:
    ctx = make(Machine())
    ctx.config = MinionConfig(modules=ModuleOptions(providers={"service": "openrc"}))
    ctx.host.which = lambda name: None  # type: ignore[method-assign]
    refused = resolve("service.running", ctx).call(name="web", unmask=True)
    assert refused == Verdict(
        result=False, comment="The service manager of this machine does not know unmask"
    )
    masked = resolve("service.masked", ctx).call(name="web")
    assert masked == Verdict(result=False, comment="Service masking not available on this minion")


@pytest.mark.parametrize("fun", ["running", "dead"])
def test_in_a_chroot_services_are_left_alone(fun: str) -> None:
    machine = Machine()
    ctx = make(machine)
    ctx.host.is_dir = lambda path: path != BOOTED  # type: ignore[method-assign]
    said = realise(resolve(f"service.{fun}", ctx).call(name="web", enable=True), ctx, test=False)
    assert isinstance(said, Verdict)
    assert (said.result, said.comment) == (True, "Running in OFFLINE mode. Nothing to do")
    assert (said.changes, machine.did) == ({}, [])


@pytest.mark.parametrize("fun", ["service.running", "service.dead"])
def test_enabled_for_enable_is_refused_as_salt_does(fun: str) -> None:
    machine = Machine()
    found = run(machine, {"fun": fun, "with": {"name": "idle", "enabled": True}}, test=False)
    assert found.result is False
    assert "'enable' is what starts at boot" in found.comment
    assert not machine.did


def test_what_is_told_of_starting_is_told_of_switching_too() -> None:
    machine = Machine(units={"web": {"active": True}})
    calls: list[str] = []
    answer = machine.run

    def listen(argv: Any, **how: Any) -> Any:
        calls.append(" ".join(argv))
        return answer(argv, **how)

    machine.run = listen  # type: ignore[method-assign]
    given = {"name": "web", "enable": True, "no_block": True}
    assert run(machine, {"fun": "service.running", "with": given}, test=False).result
    assert [call for call in calls if " enable " in call] == [
        "systemctl --no-block enable web.service"
    ]


def test_a_watch_stops_before_it_starts_what_does_not_run() -> None:
    machine = Machine(units={"idle": {}})
    calls: list[str] = []
    answer = machine.systemctl

    def systemctl(words: list[str], stdin: str) -> tuple[int, str, str]:
        calls.append(words[0])
        return answer(words, stdin)

    machine.systemctl = systemctl  # type: ignore[method-assign]
    watched = {"fun": "service.mod_watch", "with": {"name": "idle", "sfun": "running"}}
    assert run(machine, watched, test=False).result
    assert [word for word in calls if word in ("stop", "start")] == ["stop", "start"]
