"""docker: containers and what they are doing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.modules.docker import images
from saltlite.modules.docker.networks import connect, engine
from saltlite.providers.docker import options
from saltlite.providers.docker.container import Container, read_container
from saltlite.providers.docker.engine import TIMEOUT_S, EngineError, in_order, segment

_STOP_S = 10

INTERNAL = ("check_room", "look_at")
"""Functions for other files; nobody calls them by name."""


def inspect_container(ctx: MinionContext, name: str) -> dict[str, Any]:
    """Return what there is to know about a container.

    CLI Example:

        salt '*' docker.inspect_container web
    """
    found: dict[str, Any] = engine(ctx).get(f"/containers/{segment(name)}/json")
    return found


def inspect(ctx: MinionContext, name: str) -> dict[str, Any]:
    """Return what there is to know about a container, or else an image, volume or network.

    CLI Example:

        salt '*' docker.inspect web
    """
    from saltlite.modules.docker.networks import inspect_network, inspect_volume

    for look in (inspect_container, images.inspect_image, inspect_volume, inspect_network):
        found = _find_container(look, ctx, name)
        if found is not None:
            return found
    raise FunctionError(f"Error 404: No such image/container/volume/network: {name}")


def _find_container(look: Any, ctx: MinionContext, name: str) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = look(ctx, name)
    except EngineError as error:
        if error.status != 404:
            raise
        return None
    return found


def exists(ctx: MinionContext, name: str) -> bool:
    """Return whether there is such a container.

    CLI Example:

        salt '*' docker.exists web
    """
    return _find_container(inspect_container, ctx, name) is not None


def state(ctx: MinionContext, name: str) -> str:
    """Return ``running``, ``paused`` or ``stopped``.

    CLI Example:

        salt '*' docker.state web
    """
    return look_at(ctx, name).state


def look_at(ctx: MinionContext, name: str) -> Container:
    """Return a container as a value."""
    return read_container(inspect_container(ctx, name))


def pid(ctx: MinionContext, name: str) -> int:
    """Return the number of a container's first process.

    CLI Example:

        salt '*' docker.pid web
    """
    return look_at(ctx, name).pid


def ps(ctx: MinionContext, filters: Any = None, **kwargs: Any) -> dict[str, Any]:
    """Return the containers that run by their ids; with ``all`` all, with ``verbose`` all facts.

    CLI Example:

        salt '*' docker.ps all=True
    """
    if kwargs.get("host"):
        raise UsageError("host: addresses of the machine are told by network.interfaces")
    wanted = {
        str(name): [str(one) for one in options.to_list(value)]
        for name, value in dict(filters or {}).items()
    }
    rows = engine(ctx).get("/containers/json", all=bool(kwargs.get("all")), filters=wanted or None)
    found = {}
    for row in rows:
        ident = str(row.pop("Id"))
        found[ident] = images.with_times(row)
        if kwargs.get("verbose"):
            found[ident]["Info"] = inspect_container(ctx, ident)
    return found


def list_containers(ctx: MinionContext, **kwargs: Any) -> list[str]:
    """Return the names of the containers that run; with ``all`` of all.

    CLI Example:

        salt '*' docker.list_containers all=True
    """
    rows = ps(ctx, all=kwargs.get("all", False)).values()
    return sorted(str(name)[1:] for row in rows for name in row["Names"] if name.count("/") == 1)


def port(ctx: MinionContext, name: str, private_port: object = None) -> dict[str, Any]:
    """Return where ports of a container are bound: all, or one: ``80``, ``53/udp``.

    CLI Example:

        salt '*' docker.port web 80
    """
    there = look_at(ctx, name).ports
    if private_port is None:
        return dict(there)
    wanted = options.port(private_port)
    return {wanted: there[wanted]} if wanted in there else {}


def logs(ctx: MinionContext, name: str, **kwargs: Any) -> str:
    """Return what a container has written: ``stdout``, ``stderr``, ``timestamps``, ``tail`` ...

    CLI Example:

        salt '*' docker.logs web tail=20
    """
    unknown = sorted(
        name
        for name in kwargs
        if not name.startswith("__")
        and name not in ("stdout", "stderr", "timestamps", "tail", "since", "until")
    )
    if unknown:
        raise UsageError(f"{', '.join(unknown)}: not known here")
    asked = {name: value for name, value in kwargs.items() if not name.startswith("__")}
    found = {"stdout": True, "stderr": True, "follow": False, **asked}
    data = engine(ctx).raw("GET", f"/containers/{segment(name)}/logs", **found)
    if look_at(ctx, name).has_terminal:
        return data.decode(errors="replace")
    return in_order(data)


def start_(ctx: MinionContext, name: str) -> dict[str, Any]:
    """Start a container.

    CLI Example:

        salt '*' docker.start web
    """
    old = state(ctx, name)
    if old == "paused":
        return _report_unchanged(old, f"Container '{name}' is paused, cannot start")
    return _change_state(ctx, name, old, "start", "running")


def stop(
    ctx: MinionContext, name: str, timeout: float | None = None, **kwargs: Any
) -> dict[str, Any]:
    """Stop a container; after ``timeout`` seconds it is killed. ``unpause`` a paused one first.

    CLI Example:

        salt '*' docker.stop web timeout=20
    """
    old = state(ctx, name)
    if old == "paused" and not kwargs.get("unpause"):
        why = "is paused, run with unpause=True to unpause before stopping"
        return _report_unchanged(old, f"Container '{name}' {why}")
    if old == "paused":
        _run_verb(ctx, name, "unpause")
    return _change_state(ctx, name, old, "stop", "stopped", timeout)


def restart(ctx: MinionContext, name: str, timeout: float = _STOP_S) -> dict[str, Any]:
    """Stop a container and start it again.

    CLI Example:

        salt '*' docker.restart web
    """
    done = _change_state(ctx, name, state(ctx, name), "restart", "", timeout)
    done["result"] = done["state"]["new"] == "running"
    return {**done, "restarted": True} if done["result"] else done


def kill(ctx: MinionContext, name: str) -> dict[str, Any]:
    """Kill the processes of a container.

    CLI Example:

        salt '*' docker.kill web
    """
    return _change_state(ctx, name, state(ctx, name), "kill", "stopped")


def pause(ctx: MinionContext, name: str) -> dict[str, Any]:
    """Halt the processes of a container.

    CLI Example:

        salt '*' docker.pause web
    """
    old = state(ctx, name)
    if old == "stopped":
        return _report_unchanged(old, f"Container '{name}' is stopped, cannot pause")
    return _change_state(ctx, name, old, "pause", "paused")


def unpause(ctx: MinionContext, name: str) -> dict[str, Any]:
    """Let the processes of a container go on.

    CLI Example:

        salt '*' docker.unpause web
    """
    old = state(ctx, name)
    if old == "stopped":
        return _report_unchanged(old, f"Container '{name}' is stopped, cannot unpause")
    return _change_state(ctx, name, old, "unpause", "running")


def freeze(ctx: MinionContext, name: str) -> dict[str, Any]:
    """Halt the processes of a container: :py:func:`pause`.

    CLI Example:

        salt '*' docker.freeze web
    """
    return pause(ctx, name)


def unfreeze(ctx: MinionContext, name: str) -> dict[str, Any]:
    """Let the processes of a container go on: :py:func:`unpause`.

    CLI Example:

        salt '*' docker.unfreeze web
    """
    return unpause(ctx, name)


def signal(ctx: MinionContext, name: str, signal: object) -> bool:
    """Send a signal, by name or number, to a container's first process.

    CLI Example:

        salt '*' docker.signal web SIGHUP
    """
    engine(ctx).post(f"/containers/{segment(name)}/kill", signal=str(signal))
    return True


def _report_unchanged(old: str, comment: str) -> dict[str, Any]:
    return {"result": False, "state": {"old": old, "new": old}, "comment": comment}


def _change_state(
    ctx: MinionContext, name: str, old: str, verb: str, wanted: str, timeout: float | None = None
) -> dict[str, Any]:
    """Act on a container, and tell what it was before and after."""
    if old == wanted:
        return _report_unchanged(old, f"Container '{name}' already {wanted}")
    _run_verb(ctx, name, verb, timeout)
    new = state(ctx, name)
    found = {"result": new == wanted, "state": {"old": old, "new": new}}
    if wanted and new != wanted:
        found["comment"] = f"Container '{name}' is {new} after {verb}"
    return found


def _run_verb(ctx: MinionContext, name: str, verb: str, timeout: float | None = None) -> None:
    """Let the engine act; it may take as long to stop as it is told."""
    seconds = _STOP_S if timeout is None else timeout
    asked = engine(ctx, TIMEOUT_S + seconds)
    seconds_told = None if timeout is None else int(timeout)
    asked.post(f"/containers/{segment(name)}/{verb}", t=seconds_told)


def rename(ctx: MinionContext, name: str, new_name: str) -> bool:
    """Give a container another name.

    CLI Example:

        salt '*' docker.rename web old_web
    """
    ident = look_at(ctx, name).id
    engine(ctx).post(f"/containers/{segment(ident)}/rename", name=new_name)
    return look_at(ctx, new_name).id == ident


def rm_(
    ctx: MinionContext, name: str, force: bool = False, volumes: bool = False, **kwargs: Any
) -> list[str]:
    """Remove a container; one that runs with ``force``, or ``stop``. The ids that are gone.

    CLI Example:

        salt '*' docker.rm web force=True
    """
    found = look_at(ctx, name)
    if found.is_active and not force:
        if not kwargs.get("stop"):
            raise FunctionError(
                f"Container '{name}' is running, use force=True to forcibly remove this container"
            )
        stop(ctx, name, kwargs.get("timeout"), unpause=True)
    engine(ctx).delete(f"/containers/{segment(found.id)}", force=force, v=volumes)
    return [found.id]


def create(
    ctx: MinionContext,
    image: str,
    name: str | None = None,
    start: bool = False,
    skip_translate: object = None,
    ignore_collisions: bool = False,
    validate_ip_addrs: bool = True,
    client_timeout: int = 60,
    **kwargs: Any,
) -> dict[str, Any]:
    """Make a container; the image is pulled if it is not there.

    Options are those of ``docker create``: ``command``, ``environment``, ``binds``,
    ``port_bindings``, ``restart_policy``, ``labels``, ``network_mode`` ...

    CLI Example:

        salt '*' docker.create busybox name=web command='sleep 60' port_bindings=8080:80
    """
    began = time.monotonic()
    options.refuse_raw(skip_translate)
    body = options.container(
        image,
        kwargs,
        ignore_collisions=bool(ignore_collisions),
        validate_ip_addrs=bool(validate_ip_addrs),
    )
    if images.resolve_image_id(ctx, image) is False:
        images.pull(ctx, image, client_timeout=client_timeout)
    asked = engine(ctx, client_timeout)
    told: dict[str, Any] = asked.post("/containers/create", body, name=name)
    elapsed = time.monotonic() - began
    made = look_at(ctx, told["Id"])
    found = {**told, "Time_Elapsed": elapsed, "Name": made.name}
    if start:
        start_(ctx, made.id)
    return {**found, "Started": True} if start else found


def run_container(
    ctx: MinionContext,
    image: str,
    name: str | None = None,
    skip_translate: object = None,
    ignore_collisions: bool = False,
    validate_ip_addrs: bool = True,
    client_timeout: int = 60,
    bg: bool = False,
    replace: bool = False,
    force: bool = False,
    networks: object = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Make a container and start it; unless ``bg``, wait for its end: ``Logs`` and ``ExitCode``.

    ``replace`` removes one of that name, with ``force`` also if it runs. It is waited for
    ``client_timeout`` seconds. ``networks`` is a map of names and options:
    :py:func:`connect_container_to_network`.

    CLI Example:

        salt '*' docker.run_container busybox name=once command='echo done'
    """
    if networks and not isinstance(networks, Mapping):
        raise UsageError("networks: a map is needed: the name of each network, and its options")
    attached = options.endpoints(networks or {})
    began = time.monotonic()
    gone = _make_room(ctx, name, replace, force)
    auto_remove = bool(kwargs.pop("auto_remove", kwargs.pop("rm", False)))
    if auto_remove and bg:
        kwargs["auto_remove"] = True
    made = create(
        ctx,
        image,
        name,
        False,
        skip_translate,
        ignore_collisions,
        validate_ip_addrs,
        client_timeout,
        **kwargs,
    )
    ident = str(made["Id"])
    for network, given in attached.items():
        connect(ctx, ident, network, given)
    found = {key: made[key] for key in ("Id", "Warnings", "Name")}
    found.update({"Replaces": gone} if gone else {})
    started = start_(ctx, ident)
    if not bg:
        ended = engine(ctx, client_timeout).post(f"/containers/{segment(ident)}/wait")
        found.update(Logs=logs(ctx, ident), ExitCode=ended["StatusCode"])
    elif not started["result"] and started["state"]["new"] != "stopped":
        raise FunctionError(str(started["comment"]))
    if auto_remove and not bg:
        rm_(ctx, ident, force=True)
    return {**found, "Time_Elapsed": time.monotonic() - began}


def _make_room(ctx: MinionContext, name: str | None, replace: bool, force: bool) -> list[str]:
    found = None if name is None else _find_container(inspect_container, ctx, name)
    if name is None or found is None:
        return []
    check_room(name, read_container(found), replace=replace, force=force)
    return rm_(ctx, name, force=force)


def check_room(name: str, found: Container | None, *, replace: bool, force: bool) -> None:
    """Refuse a name that a container has which is not to go; raises FunctionError."""
    if found is None:
        return
    if not replace:
        raise FunctionError(
            f"Container '{name}' exists. Run with replace=True to remove the existing container"
        )
    if not force and found.state != "stopped":
        raise FunctionError(
            f"Container '{name}' exists and is running. Run with replace=True and force=True to"
            " force removal of the existing container."
        )


def wait(
    ctx: MinionContext,
    name: str,
    ignore_already_stopped: bool = False,
    fail_on_exit_status: bool = False,
) -> dict[str, Any]:
    """Wait for the end of a container, a minute at most.

    CLI Example:

        salt '*' docker.wait once
    """
    old = state(ctx, name)
    ended = engine(ctx).post(f"/containers/{segment(name)}/wait")
    new = state(ctx, name)
    done = new == "stopped" and (ignore_already_stopped or old != new)
    if fail_on_exit_status and ended["StatusCode"] != 0:
        done = False
    found = {"result": done, "state": {"old": old, "new": new}, "exit_status": ended}
    if old == "stopped":
        found["comment"] = f"Container '{name}' already stopped"
    return found
