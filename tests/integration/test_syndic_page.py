"""What docs/syndic.md shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml
from tree import growing

from cluster import eventually

PAGE = (Path(__file__).parents[2] / "docs" / "syndic.md").read_text()
UPPER, LOWER, MINION = (
    yaml.safe_load(one) for one in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
)
(CONSOLE,) = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)


def read_steps() -> list[tuple[list[str], str]]:
    steps: list[tuple[list[str], str]] = []
    for line in CONSOLE.splitlines():
        if line.startswith("upper$ "):
            steps.append((shlex.split(line.removeprefix("upper$ ")), ""))
        else:
            words, shown = steps.pop()
            steps.append((words, f"{shown}{line}\n"))
    return steps


def test_the_example() -> None:
    assert set(LOWER) == {"syndic_master"}
    with growing() as tree:
        upper = tree.add_master("upper", **UPPER)
        upper.reconfigure(upper.master_dir / "master", auto_accept=False)
        tree.add_master("lower", minions=["low1", "low2"])
        tree.add_syndic(MINION["id"], "lower", ["upper"])
        for cluster in tree.masters.values():
            cluster.master.start()
        tree.masters["lower"].start_minions()
        tree.syndics[MINION["id"]].start()
        upper.wait_for_pending(MINION["id"])
        (accept, accepted), *others = read_steps()
        assert upper.command(accept[0], *accept[1:]).stdout == accepted
        assert len(others) == 2
        for words, shown in others:
            # The first time it may not have subscribed yet.
            eventually(
                lambda words=words, shown=shown: (  # type: ignore[misc]
                    sorted(upper.command(words[0], *words[1:]).stdout.split("\n"))
                    == sorted(shown.split("\n"))
                ),
                what=f"{words} prints {shown}",
            )
