"""Hosts files, and names that resolve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.host import Host
from saltlite.loader.registry import Registry

HOSTS = "127.0.0.1 localhost lh # c d\n# x\n::1 ip6\n10.0.0.1\ta b c\n\n10.0.0.1 d"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={"id": "x"}, pillar={})
    ctx.functions = Registry(ctx)
    program = tmp_path / "bin/dig"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        '*"-q example.org -t MX"*) echo "10 mail.example.org."; echo "20 b.example.org.";;\n'
        '*"-q example.org -t NS"*) echo ns.example.org.;;\n'
        '*"-t A"*) echo 192.0.2.7;;\n'
        '*"-q example.org -t TXT"*) echo \'"other"\'; echo \'"v=spf1 ip4:192.0.2.0/24 " "a"\';;\n'
        "esac\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return ctx.functions.call


def test_a_hosts_file(call: Any, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(HOSTS)
    path = str(hosts)
    assert call("dnsutil.parse_hosts", path) == {
        "127.0.0.1": ["localhost", "lh"],
        "::1": ["ip6"],
        "10.0.0.1": ["a", "b", "c", "d"],
    }
    assert call("dnsutil.parse_hosts", str(tmp_path / "no")) == "Error: hosts data was not found"
    assert call("dnsutil.hosts_append", path, "10.0.0.9", "n1,n2") == (
        f"The following line was added to {path}:\n10.0.0.9 n1 n2"
    )
    assert call("dnsutil.hosts_append", path, "10.0.0.9", ["n1", "n3"]).endswith("10.0.0.9 n3")
    assert call("dnsutil.hosts_append", path, "10.0.0.9", "n1") == (
        f"No additional hosts were added to {path}"
    )
    call("dnsutil.hosts_remove", path, "d,b,lh")
    assert hosts.read_text() == (
        "127.0.0.1 localhost # c d\n# x\n::1 ip6\n10.0.0.1 a c\n\n10.0.0.9 n1 n2\n10.0.0.9 n3\n"
    )


@pytest.mark.parametrize(
    ("address", "names"), [("x", "a"), ("10.0.0.1/8", "a"), ("10.0.0.1", "a b"), ("10.0.0.1", "")]
)
def test_what_is_no_line(call: Any, tmp_path: Path, address: str, names: str) -> None:
    with pytest.raises(UsageError, match="is no"):
        call("dnsutil.hosts_append", str(tmp_path / "hosts"), address, names)
    with pytest.raises(FunctionError, match="is not there"):
        call("dnsutil.hosts_remove", str(tmp_path / "hosts"), "a")


def test_names(call: Any) -> None:
    assert call("dnsutil.check_ip", "192.0.2.1") is True
    assert call("dnsutil.check_ip", "192.0.2") is False
    assert "127.0.0.1" in call("dnsutil.A", "localhost")
    assert call("dnsutil.A", "no such host") == "Unable to resolve no such host"
    assert call("dnsutil.A", "example.org", "192.0.2.53") == ["192.0.2.7"]
    assert call("dnsutil.MX", "example.org")[0] == ["10", "mail.example.org."]
    assert call("dnsutil.MX", "example.org", resolve=True)[1] == ["20", "192.0.2.7"]
    assert call("dnsutil.NS", "example.org", resolve=False) == ["ns.example.org."]
    assert call("dnsutil.NS", "example.org") == ["192.0.2.7"]
    assert call("dnsutil.SPF", "example.org") == ["192.0.2.0/24"]
