"""What docs/exported.md shows is what happens, and what a minion in strange hands cannot do."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster import Cluster

PAGE = (Path(__file__).parents[2] / "docs" / "exported.md").read_text()
STEPS = PAGE.partition("## Step by step")[2].partition("\n## ")[0]
FILES = dict(re.findall(r"```(?:yaml|jinja)\n# /srv/salt/(\S+)\n(.*?)```", STEPS, re.DOTALL))
(CONSOLE,) = re.findall(r"```console\n(.*?)```", STEPS, re.DOTALL)
COMMANDS = re.findall(r"^# (.*)\n((?:[^#].*\n|\n)*)", CONSOLE, re.MULTILINE)
TARGET = "/etc/haproxy/haproxy.cfg"


def plain(text: str) -> str:
    """A text without times."""
    text = re.sub(r"\d\d:\d\d:\d\d\.\d+", "TIME", text)
    return re.sub(r" +[\d.]+ +m?s\b", " N s", text)


@pytest.fixture(scope="module")
def salted() -> Iterator[Cluster]:
    with Cluster() as cluster:
        for minion_id in ("web1", "web2", "lb"):
            cluster.add_minion(minion_id)
        (roots,) = cluster.config("master")["file_roots"]["base"]
        Path(roots).mkdir(parents=True, exist_ok=True)
        for name, text in FILES.items():
            (Path(roots) / name).write_text(text.replace(TARGET, str(place(cluster))))
        yield cluster.start()


def place(cluster: Cluster) -> Path:
    return cluster.root / "haproxy.cfg"


def test_the_steps(salted: Cluster) -> None:
    assert (sorted(FILES), len(COMMANDS)) == (["haproxy.cfg", "lb.sls", "web.sls"], 4)
    for line, shown in COMMANDS:
        program, *words = shlex.split(line.replace(TARGET, str(place(salted))))
        found = salted.command(program, *words)
        assert found.exit_code == 0, found
        assert plain(found.stdout.replace(str(place(salted)), TARGET)) == plain(shown), line


def test_a_minion_in_strange_hands(salted: Cluster) -> None:
    victim = salted.root / "victim"
    victim.write_text("as it was\n")

    def declared(text: str, **more: object) -> dict[str, object]:
        arguments = {"filename": "/x", "text": text}
        return {
            "v": 1, "tag": "web", "fun": "file.accumulated", "name": "backends", "id": "evil",
            "sls": "web", "args": arguments, **more,
        }  # fmt: skip

    good = "server web2 good.example.com:80 check"
    attacks = [
        declared("server a a.example.com:80 check\n  stats admin if TRUE #.example.com:80 check"),
        declared(good, id="template", args={"text": good, "filename": "/x", "template": "jinja"}),
        declared(good, id="other", fun="file.managed", name=str(victim), args={"contents": "x"}),
        declared(good, id="command", fun="cmd.run", name=f"rm {victim}", args={}),
        declared(good, id="slot", args={"text": f"__slot__:salt:file.remove({victim})"}),
        declared(good, id="requisite", args={"text": good, "filename": "/x", "onlyif": "true"}),
        declared(good, id="good"),
    ]
    sent = salted.salt(
        "web2", "mine.send", "exported", "mine_function=test.echo", json.dumps(attacks)
    )
    assert sent.exit_code == 0, sent
    found = salted.salt("lb", "state.apply", "lb", "--out=json")
    assert found.exit_code == 0, found
    assert victim.read_text() == "as it was\n"
    lines = place(salted).read_text().splitlines()
    assert lines == ["backend web", "    server web1 web1.example.com:80 check", f"    {good}"]
    (job,) = found.json.values()
    idents = {one["__id__"] for one in job.values()}
    assert {ident.split(":")[4] for ident in idents if ident.startswith("exported:web2")} == {
        "good"
    }
