"""The outputter of salt-key: one block per state of the keys. Source: docs/cli.md#salt-key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from saltlite.core.output_options import (
    BLUE,
    GREEN,
    LIGHT_BLUE,
    LIGHT_GREEN,
    LIGHT_PURPLE,
    LIGHT_RED,
    PURPLE,
    RED,
    OutputOptions,
)
from saltlite.core.plain import Plain
from saltlite.outputters import nested

BLOCKS = (
    ("local", "Local Keys:", LIGHT_PURPLE, PURPLE),
    ("minions", "Accepted Keys:", LIGHT_GREEN, GREEN),
    ("minions_denied", "Denied Keys:", LIGHT_PURPLE, PURPLE),
    ("minions_pre", "Unaccepted Keys:", LIGHT_RED, RED),
    ("minions_rejected", "Rejected Keys:", LIGHT_BLUE, BLUE),
)


def output(data: Plain, options: OutputOptions) -> str:
    """Heads and names; ``name:  text`` where there is a key or fingerprint to show."""
    if not isinstance(data, Mapping) or not all(_is_block(key, data[key]) for key in data):
        return nested.output(data, options)
    return "\n".join(_format_blocks(data, options))


def _is_block(key: str, value: Plain) -> bool:
    return key in {block[0] for block in BLOCKS} and isinstance(value, (list, tuple, Mapping))


def _format_blocks(data: Mapping[str, Plain], options: OutputOptions) -> Iterator[str]:
    for state, head, head_color, color in BLOCKS:
        if state not in data:
            continue
        yield options.paint(head, head_color)
        names = data[state]
        if isinstance(names, Mapping):
            for name in sorted(names):
                shown = options.clean(f"{name}:  {names[name]!s}")
                yield options.paint(shown, color)
        elif isinstance(names, (list, tuple)):
            for name in sorted(str(name) for name in names):
                yield options.paint(options.clean(name), color)
