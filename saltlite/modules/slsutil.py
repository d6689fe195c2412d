"""Help for SLS files: rendering, joining, serializing, and looking around in the state tree."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core import data
from saltlite.core.keywords import without_job
from saltlite.errors import FunctionError, UsageError

_TEXT = (
    "The contents of this file are managed by Salt. "
    "Any changes to this file may be overwritten automatically and without warning."
)


def renderer(
    ctx: MinionContext,
    path: str | None = None,
    string: str | None = None,
    default_renderer: str = "jinja|yaml",
    **kwargs: Any,
) -> Any:
    """What a file (a path or ``salt://``) or a text renders to.

    Keyword arguments are variables of the template.

    CLI Example:

        salt '*' slsutil.renderer salt://path/to/file
        salt '*' slsutil.renderer string='Inline template! {{ saltenv }}'
    """
    from saltlite.templates.pipe import TemplateSource, place_names, render, source_of_file

    if not path and not string:
        raise UsageError("Must pass either path or string")
    if path and string:
        raise UsageError("Must not pass both path and string")
    own = without_job(kwargs)
    saltenv = str(own.get("saltenv") or "base")
    if path:
        found = source_of_file(path, ctx, saltenv)
        if found is None:
            return {}
        source = TemplateSource(
            text=found.text, path=path, saltenv=saltenv, variables={**found.variables, **own}
        )
    else:
        names = place_names(":string:", ":string:")
        source = TemplateSource(text=str(string), saltenv=saltenv, variables={**names, **own})
    return render(source, ctx, renderer=default_renderer)


def update(
    dest: object, upd: object, recursive_update: bool = True, merge_lists: bool = False
) -> Any:
    """One map laid on another, deep unless ``recursive_update`` is off. ``dest`` is changed.

    CLI Example:

        salt '*' slsutil.update '{foo: Foo}' '{bar: Bar}'
    """
    if not isinstance(dest, MutableMapping) or not isinstance(upd, Mapping):
        raise TypeError("Cannot update using non-dict types in dictupdate.update()")
    if recursive_update:
        data.merge_onto(dest, upd, merge_lists=merge_lists)
    else:
        dest.update(data.copy_data(upd))
    return dest


def merge(
    obj_a: object,
    obj_b: object,
    strategy: str = "smart",
    renderer: str = "yaml",
    merge_lists: bool = False,
) -> Any:
    """Two maps joined, as pillar files are.

    ``strategy``: smart, recurse, aggregate, overwrite, list.

    CLI Example:

        salt '*' slsutil.merge '{foo: Foo}' '{bar: Bar}'
    """
    return data.merge_by(strategy, obj_a, obj_b, renderer=renderer, merge_lists=merge_lists)


def merge_all(
    lst: Sequence[object],
    strategy: str = "smart",
    renderer: str = "yaml",
    merge_lists: bool = False,
) -> Any:
    """A list of maps joined, the later ones over the earlier ones.

    CLI Example:

        salt '*' slsutil.merge_all '[{foo: Foo}, {foo: Bar}]'
    """
    joined: Any = {}
    for each in lst:
        joined = merge(joined, each, strategy, renderer, merge_lists)
    return joined


def serialize(serializer: str, obj: object, **mod_kwargs: Any) -> Any:
    """A value in one of the formats json, yaml, yamlex, python, configparser, keyvalue, plist.

    CLI Example:

        salt '*' slsutil.serialize 'json' obj="{'foo': 'Foo!'}"
    """
    return _find_serializer(serializer, "serialize")(obj, **without_job(mod_kwargs))


def deserialize(serializer: str, stream_or_string: object, **mod_kwargs: Any) -> Any:
    """The value of a text in one of the formats of ``slsutil.serialize``.

    CLI Example:

        salt '*' slsutil.deserialize 'json' '{"foo": "Foo!"}'
    """
    return _find_serializer(serializer, "deserialize")(stream_or_string, **without_job(mod_kwargs))


def _find_serializer(name: str, direction: str) -> Callable[..., Any]:
    from saltlite.templates.serializers import SERIALIZERS

    pair = SERIALIZERS.get(name)
    if pair is None:
        raise FunctionError(f"Serializer '{name}' not found.")
    function = pair.serialize if direction == "serialize" else pair.deserialize
    if function is None:
        raise FunctionError(f"Serializer '{name}' does not implement {direction}.")
    return function


def banner(
    width: int = 72,
    commentchar: str = "#",
    borderchar: str = "#",
    blockstart: str | None = None,
    blockend: str | None = None,
    title: str | None = None,
    text: str | None = None,
    newline: bool = False,
) -> str:
    """A comment in a box, for the top of a managed file.

    CLI Example:

        salt '*' slsutil.banner
    """
    title = "THIS FILE IS MANAGED BY SALT - DO NOT EDIT" if title is None else title
    text = _TEXT if text is None else text
    left = commentchar.strip()
    inner = width - 2 * len(left)
    if blockstart or commentchar != left:
        inner = width - len(commentchar) - len(left)
    border = f"{commentchar}{borderchar[:1] * inner}{left}"
    blank = f"{commentchar}{' ' * inner}{left}"
    lines = [blockstart] if blockstart else []
    titles = [_format_middle(line, commentchar, inner) for line in textwrap.wrap(title, inner - 2)]
    lines += [border, blank, *titles, blank]
    lines += [
        f"{commentchar} {line:<{inner - 2}} {left}" for line in textwrap.wrap(text, inner - 2)
    ]
    lines += [border]
    if blockend:
        lines.append(blockend)
    return "\n".join(lines) + ("\n" if newline else "")


def _format_middle(title: str, commentchar: str, inner: int) -> str:
    return f"{commentchar}{title.center(inner)}{commentchar.strip()}"


def boolstr(value: object, true: object = "true", false: object = "false") -> Any:
    """One of two texts, by whether a value counts as true.

    CLI Example:

        salt '*' slsutil.boolstr True true=yes false=no
    """
    return true if value else false


def file_exists(ctx: MinionContext, path: str, saltenv: str = "base") -> bool:
    """Whether there is such a file in the state tree.

    CLI Example:

        salt '*' slsutil.file_exists nginx/defaults.yaml
    """
    return path in _open_client(ctx).list_files(saltenv)


def dir_exists(ctx: MinionContext, path: str, saltenv: str = "base") -> bool:
    """Whether there is such a directory in the state tree.

    CLI Example:

        salt '*' slsutil.dir_exists nginx/files
    """
    return path in _open_client(ctx).list_dirs(saltenv)


def path_exists(ctx: MinionContext, path: str, saltenv: str = "base") -> bool:
    """Whether there is such a file or directory in the state tree.

    CLI Example:

        salt '*' slsutil.path_exists nginx/defaults.yaml
    """
    return file_exists(ctx, path, saltenv) or dir_exists(ctx, path, saltenv)


def findup(ctx: MinionContext, startpath: str, filenames: object, saltenv: str = "base") -> str:
    """The first of some files that is in a directory of the state tree or in one above it.

    CLI Example:

        salt '*' slsutil.findup formulas/shared/nginx map.jinja
    """
    names = [filenames] if isinstance(filenames, str) else filenames
    if not isinstance(names, list):
        raise UsageError("Filenames argument must be a string or list of strings")
    if startpath and not path_exists(ctx, startpath, saltenv):
        raise UsageError(f"Starting path not found in the state tree: {startpath}")
    files = set(_open_client(ctx).list_files(saltenv))
    directory = startpath
    while True:
        for name in names:
            path = f"{directory}/{name}" if directory else str(name)
            if path in files:
                return path
        if not directory:
            raise FunctionError("File pattern(s) not found in path ancestry")
        directory = directory.rpartition("/")[0]


def _open_client(ctx: MinionContext) -> Any:
    from saltlite.fileserver.client import file_client

    return file_client(ctx)
