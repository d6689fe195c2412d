"""The process of beacons: whatever one of them does, the loop hears of the pass."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader.catalogue import BEACONS
from saltlite.loader.registry import with_functions
from saltlite.minion import beacon_process
from saltlite.minion.beacon_process import NOT_HERE, SALTS_OTHERS, BeaconProcess, answer
from saltlite.minion.pipe import LoopGone

KEEPING = """
seen = []

def beacon(config):
    seen.append(1)
    __context__["runs"] = __context__.get("runs", 0) + 1
    return [{"tag": "t", "runs": len(seen), "context": __context__["runs"]}]

def close(config):
    open(PATH, "a").write(config[-1]["_beacon_name"] + "\\n")
"""

ODD = """
def beacon(config):
    yield {"tag": "x" * 500}
    yield "text"
    yield {"object": object}
    yield {"number": 5, "set": {1}}
    yield {"tag": "a\\nb ", "id": "mine"}
"""


class Loop:
    """The loop's end of a pipe: instructions in order, and what comes back."""

    def __init__(self, *instructions: dict[str, Any]) -> None:
        self.instructions = list(instructions)
        self.heard: list[dict[str, Any]] = []

    def receive(self) -> dict[str, Any]:
        if not self.instructions:
            raise LoopGone("over")
        return self.instructions.pop(0)

    def send(self, message: dict[str, Any]) -> None:
        self.heard.append(message)


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[MinionContext]:
    folder = tmp_path / "extmods" / "beacons"
    folder.mkdir(parents=True)
    closed = tmp_path / "closed"
    (folder / "keeping.py").write_text(f"PATH = {str(closed)!r}\n{KEEPING}")
    (folder / "odd.py").write_text(ODD)
    (folder / "many.py").write_text("def beacon(config):\n    return [{}] * 5000\n")
    (folder / "raising.py").write_text("def beacon(config):\n    raise SystemExit('no')\n")
    config = MinionConfig(paths=PathOptions(extension_modules=str(folder.parent)))
    yield with_functions(MinionContext(config=config, host=Host(), grains={"id": "m1"}, pillar={}))


def settings(**beacons: Any) -> dict[str, Any]:
    entries = {name: {"module": name, "data": data} for name, data in beacons.items()}
    return {"beacons": entries, "grains": {"id": "m1"}, "pillar": {}}


def do(run: list[str], close: list[str] = [], **more: Any) -> dict[str, Any]:  # noqa: B006
    return {"op": "pass", "run": run, "close": close, **more}


def passes(ctx: MinionContext, first: dict[str, Any], *instructions: dict[str, Any]) -> list[Any]:
    loop = Loop(*instructions)
    BeaconProcess(loop, ctx, "m1").run(first)  # type: ignore[arg-type]
    assert all(message["op"] == "passed" for message in loop.heard)
    return loop.heard


def test_a_beacon_keeps_its_globals_and_context(ctx: MinionContext, tmp_path: Path) -> None:
    heard = passes(ctx, settings(keeping=[]), do(["keeping"]), do(["keeping"]))
    assert [message["events"][0]["data"] for message in heard] == [
        {"runs": number, "context": number, "id": "m1"} for number in (1, 2)
    ]
    assert heard[0]["events"][0]["tag"] == "salt/beacon/m1/keeping/t"
    assert (tmp_path / "closed").read_text() == "keeping\n", "closed with the process"


def test_one_that_is_changed_or_gone_is_closed(ctx: MinionContext, tmp_path: Path) -> None:
    first, other = settings(keeping=[]), settings(keeping=[{"a": 1}])
    passes(
        ctx, first, do(["keeping"]), do([], settings=first), do([], settings=other),
        do(["keeping"]), do([], ["keeping"]), do(["keeping"]), do([], settings=settings()),
    )  # fmt: skip
    assert (tmp_path / "closed").read_text() == "keeping\n" * 3


def test_what_raises_or_is_invalid_does_not_cost_the_others(ctx: MinionContext) -> None:
    first = settings(
        raising=[], memusage=[{"percent": "0%"}], nosuch=[], swapusage=[], bad=[{"interval": "x"}]
    )
    (heard,) = passes(ctx, first, do(["raising", "nosuch", "swapusage", "bad", "memusage"]))
    failed, told = heard["events"]
    assert failed == {
        "tag": "salt/beacon/m1/raising/", "data": {}, "beacon_name": "raising", "error": "no",
    }  # fmt: skip
    assert told["tag"] == "salt/beacon/m1/memusage/"
    assert heard["invalid"] == ["nosuch", "swapusage", "bad"]
    assert [line.partition(". ")[2] for line in heard["wrong"]] == [
        'Beacon "nosuch" is not available.',
        "Configuration for swapusage beacon requires percent.",
        "beacon bad: interval must be seconds, not 'x'",
    ]


@pytest.mark.parametrize("name", sorted(SALTS_OTHERS))
def test_a_beacon_of_salt_that_is_not_here_is_told_as_such(ctx: MinionContext, name: str) -> None:
    assert name not in BEACONS
    (heard,) = passes(ctx, settings(**{name: []}), do([name]))
    assert heard["invalid"] == [name]
    (line,) = heard["wrong"]
    assert line.endswith(f'Beacon "{name}" is not available. {NOT_HERE}')


def test_odd_events_become_ones_that_can_be_sent(ctx: MinionContext) -> None:
    (heard,) = passes(ctx, settings(odd=[]), do(["odd"]))
    long, plain, own = heard["events"]
    assert len(long["tag"]) == 256
    assert plain["data"] == {"number": 5, "set": [1], "id": "m1"}
    assert (own["tag"], own["data"]) == ("salt/beacon/m1/odd/a?b", {"id": "mine"})


def test_events_of_one_run_are_bounded(ctx: MinionContext) -> None:
    (heard,) = passes(ctx, settings(many=[]), do(["many"]))
    assert len(heard["events"]) == beacon_process.EVENTS_LIMIT


def test_the_options_of_all_beacons(ctx: MinionContext) -> None:
    first = settings(odd=[{"emitatstartup": False}], many=[{"onchangeonly": True}])
    heard = passes(ctx, first, do(["odd", "many"]), do(["odd", "many"]))
    assert [len(message.get("events", ())) for message in heard] == [1, 3]


def test_new_code_is_read_and_ours_goes_on(ctx: MinionContext, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("")
    config = [{"file": str(log)}, {"tags": {"t": {"regex": "."}}}]
    first = settings(keeping=[], log=config)
    loop = Loop(do(["keeping", "log"]))
    process = BeaconProcess(loop, ctx, "m1")  # type: ignore[arg-type]

    def change() -> None:
        path = tmp_path / "extmods" / "beacons" / "keeping.py"
        path.write_text("def beacon(config):\n    return [{'new': True}]\n")
        log.write_text("a line\n")

    def receive() -> dict[str, Any]:
        if len(loop.heard) == 2:
            raise LoopGone("over")
        if loop.heard:
            change()
            return do(["keeping", "log"], reload=True)
        return do(["keeping", "log"])

    loop.receive = receive  # type: ignore[method-assign]
    process.run(first)
    new, line = loop.heard[1]["events"]
    assert new["data"] == {"new": True, "id": "m1"}
    assert line["data"]["raw"] == "a line", "its place in the file is kept"


def test_questions_about_code(ctx: MinionContext) -> None:
    assert {"keeping", "odd", "inotify"} <= set(answer({"func": "list_available"}, ctx)["names"])
    asked = {"func": "validate_beacon", "name": "x", "data": [{"beacon_module": "memusage"}]}
    assert answer(asked, ctx) == {
        "valid": False,
        "text": "Configuration for memusage beacon requires percent.",
    }
    assert answer({"func": "validate_beacon", "name": "odd", "data": []}, ctx) == {
        "valid": True,
        "text": "Beacon odd does not have a validate function, skipping validation.",
    }
    wrong = settings(odd=[], memusage=[], nosuch=[])["beacons"]
    assert answer({"func": "check", "beacons": wrong}, ctx)["invalid"] == ["memusage", "nosuch"]


@pytest.mark.parametrize(
    "imported", ["saltlite.minion.minion", "saltlite.cli.salt_minion", "saltlite.cli.salt_call"]
)
def test_who_has_no_beacons_loads_nothing_of_them(imported: str) -> None:
    code = f"import {imported}, sys; print([n for n in sys.modules if 'beacon' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
