"""A RabbitMQ broker: modules and states with programs that keep state as the real ones do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from repository import PROGRAMS

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, SaltliteError
from saltlite.highstate.resource import Verdict, realise
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.loader.states import resolve
from saltlite.providers.rabbitmq import table, tags_of

FAKE = PROGRAMS / "rabbitmq.py"
RIGHTS = {"/": [".*", "a.*", ".*"]}


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MinionContext:
    for name in ("rabbitmqctl", "rabbitmq-plugins"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_RABBIT", str(tmp_path / "rabbit.json"))
    found = MinionContext(config=MinionConfig(), host=Host(), grains={"id": "x"}, pillar={})
    found.functions = Registry(found)
    return found


def kept(tmp_path: Path) -> Any:
    return json.loads((tmp_path / "rabbit.json").read_text())


def run(ctx: MinionContext, state: str, /, *, test: bool = False, **kwargs: Any) -> Verdict:
    try:
        return realise(resolve(state, ctx).call(**kwargs), ctx, test=test)
    except SaltliteError as error:
        return Verdict(result=False, comment=str(error))


def lawful(ctx: MinionContext, state: str, /, **kwargs: Any) -> Verdict:
    """The real run, which did what the test run had told, and after which nothing is to be done."""
    told = run(ctx, state, test=True, **kwargs)
    done = run(ctx, state, **kwargs)
    assert (told.result, done.result) == (None, True), (told, done)
    assert told.changes == done.changes
    again = run(ctx, state, **kwargs)
    assert (again.result, again.changes) == (True, {})
    return done


def test_listings_of_old_and_new_brokers() -> None:
    new = "name\tvhost\nHA\t/\n"
    assert table(new, ("vhost", "name")) == [{"name": "HA", "vhost": "/"}]
    assert table("Listing users ...\n/\tHA\n...done.", ("vhost", "name")) == [
        {"vhost": "/", "name": "HA"}
    ]
    assert tags_of("[administrator, monitoring]") == ["administrator", "monitoring"]
    assert tags_of("[]") == [""]


def test_users(ctx: MinionContext, tmp_path: Path) -> None:
    call = ctx.functions.call
    assert call("rabbitmq.list_users") == {"guest": ["administrator"]}
    assert call("rabbitmq.add_user", "bob", "se cret") == {"Added": "ok ..."}
    with pytest.raises(FunctionError, match=r"RabbitMQ command failed: Error:\nUser .* already"):
        call("rabbitmq.add_user", "bob", "x")
    assert call("rabbitmq.check_password", "bob", "se cret") is True
    assert call("rabbitmq.check_password", "bob", "wrong") is False
    assert call("rabbitmq.check_password", "nobody", "wrong") is False
    assert call("rabbitmq.change_password", "bob", "new") == {"Password Changed": "ok ..."}
    assert call("rabbitmq.set_user_tags", "bob", ["a", "b"]) == {"Tag(s) set": "ok ..."}
    assert call("rabbitmq.add_user", "alone") == {"Added": "ok ..."}
    assert kept(tmp_path)["users"]["alone"]["password"] is None
    assert kept(tmp_path)["users"]["bob"] == {"password": "new", "tags": ["a", "b"]}
    assert not any("cret" in word for line in kept(tmp_path)["log"] for word in line)
    with pytest.raises(FunctionError, match="line feeds"):
        call("rabbitmq.change_password", "bob", "a\nb")


def test_vhosts_policies_and_upstreams(ctx: MinionContext) -> None:
    call = ctx.functions.call
    assert call("rabbitmq.add_vhost", "v") == {"Added": "ok ..."}
    assert call("rabbitmq.list_vhosts") == ["/", "v"]
    assert call("rabbitmq.set_permissions", "v", "guest") == {"Permissions Set": "ok ..."}
    rights = {"configure": ".*", "write": ".*", "read": ".*"}
    assert call("rabbitmq.list_permissions", "v") == {"guest": rights}
    assert call("rabbitmq.list_user_permissions", "guest") == {"/": rights, "v": rights}
    definition = '{"ha-mode":"all"}'
    call("rabbitmq.set_policy", "v", "HA", ".*", definition, priority=3, apply_to="queues")
    policy = {"pattern": ".*", "definition": definition, "priority": "3", "apply_to": "queues"}
    assert call("rabbitmq.list_policies", "v") == {"v": {"HA": policy}}
    assert call("rabbitmq.policy_exists", "v", "HA") is True
    assert call("rabbitmq.delete_policy", "v", "HA") == {"Deleted": "ok ..."}
    assert call("rabbitmq.set_upstream", "up", "amqp://x", trust_user_id=True) is True
    assert call("rabbitmq.list_upstreams") == {"up": '{"uri": "amqp://x", "trust-user-id": true}'}
    assert call("rabbitmq.delete_upstream", "up") is True
    assert call("rabbitmq.delete_vhost", "v") == {"Deleted": "ok ..."}


def test_cluster_and_plugins(ctx: MinionContext, tmp_path: Path) -> None:
    call = ctx.functions.call
    assert call("rabbitmq.join_cluster", "other") == {"Join": "ok ..."}
    assert kept(tmp_path)["runs"] is True
    assert "rabbit@other" in call("rabbitmq.cluster_status")
    assert call("rabbitmq.list_enabled_plugins") == []
    assert "rabbitmq_shovel" in call("rabbitmq.list_available_plugins")
    assert call("rabbitmq.enable_plugin", "rabbitmq_shovel") == {"Enabled": "ok ..."}
    assert call("rabbitmq.plugin_is_enabled", "rabbitmq_shovel") is True
    assert call("rabbitmq.list_queues") == {}
    with pytest.raises(FunctionError, match="plugins_not_found"):
        call("rabbitmq.enable_plugin", "nope")


def test_states_of_users(ctx: MinionContext, tmp_path: Path) -> None:
    kwargs = {"name": "al", "password": "pw", "tags": ["monitoring"], "perms": [RIGHTS]}
    done = lawful(ctx, "rabbitmq_user.present", **kwargs)
    assert done.changes["user"] == {"old": "", "new": "al"}
    assert done.changes["perms"] == {"old": {"/": ""}, "new": RIGHTS}
    assert run(ctx, "rabbitmq_user.present", name="al", password="other").changes == {}
    forced = lawful(ctx, "rabbitmq_user.present", name="al", password="other", force=True)
    assert forced.changes == {"password": {"old": "", "new": "Set password."}}
    assert kept(tmp_path)["users"]["al"]["password"] == "other"
    assert run(ctx, "rabbitmq_user.present", name="x", perms=[{"/": ["a"]}]).result is False
    gone = lawful(ctx, "rabbitmq_user.absent", name="al")
    assert gone.comment == "The user 'al' was removed."


def test_other_states(ctx: MinionContext) -> None:
    assert lawful(ctx, "rabbitmq_vhost.present", name="w").changes == {"old": "", "new": "w"}
    policy = {"name": "HA", "vhost": "w", "definition": '{"ha-mode": "all"}'}
    lawful(ctx, "rabbitmq_policy.present", pattern=".*", **policy)
    lawful(ctx, "rabbitmq_policy.present", pattern="a.*", priority=2, apply_to="queues", **policy)
    assert run(ctx, "rabbitmq_policy.present", name="x", pattern="", definition="{").result is False
    lawful(ctx, "rabbitmq_policy.absent", name="HA", vhost="w")
    lawful(ctx, "rabbitmq_vhost.absent", name="w")
    lawful(ctx, "rabbitmq_plugin.enabled", name="rabbitmq_shovel")
    lawful(ctx, "rabbitmq_plugin.disabled", name="rabbitmq_shovel")
    assert run(ctx, "rabbitmq_plugin.enabled", name="nope").result is False
    uri = "amqp://u:secret@h/%2F"
    made = lawful(ctx, "rabbitmq_upstream.present", name="up", uri=uri, prefetch_count=5)
    assert made.changes["new"] == {"uri": "amqp://u:***@h/%2F", "prefetch-count": 5}
    lawful(ctx, "rabbitmq_upstream.present", name="up", uri=uri, prefetch_count=6)
    lawful(ctx, "rabbitmq_upstream.absent", name="up")
    assert lawful(ctx, "rabbitmq_cluster.joined", name="c", host="other", runas=None).comment == (
        "Node joined cluster rabbit@other"
    )


def test_without_the_programs(ctx: MinionContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nosuch")
    said = run(ctx, "rabbitmq_vhost.present", name="w")
    assert said.result is False
    assert "rabbitmqctl" in said.comment


def test_what_is_listed_changes_nothing(ctx: MinionContext, tmp_path: Path) -> None:
    run(ctx, "rabbitmq_vhost.present", name="/{{ shop }}")
    run(ctx, "rabbitmq_user.present", name="joe", password="p", tags=["monitoring"],
        perms=[{"/{{ shop }}": ["^a", "", ".*"]}, {"/": [".*", ".*", ".*"]}])  # fmt: skip
    run(ctx, "rabbitmq_user.present", name="nobody", password="p")
    run(ctx, "rabbitmq_plugin.enabled", name="rabbitmq_shovel")
    run(ctx, "rabbitmq_policy.present", name="ha", vhost="/{{ shop }}", pattern="^q", priority=3,
        definition={"ha-mode": "all"}, apply_to="queues")  # fmt: skip
    run(ctx, "rabbitmq_upstream.present", name="up", uri="amqp://joe:hush@far", expires=5)
    run(ctx, "rabbitmq_upstream.present", name="open", uri="amqp://far", ack_mode="no-ack")
    before = (tmp_path / "rabbit.json").read_text()
    found = {
        kind: ctx.functions.call("resource.list", f"rabbitmq_{kind}", secrets=True)
        for kind in ("vhost", "user", "plugin", "policy", "upstream")
    }
    for text in found.values():
        assert "left out" not in text
        ran = ctx.functions.call("state.template_str", text)
        assert [(one["result"], one["changes"]) for one in ran.values()] == [(True, {})] * len(ran)
    assert json.loads(before)["vhosts"] == kept(tmp_path)["vhosts"]
    assert yaml.safe_load(found["policy"])["rabbitmq_policy ha@/{{ shop }}"]
    assert "rabbitmq_plugin.enabled" in found["plugin"]
    hidden = ctx.functions.call("resource.list", "rabbitmq_upstream")
    assert "hush" not in hidden
    assert "left out: rabbitmq_upstream up: its address with a password" in hidden
