"""docs/api.md: its examples run, its options and limits are those of the code."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from api import ApiCluster

from saltlite.api.app import App
from saltlite.api.options import ServerOptions
from saltlite.config.schema import option_name

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "api.md").read_text()
COMMAND = re.compile(r"^\$ (curl .*)\n((?:[^$`].*\n)*)", re.MULTILINE)


def test_every_option_of_the_server_is_on_the_page() -> None:
    section = PAGE.partition("## Options")[2].partition("\n## ")[0]
    names = {option_name(field) for field in dataclasses.fields(ServerOptions)}
    assert {name for name in names if f"`{name}`" not in section} == set()


def test_every_path_is_on_the_page() -> None:
    section = PAGE.partition("## Paths")[2].partition("\n## ")[0]
    app = App(ServerOptions(), [], None, list_rights=lambda *_: [], external_auth={})  # type: ignore[arg-type]
    for route, methods in app._routes.items():
        for method in methods:
            if route != "all_events":
                assert f"`{method} /{route}" in section, (method, route)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_examples_do_what_they_say(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("anna:secret\n")
    users.chmod(0o600)
    first = PAGE.partition("```yaml\n")[2].partition("```")[0]
    config = yaml.safe_load(first.replace("/etc/salt/users", str(users)))
    port = config["rest_cherrypy"].pop("port")
    with ApiCluster(
        master_options={
            "external_auth": config["external_auth"],
            "netapi_enable_clients": config["netapi_enable_clients"],
        },
        api_options={name: config["rest_cherrypy"][name] for name in ("host", "disable_ssl")},
    ) as cluster:
        cluster.start()
        token = ""
        found = COMMAND.findall(PAGE)
        assert len(found) == 4
        for command, shown in found:
            here = command.replace(f":{port}", f":{cluster.api_port}").replace("TOKEN", token)
            said = curl(here)
            if "/login" in command:
                token = json.loads(said)["return"][0]["token"]
            pattern = re.escape(shown.strip()).replace("…", ".*").replace("TOKEN", "[0-9a-f]{40}")
            if "/events" in command:
                assert said.startswith("retry: 400\n")
            else:
                assert re.fullmatch(pattern, said.strip()), (command, said, shown)


def curl(command: str) -> str:
    words = shlex.split(command)
    if any("/events" in word for word in words):
        words += ["--max-time", "1"]
    return subprocess.run(words, capture_output=True, text=True, timeout=30, check=False).stdout


@pytest.mark.parametrize("command", ["salt", "salt-call", "salt-key", "salt-run", "salt-master"])
def test_no_other_command_pays_for_it(command: str) -> None:
    module = f"saltlite.cli.{command.replace('-', '_')}"
    code = (
        f"import sys, {module} as command\n"
        "try:\n    command.main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, sep='\\n', file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(done.stderr.split())
    assert not {one for one in loaded if one.startswith(("tornado", "saltlite.api"))}
