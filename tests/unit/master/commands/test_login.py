"""What a token keeps of a login: whose entries count, the list of a module, its life."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from saltlite.config.master import AccessOptions, MasterConfig
from saltlite.master.acl import AuthenticatedUser
from saltlite.master.commands.login import authenticate, find_entries, make_token
from saltlite.master.loginproof import LoginProof
from saltlite.master.logintokens import LoginTokens


def test_a_token_keeps_the_list_of_a_module(tmp_path: Path, caplog: Any) -> None:
    """Whatever ``keep_acl_in_token`` says; a list with a fault allows nothing."""
    ctx = context(tmp_path)
    token = make_token(ctx, LoginProof("anna", "auto", ["ops"], whole=["x.y"]), None)
    assert token["auth_list"] == ["x.y"]
    assert "auth_list_by_module" not in token
    assert authenticate(ctx, {}, token, "") == AuthenticatedUser("anna", ["x.y"], "token")
    faulty = make_token(ctx, LoginProof("anna", "auto", whole=["x.y", 5]), None)
    assert authenticate(ctx, {}, faulty, "") == AuthenticatedUser("anna", [], "token")
    assert "the list of anna allows nothing" in caplog.text


def test_a_kept_list_counts_as_long_as_lists_are_kept(tmp_path: Path) -> None:
    token = make_token(context(tmp_path, keep_acl_in_token=True), LoginProof("zed", "auto"), None)
    block = {"zed": ["new.one"]}
    for keeps, entries in ((True, ["status.uptime"]), (False, ["new.one"])):
        ctx = context(tmp_path, keep_acl_in_token=keeps)
        ctx.config.access.external_auth["auto"] |= block
        assert authenticate(ctx, {}, token, "") == AuthenticatedUser("zed", entries, "token")


def context(tmp_path: Path, **options: Any) -> Any:
    """As much of a worker's context as a token needs."""
    block = {"anna": ["test.ping"], "ops%": ["test.version"], "*": ["status.uptime"]}
    access = AccessOptions(external_auth={"auto": block, "bad": {"x": 5}}, **options)
    return SimpleNamespace(
        config=MasterConfig(access=access),
        login_tokens=LoginTokens(tmp_path / "tokens"),
        wall_s=lambda: 1000.0,
        steady_s=lambda: 5.0,
    )


def test_what_a_token_keeps(tmp_path: Path) -> None:
    ctx = context(tmp_path)
    token = make_token(ctx, LoginProof("anna", "auto", ["ops"], ["x.y"]), 5)
    assert (token["start"], token["expire"]) == (1000.0, 44200.0)
    assert token["groups"] == ["ops"]
    assert not {"auth_list", "entries"} & token.keys()
    assert ctx.login_tokens.find(token["token"], 1000.0)["entries"] == ["x.y"]


def test_the_rights_of_a_login_can_be_kept(tmp_path: Path) -> None:
    ctx = context(tmp_path, keep_acl_in_token=True)
    token = make_token(ctx, LoginProof("anna", "auto", ["ops"], ["x.y"]), None)
    assert token["auth_list"] == ["test.ping", "test.version", "x.y"]


LIVES: list[tuple[Any, Any, float]] = [
    (False, 5, 43200),
    (True, 5, 5),
    (True, 0.5, 0.5),
    (True, -1, 43200),
    (True, "5", 43200),
    (True, True, 43200),
    (True, 10**30, 43200),
    (True, None, 43200),
    ({"auto": ["anna"]}, 5, 5),
    ({"auto": ["ben"]}, 5, 43200),
    ({"pam": ["anna"]}, 5, 43200),
]


@pytest.mark.parametrize(("override", "asked", "life"), LIVES)
def test_who_may_ask_for_a_life(tmp_path: Path, override: Any, asked: Any, life: float) -> None:
    ctx = context(tmp_path, token_expire_user_override=override)
    token = make_token(ctx, LoginProof("anna", "auto"), asked)
    assert token["expire"] - token["start"] == life


def test_whose_entries_count(tmp_path: Path, caplog: Any) -> None:
    ctx = context(tmp_path)
    assert find_entries(ctx, "auto", "anna", [], None) == ["test.ping"]
    assert find_entries(ctx, "auto", "zed", [], None) == ["status.uptime"]
    assert find_entries(ctx, "auto", "zed", [], ["a.b"]) == ["a.b"]  # named by the module
    assert find_entries(ctx, "bad", "x", [], None) == []
    assert find_entries(ctx, "gone", "anna", [], None) == []
    assert find_entries(ctx, "auto", "anna", [], ["a.b", 5]) == ["test.ping"]
    assert "the entries of anna count for nothing" in caplog.text
    permissive = context(tmp_path, permissive_acl=True)
    assert find_entries(permissive, "auto", "anna", [], None) == ["test.ping", "status.uptime"]
