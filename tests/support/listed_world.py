"""A machine in namespaces of its own, its resources as an SLS, and that SLS applied to it.

Reads one JSON map a line: ``{"run": script}`` for ``sh``, ``{"grains": map}``, or ``{"list": type,
"pattern": glob}``, whose answer is ``{"text", "test", "real"}``: the SLS, and by ID what a test run
and a real one of it find, each ``[result, changes, comment]``; or ``{"error": text}``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from isolated_states import have_systemd, in_namespace, plain_request


def in_world(requests: list[Any], work: Path) -> list[Any]:
    """The answers, one for each request."""
    return in_namespace([sys.executable, __file__], requests, work)


def main() -> None:
    from saltlite.config.minion import (
        FileOptions,
        IdentityOptions,
        MinionConfig,
        PathOptions,
    )
    from saltlite.context import MinionContext
    from saltlite.host import Host
    from saltlite.loader.registry import Registry
    from saltlite.providers.kernel import modules
    from saltlite.providers.selinux import policy

    config = MinionConfig(
        identity=IdentityOptions(id="vm"),
        paths=PathOptions(cachedir="/mnt/cache", conf_file="/mnt/conf/minion"),
        files=FileOptions(file_client="local", file_roots={"base": ["/mnt/srv"]}),
    )
    grains: dict[str, Any] = {
        "id": "vm",
        "os_family": "Debian",
        "os": "Debian",
        "kernel": "Linux",
        "osmajorrelease": 12,
        "systemd": {"version": "252"},
        "init": "systemd",
    }
    ctx = MinionContext(config=config, host=Host(), grains=grains, pillar={})
    ctx.functions = Registry(ctx)
    modules.PROC_MODULES = "/etc/fakemodules"
    policy.MOUNTED = ("/etc/fakeselinux",)
    have_systemd()
    for line in sys.stdin:
        request = json.loads(line)
        if "list" in request or "show" in request:
            answer = _apply_listed(ctx, request)
        elif "grains" in request:
            ctx.grains.update(request["grains"])
            answer = True
        else:
            answer = plain_request(request)
        sys.stdout.write(json.dumps(answer) + "\n")


def _apply_listed(ctx: Any, request: Any) -> dict[str, Any]:
    from saltlite.errors import SaltliteError

    call = ctx.functions.call
    try:
        if "show" in request:
            text = call("resource.show", *request["show"], secrets=request.get("secrets", False))
        else:
            text = call(
                "resource.list",
                request["list"],
                request.get("pattern", "*"),
                secrets=request.get("secrets", False),
            )
    except SaltliteError as error:
        return {"error": str(error)}
    runs = {
        name: call("state.template_str", text, test=name == "test") for name in ("test", "real")
    }
    return {"text": text, **{name: _shorten(found) for name, found in runs.items()}}


def _shorten(found: Any) -> Any:
    if not isinstance(found, dict):
        return found
    return {
        one["__id__"]: [one["result"], one["changes"], one["comment"]] for one in found.values()
    }


if __name__ == "__main__":
    main()
