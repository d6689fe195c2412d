"""``state.check``: every mistake of a tree at once, with file and line."""

from __future__ import annotations

import pytest

from tests.unit.highstate.conftest import Tree

GOOD = """\
# what a web server needs
web packages:
  pkg.installed:
    - pkgs: [nginx]

/etc/nginx.conf:
  file.managed:
    - source: salt://web/nginx.conf
    - require:
      - pkg: web packages
"""

CASES: dict[str, tuple[str, list[str]]] = {
    "a state that is not there": (
        "nginx:\n  pkg.instaled: []\n",
        ["web/init.sls:2: nginx: 'pkg.instaled' is not available; did you mean 'pkg.installed'?"],
    ),
    "an argument that is not taken": (
        "/x:\n  file.managed:\n    - contents: a\n    - mod: '0644'\n",
        ["web/init.sls:4: /x: 'mod' is no argument of file.managed; did you mean 'mode'?"],
    ),
    "a module and its function, apart": (
        "nginx:\n  pkg:\n    - pkgs: [a]\n    - instaled\n",
        ["web/init.sls:4: nginx: 'pkg.instaled' is not available; did you mean 'pkg.installed'?"],
    ),
    "letters that are swapped": (
        "/x:\n  cmd.run:\n    - name: /bin/true\n    - cdw: /tmp\n    - onylif: a\n",
        [
            "web/init.sls:4: /x: 'cdw' is no argument of cmd.run; did you mean 'cwd'?",
            "web/init.sls:5: /x: 'onylif' is no argument of cmd.run; did you mean 'onlyif'?",
        ],
    ),
    "keywords that are passed on": (
        "a:\n  iptables.append:\n    - table: filter\n    - chain: INPUT\n    - match: state\n"
        "    - connstate: NEW\n    - dport: 80\n    - jump: ACCEPT\n"
        "b:\n  module.wait:\n    - name: file.touch\n    - m_name: /x\n"
        "c:\n  event.send:\n    - name: x/y\n    - orders: 3\n"
        "d:\n  module.run:\n    - file.touch:\n      - name: /x\n",
        [],
    ),
    "an argument that is needed": (
        "/x:\n  file.symlink: []\n",
        ["web/init.sls:1: /x: file.symlink needs the argument 'target'"],
    ),
    "a requisite that names nothing": (
        "nginx:\n  test.nop: []\nreload:\n  test.nop:\n    - require:\n      - test: ngins\n",
        ["web/init.sls:5: reload: require: there is no test: ngins; did you mean 'test: nginx'?"],
    ),
    "a circle": (
        "a:\n  test.nop:\n    - require: [{test: b}]\n"
        "b:\n  test.nop:\n    - require: [{test: c}]\n"
        "c:\n  test.nop:\n    - require: [{test: a}]\n",
        ["web/init.sls:7: circle: a -> b -> c -> a"],
    ),
    "a file that is not there": (
        "/x:\n  file.managed:\n    - source:\n      - salt://web/none\n      - salt://web/nil\n",
        [
            "web/init.sls:3: /x: source: there is no salt://web/nil",
            "web/init.sls:3: /x: source: there is no salt://web/none",
        ],
    ),
    "one of several sources is enough": (
        "/x:\n  file.managed:\n    - source: [salt://web/none, salt://web/nginx.conf]\n",
        [],
    ),
    "a directory that is not there": (
        "/x:\n  file.recurse:\n    - source: salt://web/files\n",
        ["web/init.sls:3: /x: source: there is no salt://web/files"],
    ),
    "pillar that an argument names": (
        "/x:\n  file.managed:\n    - contents_pillar: web:pasword\n",
        [
            "web/init.sls:3: /x: contents_pillar: there is no pillar 'web:pasword'; "
            "did you mean 'web:password'?"
        ],
    ),
    "pillar that a template prints": (
        "{% set n = 1 %}\n/x:\n  test.nop:\n    - name: {{ salt['pillar.get']('web:prot') }}x\n",
        [
            "web/init.sls:4: pillar.get('web:prot') finds nothing and has no default; "
            "did you mean 'web:port'?"
        ],
    ),
    "pillar that may be missing": (
        "{% if salt['pillar.get']('a') %}a: test.nop{% endif %}\n"
        "b:\n  test.nop:\n    - name: x{{ salt['pillar.get']('a', 'b') }}"
        "{{ salt['pillar.get']('c') | default('d') }}{{ salt.pillar.get('e') or 'f' }}\n",
        [],
    ),
    "an ID that only the template knows": (
        "{% for n in [1, 2] %}\nsite-{{ n }}:\n  test.nop:\n    - requir: []\n{% endfor %}\n",
        [
            "web/init.sls:4: site-1: 'requir' is no argument of test.nop; did you mean 'require'?",
            "web/init.sls:4: site-2: 'requir' is no argument of test.nop; did you mean 'require'?",
        ],
    ),
}


TEMPLATED = """\
/x:
  file.managed:
    - source: salt://web/x.jinja
    - template: jinja
    - context: {port: 80, words: [a]}
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\n{% if port %}\nb\n", "2: /x: no Jinja template: Unexpected end of template."),
        ("a\n{{ prot }}\n", "2: /x: 'prot' is not defined; did you mean 'port'?"),
        (
            "{{ port }}\n{{ pilar.get('a') }}",
            "2: /x: 'pilar' is not defined; did you mean 'pillar'?",
        ),
        ("{{ port }} {{ grains.os }} {{ sls }} {{ elsewhere }} {{ salt['test.ping']() }}", ""),
        ("{{ prot | default(1) }}{% if pilar is defined %}{{ pilar }}{% endif %}", ""),
        ("{% set prot = port %}{{ prot }}{% for word in words %}{{ word }}{% endfor %}", ""),
        ("{% extends 'web/base.jinja' %}{{ prot }}", "1: /x: there is no salt://web/base.jinja"),
        ("{% from 'web/init.sls' import prot %}{{ prot }}", ""),
        ("{% macro ports(prot) %}{{ prot }}{% endmacro %}{{ ports(1) }}", ""),
    ],
)
def test_templates_of_files_are_looked_into(tree: Tree, text: str, told: str) -> None:
    ctx = tree({"web/init.sls": TEMPLATED, "web/x.jinja": text})
    found = ctx.functions.call("state.check", "web")["mistakes"]
    assert [each.split(" Jinja was")[0] for each in found] == (
        [f"salt://web/x.jinja:{told}"] if told else []
    )


@pytest.mark.parametrize(
    ("text", "part", "told"),
    [
        ("{% include 'web/part.jinja' %}", "a\n{{ prot }}", "part.jinja:2: 'prot' is not defined; "
         "did you mean 'port'?"),
        ("{% include './part.jinja' %}", "{% if %}", "part.jinja:1: no Jinja template: Expected an "
         "expression, got 'end of statement block'"),
        ("{% set listen = 1 %}{% include 'web/part.jinja' %}", "{{ listn }}",
         "part.jinja:1: 'listn' is not defined; did you mean 'listen'?"),
        ("{% import 'web/part.jinja' as p %}", "{{ prot }}{{ pilar }}",
         "part.jinja:1: 'pilar' is not defined; did you mean 'pillar'?"),
        ("{% from 'web/part.jinja' import m with context %}", "{{ prot }}",
         "part.jinja:1: 'prot' is not defined; did you mean 'port'?"),
        ("{% extends 'salt://web/part.jinja' %}", "{% include 'web/x.jinja' %}{% include 'gone' %}",
         "part.jinja:1: there is no salt://gone"),
        ("\n{% include 'gone' %}", "", "x.jinja:2: /x: there is no salt://gone"),
        ("{% include 'gone' ignore missing %}", "", ""),
        ("{% if port == 81 %}{% include 'gone' %}{% endif %}", "", ""),
        ("{% include ['gone', 'web/part.jinja'] %}{% include port %}", "", ""),
    ],
)  # fmt: skip
def test_what_a_template_names_is_looked_into(tree: Tree, text: str, part: str, told: str) -> None:
    ctx = tree({"web/init.sls": TEMPLATED, "web/x.jinja": text, "web/part.jinja": part})
    found = ctx.functions.call("state.check", "web")["mistakes"]
    assert found == ([f"salt://web/{told}"] if told else [])


def test_what_an_sls_imports_is_looked_into(tree: Tree) -> None:
    macros = "{% macro m() %}{{ salt['pillar.get']('none') }}{% endmacro %}\n"
    printed = "{{ salt['pillar.get']('web:prot') }}"
    text = "{% from 'web/map.jinja' import m with context %}\na:\n  test.nop: []\n"
    ctx = tree({"web/init.sls": text, "web/map.jinja": macros + printed}, {"web": {"port": 80}})
    assert ctx.functions.call("state.check", "web")["mistakes"] == [
        "salt://web/map.jinja:2: pillar.get('web:prot') finds nothing and has no default; did you "
        "mean 'web:port'?"
    ]


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_has_its_line(tree: Tree, name: str) -> None:
    text, expected = CASES[name]
    pillar = {"web": {"password": "hidden", "port": 80}}
    ctx = tree({"web/init.sls": text, "web/nginx.conf": ""}, pillar)
    found = ctx.functions.call("state.check", "web")
    assert found["mistakes"] == [f"salt://{line}" for line in expected]
    assert ctx.state.get("retcode", 0) == bool(expected)


def test_files_that_do_not_render_hide_no_other_mistakes(tree: Tree) -> None:
    broken = "a:\n  test.nop:\n    - name: {{ nothing.here }}\n"
    ctx = tree({"web/init.sls": GOOD, "web/nginx.conf": "", "x.sls": broken, "y.sls": "b: tst.nop"})
    found = ctx.functions.call("state.check", "*")
    first, second = found["mistakes"]
    assert first.startswith("salt://x.sls:3: Rendering SLS 'base:x' failed: ")
    assert "'nothing' is undefined" in first
    assert second == "salt://y.sls:1: b: 'tst.nop' is not available; did you mean 'test.nop'?"


TANGLED = {
    "top.sls": "base: {'*': [web, x], 'other': [db]}\n",
    "web.sls": "include: [part, gone]\na:\n  tst.nop: []\n",
    "part.sls": "b:\n  test.nop:\n    - requir: []\n",
    "x.sls": "c: 5\n",
    "y.sls": "d: [\n",
    "list.sls": "- a\n",
    "two.sls": "#!py\ndef run():\n    return 1 / 0\n",
    "three.sls": "\ne:\n  test: [nop, succeed]\nf:\n  test.nope: []\n",
}

TOLD = [
    "list.sls: Error when rendering state with contents: ['a']",
    "list.sls: SLS list does not render to a dictionary",
    "part.sls:3: b: 'requir' is no argument of test.nop; did you mean 'require'?",
    "three.sls:2: Too many functions declared in state 'e' in SLS 'three'. "
    "Please choose one of the following: nop, succeed",
    "three.sls:5: f: 'test.nope' is not available; did you mean 'test.nop'?",
    "two.sls:3: Rendering SLS 'base:two' failed: ",
    "web.sls:1: Specified SLS gone in saltenv base is not available on the salt master "
    "or through a configured fileserver",
    "web.sls:3: a: 'tst.nop' is not available; did you mean 'test.nop'?",
    "x.sls:1: ID c in SLS x is not a dictionary",
    "y.sls:2: Rendering SLS 'base:y' failed: ",
]


def test_all_mistakes_of_all_files_are_told_at_once(tree: Tree) -> None:
    ctx = tree(TANGLED)
    found = ctx.functions.call("state.check", "*")
    assert (found["sls"], found["states"]) == (7, 3)
    assert len(found["mistakes"]) == len(TOLD)
    for told, expected in zip(found["mistakes"], TOLD, strict=True):
        assert told.startswith(f"salt://{expected}")


NOP = "{name}:\n  test.nop: []\n"


def test_files_that_never_meet_may_have_the_same_ids(tree: Tree) -> None:
    same = NOP.format(name="same")
    files = {"top.sls": "base: {'*': [one]}", "one.sls": same, "two.sls": same, "three.sls": same}
    assert tree(files).functions.call("state.check", "*")["mistakes"] == []
    joined = {"four.sls": "include: [two, three]\n"}
    (told,) = tree({**files, **joined}).functions.call("state.check", "*")["mistakes"]
    assert told.startswith("salt://two.sls:1: Detected conflicting IDs")
    top = {"top.sls": "base: {'*': [one, two]}"}
    ctx = tree({**files, **top, "four.sls": ""})
    (told,) = ctx.functions.call("state.check", "*")["mistakes"]
    assert "conflicting ID is 'same'" in told


def test_a_file_alone_may_require_what_another_top_file_joins(tree: Tree) -> None:
    needs = "{name}:\n  test.nop:\n    - require: [test: {other}]\n"
    files = {
        "base.sls": NOP.format(name="common"),
        "web.sls": needs.format(name="web", other="common"),
        "db.sls": needs.format(name="db", other="comon"),
    }
    assert tree(files).functions.call("state.check", "*")["mistakes"] == [
        "salt://db.sls:3: db: require: there is no test: comon",
    ]
    top = {"top.sls": "base: {'*': [web]}"}
    (_, told) = tree({**files, **top}).functions.call("state.check", "*")["mistakes"]
    assert told == "salt://web.sls:3: web: require: there is no test: common"


def test_files_that_include_each_other_in_a_circle_are_looked_at(tree: Tree) -> None:
    files = {
        "one.sls": "include: [two]\na: test.nope\n",
        "two.sls": "include: [one]\nb: test.nope\n",
    }
    found = tree(files).functions.call("state.check", "*")
    assert (found["sls"], found["states"], len(found["mistakes"])) == (2, 2, 2)


def test_a_top_file_that_does_not_render_hides_nothing(tree: Tree) -> None:
    ctx = tree({"top.sls": "base: {{ x.y }}", "a.sls": "b: tst.nop\n"})
    top, state = ctx.functions.call("state.check", "*")["mistakes"]
    assert top.startswith("Unable to render top file: ") and state.startswith("salt://a.sls:1: ")
    assert ctx.functions.call("state.check")["mistakes"] == [top]


def test_a_tree_without_mistakes_says_how_much_was_looked_at(tree: Tree) -> None:
    top = "base:\n  '*':\n    - web\n"
    ctx = tree({"top.sls": top, "web/init.sls": GOOD, "web/nginx.conf": ""})
    assert ctx.functions.call("state.check") == {"sls": 1, "states": 2, "mistakes": []}
    assert ctx.state.get("retcode", 0) == 0


def test_states_of_users_are_looked_at_too(tree: Tree) -> None:
    own = "def there(name, size):\n    return {}\n"
    sls = "disk:\n  volume.there:\n    - syze: 3\n"
    ctx = tree({"_states/volume.py": own, "web.sls": sls})
    assert ctx.functions.call("state.check", "web")["mistakes"] == [
        "salt://web.sls:1: disk: volume.there needs the argument 'size'",
        "salt://web.sls:3: disk: 'syze' is no argument of volume.there; did you mean 'size'?",
    ]


def test_nothing_is_run(tree: Tree, tmp_path: object) -> None:
    ctx = tree({"web.sls": f"{tmp_path}/made:\n  file.touch: []\n"})
    assert ctx.functions.call("state.check", "web")["mistakes"] == []
    assert not ctx.host.exists(f"{tmp_path}/made")
