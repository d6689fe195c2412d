"""What is listed of a machine, applied to it, reports no change: of every type that can be listed.

The machine is in namespaces of its own (tests/support/listed_world.py); types that need nothing
but files of the test are tried with contents of all sorts.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from isolated import need_packet_filter
from listed_world import in_world
from local_minion import make
from programs import need

from saltlite.core.output_options import OutputOptions
from saltlite.loader.outputters import render
from saltlite.modules import resource

pytestmark = pytest.mark.timeout(300)

NEEDS_A_MINION = {"beacon", "schedule"}
"""Those of tests/integration/test_resources.py."""

NEEDS_A_SERVER = {name for name in resource.types() if name.startswith(("mysql", "pos", "rabbit"))}
"""Those of tests/behaviour/test_listed_servers.py."""

ELSEWHERE = NEEDS_A_MINION | NEEDS_A_SERVER

WORLD = r"""
useradd -m -u 1500 -c "Alice Example" -G users,adm -s /bin/bash alice
echo 'alice:$6$salt$hash' | chpasswd -e
chage -m 0 -M 90 alice
useradd -M -c "a - #c {{ d }},1" 'bob'; echo 'bob:!$6$salt$other' | chpasswd -e
printf '10.0.0.1 db db.example # the one\n10.0.0.2 db\n::1 six\n' >> /etc/hosts
mkdir -p /etc/fakesysctl
printf 'vm.swappiness = 10\n' > /etc/sysctl.d/99-salt.conf; echo 10 > /etc/fakesysctl/vm.swappiness
printf 'vm.dirty_ratio = 10\n' > /etc/sysctl.d/50-x.conf; echo 20 > /etc/fakesysctl/vm.dirty_ratio
printf 'net.a = 1 2\n' >> /etc/sysctl.d/50-x.conf; printf '1\t2\n' > /etc/fakesysctl/net.a
cat > /mnt/tab <<'END'
# Lines below here are managed by Salt, do not edit
MAILTO=root
EMPTY=""
# hello SALT_CRON_IDENTIFIER:a
5 * * * * echo "a: b" # '%{{ c }}'
# SALT_CRON_IDENTIFIER:echo day
@daily echo day
# two
# lines SALT_CRON_IDENTIFIER:3
#DISABLED#1 2 3 4 5 x
# SALT_CRON_IDENTIFIER:first
6 * * * * twice
# SALT_CRON_IDENTIFIER:second
7 * * * * twice
8 * * * * bare
END
crontab -u alice /mnt/tab
echo '1 1 * * * own' > /mnt/tab; crontab -u bob /mnt/tab
mkdir -p /home/alice/.ssh; ssh-keygen -q -t ed25519 -N '' -f /home/alice/k
ssh-keygen -q -t ecdsa -N '' -C '' -f /home/alice/l
cat /home/alice/k.pub > /home/alice/.ssh/authorized_keys
printf 'no-pty,command="a b, c" ' >> /home/alice/.ssh/authorized_keys
cat /home/alice/l.pub >> /home/alice/.ssh/authorized_keys
key() { cut -d' ' -f1,2 "$1"; }
printf 'db,10.0.0.1 %s\n[gw]:2222 %s\n' "$(key /home/alice/k.pub)" "$(key /home/alice/k.pub)" \
    > /home/alice/.ssh/known_hosts
echo "everybody $(key /home/alice/l.pub)" > /etc/ssh/ssh_known_hosts
printf 'tmpfs /mnt/t tmpfs size=1m,mode=755 0 0\n' >> /etc/fstab
printf '/dev/sdz1 /mnt/none ext4 defaults,noatime 0 2\n/dev/sdz2 none swap sw 0 0\n' >> /etc/fstab
mkdir /mnt/t; mount /mnt/t
mkdir -p /mnt/files/dir; cd /mnt/files; chmod 1777 dir
printf 'hello {{ x }}\n  two\n' > text; printf 'no end' > noend; : > empty; printf '\000\377' > bin
printf 'secret\n' > private; chmod 600 private; ln -s text link; ln -s lost gone; mkfifo pipe
printf 'a\r\n' > crlf; yes 'large' | head -c 70000 > large; printf '\n\n x \n\n' > blanks
chown alice:adm text; printf '' > 'a: b'
printf 'root: alice\npostmaster: root, alice\n' > /etc/aliases
mkdir -p /mnt/conf; printf 'role: web\nn: {a: [1, true, null, "1"]}\n' > /mnt/conf/grains
for i in cat ls; do for n in ed pg; do
    update-alternatives --quiet --install /mnt/$n $n /bin/$i 5; done; done
update-alternatives --quiet --set pg /bin/ls
touch /lib/systemd/system/aaa.service /lib/systemd/system/bbb.service
systemctl enable aaa; systemctl start aaa; systemctl mask bbb
echo 'deb http://deb.example.org/debian bookworm main contrib' > /etc/apt/sources.list.d/x.list
git init -q /mnt/plain; git init -q /mnt/cloned; cd /mnt/cloned
git remote add origin https://example.org/r.git
git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a
git init -q /mnt/token; cd /mnt/token
git remote add origin https://me:pass@example.org/r.git
git -c user.name=a -c user.email=a@b commit -q --allow-empty -m a
mkdir -p /mnt/env; : > /mnt/env/pyvenv.cfg; mkdir /mnt/env/bin; ln -s /bin/true /mnt/env/bin/python
echo LANG=C.UTF-8 > /etc/default/locale
for i in /mnt/a /mnt/b; do mknod $i b 240 0 2> /dev/null || true
    pvcreate --yes $i > /dev/null; done
vgcreate vg /mnt/a > /dev/null; lvcreate -n data -L 40M vg > /dev/null
printf 'rake (13.0.6, default: 12.1)\njson (2.6.1 ruby java)\n' > /etc/fakegems
printf 'npm 10.8.2\n@vue/cli 5.0.8\n' > /etc/fakenpm
tab='%s\t%s\t%s\t%s\n'
printf "$tab" tzdata tzdata/Areas select Europe man-db man-db/auto-update boolean true \
    tzdata tzdata/hint note '' db db/password password 'hush: {{ x }}' db db/name string 'a "b"' \
    > /etc/fakedebconf
mkdir -p /etc/fakeselinux /etc/selinux; echo 1 > /etc/fakeselinux/enforce
echo SELINUX=enforcing > /etc/selinux/config
setsebool httpd_can_network_connect on
semanage fcontext --add --ftype f --type etc_t '/srv/x(/.*)?'
semanage fcontext --add --ftype d --type tmp_t --seuser staff_u '/srv/x(/.*)?'
semanage port --add --proto tcp --type http_port_t 8000-8009
semanage port --add --proto udp --type ssh_port_t 22
mkdir -p /etc/apache2/mods-available /etc/apache2/conf-available /etc/apache2/sites-available
touch /etc/apache2/mods-available/ssl.load /etc/apache2/mods-available/ssl.conf \
    /etc/apache2/mods-available/php.load /etc/apache2/conf-available/charset.conf \
    /etc/apache2/sites-available/000-default.conf
a2enmod ssl > /dev/null; a2ensite 000-default > /dev/null
if command -v iptables > /dev/null && iptables -S > /dev/null 2>&1; then
    iptables -N own; iptables -P FORWARD DROP
    iptables -A INPUT ! -s 10.0.0.0/8 -i lo -p tcp --dport 22 -m comment --comment 'a "b" c' -j own
    iptables -A INPUT -p tcp -m multiport --dports 80,443 -m state --state NEW,ESTABLISHED -j ACCEPT
    iptables -A INPUT -p tcp --tcp-flags FIN,SYN SYN -j REJECT --reject-with tcp-reset
    iptables -A own -m limit --limit 5/min -j LOG --log-prefix 'no: ' --log-level 4
    iptables -t nat -A POSTROUTING -o lo -j MASQUERADE
    ip6tables -A INPUT -p ipv6-icmp -j ACCEPT
fi
"""
PATTERNS = {"file": "/mnt/files", "git": "/mnt", "service": "[ab]*", "virtualenv": "/mnt"}
LEFT_OUT = {
    "cron": {"alice", "bob"},
    "debconf": {"db"},
    "git": {"/mnt/token"},
    "sysctl": {"vm.dirty_ratio"},
}
"""What is there and cannot be declared so that nothing changes."""


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Type → what was listed, with and without secrets, and what applying it came to."""
    need("git", "ssh-keygen")
    types = [name for name in resource.types() if name not in ELSEWHERE]
    asked = [("", False), *((name, True) for name in ("user", "file", "git", "debconf"))]
    requests: list[Any] = [
        {"run": WORLD},
        {"grains": {"role": "web", "n": {"a": [1, True, None, "1"]}}},
    ]
    names = types + [name for name, _ in asked[1:]]
    requests += [
        {"list": name, "pattern": PATTERNS.get(name, "*"), "secrets": place >= len(types)}
        for place, name in enumerate(names)
    ]
    requests += [{"show": ["user", "alice"]}, {"show": ["user", "alicia"]}]
    answers = in_world(requests, tmp_path_factory.mktemp("world") / "namespace")[2:]
    shown = dict(zip(types, answers, strict=False))
    rest = answers[len(types) :]
    shown |= {f"{name} secrets": each for (name, _), each in zip(asked[1:], rest, strict=False)}
    return {**shown, "alice": rest[-2], "alicia": rest[-1]}


def test_no_type_is_forgotten(listed: dict[str, Any]) -> None:
    assert set(resource.types()) <= {*listed, *ELSEWHERE}


def test_rules_of_the_packet_filter_are_declared_word_by_word(listed: dict[str, Any]) -> None:
    need_packet_filter()
    shown = yaml.safe_load(listed["iptables"]["text"])
    assert {
        "iptables ipv4/filter/own",
        "iptables ipv4/filter/FORWARD",
        *(f"iptables ipv4/filter/INPUT {number}" for number in (1, 2, 3)),
        "iptables ipv4/filter/own 1",
        "iptables ipv4/nat/POSTROUTING 1",
        "iptables ipv6/filter/INPUT 1",
    } <= set(shown)


@pytest.mark.parametrize(
    "what",
    [
        *(name for name in resource.types() if name not in ELSEWHERE),
        *("user secrets", "file secrets", "git secrets", "debconf secrets"),
    ],
)
def test_applied_it_changes_nothing(listed: dict[str, Any], what: str) -> None:
    if what == "iptables":
        need_packet_filter()
    found = listed[what]
    assert "error" not in found, found
    ids = set(yaml.safe_load(found["text"]))
    for run in ("test", "real"):
        assert set(found[run]) == ids
        assert {name: one for name, one in found[run].items() if one[0] is not True or one[1]} == {}
    left = re.findall(rf"# left out: {what} (.*?): ", found["text"])
    assert set(left) == LEFT_OUT.get(what, set())


def test_secrets_are_shown_only_to_who_asks(listed: dict[str, Any]) -> None:
    for what, secret in (
        ("user", "$6$salt$hash"),
        ("file", "secret"),
        ("git", "pass@"),
        ("debconf", "hush"),
    ):
        assert secret not in listed[what]["text"]
        assert secret in listed[f"{what} secrets"]["text"]


def test_what_is_not_there_is_said(listed: dict[str, Any]) -> None:
    assert listed["alicia"] == {"error": "user: not there: alicia; did you mean alice?"}


def test_the_page_shows_what_happens(listed: dict[str, Any]) -> None:
    page = (Path(__file__).parents[2] / "docs/resources.md").read_text()
    shown = re.findall(r"```console\n.*?alice.sls\n(#!yaml.*?)# salt-call", page, re.DOTALL)
    assert shown == [listed["alice"]["text"] + "\n"]


def test_the_page_names_all_types() -> None:
    page = (Path(__file__).parents[2] / "docs/resources.md").read_text()
    rows = page.partition("## What can be listed")[2].partition("\n\nEach")[0]
    firsts = [line.split("|")[1] for line in rows.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(firsts))) == resource.types()


TEXTS = st.text(
    st.characters(blacklist_categories=["Cs"]) | st.sampled_from("\n\t #:{}%-'\"|>"), max_size=40
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
FEW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def apply_text(ctx: Any, text: str) -> list[Any]:
    printed = render({"local": text}, resource.OUTPUTTERS["show"], OutputOptions())
    found = ctx.functions.call("state.template_str", printed + "\n")
    assert isinstance(found, dict), found
    return [[one["result"], one["changes"]] for one in found.values()]


@FEW
@given(TEXTS)
@example("a\n\n")
@example("\n a")
@example("#!py\n")
@example("{% raw %}{{ x }}")
@example("tab\tend \n")
@example("\u2028\x85\ufeff")
def test_contents_of_all_sorts(tmp_path: Path, text: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(text.encode())
    path.chmod(0o644)
    ctx = make(tmp_path)
    shown = resource.show(ctx, "file", str(path), secrets=True)
    assert "left out" not in shown
    assert apply_text(ctx, shown) == [[True, {}]]
    assert path.read_bytes() == text.encode()


@FEW
@given(st.dictionaries(TEXTS.filter(lambda name: ":" not in name), VALUES, min_size=1, max_size=3))
def test_grains_of_all_sorts(tmp_path: Path, grains: dict[str, Any]) -> None:
    ctx = make(tmp_path)
    ctx.grains = {"id": "web1", **json.loads(json.dumps(grains))}
    shown = resource.show(ctx, "grains", *grains)
    assert "left out" not in shown
    assert apply_text(ctx, shown) == [[True, {}]] * len(grains)
