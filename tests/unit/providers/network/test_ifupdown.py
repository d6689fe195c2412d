"""``/etc/network/interfaces``: one interface is read and replaced, all else stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from saltlite.errors import FunctionError, UsageError
from saltlite.providers.network import ifupdown, settings, stanza

HAND_MADE = """# mine
auto lo eth0
allow-hotplug eth0 eth1
iface lo inet loopback

mapping eth2
    script /bin/which
    # home or work
    map HOME eth2-home

# upstairs
iface eth0 inet6 auto
iface eth0 inet static
  up first
  # with two
  address 10.0.0.2/24
  up second \\
    third
  zebra x

source interfaces.d/*
"""


def test_the_pieces_are_the_file() -> None:
    for text in (HAND_MADE, "", "\n", "auto lo", "  up x\n# c\n"):
        assert "".join(line for piece in ifupdown.pieces(text) for line in piece.lines) == text


def test_an_interface_is_shown_in_salts_order() -> None:
    assert ifupdown.of_interface(HAND_MADE, "eth0") == [
        "auto eth0\n",
        "allow-hotplug eth0\n",
        "iface eth0 inet static\n",
        "    address 10.0.0.2/24\n",
        "    up first\n",
        "    up second      third\n",
        "    zebra x\n",
        "iface eth0 inet6 auto\n",
        "\n",
    ]
    assert ifupdown.of_interface(HAND_MADE, "eth") == []


def test_the_others_stay_as_they_are() -> None:
    new = ["auto eth0\n", "iface eth0 inet dhcp\n", "\n"]
    text = ifupdown.with_interface(HAND_MADE, "eth0", new)
    assert text == HAND_MADE.replace("auto lo eth0", "auto lo").replace(
        "hotplug eth0 eth1", "hotplug eth1"
    ).replace(
        HAND_MADE[HAND_MADE.index("iface eth0 inet6") : HAND_MADE.index("\nsource")],
        "auto eth0\niface eth0 inet dhcp\n",
    )
    assert ifupdown.of_interface(text, "eth0") == new
    assert ifupdown.with_interface(text, "eth0", new) == text


def test_a_new_interface_comes_last_and_a_list_of_none_goes() -> None:
    new = ["iface eth0 inet dhcp\n", "\n"]
    assert ifupdown.with_interface("auto eth0\nauto lo", "eth0", new) == (
        "auto lo\niface eth0 inet dhcp\n"
    )


def test_keys_of_wireless_networks_are_not_shown() -> None:
    old, new = ["    wpa-psk secret\n"], ["    wpa-psk other\n", "    wpa-ssid s\n"]
    told = ifupdown.difference(old, new)
    assert "wpa-ssid s" in told
    assert "secret" not in told and "other" not in told


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"ipaddr": "10.0.0.300"}, "ipaddr, Value: 10.0.0.300"),
        ({"ipaddr": "fd00::1"}, "an IPv4 address"),
        ({"netmask": 33}, "netmask"),
        ({"netmask": "255.0.255.0"}, "netmask"),
        ({"mtu": "big"}, "an integer"),
        ({"hwaddr": "00:11"}, "hwaddr"),
        ({"up_cmds": ["a\n    up b"]}, "one line"),
        ({"up_cmds": "joins \\"}, "one line"),
        ({"wpa-psk": "secret\n" * 2}, r"wpa-psk, Value: \*\*\*,"),
        ({"name": "-a"}, "the name of an interface"),
        ({"proto": "nosuch"}, "proto"),
        ({"ipv6proto": "bootp"}, "ipv6proto"),
        ({"ipv6proto": "static", "ipv6ipaddr": "10.0.0.1"}, "an IPv6 address"),
        ({"kind": "bridge", "ports": ["e1"], "stp": "maybe"}, "stp"),
        ({"kind": "bond", "slaves": "e1", "mode": "01"}, "mode"),
        ({"kind": "bond", "slaves": "e1"}, "mode"),
        ({"kind": "bond", "mode": 1}, "slaves is a required setting"),
        ({"name": "e0 inet"}, "the name of an interface"),
        ({"name": "../e0"}, "the name of an interface"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], named: str) -> None:
    given = {"proto": "static", **options}
    with pytest.raises(UsageError, match=named):
        stanza.of_declared(str(given.pop("name", "e0")), str(given.pop("kind", "eth")), True, given)


def test_options_of_other_distributions_are_left_out() -> None:
    given = {"proto": "dhcp", "onboot": True, "userctl": False, "peerdns": "yes"}
    assert stanza.of_declared("e0", "eth", False, given) == ["iface e0 inet dhcp\n", "\n"]


def test_each_further_address_has_a_stanza_of_its_own() -> None:
    given = {"proto": "static", "ipaddr": "10.0.0.2", "netmask": 24, "mtu": 1400}
    lines = stanza.of_declared(
        "e0", "eth", False, {**given, "addresses": ["10.0.0.3", "10.0.1.1/16"]}
    )
    assert lines == [
        "iface e0 inet static\n",
        "    address 10.0.0.2\n",
        "    netmask 24\n",
        "    mtu 1400\n",
        "iface e0 inet static\n",
        "    address 10.0.0.3\n",
        "    netmask 24\n",
        "iface e0 inet static\n",
        "    address 10.0.1.1/16\n",
        "\n",
    ]
    text = ifupdown.with_interface("", "e0", lines)
    assert ifupdown.of_interface(text, "e0") == lines


def test_blanks_around_a_text_are_none_of_it() -> None:
    lines = stanza.of_declared("e0", "eth", False, {"proto": "manual", "up_cmds": [" a  b\t"]})
    assert lines == ["iface e0 inet manual\n", "    up a  b\n", "\n"]
    assert ifupdown.of_interface("".join(lines), "e0") == lines


@pytest.mark.parametrize(
    ("routes", "named"),
    [
        (None, "List of routes"),
        ([{"gateway": "10.0.0.1"}], "no ipaddr"),
        (["10.0.0.0/8"], "no ipaddr"),
        ([{"ipaddr": "10.0.0.0/8; reboot"}], "marks of the shell"),
        ([{"ipaddr": "10.0.0.0/8", "gateway": "$(reboot)"}], "marks of the shell"),
        ([{"ipaddr": "10.0.0.0/8", "name": "a\nreboot"}], "one line"),
        ([{"ipaddr": "10.0.0.0/8", "metric": "low"}], "an integer"),
    ],
)
def test_routes_that_cannot_be_are_refused(routes: object, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        stanza.routes_of("e0", routes)


def test_files_of_the_network_keep_their_other_lines() -> None:
    changed = {"NETWORKING": "no", "SEARCH": "a.org", "DOMAIN": "b.org"}
    networking = settings.alter_text("# c\nVERBOSE=no", changed, settings.NETWORKING_FILE)
    assert networking == "# c\nVERBOSE=no\nCONFIGURE_INTERFACES=no\n"
    resolver = "search x\n# c\noptions rotate\nsearch y z\n"
    assert settings.show_settings("vm", networking, resolver) == [
        "NETWORKING=no\n",
        "HOSTNAME=vm\n",
        "SEARCH=y z\n",
    ]
    assert settings.alter_text(resolver, changed, settings.RESOLVER_FILE) == (
        "search a.org\n# c\noptions rotate\ndomain b.org\n"
    )


def test_a_hostname_is_the_machines_only_if_it_is_to_be_applied() -> None:
    now = ["HOSTNAME=old\n", "DOMAIN=a.org\n"]
    given = {"hostname": "new.b.org"}
    assert settings.want_settings(now, given) == ["HOSTNAME=old\n", "DOMAIN=b.org\n"]
    applied = settings.want_settings(now, {**given, "apply_hostname": True})
    assert applied == ["HOSTNAME=new.b.org\n", "DOMAIN=b.org\n"]
    with pytest.raises(UsageError, match="hostname, Value: a b"):
        settings.want_settings(now, {"hostname": "a b"})


def test_an_interface_is_up_as_the_kernel_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from saltlite.config.minion import MinionConfig
    from saltlite.context import MinionContext
    from saltlite.host import Host

    monkeypatch.setattr(ifupdown, "SYS_NET", str(tmp_path))
    for name, flags in (("e0", "0x1003\n"), ("e1", "0x1002\n")):
        tmp_path.joinpath(name).mkdir()
        tmp_path.joinpath(name, "flags").write_text(flags)
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={"os_family": "Suse"}, pillar={})
    assert [ifupdown.is_up(ctx.host, name) for name in ("e0", "e1", "e2")] == [True, False, False]


@pytest.mark.parametrize("fun", ["managed", "routes", "system"])
def test_other_distributions_are_refused_before_anything_has_run(fun: str) -> None:
    from saltlite.config.minion import MinionConfig
    from saltlite.context import MinionContext
    from saltlite.host import Host
    from saltlite.loader.states import resolve

    grains = {"os_family": "RedHat"}
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains=grains, pillar={})
    with pytest.raises(FunctionError, match=r"on Debian only .*; this is RedHat"):
        resolve(f"network.{fun}", ctx).call(name="e0")
