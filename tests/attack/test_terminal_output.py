"""What a minion says reaches an operator's terminal as text, and steers it by no road.

Source: docs/security.md#malformed-input.
"""

from __future__ import annotations

import json
import math
import re
import threading
from typing import Any

import pytest

from attacks import Victim, clear
from cluster import Ran, eventually
from rogue import Rogue, Sealed
from saltlite.core.terminal import is_safe

EVIL = "x\x1b[31m\x1b]0;t\x07\r\x08\x7f\x9b2J\u202e\u2066seen"
OWN_COLOURS = re.compile(r"\x1b\[0;(\d;)?\d{0,2}m")
STATE = {
    f"file_|-{EVIL}_|-{EVIL}_|-managed": {
        "result": False, "changes": {EVIL: {EVIL: EVIL}}, "comment": EVIL, "name": EVIL,
        "__id__": EVIL, "__sls__": EVIL, "__run_num__": 0, "start_time": EVIL, "duration": EVIL,
        "warnings": [EVIL],
    }
}  # fmt: skip
RETURNS: dict[str, Any] = {
    "text": EVIL,
    "list": [EVIL, {EVIL: EVIL}, [EVIL]],
    "map": {EVIL: {EVIL: [EVIL]}},
    "states": STATE,
}
OUTPUTTERS = ("highstate", "json", "nested", "newline_values_only", "pprint", "raw", "txt", "yaml")


def assert_steers_nothing(ran: Ran) -> None:
    assert "seen" in ran.stdout, ran
    for text in (ran.stdout, ran.stderr):
        assert is_safe(OWN_COLOURS.sub("", text)), repr(text)


def answer(rogue: Rogue, jid: str, value: Any, **more: Any) -> None:
    load = {"cmd": "_return", "jid": jid, "fun": "test.ping", "fun_args": [], "return": value,
            "retcode": 0, "success": True, **more}  # fmt: skip
    assert rogue.send(load) == Sealed(None)


def publish(victim: Victim, rogue: Rogue, root_key: str) -> str:
    load = {"cmd": "publish", "tgt": rogue.id, "fun": "test.ping", "arg": [], "tgt_type": "glob",
            "ret": "", "jid": "", "user": "root", "key": root_key}  # fmt: skip
    return str(victim.stranger.send(clear(load))["load"]["jid"])


@pytest.mark.parametrize("kind", RETURNS)
def test_a_return_on_record(victim: Victim, rogue: Rogue, root_key: str, kind: str) -> None:
    jid = publish(victim, rogue, root_key)
    answer(rogue, jid, RETURNS[kind], out=EVIL)
    for outputter in OUTPUTTERS:
        words = ("jobs.lookup_jid", jid, f"--out={outputter}", "--force-color")
        assert_steers_nothing(victim.cluster.salt_run(*words))


@pytest.mark.parametrize(
    "words", [(), ("--out=txt",), ("--out=highstate",), ("--static", "--out=json")]
)
def test_a_return_that_is_waited_for(victim: Victim, rogue: Rogue, words: tuple[str, ...]) -> None:
    """Names of outputters come from the minion, too."""
    found: list[Ran] = []

    def wait() -> None:
        found.append(victim.cluster.salt(rogue.id, "test.ping", "-t", "20", *words))

    waiting = threading.Thread(target=wait)
    with rogue.listening() as ear:
        waiting.start()
        job = ear.next(20)
    assert job is not None
    answer(rogue, job["jid"], STATE, out="highstate", comment=EVIL, error=EVIL, log=EVIL)
    waiting.join()
    assert_steers_nothing(found[0])


def test_what_is_not_a_number_is_no_json(victim: Victim, rogue: Rogue, root_key: str) -> None:
    jid = publish(victim, rogue, root_key)
    answer(rogue, jid, [math.nan, math.inf, -math.inf, {"k": math.nan}])
    ran = victim.cluster.salt_run("jobs.lookup_jid", jid, "--out=json")

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    assert rogue.id in json.loads(ran.stdout, parse_constant=refuse)


def test_events_and_grains(victim: Victim, rogue: Rogue) -> None:
    """What is shown without anybody having asked the minion."""
    found: list[Ran] = []

    def listen() -> None:
        words = ("state.event", "myco/*", "count=1", "pretty=True")
        found.append(victim.cluster.salt_run(*words, timeout_s=60))

    listening = threading.Thread(target=listen)
    listening.start()
    event = {"cmd": "_minion_event", "tag": "myco/evil", "data": {"text": EVIL, EVIL: [EVIL]}}

    def is_heard() -> bool:
        rogue.send(event)
        listening.join(0.3)
        return not listening.is_alive()

    eventually(is_heard, what="the event is shown")
    assert_steers_nothing(found[0])
    rogue.send({"cmd": "_pillar", "grains": {"os": EVIL, EVIL: [EVIL]}, "ver": "2"})
    assert_steers_nothing(victim.cluster.salt_run("cache.grains", rogue.id))
