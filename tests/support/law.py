"""The law of test mode, held to drawn declarations on machines that earlier ones have made.

    law.py --seed N --rounds N [WORLD...]

A sequence is some declarations of one world, beginning with the pristine machine. Each is applied
as a test, for real, for real again, and as a test again, and between them the machine is looked
at. Writes one JSON line for each function of a world (``{"world", "fun", "drawn", "moved"}``) and
one for each violation, with the shortest sequence that shows it (``{"seed", "broken", "steps"}``).

This acts on the machine: it is started in namespaces of its own, by :func:`in_namespace`.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import itertools
import json
import os
import random
import shutil
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from declarations import FORMS, OTHER_KEY, Form, T
from distributions import APT_LACKS, DISTRIBUTIONS, Distribution
from repository import ROOT

STEPS = 8
"""Declarations of one sequence."""

ROOTS = ("/etc", "/home", "/mnt", "/var/mail")
UNSEEN = ("/etc/alternatives", "/etc/pam.d", "/etc/security")
"""What no state changes."""

CACHE = "/mnt/cache"
"""Copies of sources: a test run fetches them too. Only the states of ``CACHING`` are about them."""

CACHING = ("file.cached", "file.not_cached")

OF_NEW_FILES = {"new", "diff", "mode", "user", "group"}

OF_FAKES = "/etc/fake"
"""Where fake programs keep what they have; when they wrote there says nothing."""

SHORT = 160

SETUP = """
set -e
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin  # what PATH had may be hidden below
sed -i 's,^root:\\(.*\\):/root:,root:\\1:/home/root:,' /etc/passwd
sed -i 's,^daemon:\\(.*\\):/usr/sbin:,daemon:\\1:/home/d:,' /etc/passwd
mkdir -p /home/root
for path in /etc/*; do case ${path#/etc/} in
  passwd|group|shadow|gshadow|login.defs|nsswitch.conf|hosts|fstab|skel|shells) ;;
  localtime|timezone|locale.gen|locale.alias|alternatives|ld.so.cache|modules|pam.d|security) ;;
  os-release|default) ;;
  *) rm -rf "$path";;
esac; done
mkdir -p /etc/apt/sources.list.d /etc/modules-load.d
project=$1
shift
case $project in
  /tmp/*)
    mkdir -p /mnt/project && mount --bind "$project" /mnt/project
    mount -t tmpfs none /tmp
    mkdir -p "$project" && mount --move /mnt/project "$project" && rmdir /mnt/project ;;
  *) mount -t tmpfs none /tmp ;;
esac
mount -t tmpfs none /run
mount -t tmpfs none /var/cache
mount -o remount,ro,bind /
exec "$@"
"""
"""After that of ``isolated_states``: nobody who is declared away takes a directory along, and what
is not in ``ROOTS`` cannot be written to."""

Declaration = tuple[str, dict[str, Any]]
Look = dict[str, Any]


# --- the machine ----------------------------------------------------------------------------------


def _told(path: str, known: Mapping[str, Any], found: os.stat_result) -> tuple[Any, ...]:
    """Kind and mode, owner, time of change, content; of what is known it is not read again."""
    mtime = 0 if path.startswith(OF_FAKES) else found.st_mtime_ns
    facts = (oct(found.st_mode), found.st_uid, found.st_gid, mtime)
    if stat.S_ISLNK(found.st_mode):
        return (*facts, os.readlink(path))
    if not stat.S_ISREG(found.st_mode):
        return facts
    was = known.get(path)
    if was is not None and was[:4] == facts and not path.startswith(OF_FAKES):
        return tuple(was)
    return (*facts, Path(path).read_bytes())


def _walk(top: str) -> Iterator[tuple[str, os.stat_result]]:
    with contextlib.suppress(FileNotFoundError):
        yield top, os.lstat(top)
    try:
        entries = sorted(os.scandir(top), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)
        else:
            yield entry.path, entry.stat(follow_symlinks=False)


def _bare(rules: str) -> list[str]:
    """Rules without the time and what was counted."""
    return [line.partition(" [")[0] for line in rules.splitlines() if not line.startswith("#")]


class Machine:
    """This namespace: files, mounts, environment; what packet filters have where it matters."""

    def __init__(self, keep: str, *, filters: bool = False, roots: Sequence[str] = ROOTS) -> None:
        self.keep = keep
        self.filters = filters
        self.roots = roots
        self.environ = dict(os.environ)
        self.pristine = self._files({})
        self.mounts = self._mounts()
        for root in self.roots:
            if os.path.isdir(root):
                os.makedirs(keep + root, exist_ok=True)
                subprocess.run(["cp", "-a", f"{root}/.", f"{keep}{root}"], check=True)

    def look(self) -> Look:
        """All that a state may change."""
        seen: Look = self._files(self.pristine)
        seen["environment"] = dict(os.environ)
        seen["mounts"] = self._mounts()
        if self.filters:
            seen["rules"] = [
                _bare(subprocess.run([program], capture_output=True, text=True, check=True).stdout)
                for program in ("iptables-save", "ip6tables-save")
            ]
        return seen

    def reset(self) -> None:
        """As it was."""
        for point in reversed([each for each in self._mounts() if each not in self.mounts]):
            subprocess.run(["umount", "-l", point.split()[0]], check=True)
        os.environ.clear()
        os.environ.update(self.environ)
        self._reset_files()
        if self.filters:
            self._open()

    def _reset_files(self) -> None:
        now = self._files(self.pristine)
        for path in sorted({*now, *self.pristine}, reverse=True):  # what is below comes first
            if path not in self.pristine or now.get(path, (0,))[0] != self.pristine[path][0]:
                self._remove(path)
        for path in sorted(self.pristine):
            if now.get(path) != self.pristine[path] or not os.path.lexists(path):
                self._restore(path)
        for path in sorted(self.pristine, reverse=True):
            if os.path.isdir(path) and not os.path.islink(path):
                self._restore_facts(path)

    def _open(self) -> None:
        """No rule of a packet filter."""
        bare = ("-P INPUT ACCEPT", "-P OUTPUT ACCEPT", "-F", "-X", "-t nat -F", "-t nat -X")
        for program in ("iptables", "ip6tables"):
            for words in bare:
                subprocess.run([program, *words.split()], check=True, capture_output=True)

    def _files(self, known: Mapping[str, Any]) -> Look:
        return {
            path: _told(path, known, found)
            for root in self.roots
            for path, found in _walk(root)
            if not path.startswith(UNSEEN)
        }

    def _mounts(self) -> list[str]:
        lines = Path("/proc/self/mounts").read_text().splitlines()
        return [" ".join(line.split()[1:4]) for line in lines]

    def _remove(self, path: str) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)

    def _restore(self, path: str) -> None:
        kept = self.keep + path
        if os.path.isdir(kept) and not os.path.islink(kept):
            os.makedirs(path, exist_ok=True)
            return
        self._remove(path)
        subprocess.run(["cp", "-a", kept, path], check=True)

    def _restore_facts(self, path: str) -> None:
        mode, uid, gid, mtime = self.pristine[path][:4]
        os.chown(path, uid, gid)
        os.chmod(path, int(mode, 8) & 0o7777)
        os.utime(path, ns=(mtime, mtime))


class Elsewhere:
    """A machine with another distribution: its files, and the stock of its fake programs."""

    def __init__(self, keep: str, distribution: Distribution) -> None:
        from small_machine import SmallMachine

        roots = ("/etc", "/mnt", "/var/cache")
        self.distribution = distribution
        self.before = Machine(f"{keep}/before", roots=roots)
        distribution.furnish()
        self.files = Machine(keep, roots=roots)
        self.host = SmallMachine(distribution.programs, distribution.release)

    def look(self) -> Look:
        """All that a state may change."""
        return {**self.files.look(), **self.host.look()}

    def reset(self) -> None:
        """As it was."""
        self.files.reset()
        self.host.reset()

    def leave(self) -> None:
        """Without what the distribution has in files."""
        self.before.reset()

    def context(self) -> Any:
        """A minion's context on it."""
        return context(self.host, self.distribution.grains)


# --- the law --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """What one run gave back; ``kind`` is the type of what was declared."""

    result: bool | None
    changes: Any
    comment: str
    kind: str
    drawn: frozenset[str] = frozenset()


@dataclass
class World:
    """A machine and what is needed to declare something on it."""

    machine: Any
    make_context: Any
    forms: Mapping[str, Form]
    lacks: Sequence[Declaration] = ()
    ctx: Any = None

    def reset(self) -> None:
        self.machine.reset()
        self.ctx = self.make_context()

    def apply(self, declaration: Declaration, *, test: bool) -> Answer:
        from saltlite.errors import SaltliteError
        from saltlite.highstate.resource import Action, Resource, Verdict, realise
        from saltlite.loader.states import resolve
        from saltlite.minion.job import as_plain

        fun, given = declaration
        kind, drawn = "Verdict", frozenset[str]()
        try:
            declared = resolve(fun, self.ctx).call(**copy.deepcopy(given))
            kind = next(
                (each.__name__ for each in (Resource, Action) if isinstance(declared, each)), kind
            )
            if isinstance(declared, Resource):
                drawn = declared.drawn
            found = realise(declared, self.ctx, test=test)
        except SaltliteError as error:
            found = Verdict(result=False, comment=str(error))
        assert isinstance(found, Verdict)
        return Answer(found.result, as_plain(found.changes), found.comment, kind, drawn)


def differences(before: Look, after: Look, hidden: Sequence[str]) -> list[str]:
    """What of the machine is another, one line each; ``hidden`` is not looked at."""
    return [
        f"{what}: {_short(before.get(what))} -> {_short(after.get(what))}"
        for what in sorted({*before, *after})
        if before.get(what) != after.get(what) and not what.startswith(tuple(hidden))
    ]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHORT else f"{text[:SHORT]}..."


def broken(world: World, declaration: Declaration) -> tuple[list[str], bool]:
    """What of the law one declaration breaks, and whether it changed the machine."""
    hidden = () if declaration[0] in CACHING else (CACHE,)
    before = world.machine.look()
    said = world.apply(declaration, test=True)
    untouched = world.machine.look()
    wrong = [f"a test run changed {line}" for line in differences(before, untouched, hidden)]
    refusals = _refusals(world)
    came = world.apply(declaration, test=False)
    after = world.machine.look()
    moved = differences(untouched, after, hidden)
    wrong += _foretold(declaration[0], said, came, moved)
    if refusals is not None and _fails(said, came) and _refusals(world) == refusals:
        wrong.append("it was possible before, no program refused, and it failed")
    if came.result and came.kind == "Resource":
        again = world.apply(declaration, test=False)
        if (again.result, again.changes) != (True, {}):
            wrong.append(f"a second run gave {again.result} {again.changes} {again.comment!r}")
        later = differences(after, world.machine.look(), hidden)
        wrong += [f"a second run changed {line}" for line in later]
        late = world.apply(declaration, test=True)
        if (late.result, late.changes) != (True, {}):
            wrong.append(
                f"a test run afterwards said {late.result} {late.changes} {late.comment!r}"
            )
    if wrong:
        wrong.append(f"(test: {said.result} {said.changes} {said.comment!r})")
        wrong.append(f"(real: {came.result} {came.changes} {came.comment!r})")
    return wrong, bool(moved)


def _refusals(world: World) -> int | None:
    """How often programs refused so far; ``None`` on machines that do not tell."""
    return world.machine.host.refusals() if isinstance(world.machine, Elsewhere) else None


def _fails(said: Answer, came: Answer) -> bool:
    """Whether a resource failed that a test run had seen coming.

    What is not there may come with an earlier state of the same run: a test run trusts in it.
    """
    trusted = any(words in came.comment for words in ("is not available", "No version matching"))
    return came.kind == "Resource" and said.result is None and came.result is False and not trusted


def refused(world: World, declaration: Declaration) -> list[str]:
    """What is wrong with the answer to something that this machine has not the means for."""
    before = world.machine.look()
    said = world.apply(declaration, test=True)
    came = world.apply(declaration, test=False)
    wrong = differences(before, world.machine.look(), ())
    wrong = [f"what cannot be done changed {line}" for line in wrong]
    if (came.kind, came.result, came.changes) != ("Verdict", False, {}):
        wrong.append(f"what cannot be done was declared ({came.kind}, {came.result})")
    if said != came:
        wrong.append(f"what cannot be done is another in a test run: {said} {came}")
    return wrong


def _foretold(fun: str, said: Answer, came: Answer, moved: list[str]) -> list[str]:
    """Whether the test run told what came."""
    if came.kind == "Verdict":
        wrong = [f"what was known already changed {line}" for line in moved]
        return wrong if said == came else [*wrong, "what was known is another in a test run"]
    if came.result is False:
        wrong = ["a test run said it was so already, and then it failed"] if said.result else []
        refused = said.result is False and came.kind == "Resource"
        return wrong + [f"what was refused changed {line}" for line in moved if refused]
    if said.result is False:
        return ["a test run said that it fails, and then it worked"]
    if came.kind == "Action" and (FORMS[fun].repeats or fun.endswith(".mod_watch")):
        did = said.result is True and (moved or came.changes)
        return ["a test run said there is nothing to do, and it did something"] if did else []
    return _announced(said, came, moved)


def _announced(said: Answer, came: Answer, moved: list[str]) -> list[str]:
    """Whether changes that came were announced; those of a resource word for word."""
    wrong = []
    if (said.result is None) is not bool(came.changes):
        wrong.append("the test run's None is not the real run's changes")
    if moved and not came.changes:
        wrong += [f"without a word of it changed {line}" for line in moved]
    if came.changes and not moved:
        wrong.append("changes are told where nothing changed")
    if came.kind == "Resource" and not same(said.changes, came.changes, came.drawn):
        wrong.append(f"foretold {said.changes} and came {came.changes}")
    return wrong


def same(said: Any, came: Any, drawn: frozenset[str] = frozenset()) -> bool:
    """Whether the changes that came were foretold; those that are ``drawn`` need not be.

    As in Salt a new file is told by ``newfile`` before, and by its diff and mode afterwards.
    """
    if not isinstance(said, dict) or not isinstance(came, dict):
        return bool(said == came)
    if "newfile" in said:
        return {*came} <= OF_NEW_FILES
    told = {*said, *(key for key in came if key not in drawn)}
    return all(key in said and key in came and same(said[key], came[key], drawn) for key in told)


# --- sequences ------------------------------------------------------------------------------------


def run_sequence(world: World, steps: Sequence[Declaration]) -> tuple[int, list[str]] | None:
    """The first declaration that breaks the law, and how."""
    world.reset()
    for number, step in enumerate(steps):
        wrong, _ = broken(world, step)
        if wrong:
            return number, wrong
    return None


def shrunk(world: World, steps: list[Declaration], wrong: list[str]) -> tuple[Any, list[str]]:
    """The same violation with fewer declarations and arguments."""
    kind = wrong[0].split()[:4]

    def still(fewer: list[Declaration]) -> bool:
        nonlocal wrong
        found = run_sequence(world, fewer)
        if found is None or found[0] != len(fewer) - 1 or found[1][0].split()[:4] != kind:
            return False
        wrong = found[1]
        return True

    for number in reversed(range(len(steps) - 1)):
        fewer = [*steps[:number], *steps[number + 1 :]]
        if still(fewer):
            steps = fewer
    for number in range(len(steps)):
        fun, given = steps[number]
        for name in list(world.forms[fun].may):
            less = {key: value for key, value in given.items() if key != name}
            fewer = [*steps[:number], (fun, less), *steps[number + 1 :]]
            if name in given and still(fewer):
                steps, given = fewer, less
    return steps, wrong


@dataclass
class Counts:
    """How often each function was drawn, and how often it changed the machine."""

    drawn: Counter[tuple[str, str]] = field(default_factory=Counter)
    moved: Counter[tuple[str, str]] = field(default_factory=Counter)


def rounds(name: str, world: World, seed: int, count: int, counts: Counts) -> Iterator[Any]:
    """Violations of ``count`` rounds; in each one every function of the world comes once."""
    functions = sorted(world.forms)
    for number in range(seed, seed + count):
        rng = random.Random(f"{name} {number}")
        order = rng.sample(functions, len(functions))
        while len(order) < STEPS:
            order.append(rng.choice(functions))
        for begin in range(0, len(order), STEPS):
            steps = [(fun, world.forms[fun].drawn(rng)) for fun in order[begin : begin + STEPS]]
            yield from _violations(world, steps, f"{name} {number}", counts)


def _violations(
    world: World, steps: list[Declaration], seed: str, counts: Counts
) -> Iterator[dict[str, Any]]:
    world.reset()
    name = seed.split()[0]
    done: list[Declaration] = []
    for step in steps:
        counts.drawn[name, step[0]] += 1
        try:
            wrong, moved = broken(world, step)
        except Exception as error:  # noqa: BLE001 - a fault is a violation with its declaration
            import traceback

            where = traceback.format_exc().splitlines()[-3:]
            wrong, moved = [f"a fault: {error!r}", *where], True
            yield {"seed": seed, "broken": wrong, "steps": [*done, step]}
            world.reset()
            done = []
            continue
        counts.moved[name, step[0]] += moved
        done.append(step)
        if wrong:
            few, wrong = shrunk(world, done, wrong)
            yield {"seed": seed, "broken": wrong, "steps": few}
            world.reset()  # goes on with the machine as it would be
            done = []


def refusals(name: str, world: World, seed: int) -> Iterator[dict[str, Any]]:
    """Violations of what the machine lacks the means for."""
    for declaration in world.lacks:
        world.reset()
        wrong = refused(world, declaration)
        if wrong:
            yield {"seed": f"{name} {seed}", "broken": wrong, "steps": [declaration]}


# --- worlds ---------------------------------------------------------------------------------------


def make_worlds(keep: str, wanted: Sequence[str]) -> Iterator[tuple[str, World]]:
    """The worlds by name, made one after the other."""
    forms: dict[str, dict[str, Form]] = {}
    for fun, form in FORMS.items():
        forms.setdefault(form.world, {})[fun] = form
    for name in sorted({*forms, *DISTRIBUTIONS}):
        place = f"{keep}/{name}"
        if wanted and name not in wanted:
            continue
        if name in DISTRIBUTIONS:
            there = DISTRIBUTIONS[name]
            elsewhere = Elsewhere(place, there)
            yield name, World(elsewhere, elsewhere.context, there.forms, there.lacks)
            elsewhere.leave()
        elif name == "machine":
            from package_machine import KeptMachine

            kept = KeptMachine()
            yield name, World(kept, kept.context, forms[name], APT_LACKS)
        else:
            machine = Machine(place, filters=name == "iptables")
            yield name, World(machine, context, forms[name])


def context(host: Any = None, facts: Mapping[str, Any] | None = None) -> Any:
    """A minion's context in this namespace, on a Debian unless the grains are others."""
    from saltlite.config.minion import FileOptions, MinionConfig, PathOptions
    from saltlite.context import MinionContext
    from saltlite.host import Host
    from saltlite.loader.registry import Registry

    config = MinionConfig(
        paths=PathOptions(cachedir="/mnt/cache", conf_file="/mnt/conf/minion"),
        files=FileOptions(file_client="local", file_roots={"base": ["/mnt/srv"]}),
    )
    grains = {
        "id": "x", "os_family": "Debian", "os": "Debian", "osarch": "amd64", "kernel": "Linux",
        "osmajorrelease": 12, "systemd": {"version": "252"}, "oscodename": "bookworm",
    }  # fmt: skip
    pillar = {
        "motd": "from pillar\n", "lines": ["one", "two"], "a": {"b": "nested"},
        "data": {"k": "v", "n": 1}, "coded": "b25lCg==",
    }  # fmt: skip
    known = grains if facts is None else dict(facts)
    ctx = MinionContext(config=config, host=host or Host(), grains=known, pillar=pillar)
    ctx.functions = Registry(ctx)
    return ctx


def look_at_fakes() -> None:
    """For this process, which is the machine's own: the kernel's files are ours."""
    from saltlite.providers.kernel import modules
    from saltlite.providers.network import ifupdown
    from saltlite.providers.selinux import policy

    ifupdown.SYS_NET = "/etc/fakenet"
    policy.MOUNTED = ("/etc/fakeselinux",)
    modules.PROC_MODULES = "/etc/fakemodules"


def furnish() -> None:
    """What is on the pristine machine."""
    texts = {
        "t/a": "one\ntwo\nthree\n", "t/b": "k=v\nother = 1\n", "t/d/x": "one\n",
        "t/d/s/y": "two\n", "t/a.ini": "[s1]\na = 1\nb = two\n[s2]\na = 1\n", "t/sw1": "x",
        "t/backups/b-20200101": "", "t/backups/b-20200102": "", "t/backups/b-20210101": "",
        "t/node/package.list": "a@1.0.0\n", "t/sysctl.conf": "net.a = 1\n",
        "srv/plain": "plain\nsrc\n", "srv/page": "v={{ v }} {{ grains.id }}\n",
        "srv/broken": "{% if %}\n", "srv/tree/a": "A\n", "srv/tree/t.txt": "v={{ v }}\n",
        "srv/tree/sub/b": "B\n", "srv/tree/sub/deep/c": "C\n", "srv/req.txt": "a\nc==1.0\n",
        "srv/keys": f"ssh-ed25519 {OTHER_KEY} k\n",
        "srv/tab": "* * * * * /bin/x {{ v }}\n", "srv/tab2": "5 * * * * /bin/y\n",
        "srv/answers": "pkga pkga/q string one\npkgb pkgb/q boolean true\n",
        "srv/script": "#!/bin/sh\necho $1 > /mnt/t/ran\necho changed=yes\n",
        "src_1.5.package": "",
        "srv/a.patch": "--- a\n+++ a\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n",
    }  # fmt: skip
    for name, text in texts.items():
        path = Path("/mnt", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in ("t/e", "t/m1", "srv/tree/empty", "cache", "conf"):
        Path("/mnt", name).mkdir(parents=True, exist_ok=True)
    Path(f"{T}/ln").symlink_to("a")
    Path("/mnt/srv/tree/ln").symlink_to("a")
    Path("/etc/aliases").write_text("# table\npostmaster:  root\nmulti: a, b\n")
    Path("/etc/fakemodules").write_text("busy 4096 1 - Live 0x0\n")
    for name in ("fakecron", "fakesysctl"):
        Path("/etc", name).mkdir(exist_ok=True)
    for name in ("fakepip", "fakenpm", "fakegems", "fakedebconf", "fakelog", "fakenpmcache"):
        Path("/etc", name).touch()
    Path("/etc/fakepip").write_text("a==1.5\n")
    Path("/etc/fakegems").write_text("a (1.0.0)\n")
    Path("/etc/fakegemsources").write_text("https://rubygems.org/\n")
    for name, value in (("net.a", "1"), ("net.b", "3\t4")):
        Path("/etc/fakesysctl", name).write_text(f"{value}\n")
    for path, text in (("fakeselinux/enforce", "1"), ("selinux/config", "SELINUX=enforcing\n")):
        Path("/etc", path).parent.mkdir(exist_ok=True)
        Path("/etc", path).write_text(text)
    for path, text in (
        ("interfaces", "# mine\nauto lo e1\niface lo inet loopback\n\niface e1 inet dhcp\n"),
        ("if-up.d/keep", ""),
        ("if-down.d/keep", ""),
    ):
        Path("/etc/network", path).parent.mkdir(parents=True, exist_ok=True)
        Path("/etc/network", path).write_text(text)
    Path("/etc/resolv.conf").write_text("domain old.org\nnameserver 10.0.0.1\n")
    _pack()
    if shutil.which("git"):
        _commit()


def _pack() -> None:
    import tarfile
    import zipfile

    with tarfile.open("/mnt/srv/a.tar.gz", "w:gz") as packed:
        packed.add("/mnt/srv/tree", "top")
    with tarfile.open("/mnt/srv/flat.tgz", "w:gz") as packed:
        packed.add("/mnt/srv/tree/a", "one")
        packed.add("/mnt/srv/tree/sub", "two")
    with zipfile.ZipFile("/mnt/srv/a.zip", "w") as packed:
        packed.writestr("top/a", "A\n")


def _commit() -> None:
    who = {
        f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    script = """
    set -e
    git init -q --template= -b master /mnt/w && cd /mnt/w
    echo 1 > f && git add f && git commit -q -m one && git tag v1
    echo 2 > f && git commit -q -a -m two
    git checkout -q -b develop && echo 3 > d && git add d && git commit -q -m dev
    git checkout -q master && git clone -q --template= --bare . /mnt/up.git
    git clone -q --template= /mnt/up.git /mnt/t/clone && cd /mnt/t/clone && git reset -q --hard v1
    rm -rf /mnt/w
    """
    subprocess.run(["sh", "-c", script], env={**os.environ, **who}, check=True)


def held(seed: int, rounds: int, worlds: Sequence[str], work: Path) -> list[Any]:
    """What ``main`` writes, from namespaces of its own."""
    from isolated_states import in_namespace

    argv = [sys.executable, __file__, "--seed", str(seed), "--rounds", str(rounds), *worlds]
    return in_namespace(["sh", "-c", SETUP, "sh", str(ROOT), *argv], [], work)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("worlds", nargs="*")
    asked = parser.parse_args()
    os.environ["HOME"] = "/home"
    look_at_fakes()
    furnish()
    keep = "/run/law"
    counts = Counts()
    for name, world in make_worlds(keep, asked.worlds):
        found = rounds(name, world, asked.seed, asked.rounds, counts)
        for violation in itertools.chain(found, refusals(name, world, asked.seed)):
            print(json.dumps(violation, default=repr), flush=True)
        world.reset()
    for (name, fun), drawn in sorted(counts.drawn.items()):
        moved = counts.moved[name, fun]
        print(json.dumps({"world": name, "fun": fun, "drawn": drawn, "moved": moved}))


if __name__ == "__main__":
    main()
