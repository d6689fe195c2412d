"""Attributes, and contexts of SELinux."""

from __future__ import annotations

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import UsageError
from saltlite.host import Completed, Host
from saltlite.modules.file import labels
from saltlite.providers.file import permissions


class Recorded(Host):
    """A host that keeps commands and answers all alike."""

    def __init__(self, answer="", exit_code=0):
        self.ran, self.answer, self.exit_code = [], answer, exit_code

    def run(self, command, **options):
        self.ran.append(command)
        return Completed(7, self.exit_code, self.answer, "")

    def which(self, name):
        return f"/bin/{name}"


def make(host):
    return MinionContext(config=MinionConfig(), host=host, grains={}, pillar={})


def test_attributes_are_read_and_changed():
    shown = "----A---------e------- /x/a b\n--------------e------- /x/c\nlsattr: no /x/d\n"
    assert permissions.parse_attributes(shown) == {"/x/a b": ["A", "e"], "/x/c": ["e"]}
    assert permissions.compare_attributes(["A", "e"], "d") == ("d", "A")
    assert permissions.compare_attributes(["e"], "") == ("", "")
    host = Recorded()
    assert labels.chattr(make(host), "/a", "/b", operator="add", attributes="ai", version=5)
    assert host.ran == [["chattr", "+ai", "-v", "5", "/a", "/b"]]
    assert not permissions.change_attributes(Recorded(exit_code=1), ["/a"], "remove", "i")
    with pytest.raises(UsageError, match=r"Need an operator"):
        labels.chattr(make(host), "/a", attributes="a")
    with pytest.raises(UsageError, match=r"Need attributes"):
        labels.chattr(make(host), "/a", operator="add")


def test_contexts_of_selinux():
    host = Recorded("system_u:object_r:etc_t:s0 /etc/hosts\n")
    assert labels.get_selinux_context(make(host), "/etc/hosts") == "system_u:object_r:etc_t:s0"
    none = Recorded("? /etc/hosts\n")
    text = "No selinux context information is available for /etc/hosts"
    assert labels.get_selinux_context(make(none), "/etc/hosts") == text
    assert labels.set_selinux_context(make(host), "/etc/hosts") is False
    labels.set_selinux_context(make(host), "/etc/hosts", type="etc_t")
    assert ["chcon", "-t", "etc_t", "--", "/etc/hosts"] in host.ran
