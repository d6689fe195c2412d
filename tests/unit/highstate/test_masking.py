"""Secrets of the pillar in returns of states: what is one, and that none is told."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltlite.core import dataclasses
from saltlite.highstate.apply import find_secrets_of
from saltlite.highstate.masking import MASK, find_secrets, mask_answers, mask_data
from tests.unit.highstate.conftest import Tree

PEM = (
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nshort\n-----END PRIVATE KEY-----\n"
)


@pytest.mark.parametrize(
    ("pillar", "expected"),
    [
        ({"password": "hunter2!"}, {"hunter2!"}),
        ({"db": {"root_password": "hunter2!", "host": "db1.example"}}, {"hunter2!"}),
        ({"dbPassword": "hunter2!", "API-Key": "abcdef12"}, {"hunter2!", "abcdef12"}),
        ({"passwords": {"ann": "hunter2!", "bob": ["s3cr3t!!"]}}, {"hunter2!", "s3cr3t!!"}),
        ({"secrets": {"user": "annabella", "key": "hunter2!"}}, {"hunter2!"}),
        ({"password": "short"}, set()),
        ({"password": "enabled", "token": True, "secret": None}, set()),
        ({"pin_password": 123456, "token": 1234567890123}, {"1234567890123"}),
        ({"user": "postgres", "password": "postgres"}, set()),
        ({"password_file": "/etc/app/x", "private_key": "/etc/ssl/own.key"}, set()),
        ({"token_ttl": "3600 seconds", "ssh_public_key": "AAAAB3NzaC1yc2E"}, set()),
        (
            {
                "compass": "northwest",
                "passage": "to india",
                "keyboard": "german",
                "bypass": "road 7",
            },
            set(),
        ),
        ({"salt": {"master": "salt.example"}, "private": {"network": "10.0.0.0/8"}}, set()),
        ({"secrets": {"db": {"host": "db1.example", "key": "hunter2!"}}}, {"hunter2!"}),
        ({"secret_profile": "d3b07384"}, {"d3b07384"}),
        ({"vault": {"secret_id": "d3b07384-d113"}}, {"d3b07384-d113"}),
        ({"password": 'a"b\\cdé'}, {'a"b\\cdé', 'a\\"b\\\\cdé', 'a\\"b\\\\cd\\u00e9'}),
    ],
)
def test_what_is_a_secret(pillar: dict[str, Any], expected: set[str]) -> None:
    assert set(find_secrets(pillar)) == expected


NAMED = {
    "mysql": {"root": "hunter2!", "user": "annabella", "port": 3306, "on": True},
    "certs": [{"web": PEM}, {"mail": "s3cr3t!!"}],
    "motd": "hunter2!",
}


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ([], set()),
        (["mysql:root"], {"hunter2!"}),
        (["mysql"], {"hunter2!", "annabella"}),
        (["*:root", "certs:m*"], {"hunter2!", "s3cr3t!!"}),
        (["root", "mysql:roo", 5, None], set()),
    ],
)
def test_keys_that_somebody_named(named: list[Any], expected: set[str]) -> None:
    assert set(find_secrets(NAMED, named)) == expected


def test_keys_are_named_in_the_configuration_and_in_the_pillar(
    tree: Tree, caplog: pytest.LogCaptureFixture
) -> None:
    ctx = tree({}, {**NAMED, "state_mask_keys": ["certs:mail"]})
    files = dataclasses.replace(ctx.config.files, state_mask_keys=["mysql:root"])
    ctx.config = dataclasses.replace(ctx.config, files=files)
    assert set(find_secrets_of(ctx)) == {"hunter2!", "s3cr3t!!"}
    assert not caplog.text
    ctx.pillar = {**NAMED, "state_mask_keys": "certs:mail"}
    assert set(find_secrets_of(ctx)) == {"hunter2!"}
    assert "state_mask_keys of the pillar is no list" in caplog.text


def test_each_line_of_a_long_secret_is_one() -> None:
    found = find_secrets({"private_key": PEM})
    assert "MIIEvQIBADANBgkqhkiG9w0BAQEF" in found
    assert "short" not in found
    assert "-----BEGIN PRIVATE KEY-----" not in found


@given(
    secret=st.text(
        st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=8
    )
    .map(str.strip)
    .filter(lambda text: len(text) >= 8 and not text.isdigit() and not text.startswith("/")),
    around=st.tuples(st.text(), st.text()),
)
def test_no_secret_is_left_wherever_it_stands(secret: str, around: tuple[str, str]) -> None:
    before, after = around
    told = f"{before}{secret}{after}"
    answer = {
        "name": told,
        "comment": [told, {"deep": (told,)}],
        "changes": {told: {"diff": f"+{told}\n", "json": json.dumps({"p": secret})}},
        "number": 7,
    }
    secrets = find_secrets({"my": {"password": secret}})
    if secret not in secrets:  # a word, such as ``disabled``
        return
    found = mask_data(answer, secrets)
    left = [found["name"], *found["changes"], *found["comment"][1]["deep"]]
    rest = found["changes"][next(iter(found["changes"]))]
    if secret not in MASK and MASK not in secret:
        assert all(secret not in text for text in [*left, rest["diff"], rest["json"]])
    assert found["number"] == 7


@given(
    st.recursive(st.text() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_without_a_secret_the_data_are_the_same_object(data: Any) -> None:
    assert mask_data(data, ["\0never\0there\0"]) is data


def test_states_that_differ_by_their_secret_alone_are_both_told() -> None:
    answers = {f"cmd_|-a_|-x {one}_|-run": {"name": one} for one in ("secret-1", "secret-2")}
    found = mask_answers(answers, ["secret-1", "secret-2"])
    assert list(found) == [f"cmd_|-a_|-x {MASK}_|-run", f"cmd_|-a_|-x {MASK}_|-run (2)"]


TREE = {
    "a.sls": """
say:
  test.show_notification:
    - name: curl -u ann:{{ pillar.db.password }} http://db
    - text: it is {{ pillar.db.password }}
{{ pillar.db.password }}:
  test.nop: []
motd:
  test.configurable_test_state:
    - changes: true
    - result: true
    - comment: {{ pillar.db.host }}
"""
}
PILLAR = {"db": {"password": "hunter2!", "host": "db1.example"}}


def test_a_run_tells_none(tree: Tree) -> None:
    ctx = tree(TREE, PILLAR)
    for found in (
        ctx.functions.call("state.apply", "a"),
        ctx.functions.call("state.apply", "a", test=True),
        ctx.functions.call("state.sls_id", "say", "a"),
        ctx.functions.call("state.single", "test.show_notification", "x hunter2!", text="hunter2!"),
        ctx.functions.call(
            "state.low",
            {"state": "test", "fun": "show_notification", "name": "hunter2!", "text": "hunter2!"},
        ),
    ):
        assert "hunter2!" not in json.dumps(found)
        assert MASK in json.dumps(found)


def test_the_option_switches_it_off(tree: Tree) -> None:
    ctx = tree(TREE, PILLAR)
    files = dataclasses.replace(ctx.config.files, state_mask_secrets=False)
    ctx.config = dataclasses.replace(ctx.config, files=files)
    assert "hunter2!" in json.dumps(ctx.functions.call("state.apply", "a"))


def test_events_of_states_tell_none(tree: Tree) -> None:
    ctx = tree(TREE, PILLAR)
    heard: list[dict[str, Any]] = []

    class Master:
        def request(self, load: dict[str, Any]) -> None:
            heard.append(load)

    ctx.job = {"jid": "1"}
    ctx.master = Master()  # type: ignore[assignment]
    ctx.functions.call("state.apply", "a", state_events=True)
    assert len(heard) == 3
    assert "hunter2!" not in repr(heard)


def test_a_thousand_states_cost_little() -> None:
    secrets = find_secrets({"password": {str(n): f"secret number {n}" for n in range(100)}})
    answers = {
        f"test_|-{n}_|-{n}_|-nop": {
            "name": str(n),
            "comment": "Success!",
            "changes": {"a": "b" * 200},
        }
        for n in range(1000)
    }
    begun = time.process_time()
    assert mask_answers(answers, secrets) == answers
    assert time.process_time() - begun < 1
