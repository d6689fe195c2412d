"""Files of plain lines are read as PyYAML reads them, or left to it. Never otherwise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from saltlite.config.plainlines import DEEPEST, LONGEST, UNREAD, read_document, read_lines
from saltlite.config.yaml import load
from saltlite.errors import ConfigError

WORDS = ["true", "True", "tRue", "yes", "NO", "on", "Off", "null", "Null", "~", "y", "N", "none"]
NUMBERS = ["0", "00", "007", "0x1f", "0b1", "1_000", "1e3", "1.5", ".5", "1.", "12:30", "1:2:3"]
DATES = ["2001-01-01", "2001-1-1 1:2:3", "127.0.0.1", "1.2.3.4.5", "1..2.3", "::1", "+1", "-1"]
MARKS = ["---", "...", "- a", "? a", "| ", ">", "&a b", "*a", "!a", "%a", "@a", "`a", "{}", "[]"]
QUOTED = ['""', "''", '"a: b"', "'#'", '"\\n"', "'it''s'", '"a', "a'", "'a' b", '"a" # b']
OTHER = ["=", "<<", "a #b", "a# b", "a: b", "a:", ":a", "/", "//a", "a@b.c", "a\tb", "é", "\ufeff"]
VALUES = st.sampled_from([*WORDS, *NUMBERS, *DATES, *MARKS, *QUOTED, *OTHER]) | st.text(
    alphabet="abe019.:-_/'\"#+ ~@%&*!|>{}[],<=\t\\é", max_size=8
)
NAMES = st.sampled_from(["id", "a_b", "a1", "master", "on", "Y", "1a", "<<", "a b", "a.b", "'a'"])
LINES = st.one_of(
    st.builds("{}: {}".format, NAMES, VALUES),
    st.builds("{}{}{}{}".format, NAMES, st.sampled_from([":", ": ", " : ", ":  "]), VALUES, VALUES),
    st.builds("{}# {}".format, st.sampled_from(["", "  ", "\t"]), VALUES),
    st.sampled_from(["", " ", "   ", "\t", "  id: 1", "- a", "\r", "id: a\r"]),
)
INDENTS = st.sampled_from(["", "", "  ", "  ", "    ", "      ", " ", "   ", "\t"])
KEYS = st.sampled_from(
    [
        "a",
        "b",
        "base",
        "'*'",
        '"x:y"',
        "'a: b'",
        "a.b",
        "1",
        "on",
        "<<",
        "a b",
        "a[1]",
        "it's",
        "-1",
    ]
)
FLOWS = st.sampled_from(
    [
        "[]", "{}", "[a, b]", "[1,2]", "[ a b , 'c, d' ]", "{a: 1}", '{"a": [b, {c: d}]}', "[*a]",
        "{a: b, a: c}", "[a", "a]", "[a]b", "[a] # c", "[a,]", "[,a]", "[a: b]", "{a}", "{a:b}",
        "[a:b]", "[-]", "[- a]", "[-1, +2, .5]", "{on: off, ~: null}", "[a #b]", "['it''s']",
        "[{}, []]", "[]: a", "{a: }",
    ]
)  # fmt: skip
WHOLE = st.one_of(
    st.sampled_from(["a", "5", "/srv", "'*'", '"a # b"', "true", "b:c", "a:", "roots://x", "~"]),
    st.sampled_from(["|", "|-", "|+", ">", "|2", "it's", "a[1], {b}", "'it''s'", "0644", "10d"]),
    st.sampled_from(
        ["-a", "1.2.3-4", "1.5", "- a", "-", "8080/tcp", "'a': b", "a ? b", "2001-01-01"]
    ),
    FLOWS,
    VALUES,
)
BEHIND = st.sampled_from(["", "", "", "", " # c", "  # 'c'", "#c", " #", " ", " # é", " #\t"])
NESTED = st.one_of(
    st.builds("{}{}:{}".format, INDENTS, KEYS, BEHIND),
    st.builds("{}- {}{}".format, INDENTS, WHOLE, BEHIND),
    st.builds("{}{}: {}{}".format, INDENTS, KEYS, WHOLE, BEHIND),
    st.builds("{}- {}: {}{}".format, INDENTS, KEYS, WHOLE, BEHIND),
    st.builds("{}-   {}:{}".format, INDENTS, KEYS, BEHIND),
    st.builds("{}{}".format, INDENTS, st.sampled_from(["# c", "-", "- - a", "a", "", "-a", "- "])),
    st.builds("{}{}: |{}".format, INDENTS, KEYS, st.sampled_from(["", "-", " ", " # c"])),
)

PLAIN = st.sampled_from(
    ["a", "5", "/srv", "'*'", '"a # b"', "true", "b:c", "roots://x", "1.2.3.4", "[a, {b: c}]", ""]
)
TEXTS = st.sampled_from(
    [["a"], ["a: b", "", "  # c", "- d"], ["# a", ""], ["a", "   ", " b"], ["", "a"], ["  a", "b"]]
)
PLAIN_KEYS = st.sampled_from(["a", "b", "base", "'*'", '"x:y"', "a.b", "c-d"])
TREES = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(PLAIN_KEYS, inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


def lay_out(tree: Any, indent: int, draw: Any) -> list[str]:
    """A tree as somebody may write it: with any indentation, comments and empty lines."""
    pad = " " * indent
    lines = []
    for each in tree.items() if isinstance(tree, dict) else tree:
        if draw(st.integers(0, 9)) == 0:
            lines.append(draw(st.sampled_from(["", "   ", "# c", "      # c"])))
        key, value = each if isinstance(tree, dict) else ("", each)
        dash = "" if isinstance(tree, dict) else "-" + " " * draw(st.integers(1, 3))
        behind = draw(BEHIND) if draw(st.integers(0, 9)) == 0 else ""
        if key and not value:
            pad += " " * len(dash)
            lines.append(f"{pad}{key}: |")
            deeper = " " * draw(st.integers(1, 3))
            lines += [f"{pad}{deeper}{line}".rstrip("~") for line in draw(TEXTS)]
        elif isinstance(value, str):
            lines.append(f"{pad}{dash}{key}{': ' if key else ''}{value}{behind}")
        elif key:
            deeper = draw(st.integers(0 if isinstance(value, list) else 1, 4))
            lines += [f"{pad}{key}:{behind}", *lay_out(value, indent + deeper, draw)]
        else:
            inner = lay_out(value, indent + len(dash), draw)
            lines += [pad + dash + inner[0].strip(" "), *inner[1:]]
    return lines


@st.composite
def written_trees(draw: Any) -> str:
    """A map, mostly well written; perhaps one line has another indentation, or is not there."""
    lines = lay_out({"first": draw(TREES), "second": draw(TREES)}, 0, draw)
    spoil = draw(st.integers(0, 40))
    if spoil < len(lines):
        change = draw(st.sampled_from(["", " ", "  ", "-", "- "]))
        lines[spoil] = change and change + lines[spoil]
    return "\n".join(lines)


def by_yaml(text: str) -> Any:
    """Option → value and line, or the reason why not."""
    try:
        content = load(text, "f")
    except ConfigError as error:
        return str(error)
    if content is None:
        return {}
    return {key: (value, content.lines[key]) for key, value in content.items()}


def whole_by_yaml(text: str) -> Any:
    try:
        return load(text, "f")
    except ConfigError as error:
        return error


def check_document(text: str) -> bool:
    """Whether a text is read; if so, its value is YAML's, with the same types and order."""
    found = read_document(text)
    if found is UNREAD:
        return False
    wanted = whole_by_yaml(text)
    wanted = dict(wanted) if isinstance(wanted, dict) else wanted
    assert repr(found) == repr(wanted)
    assert types_in(found) == types_in(wanted)
    return True


def typed(found: Any) -> list[Any]:
    return [(key, types_in(value), value, line) for key, (value, line) in found.items()]


def types_in(value: Any) -> Any:
    """The types of a value and of all within; of a map in its order."""
    if type(value) is dict:
        return [(key, type(key), types_in(each)) for key, each in value.items()]
    return [types_in(each) for each in value] if type(value) is list else type(value)


@settings(max_examples=500, deadline=None)
@given(lines=st.lists(LINES, max_size=4), end=st.sampled_from(["", "\n", "\n\n"]))
@example(lines=["id: é"], end="")
@example(lines=["id: 1", "id: 1"], end="")
@example(lines=["id: 0", "a1: 999999999999999999"], end="\n")
def test_what_is_read_is_what_yaml_says(lines: list[str], end: str) -> None:
    text = "\n".join(lines) + end
    found = read_lines(text)
    if found is not None:
        assert typed(found) == typed(by_yaml(text))


@settings(max_examples=1000, deadline=None)
@given(
    first=st.sampled_from(["a:", "file_roots:", "id: a"]),
    lines=st.lists(NESTED, max_size=7),
    end=st.sampled_from(["", "\n"]),
)
@example(first="a:", lines=["- b:", "    - c"], end="")
@example(first="a:", lines=["  b: 1", "  b: 2"], end="")
@example(first="a:", lines=["  - b: c", "    d: e", "  - f"], end="")
@example(first="a:", lines=["- b: c", "  d:", "  - e", "f: 1"], end="")
@example(first="a:", lines=["  b: c", " d: e"], end="")
@example(first="a:", lines=["  b: c:"], end="")
@example(first="a:", lines=["  b: -0644", "  c: 0644"], end="")
def test_what_is_nested_is_what_yaml_says(first: str, lines: list[str], end: str) -> None:
    text = "\n".join([first, *lines]) + end
    found = read_lines(text)
    if found is not None:
        assert typed(found) == typed(by_yaml(text))
    check_document(text)


@settings(max_examples=500, deadline=None)
@given(text=written_trees())
def test_what_is_well_written_is_what_yaml_says(text: str) -> None:
    found = read_lines(text)
    if found is not None:
        assert typed(found) == typed(by_yaml(text))
    check_document(text)


def test_what_is_too_deep_or_too_long_is_left_to_yaml() -> None:
    def nest(depth: int) -> str:
        return "".join(f"{' ' * number}a:\n" for number in range(depth)) + " " * depth + "b: 1\n"

    assert typed(read_lines(nest(DEEPEST - 1))) == typed(by_yaml(nest(DEEPEST - 1)))
    assert read_lines(nest(DEEPEST)) is None
    assert read_lines("# comment\n" * (LONGEST // 10)) == {}
    assert read_lines("# comment\n" * (LONGEST // 10 + 1)) is None


@settings(max_examples=300, deadline=None)
@given(
    text=FLOWS | st.text(alphabet="[]{}[]{}::,, ab1-+.\"'#*&\\\n", max_size=12).map("[{}".format)
)
@example(text="[a, b]]")
@example(text='{"a":\n 1}')
def test_what_is_in_brackets_is_what_yaml_says(text: str) -> None:
    check_document(text)
    check_document(f"a: {text}\nb: 1\n")
    check_document(f"- {text}\n- c\n")


@settings(max_examples=500, deadline=None)
@given(text=st.text(max_size=30))
def test_any_text(text: str) -> None:
    found = read_lines(text)
    if found is not None:
        assert typed(found) == typed(by_yaml(text))


@pytest.mark.parametrize(
    "text",
    [
        "id: bench\nmaster: 127.0.0.1\n",
        '# a comment: [\n\nroot_dir: "/tmp/x y"\nauto_accept: true\nworker_threads: 5\n',
        "user: root\nlog_file: 'file:///dev/log'\nsaltenv: prod-1\nmaster: salt.example.org",
        "file_roots:\n  base:\n    - /srv/salt  # states\n    - /srv/formulas\nid: 5 # x",
        "master:\n- a.example\n- b.example:4506\nfileserver_backend:\n  - roots\n",
        "reactor:\n  - 'salt/*/start':\n    - /srv/a.sls\n    - salt://b.sls\n  - c:\n      - d\n",
        "publisher_acl:\n  fred:\n    - 'web*':\n      - test.ping\n",
        "nodegroups:\n  group1: 'L@foo.domain.com,bar.domain.com and bl*.domain.com'\n",
        "mine_functions:\n  network.ip:\n    cidr: '10.0.0.0/8'\n  all:\n  - mine_function: a.b\n",
    ],
)
def test_the_usual_lines_are_read_here(text: str) -> None:
    assert read_lines(text)
    assert typed(read_lines(text)) == typed(by_yaml(text))
