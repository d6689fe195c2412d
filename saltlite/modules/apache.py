"""The web server Apache: what it has, and on Debian what of it is enabled.

Answers observed on Salt 3006.30. Passwords go to ``htpasswd`` on its input, never in its arguments.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError, ProgramMissing
from saltlite.host import Host
from saltlite.openat import refuse_misleading
from saltlite.providers import apache, command, textfile
from saltlite.providers.command import CommandOptions, Outcome

ROOT = "/etc/apache2"
"""Debian's; no option, so that a test can take another."""

_SIGNALS = ("start", "stop", "restart", "graceful", "graceful-stop")
_HASHES = frozenset("nmdps")
_MISSING = 1
"""How Debian's programs exit where there is no such thing."""


def _run_command(ctx: MinionContext, argv: Sequence[str], stdin: str | None = None) -> Outcome:
    return command.run(ctx, list(argv), CommandOptions(python_shell=False, stdin=stdin))


def _find_ctl(host: Host) -> str:
    for name in ("apache2ctl", "apachectl"):
        if host.which(name):
            return name
    raise ProgramMissing("apache2ctl")


def _read_ctl_output(ctx: MinionContext, option: str) -> str:
    return _run_command(ctx, [_find_ctl(ctx.host), option]).stdout


def version(ctx: MinionContext) -> str:
    """The version of the server.

    CLI Example:

        salt '*' apache.version
    """
    return apache.parse_version(_read_ctl_output(ctx, "-v"))


def fullversion(ctx: MinionContext) -> dict[str, Any]:
    """The version of the server and how it was built.

    CLI Example:

        salt '*' apache.fullversion
    """
    return apache.parse_full_version(_read_ctl_output(ctx, "-V"))


def modules(ctx: MinionContext) -> dict[str, list[str]]:
    """The modules that the configuration loads: ``{"static", "shared"}``.

    CLI Example:

        salt '*' apache.modules
    """
    return apache.parse_modules(_read_ctl_output(ctx, "-M"))


def servermods(ctx: MinionContext) -> list[str]:
    """The modules that are compiled in.

    CLI Example:

        salt '*' apache.servermods
    """
    return apache.parse_compiled(_read_ctl_output(ctx, "-l"))


def directives(ctx: MinionContext) -> dict[str, str]:
    """The directives, what they are for and where they may be.

    CLI Example:

        salt '*' apache.directives
    """
    return apache.parse_directives(_read_ctl_output(ctx, "-L"))


def vhosts(ctx: MinionContext) -> dict[str, dict[str, Any]]:
    """The virtual hosts by address: ``{"*:80": {name: {"vhost", "conf", "port"}}}``.

    CLI Example:

        salt '*' apache.vhosts
    """
    return apache.parse_vhosts(_read_ctl_output(ctx, "-S"))


def signal(ctx: MinionContext, signal: str | None = None) -> str | None:
    """Start, stop or restart the server: ``start``, ``stop``, ``restart``, ``graceful`` ...

    ``None`` for anything else.

    CLI Example:

        salt '*' apache.signal restart
    """
    if signal not in _SIGNALS:
        return None
    argv = [_find_ctl(ctx.host), "-k", signal]
    done = _run_command(ctx, argv)
    if done.retcode == 0:
        return f'Command: "{" ".join(argv)}" completed successfully!'
    return (done.stderr or done.stdout).strip()


def useradd(
    ctx: MinionContext, pwfile: str, user: str, password: str, opts: str = ""
) -> dict[str, Any]:
    """Give somebody a password in a file of ``htpasswd``, which is made where there is none.

    ``opts`` are letters: ``m``, ``d``, ``s`` and ``p`` say how it is hashed, ``n`` only shows it.

    CLI Example:

        salt '*' apache.useradd /etc/httpd/htpasswd larry badpassword
        salt '*' apache.useradd /etc/httpd/htpasswd larry badpass opts=ns
    """
    if unknown := set(opts) - _HASHES:
        raise FunctionError(f"opts has {''.join(sorted(unknown))}; allowed are n, m, d, s and p")
    create = "" if ctx.host.exists(pwfile) or "n" in opts else "c"
    file = [] if "n" in opts else [str(pwfile)]
    for path in file:
        refuse_misleading(path)
    done = _run_command(
        ctx, ["htpasswd", f"-i{opts}{create}", *file, str(user)], stdin=str(password)
    )
    return done.as_map()


def userdel(ctx: MinionContext, pwfile: str, user: str) -> list[str] | str:
    """Take somebody out of a file of ``htpasswd``; what that said, as lines.

    CLI Example:

        salt '*' apache.userdel /etc/httpd/htpasswd larry
    """
    if not ctx.host.exists(pwfile):
        return "Error: The specified htpasswd file does not exist"
    refuse_misleading(str(pwfile))
    done = _run_command(ctx, ["htpasswd", "-D", str(pwfile), str(user)])
    return (done.stdout or done.stderr).splitlines()


def server_status(ctx: MinionContext, profile: str = "default") -> dict[str, str] | str:
    """What the server says of itself, at ``apache.server-status:<profile>`` of pillar or grains.

    That has ``url``, and perhaps ``user``, ``pass`` and ``timeout`` in seconds. ``error`` if it
    does not answer.

    CLI Example:

        salt '*' apache.server_status
    """
    from saltlite.modules import config as options
    from saltlite.modules import http

    how = options.get(ctx, f"apache.server-status:{profile}", {}) or {}
    url = f"{how.get('url', 'http://localhost/server-status')}?auto"
    login = {"username": how["user"], "password": how.get("pass")} if "user" in how else {}
    answer = http.query(ctx, url, timeout=how.get("timeout", 5), **login)
    if "error" in answer or "body" not in answer:
        return "error"
    return apache.parse_status(answer["body"])


def config(
    ctx: MinionContext, name: str, config: Sequence[Mapping[str, object]], edit: bool = True
) -> str:
    """Write a configuration from a list of maps; its text. ``edit`` ``False`` only shows it.

    CLI Example:

        salt '*' apache.config /etc/httpd/conf.d/ports.conf config="[{'Listen': '22'}]"
    """
    text = "\n".join(map(apache.render_config, config))
    if edit:
        textfile.save(name, f"# This file is managed by Salt.\n{text}")
    return text


def check_mod_enabled(ctx: MinionContext, mod: str) -> bool:
    """Whether a module is enabled, by its name or ``name.load``.

    CLI Example:

        salt '*' apache.check_mod_enabled status
    """
    file = mod if mod.endswith((".load", ".conf")) else f"{mod}.load"
    return _is_enabled("mods", file)


def check_conf_enabled(ctx: MinionContext, conf: str) -> bool:
    """Whether a configuration is enabled, by its name or ``name.conf``.

    CLI Example:

        salt '*' apache.check_conf_enabled security
    """
    return _is_enabled("conf", _conf_name(conf))


def check_site_enabled(ctx: MinionContext, site: str) -> bool:
    """Whether a site is enabled, by its name or ``name.conf``; ``default`` is ``000-default``.

    CLI Example:

        salt '*' apache.check_site_enabled example.com
    """
    names = ("000-default", "default") if site == "default" else (str(site),)
    return any(_is_enabled("sites", _conf_name(name)) for name in names)


def _conf_name(name: str) -> str:
    return name if name.endswith(".conf") else f"{name}.conf"


def _is_enabled(kind: str, file: str) -> bool:
    """The programs of Debian make links; what is copied there is none of theirs."""
    return os.path.islink(os.path.join(ROOT, f"{kind}-enabled", file))


def a2enmod(ctx: MinionContext, mod: str) -> dict[str, Any]:
    """Enable a module: ``{"Name", "Mod", "Status"}``.

    CLI Example:

        salt '*' apache.a2enmod vhost_alias
    """
    return _switch_entry(ctx, "Mod", mod, "enable")


def a2dismod(ctx: MinionContext, mod: str) -> dict[str, Any]:
    """Disable a module: ``{"Name", "Mod", "Status"}``.

    CLI Example:

        salt '*' apache.a2dismod vhost_alias
    """
    return _switch_entry(ctx, "Mod", mod, "disable")


def a2enconf(ctx: MinionContext, conf: str) -> dict[str, Any]:
    """Enable a configuration: ``{"Name", "Conf", "Status"}``.

    CLI Example:

        salt '*' apache.a2enconf security
    """
    return _switch_entry(ctx, "Conf", conf, "enable")


def a2disconf(ctx: MinionContext, conf: str) -> dict[str, Any]:
    """Disable a configuration: ``{"Name", "Conf", "Status"}``.

    CLI Example:

        salt '*' apache.a2disconf security
    """
    return _switch_entry(ctx, "Conf", conf, "disable")


def a2ensite(ctx: MinionContext, site: str) -> dict[str, Any]:
    """Enable a site: ``{"Name", "Site", "Status"}``.

    CLI Example:

        salt '*' apache.a2ensite example.com
    """
    return _switch_entry(ctx, "Site", site, "enable")


def a2dissite(ctx: MinionContext, site: str) -> dict[str, Any]:
    """Disable a site: ``{"Name", "Site", "Status"}``.

    CLI Example:

        salt '*' apache.a2dissite example.com
    """
    return _switch_entry(ctx, "Site", site, "disable")


def _switch_entry(ctx: MinionContext, kind: str, name: str, verb: str) -> dict[str, Any]:
    """``Status`` is a sentence, or the exit code that has none."""
    argv = [f"a2{verb[:-4]}{kind.lower()}", str(name)]
    retcode = _run_command(ctx, argv).retcode
    status: str | int = retcode
    if retcode == 0:
        status = f"{kind} {name} {verb}d"
    elif retcode == _MISSING and verb == "enable":
        status = f"{kind} {name} Not found"
    return {"Name": f"Apache2 {verb.capitalize()} {kind}", kind: name, "Status": status}
