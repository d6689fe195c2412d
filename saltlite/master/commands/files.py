"""The file server's commands. Source: protocol.md 9.4.

No back end is built yet: every file is missing and every list is empty, in the form a minion
expects.
"""

from __future__ import annotations

from saltlite.channel.master import OpenedRequest
from saltlite.core.plain import Plain
from saltlite.master.context import MasterContext


def file_hash(_ctx: MasterContext, _request: OpenedRequest) -> Plain:
    """``{"hash_type", "hsum"}``; ``""`` for a missing file."""
    return ""


def file_hash_and_stat(_ctx: MasterContext, _request: OpenedRequest) -> Plain:
    """The same with the file's status."""
    return ["", None]


def file_find(_ctx: MasterContext, _request: OpenedRequest) -> Plain:
    """Where a file is."""
    return {"path": "", "rel": ""}


def serve_file(_ctx: MasterContext, _request: OpenedRequest) -> Plain:
    """A piece of a file."""
    return {"data": "", "dest": ""}


def file_list(_ctx: MasterContext, _request: OpenedRequest) -> list[Plain]:
    """The files of an environment."""
    return []


def file_list_emptydirs(_ctx: MasterContext, _request: OpenedRequest) -> list[Plain]:
    """Its empty directories."""
    return []


def dir_list(_ctx: MasterContext, _request: OpenedRequest) -> list[Plain]:
    """Its directories."""
    return []


def symlink_list(_ctx: MasterContext, _request: OpenedRequest) -> dict[str, Plain]:
    """Its links and where they lead."""
    return {}


def file_envs(ctx: MasterContext, _request: OpenedRequest) -> list[str]:
    """The environments of ``file_roots``."""
    return [name for name in ctx.config.files.file_roots if name != "__env__"]


def master_opts(ctx: MasterContext, request: OpenedRequest) -> dict[str, Plain]:
    """What a minion needs of the master's options to run a highstate."""
    files = ctx.config.files
    answer: dict[str, Plain] = {
        "file_roots": {name: [] for name in files.file_roots},
        "top_file_merging_strategy": files.top_file_merging_strategy,
        "env_order": list(files.env_order),
        "default_top": files.default_top,
    }
    if request.load.get("env_only"):
        return answer
    return answer | {
        "renderer": files.renderer,
        "failhard": files.failhard,
        "state_top": files.state_top,
        "state_top_saltenv": files.state_top_saltenv,
        "nodegroups": dict(ctx.config.targets.nodegroups),
        "state_auto_order": files.state_auto_order,
        "state_events": files.state_events,
        "state_aggregate": files.state_aggregate,
        "jinja_env": dict(files.jinja_env),
        "jinja_sls_env": dict(files.jinja_sls_env),
        "jinja_lstrip_blocks": files.jinja_lstrip_blocks,
        "jinja_trim_blocks": files.jinja_trim_blocks,
    }


def master_tops(_ctx: MasterContext, _request: OpenedRequest) -> dict[str, Plain]:
    """No ``master_tops`` are built."""
    return {}


def file_recv(ctx: MasterContext, request: OpenedRequest) -> bool:
    """A minion pushes a file: not built, and answered as where ``file_recv`` is off."""
    ctx.refusals.refuse("_file_recv", f"minion {request.id}")
    return False
