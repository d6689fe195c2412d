"""Which keys of the pillar files read, as far as they say so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saltlite.pillar.reading import Readings, read_pillars, read_states
from saltlite.pillar.unread import find_unread

PY = "#!py\ndef run():\n    return "

EXACT = [
    "{{ pillar['a']['b'] }}",
    "{{ pillar.a.b }}",
    "{{ pillar.get('a', {}).get('b') }}",
    "{{ pillar.get('a:b') }}",
    "{{ (pillar.a | default({})).b }}",
    "{{ pillar | traverse('a:b') }}",
    "{{ opts.pillar.a.b }}",
    "{{ salt['pillar.get']('a:b', x) }}",
    "{{ salt['pillar.get'](key='a:b') }}",
    "{{ salt.pillar.get('a:b') }}",
    "{{ salt['pillar.fetch']('a:b') }}",
    "{{ salt['config.get']('a:b') }}",
    "{{ salt['pillar.get']('a:' ~ 'b') }}",
    "{{ salt['pillar.get'](['a', 'b'] | join(':')) }}",
    "{% set key = 'a:b' %}{{ salt['pillar.get'](key) }}",
    "{% if 'b' in pillar.a %}x{% endif %}",
    f"{PY}__pillar__['a']['b']",
    f"{PY}__pillar__.get('a').get('b')",
    f"{PY}__salt__['pillar.get']('a:b')",
    f"{PY}__salt__['pillar.get'](f'a:b')",
]


def read(text: str, path: str = "/srv/x/init.sls", formula: str = "x") -> Readings:
    found = Readings()
    read_states(found, text, path, formula)
    return found


@pytest.mark.parametrize("text", EXACT)
def test_a_key_that_is_spelt_out(text: str) -> None:
    found = read(text)
    line = 3 if text.startswith(PY) else 1
    assert found.exact[("a",)] == {"b": f"/srv/x/init.sls:{line}"}
    assert found.is_read(("a", "b", "c")) and () not in found.covered


@pytest.mark.parametrize("text", [each for each in EXACT if " in pillar" not in each])
def test_what_is_beside_it_is_not_read(text: str) -> None:
    found = read(text)
    assert not found.is_read(("a", "c")) and not found.is_read(("b",)) | found.is_read(("c",))


@pytest.mark.parametrize(
    "text",
    [
        "{{ pillar.a[x] }}",
        "{{ pillar.a | json }}",
        "{% for k, v in pillar.a.items() %}x{% endfor %}",
        "{% set a = pillar.get('a', {}) %}{{ a.b }}",
        "{{ salt['pillar.get']('a:' ~ x ~ ':c') }}",
        "{{ salt['pillar.get']('a:%s:c' | format(x)) }}",
        "{{ salt['pillar.get']('a:{}:c'.format(x)) }}",
        "{{ salt['defaults.merge'](x, pillar.get('a')) }}",
        "{{ salt['pillar.filter_by'](x, pillar='a') }}",
        "x: __slot__:salt:pillar.get(a)",
        "x: {file.managed: [contents_pillar: 'a']}",
        "x: {file.managed: [contents_pillar: 'a:{{ x }}:b']}",
        "'a:*':\n  - match: pillar\n  - x",
        "'G@os:x and I@a:b': [x]",
        "${pillar['a']['b']}",
        "{{ pillar['a'",
        f"{PY}{{x: y for x in __pillar__['a']}}",
        f"{PY}f(f'a:{{x}}', __salt__['pillar.get'](f'a:{{x}}:b'))",
    ],
)
def test_a_key_that_is_read_whole_or_by_what_is_not_known(text: str) -> None:
    found = read(text)
    assert found.is_read(("a",)) and found.is_read(("a", "other")) | found.is_read(("a", "b"))
    assert () not in found.covered and not found.is_read(("z",))


@pytest.mark.parametrize(
    "text",
    [
        "{{ pillar }}",
        "{{ pillar[x] }}",
        "{{ pillar.get(x) }}",
        "{{ pillar.items() }}",
        "{{ salt['pillar.get'](x) }}",
        "{{ salt['pillar.items']() }}",
        "{{ salt[x]('a') }}",
        "{% set read = salt['pillar.get'] %}",
        "{% set p = pillar %}{{ p.a }}",
        "{{ opts['pillar'] }}",
        "${pillar[x]}",
        "x: {file.managed: [contents_pillar: {{ x }}]}",
        "x: __slot__:salt:pillar.get({{ x }})",
        "'I@{{ x }}': [x]",
        f"{PY}f(__pillar__)",
        f"{PY}__salt__['pillar.get'](x)",
    ],
)
def test_all_may_be_read(text: str) -> None:
    assert () in read(text).covered


def test_a_formula_reads_by_its_directory() -> None:
    found = read("{{ salt['config.get'](tplroot ~ ':lookup') }}", formula="web")
    assert found.exact == {("web",): {"lookup": "/srv/x/init.sls:1"}}


def test_libraries_of_public_formulas_read_what_is_the_formulas() -> None:
    text = "{{ salt[method](query) }}{{ salt['config.get'](name) }}"
    assert read(text, "/srv/web/libmatchers.jinja", "web").covered == {("web",)}


@pytest.mark.parametrize("count", [100, 250, 400, 900, 5000])
def test_what_is_too_deep_to_be_followed_may_read_any_key(count: int) -> None:
    for text in ("{{ pillar.a" + ".x" * count + " }}", f"{PY}__pillar__['a']" + " + b" * count):
        found = read(text)
        assert found.is_read(("a", *["x"] * count))


def test_names_of_grains_are_none_of_keys() -> None:
    assert not read("{{ salt['grains.get']('role') }}").is_read(("role",))
    assert read("{{ salt['own.get']('role') }}").is_read(("role",))


def test_comments_and_prose_read_nothing() -> None:
    assert not read("{# pillar.a #}{{ x }}").covered
    assert () not in read("All of `pillar.items()`.", "/srv/x/README.rst").covered


def test_what_a_pillar_says_of_itself_is_no_reading() -> None:
    found = Readings()
    read_pillars(found, "git_pillar: x\na: {{ pillar.b }}\n", "/srv/pillar/x.sls")
    assert found.covered == {("b",)}


NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True), min_size=1, max_size=3)


@given(
    NAMES, st.sampled_from(["subscript", "get", "colon", "python", "yaml", "made"]), st.booleans()
)
def test_a_key_that_is_read_is_never_called_unused(names: list[str], how: str, more: bool) -> None:
    path = ":".join(names)
    text = {
        "subscript": "{{ pillar" + "".join(f"['{name}']" for name in names) + " }}",
        "get": "{{ pillar" + "".join(f".get('{name}', {{}})" for name in names) + " }}",
        "colon": f"{{{{ salt['pillar.get']('{path}') }}}}",
        "python": f"{PY}__salt__['config.get']('{path}')",
        "yaml": f"x: {{file.managed: [contents_pillar: '{path}']}}",
        "made": f"{{{{ salt['pillar.get']('{path}:' ~ x) }}}}",
    }[how]
    pillar: object = {"below": 1} if more else 1
    for name in reversed(names):
        pillar = {name: pillar}
    assert isinstance(pillar, dict)
    assert list(find_unread(pillar, read(text))) == []
