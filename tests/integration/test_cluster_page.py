"""What docs/cluster.md shows is what happens."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
from pathlib import Path

import databases
import psycopg
import pytest
import yaml

from cluster import Cluster, eventually

PAGE = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text()
(OPTIONS,) = (yaml.safe_load(one) for one in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
DATABASE, JOIN, USE = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
HOST = "db.example.com"
FOLDER = "/etc/salt/pki/master"

pytestmark = [
    pytest.mark.skipif(
        databases.postgres_programs() is None, reason="there is no PostgreSQL server"
    ),
    pytest.mark.timeout(300),
]


def read_steps(text: str) -> list[tuple[str, list[str], str]]:
    """On which machine, the command, and what it prints."""
    steps: list[tuple[str, list[str], str]] = []
    for line in text.splitlines():
        found = re.match(r"(n1|n2|db)# (.*)", line)
        if found:
            steps.append((found[1], shlex.split(found[2]), ""))
        else:
            machine, words, shown = steps.pop()
            steps.append((machine, words, f"{shown}{line}\n"))
    return steps


def make_database(place: str) -> None:
    """What createuser and createdb do."""
    with psycopg.connect(f"host={place} user=postgres dbname=postgres", autocommit=True) as admin:
        for _machine, words, _shown in read_steps(DATABASE):
            if words[0] == "createuser":
                admin.execute(f"CREATE ROLE {words[1]} LOGIN".encode())
            else:
                program, flag, owner, name = words
                assert (program, flag) == ("createdb", "-O")
                admin.execute(f"CREATE DATABASE {name} OWNER {owner}".encode())


def test_the_example() -> None:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(databases.postgres_server())
        make_database(server.place)
        options = {
            **OPTIONS,
            # Without a password: the server here asks for none, and is on this machine.
            "cluster_dsn": re.sub(r" passfile=\S+", "", OPTIONS["cluster_dsn"]).replace(
                HOST, server.place
            ),
        }
        machines = {
            name: stack.enter_context(
                Cluster(
                    minions={f"m{name[1]}": "saltlite"},
                    master_options={**options, "id": name, "worker_threads": 2},
                )
            )
            for name in ("n1", "n2")
        }
        for machine, words, _shown in read_steps(JOIN):
            node = machines[machine]
            if words[0] == "mkdir":
                assert words == ["mkdir", "-p", "-m", "700", FOLDER]
                node.pki_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            elif words[0] == "scp":
                for source in words[2:-1]:
                    name = source.removeprefix(f"n1:{FOLDER}/")
                    shutil.copy2(machines["n1"].pki_dir / name, node.pki_dir / name)
            else:
                done = node.command(
                    words[0], *(one.replace(HOST, server.place) for one in words[1:])
                )
                assert done.exit_code == 0, done
        for node in machines.values():
            node.start_master()
        for node in machines.values():
            for minion in node.minions.values():
                minion.start()
        for machine, words, shown in read_steps(USE):
            # The first time the minions may not have subscribed yet.
            eventually(
                lambda machine=machine, words=words, shown=shown: (  # type: ignore[misc]
                    sorted(machines[machine].command(*words).stdout.split("\n"))
                    == sorted(shown.split("\n"))
                ),
                what=f"{words} prints {shown}",
            )
        logged_in = "SELECT DISTINCT usename FROM pg_stat_activity WHERE datname = 'salt'"
        with psycopg.connect(f"host={server.place} user=postgres dbname=postgres") as admin:
            assert admin.execute(logged_in.encode()).fetchall() == [("saltlite",)]
