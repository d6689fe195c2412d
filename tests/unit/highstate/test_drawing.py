"""The graph of states as text for Graphviz and Mermaid."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from saltlite.errors import FunctionError, UsageError
from tests.unit.highstate.conftest import Tree

WEB = """\
include: [base]
nginx:
  test.nop:
    - require:
      - test: "a \\"quoted\\" <name>"
reload:
  test.nop:
    - onchanges:
      - test: nginx
    - prereq:
      - test: last
last:
  test.nop:
    - require:
      - test: lost
"""
BASE = """\
'a "quoted" <name>':
  test.nop: []
"""


def graph(tree: Tree, form: str) -> str:
    ctx = tree({"web.sls": WEB, "base.sls": BASE})
    text = ctx.functions.call("state.graph", "web", format=form)
    assert isinstance(text, str)
    return text


def test_mermaid(tree: Tree) -> None:
    assert graph(tree, "mermaid").splitlines() == [
        "flowchart LR",
        '  subgraph s0["base"]',
        '    n0["1. a #34;quoted#34; #60;name#62;<br/>test.nop"]',
        "  end",
        '  subgraph s1["web"]',
        '    n1["2. nginx<br/>test.nop"]',
        '    n2["3. reload<br/>test.nop"]',
        '    n3["4. last<br/>test.nop<br/>'
        'The following requisites were not found: require: test: lost"]',
        "  end",
        "  n0 -->|require| n1",
        "  n1 -.->|onchanges| n2",
        "  n2 -->|prereq| n3",
        "  classDef broken stroke:#c0392b",
        "  class n3 broken",
    ]


def test_dot(tree: Tree) -> None:
    text = graph(tree, "dot")
    assert '    n0 [label="1. a \\"quoted\\" <name>\\ntest.nop"];' in text
    assert '  n1 -> n2 [label="onchanges", style=dashed];' in text
    assert '  n2 -> n3 [label="prereq"];' in text
    assert text.count("{") == text.count("}") == 3


@pytest.mark.skipif(shutil.which("dot") is None, reason="there is no Graphviz")
def test_graphviz_reads_what_we_write(tree: Tree) -> None:
    picture = graph(tree, "svg")
    assert picture.count('class="node"') == 4
    assert picture.count('class="edge"') == 3
    assert "&quot;quoted&quot; &lt;name&gt;" in picture


def test_without_graphviz_there_is_a_sentence(
    tree: Tree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FunctionError, match="svg needs the program dot of Graphviz"):
        graph(tree, "svg")


def test_an_unknown_format_is_named(tree: Tree) -> None:
    with pytest.raises(UsageError, match="'png' is none of mermaid, dot, svg"):
        graph(tree, "png")


def test_json(tree: Tree) -> None:
    found = json.loads(graph(tree, "json"))
    assert set(found) == {"nodes", "edges"}
    assert found["nodes"][1] == {
        "tag": "test_|-nginx_|-nginx_|-nop",
        "id": "nginx",
        "name": "nginx",
        "state": "test",
        "fun": "nop",
        "sls": "web",
        "saltenv": "base",
        "problem": None,
    }
    assert [node["id"] for node in found["nodes"]][1:] == ["nginx", "reload", "last"]
    assert found["nodes"][3]["problem"].startswith("The following requisites were not found")
    names = {node["tag"]: node["id"] for node in found["nodes"]}
    assert [(names[one["from"]], one["requisite"], names[one["to"]]) for one in found["edges"]] == [
        ('a "quoted" <name>', "require", "nginx"),
        ("nginx", "onchanges", "reload"),
        ("reload", "prereq", "last"),
    ]
