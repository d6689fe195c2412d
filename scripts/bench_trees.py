"""The trees that scripts/bench_data measures with: pillar, files, grains of simulated minions.

Everything is made from numbers alone, so that both sides and every run have the same.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROLES, SITES, APPS, COMMON = 60, 40, 80, 19
ROLES_OF, APPS_OF = 3, 8

PLAIN_USERS = """\
# users of team {number}
users:
{users}
groups_{number}:
  - name: team{number}
    gid: {gid}
    members: [alice{number}, bob{number}]
  - name: deploy{number}
    gid: {other}
    system: true
"""

USER = """\
  {name}:
    uid: {uid}
    fullname: "{name} of team {number}"
    shell: /bin/bash
    groups: [team{number}, wheel]
    ssh_auth:
      - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{uid:043d} {name}@example.org
"""

ROLE = """\
{{%- from 'lib/map.jinja' import ports, domain_of with context %}}
{{%- set tier = 'production' if grains['env'] == 'prod' else 'testing' %}}
role_{number}:
  tier: {{{{ tier }}}}
  fqdn: {{{{ domain_of('role{number}') }}}}
  listen:
{{%- for port in ports %}}
    - {{{{ port + {number} }}}}
{{%- endfor %}}
  packages:
{{%- for name in ['nginx', 'openssl', 'rsync', 'curl', 'jq', 'tzdata'] %}}
    {{{{ name }}}}:
      state: {{{{ 'latest' if tier == 'testing' else 'installed' }}}}
      os: {{{{ grains['os'] | lower }}}}
{{%- endfor %}}
  limits:
    nofile: {{{{ 65536 if grains['num_cpus'] > 4 else 16384 }}}}
    memory: {{{{ (grains['mem_total'] * 0.5) | int }}}}
"""

SITE = """\
site:
  name: site{number}
  resolvers: [10.{number}.0.2, 10.{number}.0.3]
  ntp:
    servers: [ntp1.site{number}.example.org, ntp2.site{number}.example.org]
  proxy: http://proxy.site{number}.example.org:3128
  networks:
{{%- for vlan in range(10, 18) %}}
    vlan{{{{ vlan }}}}:
      cidr: 10.{number}.{{{{ vlan }}}}.0/24
      gateway: 10.{number}.{{{{ vlan }}}}.1
{{%- endfor %}}
"""

APP = """\
app_{number}:
  version: "1.{number}.0"
  url: https://app{number}.example.org/
  database:
    host: db{shard}.example.org
    name: app{number}
    user: app{number}
    pool: {{min: 2, max: 20}}
  env:
    LANG: C.UTF-8
    APP_PORT: "{port}"
    APP_WORKERS: "4"
  cron:
    - {{minute: "*/5", job: /opt/app{number}/bin/tick}}
    - {{minute: 7, hour: 3, job: /opt/app{number}/bin/nightly}}
  features: [search, export, audit]
"""

MAP = """\
{%- set ports = [8000, 8100, 8200] %}
{%- set base = {'prod': 'example.org', 'dev': 'dev.example.org'} %}
{%- macro domain_of(name) -%}
{{ name }}.{{ grains['id'] }}.{{ base.get(grains['env'], 'example.org') }}
{%- endmacro %}
"""


def write_pillar(root: Path) -> int:
    """A pillar of 200 files with a top file; how many files there are.

    Half of what a minion gets is plain YAML, half is Jinja that looks at grains and imports a map.
    """
    targets: dict[str, Any] = {"*": [f"common.c{number}" for number in range(COMMON)]}
    for number in range(COMMON):
        _write(root / "common" / f"c{number}.sls", _users(number))
    for number in range(ROLES):
        _write(root / "role" / f"r{number}.sls", ROLE.format(number=number))
        targets[f"G@roles:r{number}"] = [f"role.r{number}"]
    for number in range(SITES):
        _write(root / "site" / f"s{number}.sls", SITE.format(number=number))
        targets[f"m{number:02}*"] = [f"site.s{number}"]
    for number in range(APPS):
        text = APP.format(number=number, shard=number % 4, port=9000 + number)
        _write(root / "app" / f"a{number}.sls", text)
        targets[f"app{number}"] = [{"match": "nodegroup"}, f"app.a{number}"]
    _write(root / "lib" / "map.jinja", MAP)
    for number in range(APPS):
        del targets[f"app{number}"]
        targets[f"G@apps:a{number} and not G@env:none"] = [f"app.a{number}"]
    _write(root / "top.sls", json.dumps({"base": targets}, indent=1) + "\n")
    return sum(1 for path in root.rglob("*") if path.suffix in (".sls", ".jinja")) - 1


def _users(number: int) -> str:
    users = [
        USER.format(name=f"{name}{number}", uid=2000 + 10 * number + place, number=number)
        for place, name in enumerate(("alice", "bob", "carol"))
    ]
    return PLAIN_USERS.format(
        number=number, users="".join(users).rstrip("\n"), gid=3000 + number, other=4000 + number
    )


def minion_name(number: int) -> str:
    """The id of a simulated minion; its first digits say its site."""
    return f"m{number % SITES:02}-{number:04}"


def grains_of(number: int) -> dict[str, Any]:
    """The grains of a simulated minion: as many as a real one has, of ordinary size."""
    name = minion_name(number)
    filler = {f"hardware_{one}": f"value {one} of {name}" for one in range(40)}
    return {
        **filler,
        "id": name,
        "os": "Debian",
        "os_family": "Debian",
        "osrelease": "12",
        "kernel": "Linux",
        "env": "prod" if number % 3 else "dev",
        "num_cpus": 2 + number % 8,
        "mem_total": 2048 * (1 + number % 16),
        "roles": [f"r{(number * 7 + one) % ROLES}" for one in range(ROLES_OF)],
        "apps": [f"a{(number * 11 + one * 5) % APPS}" for one in range(APPS_OF)],
        "ipv4": ["127.0.0.1", f"10.{number % SITES}.{number // 250}.{number % 250}"],
        "pythonpath": ["/usr/lib/python311.zip", "/usr/lib/python3.11"],
        "cpu_flags": [f"flag{one}" for one in range(100)],
    }


def write_small_files(root: Path, count: int) -> None:
    """``count`` files of 100 to 4,000 bytes, 50 in a directory."""
    for number in range(count):
        line = f"setting_{number} = value {number}\n"
        text = line * (1 + 4000 * (number % 37) // 37 // len(line))
        _write(root / f"d{number // 50}" / f"f{number}.conf", text)


def write_large_file(path: Path, mib: int) -> None:
    """A file that does not compress well, of ``mib`` MiB."""
    import hashlib

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for number in range(mib):
            block = hashlib.shake_256(str(number).encode()).digest(1024 * 1024)
            file.write(block)


def write_long_sls(path: Path, lines: int) -> None:
    """One SLS of Jinja with at least ``lines`` lines."""
    parts = ["{%- set base = '/srv/app' %}\n"]
    number = 0
    while sum(part.count("\n") for part in parts) < lines:
        parts.append(LONG_PART.replace("NUMBER", str(number)))
        number += 1
    _write(path, "".join(parts))


LONG_PART = """\
{%- set name = 'app' ~ NUMBER %}
{%- if grains['kernel'] == 'Linux' %}
directory_{{ name }}:
  test.nop:
    - name: {{ base }}/{{ name }}
    - mode: '0755'
{%- endif %}
{%- for part in ['bin', 'etc', 'log'] %}
part_{{ name }}_{{ part }}:
  test.nop:
    - name: {{ base }}/{{ name }}/{{ part }}
    - require:
      - test: directory_{{ name }}
{%- endfor %}
"""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
