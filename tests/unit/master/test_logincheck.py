"""The check of a login by the modules that are configured, and what they say that it may."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from repository import DATA

from saltlite.config.master import AccessOptions, MasterConfig, PathOptions
from saltlite.core.access import Call, allows_all
from saltlite.errors import LoginUnchecked
from saltlite.master.commands.login import find_entries
from saltlite.master.logincheck import check_login, is_usable, recheck_login
from saltlite.master.loginproof import LoginProof


def config(tmp_path: Path, **blocks: Any) -> MasterConfig:
    extensions = tmp_path / "ext"
    (extensions / "auth").mkdir(parents=True, exist_ok=True)
    (extensions / "auth" / "bad.py").write_text(
        "def auth(username, password):\n    raise ValueError(password)\n"
    )
    (extensions / "auth" / "odd.py").write_text("def auth(username, password):\n    return 'yes'\n")
    (extensions / "auth" / "house.py").write_text(
        "def auth(username, password):\n    return True\n"
        "def groups(username, **kwargs):\n    return ['b', 'a', 5, 'a']\n"
        "def acl(username, **kwargs):\n"
        "    if username == 'silent':\n        return None\n"
        "    return ['test.ping', kwargs['password'], kwargs['eauth']]\n"
    )
    (extensions / "auth" / "wider.py").write_text(
        "def auth(username, password):\n    return True\n"
        "def groups(username):\n    return ['ops']\n"
        "def process_acl(auth_list, opts):\n"
        "    return auth_list + (['x.y', opts['id']] if 'test.version' in auth_list else [])\n"
    )
    return MasterConfig(
        access=AccessOptions(external_auth=blocks),
        paths=PathOptions(extension_modules=str(extensions), cachedir=str(tmp_path)),
    )


def test_what_a_check_finds(tmp_path: Path) -> None:
    made = config(tmp_path, auto={"x": []}, house={"x": []})
    assert check_login(made, "auto", "x", "") == LoginProof("x", "auto")
    assert check_login(made, "house", "x", "pw") == LoginProof(
        "x", "house", ["a", "b"], whole=["test.ping", "pw", "house"]
    )
    silent = LoginProof("silent", "house", ["a", "b"])
    assert check_login(made, "house", "silent", "pw") == silent
    assert check_login(made, "file", "x", "") is None
    assert recheck_login(made, "auto", "x")
    assert not recheck_login(made, "file", "x")


def test_a_list_that_a_module_processes(tmp_path: Path) -> None:
    """Of the configuration's entries, of name and groups; one that stays as it is is today's."""
    made = config(tmp_path, wider={"x": ["test.version"], "ops%": ["a.b"], "*": ["c.d"]})
    found = check_login(made, "wider", "x", "")
    assert found is not None
    assert found.whole == ["test.version", "a.b", "x.y", made.process.id]
    other = check_login(made, "wider", "other", "")
    assert other is not None
    assert other.whole is None


def test_another_module_says_what_a_login_may(tmp_path: Path) -> None:
    """``eauth_acl_module``: its list in place of the configuration's, unless it has none."""
    made = config(tmp_path, auto={"x": ["a.b"]})

    def whole(source: str, name: str) -> Any:
        access = replace(made.access, eauth_acl_module=source)
        found = check_login(replace(made, access=access), "auto", name, "pw")
        assert found is not None
        assert found.entries is None
        return found.whole

    assert whole("house", "x") == ["test.ping", "pw", "house"]
    assert whole("house", "silent") is None
    for source in ("", "auto", "sharedsecret", "wider", "nosuch", "../house"):
        assert whole(source, "x") is None


RECORDED = json.loads((DATA / "access" / "logins.json").read_text())


@pytest.mark.parametrize("source", ["", "house", "auto", "nosuch"])
def test_modules_decide_as_before_a_real_master(tmp_path: Path, source: str) -> None:
    """What real Salt 3006.30 allowed each login, by module and ``eauth_acl_module``."""
    made = config(tmp_path, **RECORDED["blocks"])
    (tmp_path / "ext" / "auth" / "house.py").write_text(RECORDED["module"])
    made = replace(made, access=replace(made.access, eauth_acl_module=source))
    ctx = SimpleNamespace(config=made)
    rows = [row for row in RECORDED["rows"] if row["eauth_acl_module"] == source]
    found = []
    for row in rows:
        proof = check_login(made, row["eauth"], row["user"], "open")
        assert proof is not None
        entries = proof.whole
        if entries is None:
            entries = find_entries(ctx, proof.eauth, proof.name, proof.groups, proof.entries)
        found.append(allows_all(entries, [Call(row["fun"])], {"web1"}, lambda _tgt: set()))
    assert len(rows) == 35
    assert found == [row["allowed"] for row in rows]


def test_a_module_that_fails_lets_in_nobody_and_tells_no_password(
    tmp_path: Path,
) -> None:
    made = config(tmp_path, bad={}, odd={}, file={"^filename": "/nonexistent"})
    with pytest.raises(LoginUnchecked, match=r"^eauth bad failed for x: ValueError$"):
        check_login(made, "bad", "x", "s3cr3t")
    assert check_login(made, "odd", "x", "s3cr3t") is None
    with pytest.raises(LoginUnchecked, match=r"/nonexistent") as found:
        check_login(made, "file", "x", "s3cr3t")
    assert "s3cr3t" not in str(found.value)


def test_which_modules_can_be_used(tmp_path: Path) -> None:
    made = config(tmp_path, auto={"x": []}, sharedsecret={"x": "text"}, nosuch={})
    assert is_usable(made, "auto")
    for name in ("sharedsecret", "nosuch", "file", "", None, 5, ["auto"], "auto.py", "../auto"):
        assert not is_usable(made, name)
