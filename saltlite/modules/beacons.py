"""What this minion keeps an eye on: look at its beacons and change them.

The minion that runs holds the beacons: it is asked by an event on its bus and answers there.
Changes hold at once and until the next start; ``beacons.save`` writes them.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from saltlite.config.yaml import dump
from saltlite.config.yaml import load as load_yaml
from saltlite.context import MinionContext
from saltlite.core.beacons import BadBeacon, list_form
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.disk import make_dir, write_file
from saltlite.errors import StoreError
from saltlite.providers.running_minion import ask_minion

MANAGE = "manage_beacons"
ANSWERS = "/salt/minion/minion_"
INTERNAL = ("compare", "read_saved")
NOT_THERE = "Event module not available. Beacon {verb} failed."
NAME_NEEDED = "Beacon name is required."


def list_(
    ctx: MinionContext,
    return_yaml: bool = True,
    include_pillar: bool = True,
    include_opts: bool = True,
    **kwargs: Any,
) -> Any:
    """The configured beacons: those of the pillar and of the configuration, which wins.

    CLI Example:

        salt '*' beacons.list
        salt '*' beacons.list include_pillar=False return_yaml=False
    """
    found = _read_configured(
        ctx, include_pillar=bool(include_pillar), include_opts=bool(include_opts)
    )
    if not return_yaml:
        return found
    return dump({"beacons": found}, flow=None) if found else "beacons: {}\n"


def list_available(ctx: MinionContext, return_yaml: bool = True, **kwargs: Any) -> Any:
    """The names of the beacons there are, configured or not.

    CLI Example:

        salt '*' beacons.list_available
    """
    names = _list_names(ctx)
    if return_yaml:
        return dump({"beacons": names}, flow=None)
    return names


def add(ctx: MinionContext, name: str, beacon_data: object, **kwargs: Any) -> dict[str, Any]:
    """Add a beacon; one of that name must not be there.

    CLI Example:

        salt '*' beacons.add ps "[{'processes': {'salt-master': 'stopped'}}]"
    """
    answer: dict[str, Any] = {"comment": f"Failed to add beacon {name}.", "result": False}
    if name in _read_configured(ctx):
        return {"comment": f"Beacon {name} is already configured.", "result": True}
    try:
        data = list_form(name, beacon_data)
    except BadBeacon as error:
        return answer | {"comment": f"Beacon {name} configuration invalid, not adding.\n{error}"}
    module = _module_of(name, data)
    if module not in _list_names(ctx):
        return answer | {"comment": f'Beacon "{module}" is not available.'}
    if kwargs.get("test"):
        return {"comment": f"Beacon: {name} would be added.", "result": True}
    refusal = _find_fault(ctx, name, data)
    if refusal is not None:
        return answer | {"comment": f"Beacon {name} configuration invalid, not adding.\n{refusal}"}
    said = _ask_minion(ctx, "add", "beacon_add_complete", name=name, beacon_data=data)
    if not said.complete or name not in (said.beacons or ()):
        return answer | ({} if said.comment is None else {"comment": said.comment})
    return {"comment": f"Added beacon: {name}.", "result": True}


def modify(ctx: MinionContext, name: str, beacon_data: object, **kwargs: Any) -> dict[str, Any]:
    """Make a beacon another one; ``changes`` is the difference between both.

    CLI Example:

        salt '*' beacons.modify ps "[{'salt-master': 'stopped'}, {'apache2': 'stopped'}]"
    """
    configured = _read_configured(ctx)
    if name not in configured:
        return {"comment": f"Beacon {name} is not configured.", "result": True}
    if kwargs.get("test"):
        return {"comment": f"Beacon: {name} would be modified.", "result": True}
    try:
        before, data = list_form(name, configured[name]), list_form(name, beacon_data)
        refusal = _find_fault(ctx, name, data)
    except BadBeacon as error:
        before, data, refusal = [], [], str(error)
    if refusal is not None:
        comment = f"Beacon {name} configuration invalid, not modifying.\n{refusal}"
        return {"comment": comment, "result": False}
    if before == data:
        return {"comment": f"Job {name} in correct state", "result": True}
    changes = {"diff": compare(before, data)}
    said = _ask_minion(ctx, "modify", "beacon_modify_complete", name=name, beacon_data=data)
    if not said.complete:
        comment = said.comment or f"Failed to modify beacon {name}."
        return {"comment": comment, "result": False, "changes": changes}
    return {"comment": f"Modified beacon: {name}.", "result": True, "changes": changes}


def delete(ctx: MinionContext, name: str, **kwargs: Any) -> dict[str, Any]:
    """Remove a beacon; one that is not there is gone already.

    CLI Example:

        salt '*' beacons.delete ps
    """
    if kwargs.get("test"):
        return {"comment": f"Beacon: {name} would be deleted.", "result": True}
    said = _ask_minion(ctx, "delete", "beacon_delete_complete", name=name)
    if not said.complete:
        comment = said.comment or f"Failed to delete beacon {name}."
        return {"comment": comment, "result": False}
    return {"comment": f"Deleted beacon: {name}.", "result": True}


def save(ctx: MinionContext, **kwargs: Any) -> dict[str, Any]:
    """Write the beacons, without those of the pillar, to ``beacons.conf``.

    CLI Example:

        salt '*' beacons.save
    """
    path = _beacons_path(ctx)
    answer = {"comment": f"Beacons saved to {path}.", "result": True}
    if kwargs.get("test"):
        return answer
    said = _ask_for_list(ctx, include_pillar=False, include_opts=True)
    if not said.complete:
        return {"comment": NOT_THERE.format(verb="save"), "result": False}
    beacons = dict(said.beacons or {})
    try:
        make_dir(path.parent)
        write_file(path, dump({"beacons": beacons}, flow=None).encode() if beacons else b"")
    except StoreError as error:
        comment = f"Unable to write to beacons file at {path}: {error}"
        return {"comment": comment, "result": False}
    return answer


def enable(ctx: MinionContext, **kwargs: Any) -> dict[str, Any]:
    """Have the beacons work.

    CLI Example:

        salt '*' beacons.enable
    """
    return _switch_all(ctx, "enable", kwargs)


def disable(ctx: MinionContext, **kwargs: Any) -> dict[str, Any]:
    """Have no beacon run.

    CLI Example:

        salt '*' beacons.disable
    """
    return _switch_all(ctx, "disable", kwargs)


def _switch_all(ctx: MinionContext, verb: str, kwargs: Mapping[str, object]) -> dict[str, Any]:
    if kwargs.get("test"):
        return {"comment": f"Beacons would be {verb}d.", "result": True}
    said = _ask_minion(ctx, verb, f"beacons_{verb}d_complete")
    if not said.complete:
        return {"comment": f"Failed to {verb} beacons on minion.", "result": False}
    return {"comment": f"{verb.capitalize()}d beacons on minion.", "result": True}


def enable_beacon(ctx: MinionContext, name: str, **kwargs: Any) -> dict[str, Any]:
    """Have a beacon run.

    CLI Example:

        salt '*' beacons.enable_beacon ps
    """
    if kwargs.get("test") and name:
        return {"comment": f"Beacon {name} would be enabled.", "result": True}
    return _switch_beacon(ctx, "enable", name)


def disable_beacon(ctx: MinionContext, name: str, **kwargs: Any) -> dict[str, Any]:
    """Have a beacon not run.

    CLI Example:

        salt '*' beacons.disable_beacon ps
    """
    if kwargs.get("test") and name:
        return {"comment": "Beacons would be disabled.", "result": True}
    return _switch_beacon(ctx, "disable", name)


def _switch_beacon(ctx: MinionContext, verb: str, name: str) -> dict[str, Any]:
    if not name:
        return {"comment": NAME_NEEDED, "result": False}
    if name not in _read_configured(ctx):
        return {"comment": f"Beacon {name} is not currently configured.", "result": False}
    said = _ask_minion(ctx, f"{verb}_beacon", f"beacon_{verb}d_complete", name=name)
    if not said.complete:
        comment = said.comment or f"Failed to {verb} beacon {name} on minion."
        return {"comment": comment, "result": False}
    return {"comment": f"{verb.capitalize()}d beacon {name} on minion.", "result": True}


def reset(ctx: MinionContext, **kwargs: Any) -> dict[str, Any]:
    """Remove all beacons but those of the pillar.

    CLI Example:

        salt '*' beacons.reset
    """
    if kwargs.get("test"):
        return {"comment": "Beacons would be reset.", "result": True}
    if not _ask_minion(ctx, "reset", "beacon_reset_complete").complete:
        return {"comment": "Unable to reset beacon configuration.", "result": False}
    return {"comment": "Beacon configuration reset.", "result": True}


# --- the minion that runs --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the minion says to a ``manage_beacons`` event; nothing of it where it is silent."""

    complete: bool = False
    comment: str | None = None
    beacons: Any = None
    valid: bool = False
    vcomment: str = "The minion does not answer."


def _ask_minion(ctx: MinionContext, func: str, answer: str, **given: Any) -> Answer:
    """Ask the minion, and wait for its answer; empty if there is none."""
    said = ask_minion(ctx, MANAGE, {"func": func, **given}, ANSWERS + answer) or {}
    return read_fields(Answer, said)


def _ask_for_list(ctx: MinionContext, *, include_pillar: bool, include_opts: bool) -> Answer:
    given = {"include_pillar": include_pillar, "include_opts": include_opts}
    return _ask_minion(ctx, "list", "beacons_list_complete", **given)


def _read_configured(
    ctx: MinionContext, *, include_pillar: bool = True, include_opts: bool = True
) -> dict[str, Any]:
    said = _ask_for_list(ctx, include_pillar=include_pillar, include_opts=include_opts)
    return dict(said.beacons or {})


def _list_names(ctx: MinionContext) -> list[str]:
    said = _ask_minion(ctx, "list_available", "beacons_list_available_complete")
    return list(said.beacons or [])


def _find_fault(ctx: MinionContext, name: str, data: Sequence[Mapping[str, object]]) -> str | None:
    """Why a configuration is wrong; ``None`` if it is right."""
    given = {"name": name, "beacon_data": list(data)}
    said = _ask_minion(ctx, "validate_beacon", "beacon_validation_complete", **given)
    return None if said.valid else said.vcomment


def _module_of(name: str, data: Sequence[Mapping[str, object]]) -> str:
    named = [part["beacon_module"] for part in data if "beacon_module" in part]
    return str(named[-1]) if named else name


def compare(before: Sequence[Mapping[str, object]], after: Sequence[Mapping[str, object]]) -> str:
    """Both configurations compared line by line, as Salt shows them."""
    return "".join(difflib.unified_diff(_format_lines(before), _format_lines(after)))


def _format_lines(data: Sequence[Mapping[str, object]]) -> list[str]:
    return [f"{key}:{value}\n" for part in data for key, value in part.items()]


def read_saved(ctx: MinionContext, name: str) -> Any:
    """What ``beacons.conf`` has of a beacon; ``None`` if it has nothing."""
    path = str(_beacons_path(ctx))
    text = ctx.host.read_text(path)
    found = load_yaml(text, path) if text else None
    saved = found.get("beacons") if isinstance(found, Mapping) else None
    return saved.get(name) if isinstance(saved, Mapping) else None


def _beacons_path(ctx: MinionContext) -> Path:
    paths = ctx.config.paths
    include = os.path.dirname(paths.default_include or "minion.d/*.conf")
    return Path(os.path.dirname(paths.conf_file), include, "beacons.conf")
