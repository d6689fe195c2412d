"""Chunks become typed calls, or a refusal that names what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.api.lowstate import CLIENTS, LocalCall, RunCall, read_calls, read_credentials
from saltlite.api.messages import HttpError
from saltlite.client.batch import batch_size

PING = {"client": "local", "tgt": "*", "fun": "test.ping"}
RUN = {"client": "runner", "fun": "jobs.list_jobs"}


def one(**chunk: Any) -> Any:
    return read_calls([chunk], CLIENTS)[0]


def status_of(chunk: Any) -> int:
    with pytest.raises(HttpError) as caught:
        read_calls([chunk], CLIENTS)
    return caught.value.status


def test_a_local_call() -> None:
    call = one(**PING, arg="x", kwarg={"k": [1]}, timeout="5", full_return=True, x=1, batch=None)
    assert call == LocalCall(
        client="local", tgt="*", fun="test.ping", arg=["x", {"k": [1], "__kwarg__": True}],
        timeout_s=5.0, full_return=True,
    )  # fmt: skip


def test_several_functions() -> None:
    call = one(client="local", tgt="*", fun=["test.ping", "test.echo"], arg=[[], ["a"]])
    assert (call.fun, call.arg) == (["test.ping", "test.echo"], [[], ["a"]])
    call = one(client="local", tgt="*", fun="test.ping,test.version", kwarg={"k": 1})
    assert call.arg == [[{"k": 1, "__kwarg__": True}]] * 2


def test_the_old_name_of_the_kind_of_target() -> None:
    assert one(**PING, expr_form="compound").tgt_type == "compound"
    assert one(**PING, expr_form="compound", tgt_type="list").tgt_type == "list"


@pytest.mark.parametrize("batch", ["3", 3, "10%", "%10", "0.5%", "%0.5", "100%"])
def test_a_batch_that_is_taken_has_a_size(batch: object) -> None:
    assert batch_size(one(**PING, batch=batch).batch, 1000) >= 1


def test_runners_take_keywords_everywhere() -> None:
    call = one(**RUN, arg=["a", "k=3", {"__kwarg__": True, "m": 1}], kwarg={"b": 1}, c=2, timeout=9)
    assert call == RunCall(
        client="runner", kind="runner", fun="jobs.list_jobs", arg=["a"],
        kwarg={"k": 3, "m": 1, "c": 2, "b": 1}, timeout_s=9.0,
    )  # fmt: skip
    assert one(**{**RUN, "client": "wheel_async"}).is_async


@pytest.mark.parametrize(
    "chunk",
    [
        "x", 1, None, [], {1: 2}, {}, {**RUN, "client": 5}, {**PING, "client": "ssh"},
        {**PING, "client": "destroy"}, {**PING, "client": "__init__"}, {**PING, "client": "run"},
        {"client": "local", "tgt": "*"}, {"client": "local", "fun": "test.ping"},
        {**PING, "fun": 5}, {**PING, "fun": []}, {**PING, "fun": ["test.ping", 5]},
        {**PING, "fun": "test.ping\ncmd.run"}, {**PING, "fun": "test"},
        {**PING, "tgt": 5}, {**PING, "tgt": [1]}, {**PING, "tgt_type": []},
        {**PING, "jid": "../x"}, {**PING, "jid": 5}, {**PING, "kwarg": [1]},
        {**PING, "timeout": "x"}, {**PING, "timeout": -1},
        {**PING, "timeout": True}, {**PING, "timeout": 1e999}, {**PING, "batch": "ten"},
        {**PING, "batch": "%5%"}, {**PING, "batch": 1.5}, {**PING, "batch": "%"},
        {**PING, "subset": "x"}, {**PING, "ret": 5},
        {**RUN, "fun": "jobs"}, {**RUN, "fun": "a.b.c"}, {**RUN, "fun": None},
        {**RUN, "fun": ["a.b"]},
    ],
)  # fmt: skip
def test_chunks_that_are_refused(chunk: Any) -> None:
    assert status_of(chunk) == 400


def test_raw_shell_is_a_matter_of_rights() -> None:
    assert status_of({**PING, "raw_shell": True}) == 401


def test_what_is_not_enabled_is_named() -> None:
    with pytest.raises(HttpError, match="Client disabled: 'runner'"):
        read_calls([RUN], ["local"])
    with pytest.raises(HttpError, match="A request may have 100 chunks"):
        read_calls([PING] * 101, CLIENTS)


def test_a_forced_client_takes_the_place_of_the_named_one() -> None:
    chunks = [RUN | {"tgt": "*"}]
    assert read_calls(chunks, ["local_async"], client="local_async")[0].client == "local_async"
    with pytest.raises(HttpError, match="Client disabled: 'local_async'"):
        read_calls(chunks, ["runner"], client="local_async")


def test_no_wait_is_longer_than_ten_minutes() -> None:
    assert one(**PING, timeout=10**9).timeout_s == 600.0


def test_credentials() -> None:
    login = {"username": "a", "password": "b", "eauth": "auto"}
    assert read_credentials({**login, "tgt": "*"}) == login
    assert read_credentials({"token": "a" * 64, **login}) == {"token": "a" * 64}


@pytest.mark.parametrize(
    "chunk",
    [
        {}, {"username": "a", "password": "b"}, {"token": None}, {"token": ""}, {"token": 1337},
        {"token": "../../x"}, {"token": "A" * 64}, {"token": "a" * 200}, {"token": ["a" * 64]},
        {"username": "a", "password": 1, "eauth": "auto"},
        {"username": "a", "password": "b", "eauth": ["auto"]},
    ],
)  # fmt: skip
def test_credentials_that_are_none(chunk: dict[str, Any]) -> None:
    with pytest.raises(HttpError) as caught:
        read_credentials(chunk)
    assert caught.value.status == 401
