"""Answers to the questions that Debian packages ask when they are installed.

Needs Debian's ``debconf-utils``. Source: Salt's documentation of ``debconf``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.host import Host
from saltlite.providers import debconf as selections


def get_selections(ctx: MinionContext, fetchempty: bool = True) -> dict[str, list[list[str]]]:
    """The answers to all questions: package, then ``[question, type, answer]`` of each.

    With ``fetchempty=False`` questions without an answer are left out.

    CLI Example:

        salt '*' debconf.get_selections
    """
    found = selections.parse(_read_selections(ctx.host))
    if fetchempty:
        return found
    answered = {
        package: [each for each in questions if each[2]] for package, questions in found.items()
    }
    return {package: questions for package, questions in answered.items() if questions}


def _read_selections(host: Host) -> str:
    done = host.run(["debconf-get-selections"])
    if done.exit_code != 0:
        raise FunctionError(done.stderr.strip() or "debconf-get-selections failed")
    return done.stdout


def show(ctx: MinionContext, name: str) -> list[list[str]] | None:
    """The answers of one package, ``None`` without any.

    CLI Example:

        salt '*' debconf.show tzdata
    """
    return get_selections(ctx).get(name)


def set_(
    ctx: MinionContext, package: str, question: str, type: str, value: object, *extra: str
) -> bool:
    """Answer a question.

    CLI Example:

        salt '*' debconf.set tzdata tzdata/Areas select Europe
    """
    words = [str(value), *map(str, extra)]
    selections.give(ctx.host, f"{package} {question} {type} {' '.join(words)}\n")
    return True


def set_file(ctx: MinionContext, path: str, saltenv: str = "base", **kwargs: Any) -> bool:
    """Answer questions from a file with lines as ``debconf-set-selections`` takes them.

    CLI Example:

        salt '*' debconf.set_file salt://pathto/pkg.selections
    """
    text = selections.text_of(ctx, path, saltenv)
    if text is None:
        return False
    selections.give(ctx.host, text)
    return True


def set_template(
    ctx: MinionContext,
    path: str,
    template: str,
    context: Mapping[str, object] | None,
    defaults: Mapping[str, object] | None,
    saltenv: str = "base",
    **kwargs: Any,
) -> bool:
    """Answer questions from a template, rendered with ``context`` over ``defaults``.

    CLI Example:

        salt '*' debconf.set_template salt://pathto/pkg.selections.jinja jinja None None
    """
    text = selections.text_of(
        ctx, path, saltenv, template=template, context=context, defaults=defaults
    )
    if text is None:
        return False
    selections.give(ctx.host, text)
    return True
