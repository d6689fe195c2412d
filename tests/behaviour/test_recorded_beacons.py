"""What real Salt's beacon functions said of given machines, and what ours say of the same."""

import base64
import grp
import json
from types import SimpleNamespace

import pytest
from repository import DATA

from cluster import eventually
from saltlite.beacons import haproxy, pkg
from saltlite.config.minion import MinionConfig
from saltlite.context import BeaconContext, MinionContext
from saltlite.core.beacons import BadBeacon, read_beacon
from saltlite.host import Host
from saltlite.loader.catalogue import BEACONS
from saltlite.loader.registry import with_functions
from saltlite.providers.watch import shells
from saltlite.providers.watch.journal import NOT_SIMPLE

CASES = json.loads((DATA / "beacons/functions.json").read_text())

VALID_HERE = {"no list": "a map is taken for a list"}
"""Configurations that real Salt refuses, and why they are right here. See docs/differences.md."""

REFUSED_HERE = {("journald", "no services"): "requires services"}
"""Configurations that real Salt takes and does nothing with."""

OTHER_FIELDS = {
    "journald": NOT_SIMPLE,  # real Salt's are texts of Python's: datetime.datetime(...)
    "wtmp": {"exit_status", "session", "time", "addr"},  # real Salt's are each other's
    "btmp": {"exit_status", "session", "time", "addr"},
}

OTHER_EVENTS = {
    ("sh", "quotes, the word itself, the second half"): [
        {"tag": "10", "cmd": "/usr/bin/a", "args": ["a", 'b\\"c'], "user": "anna"},
        {"tag": "10", "cmd": "/usr/bin/grep", "args": ["grep", "execve", "file"], "user": "anna"},
    ],
}
"""Where real Salt's events are wrong: these are right."""


def name_of(case):
    return f"{case['beacon']}: {case['name']}"


def options_of(case):
    return read_beacon("name", case["config"]).options


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_what_is_valid(case):
    is_valid, text = case["salt"]["valid"]
    try:
        ours = BEACONS.load(case["beacon"]).validate(options_of(case))
    except BadBeacon as error:
        ours = False, str(error)
    if (case["beacon"], case["name"]) in REFUSED_HERE:
        assert is_valid
        assert REFUSED_HERE[case["beacon"], case["name"]] in ours[1]
    elif case["name"] in VALID_HERE:
        assert not is_valid
        assert text == f"Configuration for {case['beacon']} beacon must be a list."
    else:
        assert ours[0] == is_valid, ours
        if case["beacon"] in ("haproxy", "sh"):
            assert ours[1] == text


@pytest.mark.parametrize(
    "case",
    [
        one
        for one in CASES
        if one["given"]
        and "looks" in one["salt"]
        and (one["beacon"], one["name"]) not in REFUSED_HERE
    ],
    ids=name_of,
)
def test_events_are_those_of_real_salt(case, tmp_path, monkeypatch):
    wanted = [event for look in case["salt"]["looks"] for event in look]
    looks = LOOKS[case["beacon"]](case, tmp_path, monkeypatch)
    found = [event for look in looks for event in look]
    if (case["beacon"], case["name"]) in OTHER_EVENTS:
        wanted = OTHER_EVENTS[case["beacon"], case["name"]]
    left_out = OTHER_FIELDS.get(case["beacon"], set())
    assert [plain(one, left_out) for one in found] == [plain(one, left_out) for one in wanted]


def plain(event, left_out):
    kept = {key: value for key, value in event.items() if key not in left_out}
    if event.get("MESSAGE") in ("b'hi\\xff'", "hi\ufffd"):
        kept["MESSAGE"] = "bytes that are no text"
    return kept


def context(host=None):
    minion = MinionContext(config=MinionConfig(), host=host or Host(), grains={}, pillar={})
    return BeaconContext(with_functions(minion), "name", lambda: 0.0)


def run(case, ctx):
    return BEACONS.load(case["beacon"]).beacon(ctx, options_of(case))


# --- machines --------------------------------------------------------------------------------


def look_at_logins(case, tmp_path, monkeypatch):
    path = tmp_path / case["beacon"]
    path.write_bytes(base64.b64decode(case["old"]))
    monkeypatch.setattr(BEACONS.load(case["beacon"]), "PATH", str(path))
    groups = {
        name: SimpleNamespace(gr_mem=one["members"], gr_gid=-1)
        for name, one in case.get("groups", {}).items()
    }
    monkeypatch.setattr(grp, "getgrnam", groups.__getitem__)
    ctx = context()
    assert run(case, ctx) == []
    for look in case["given"]:
        with path.open("ab") as file:
            file.write(base64.b64decode(look))
        yield run(case, ctx)


def look_at_packages(case, tmp_path, monkeypatch):
    look = {}

    class Manager:
        def list_installed(self):
            return {name: [one[0]] for name, one in look.items() if one[0]}

        def available(self, names, options):
            return {name: look[name][1] for name in names if name in look}

        def refresh(self, options):
            """Nothing is fetched."""

    monkeypatch.setattr(pkg.pkg, "provider", lambda minion: Manager())
    monkeypatch.setattr(pkg.pkg, "database_stamps", lambda minion: None)
    ctx = context()
    for one in case["given"]:
        look.clear()
        look.update(one)
        yield run(case, ctx)


def look_at_haproxy(case, tmp_path, monkeypatch):
    for look in case["given"]:
        rows = [f"{name.replace('/', ',')},0,0,{count},9" for name, count in look.items()]
        text = "\n".join(["# pxname,svname,qcur,qmax,scur,smax", *rows, ""])
        monkeypatch.setattr(haproxy.haproxy, "find_socket", lambda host: "/there")
        monkeypatch.setattr(haproxy.haproxy, "read_statistics", lambda path, text=text: text)
        yield run(case, context())


class Programs(Host):
    """A machine with one program of ours, and these processes."""

    def __init__(self, program, processes=(), shells=()):
        self._program, self._processes, self._shells = program, processes, shells

    def which(self, name):
        return str(self._program)

    def names(self, path):
        return list(self._processes)

    def read_text(self, path):
        if path == shells.SHELLS_FILE:
            return "\n".join(["# shells", "", *self._shells])
        pid, name = path.split("/")[2:]
        one = self._processes[pid]
        return {
            "status": f"Name:\t{one['user']}\nUid:\t{one['user']}\n",
            "cmdline": one["cmd"].replace(" ", "\0"),
        }[name]


def look_at_journal(case, tmp_path, monkeypatch):
    """A ``journalctl`` that follows one file after another, each until it is asked for more."""
    program = tmp_path / "journalctl"
    feed = tmp_path / "feed"
    feed.touch()
    program.write_text(f"#!/bin/sh\nexec tail -s 0.02 -n +1 -f {feed}\n")
    program.chmod(0o755)
    ctx = context(Programs(program))
    end = {"END": "1"}
    assert run(case, ctx) == []
    try:
        for look in case["given"]:
            with feed.open("a") as file:
                file.write("".join(json.dumps(one) + "\n" for one in [*look, end]))
            found = []
            journal = ctx.kept["journal"]

            class Tee:
                def entries(self, journal=journal, found=found):
                    entries = journal.entries()
                    found += entries
                    return [one for one in entries if one != end]

            ctx.kept["journal"] = Tee()
            events = []

            def arrive(events=events, found=found):
                events += run(case, ctx)
                return end in found

            eventually(arrive, within_s=20, what="the entries")
            ctx.kept["journal"] = journal
            yield events
    finally:
        BEACONS.load("journald").close(ctx, {})


def look_at_shells(case, tmp_path, monkeypatch):
    """A ``strace`` that writes the same, and goes on running."""
    last = "/bin/last"
    written = {}
    for look in case["given"]:
        for pid, text in look.items():
            written[pid] = written.get(pid, "") + text
    for pid in case["procs"]:
        text = written.get(pid, "") + f'execve("{last}", ["last"], 0x1 /* 1 var */) = 0\n'
        (tmp_path / pid).write_text(text)
    program = tmp_path / "strace"
    program.write_text(
        f'#!/bin/sh\nfor pid; do :; done\ncat "{tmp_path}/$pid" >&2\nexec tail -f /dev/null\n'
    )
    program.chmod(0o755)
    ctx = context(Programs(program, case["procs"], case["shells"]))
    monkeypatch.setattr(shells.processes, "_find_user", lambda s: s.split("Uid:\t")[1].strip())
    found = []

    def arrive():
        found.extend(run(case, ctx))
        return sum(one["cmd"] == last for one in found) == 3

    try:
        eventually(arrive, within_s=20, what="what the tracers have written")
    finally:
        BEACONS.load("sh").close(ctx, {})
    order = [pid for look in case["given"] for pid in look]
    events = [one for one in found if one["cmd"] != last]
    yield sorted(events, key=lambda one: order.index(one["tag"]))


LOOKS = {
    "sh": look_at_shells, "haproxy": look_at_haproxy, "pkg": look_at_packages,
    "journald": look_at_journal, "wtmp": look_at_logins, "btmp": look_at_logins,
}  # fmt: skip


def test_every_recorded_beacon_is_looked_at():
    assert {one["beacon"] for one in CASES} == set(LOOKS)
    assert len(CASES) > 40
