"""What one template may take of a machine: time, memory, the size of a value."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import replace

import pytest

from saltlite import regex_process
from saltlite.config.minion import FileOptions, IdentityOptions, MinionConfig, PathOptions
from saltlite.context import MinionContext
from saltlite.core import patterns
from saltlite.errors import RenderError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.templates import expressions, limits
from saltlite.templates.expressions import until_over
from saltlite.templates.limits import LimitExceeded, Meter
from saltlite.templates.template import render_template

NESTED = "one\n{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"
IMPORTED = {
    "slow.jinja": "first\n{% macro slow() %}\n" + NESTED + "{% endmacro %}",
    "slow.yaml": "first\nsecond: " + NESTED,
}


@pytest.fixture
def ctx(tmp_path):
    root = tmp_path / "states"
    root.mkdir()
    for name, text in IMPORTED.items():
        (root / name).write_text(text)
    config = MinionConfig(
        identity=IdentityOptions(id="web1"),
        paths=PathOptions(cachedir=str(tmp_path / "cache")),
        files=FileOptions(
            file_client="local", file_roots={"base": [str(root)]}, jinja_time_limit=0.1
        ),
    )
    ctx = MinionContext(config=config, host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx


@pytest.fixture
def patient(ctx):
    """For what has to be rendered, however slow the machine is."""
    ctx.config = replace(ctx.config, files=replace(ctx.config.files, jinja_time_limit=30))
    return ctx


def rendered(text, ctx):
    return render_template(text, "jinja", ctx, path="/srv/salt/a.sls", name="a.sls")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (NESTED, 2),
        ("{% for a in 'x' * 60000000 %}{% endfor %}", 1),
        ("{% for a in range(100000) if a is odd %}{% for b in range(99999) %}{% endfor %}"
         "{% endfor %}", 1),
        ("{% for a in [1, 2] recursive %}{% if loop.depth < 20 %}{{ loop(range(9999)) }}"
         "{% endif %}{% endfor %}", 1),
        ("{% for a in range(9) recursive %}{{ loop(range(9)) if loop.depth < 99 }}{% endfor %}", 1),
        ("{% set xs = [1] %}\n{% for x in xs %}{% do xs.append(x) %}{% endfor %}", 2),
        ("{% set d = {'a': [1]} %}\n{% for x in d.a %}"
         "{% set _ = d|append_dict_key_value('a', x) %}{% endfor %}", 2),
        ("{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}"
         "{{ m(99) }}", 1),
        ("{{ range(99)|product(range(99), range(99), range(99))|list|length }}", 1),
        ("{% for p in range(99)|permutations %}{% endfor %}", 1),
        ("{% for a in range(100000) %}{% set b = 'x'.center(1000000) %}{% endfor %}", 1),
    ],
)  # fmt: skip
def test_what_would_never_end_is_stopped_where_it_is(text, line, ctx):
    began = time.thread_time()
    with pytest.raises(RenderError) as caught:
        rendered(text, ctx)
    assert time.thread_time() - began < 5
    assert (caught.value.path, caught.value.line) == ("/srv/salt/a.sls", line)
    assert "the template takes more than 0.1 s (jinja_time_limit)" in caught.value.problem


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("{% from 'slow.jinja' import slow %}{{ slow() }}", "salt://slow.jinja", 4),
        ("{% import_yaml 'slow.yaml' as data %}", "salt://slow.yaml", 3),
    ],
)
def test_an_imported_template_counts_and_is_named(text, path, line, ctx):
    with pytest.raises(RenderError, match="jinja_time_limit") as caught:
        rendered(text, ctx)
    assert (caught.value.path, caught.value.line) == (path, line)


BIG = 10**9


@pytest.mark.parametrize(
    "text",
    [
        f"{{{{ '%{BIG}d'|format(1) }}}}",
        f"{{{{ '%*d'|format({BIG}, 1) }}}}",
        f"{{{{ '{{:{BIG}}}'.format(1) }}}}",
        f"{{{{ 'x'|center({BIG}) }}}}",
        f"{{{{ 'x'.center({BIG}) }}}}",
        f"{{{{ 'x'.ljust({BIG}) }}}}",
        f"{{{{ 'x'.rjust({BIG}, 'y') }}}}",
        f"{{{{ 'x'.zfill({BIG}) }}}}",
        f"{{{{ 'x'.encode().zfill({BIG}) }}}}",
        f"{{{{ 'x\ty'.expandtabs({BIG}) }}}}",
        f"{{{{ 'x\ty'.expandtabs(tabsize={BIG}) }}}}",
        f"{{{{ 'x'|method_call('ljust', {BIG}) }}}}",
        f"{{{{ (1).to_bytes({BIG}, 'big') }}}}",
        f"{{{{ 'x\ny'|indent({BIG}) }}}}",
        f"{{{{ ['x', 'y']|map('center', {BIG})|list }}}}",
        f"{{{{ [1]|batch({BIG}, 0)|list }}}}",
        f"{{{{ [1]|slice({BIG})|list }}}}",
        f"{{{{ [1]|product(repeat={BIG})|list }}}}",
        f"{{{{ [1]|json(indent={BIG}) }}}}",
        f"{{{{ [1]|tojson({BIG}) }}}}",
        f"{{{{ {BIG}|random_str }}}}",
        f"{{{{ lipsum(n={BIG}) }}}}",
        "{% set w = 'x' * 100000 %}{{ w|replace('x', w) }}",
        "{% set w = 'x' * 100000 %}{{ w.replace('x', w) }}",
        "{% set w = 'x' * 100000 %}{{ w|wordwrap(10, wrapstring=w) }}",
        "{% set w = 'x' * 100000 %}{{ w.translate({120: w}) }}",
        "{% set w = 'x' * 100000 %}{{ range(10000)|join(w) }}",
        "{% set w = 'x' * 100000 %}{{ w.join('x' * 10000) }}",
        "{% set w = 'x' * 100000 %}{{ ([{'a': w}] * 10000)|join(attribute='a') }}",
        "{% set w = 'x' * 100000 %}{{ ('%s' * 10000)|format(*([w] * 10000)) }}",
        "{% set w = 'x' * 100000 %}{{ ('{0}' * 10000).format(w) }}",
        "{% set n = namespace(x='x') %}{% for i in range(40) %}{% set n.x = n.x ~ n.x %}"
        "{% endfor %}",
        "{% set n = namespace(x='x') %}{% for i in range(40) %}{% set n.x = n.x + n.x %}"
        "{% endfor %}",
        "{% set n = namespace(x=[1]) %}{% for i in range(40) %}{% set n.x = n.x + n.x %}"
        "{% endfor %}",
        "{% set n = namespace(x='x') %}{% for i in range(40) %}{% set n.x %}{{ n.x }}{{ n.x }}"
        "{% endset %}{% endfor %}",
        "{% set n = namespace(x=9) %}{% for i in range(40) %}{% set n.x = n.x * n.x %}{% endfor %}",
        "{% set xs = [1] %}{% for i in range(40) %}{% do xs.extend(xs) %}{% endfor %}",
    ],
)  # fmt: skip
def test_a_value_that_is_too_large_is_refused_before_it_is_made(text, ctx):
    began = time.thread_time()
    with pytest.raises(RenderError, match=r"the sandbox blocks|takes more than"):
        rendered(text, ctx)
    assert time.thread_time() - began < 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{% for a in 'ab' %}{{ loop.index }}/{{ loop.length }}{{ a }} {% endfor %}", "1/2a 2/2b "),
        ("{% for a in range(70) %}{{ loop.length if loop.last else '' }}{% endfor %}", "70"),
        ("{% for a in [1, 2]|map('string') %}{{ a }}{{ loop.length }}{% endfor %}", "1222"),
        ("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% else %}no{% endfor %}", "a1"),
        ("{% for a in [] %}{% else %}none{% endfor %}", "none"),
        ("{% for a in [[1, [2]], 3] recursive %}{{ loop(a) if a is iterable else a }}{% endfor %}",
         "123"),
        ("{{ 'x'|center(3) }}{{ 'a\nb'|indent(1) }}{{ '%3d'|format(1) }}", " x a\n b  1"),
        ("{{ [1, 2]|join('-') }}{{ [{'a': 1}, {'a': 2}]|join('-', attribute='a') }}", "1-21-2"),
        ("{{ [1, 2]|product([3])|list }}{{ 'ab'|permutations(2)|map('join')|list }}",
         "[(1, 3), (2, 3)]['ab', 'ba']"),
        ("{{ [1, 2, 3]|batch(2, 0)|list }}{{ [1, 2]|slice(2)|list }}",
         "[[1, 2], [3, 0]][[1], [2]]"),
        ("{{ 'aXb'|replace('X', '--') }}{{ 'a b'|wordwrap(1) }}{{ [1]|tojson }}", "a--ba\nb[1]"),
    ],
)  # fmt: skip
def test_what_is_small_is_as_it_was(text, expected, patient):
    assert rendered(text, patient) == expected


def test_wrong_arguments_are_refused_in_pythons_own_words(patient):
    with pytest.raises(RenderError, match=r"argument"):
        rendered("{{ 'x'.center() }}", patient)
    with pytest.raises(RenderError, match=r"argument|integer"):
        rendered("{{ 'x'|center('y') }}", patient)


def test_a_process_that_grows_too_much_is_stopped(monkeypatch):
    meter = Meter(0)
    monkeypatch.setattr(limits, "_peak_memory", lambda: 10**12)
    with pytest.raises(LimitExceeded, match="more than 1024 MiB of memory"):
        meter.step(limits.STEPS + 1)


def test_without_a_limit_nothing_looks_at_the_clock(monkeypatch):
    meter = Meter(0)
    monkeypatch.setattr(time, "thread_time", lambda: 10**9)
    meter.step(limits.STEPS + 1)


HANGS = [
    "{{ ('a' * 60 ~ 'b') | regex_match('(a+)+$') }}",
    "{{ ('x' * 60) | regex_search('(x+x+)+y') }}",
    "{{ ('x' * 60) | regex_replace('(x|x)*y', '') }}",
    "{{ ('a' * 60 ~ 'b') is match('(a+)+$') }}",
    "{{ (['a' * 60 ~ 'b'] | select('match', rgx='(a+)+$') | list) }}",
    "{{ (['a' * 60 ~ 'b'] | map('regex_search', '(a+)+$') | list) }}",
    "{{ ('a' * 60 ~ 'b') | check_whitelist_blacklist(whitelist='(a+)+') }}",
    "{{ (' ' * 60000 ~ 'x') | regex_search('[ ]+$') }}",
]


@pytest.mark.parametrize("text", HANGS)
def test_an_expression_without_end_ends_with_the_templates_time(text, ctx):
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(RenderError) as failed:
        rendered("one\n" + text, ctx)
    assert "/srv/salt/a.sls:2: " in str(failed.value)
    assert "more than 0.1 s (jinja_time_limit)" in str(failed.value)
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) == before


def test_a_plain_expression_sets_no_timer(patient, monkeypatch):
    monkeypatch.setattr(expressions, "until_over", None)
    text = "{{ 'web-01.example.com'|regex_replace('^(.*?)[.].*$', '\\\\1') }}"
    assert rendered(text, patient) == "web-01"
    assert rendered("{{ ('x' * 4000) is match('x*$') }}", patient) == "True"


@pytest.mark.parametrize("expression", ["xy*" * 99, "x?" * 99, "y|" * 200, "x" * 999])
def test_a_long_expression_is_no_error(expression, patient):
    found = rendered(f"{{{{ ('x' * 999) is match('{expression}') }}}}", patient)
    assert found == "True"


def test_time_that_others_took_is_not_the_templates(ctx):
    """The timer counts the whole process; the template's clock its own thread."""
    meter = Meter(30)
    with until_over(meter):
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.001)  # as if other threads were at work
        while signal.getitimer(signal.ITIMER_VIRTUAL)[0] < 1:  # until it has fired and is set anew
            meter.look()


def in_a_thread(text, ctx):
    found = []

    def render():
        try:
            found.append(rendered(text, ctx))
        except RenderError as error:
            found.append(str(error))

    thread = threading.Thread(target=render)
    thread.start()
    thread.join()
    return found[0]


@pytest.fixture
def outside(monkeypatch):
    monkeypatch.setattr(patterns, "_outside", regex_process.ask)
    yield
    regex_process._process.close()


def test_where_no_signal_comes_another_process_is_asked(ctx, outside):
    long = "{{ ('a' * 30) | regex_match('(a+)+$') }}"
    assert in_a_thread(long, ctx) == f"('{'a' * 30}',)"
    assert in_a_thread("{{ ('a' * 30) | regex_search('((x)|a+)+$') }}", ctx) == (
        f"('{'a' * 30}', None)"
    )
    assert in_a_thread("{{ 'aab' | regex_replace('((a)+)+', '<\\\\1>') }}", ctx) == "<aa>b"
    assert in_a_thread("{{ 'aab' is match('(a+)+b') }}", ctx) == "True"


@pytest.mark.parametrize("text", HANGS)
def test_what_takes_too_long_in_a_thread_ends(ctx, outside, text):
    assert "takes more than" in in_a_thread(text, ctx)


def test_what_is_put_in_place_has_a_size(patient):
    many = "{{ ('x' * 900) | regex_replace('(x)', '\\\\1' * 90) | length }}"
    assert rendered(many, patient) == "81000"
    with pytest.raises(RenderError, match="larger than"):
        rendered("{{ ('x' * 60) | regex_replace('', 'y' * 6000000) }}", patient)
    with pytest.raises(RenderError, match="larger than"):
        rendered("{{ ('x' * 6000000) | regex_replace('(?s).*', '\\\\g<0>' * 6000) }}", patient)
