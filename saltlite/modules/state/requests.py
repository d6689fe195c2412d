"""Runs that were asked for, and wait for an administrator."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from saltlite.context import MinionContext
from saltlite.disk import write_file
from saltlite.modules.state.applying import apply_
from saltlite.providers import textfile

_REQUESTS = "req_state.json"


def request(ctx: MinionContext, mods: object = None, **kwargs: Any) -> Any:
    """Ask an administrator to run states: a dry run is made and kept, nothing is applied.

    CLI Example:

        salt '*' state.request stuff
    """
    kwargs = {key: value for key, value in kwargs.items() if not key.startswith("__pub")}
    name = str(kwargs.pop("name", "default"))
    tried = apply_(ctx, mods, **{**kwargs, "test": True})
    entry = {"test_run": tried, "mods": mods, "kwargs": kwargs}
    with _hold(ctx):
        _write_requests(ctx, {**_read_requests(ctx), name: entry})
    return tried


def check_request(ctx: MinionContext, name: str | None = None) -> Any:
    """What has been asked for with ``state.request``.

    CLI Example:

        salt '*' state.check_request
    """
    kept = _read_requests(ctx)
    return kept.get(name, {}) if name else kept


def clear_request(ctx: MinionContext, name: str | None = None) -> bool:
    """Forget what has been asked for: all, or one request.

    CLI Example:

        salt '*' state.clear_request
    """
    with _hold(ctx):
        kept = _read_requests(ctx)
        if name and name not in kept:
            return False
        _write_requests(ctx, {key: entry for key, entry in kept.items() if name and key != name})
    return True


def run_request(ctx: MinionContext, name: str = "default", **kwargs: Any) -> Any:
    """Run what has been asked for, and forget it.

    CLI Example:

        salt '*' state.run_request
    """
    entry = _read_requests(ctx).get(name)
    if entry is None:
        return {}
    answers = apply_(ctx, entry["mods"], **entry["kwargs"])
    clear_request(ctx, name)
    return answers


def _hold(ctx: MinionContext) -> AbstractContextManager[None]:
    return textfile.hold_name(ctx, _REQUESTS)


def _read_requests(ctx: MinionContext) -> dict[str, Any]:
    text = ctx.host.read_text(str(Path(ctx.config.paths.cachedir, _REQUESTS)))
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}


def _write_requests(ctx: MinionContext, requests: dict[str, Any]) -> None:
    path = Path(ctx.config.paths.cachedir, _REQUESTS)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, json.dumps(requests).encode(), mode=0o600)
