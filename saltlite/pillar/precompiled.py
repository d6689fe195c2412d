"""What the pillars of all minions have in common, made before the master forks its workers.

Each worker would compile every template and read every file without one for itself, which takes
longer than all that a few hundred minions ask for. Done before the fork, all share it. What is kept
is found by the whole text: a file that has changed is compiled anew by the worker that meets it.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from saltlite.errors import SaltliteError

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig
    from saltlite.context import MinionContext
    from saltlite.pillar.tree import SlsFile
    from saltlite.templates.template import Template

log = logging.getLogger(__name__)

LIMIT_S: Final = 1.0
"""Of the processor: so much later a master may answer at most."""

LARGEST_CHARS: Final = 256 * 1024
"""Larger files are left to who needs them."""

MISTAKES: Final = (
    ArithmeticError,
    LookupError,
    OSError,
    RecursionError,
    SaltliteError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What a file that somebody is at may cause. Who needs the file is told of it."""


def precompile_pillar(
    config: MasterConfig, *, clock_s: Callable[[], float] = time.process_time
) -> int:
    """Compile and read the files of ``pillar_roots`` for the processes that are forked next.

    Nothing is rendered. How many files were looked at within :data:`LIMIT_S`.
    """
    roots = config.pillar.pillar_roots.values()
    if not any(_has_files(directory) for directories in roots for directory in directories):
        return 0
    # Not before: a master without pillar loads none of it.
    from jinja2 import TemplateError

    from saltlite.pillar.context import compiler_of_nobody
    from saltlite.templates.jinja import MAX_COMPILED

    compiler = compiler_of_nobody(config)
    tree, ctx = compiler.tree, compiler.ctx
    until_s = clock_s() + LIMIT_S
    places = [(name, saltenv) for saltenv in tree.envs for name in tree.files(saltenv)]
    for count, (name, saltenv) in enumerate(places[:MAX_COMPILED]):
        if clock_s() > until_s:
            return count
        try:
            file = tree.read_file(name, saltenv)
            if file is not None and len(file.text) <= LARGEST_CHARS:
                _prepare_file(ctx, file, saltenv, is_top=name == compiler.top_name)
        except (*MISTAKES, TemplateError) as error:
            log.debug("%s is not compiled ahead: %s", name, error)
    return min(len(places), MAX_COMPILED)


def _has_files(directory: str) -> bool:
    try:
        with os.scandir(directory) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _prepare_file(ctx: MinionContext, file: SlsFile, saltenv: str, *, is_top: bool) -> None:
    from saltlite.pillar.tree import sls_name
    from saltlite.templates import jinja
    from saltlite.templates.parsed import load_yaml
    from saltlite.templates.pipe import pipe

    sls = sls_name(file.name)
    if not sls:
        path = jinja.name_of_import(file.name, saltenv)
        # What is imported belongs to the SLS that imports it.
        jinja.compile_ahead(_make_template(file, path, saltenv, file.name), ctx)
        return
    stages = [stage.name for stage in pipe(file.text, ctx.config.files.renderer)]
    is_plain = stages[:1] != ["jinja"]
    if not is_plain:
        template = _make_template(file, file.path, saltenv, "" if is_top else sls)
        is_plain = not jinja.compile_ahead(template, ctx)
    if is_plain and stages in (["yaml"], ["jinja", "yaml"]):
        load_yaml(file.text, file.path, keep=True)


def _make_template(file: SlsFile, path: str, saltenv: str, sls: str) -> Template:
    from saltlite.templates.template import Template

    return Template(text=file.text, path=path, name=file.name, saltenv=saltenv, sls=sls)
