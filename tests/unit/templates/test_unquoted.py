"""Where a grain becomes part of YAML as the minion says it."""

from __future__ import annotations

import pytest

from saltlite.templates.unquoted import find_unquoted


@pytest.mark.parametrize(
    "text",
    [
        "{{ grains.os }}",
        "{{ grains['os'] }}",
        "'{{ grains.os }}'",
        "{{ grains.get('os', 'x') }}",
        "{{ salt['grains.get']('os') }}",
        "{{ salt.grains.get('os') }}",
        "{{ __salt__['grains.item']('os') }}",
        "{{ grains.os | lower }}",
        "{{ grains.os.lower() }}",
        "{{ 'a' ~ grains.os }}",
        "{{ '%s' | format(grains.os) }}",
        "{{ '{}'.format(grains.os) }}",
        "{{ grains.os if x else y }}",
        "{% if x %}{{ grains.os }}{% endif %}",
        "{% set name = grains.os %}{{ name }}",
        "{% for one in grains.roles %}- {{ one }}{% endfor %}",
        "{% for one in grains.roles %}{% set two = one %}- {{ two }}{% endfor %}",
    ],
)
def test_what_a_minion_says(text: str) -> None:
    assert find_unquoted(f"a: 1\nb: {text}\n") == [2]


@pytest.mark.parametrize(
    "text",
    [
        "{{ grains.id }}",
        "{{ grains['id'] }}",
        "{{ salt['grains.get']('id') }}",
        "{{ grains.os | yaml_encode }}",
        "{{ grains.os | lower | json }}",
        "{{ grains.num_cpus | int }}",
        "{{ grains.os == 'x' }}",
        "{{ names[grains.os] }}",
        "{{ pillar.os }}",
        "{% if grains.os == 'Debian' %}x{% endif %}",
        "{{ 1 if grains.os else 2 }}",
        "{{ grains.os",
        "",
    ],
)
def test_what_is_safe_or_nothing_of_the_minion(text: str) -> None:
    assert find_unquoted(f"a: 1\nb: {text}\n") == []
