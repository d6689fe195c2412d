"""Files from our master to real minions and from real masters to ours; pushed back; salt-cp."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from repository import DATA, read_yaml

from cluster import OURS, SALT_3006, SALT_3007, SALT_3008, Cluster

PAIRS = [
    pytest.param((OURS, SALT_3006), id="our-master-3006-minion"),
    pytest.param((OURS, SALT_3007), id="our-master-3007-minion"),
    pytest.param((OURS, SALT_3008), id="our-master-3008-minion"),
    pytest.param((SALT_3006, OURS), id="3006-master-our-minion"),
    pytest.param((SALT_3007, OURS), id="3007-master-our-minion"),
    pytest.param((SALT_3008, OURS), id="3008-master-our-minion"),
]
BIG = os.urandom(1_500_000) + b"end"
FILES = {
    "srv/a.txt": b"text\n",
    "srv/sub/b.sls": b"{{ grains.id }}\n",
    "srv/sub/init.sls": b"",
    "srv/grüße ☃.txt": "grüße\n".encode(),
    "srv/big.bin": BIG,
    "dev/d.txt": b"dev\n",
    "envs/qa/q.txt": b"qa\n",
    "dev/m.sls": b"""
{{ pillar.dest }}:
  file.managed:
    - source: salt://t.conf
    - template: jinja
    - context: {colour: {{ pillar.colour }}}
    - require: [{sls: before}]
after:
  file.append:
    - name: {{ pillar.dest }}.log
    - text: {{ pillar.colour }}
    - onchanges: [{file: {{ pillar.dest }}}]
    - order: 1
include: [before]
""",
    "dev/before.sls": b"first:\n  file.touch:\n    - name: {{ pillar.dest }}.log\n"
    b"    - unless: test -e {{ pillar.dest }}.log\n",
    "dev/t.conf": b"{{ grains.id }} {{ colour }} {{ pillar.sub.n }} "
    b"{{ salt['pillar.get']('sub:l:1') }}\n",
    "pillar/top.sls": b"base:\n  'id:web*': [{match: grain}, p]\n"
    b"  'os:nosuch': [{match: grain}, no]\n",
    "pillar/p.sls": b"include: [q: {key: sub}]\ncolour: red\n",
    "pillar/q.sls": b"l: [one, {{ grains.id }}]\nn: 7\n",
}

TREES = (
    "match kinds",
    "included twice",
    "include nested key",
    "top then include",
    "pillar merge scalars and types",
)
"""Recorded trees of pillar that are compiled by the master too, each an environment of its own."""
RECORDED = {
    case["name"]: case for case in read_yaml(DATA / "pillar/compiled.yaml") if case["name"] in TREES
}


def plant_recorded(base: Path) -> dict[str, list[str]]:
    """Write the recorded trees; the roots of their environments ``tree0`` ..."""
    for number, name in enumerate(TREES):
        for path, text in RECORDED[name]["tree"]["base"].items():
            place = base / f"tree{number}" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text.replace("base:", f"tree{number}:") if path == "top.sls" else text)
    return {f"tree{number}": [f"{base}/tree{number}"] for number in range(len(TREES))}


@pytest.fixture(scope="module", params=PAIRS)
def pair(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    master, minion = request.param
    options = {"grains": {"role": "web", "lst": ["a", "b"]}, "pillar_mask_output": False}
    with Cluster(master=master, minions={"web1": minion}, minion_options=options) as cluster:
        base = cluster.root / "master"
        for name, content in FILES.items():
            (base / name).parent.mkdir(parents=True, exist_ok=True)
            (base / name).write_bytes(content)
        (base / "srv" / "empty").mkdir()
        (base / "srv" / "link").symlink_to("a.txt")
        roots = {
            "base": [f"{base}/srv"],
            "dev": [f"{base}/dev"],
            "__env__": [f"{base}/envs/__env__"],
        }
        cluster.reconfigure(
            cluster.master_dir / "master",
            file_roots=roots,
            file_recv=True,
            pillar_roots={"base": [f"{base}/pillar"], **plant_recorded(base)},
        )
        cluster.start()
        yield cluster


def ask(pair: Cluster, *args: str) -> Any:
    ran = pair.salt("web1", *args, "--out=json", "--static")
    return ran.json["web1"]


def test_lists(pair: Cluster) -> None:
    lists = ask(pair, "cp.list_master,cp.list_master_dirs,cp.list_master_symlinks,cp.envs", *",,,")
    envs = lists.pop("cp.envs")
    assert lists == {
        "cp.list_master": [
            "a.txt", "big.bin", "grüße ☃.txt", "link", "sub/b.sls", "sub/init.sls"
        ],
        "cp.list_master_dirs": ["empty", "sub"],
        "cp.list_master_symlinks": {"link": "a.txt"},
    }  # fmt: skip
    assert {"base", "dev"} <= set(envs)


def test_files_arrive_whole_and_lie_where_salt_keeps_them(pair: Cluster) -> None:
    cache, dest = pair.root / "web1" / "cache" / "files", pair.root / "web1" / "got"
    wanted = {
        "salt://grüße ☃.txt": str(cache / "base/grüße ☃.txt"),
        "salt://big.bin": str(cache / "base/big.bin"),
        "salt://d.txt?saltenv=dev": str(cache / "dev/d.txt"),
        "salt://q.txt?saltenv=qa": str(cache / "qa/q.txt"),
        "salt://nosuch": False,
        "salt://sub/../../master": False,
    }
    got = ask(
        pair, "cp.cache_files,cp.get_file_str,cp.hash_file,cp.cache_dir,cp.get_file",
        json.dumps(list(wanted)), ",", "salt://a.txt", ",", "salt://big.bin", ",",
        "salt://sub", "include_empty=True", ",", "salt://big.bin", str(dest), "gzip=3",
    )  # fmt: skip
    assert got == {
        "cp.cache_files": list(wanted.values()),
        "cp.get_file_str": "text\n",
        "cp.hash_file": {"hash_type": "sha256", "hsum": hashlib.sha256(BIG).hexdigest()},
        "cp.cache_dir": [str(cache / "base/sub/b.sls"), str(cache / "base/sub/init.sls")],
        "cp.get_file": str(dest),
    }
    assert (cache / "base/big.bin").read_bytes() == BIG
    assert dest.read_bytes() == BIG


def applied(pair: Cluster, dest: Path) -> list[str]:
    """The ids of the states that changed something, in order."""
    given = json.dumps({"dest": str(dest)})
    results = ask(pair, "state.apply", "m", "saltenv=dev", f"pillar={given}").values()
    assert all(result["result"] is True for result in results), results
    in_order = sorted(results, key=lambda result: result["__run_num__"])
    return [result["__id__"] for result in in_order if result["changes"]]


@pytest.mark.parametrize("number", range(len(TREES)), ids=TREES)
def test_a_master_compiles_as_recorded(pair: Cluster, number: int) -> None:
    found = ask(pair, "pillar.items", f"pillarenv=tree{number}")
    assert found == RECORDED[TREES[number]]["pillar"]


def test_pillar_and_templates_make_a_managed_file(pair: Cluster) -> None:
    dest = pair.root / "web1" / "managed"
    assert applied(pair, dest) == ["first", str(dest), "after"]
    assert dest.read_text() == "web1 red 7 web1\n"
    assert Path(f"{dest}.log").read_text() == "red\n"
    got = ask(
        pair, "cp.get_template,cp.get_dir", "salt://sub/b.sls", f"{dest}.tpl", ",",
        "salt://sub", f"{dest}.d",
    )  # fmt: skip
    assert got["cp.get_template"] == f"{dest}.tpl"
    assert Path(f"{dest}.tpl").read_text().strip() == "web1"
    assert Path(f"{dest}.d/sub/b.sls").read_bytes() == FILES["srv/sub/b.sls"]


def test_a_changed_pillar_is_there_in_a_run_and_after_a_refresh(pair: Cluster) -> None:
    dest = pair.root / "web1" / "managed"
    pillar = pair.root / "master" / "pillar" / "p.sls"
    pillar.write_text(pillar.read_text().replace("red", "blue"))
    assert applied(pair, dest) == [str(dest), "after"]
    assert applied(pair, dest) == []
    assert dest.read_text() == "web1 blue 7 web1\n"
    assert ask(pair, "saltutil.refresh_pillar", "wait=True", "timeout=20") is True
    assert pair.salt("-I", "colour:blue", "test.ping", "--out=json").json == {"web1": True}


def test_a_minion_pushes_a_file(pair: Cluster) -> None:
    content = os.urandom(700_000)
    source = pair.root / "web1" / "pushed"
    source.write_bytes(content)
    assert ask(pair, "cp.push", str(source)) is True
    kept = pair.cache_dir / "minions" / "web1" / "files" / str(source).lstrip("/")
    assert kept.read_bytes() == content


def test_salt_cp(pair: Cluster, tmp_path: Path) -> None:
    source, dest = tmp_path / "source", pair.root / "web1" / "copied"
    source.write_text("grüße\n" * 100)
    ran = pair.command("salt-cp", "web1", str(source), str(dest))
    assert ran.stdout == f"web1:\n    ----------\n    {dest}:\n        True\n", ran.stderr
    assert dest.read_text() == source.read_text()


def test_salt_cp_in_pieces(pair: Cluster, tmp_path: Path) -> None:
    folder, dest = tmp_path / "tree", pair.root / "web1" / "copies"
    (folder / "deep").mkdir(parents=True)
    (folder / "big").write_bytes(BIG[:150_000])
    (folder / "deep" / "none").write_bytes(b"")
    (folder / "deep" / "none").chmod(0o751)
    ran = pair.command("salt-cp", "-C", "web1", str(folder), str(dest))
    assert ran.stdout.count("True") == 2, ran
    assert (dest / "tree/big").read_bytes() == BIG[:150_000]
    assert (dest / "tree/deep/none").read_bytes() == b""
    assert (dest / "tree/deep/none").stat().st_mode & 0o777 == 0o751
