"""Users, groups and passwords: changed for real in a namespace, as real Salt changed them."""

from __future__ import annotations

import json
import shutil
import time

import isolated
import pytest
from repository import DATA

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry
from saltlite.providers.accounts import busybox, files, hashes, provider
from saltlite.providers.accounts.plans import NewGroup, NewUser

CASES = DATA / "accounts"


class Recorded(Host):
    """A host whose commands do nothing and are kept."""

    def __init__(self, programs=("useradd", "/bin/bash")):
        self.ran = []
        self.programs = programs

    def run(self, command, **options):
        self.ran.append(" ".join(command))
        return Completed(1, 0, "", "")

    def which(self, name):
        return name if name in self.programs else None


def make(host):
    ctx = MinionContext(config=MinionConfig(), host=host, grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


def need_shadow_utils():
    for program in ("useradd", "usermod", "gpasswd", "chage", "passwd"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")


def test_as_real_salt_does(tmp_path):
    need_shadow_utils()
    recorded = json.loads((CASES / "calls.json").read_text())
    found = isolated.answers([call for call, _ in recorded], CASES / "etc", tmp_path)
    today = int(time.time() // 86400)
    values = (expected.get("return") for _, expected in recorded)
    shadows = [value for value in values if isinstance(value, dict) and value.get("lstchg")]
    day_of_recording = max(value["lstchg"] for value in shadows)
    wrong = []
    for (call, expected), answer in zip(recorded, found, strict=True):
        value = expected.get("return")
        if isinstance(value, dict) and value.get("lstchg") == day_of_recording:
            value["lstchg"] = today
        if answer != expected:
            wrong.append((call, expected, answer))
    assert wrong == []


def test_another_root(tmp_path):
    need_shadow_utils()
    isolated.unshare()
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    for source in (CASES / "etc").iterdir():
        (root / "etc" / source.name).write_bytes(source.read_bytes())
    (root / "etc/login.defs").write_text("USERGROUPS_ENAB yes\n")
    call = make(Host()).functions.call
    at = {"root": str(root)}
    assert call("user.add", "zoe", uid=4321, groups=["adm"], fullname="Zoe", **at) is True
    assert call("user.info", "zoe", **at)["groups"] == ["adm", "zoe"]
    assert call("user.info", "zoe") == {}
    assert call("user.chshell", "zoe", "/bin/true", **at) is True
    assert call("user.rename", "zoe", "zed", **at) is True
    assert call("shadow.set_password", "zed", "$6$a$b", **at) is True
    assert call("shadow.info", "zed", **at)["passwd"] == "$6$a$b"
    assert call("shadow.set_password", "nosuch", "$6$a$b", **at) is False
    assert call("shadow.lock_password", "zed", **at) is True
    assert call("group.members", "man", "zed,gecos", **at) is True
    assert call("group.info", "man", **at)["members"] == ["zed", "gecos"]
    assert call("group.add", "new", 777, **at) is True
    assert call("user.delete", "zed", **at) is True
    assert "zed" not in call("user.list_users", **at)
    assert (root / "etc/shadow").stat().st_mode & 0o777 == 0o644  # as it was


def test_where_accounts_cannot_be_locked(tmp_path):
    with pytest.raises(FunctionError, match="Unable to lock"):
        make(Host()).functions.call("shadow.set_password", "x", "y", root=str(tmp_path / "no"))


def test_a_hash_cannot_bring_a_field_along(tmp_path):
    with pytest.raises(FunctionError, match="colon"):
        make(Host()).functions.call("shadow.set_password", "x", "y:0", root=str(tmp_path))


def test_missing_mail_box_is_no_failure():
    class Host12(Recorded):
        def run(self, command, **options):
            return Completed(1, 12, "", "userdel: bob mail spool (/var/mail/bob) not found")

    assert make(Host12()).functions.call("user.delete", "bob", remove=True) is True


def test_gecos_round():
    parts = files.parse_gecos("A B,1,2,3,x,y")
    assert parts["other"] == "x,y"
    assert files.build_gecos(parts) == "A B,1,2,3,x,y"
    assert files.build_gecos({"fullname": "A"}) == "A"
    assert files.parse_gecos("") == dict.fromkeys(files.GECOS_FIELDS, "")


def test_odd_lines_are_left_out():
    assert files.parse_passwd("+::::::\n#x\n\nroot:x:0\nb:x:1:2:g:/h:/s\n") == [
        files.PasswdLine("b", "x", 1, 2, "g", "/h", "/s")
    ]
    assert files.parse_shadow("a:!:::::::\n") == [files.Shadow("a", "!", -1, -1, -1, -1, -1, -1)]


def test_shadow_text_changes_one_line():
    text = "a:x:1:0:9:7:::\nab:y:1:0:9:7:::\n"
    assert files.with_password(text, "ab", "z", 5) == "a:x:1:0:9:7:::\nab:z:5:0:9:7:::\n"
    assert files.with_password(text, "b", "z", 5) is None


def test_busybox_is_for_systems_without_useradd():
    host = Recorded(programs=("adduser", "/bin/bash"))
    ctx = make(host)
    assert isinstance(provider(ctx), busybox.BusyboxTools)
    assert ctx.functions.call("user.add", "bob", 7, "users", home="/h", shell="/bin/ash") is True
    assert ctx.functions.call("user.delete", "bob", remove=True) is True
    assert ctx.functions.call("group.add", "g", 9, system=True) is True
    assert ctx.functions.call("group.adduser", "g", "bob") is True
    assert ctx.functions.call("group.delete", "g") is True
    assert ctx.functions.call("user.chgroups", "bob", "a,b", append=True) is True
    assert host.ran == [
        "adduser -D -h /h -s /bin/ash -G users -u 7 bob",
        "deluser --remove-home bob",
        "addgroup -g 9 -S g",
        "addgroup bob g",
        "delgroup g",
        "addgroup bob a",
        "addgroup bob b",
    ]
    steps = busybox.BusyboxTools().set_groups("u", ["a"], ["a", "b"], append=False, root=None)
    assert steps == [["delgroup", "u", "b"]]
    for plan in (NewUser(name="a", root="/r"), NewUser(name="a", unique=False)):
        with pytest.raises(FunctionError, match="package shadow"):
            busybox.BusyboxTools().add_user(plan)
    with pytest.raises(FunctionError, match="package shadow"):
        busybox.BusyboxTools().add_group(NewGroup(name="g", gid=1, non_unique=True))
    assert busybox.BusyboxTools().delete_member("g", "u", root=None) == ["delgroup", "u", "g"]


@pytest.mark.parametrize("algorithm", sorted(hashes.ALGORITHMS))
def test_a_hash_checks_itself(algorithm):
    prefix, _ = hashes.ALGORITHMS[algorithm]
    made = hashes.hash_password("s3cret", None, algorithm)
    assert made.startswith(prefix)
    salt = made[len("$2b$") if algorithm == "blowfish" else len(prefix) :]
    if algorithm != "crypt":
        salt = salt.rpartition("$")[0] or salt
    salt = salt[:2] if algorithm == "crypt" else made[4:29] if algorithm == "blowfish" else salt
    assert hashes.hash_password("s3cret", salt, algorithm) == made


def test_unknown_algorithm():
    with pytest.raises(FunctionError, match="Cannot hash using 'rot13'"):
        hashes.hash_password("x", None, "rot13")
