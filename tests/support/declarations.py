"""Declarations of every state function, drawn from small pools so that they meet on one machine.

A :class:`Form` says what a function is given: a value of a list, or what a function of the random
generator draws. Names and paths are few on purpose: declarations collide, undo and build upon each
other. ``FORMS`` must have every function of the registry or ``EXEMPT`` a reason; the test of the
law sees to it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Pool = Sequence[Any] | Callable[[random.Random], Any]

OPTIONAL = 0.25
"""How often an argument is given that needs not be."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """The arguments of one function: ``always`` given ones, and those that ``may`` be.

    ``world`` is the kind of machine that the function needs; declarations of one world meet.
    ``repeats`` is whether it does something each time, as long as it declares an ``Action``.
    """

    world: str
    repeats: bool = False
    always: Mapping[str, Pool] = field(default_factory=dict)
    may: Mapping[str, Pool] = field(default_factory=dict)

    def drawn(self, rng: random.Random) -> dict[str, Any]:
        """One set of arguments."""
        given = {name: _value(pool, rng) for name, pool in self.always.items()}
        for name, pool in self.may.items():
            if rng.random() < OPTIONAL:
                given[name] = _value(pool, rng)
        return given


def _value(pool: Pool, rng: random.Random) -> Any:
    return pool(rng) if callable(pool) else rng.choice(pool)


def some(pool: Sequence[Any], at_most: int = 3) -> Callable[[random.Random], list[Any]]:
    """A list of different members of a pool."""

    def draw(rng: random.Random) -> list[Any]:
        return rng.sample(list(pool), rng.randint(1, min(at_most, len(pool))))

    return draw


def table(
    keys: Sequence[Any], values: Pool, at_most: int = 3
) -> Callable[[random.Random], dict[Any, Any]]:
    """A map with some of the keys."""

    def draw(rng: random.Random) -> dict[Any, Any]:
        return {key: _value(values, rng) for key in some(keys, at_most)(rng)}

    return draw


BOOL = (True, False)
YES = (True,)

# --- files ----------------------------------------------------------------------------------------

T = "/mnt/t"
PATHS = [f"{T}/{name}" for name in ("a", "b", "d", "d/x", "d/s/y", "new", "n/e/w", "ln", "none")]
FILES = [f"{T}/{name}" for name in ("a", "b", "d/x", "d/s/y", "new", "n/e/w", "ln")]
TREES = [f"{T}/{name}" for name in ("d", "d/s", "n", "n/e", "ln", "a", "tree")]
OWNERS = ("root", "daemon", "nosuch", 0, 1)
MODES = ("0644", "600", 755, "0o640", "4755")
TEXTS = ("one\n", "one\ntwo\n", "one\ntwo\nthree\n", "two", "", "k=v\nother = 1\n", "#one\ntwo\n")
SOURCES = ("salt://plain", "salt://page", "/mnt/srv/plain", "salt://nosuch", "salt://broken")
MAKE: dict[str, Pool] = {"makedirs": YES}
OWNED: dict[str, Pool] = {"user": OWNERS, "group": OWNERS}
REPORT: dict[str, Pool] = {"show_changes": (False,)}
BACKUP: dict[str, Pool] = {"backup": ("minion", ".bak", False, "")}
RENDER: dict[str, Pool] = {
    "template": ("jinja", "jinja", "nosuch"),
    "context": ({"v": "c"}, {"v": 2}),
    "defaults": ({"v": "d"}, {"w": 1}),
}
LINES = ("one", "two", "three", "k=v", "#one", "new line", "  indented")
DATA = ({"k": "v"}, {"k": "w", "n": 1}, {"l": [1, 2]}, ["x", "y"], {})


def _managed(rng: random.Random) -> Any:
    return rng.choice([*TEXTS, ["one", "two"], 5, ["l"]])


FILE_FORMS: dict[str, Form] = {
    name: Form(world="file", **parts)
    for name, parts in {
        "file.managed": {
            "always": {"name": FILES},
            "may": {
                "source": [*SOURCES, ["salt://nosuch", "salt://plain"]],
                "contents": _managed,
                "contents_pillar": ("motd", "a:b", "lines", "nosuch"),
                "contents_grains": ("id", "nosuch"),
                "contents_newline": (False,),
                "mode": [*MODES, "keep"],
                "dir_mode": ("0750",),
                "replace": (False,),
                "create": (False,),
                "follow_symlinks": (False,),
                "allow_empty": (False,),
                "encoding": ("utf-16", "latin-1", "nosuch"),
                "check_cmd": ("grep -q one", "true"),
                "tmp_ext": (".ext",),
                "keep_source": (False,),
                "skip_verify": YES,
                "source_hash": ("sha1=" + "0" * 40, "salt://plain.sha256"),
                **OWNED, **MAKE, **REPORT, **BACKUP, **RENDER,
            },
        },
        "file.directory": {
            "always": {"name": TREES},
            "may": {
                "recurse": some(["user", "group", "mode", "ignore_files", "ignore_dirs", "silent"]),
                "max_depth": (0, 1, 2),
                "dir_mode": ("0755", "700"),
                "file_mode": ("0644", "600"),
                "mode": MODES,
                "clean": YES,
                "exclude_pat": ("x", "E@s", ["x", "y"]),
                "follow_symlinks": YES,
                "force": YES,
                "backupname": (f"{T}/kept", "kept"),
                "allow_symlink": (False,),
                "children_only": YES,
                **OWNED, **MAKE,
            },
        },
        "file.symlink": {
            "always": {"name": PATHS, "target": (f"{T}/a", f"{T}/d", "b", f"{T}/none")},
            "may": {
                "force": YES, "backupname": (f"{T}/kept", "kept"), "mode": MODES,
                "atomic": YES, "disallow_copy_and_unlink": YES, "inherit_user_and_group": YES,
                "follow_symlinks": (False,), **OWNED, **MAKE,
            },
        },
        "file.hardlink": {
            "always": {"name": PATHS, "target": (f"{T}/a", f"{T}/b", f"{T}/none", f"{T}/d")},
            "may": {"force": YES, "dir_mode": ("0750",), **OWNED, **MAKE},
        },
        "file.absent": {"always": {"name": PATHS}},
        "file.exists": {"always": {"name": PATHS}},
        "file.missing": {"always": {"name": PATHS}},
        "file.mknod": {
            "always": {"name": [*PATHS, f"{T}/fifo"], "ntype": ("p", "p", "c", "b", "x")},
            "may": {"major": (1, 5), "minor": (3, 5), "mode": MODES, **OWNED},
        },
        "file.append": {
            "always": {"name": FILES},
            "may": {
                "text": [*LINES, ["one", "four"], "multi\nline"], "source": SOURCES,
                "sources": (["salt://plain", "salt://page"],), "ignore_whitespace": (False,),
                **RENDER, **MAKE,
            },
        },
        "file.prepend": {
            "always": {"name": FILES},
            "may": {
                "text": [*LINES, ["one", "four"], "multi\nline"], "source": SOURCES,
                "sources": (["salt://plain", "salt://page"],), "header": YES, **RENDER, **MAKE,
            },
        },
        "file.replace": {
            "always": {
                "name": FILES, "pattern": ("one", "^t.*$", "nosuch", "(k)=(.)", "*", "o"),
                "repl": ("two", r"\2=\1", "", "one", 5, "oo"),
            },
            "may": {
                "count": (1, 2), "flags": (["MULTILINE"], ["IGNORECASE", "DOTALL"], 0),
                "bufsize": ("file", 1), "append_if_not_found": YES, "prepend_if_not_found": YES,
                "not_found_content": ("added", "two"), "ignore_if_missing": YES,
                "backslash_literal": YES, **BACKUP, **REPORT,
            },
        },
        "file.line": {
            "always": {
                "name": FILES,
                "mode": ("ensure", "replace", "insert", "delete", "nosuch"),
                "content": [*LINES, "one"],
            },
            "may": {
                "match": ("one", "t", "nosuch"), "location": ("start", "end"),
                "before": ("two", "nosuch"), "after": ("one", "nosuch"), "indent": (False,),
                "quiet": YES, "create": YES, "file_mode": MODES, **BACKUP, **REPORT, **OWNED,
            },
        },
        "file.blockreplace": {
            "always": {"name": FILES},
            "may": {
                "marker_start": ("one", "#-- start managed zone --"),
                "marker_end": ("two", "#-- end managed zone --"),
                "content": [*TEXTS, "inner"], "source": SOURCES, "append_if_not_found": YES,
                "prepend_if_not_found": YES, "append_newline": BOOL,
                "insert_before_match": ("two", "nosuch"), "insert_after_match": ("one", "nosuch"),
                **BACKUP, **REPORT, **RENDER,
            },
        },
        "file.comment": {
            "always": {"name": FILES, "regex": ("one", "^t.*$", "nosuch", "^k", "*")},
            "may": {"char": (";", "//"), "ignore_missing": YES, **BACKUP},
        },
        "file.uncomment": {
            "always": {"name": FILES, "regex": ("one", "t.*$", "nosuch", "k", "*")},
            "may": {"char": (";",), **BACKUP},
        },
        "file.copy": {
            "always": {"name": PATHS, "source": [*PATHS, "/mnt/srv/tree"]},
            "may": {
                "force": YES, "preserve": YES, "mode": MODES, "dir_mode": ("0750",),
                "subdir": YES, **OWNED, **MAKE,
            },
        },
        "file.rename": {
            "always": {"name": PATHS, "source": PATHS}, "may": {"force": YES, **MAKE}
        },
        "file.touch": {
            "repeats": True,
            "always": {"name": PATHS},
            "may": {"atime": (1000000000, "x"), "mtime": (1000000000, 1100000000.5), **MAKE},
        },
        "file.recurse": {
            "always": {
                "name": [*TREES, f"{T}/fresh"],
                "source": ("salt://tree", "salt://tree", "salt://tree/sub", "salt://nosuch"),
            },
            "may": {
                "clean": YES, "dir_mode": ("0755", "700"), "file_mode": ("0644", "600", "keep"),
                "sym_mode": ("0777",), "replace": (False,), "include_empty": YES,
                "include_pat": ("*.txt", "E@^sub"), "exclude_pat": ("*.txt", "E@deep"),
                "maxdepth": (0, 1), "keep_symlinks": YES, "force_symlinks": YES,
                **OWNED, **BACKUP, **RENDER,
            },
        },
        "file.serialize": {
            "always": {"name": FILES},
            "may": {
                "dataset": DATA, "dataset_pillar": ("data", "nosuch"), "create": (False,),
                "serializer": ("json", "yaml", "nosuch"), "mode": MODES, "merge_if_exists": YES,
                "serializer_opts": ([{"indent": 2}],), **OWNED, **MAKE, **REPORT, **BACKUP,
            },
        },
        "file.keyvalue": {
            "always": {"name": FILES},
            "may": {
                "key": ("k", "other", "fresh"), "value": ("v", "w", 1),
                "key_values": table(["k", "other", "fresh"], ("v", "w", "1")),
                "separator": (" = ", "="), "append_if_not_found": YES,
                "prepend_if_not_found": YES, "search_only": YES, "ignore_if_missing": YES,
                "count": (1, 2, -1), "uncomment": ("#",), "key_ignore_case": YES,
                "value_ignore_case": YES, **REPORT,
            },
        },
        "file.accumulated": {
            "always": {"name": ("acc",), "filename": FILES, "text": LINES},
            "may": {"require_in": ([{"file": FILES[0]}],)},
        },
        "file.patch": {
            "always": {"name": [*FILES, f"{T}/d"]},
            "may": {
                "source": ("salt://a.patch", "salt://a.patch", "salt://nosuch", "salt://plain"),
                "strip": (0, 1), "options": ("-N",), "reject_file": (f"{T}/rejected",),
            },
        },
        "file.pruned": {
            "always": {"name": [*TREES, f"{T}/e"]},
            "may": {"recurse": YES, "ignore_errors": YES, "older_than": (0, 1)},
        },
        "file.tidied": {
            "always": {"name": TREES},
            "may": {
                "age": (0, 1), "matches": (["x"], [".*"]), "rmdirs": YES, "size": (0, 1, "1k"),
                "exclude": (["y"],), "full_path_match": YES, "followlinks": YES,
                "time_comparison": ("mtime", "ctime"), "age_size_logical_operator": ("AND",),
                "age_size_only": ("age", "size"), "rmlinks": (False,),
            },
        },
        "file.retention_schedule": {
            "always": {
                "name": (f"{T}/backups", f"{T}/d", f"{T}/none"),
                "retain": (
                    {"most_recent": 1}, {"first_of_day": 1}, {"most_recent": 0}, {"most_recent": 9},
                ),
            },
            "may": {"strptime_format": ("b-%Y%m%d", "x%Y"), "timezone": ("UTC",)},
        },
        "file.cached": {
            "always": {"name": [*SOURCES, f"{T}/a"]},
            "may": {"skip_verify": YES, "source_hash": ("sha1=" + "0" * 40,)},
        },
        "file.not_cached": {"always": {"name": [*SOURCES, f"{T}/a"]}},
        "file.decode": {
            "always": {"name": FILES},
            "may": {
                "encoded_data": ("b25lCg==", "b25l\n", "%%", "6f6e650a"),
                "contents_pillar": ("coded", "nosuch"), "encoding_type": ("base64", "hex"),
                "checksum": ("sha256",),
            },
        },
        "file.shortcut": {"always": {"name": FILES, "target": FILES}},
        "file.mod_watch": {
            "always": {"name": FILES, "sfun": ("managed", "touch", "nosuch")},
        },
        "archive.extracted": {
            "always": {
                "name": (f"{T}/d", f"{T}/out", f"{T}/d/s", f"{T}/a"),
                "source": ("salt://a.tar.gz", "salt://a.zip", "salt://flat.tgz", "salt://nosuch"),
            },
            "may": {
                "skip_verify": YES, "options": ("--strip-components=1",), "force": YES,
                "overwrite": YES, "clean": YES, "if_missing": (f"{T}/a", f"{T}/none"),
                "trim_output": (True, 1), "enforce_toplevel": (False,), "archive_format": ("tar",),
                **OWNED,
            },
        },
    }.items()
}  # fmt: skip

# --- accounts -------------------------------------------------------------------------------------

USERS = ("ua", "ub", "daemon", "nobody")
GROUPS = ("ga", "gb", "ua", "games")
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
OTHER_KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIBmUWvq+AceYhhnjPTDqLkXQCo0UTv014bYzIQu4IXjL"
AUTH: dict[str, Pool] = {
    "enc": ("ssh-ed25519",),
    "comment": ("me", "you"),
    "options": (["no-pty"], ['command="x"', "no-pty"]),
    "source": ("salt://keys", "salt://nosuch"),
    "config": ("/mnt/t/ak", ".ssh/authorized_keys", "%h/.ssh/other"),
}


def _known_key() -> str:
    """A private key that everybody knows, the same in each run."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return (
        ec.derive_private_key(4711, ec.SECP256R1())
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        .decode()
    )


KNOWN_KEY = _known_key()
KEYS = (f"{T}/k", f"{T}/k", f"{T}/l", f"{T}/a")
KNOWN: dict[str, Pool] = {"user": ("root", "ua", "nosuch"), "config": ("/mnt/t/kh",)}
KNOWN_NAMES = ("h.example", "g.example", "10.0.0.1")

ACCOUNT_FORMS: dict[str, Form] = {
    name: Form(world="accounts", **parts)
    for name, parts in {
        "user.present": {
            "always": {"name": USERS},
            "may": {
                "uid": (6001, 6002, "6003", 1), "gid": (100, 7001, "games", "nosuch"),
                "usergroup": BOOL, "groups": some(GROUPS), "optional_groups": some([*GROUPS, "no"]),
                "remove_groups": (False,), "home": ("/home/ua", "/home/other"),
                "createhome": (False,), "persist_home": YES, "password": ("$6$x$y", "!", "plain"),
                "hash_password": YES, "enforce_password": (False,), "empty_password": YES,
                "shell": ("/bin/sh", "/bin/bash"), "unique": (False,), "system": YES,
                "fullname": ("A User", "B"), "roomnumber": (5,), "workphone": ("1",),
                "homephone": ("2",), "other": ("o",), "date": (100, "2020-01-01"),
                "mindays": (1,), "maxdays": (99,), "inactdays": (7,), "warndays": (3,),
                "expire": (20000, "2030-01-01"), "allow_uid_change": YES, "allow_gid_change": YES,
                "password_lock": BOOL, "nologinit": YES,
            },
        },
        "user.absent": {"always": {"name": USERS}, "may": {"purge": YES, "force": YES}},
        "group.present": {
            "always": {"name": GROUPS},
            "may": {
                "gid": (7001, 7002, "7003", 60), "system": YES, "addusers": some(USERS),
                "delusers": some(USERS), "members": some(USERS), "non_unique": YES,
            },
        },
        "group.absent": {"always": {"name": GROUPS}},
        "ssh_auth.present": {"always": {"name": KEYS, "user": ("root", "ua", "no")}, "may": AUTH},
        "ssh_auth.absent": {"always": {"name": KEYS, "user": ("root", "ua", "no")}, "may": AUTH},
        "ssh_auth.manage": {
            "always": {"name": ("m",), "user": ("root", "ua", "no"), "ssh_keys": some(KEYS)},
            "may": AUTH,
        },
        "ssh_known_hosts.present": {
            "always": {"name": KNOWN_NAMES, "key": (KEY, OTHER_KEY), "enc": ("ssh-ed25519",)},
            "may": {"port": (222,), "hash_known_hosts": (False,), **KNOWN},
        },
        "ssh_known_hosts.absent": {"always": {"name": KNOWN_NAMES}, "may": KNOWN},
        "cron.present": {
            "always": {"name": ("/bin/a", "/bin/b")},
            "may": {
                "user": ("ua", "daemon", "nosuch"), "minute": (5, "*/2", "random", "INVALID"),
                "hour": (1, "random"), "daymonth": (3,), "month": (4,), "dayweek": (5,),
                "comment": ("why", "a\nb"), "commented": YES, "identifier": ("I", "J", None),
                "special": ("@daily", "@reboot"),
            },
        },
        "cron.absent": {
            "always": {"name": ("/bin/a", "/bin/b")},
            "may": {
                "user": ("ua", "daemon", "nosuch"), "identifier": ("I", "J"), "special": ("@daily",)
            },
        },
        "cron.env_present": {
            "always": {"name": ("PATH", "MAILTO"), "value": ("x", "", 5)},
            "may": {"user": ("daemon", "nosuch")},
        },
        "cron.env_absent": {
            "always": {"name": ("PATH", "MAILTO")}, "may": {"user": ("daemon", "nosuch")}
        },
        "cron.file": {
            "always": {"name": ("salt://tab", "salt://tab2", "salt://nosuch")},
            "may": {
                "user": ("daemon", "nosuch"), "template": ("jinja",), "replace": (False,),
                "context": ({"v": 1},), "defaults": ({"v": 2},), "backup": ("minion",),
            },
        },
    }.items()
}  # fmt: skip

# --- the host -------------------------------------------------------------------------------------

ADDRESSES = ("10.0.0.1", "10.0.0.2", "::1", "127.0.0.1")
HOSTS = ("h1", "h2.example", "localhost")
INI = (f"{T}/a.ini", f"{T}/b.ini", f"{T}/none.ini", f"{T}/a")
OPTION = table(["a", "b", "new"], (1, "two", True, None, ""))


def _ini_sections(rng: random.Random) -> Any:
    drawn = table(["s1", "s2", "DEFAULT_IMPLICIT"], OPTION)(rng)
    return {**drawn, **(OPTION(rng) if rng.random() < OPTIONAL else {})}


def _ini_names(rng: random.Random) -> Any:
    return table(["s1", "s2", "nosuch"], some(["a", "b", "nosuch"]))(rng)


INI_MAY: dict[str, Pool] = {"separator": (":",), "encoding": ("utf-8",)}
MOUNTED = (f"{T}/m1", f"{T}/m2", f"{T}/none")
FSTAB: dict[str, Pool] = {"config": ("/etc/fstab", f"{T}/fstab")}
RULE: dict[str, Pool] = {
    "chain": ("INPUT", "OUTPUT", "mine"), "jump": ("ACCEPT", "DROP"), "proto": ("tcp", "udp")
}  # fmt: skip
RULE_MAY: dict[str, Pool] = {
    "dport": (22, "80"), "source": ("10.0.0.0/8",), "family": ("ipv6",), "comment": ("why",),
    "save": (f"{T}/rules",),
}  # fmt: skip
GRAIN_NAMES = ("ga", "gl", "gd:x", "gd:y:z", "id")
GRAIN_VALUES = ("one", 2, True, ["a", "b"], {"x": 1}, None)

HOST_FORMS: dict[str, Form] = {
    name: Form(world=name.partition(".")[0], **parts)
    for name, parts in {
        "alias.present": {
            "always": {
                "name": ("postmaster", "multi", "new"),
                "target": ("root", "a, b", ["a", "c"], '"|/bin/x"'),
            }
        },
        "alias.absent": {"always": {"name": ("postmaster", "multi", "new")}},
        "debconf.set": {
            "always": {
                "name": ("pkga", "pkgb"),
                "data": table(
                    ["pkga/q", "pkga/r"],
                    (
                        {"type": "string", "value": "one"}, {"type": "string", "value": ""},
                        {"type": "boolean", "value": True}, {"type": "password", "value": "p"},
                        {"type": "multiselect", "value": ["a", "b"]},
                    ),
                ),
            }
        },
        "debconf.set_file": {
            "always": {"name": ("x",), "source": ("salt://answers", "salt://nosuch")},
            "may": {"template": ("jinja",), "context": ({"v": 1},), "defaults": ({"v": 2},)},
        },
        "environ.setenv": {
            "always": {
                "name": ("LAW_A", "LAW_B"),
                "value": ("x", "y", "", False, {"LAW_A": "x", "LAW_C": "z"}, 5),
            },
            "may": {"false_unsets": YES, "update_minion": YES},
        },
        "grains.exists": {"always": {"name": GRAIN_NAMES}, "may": {"delimiter": (",",)}},
        "grains.present": {
            "always": {"name": GRAIN_NAMES, "value": GRAIN_VALUES},
            "may": {"delimiter": (",",), "force": YES},
        },
        "grains.absent": {
            "always": {"name": GRAIN_NAMES},
            "may": {"destructive": YES, "delimiter": (",",), "force": YES},
        },
        "grains.list_present": {
            "always": {"name": GRAIN_NAMES, "value": ("a", "c", ["a", "d"], {"k": 1})},
            "may": {"delimiter": (",",)},
        },
        "grains.list_absent": {
            "always": {"name": GRAIN_NAMES, "value": ("a", "c", ["a", "d"])},
            "may": {"delimiter": (",",)},
        },
        "grains.append": {
            "always": {"name": GRAIN_NAMES, "value": ("a", "c", 5)},
            "may": {"convert": YES, "delimiter": (",",)},
        },
        "host.present": {
            "always": {"name": HOSTS, "ip": [*ADDRESSES, ["10.0.0.1", "::1"], "bad"]},
            "may": {"comment": ("why", ""), "clean": YES},
        },
        "host.absent": {"always": {"name": HOSTS, "ip": [*ADDRESSES, ["10.0.0.1", "::1"]]}},
        "host.only": {
            "always": {"name": ADDRESSES, "hostnames": ("h1", ["h1", "h2.example"], [])}
        },
        "ini.options_present": {
            "always": {"name": INI, "sections": _ini_sections},
            "may": {"strict": YES, "no_spaces": YES, **INI_MAY},
        },
        "ini.options_absent": {"always": {"name": INI, "sections": _ini_names}, "may": INI_MAY},
        "ini.sections_present": {
            "always": {"name": INI, "sections": some(["s1", "s2", "s3"])}, "may": INI_MAY
        },
        "ini.sections_absent": {
            "always": {"name": INI, "sections": some(["s1", "s2", "s3"])}, "may": INI_MAY
        },
        "iptables.append": {"always": {"name": ("r1", "r2"), **RULE}, "may": RULE_MAY},
        "iptables.insert": {
            "always": {"name": ("r1", "r2"), "position": (1, 2), **RULE}, "may": RULE_MAY
        },
        "iptables.delete": {
            "always": {"name": ("r1", "r2"), **RULE}, "may": {"position": (1,), **RULE_MAY}
        },
        "iptables.chain_present": {
            "always": {"name": ("mine", "other")}, "may": {"family": ("ipv6",), "table": ("nat",)}
        },
        "iptables.chain_absent": {
            "always": {"name": ("mine", "other")}, "may": {"family": ("ipv6",), "table": ("nat",)}
        },
        "iptables.set_policy": {
            "always": {"name": ("p",), "chain": ("INPUT", "mine"), "policy": ("ACCEPT", "DROP")},
            "may": {"family": ("ipv6",), "save": (f"{T}/rules",)},
        },
        "iptables.flush": {
            "always": {"name": ("f",)},
            "may": {"chain": ("INPUT", "mine"), "family": ("ipv6",), "save": (f"{T}/rules",)},
        },
        "kmod.present": {
            "always": {"name": ("dummy", "other", "nosuch")},
            "may": {"persist": YES, "mods": some(["dummy", "other"])},
        },
        "kmod.absent": {
            "always": {"name": ("dummy", "other", "nosuch", "busy")},
            "may": {"persist": YES, "comment": (False,), "mods": some(["dummy", "other"])},
        },
        "locale.system": {"always": {"name": ("C.UTF-8", "en_US.UTF-8", "xx_XX")}},
        "locale.present": {"always": {"name": ("C.UTF-8", "en_US.UTF-8", "xx_XX")}},
        "mount.mounted": {
            "always": {"name": MOUNTED, "device": ("none", "tmpfs"), "fstype": ("tmpfs",)},
            "may": {
                "mkmnt": YES, "opts": ("size=1m", ["ro", "size=1m"], "noexec"), "dump": (1,),
                "pass_num": (2,), "persist": (False,), "mount": (False,),
                "match_on": (["name"], "device"), **FSTAB,
            },
        },
        "mount.unmounted": {
            "always": {"name": MOUNTED},
            "may": {"device": ("tmpfs",), "persist": YES, **FSTAB},
        },
        "mount.swap": {
            "always": {"name": (f"{T}/sw1", f"{T}/sw2", f"{T}/none")},
            "may": {"persist": (False,), **FSTAB},
        },
        "mount.fstab_present": {
            "always": {
                "name": ("none", "LABEL=x"), "fs_file": MOUNTED, "fs_vfstype": ("tmpfs", "ext4")
            },
            "may": {
                "fs_mntops": ("ro", ["ro", "noexec"]), "fs_freq": (1,), "fs_passno": (2,),
                "match_on": ("name",), "not_change": YES, "fs_mount": (False,), "mount": (False,),
                **FSTAB,
            },
        },
        "mount.fstab_absent": {
            "always": {"name": ("none", "LABEL=x"), "fs_file": MOUNTED}, "may": FSTAB
        },
        "mount.mod_watch": {"always": {"name": MOUNTED, "sfun": ("mounted", "swap")}},
        "schedule.present": {
            "always": {"name": ("j1", "j2"), "function": ("test.ping", "state.apply")},
            "may": {
                "seconds": (30, 3600), "job_args": (["x"],), "job_kwargs": ({"test": True},),
                "enabled": BOOL, "maxrunning": (1,), "splay": (5,),
            },
        },
        "schedule.absent": {"always": {"name": ("j1", "j2")}},
        "schedule.enabled": {"always": {"name": ("j1", "j2")}},
        "schedule.disabled": {"always": {"name": ("j1", "j2")}},
        "sysctl.present": {
            "always": {"name": ("net.a", "net.b"), "value": (1, "2", "3 4", "wrong")},
            "may": {"config": (f"{T}/sysctl.conf",)},
        },
        "timezone.system": {
            "always": {"name": ("UTC", "Europe/Berlin", "No/Where")}, "may": {"utc": (False,)}
        },
    }.items()
}  # fmt: skip

# --- packages of languages ------------------------------------------------------------------------

VENV = "/mnt/venv"
REQUIREMENTS = ("a", "a==1.0", "A", "b>=1.0", "b<2", "c", "nosuch", "c==9999", "a=1")
UPSTREAM = "/mnt/up.git"
CLONE = (f"{T}/clone", f"{T}/clone2", f"{T}/d")
REPOS: dict[str, Pool] = {"repo": (f"{T}/clone", "/mnt/up.git", f"{T}/none"), "global": YES}

LANGUAGE_FORMS: dict[str, Form] = {
    name: Form(world=name.partition(".")[0], **parts)
    for name, parts in {
        "gem.installed": {
            "always": {"name": ("a", "b", "nosuch")},
            "may": {"version": ("1.5.0", ">= 2", "~> 4.0"), "rdoc": YES, "pre_releases": YES},
        },
        "gem.removed": {"always": {"name": ("a", "b", "nosuch")}},
        "gem.sources_add": {"always": {"name": ("https://rubygems.org/", "http://x/", "nosuch")}},
        "gem.sources_remove": {"always": {"name": ("https://rubygems.org/", "http://x/")}},
        "npm.installed": {
            "always": {"name": ("a", "a@1.0.0", "b", "nosuch")},
            "may": {
                "pkgs": (["a", "b@3.1.0"], ["@s/c@1.2.3"]), "dir": (f"{T}/d",),
                "force_reinstall": YES, "registry": ("http://r/",), "env": ([{"K": "v"}],),
            },
        },
        "npm.removed": {"always": {"name": ("a", "b", "nosuch")}, "may": {"dir": (f"{T}/d",)}},
        "npm.bootstrap": {"always": {"name": (f"{T}/node", f"{T}/d")}, "may": {"silent": (False,)}},
        "npm.cache_cleaned": {"may": {"name": ("a",), "force": YES}},
        "pip.installed": {
            "always": {"name": REQUIREMENTS, "bin_env": (VENV,)},
            "may": {
                "pkgs": (["a", "b==1.0"], ["c"], [{"a": "1.5"}]), "upgrade": YES,
                "force_reinstall": YES, "ignore_installed": YES, "no_deps": YES,
                "requirements": ("/mnt/srv/req.txt", "/mnt/none.txt"),
                "editable": ("git+http://x/e#egg=e",), "pre_releases": YES,
                "index_url": ("http://i",),
            },
        },
        "pip.removed": {
            "always": {"name": ("a", "B", "nosuch"), "bin_env": (VENV,)},
            "may": {"requirements": ("/mnt/srv/req.txt",)},
        },
        "pip.uptodate": {"always": {"name": ("x",), "bin_env": (VENV,)}},
        **{
            f"virtualenv.{function}": {
                "always": {"name": (f"{T}/env", VENV), "venv_bin": ("fakevirtualenv",)},
                "may": {
                    "requirements": ("/mnt/srv/req.txt",), "clear": YES, "pip_upgrade": YES,
                    "pip_pkgs": (["a", "b==1.0"], ["nosuch"]), "system_site_packages": YES,
                },
            }
            for function in ("managed", "manage")
        },
        "git.latest": {
            "always": {"name": (UPSTREAM, UPSTREAM, "/mnt/none.git"), "target": CLONE},
            "may": {
                "rev": ("master", "develop", "v1", "nosuch"), "branch": ("b1", "master"),
                "update_head": (False,), "force_checkout": YES, "force_clone": YES,
                "force_fetch": YES, "force_reset": (True, "remote-changes"), "bare": YES,
                "mirror": YES, "remote": ("upstream",), "fetch_tags": (False,),
                "sync_tags": (False,), "submodules": YES,
            },
        },
        "git.cloned": {
            "always": {"name": (UPSTREAM, "/mnt/none.git"), "target": CLONE},
            "may": {"branch": ("master", "develop", "nosuch")},
        },
        "git.detached": {
            "always": {"name": (UPSTREAM,), "target": CLONE, "rev": ("v1", "develop", "nosuch")},
            "may": {"force_checkout": YES, "force_clone": YES, "hard_reset": YES},
        },
        "git.present": {
            "always": {"name": [*CLONE, f"{T}/fresh"]},
            "may": {"bare": (False,), "force": YES, "shared": ("group",)},
        },
        "git.config_set": {
            "always": {"name": ("law.a", "law.b", "bad")},
            "may": {"value": ("x", 5), "multivar": (["x", "y"],), **REPOS},
        },
        "git.config_unset": {
            "always": {"name": ("law.a", "law.b", "law.*")},
            "may": {"value_regex": ("x",), "all": YES, **REPOS},
        },
    }.items()
}  # fmt: skip

# --- servers --------------------------------------------------------------------------------------

KEYS = (f"{T}/k", f"{T}/k", f"{T}/l", f"{T}/a")
DOCUMENTS = (f"{T}/c", f"{T}/e")
PROCESSES = ("ok", "off", "dies", "g:", "g:*", "g:1", "new", "nosuch")
SUPERVISOR: dict[str, Pool] = {"conf_file": ("/etc/s.conf",), "user": ("nosuch",)}

SERVER_FORMS: dict[str, Form] = {
    name: Form(world=name.partition("_")[0].partition(".")[0], **parts)
    for name, parts in {
        **{
            f"apache_{kind}.{function}": {"always": {"name": (*names, "nosuch", "stuck")}}
            for kind, names in {
                "conf": ("c", "c.conf"),
                "module": ("cgi", "m"),
                "site": ("s", "default", "s.conf"),
            }.items()
            for function in ("enabled", "disabled")
        },
        "x509.private_key_managed": {
            "repeats": True,
            "always": {"name": KEYS, "algo": ("ec", "ed25519", "bogus")},
            "may": {
                "keysize": (384, 1000), "passphrase": ("hunter2",), "overwrite": YES, "new": YES,
                "mode": ("0440",), "backup": YES, "user": OWNERS,
            },
        },
        "x509.certificate_managed": {
            "always": {"name": DOCUMENTS, "signing_private_key": (KNOWN_KEY,), "CN": ("x", "y")},
            "may": {
                "signing_cert": DOCUMENTS, "private_key": (KNOWN_KEY, f"{T}/k"), "csr": (f"{T}/r",),
                "basicConstraints": ("critical CA:true", "bogus"), "digest": ("sha512",),
                "subjectAltName": ("DNS:a, IP:1.2.3.4",), "days_valid": (10, 400),
                "days_remaining": (5, 30), "append_certs": some(DOCUMENTS),
                "copypath": (f"{T}/d",), "mode": ("0640",),
            },
        },
        "x509.csr_managed": {
            "always": {
                "name": (f"{T}/r", f"{T}/a"),
                "private_key": (KNOWN_KEY, f"{T}/k"), "CN": ("x", "y"),
            },
            "may": {"keyUsage": ("digitalSignature",), "makedirs": YES},
        },
        "x509.crl_managed": {
            "always": {
                "name": (f"{T}/c.crl", f"{T}/a"), "signing_private_key": (KNOWN_KEY, f"{T}/k"),
                "revoked": ([], [{"serial_number": "AB:CD"}], [{"certificate": f"{T}/p"}], "bogus"),
            },
            "may": {
                "signing_cert": DOCUMENTS, "days_valid": (10, 400), "days_remaining": (0, 5, 30),
                "include_expired": YES, "digest": ("sha512",), "encoding": ("der", "bogus"),
                "mode": ("0640",), "makedirs": YES,
            },
        },
        "x509.pem_managed": {
            "always": {"name": (f"{T}/p", f"{T}/a"), "text": (KNOWN_KEY, *DOCUMENTS, "nosuch")},
            "may": {"mode": ("0640",)},
        },
        "supervisord.running": {
            "repeats": True,
            "always": {"name": PROCESSES},
            "may": {"restart": YES, "update": YES, **SUPERVISOR},
        },
        "supervisord.dead": {"always": {"name": PROCESSES}, "may": SUPERVISOR},
        "supervisord.mod_watch": {
            "always": {"name": PROCESSES},
            "may": {"restart": (False,), "sfun": ("running", "dead")},
        },
    }.items()
}  # fmt: skip

# --- the machine's packages and services ----------------------------------------------------------

PACKAGES = ("foo", "old", "held", "new", "other", "nosuch", "left")
SEVERAL: dict[str, Pool] = {
    "pkgs": some(["foo", "old", "new", {"other": "0.5-1"}, {"new": ">=1.9"}, {"old": "1.1"}])
}
UNITS = ("web", "idle", "on", "brk", "msk", "nope", "offen")
REPO = ("deb http://h.example/d sid main", "deb http://g.example/d sid main contrib", "bad")
REPO_FILE: dict[str, Pool] = {"file": ("/etc/apt/sources.list.d/law.list", "/etc/apt/l2.list")}

SPECS = (f"{T}/d(/.*)?", f"{T}/d/x")
SEPORTS = ("tcp/8081", "tcp/80", "udp/9000-9010")

MACHINE_FORMS: dict[str, Form] = {
    **{
        name: Form(world="machine", **parts)
        for name, parts in {
            "pkg.installed": {
                "always": {"name": PACKAGES},
                "may": {
                    "version": ("1.0", "1.9", "2.0", ">=1.0", "latest", "9"), "refresh": BOOL,
                    "hold": BOOL, "allow_updates": YES, "reinstall": YES, "update_holds": YES,
                    "sources": ([{"src": "/x/src_1.5.deb"}],), **SEVERAL,
                },
            },
            "pkg.latest": {"always": {"name": PACKAGES}, "may": {"refresh": BOOL, **SEVERAL}},
            "pkg.removed": {
                "always": {"name": PACKAGES}, "may": {"version": ("1.0",), **SEVERAL}
            },
            "pkg.purged": {"always": {"name": PACKAGES}, "may": {"version": ("1.0",), **SEVERAL}},
            "pkg.uptodate": {
                "always": {"name": ("x",)}, "may": {"refresh": BOOL, "pkgs": some(["foo", "old"])}
            },
            "pkg.held": {
                "always": {"name": PACKAGES}, "may": {"pkgs": some(PACKAGES), "replace": YES}
            },
            "pkg.unheld": {
                "always": {"name": PACKAGES}, "may": {"pkgs": some(PACKAGES), "all": YES}
            },
            "pkg.downloaded": {
                "always": {"name": PACKAGES},
                "may": {"version": ("1.0",), "pkgs": some(["foo", "new"])},
            },
            "pkg.mod_watch": {
                "always": {"name": PACKAGES, "sfun": ("installed", "removed", "nosuch")}
            },
            "service.running": {
                "always": {"name": UNITS}, "may": {"enable": BOOL, "unmask": YES}
            },
            "service.dead": {"always": {"name": UNITS}, "may": {"enable": BOOL}},
            "service.enabled": {"always": {"name": UNITS}},
            "service.disabled": {"always": {"name": UNITS}},
            "service.masked": {"always": {"name": UNITS}, "may": {"runtime": YES}},
            "service.unmasked": {"always": {"name": UNITS}, "may": {"runtime": YES}},
            "service.mod_watch": {
                "always": {"name": UNITS, "sfun": ("running", "dead", "enabled")},
                "may": {"reload": YES, "full_restart": YES, "force": YES},
            },
            "alternatives.install": {
                "always": {
                    "name": ("zed",), "link": ("/opt/zed",), "priority": (10, "20"),
                    "path": ("/opt/p1", "/opt/p2", "/nosuch"),
                }
            },
            "alternatives.remove": {
                "always": {"name": ("zed",), "path": ("/opt/p1", "/opt/p2")}
            },
            "alternatives.set": {"always": {"name": ("zed",), "path": ("/opt/p1", "/opt/p2")}},
            "alternatives.auto": {"always": {"name": ("zed",)}},
        }.items()
    },
    "blockdev.formatted": Form(
        world="blockdev",
        always={"name": (f"{T}/a", f"{T}/b", f"{T}/none"), "fs_type": ("ext4", "xfs", "nosuch")},
        may={"force": YES, "inode_size": (256,), "lazy_itable_init": (1,), "fat": (32,)},
    ),
    "blockdev.tuned": Form(
        world="blockdev",
        always={"name": ("/mnt/blk", "/mnt/blk", f"{T}/a")},
        may={"read-ahead": (256, 1024), "filesystem-read-ahead": (512,), "read-only": YES,
             "read-write": BOOL},
    ),
    "firewalld.present": Form(
        world="firewalld",
        always={"name": ("public", "work", "inner")},
        may={
            "block_icmp": (["echo-reply"], ["echo-reply", "redirect"]),
            "default": YES, "masquerade": BOOL,
            "ports": (["80/tcp"], ["80/tcp", "53/udp"], ["80"]),
            "port_fwd": (["22:222:tcp"], ["80:8080:tcp:10.0.0.5"]),
            "services": (["http"], ["ssh", "dns"], ["nosuch"]),
            "interfaces": (["eth0"], ["eth0", "eth1"]),
            "sources": (["10.0.0.0/8"],),
            "rich_rules": (["rule service name=\"dns\" drop"],),
            "prune_block_icmp": YES, "prune_ports": YES, "prune_port_fwd": YES,
            "prune_services": YES, "prune_interfaces": YES, "prune_sources": YES,
            "prune_rich_rules": YES,
        },
    ),
    "firewalld.service": Form(
        world="firewalld",
        always={"name": ("http", "zabbix")},
        may={"ports": (["10050/tcp"], ["80/tcp", "443/tcp"]), "protocols": (["gre"],)},
    ),
    **{
        f"lvm.{name}": Form(world="lvm", **parts)
        for name, parts in {
            "pv_present": {"always": {"name": (f"{T}/a", f"{T}/b", f"{T}/none")}},
            "pv_absent": {"always": {"name": (f"{T}/a", f"{T}/b", f"{T}/none")}},
            "vg_present": {
                "always": {"name": ("vg0", "vg1"), "devices": ([f"{T}/a"], f"{T}/a,{T}/b")},
                "may": {"physicalextentsize": ("4M",)},
            },
            "vg_absent": {"always": {"name": ("vg0", "vg1")}},
            "lv_present": {
                "always": {"name": ("lv0", "lv1"), "vgname": ("vg0", "vg0", "nosuch")},
                "may": {
                    "size": ("10M", "100m", "0.5G", "9t", "big"), "extents": (5, "100%FREE"),
                    "force": YES, "resizefs": YES, "thinpool": YES, "snapshot": ("lv1",),
                },
            },
            "lv_absent": {"always": {"name": ("lv0", "lv1"), "vgname": ("vg0", "nosuch")}},
        }.items()
    },
    **{
        f"selinux.{name}": Form(world="selinux", **parts)
        for name, parts in {
            "mode": {"always": {"name": ("Enforcing", "permissive", "Disabled", "nosuch")}},
            "boolean": {
                "always": {"name": ("httpd_enable_cgi", "nosuch"), "value": (True, "off", "on")},
                "may": {"persist": YES},
            },
            "module": {
                "always": {"name": ("abrt", "a", "nosuch")},
                "may": {
                    "module_state": ("Enabled", "Disabled"), "version": ("1.2",), "remove": YES,
                    "install": YES, "source": (f"{T}/a",),
                },
            },
            "module_install": {"always": {"name": (f"{T}/a", f"{T}/b", f"{T}/none")}},
            "module_remove": {"always": {"name": ("abrt", "a", "nosuch")}},
            "fcontext_policy_present": {
                "always": {"name": SPECS, "sel_type": ("httpd_sys_content_t", "var_t", "nosuch_t")},
                "may": {"filetype": ("a", "d"), "sel_user": ("staff_u",), "sel_level": ("s1",)},
            },
            "fcontext_policy_absent": {
                "always": {"name": SPECS},
                "may": {"filetype": ("a", "d"), "sel_type": ("var_t",), "sel_user": ("staff_u",)},
            },
            "fcontext_policy_applied": {
                "always": {"name": (*SPECS, f"{T}/none")}, "may": {"recursive": YES},
            },
            "port_policy_present": {
                "always": {"name": SEPORTS, "sel_type": ("http_port_t", "ssh_port_t", "nosuch_t")},
                "may": {"sel_range": ("s0",)},
            },
            "port_policy_absent": {
                "always": {"name": SEPORTS}, "may": {"sel_type": ("http_port_t",)},
            },
        }.items()
    },
    **{
        f"network.{name}": Form(world="network", **parts)
        for name, parts in {
            "managed": {
                "always": {
                    "name": ("e0", "e1", "e0.5"), "proto": ("static", "dhcp", "manual", "nosuch"),
                },
                "may": {
                    "type": ("eth", "vlan", "slave", "bridge", "bond"), "enabled": BOOL,
                    "noifupdown": YES, "ipaddr": ("10.0.0.2/24", "nosuch"), "netmask": (24,),
                    "addresses": (["10.0.0.3/24"],), "gateway": ("10.0.0.1",), "mtu": (1400, "x"),
                    "dns": (["8.8.8.8"],), "hotplug": YES, "up_cmds": (["a", "b c"], "d"),
                    "ports": ("e1",), "slaves": (["e1"],), "mode": (0, "802.3ad"),
                    "master": ("b0",), "ipv6proto": ("auto", "static"), "ipv6ipaddr": ("fd00::1",),
                    "wpa-psk": ("one", "two"), "hwaddr": ("00:11:22:33:44:55",),
                },
            },
            "routes": {
                "always": {
                    "name": ("e0", "e1"),
                    "routes": (
                        [], [{"ipaddr": "10.9.0.0/16", "gateway": "10.0.0.1", "name": "r"}],
                        [{"ipaddr": "10.8.0.0", "netmask": "255.255.0.0", "metric": 3}], ["x"],
                    ),
                },
                "may": {"require_reboot": YES},
            },
            "system": {
                "always": {"name": ("system",)},
                "may": {
                    "enabled": (*BOOL, "yes", "nosuch"), "search": ("a.org b.org", ["a.org"]),
                    "hostname": ("one.dom.org", "two", "a b"), "apply_hostname": YES,
                    "require_reboot": YES,
                },
            },
        }.items()
    },
    "pkgrepo.managed": Form(
        world="pkgrepo",
        always={"name": REPO, **REPO_FILE},
        may={
            "disabled": BOOL, "comments": (["why"],), "clean_file": YES, "refresh": (False,),
            "humanname": ("x",), "dist": ("sid",), "comps": ("main",),
        },
    ),
    "pkgrepo.absent": Form(world="pkgrepo", always={"name": REPO}),
}  # fmt: skip

# --- what is done each time -----------------------------------------------------------------------

COMMANDS = (f"touch {T}/ran", "echo changed=yes comment=c", "echo changed=no", "exit 3", "true")
CMD_MAY: dict[str, Pool] = {
    "cwd": (T, "/nowhere"), "env": ([{"A": "b"}], {"A": "b"}, 5), "umask": ("077",),
    "runas": ("daemon",), "stateful": (True, [{"test_name": "echo changed=yes"}]),
    "success_retcodes": ([3],), "timeout": (20,), "hide_output": YES,
}  # fmt: skip
SCRIPT_MAY: dict[str, Pool] = {
    **{name: CMD_MAY[name] for name in ("cwd", "env", "stateful")},
    "template": ("jinja",), "context": ({"v": 1}, "bad"), "args": ("x",),
}  # fmt: skip
PRETEND: dict[str, Pool] = {"comment": ("said",)}


def _touch() -> dict[str, Any]:
    with open(f"{T}/called", "w"):
        pass
    return {"changes": {"called": True}, "result": True, "comment": "c"}


ACTION_FORMS: dict[str, Form] = {
    name: Form(world="actions", repeats=True, **parts)
    for name, parts in {
        "cmd.run": {
            "always": {"name": COMMANDS},
            "may": {**CMD_MAY, "root": ("/nowhere",), "bg": YES, "shell": ("/bin/bash",)},
        },
        "cmd.script": {
            "always": {"name": ("salt://script", "salt://script a b", "salt://nosuch")},
            "may": SCRIPT_MAY,
        },
        "cmd.wait": {"always": {"name": COMMANDS}, "may": CMD_MAY},
        "cmd.watch": {"always": {"name": COMMANDS}, "may": CMD_MAY},
        "cmd.wait_script": {"always": {"name": ("salt://script",)}, "may": SCRIPT_MAY},
        "cmd.call": {"always": {"name": ("c",), "func": (_touch,)}},
        "cmd.wait_call": {"always": {"name": ("c",), "func": (_touch,)}},
        "cmd.mod_watch": {"always": {"name": COMMANDS, "sfun": ("run", "wait", "nosuch")}},
        "event.send": {
            "always": {"name": ("law/tag",)},
            "may": {
                "data": ({"a": 1},), "preload": ({"b": 2},), "with_grains": YES,
                "with_pillar": YES, "with_env": YES, "show_changes": (False,),
            },
        },
        "event.fire_master": {
            "always": {"name": ("law/tag",)},
            "may": {"data": ({"a": 1},), "preload": ({"b": 2},), "show_changed": (False,)},
        },
        "event.wait": {"always": {"name": ("law/tag",)}, "may": {"data": ({"a": 1},)}},
        "event.mod_watch": {"always": {"name": ("law/tag",), "sfun": ("wait", "send")}},
        "http.query": {
            "always": {"name": ("http://127.0.0.1:9/", "bad://x")},
            "may": {"match": ("x",), "status": (200, "2.."), "match_type": ("pcre", "nosuch"),
                    "status_type": ("pcre", "list")},
        },
        "http.wait_for_successful_query": {
            "always": {"name": ("http://127.0.0.1:9/",), "status": (200,), "wait_for": (0.02,)},
            "may": {"request_interval": (0.01,)},
        },
        "module.run": {
            "always": {"name": ("test.ping", "file.touch", "no.such")},
            "may": {
                "file.touch": ([{"name": f"{T}/module"}], [f"{T}/m2"]), "test.echo": (["x"],),
                "m_name": (f"{T}/one",), "args": ([f"{T}/two"], "bad"),
            },
        },
        "module.watch": {"always": {"name": ("file.touch",)}, "may": {"m_name": (f"{T}/one",)}},
        "module.wait": {"always": {"name": ("file.touch",)}, "may": {"m_name": (f"{T}/one",)}},
        "module.mod_watch": {
            "always": {"name": ("file.touch",), "sfun": ("wait",), "m_name": (f"{T}/one",)}
        },
        **{
            f"test.{function}": {"always": {"name": ("t",)}, "may": PRETEND}
            for function in (
                "nop", "succeed_without_changes", "succeed_with_changes", "fail_without_changes",
                "fail_with_changes",
            )
        },
        "test.configurable_test_state": {
            "always": {"name": ("t",)},
            "may": {
                "changes": (True, False, "bad"), "result": BOOL, "warnings": ("w", ["w"]),
                "allow_test_mode_failure": YES, **PRETEND,
            },
        },
        "test.check_pillar": {
            "always": {"name": ("t",)},
            "may": {
                "present": ("motd", ["motd", "nosuch"]), "boolean": ("motd",), "integer": ("motd",),
                "string": ("motd",), "listing": ("lines",), "dictionary": ("a",),
            },
        },
        "stateconf.set": {"always": {"name": ("t",)}, "may": {"n": (1, "v")}},
        "stateconf.context": {"always": {"name": ("t",)}, "may": {"n": (1, "v")}},
        "test.show_notification": {"always": {"name": ("t",)}, "may": {"text": ("said",)}},
        "test.mod_watch": {"always": {"name": ("t",), "sfun": ("nop",)}},
    }.items()
}  # fmt: skip

FORMS: Mapping[str, Form] = {
    **FILE_FORMS,
    **ACCOUNT_FORMS,
    **HOST_FORMS,
    **LANGUAGE_FORMS,
    **SERVER_FORMS,
    **MACHINE_FORMS,
    **ACTION_FORMS,
}

_DATABASE = "needs a server of its own: tests/behaviour/test_database_states.py has the law"
_ACCESS_LISTS = "the law's look does not see access lists: tests/unit/states/test_acl.py"
_COPIES = "a test run hears from rsync itself what comes: tests/unit/states/test_rsync.py"
_KEYRING = "its agent and clock write into the keyring at each look: tests/unit/modules/test_gpg.py"
_BROKER = "needs a broker: tests/unit/modules/test_rabbitmq.py has the law on one that keeps state"
_ENGINE = "needs an engine: tests/behaviour/test_docker_states.py has the law on one of ours"
_ORCHESTRATION = "acts on other machines: tests/unit/states/test_salt.py has runs"

_MINION = "needs a minion that runs: tests/unit/states/test_beacon.py has one that answers"

EXEMPT: Mapping[str, str] = {
    "acl": _ACCESS_LISTS,
    "beacon": _MINION,
    "docker_container": _ENGINE,
    "docker_image": _ENGINE,
    "docker_network": _ENGINE,
    "docker_volume": _ENGINE,
    "gpg": _KEYRING,
    "mysql_database": _DATABASE,
    "mysql_grants": _DATABASE,
    "mysql_user": _DATABASE,
    "postgres_database": _DATABASE,
    "postgres_extension": _DATABASE,
    "postgres_group": _DATABASE,
    "postgres_privileges": _DATABASE,
    "postgres_schema": _DATABASE,
    "postgres_user": _DATABASE,
    "rabbitmq_cluster": _BROKER,
    "rabbitmq_plugin": _BROKER,
    "rabbitmq_policy": _BROKER,
    "rabbitmq_upstream": _BROKER,
    "rabbitmq_user": _BROKER,
    "rabbitmq_vhost": _BROKER,
    "rsync": _COPIES,
    "salt": _ORCHESTRATION,
    "pkg.mod_aggregate": "no declaration: it joins those of one run",
}
"""State modules and functions that are not drawn, and why."""
