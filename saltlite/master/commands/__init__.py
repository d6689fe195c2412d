"""Every command that a peer may send to port 4506, in one table.

The key is (``enc`` of the envelope, ``cmd`` of the load). What is not here does not exist.
Source: docs/wire.md#_auth, #commands-of-a-minion, #clear-commands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from saltlite.core.messages import AUTHENTICATION_REFUSED
from saltlite.master.command import Command, Handler, IsSlow, Repeats, Sender, always
from saltlite.master.commands import (
    auth,
    authorize,
    clear,
    files,
    follow,
    keys,
    mine,
    peer,
    pillar,
    publish,
    resources,
    returns,
    syndic_requests,
)

__all__ = ["COMMANDS", "Command", "Repeats", "Sender"]

PILLAR_LIMIT_S: Final = 120.0


def _clear_command(name: str, caller: Sender, handler: Handler, refused: object) -> Command:
    return Command(name, caller, handler, refused=refused)


def _acting_command(
    name: str, handler: Handler, refused: object, slow: IsSlow | None = None
) -> Command:
    return Command(name, Sender.MINION, handler, refused=refused, slow=slow)


def _reading_command(
    name: str, handler: Handler, refused: object, slow: IsSlow | None = None
) -> Command:
    return Command(name, Sender.MINION, handler, Repeats.READ, refused, slow=slow)


COMMANDS: Final[Mapping[tuple[str, str], Command]] = {
    # Nobody is proven here yet: handlers of Sender.USER authenticate before anything else.
    ("clear", one.name): one
    for one in (
        Command("_auth", Sender.STRANGER_RAW, auth.auth, refused="bad load", shares=True),
        _clear_command("ping", Sender.STRANGER, clear.ping, {}),
        Command(
            "publish",
            Sender.USER,
            publish.publish,
            refused=AUTHENTICATION_REFUSED,
            slow=publish.is_slow,
        ),
        _clear_command("runner", Sender.USER, clear.runner, clear.USER_REFUSED),
        _clear_command("wheel", Sender.USER, clear.wheel, clear.USER_REFUSED),
        _clear_command("mk_token", Sender.USER, clear.mk_token, ""),
        _clear_command("get_token", Sender.USER, clear.get_token, {}),
        _clear_command("del_token", Sender.USER, clear.del_token, False),
        Command(
            "authorize",
            Sender.USER,
            authorize.authorize,
            refused=AUTHENTICATION_REFUSED,
            slow=authorize.is_slow,
        ),
        _clear_command("follow", Sender.USER, follow.follow, AUTHENTICATION_REFUSED),
    )
} | {
    ("aes", one.name): one
    for one in (
        # READ: a real minion sends the same bytes again when a pillar takes too long.
        Command(
            "_pillar",
            Sender.MINION_RAW,
            pillar.pillar,
            Repeats.READ,
            limit_s=PILLAR_LIMIT_S,
            slow=always,
        ),
        # These come from all minions at once; returns of one turn share one wait for the disk.
        Command(
            "_return",
            Sender.MINION,
            returns.accept_return,
            Repeats.RECORD,
            refused=False,
            shares=True,
        ),
        Command("_syndic_return", Sender.SYNDIC, syndic_requests.accept_syndic_return),
        Command(
            "_minion_event",
            Sender.MINION,
            syndic_requests.accept_events,
            refused={},
            shares=True,
        ),
        _acting_command("_register_resources", resources.register, {}),
        # Refusals have the shape of answers: real minions index them without a check.
        _reading_command("_file_hash", files.file_hash, ""),
        _reading_command("_file_hash_and_stat", files.file_hash_and_stat, ["", None]),
        _reading_command("_file_find", files.file_find, {"path": "", "rel": ""}),
        _reading_command("_serve_file", files.serve_file, {"data": "", "dest": ""}),
        _reading_command(
            "_file_bundle", files.file_bundle, {"hash_type": "", "files": [], "data": b""}
        ),
        # A walk over all of an environment, however large its roots are.
        _reading_command("_file_list", files.file_list, [], always),
        _reading_command("_file_list_emptydirs", files.file_list_emptydirs, [], always),
        _reading_command("_dir_list", files.dir_list, [], always),
        _reading_command("_symlink_list", files.symlink_list, {}, always),
        _reading_command("_file_envs", files.file_envs, []),
        _reading_command("_master_opts", files.master_opts, {}),
        Command(
            "_master_tops",
            Sender.MINION,
            files.master_tops,
            Repeats.READ,
            limit_s=PILLAR_LIMIT_S,
            slow=always,
        ),
        _acting_command("_file_recv", files.file_recv, False),
        _acting_command("_mine", mine.store, False),
        _reading_command("_mine_get", mine.get, {}, mine.is_slow),
        _acting_command("_mine_delete", mine.delete, False),
        _acting_command("_mine_flush", mine.flush, False),
        _acting_command("minion_pub", peer.minion_pub, {}, peer.is_slow),
        _acting_command("minion_publish", peer.minion_publish, {}),
        _acting_command("minion_runner", peer.minion_runner, {}),
        _reading_command("pub_ret", peer.pub_ret, {}),
        _acting_command("revoke_auth", keys.revoke, {}),
    )
}
