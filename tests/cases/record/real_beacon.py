"""Call the functions of real Salt's beacons on recorded data; run by its Python.

    python real_beacon.py < CASES

CASES is JSON as in tests/cases/data/beacons/functions.json. Of each case ``valid`` and ``looks``
are printed, in order: what ``validate`` says, and the events of one look after the other. What the
beacon asks of its machine is answered from the case.
"""

import base64
import datetime
import importlib
import json
import logging
import sys
import tempfile
import types
import uuid


def main():
    logging.disable()
    print(json.dumps([answer(case) for case in json.load(sys.stdin)]))


def answer(case):
    module = importlib.import_module(f"salt.beacons.{case['beacon']}")
    module.__context__ = {}
    module.__salt__ = {}
    said = {"valid": list(module.validate(case["config"]))}
    if said["valid"][0]:
        said["looks"] = list(LOOKS[case["beacon"]](module, case))
    return said


def look_at_shells(module, case):
    module.__salt__ = {"cmd.shells": lambda: case["shells"],
                       "status.procs": lambda: case["procs"]}  # fmt: skip
    written = {}

    class Terminal:
        """A strace that has written what the case says."""

        def __init__(self, argv, **_options):
            self.pid = argv[-1]
            written.setdefault(self.pid, "")

        has_unread_data = property(lambda self: bool(written[self.pid]))

        def recv(self):
            text, written[self.pid] = written[self.pid], ""
            return "", text

        def isalive(self):
            return True

    module.salt.utils.vt.Terminal = Terminal
    module.beacon(case["config"])
    for look in case["given"]:
        written.update(look)
        yield module.beacon(case["config"])


def look_at_haproxy(module, case):
    for look in case["given"]:
        module.__salt__ = {
            "haproxy.get_sessions": lambda server, backend, look=look: look.get(
                f"{backend}/{server}"
            )
        }
        yield module.beacon(case["config"])


def look_at_packages(module, case):
    for look in case["given"]:
        module.__salt__ = {
            "pkg.version": lambda name, look=look, **_options: look.get(name, ["", ""])[0],
            "pkg.latest_version": lambda name, look=look, **_options: look.get(name, ["", ""])[1],
        }
        yield module.beacon(case["config"])


def look_at_journal(module, case):
    waiting = []
    reader = types.SimpleNamespace(
        seek_tail=lambda: None, get_previous=lambda: None,
        get_next=lambda: waiting.pop(0) if waiting else {},
    )  # fmt: skip
    module.systemd = types.SimpleNamespace(journal=types.SimpleNamespace(Reader=lambda: reader))
    for look in case["given"]:
        waiting += [{name: convert(name, value) for name, value in one.items()} for one in look]
        yield module.beacon(case["config"])


NUMBERS = ("PRIORITY", "SYSLOG_FACILITY", "SYSLOG_PID", "_PID", "_UID", "_GID", "ERRNO")
IDS = ("MESSAGE_ID", "_BOOT_ID", "_MACHINE_ID")
TIMES = ("__REALTIME_TIMESTAMP", "_SOURCE_REALTIME_TIMESTAMP")


def convert(name, value):
    """A field of journalctl's JSON as python-systemd gives it."""
    if isinstance(value, list):
        is_binary = all(isinstance(one, int) for one in value)
        return bytes(value) if is_binary else [convert(name, one) for one in value]
    if name in NUMBERS:
        return int(value) if value.isdecimal() else value
    if name in IDS:
        return uuid.UUID(value)
    if name in TIMES:
        return datetime.datetime.fromtimestamp(int(value) / 1e6, datetime.timezone.utc)
    return value


def look_at_logins(module, case):
    module.__salt__ = {"group.info": lambda name: case.get("groups", {}).get(name)}
    with tempfile.NamedTemporaryFile() as file:
        module.WTMP = module.BTMP = file.name
        file.write(base64.b64decode(case["old"]))
        file.flush()
        module.beacon(case["config"])
        for look in case["given"]:
            file.write(base64.b64decode(look))
            file.flush()
            yield module.beacon(case["config"])


LOOKS = {
    "sh": look_at_shells, "haproxy": look_at_haproxy, "pkg": look_at_packages,
    "journald": look_at_journal, "wtmp": look_at_logins, "btmp": look_at_logins,
}  # fmt: skip


if __name__ == "__main__":
    main()
