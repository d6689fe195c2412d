"""One honest load of every command, to be spoilt field by field.

Source: docs/wire.md#commands-of-a-minion, #clear-commands.
"""

from __future__ import annotations

import math
from typing import Any, Final

JID: Final = "20240101000000000000"

ENCRYPTED: Final[dict[str, dict[str, Any]]] = {
    "_pillar": {
        "grains": {"os": "Debian"}, "saltenv": None, "pillarenv": None, "pillar_override": {},
        "extra_minion_data": {}, "ver": "2", "ext": {}, "clean_cache": True,
    },
    "_return": {
        "jid": JID, "fun": "test.ping", "fun_args": [], "return": True, "retcode": 0,
        "success": True, "out": "nested", "user": "root", "metadata": {}, "master_id": "m",
    },
    "_minion_event": {"tag": "myco/x", "data": {"a": 1}, "pretag": None},
    "_mine": {"data": {"network.ip_addrs": ["10.0.0.1"]}, "clear": False},
    "_mine_get": {"tgt": "*", "tgt_type": "glob", "fun": "network.ip_addrs"},
    "_mine_delete": {"fun": "network.ip_addrs"},
    "_mine_flush": {},
    "_file_hash": {"path": "open.txt", "saltenv": "base"},
    "_file_hash_and_stat": {"path": "open.txt", "saltenv": "base"},
    "_file_find": {"path": "open.txt", "saltenv": "base"},
    "_serve_file": {"path": "open.txt", "saltenv": "base", "loc": 0, "gzip": 1},
    "_file_bundle": {"saltenv": "base", "paths": ["open.txt"], "hashes": [""]},
    "_file_list": {"saltenv": "base", "prefix": "", "fsbackend": None},
    "_file_list_emptydirs": {"saltenv": "base", "prefix": ""},
    "_dir_list": {"saltenv": "base", "prefix": ""},
    "_symlink_list": {"saltenv": "base", "prefix": ""},
    "_file_envs": {},
    "_master_opts": {"env_only": True},
    "_master_tops": {"opts": {"id": "a", "grains": {}}},
    "_ext_nodes": {"opts": {}},
    "_file_recv": {"path": ["x"], "loc": 0, "data": b"\xff", "size": 1},
    "_syndic_return": {"jid": JID, "fun": "test.ping", "return": {"b": {"return": 1}}, "load": {}},
    "_register_resources": {"resources": {}, "resource_grains": {}},
    "minion_pub": {
        "fun": "test.ping", "arg": [], "tgt": "*", "tgt_type": "glob", "ret": "", "tmo": 1,
        "form": "clean", "no_parse": [],
    },
    "minion_publish": {"fun": "test.ping", "arg": [], "tgt": "*", "tgt_type": "glob", "tmo": 1},
    "minion_runner": {"fun": "manage.up", "arg": [], "tmo": 1, "no_parse": []},
    "pub_ret": {"jid": JID},
    "verify_minion": {"token": "x"},
}  # fmt: skip
"""``revoke_auth`` is left out: it is honest and ends the minion."""

CLEAR: Final[dict[str, dict[str, Any]]] = {
    "_auth": {
        "id": "newcomer", "nonce": 32 * "0", "pub": "no key", "token": b"\xff" * 256,
        "enc_algo": "OAEP-SHA1", "sig_algo": "PKCS1v15-SHA1", "autosign_grains": {"a": "b"},
    },
    "ping": {"x": 1},
    "publish": {
        "tgt": "*", "fun": "test.ping", "arg": [], "tgt_type": "glob", "ret": "", "jid": "",
        "user": "root", "key": 76 * "A", "kwargs": {"delimiter": ":"}, "to": 5,
    },
    "runner": {"fun": "manage.up", "kwarg": {}, "user": "root", "key": 76 * "A"},
    "wheel": {"fun": "key.list_all", "kwarg": {}, "user": "root", "key": 76 * "A"},
    "mk_token": {"eauth": "pam", "username": "root", "password": "x", "token_expire": 5},
    "get_token": {"token": "x"},
    "del_token": {"token": "x"},
    "authorize": {"user": "root", "key": "x", "loads": []},
}  # fmt: skip


def nested(depth: int) -> list[Any]:
    """A list in a list in a list."""
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


BROKEN: Final[dict[str, Any]] = {
    "null": None, "true": True, "zero": 0, "minus one": -1, "2^63": 2**63, "2^64-1": 2**64 - 1,
    "-2^63": -(2**63), "half": 1.5, "-0.0": -0.0, "NaN": math.nan, "infinity": math.inf,
    "-infinity": -math.inf, "empty": "", "NUL": "a\0b", "BOM": "\ufeffx", "newline": "a\nb",
    "not UTF-8": b"\xff\xfe", "surrogate": b"\xed\xa0\x80", "list": [], "list of null": [None],
    "list in list": [["a"]], "map": {}, "map of null": {"a": None}, "numeric keys": {1: 2},
    "long": "x" * 5_000, "glob": "*", "90 deep": nested(90),
}  # fmt: skip
"""Values that decode, and that no field wants."""
