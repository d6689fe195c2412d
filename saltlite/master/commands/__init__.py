"""Every command that a peer may send to port 4506, in one table.

The key is (``enc`` of the envelope, ``cmd`` of the load). What is not here does not exist.
Source: protocol.md 7, 9, 11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from saltlite.core.messages import refused as error_reply
from saltlite.master.command import Caller, Command, Handler, IsSlow, Repeats, always
from saltlite.master.commands import (
    auth,
    authorize,
    clear,
    events,
    files,
    keys,
    mine,
    peer,
    pillar,
    publish,
    resources,
    returns,
)

__all__ = ["COMMANDS", "Caller", "Command", "Repeats"]

PILLAR_LIMIT_S: Final = 120.0


def _clear(name: str, caller: Caller, handler: Handler, refused: object) -> Command:
    return Command(name, caller, handler, refused=refused)


def _acts(name: str, handler: Handler, refused: object, slow: IsSlow | None = None) -> Command:
    return Command(name, Caller.MINION, handler, refused=refused, slow=slow)


def _reads(name: str, handler: Handler, refused: object, slow: IsSlow | None = None) -> Command:
    return Command(name, Caller.MINION, handler, Repeats.READ, refused, slow=slow)


_AUTHENTICATION: Final = error_reply("AuthenticationError", "Authentication error occurred.")

COMMANDS: Final[Mapping[tuple[str, str], Command]] = {
    ("clear", one.name): one
    for one in (
        Command("_auth", Caller.STRANGER_RAW, auth.auth, refused="bad load", shares=True),
        _clear("ping", Caller.STRANGER, clear.ping, {}),
        Command(
            "publish",
            Caller.USER,
            publish.publish,
            refused=_AUTHENTICATION,
            slow=publish.is_slow,
        ),
        _clear("runner", Caller.USER, clear.runner, clear.USER_REFUSED),
        _clear("wheel", Caller.USER, clear.wheel, clear.USER_REFUSED),
        _clear("mk_token", Caller.USER, clear.mk_token, ""),
        _clear("get_token", Caller.USER, clear.get_token, {}),
        _clear("del_token", Caller.USER, clear.del_token, False),
        _clear("authorize", Caller.USER, authorize.authorize, _AUTHENTICATION),
    )
} | {
    ("aes", one.name): one
    for one in (
        Command(
            "_pillar",
            Caller.MINION_RAW,
            pillar.pillar,
            Repeats.READ,
            limit_s=PILLAR_LIMIT_S,
            slow=always,
        ),
        Command("_return", Caller.MINION, returns.accept_return, refused=False, shares=True),
        Command("_syndic_return", Caller.SYNDIC, returns.accept_syndic_return),
        Command("_minion_event", Caller.MINION, events.accept_events, refused={}, shares=True),
        _acts("_register_resources", resources.register, {}),
        _reads("_file_hash", files.file_hash, ""),
        _reads("_file_hash_and_stat", files.file_hash_and_stat, ["", None]),
        _reads("_file_find", files.file_find, {"path": "", "rel": ""}),
        _reads("_serve_file", files.serve_file, {"data": "", "dest": ""}),
        _reads("_file_bundle", files.file_bundle, {"hash_type": "", "files": [], "data": b""}),
        _reads("_file_list", files.file_list, [], always),
        _reads("_file_list_emptydirs", files.file_list_emptydirs, [], always),
        _reads("_dir_list", files.dir_list, [], always),
        _reads("_symlink_list", files.symlink_list, {}, always),
        _reads("_file_envs", files.file_envs, []),
        _reads("_master_opts", files.master_opts, {}),
        Command(
            "_master_tops",
            Caller.MINION,
            files.master_tops,
            Repeats.READ,
            limit_s=PILLAR_LIMIT_S,
            slow=always,
        ),
        _acts("_file_recv", files.file_recv, False),
        _acts("_mine", mine.store, False),
        _reads("_mine_get", mine.get, {}, mine.is_slow),
        _acts("_mine_delete", mine.delete, False),
        _acts("_mine_flush", mine.flush, False),
        _acts("minion_pub", peer.minion_pub, {}, peer.is_slow),
        _acts("minion_publish", peer.minion_publish, {}),
        _acts("minion_runner", peer.minion_runner, {}),
        _reads("pub_ret", peer.pub_ret, {}),
        _acts("revoke_auth", keys.revoke, {}),
    )
}
