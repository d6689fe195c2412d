"""Answers to the questions of Debian packages: as text, and given to debconf.

Called by ``modules/debconf.py`` and the states. Source: debconf-set-selections(1).
"""

from __future__ import annotations

from collections.abc import Mapping

from saltlite.context import MinionContext
from saltlite.errors import CommandError
from saltlite.host import Host


def parse(text: str) -> dict[str, list[list[str]]]:
    """``debconf-get-selections``: package, then ``[question, type, answer]`` of each.

    Lines of package, question, type and answer, parted by tabs; comments are skipped.
    """
    found: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        words = line.split("\t")
        if line.startswith("#") or len(words) < 3:
            continue
        package, question, kind = words[:3]
        answer = "\t".join(words[3:])
        found.setdefault(package, []).append([question, kind, answer])
    return found


def parse_given(text: str) -> dict[str, list[list[str]]]:
    """As :func:`parse`, from lines as ``debconf-set-selections`` takes them: parted by blanks."""
    found: dict[str, list[list[str]]] = {}
    for line in text.replace("\\\n", "").splitlines():
        words = line.strip().split(None, 3)
        if line.lstrip().startswith("#") or len(words) < 3 or words[2] == "seen":
            continue
        package, question, kind, *answer = words
        found.setdefault(package, []).append([question, kind, "".join(answer)])
    return found


def give(host: Host, lines: str) -> None:
    """Hand lines to debconf; an answer may be a password, so it is in no error."""
    done = host.run(["debconf-set-selections"], stdin=lines)
    if done.exit_code != 0:
        raise CommandError(["debconf-set-selections"], done.exit_code, "a line was refused")


def text_of(
    ctx: MinionContext,
    path: str,
    saltenv: str,
    *,
    template: str | None = None,
    context: Mapping[str, object] | None = None,
    defaults: Mapping[str, object] | None = None,
) -> str | None:
    """The text of a file here or on the master, perhaps rendered; ``None`` if there is none."""
    local = path
    if "://" in path:
        local = str(ctx.functions.call("cp.cache_file", path, saltenv) or "")
    text = ctx.host.read_text(local) if local else None
    if text is None or not template:
        return text
    from saltlite.templates.template import render_template

    return render_template(
        text, template, ctx, saltenv=saltenv, context=context, defaults=defaults, path=path
    )
