"""docs/architecture.md says about sockets and files what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from saltlite.transport.addresses import MasterSockets, MinionSockets

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def socket_rows() -> list[list[str]]:
    section = PAGE.partition("## Sockets")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return rows[2:]


def documented_names() -> set[str]:
    found = [re.findall(r"`([^`]+\.ipc)`", row[0]) for row in socket_rows()]
    return {name for names in found for name in names}


def addresses() -> set[str]:
    """File names of every socket in the code, in the words of the table."""
    here = Path("/s")
    master = MasterSockets(here)
    minion = MinionSockets(here, "id")
    plain = [
        getattr(sockets, name).name
        for sockets in (master, minion)
        for name, value in vars(type(sockets)).items()
        if isinstance(value, property) and not name.startswith("_")
    ]
    plain.append(master.workers(7).name.replace("7", "N"))
    return {re.sub(r"_[0-9a-f]{10}_", "_<h>_", name) for name in plain}


def test_every_unix_socket_is_in_the_table_and_the_other_way_round() -> None:
    assert documented_names() == addresses()


def test_the_two_ports_are_in_the_table() -> None:
    first_cells = " ".join(row[0] for row in socket_rows())
    assert "ret_port` (4506)" in first_cells
    assert "publish_port` (4505)" in first_cells


@pytest.mark.parametrize("row", socket_rows(), ids=lambda row: row[0])
def test_source_files_of_the_table_are_there(row: list[str]) -> None:
    named = re.findall(r"`([^`]+\.py)`", row[-1])
    assert named
    assert [name for name in named if not (ROOT / "saltlite" / name).exists()] == []


def process_titles() -> str:
    section = PAGE.partition("## Processes")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")]
    return "\n".join(row.split(" | ")[0] for row in rows)


def test_every_process_of_the_master_is_in_the_table() -> None:
    code = (ROOT / "saltlite/master/daemon.py").read_text()
    names = re.findall(r'ChildSpec\(\s*f?"([^"]+)"', code)
    assert len(names) > 10
    fixed = [re.split(r"[-(]?\{", name)[0] for name in names]
    assert [name for name in fixed if name not in process_titles()] == []


@pytest.mark.parametrize(
    "row", re.findall(r"^\| `salt-(?:master|minion|api).*\|$", PAGE, re.MULTILINE)
)
def test_source_files_of_the_processes_are_there(row: str) -> None:
    named = re.findall(r"`([^`]+\.py)`", row.split(" | ")[-1])
    assert named
    assert [name for name in named if not (ROOT / "saltlite" / name).exists()] == []
