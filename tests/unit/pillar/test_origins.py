"""``pillar.why``, ``pillar.show_top sources=True`` and what a node classifier gives to a pillar."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import yaml

from saltlite.config.load import load_master
from saltlite.errors import SaltliteError
from saltlite.pillar.origins import line_of_key
from saltlite.runners import pillar

TREE = {
    "top.sls": "base:\n  '*':\n    - common\n    - roles.web\n",
    "common.sls": "nginx:\n  workers: 1\n  user: www\nports: [80]\nmotd: hello\n",
    "roles/web/init.sls": (
        "include:\n  - defaults\n  - part:\n      key: nginx:tls\n"
        "nginx:\n  # more of them\n  workers: {{ grains.cpus }}\nports: [443]\n"
    ),
    "defaults.sls": "nginx: {workers: 2, log: syslog}\nonly: here\n",
    "part.sls": "cert: /etc/cert\nkey:\n  size: 4096\n",
}
CLASSIFIER = """#!/bin/sh
echo "classes: [web]"
echo "environment: prod"
echo "parameters: {motd: 'from $1', rack: 7}"
"""


@pytest.fixture
def ask(tmp_path):
    root = tmp_path / "pillar"
    for name, text in TREE.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def made(function, *args, options=None, **kwargs):
        settings = {
            "root_dir": str(tmp_path),
            "pillar_roots": {"base": [str(root)]},
            **(options or {}),
        }
        (tmp_path / "master").write_text(yaml.safe_dump(settings))
        grains = {"web1": {"cpus": 8}}
        ctx = SimpleNamespace(
            config=load_master(tmp_path),
            cache=SimpleNamespace(
                fetch=lambda _bank, key: grains.get(key), list=lambda _bank: ["web1"]
            ),
        )
        found = function(ctx, *args, **kwargs)
        return yaml.safe_load(yaml.safe_dump(found).replace(f"{root}/", ""))

    return made


@pytest.fixture
def why(ask):
    def asked(key, **kwargs):
        found = ask(pillar.why, key, "web1", **kwargs)
        assert (found.pop("minion"), found.pop("key")) == ("web1", key)
        assert found.pop("strategy") == "smart"
        return found

    return asked


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (
            "nginx:workers",
            {
                "set_by": "roles/web/init.sls:7 (roles.web)",
                "overrode": ["defaults.sls:1 (defaults)", "common.sls:2 (common)"],
            },
        ),
        ("nginx:user", {"set_by": "common.sls:3 (common)", "overrode": []}),
        ("only", {"set_by": "defaults.sls:2 (defaults)", "overrode": []}),
        ("nginx:tls:key:size", {"set_by": "part.sls:3 (part)", "overrode": []}),
        (
            "nginx",
            {
                "joined_from": [
                    "common.sls:1 (common)",
                    "defaults.sls:1 (defaults)",
                    "part.sls (part)",
                    "roles/web/init.sls:5 (roles.web)",
                ]
            },
        ),
        (
            "ports",
            {"set_by": "roles/web/init.sls:8 (roles.web)", "overrode": ["common.sls:4 (common)"]},
        ),
    ],
)
def test_who_set_a_key(why, key, expected):
    assert why(key) == expected


def test_lists_that_are_joined(why):
    found = why("ports", options={"pillar_merge_lists": True})
    assert found == {"joined_from": ["common.sls:4 (common)", "roles/web/init.sls:8 (roles.web)"]}


def test_included_files_that_win(why):
    found = why("nginx:workers", options={"pillar_includes_override_sls": True})
    assert found["set_by"] == "defaults.sls:1 (defaults)"
    assert found["overrode"][0] == "roles/web/init.sls:7 (roles.web)"


def test_values_are_shown_if_asked_for(why):
    found = why("nginx:workers", show_values=True)
    assert found["value"] == 8
    assert found["set_by"] == {"roles/web/init.sls:7 (roles.web)": 8}


def test_a_key_that_is_not_there(why):
    with pytest.raises(SaltliteError, match="no 'nginx:wokers'; did you mean 'nginx:workers'"):
        why("nginx:wokers")
    with pytest.raises(SaltliteError, match=r"no 'nosuch'$"):
        why("nosuch")


@pytest.fixture
def classifier(tmp_path):
    path = tmp_path / "classify"
    path.write_text(CLASSIFIER)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["ext_nodes", "puppet"])
def test_parameters_of_a_node_classifier(ask, why, classifier, name):
    options = {"ext_pillar": [{name: str(classifier)}]}
    shown = ask(pillar.show_pillar, "web1", options=options)
    assert (shown["motd"], shown["rack"]) == ("from web1", 7)
    assert why("motd", options=options) == {
        "set_by": f"ext_pillar {name}",
        "overrode": ["common.sls:5 (common)"],
    }
    first = {**options, "ext_pillar_first": True}
    assert why("motd", options=first) == {
        "set_by": "common.sls:5 (common)",
        "overrode": [f"ext_pillar {name}"],
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("exit 3", "exits with 3"),
        ("echo a", "prints no YAML map"),
        ("echo 'parameters: [a]'", "parameters are no map"),
        ("echo 'a: [hunter2'", "prints what is no YAML"),
    ],
)
def test_a_node_classifier_that_fails_is_an_error_of_the_pillar(ask, classifier, text, told):
    classifier.write_text(f"#!/bin/sh\n{text}\n")
    shown = ask(
        pillar.show_pillar, "web1", options={"ext_pillar": [{"ext_nodes": str(classifier)}]}
    )
    (error,) = shown["_errors"]
    assert error.startswith("Failed to load ext_pillar ext_nodes: ")
    assert told in error
    assert "hunter2" not in error


def test_which_source_gives_what(ask, classifier):
    options = {"ext_pillar": [{"ext_nodes": str(classifier)}]}
    assert ask(pillar.show_top, "web1", sources=True, options=options) == {
        "base": {"common": "top.sls:3", "roles.web": "top.sls:4"},
        "ext_pillar": {"ext_nodes": "1. after the files"},
    }
    assert ask(pillar.show_top, "web1") == {"base": {"*": ["common", "roles.web"]}}


@pytest.mark.parametrize(
    ("text", "key", "line"),
    [
        ("a:\n  b: 1\nb: 2\n", "b", 3),
        ("a:\n  b: 1\nb: 2\n", "a:b", 2),
        ("a:\n  x: 1\nb:\n  b: 2\n", "a:b", 1),
        ("'a':\n\n  # b: 0\n  \"b\": 1\n", "a:b", 4),
        ("a: {b: {c: 1}}\n", "a:b:c", 1),
        ("{% if x %}\na:\n{% for n in y %}\n  {{ n }}: 1\n{% endfor %}\n{% endif %}\n", "a:n", 2),
        ("a:\n- b: 1\n- c: 2\n", "a:c", 3),
        ("x: 1\n", "a", 0),
        ("a.b:\n  (c: 1\n", "a.b:(c", 2),
    ],
)
def test_the_line_of_a_key(text, key, line):
    assert line_of_key(text, key.split(":")) == line
