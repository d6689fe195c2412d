"""``test.*``: try out how runners are called."""

from __future__ import annotations

import time
from typing import Any

from saltlite.core.keywords import own_keywords
from saltlite.runner_context import RunnerContext

SECRETS = frozenset({"key_pass", "signing_key_pass"})


def arg(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return the arguments; keywords that begin with two underscores are left out.

    CLI Example:

        salt-run test.arg foo bar=baz
    """
    shown = own_keywords(kwargs)
    return {"args": list(args), "kwargs": shown}


def raw_arg(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return the arguments, all keywords included.

    CLI Example:

        salt-run test.raw_arg foo __bar=baz
    """
    return {"args": list(args), "kwargs": kwargs}


def sleep(s_time: float = 10) -> bool:
    """Sleep ``s_time`` seconds, then return True.

    CLI Example:

        salt-run test.sleep s_time=5
    """
    time.sleep(float(s_time))
    return True


def stdout_print(ctx: RunnerContext) -> str:
    """Print ``foo`` and return ``bar``.

    CLI Example:

        salt-run test.stdout_print
    """
    ctx.write("foo")
    return "bar"


def get_opts(ctx: RunnerContext) -> dict[str, Any]:
    """Return the master's options, without its secrets.

    CLI Example:

        salt-run test.get_opts
    """
    from saltlite.config.opts import flat_opts, mask_secrets

    return mask_secrets({n: v for n, v in flat_opts(ctx.config).items() if n not in SECRETS})


def metasyntactic(locality: str = "us") -> list[str]:
    """Return names that stand for nothing.

    CLI Example:

        salt-run test.metasyntactic us
    """
    names = {
        "us": ["foo", "bar", "baz", "qux", "quux", "quuz", "corge", "grault", "garply", "waldo",
               "fred", "plugh", "xyzzy", "thud"],
        "uk": ["wibble", "wobble", "wubble", "flob"],
    }  # fmt: skip
    return names[locality]
