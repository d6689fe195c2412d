"""Trees of states, applied in an overlay of the root in namespaces of their own.

Each of ``tests/cases/data/states/trees/states`` is applied as a test, for real, and for real again.
The answer for one is ``{run: {tag: {result, changes, comment}}}``, tags in the order in which they
ran, and ``left``: what is then other below ``WATCHED``.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from overlay import run_in_overlay
from repository import DATA, PROGRAMS

TREES = DATA / "states/trees"
RUNS = ("test", "real", "again")
WATCHED = ("/etc", "/home", "/srv")
OPTIONS: dict[str, dict[str, Any]] = {"calls_new": {"use_superseded": ["module.run"]}}


def names() -> list[str]:
    """The trees there are."""
    return sorted(path.parent.name for path in TREES.glob("states/*/init.sls"))


def applied(
    program: str, side: str, work: Path, *wanted: str, verbose: bool = False
) -> dict[str, Any]:
    """What ``program`` (a Python) makes of all trees, or those wanted: tree → answer.

    Needs root; raises AssertionError with what was said if it cannot be done.
    """
    command = [str(PROGRAMS / "machine.sh"), program, __file__, side, *wanted]
    done = run_in_overlay(["sh", *command], program, work, verbose=verbose)
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


Apply = Callable[[str, Mapping[str, Any], bool], Mapping[str, Any]]
"""Applies a tree (name, options of the minion, as a test?): tag → return."""


def apply_all(apply: Apply, wanted: list[str]) -> dict[str, Any]:
    """In the overlay: all trees, one after the other."""
    answers: dict[str, Any] = {}
    seen: dict[str, tuple[Any, Any]] = {}
    before = snapshot(seen)
    for name in wanted:
        found: dict[str, Any] = {}
        for run in RUNS:
            settings = {**json.loads(Path("/mnt/minion").read_text()), **OPTIONS.get(name, {})}
            found[run] = shown(apply(name, settings, run == "test"))
            if run == "test":
                found["touched"] = changed(before, snapshot(seen))
        after = snapshot(seen)
        found["left"] = changed(before, after)
        answers[name] = found
        before = after
    return answers


def shown(answer: Any) -> Any:
    """A run without times and numbers of processes, in its order."""
    if not isinstance(answer, Mapping):
        return answer
    states = sorted(answer.items(), key=lambda pair: pair[1].get("__run_num__", -1))
    found = {}
    for tag, one in states:
        changes = {key: value for key, value in one["changes"].items() if key != "pid"}
        comment = re.sub(r"/(mnt/cache|tmp)/\S*__salt\S*", "{temporary}", one["comment"])
        # Behind Salt's words ours say where the declaration is, and what was meant.
        comment = re.sub(r"(?m)^(salt://\S+:\d+|did you mean).*\n", "", comment)
        found[tag] = {"result": one["result"], "changes": changes, "comment": comment}
    return found


def snapshot(seen: dict[str, tuple[Any, Any]]) -> dict[str, Any]:
    """Path → mode, owner and content of all below ``WATCHED``; ``seen`` saves reading again."""
    found: dict[str, Any] = {}
    for top in WATCHED:
        for directory, directories, files in os.walk(top):
            if "/.git" in directory:
                directories.clear()
                files = [name for name in files if name in ("HEAD", "config")]
            for name in directories + files:
                path = os.path.join(directory, name)
                found[path] = looked_at(path, seen)
    return found


def looked_at(path: str, seen: dict[str, tuple[Any, Any]]) -> Any:
    """``[mode, owner, content]``; a link's content is its target."""
    at = os.lstat(path)
    mark = (at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns)
    if path in seen and seen[path][0] == mark:
        return seen[path][1]
    what: list[Any] = [oct(stat.S_IMODE(at.st_mode)), f"{at.st_uid}:{at.st_gid}"]
    if stat.S_ISLNK(at.st_mode):
        what.append(f"-> {os.readlink(path)}")
    elif stat.S_ISREG(at.st_mode):
        what.append(Path(path).read_bytes().decode("latin-1"))
    seen[path] = mark, what
    return what


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """What is other: new paths whole, of files that were there the lines that came and went."""
    found: dict[str, Any] = {}
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new or path.endswith(("-", ".lock")):
            continue
        if old is None or new is None or len(old) != 3 or len(new) != 3:
            found[path] = new
            continue
        gone, came = lines(path, old[2]), lines(path, new[2])
        found[path] = {
            "is": new[:2],
            "came": [line for line in came if line not in gone],
            "went": [line for line in gone if line not in came],
        }
    return found


def lines(path: str, text: str) -> list[str]:
    if path == "/etc/shadow":  # the day of the last change
        text = re.sub(r"(?m)^([^:]*:[^:]*):\d*:", r"\1::", text)
    return text.splitlines()


def apply_of_ours() -> Apply:
    from saltlite.config.load import load_minion
    from saltlite.context import MinionContext
    from saltlite.host import Host
    from saltlite.loader.registry import Registry
    from saltlite.minion.job import as_plain
    from saltlite.pillar.context import compile_masterless

    grains: dict[str, Any] = {
        "id": "web1",
        "os": "Debian",
        "os_family": "Debian",
        "osfinger": "Debian-12",
        "osmajorrelease": 12,
        "kernel": "Linux",
        "systemd": {"version": "252"},
        "roles": ["web", "front"],
    }

    def apply(name: str, settings: Mapping[str, Any], test: bool) -> Mapping[str, Any]:
        Path("/mnt/conf").mkdir(exist_ok=True)
        Path("/mnt/conf/minion").write_text(json.dumps(settings))
        config = load_minion("/mnt/conf", {}, cache_id=False)
        ctx = MinionContext(config=config, host=Host(), grains=grains, pillar={})
        ctx.functions = Registry(ctx)
        ctx.pillar = compile_masterless(ctx)
        plain: Mapping[str, Any] = as_plain(ctx.functions.call("state.apply", name, test=test))
        return plain

    return apply


def apply_of_salt() -> Apply:
    import salt.client  # type: ignore[import-not-found]
    import salt.config  # type: ignore[import-not-found]

    callers: dict[str, Any] = {}  # one takes seconds to make

    def apply(name: str, settings: Mapping[str, Any], test: bool) -> Mapping[str, Any]:
        text = json.dumps(settings)
        if text not in callers:
            Path("/mnt/conf").mkdir(exist_ok=True)
            Path("/mnt/conf/minion").write_text(text)
            callers[text] = salt.client.Caller(mopts=salt.config.minion_config("/mnt/conf/minion"))
        print(name, "as a test" if test else "", file=sys.stderr, flush=True)
        answer: Mapping[str, Any] = callers[text].cmd("state.apply", name, test=test)
        return answer

    return apply


def main(side: str, *wanted: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    apply = apply_of_ours() if side == "ours" else apply_of_salt()
    json.dump(apply_all(apply, list(wanted) or names()), answers, default=str)
    answers.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
