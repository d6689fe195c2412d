"""A small machine with packages, services and alternatives: one map instead of apt and systemd."""

from __future__ import annotations

import copy
import fnmatch
from pathlib import Path
from typing import Any

from saltlite.config.minion import MinionConfig, ModuleOptions
from saltlite.context import MinionContext
from saltlite.host import Completed
from saltlite.loader.registry import Registry

NATIVE = {"pkg": "aptpkg", "service": "systemd_service"}
PLACES = {"/etc/systemd/system": "masked", "/run/systemd/system": "runtime"}


def usual() -> dict[str, Any]:
    return {
        "installed": {"foo": "1.0", "old": "1.0", "held": "1.0", "multi": "3.0"},
        "offered": {
            "foo": ["1.0"],
            "old": ["1.1", "1.0"],
            "held": ["1.2", "1.0"],
            "multi": ["3.0"],
            "new": ["2.0", "1.9"],
            "other": ["0.5-1"],
        },
        "selections": {"held": "hold"},
        "left": {"left": "0.9"},
        "units": {
            "web": {"active": True, "enabled": True},
            "idle": {},
            "on": {"active": True},
            "brk": {},
            "msk": {"stuck": True},
            "offen": {"enabled": True},
        },
        "fail": [],
        "alternatives": {},
        "chosen": None,
    }


class Machine:
    """A host with apt, dpkg and systemd that keep their state in one map."""

    def __init__(self, **differs: Any) -> None:
        self.has = usual() | differs
        self.did: list[str] = []

    def run(self, argv: Any, *, stdin: Any = None, **how: Any) -> Completed:
        words = [str(word) for word in argv]
        if words[0] == "systemd-run":
            words = words[1:]
            while words[0].startswith("-"):
                del words[: 2 if words[0] in ("--description", "-p") else 1]
        name, arguments = words[0].replace("-", "_"), words[1:]
        before = copy.deepcopy(self.has)
        code, out, err = getattr(self, name)(arguments, stdin or "")
        if before != self.has:
            self.did.append(" ".join(words))
        return Completed(pid=1, exit_code=code, stdout=out, stderr=err)

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}"

    def is_dir(self, path: str) -> bool:
        return path == "/run/systemd/system"

    def exists(self, path: str) -> bool:
        return path.endswith("src_1.5.deb")

    def names(self, path: str) -> list[str]:
        return []

    def read_text(self, path: str) -> None:
        return None

    def read_bytes(self, path: str) -> None:
        return None

    def read_link(self, path: str) -> str | None:
        place, _, unit = path.rpartition("/")
        if place == "/etc/alternatives":
            return self._alternative()
        found = self.has["units"].get(unit.removesuffix(".service"), {})
        return "/dev/null" if found.get(PLACES[place]) else None

    # the commands

    def dpkg_query(self, words: list[str], _: str) -> tuple[int, str, str]:
        lines = [f"install ok installed\t{n}\t{v}" for n, v in self.has["installed"].items()]
        lines += [f"deinstall ok config-files\t{n}\t{v}" for n, v in self.has["left"].items()]
        return 0, "".join(f"{line}\tamd64\n" for line in lines), ""

    def dpkg(self, words: list[str], stdin: str) -> tuple[int, str, str]:
        chosen = self.has["selections"]
        if words[0] == "--set-selections":
            chosen.update(line.split() for line in stdin.splitlines())
            return 0, "", ""
        glob = words[1] if len(words) > 1 else "*"
        names = fnmatch.filter(sorted({**self.has["installed"], **chosen}), glob)
        return 0, "".join(f"{name}\t\t{chosen.get(name, 'install')}\n" for name in names), ""

    def dpkg_deb(self, words: list[str], _: str) -> tuple[int, str, str]:
        if not self.exists(words[1]):
            return 2, "", f"dpkg-deb: error: failed to read archive '{words[1]}'\n"
        return 0, Path(words[1]).stem.split("_")[1] + "\n", ""

    def apt_cache(self, words: list[str], _: str) -> tuple[int, str, str]:
        offered = self.has["offered"]
        names = [word for word in words if word in offered]
        if "policy" in words:
            return 0, "".join(f"{n}:\n  Candidate: {offered[n][0]}\n" for n in names), ""
        pairs = [(name, version) for name in names for version in offered[name]]
        return 0, "".join(f"Package: {n}\nVersion: {v}\n\n" for n, v in pairs), ""

    def apt_get(self, words: list[str], _: str) -> tuple[int, str, str]:
        if "update" in words:
            return 0, "Hit:1 http://deb.example/debian bookworm InRelease\n", ""
        if "apt" in self.has["fail"]:
            return 100, "", "E: it broke\n"
        if "dist-upgrade" in words or "upgrade" in words:
            return self._upgrade("--just-print" in words)
        verb = next(word for word in ("install", "remove", "purge") if word in words)
        names = [word for word in words[words.index(verb) + 1 :] if not word.startswith("-")]
        return self._install(names) if verb == "install" else self._remove(verb, names)

    def _upgrade(self, only_print: bool) -> tuple[int, str, str]:
        installed, offered = self.has["installed"], self.has["offered"]
        held = [name for name, state in self.has["selections"].items() if state == "hold"]
        newer = {
            name: offered[name][0]
            for name, version in installed.items()
            if name in offered and offered[name][0] != version and name not in held
        }
        if not only_print:
            installed.update(newer)
        return 0, "".join(f"Conf {name} ({version} x)\n" for name, version in newer.items()), ""

    def _install(self, names: list[str]) -> tuple[int, str, str]:
        coming = {}
        for each in names:
            name, _, version = each.partition("=")
            if each.startswith("/"):
                name, version = Path(each).stem.split("_")
            known = [version] if each.startswith("/") else self.has["offered"].get(name, [])
            if not known or (version and version not in known):
                return 100, "", f"E: Unable to locate package {name}\n"
            coming[name] = version or known[0]
        self.has["installed"].update(coming)
        return 0, "", ""

    def _remove(self, verb: str, names: list[str]) -> tuple[int, str, str]:
        for name in names:
            self.has["installed"].pop(name, None)
            if verb == "purge":
                self.has["left"].pop(name, None)
        return 0, "", ""

    def _alternative(self) -> str | None:
        known = self.has["alternatives"]
        return self.has["chosen"] or max(known, key=lambda path: known[path], default=None)

    def update_alternatives(self, words: list[str], _: str) -> tuple[int, str, str]:
        known = self.has["alternatives"]
        if words[0] == "--display":
            mode = "manual" if self.has["chosen"] else "auto"
            lines = [
                f"{words[1]} - {mode} mode",
                *(f"{p} - priority {n}" for p, n in known.items()),
            ]
            return (0, "\n".join(lines), "") if known else (2, "", "error: no alternatives")
        if words[0] == "--install" and words[3] == "/nosuch":
            said = "update-alternatives: error: alternative path /nosuch doesn't exist"
            return 2, "", said
        if words[0] == "--install":
            known[words[3]] = int(words[4])
        elif words[0] == "--remove":
            del known[words[2]]
            self.has["chosen"] = None
        else:
            self.has["chosen"] = words[2] if words[0] == "--set" else None
        return 0, "", ""

    def systemctl(self, words: list[str], _: str) -> tuple[int, str, str]:
        verb, *rest = (word for word in words if not word.startswith("-"))
        name = rest[0].removesuffix(".service") if rest else ""
        unit = self.has["units"].get(name)
        if verb == "show":
            return 0, f"LoadState={'loaded' if unit is not None else 'not-found'}\n", ""
        if verb in ("is-active", "is-enabled"):
            key = "active" if verb == "is-active" else "enabled"
            blocked = key == "enabled" and unit is not None and unit.get("masked")
            return 0 if unit and unit.get(key) and not blocked else 1, "", ""
        if unit is None:
            return 5, "", f"Failed: Unit {name}.service not found.\n"
        return self._change(verb, name, unit, "--runtime" in words)

    def _change(
        self, verb: str, name: str, unit: dict[str, bool], runtime: bool
    ) -> tuple[int, str, str]:
        if verb in ("mask", "unmask"):
            unit["runtime" if runtime else "masked"] = verb == "mask"
            return 0, "", ""
        blocked = any(unit.get(key) for key in ("stuck", "masked", "runtime"))
        if blocked and verb in ("start", "restart", "enable"):
            return 1, "", f"Unit {name}.service is masked.\n"
        failing = {"stop": "stop", "enable": "enable", "disable": "enable"}.get(verb)
        if failing in self.has["fail"]:
            return 1, "", ""
        if name == "brk":
            return 1, "", "Job failed.\n"
        if verb in ("enable", "disable"):
            unit["enabled"] = verb == "enable"
        else:
            unit["active"] = verb != "stop"
        return 0, "", ""


def make(machine: Machine) -> MinionContext:
    config = MinionConfig(modules=ModuleOptions(providers=NATIVE))
    grains = {"os_family": "Debian", "osarch": "amd64", "init": "systemd"}
    ctx = MinionContext(config=config, host=machine, grains=grains, pillar={})  # type: ignore[arg-type]
    ctx.functions = Registry(ctx)
    return ctx


class KeptMachine(Machine):
    """The machine as the law of test mode looks at it: what it has and what has changed it."""

    def look(self) -> dict[str, Any]:
        """All that a state may change, and the commands that did."""
        return copy.deepcopy({**self.has, "commands": self.did})

    def reset(self) -> None:
        """As it was."""
        self.has, self.did = usual(), []

    def context(self) -> MinionContext:
        """A minion's context on it."""
        return make(self)
