"""Start and stop services, now and with the machine.

One module for all service managers: what differs is in ``saltlite/providers/service``, chosen by
the grain ``init`` or by the option ``providers``. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.factories import name_function
from saltlite.core.keywords import own_keywords
from saltlite.core.numbers import is_digits
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers.service import provider, units


def _run_action(ctx: MinionContext, name: str, action: str, **options: Any) -> bool:
    """The job fails if the service manager did."""
    succeeded = provider(ctx).act(str(name), action, options)
    if not succeeded:
        ctx.retcode = 1
    return succeeded


def _make_action(
    action: str, text: str, *, name: str | None = None, no_block: bool = False
) -> Callable[..., bool]:
    """Make the function that has the service manager do something; its name if not ``action``."""
    default = no_block

    def act(
        ctx: MinionContext,
        name: str,
        no_block: bool = default,
        unmask: bool = False,
        unmask_runtime: bool = False,
    ) -> bool:
        return _run_action(
            ctx, name, action, no_block=no_block, unmask=unmask, unmask_runtime=unmask_runtime
        )

    return name_function(act, name or action, text)


start = _make_action(
    "start",
    """Start a service.

    ``no_block`` does not wait for it; ``unmask`` and ``unmask_runtime`` unmask it first (systemd).

    CLI Example:

        salt '*' service.start nginx
    """,
)
restart = _make_action(
    "restart",
    """Stop and start a service.

    CLI Example:

        salt '*' service.restart nginx
    """,
)
reload_ = _make_action(
    "reload",
    """Have a service read its configuration again.

    CLI Example:

        salt '*' service.reload nginx
    """,
    name="reload_",
)
force_reload = _make_action(
    "force_reload",
    """Have a service read its configuration again, restart it if it cannot.

    CLI Example:

        salt '*' service.force_reload nginx
    """,
    no_block=True,
)


def stop(ctx: MinionContext, name: str, no_block: bool = False) -> bool:
    """Stop a service.

    CLI Example:

        salt '*' service.stop nginx
    """
    return _run_action(ctx, name, "stop", no_block=no_block)


def status(ctx: MinionContext, name: str, sig: str | None = None) -> Any:
    """Whether a service runs; a map for a glob.

    With ``sig`` it is a process whose command line has that text; systemd knows better itself.

    CLI Example:

        salt '*' service.status nginx
        salt '*' service.status 'ssh*'
    """
    if sig and not _units_rule(ctx):
        return _has_process(ctx.host, str(sig))
    back_end = provider(ctx)
    if not set(name) & set("*?["):
        return back_end.running(name)
    names = [each for each in back_end.list_names("all", None) if fnmatch.fnmatch(each, name)]
    return {each: back_end.running(each) for each in names}


def _has_process(host: Host, text: str) -> bool:
    mine = {str(os.getpid()), str(os.getppid())}
    for pid in host.names("/proc"):
        if is_digits(pid) and pid not in mine:
            line = (host.read_bytes(f"/proc/{pid}/cmdline") or b"").replace(b"\0", b" ")
            if text.encode() in line:
                return True
    return False


def enable(
    ctx: MinionContext,
    name: str,
    no_block: bool = False,
    unmask: bool = False,
    unmask_runtime: bool = False,
    root: str | None = None,
    **kwargs: Any,
) -> bool:
    """Start a service with the machine.

    ``root`` is a directory with another system in it (systemd); ``runlevels`` are OpenRC's.

    CLI Example:

        salt '*' service.enable nginx
    """
    options = {
        **own_keywords(kwargs),
        "no_block": no_block,
        "unmask": unmask,
        "unmask_runtime": unmask_runtime,
        "root": root,
    }
    return _switch_service(ctx, name, True, options)


def disable(
    ctx: MinionContext, name: str, no_block: bool = False, root: str | None = None, **kwargs: Any
) -> bool:
    """Start a service with the machine no more.

    CLI Example:

        salt '*' service.disable nginx
    """
    return _switch_service(
        ctx, name, False, {**own_keywords(kwargs), "no_block": no_block, "root": root}
    )


def _switch_service(ctx: MinionContext, name: str, on: bool, options: Mapping[str, object]) -> bool:
    succeeded = provider(ctx).switch(str(name), on, options)
    if not succeeded:
        ctx.retcode = 1
    return succeeded


def enabled(ctx: MinionContext, name: str, root: str | None = None, **kwargs: Any) -> bool:
    """Whether a service starts with the machine.

    CLI Example:

        salt '*' service.enabled nginx
    """
    return provider(ctx).is_enabled(str(name), {**own_keywords(kwargs), "root": root})


def disabled(ctx: MinionContext, name: str, root: str | None = None) -> bool:
    """Whether a service is there and does not start with the machine.

    CLI Example:

        salt '*' service.disabled nginx
    """
    if _units_rule(ctx):
        return not enabled(ctx, name, root)
    return name in provider(ctx).list_names("disabled", root)


def _units_rule(ctx: MinionContext) -> bool:
    """Whether systemd manages the services; there whatever is not enabled is disabled."""
    from saltlite.providers.service.systemd import Systemd

    return isinstance(provider(ctx), Systemd)


def available(ctx: MinionContext, name: str) -> bool:
    """Whether there is such a service.

    CLI Example:

        salt '*' service.available sshd
    """
    return provider(ctx).exists(str(name))


def missing(ctx: MinionContext, name: str) -> bool:
    """The opposite of ``service.available``.

    CLI Example:

        salt '*' service.missing sshd
    """
    return not available(ctx, name)


def get_all(ctx: MinionContext, root: str | None = None) -> list[str]:
    """The names of all services (with systemd, of all units), sorted.

    CLI Example:

        salt '*' service.get_all
    """
    return list(provider(ctx).list_names("all", root))


def get_enabled(ctx: MinionContext, root: str | None = None) -> Any:
    """The services that start with the machine; with OpenRC also in which run levels.

    CLI Example:

        salt '*' service.get_enabled
    """
    return provider(ctx).list_names("enabled", root)


def get_disabled(ctx: MinionContext, root: str | None = None) -> list[str]:
    """The services that do not start with the machine.

    CLI Example:

        salt '*' service.get_disabled
    """
    return list(provider(ctx).list_names("disabled", root))


def get_running(ctx: MinionContext) -> list[str]:
    """The services that run.

    CLI Example:

        salt '*' service.get_running
    """
    return list(provider(ctx).list_names("running", None))


def get_static(ctx: MinionContext, root: str | None = None) -> list[str]:
    """The units that others start and that cannot be enabled (systemd).

    CLI Example:

        salt '*' service.get_static
    """
    from saltlite.providers.service.systemd import Systemd

    units(ctx, "get_static")
    return Systemd(ctx).list_names("static", root)


def mask(ctx: MinionContext, name: str, runtime: bool = False, root: str | None = None) -> bool:
    """Make it impossible to start a service (systemd).

    ``runtime`` holds until the next start of the machine.

    CLI Example:

        salt '*' service.mask foo
    """
    return units(ctx, "mask").mask(str(name), runtime, root)


def unmask(ctx: MinionContext, name: str, runtime: bool = False, root: str | None = None) -> bool:
    """Make it possible to start a service again.

    CLI Example:

        salt '*' service.unmask foo
    """
    return units(ctx, "unmask").unmask(str(name), runtime, root)


def masked(ctx: MinionContext, name: str, runtime: bool = False, root: str | None = None) -> bool:
    """Whether a service is masked.

    CLI Example:

        salt '*' service.masked foo
    """
    return units(ctx, "masked").is_masked(str(name), runtime, root)


def show(ctx: MinionContext, name: str, root: str | None = None) -> dict[str, Any]:
    """The properties of a unit, as ``systemctl show`` has them.

    CLI Example:

        salt '*' service.show sshd
    """
    return units(ctx, "show").show(str(name), root)


def execs(ctx: MinionContext, root: str | None = None) -> dict[str, str]:
    """The program that each service starts.

    CLI Example:

        salt '*' service.execs
    """
    back_end = units(ctx, "execs")
    found = {}
    for name in get_all(ctx, root):
        command = back_end.show(name, root).get("ExecStart")
        if isinstance(command, Mapping) and command.get("path"):
            found[name] = str(command["path"])
    return found


def systemctl_reload(ctx: MinionContext) -> bool:
    """Have systemd read changed unit files.

    CLI Example:

        salt '*' service.systemctl_reload
    """
    return units(ctx, "systemctl_reload").read_again()


def offline(ctx: MinionContext) -> bool:
    """Whether systemd is installed but does not run this machine, as in a chroot.

    CLI Example:

        salt '*' service.offline
    """
    from saltlite.providers.service.systemd import BOOTED

    return ctx.host.which("systemctl") is not None and not ctx.host.is_dir(BOOTED)


def firstboot(
    ctx: MinionContext,
    locale: str | None = None,
    locale_message: str | None = None,
    keymap: str | None = None,
    timezone: str | None = None,
    hostname: str | None = None,
    machine_id: str | None = None,
    root: str | None = None,
) -> bool:
    """Set what a fresh system needs to be told, with ``systemd-firstboot``.

    CLI Example:

        salt '*' service.firstboot keymap=jp locale=en_US.UTF-8
    """
    wanted = {
        "locale": locale,
        "locale-message": locale_message,
        "keymap": keymap,
        "timezone": timezone,
        "hostname": hostname,
        "machine-ID": machine_id,
        "root": root,
    }
    flags = [f"--{name}={value}" for name, value in wanted.items() if value]
    done = ctx.host.run(["systemd-firstboot", *flags])
    if done.exit_code != 0:
        raise FunctionError(f"systemd-firstboot error: {done.stderr.strip()}")
    return True
