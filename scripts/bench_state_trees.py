"""The state trees that scripts/bench_states measures with.

Everything is made from numbers alone, so that both sides and every run have the same. What a state
touches is below the directory that the grain ``bench_root`` names, and nowhere else.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from bench_trees import write_small_files

BLOCKS_OF_A_FILE = 10

HEAD = "{%- set root = grains['bench_root'] %}\n"

BLOCK = """\
{name}_begin:
  test.nop:
    - name: begin {number}
    - require:{before}
{name}_data:
  file.directory:
    - name: {{{{ root }}}}/{name}.d
    - mode: '0755'
    - require:
      - test: {name}_begin
{name}_config:
  file.managed:
    - name: {{{{ root }}}}/{name}.conf
    - mode: '0644'
    - contents: |
        # of service {number}
        listen = 127.0.0.1:{port}
        workers = {{{{ 4 + {number} % 4 }}}}
    - require:
      - file: {name}_data
{name}_token:
  file.managed:
    - name: {{{{ root }}}}/{name}.token
    - mode: '0600'
    - contents: token {number}
    - require:
      - file: {{{{ root }}}}/{name}.d
{name}_set_up:
  cmd.run:
    - name: touch {{{{ root }}}}/{name}.d/set-up
    - unless: test -d {{{{ root }}}}
    - require:
      - file: {name}_config
{name}_link:
  file.symlink:
    - name: {{{{ root }}}}/{name}.current
    - target: {name}.conf
    - require_in:
      - test: {name}_ready
{name}_reload:
  test.nop:
    - onchanges:
      - file: {name}_config
      - file: {name}_token
{name}_ready:
  test.nop:
    - require:
      - cmd: {name}_set_up
      - test: {name}_reload
{name}_watcher:
  test.nop:
    - watch:
      - file: {name}_config
{name}_end:
  test.succeed_without_changes:
    - name: end {number}
    - require:
      - test: {name}_ready
      - test: {name}_watcher
"""
STATES_OF_A_BLOCK = 10

MIXED = """\
{name}_dir:
  file.directory:
    - name: {{{{ root }}}}/{name}
    - mode: '0750'
{name}_contents:
  file.managed:
    - name: {{{{ root }}}}/{name}/contents.conf
    - contents: |
        number = {number}
        of = {{{{ grains['id'] }}}}
{name}_template:
  file.managed:
    - name: {{{{ root }}}}/{name}/template.conf
    - source: salt://files/template.conf
    - template: jinja
    - context: {{number: {number}}}
{name}_plain:
  file.managed:
    - name: {{{{ root }}}}/{name}/plain.conf
    - source: salt://files/plain{number}.conf
{name}_link:
  file.symlink:
    - name: {{{{ root }}}}/{name}/link
    - target: plain.conf
{name}_line:
  file.append:
    - name: {{{{ root }}}}/{name}/appended
    - text: [first line, second line {number}]
{name}_replaced:
  file.replace:
    - name: {{{{ root }}}}/{name}/appended
    - pattern: ^first.*$
    - repl: first line
    - require:
      - file: {name}_line
{name}_cmd:
  cmd.run:
    - name: touch {{{{ root }}}}/{name}/made
    - unless: test -e {{{{ root }}}}/{name}/made
{name}_creates:
  cmd.run:
    - name: touch {{{{ root }}}}/{name}/created
    - creates: {{{{ root }}}}/{name}/created
{name}_ini:
  ini.options_present:
    - name: {{{{ root }}}}/{name}/settings.ini
    - sections:
        server: {{port: "{port}", host: localhost}}
        client: {{retries: "3"}}
    - require:
      - file: {name}_settings
{name}_settings:
  file.managed:
    - name: {{{{ root }}}}/{name}/settings.ini
    - replace: false
{name}_environ:
  environ.setenv:
    - name: BENCH_{number}
    - value: value {number}
{name}_ready:
  test.nop:
    - require:
      - cmd: {name}_cmd
      - ini: {name}_ini
"""
STATES_OF_A_MIX = 13
MIXES = 15

REST = """\
unpacked{number}:
  archive.extracted:
    - name: {{{{ root }}}}/unpacked{number}
    - source: salt://files/tree.tar.gz
    - skip_verify: true
    - enforce_toplevel: false
"""
CLONE = """\
cloned:
  git.latest:
    - name: {{ root }}/../origin.git
    - target: {{ root }}/clone
    - branch: main
    - rev: main
"""
ARCHIVES = 4
MIXED_STATES = MIXES * STATES_OF_A_MIX + ARCHIVES + 1

MANAGED = """\
f{number}:
  file.managed:
    - name: {{{{ root }}}}/f{number}.conf
    - source: salt://files/f{source}.conf
    - mode: '0644'
"""
SOURCES = 50

RECURSE = """\
all_of_it:
  file.recurse:
    - name: {{ grains['bench_root'] }}/recursed
    - source: salt://small
    - file_mode: '0644'
    - dir_mode: '0755'
"""


def write_many(root: Path, count: int) -> None:
    """``count`` states of services: one chain of requisites, 100 states in a file."""
    blocks = count // STATES_OF_A_BLOCK
    names = []
    for first in range(0, blocks, BLOCKS_OF_A_FILE):
        numbers = range(first, min(first + BLOCKS_OF_A_FILE, blocks))
        names.append(f"services.s{first}")
        _write(root / "services" / f"s{first}.sls", HEAD + "".join(map(_block, numbers)))
    _write_top(root, names)


def _block(number: int) -> str:
    before = f"\n      - test: b{number - 1}_end" if number else " []"
    return BLOCK.format(name=f"b{number}", number=number, before=before, port=2000 + number)


def write_mixed(root: Path) -> None:
    """200 states of many kinds, which a second run finds as they shall be."""
    mixes = "".join(
        MIXED.format(name=f"mix{number}", number=number, port=3000 + number)
        for number in range(MIXES)
    )
    rest = "".join(REST.format(number=number) for number in range(ARCHIVES))
    _write(root / "mixed.sls", HEAD + mixes + rest + CLONE)
    for number in range(MIXES):
        _write(root / "files" / f"plain{number}.conf", f"setting = {number}\n" * 50)
    text = "{% for n in range(20) %}key{{ n }} = {{ number * n }}\n{% endfor %}"
    _write(root / "files" / "template.conf", text)
    with tarfile.open(root / "files" / "tree.tar.gz", "w:gz") as archive:
        for number in range(50):
            member = tarfile.TarInfo(f"tree/d{number % 5}/f{number}")
            member.size = 1000
            archive.addfile(member, io.BytesIO(b"x" * 1000))
    _write_top(root, ["mixed"])


def write_managed(root: Path, count: int) -> None:
    """``count`` files, each from one of :data:`SOURCES`."""
    states = (MANAGED.format(number=number, source=number % SOURCES) for number in range(count))
    _write(root / "managed.sls", HEAD + "".join(states))
    for number in range(SOURCES):
        _write(root / "files" / f"f{number}.conf", f"setting = {number}\n" * 40)
    _write_top(root, ["managed"])


def write_recurse(root: Path, count: int) -> None:
    """One ``file.recurse`` of ``count`` files."""
    write_small_files(root / "small", count)
    _write(root / "recurse.sls", RECURSE)
    _write_top(root, ["recurse"])


def make_origin(bare: Path, home: Path) -> None:
    """A repository with one commit, for ``git.latest``."""
    work = bare.with_suffix(".work")
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    _git(home, "init", "-q", "-b", "main", str(work))
    _write(work / "README", "of the bench\n")
    _git(home, "-C", str(work), "add", "README")
    _git(home, "-C", str(work), *who, "commit", "-q", "-m", "first")
    _git(home, "clone", "-q", "--bare", str(work), str(bare))


def _git(home: Path, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], env=env, check=True)


def _write_top(root: Path, names: list[str]) -> None:
    targets: dict[str, Any] = {"base": {"*": names}}
    _write(root / "top.sls", json.dumps(targets) + "\n")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
