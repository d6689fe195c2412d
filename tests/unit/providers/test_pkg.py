"""Facts and a wish in, commands out: tests/cases/data/pkg/commands.yaml through a recorded host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from repository import DATA, read_yaml

from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, FunctionUnavailable
from saltlite.host import Completed
from saltlite.loader.registry import Registry

CASES = DATA / "pkg" / "commands.yaml"
ASKING = (
    "dpkg-query", "dpkg --get-selections", "dpkg --print-architecture", "rpm -q", "apt-cache",
    "pacman -Q", "apk info",
)  # fmt: skip
"""Commands that only look; the cases name those that do something."""


class RecordedHost:
    """Answers commands from a map and remembers them."""

    def __init__(self, answers: dict[str, Any], lacks: Sequence[str] = ()) -> None:
        self.lacks = lacks
        self.answers = {command: self._list(each) for command, each in answers.items()}
        self.done: list[str] = []

    @staticmethod
    def _list(each: Any) -> list[Any]:
        if isinstance(each, list) and each and isinstance(each[0], int):
            return [each]
        return list(each) if isinstance(each, list) else [each]

    def run(self, argv: Any, **how: Any) -> Completed:
        line = " ".join(argv)
        if not line.startswith(ASKING):
            self.done.append(line)
        known = [name for name in self.answers if line.startswith(name)]
        waiting = self.answers[known[0]] if known else [""]
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if isinstance(answer, list):
            return Completed(pid=1, exit_code=answer[0], stdout="", stderr=answer[1])
        return Completed(pid=1, exit_code=0, stdout=answer, stderr="")

    def which(self, name: str) -> str | None:
        return None if name in self.lacks else f"/usr/bin/{name}"

    def is_dir(self, path: str) -> bool:
        return False

    def exists(self, path: str) -> bool:
        return False

    def names(self, path: str) -> list[str]:
        return []

    def read_text(self, path: str) -> None:
        return None


def make(host: RecordedHost, os_family: str, providers: dict[str, str] | None = None):
    config = MinionConfig(modules=ModuleOptions(providers=providers or {}))
    grains = {"os_family": os_family, "osarch": "amd64" if os_family == "Debian" else "x86_64"}
    ctx = MinionContext(config=config, host=host, grains=grains, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{number}-{case['os_family']}-{case['fun']}")
        for number, case in enumerate(read_yaml(CASES))
    ],
)
def test_runs_these_commands(case):
    host = RecordedHost(case.get("answers", {}), case.get("lacks", ()))
    ctx = make(host, case["os_family"])
    fun, args, kwargs = case["fun"], case.get("args", []), case.get("kwargs", {})
    if case.get("unavailable"):
        with pytest.raises(FunctionUnavailable):
            ctx.functions.call(fun, *args, **kwargs)
    elif "error" in case:
        with pytest.raises(FunctionError) as caught:
            ctx.functions.call(fun, *args, **kwargs)
        assert str(caught.value) == case["error"]
    else:
        value = ctx.functions.call(fun, *args, **kwargs)
        assert value == case.get("value", value)
    assert host.done == case["commands"]


def test_the_option_providers_chooses():
    host = RecordedHost({"apk info -v": "musl-1.2-r0\n"})
    ctx = make(host, "Debian", {"pkg": "apkpkg"})
    assert ctx.functions.call("pkg.list_pkgs") == {"musl": "1.2-r0"}


def test_nobody_is_asked_and_configuration_files_stay(monkeypatch):
    seen = {}

    class Host(RecordedHost):
        def run(self, argv, **how):
            if argv[0] == "apt-get":
                seen.update(how["env"])
            return super().run(argv, **how)

    make(Host({}), "Debian").functions.call("pkg.install", "foo")
    assert seen["DEBIAN_FRONTEND"] == "noninteractive"
    assert seen["UCF_FORCE_CONFFOLD"] == "1"
    assert seen["LC_ALL"] == "C"


@pytest.mark.parametrize("name", ["foo; touch PWNED", "$(touch PWNED)", "a b", "--help"])
def test_a_name_stays_one_word(name):
    class Host(RecordedHost):
        def run(self, argv, **how):
            if argv[0] == "apt-get":
                self.words = list(argv)
            return super().run(argv, **how)

    host = Host({})
    make(host, "Debian").functions.call("pkg.install", pkgs=[name])
    assert host.words[-1] == name
