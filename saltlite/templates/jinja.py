"""Jinja as Salt's templates know it.

Templates run in Jinja's sandbox, which refuses names that begin with an underscore and large
ranges; this adds limits on time, memory and the length of the result (``templates/limits.py``).
Compiled code is kept by source, so that a template that is rendered for a thousand minions is
compiled once; whether a file has changed is seen by its text. Runs of states keep it on disk too
(``templates/compiled.py``).
"""

from __future__ import annotations

import copy
import functools
import json
import logging
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from functools import partial
from types import BuiltinMethodType, CodeType
from typing import TYPE_CHECKING, Any, NoReturn

import jinja2
from jinja2.ext import do, loopcontrols
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import SandboxedEnvironment
from jinja2.utils import missing, object_type_repr

from saltlite.core.lazyregex import regex
from saltlite.errors import CommandError, FunctionError, RenderError
from saltlite.templates import expressions
from saltlite.templates.blocks import DataError, SerializedBlocks
from saltlite.templates.compiled import CompiledFiles, compiled_files
from saltlite.templates.excerpt import excerpt, nearest, similar
from saltlite.templates.filters import FILTERS, TESTS
from saltlite.templates.jinja_options import MAX_CHARS, is_plain, read_options
from saltlite.templates.limits import (
    BRACES,
    TIME_LIMIT,
    Meter,
    limit_filters,
    lorem_ipsum,
    size_of_binop,
    size_of_call,
    size_of_format,
)
from saltlite.templates.names import QUOTE_ALL, SaltFunctions, SaltModule, opts_of

if TYPE_CHECKING:
    from jinja2.compiler import CodeGenerator

    from saltlite.context import MinionContext
    from saltlite.templates.template import Template

log = logging.getLogger(__name__)

MAX_COMPILED = 1000
"""Templates whose compiled code is kept."""


_compiled: dict[tuple[Any, ...], CodeType] = {}


def render_text(template: Template, ctx: MinionContext) -> str:
    """Render a template.

    Raises:
        RenderError: it does not render.
    """
    options = read_options(template.sls, opts_of(ctx))
    if is_plain(template.text, options):
        return template.text
    environment = _kind_of_environment(ctx).of(template, ctx, options)
    try:
        compiled = environment.compile_text(template.text, template.name, _filename_of(template))
        rendered = _join_pieces(compiled.generate())
    except Exception as error:
        raise _explain_error(error, template, environment) from error
    return f"{rendered}\n" if template.text.endswith("\n") else rendered


def compile_ahead(template: Template, ctx: MinionContext) -> bool:
    """Compile a template that others will render; ``False`` if it is a text without Jinja.

    Raises:
        jinja2.TemplateError: it cannot be compiled; and what its constants may raise.
    """
    options = read_options(template.sls, opts_of(ctx))
    if is_plain(template.text, options):
        return False
    environment = _kind_of_environment(ctx).of(template, ctx, options)
    environment.compile_text(template.text, template.name, _filename_of(template))
    return True


def _kind_of_environment(ctx: MinionContext) -> type[SaltEnvironment]:
    if QUOTE_ALL not in ctx.state:
        return SaltEnvironment
    return _quoting_kind()


@functools.cache
def _quoting_kind() -> type[SaltEnvironment]:
    from saltlite.templates.quoting import Quoting

    class QuotingEnvironment(Quoting, SaltEnvironment):
        """Salt's Jinja, with quotes around what is printed."""

        def __init__(self, options: dict[str, Any]) -> None:
            super().__init__(options)
            self.quote_all()

    return QuotingEnvironment


def _join_pieces(pieces: Iterator[str]) -> str:
    whole, length = [], 0
    for piece in pieces:
        length += len(piece)
        if length > MAX_CHARS:
            raise OverflowError(f"the result is longer than {MAX_CHARS} characters")
        whole.append(piece)
    return "".join(whole)


class NearestUndefined(jinja2.StrictUndefined):
    """Complains when it is used; the complaint knows where the name was looked up."""

    __slots__ = ()

    def __init__(
        self,
        hint: str | None = None,
        obj: object = missing,
        name: str | None = None,
        exc: type[jinja2.TemplateRuntimeError] = jinja2.UndefinedError,
    ) -> None:
        if exc is jinja2.UndefinedError:
            exc = partial(UnknownName, obj, name)  # type: ignore[assignment]  # called only
        super().__init__(hint, obj, name, exc)

    @property
    def _undefined_message(self) -> str:
        name, owner = self._undefined_name, self._undefined_obj
        if self._undefined_hint or owner is missing:
            return super()._undefined_message
        if not isinstance(name, str):
            return f"{_kind_of(owner)} has no element {name!r}"
        return f"{_kind_of(owner)!r} has no attribute {name!r}"


class UnknownName(jinja2.UndefinedError):
    """A template uses a name that is not there; ``owner`` is where it was looked up."""

    def __init__(self, owner: object, name: object, message: str) -> None:
        super().__init__(message)
        self.owner = owner
        self.name = name


def _kind_of(owner: object) -> str:
    if isinstance(owner, SaltFunctions):
        return "salt.utils.templates.AliasedLoader object"
    if isinstance(owner, SaltModule):
        return "salt.loader.lazy.LoadedMod object"
    return "dict object" if isinstance(owner, Mapping) else object_type_repr(owner)


class SaltEnvironment(SandboxedEnvironment):
    """Jinja with Salt's names; :meth:`of` makes one for each template, which costs little."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})
    meter: Meter

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__(
            extensions=[do, loopcontrols, SerializedBlocks],
            undefined=NearestUndefined,
            cache_size=0,
            finalize=_printable_value,
            **options,
        )
        self._options = (("class", type(self).__name__), *_comparable_options(options))
        self._sources: dict[str, str] = {}
        self._kept: CompiledFiles | None = None
        self.filters.update(FILTERS)
        self.filters.update(limit_filters(self.filters))
        self.filters.update(expressions.in_time(self.filters, expressions.FILTERS))
        self.tests.update(TESTS)
        self.tests.update(expressions.in_time(TESTS, expressions.TESTS))
        self.globals.update(GLOBALS)

    @property
    def code_generator_class(self) -> type[CodeGenerator]:  # type: ignore[override]  # read only
        """The compiler, which counts loops; loaded when it is needed."""
        from saltlite.templates.generator import CountingGenerator

        return CountingGenerator

    @classmethod
    def of(cls, template: Template, ctx: MinionContext, options: dict[str, Any]) -> SaltEnvironment:
        """An environment for one template: names, loader and sources are its own."""
        key = (("class", cls.__name__), *_comparable_options(options))
        model = _models.get(key)
        if model is None:
            _models.clear()  # options seldom change; none of old ones is needed
            model = _models[key] = cls(options)
        own = copy.copy(model)
        own.globals = {**model.globals, **template.variables}
        own.loader = _FileLoader(template, ctx)
        own.extensions = {name: each.bind(own) for name, each in model.extensions.items()}
        own._sources = {}
        own._kept = compiled_files(ctx)
        own.meter = Meter(float(opts_of(ctx).get("jinja_time_limit", TIME_LIMIT)))
        return own

    def compile_text(
        self,
        text: str,
        name: str,
        filename: str,
        variables: MutableMapping[str, Any] | None = None,
    ) -> jinja2.Template:
        """A template that is ready to run; compiled unless that was done before."""
        self._sources[filename] = text
        key = (self._options, name, filename, text)
        code = _compiled.get(key)
        if code is None:
            if len(_compiled) >= MAX_COMPILED:
                _compiled.pop(next(iter(_compiled)), None)
            code = _compiled[key] = self._compile_code(text, name, filename)
        return jinja2.Template.from_code(self, code, self.make_globals(variables))

    def _compile_code(self, text: str, name: str, filename: str) -> CodeType:
        code = self._kept and self._kept.get(self._options, name, filename, text)
        if not code:
            code = self.compile(text, name=name, filename=filename)
            if self._kept:
                self._kept.put(self._options, name, filename, text, code)
        return code

    def source(self, filename: str) -> str | None:
        """The text of a template that was loaded under this name."""
        return self._sources.get(filename)

    def join_path(self, template: str, parent: str) -> str:
        """The name of an imported template; ``./`` and ``../`` lead on from the importing one."""
        if not template.startswith(("./", "../")):
            return template
        return posixpath.normpath(posixpath.join(posixpath.dirname(parent), template))

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> Any:
        """Refuse what would not fit into memory."""
        self.meter.grown(size_of_binop(operator, left, right))
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: object, *args: Any, **kwargs: Any) -> Any:
        """Count a call; refuse one of a text's or list's methods that would make too much."""
        __self.meter.step()
        if isinstance(__obj, BuiltinMethodType):
            __self.meter.grown(size_of_call(__obj, args, kwargs))
        elif isinstance(__obj, LoopContext):
            args = (__self.meter.rounds(args[0]), *args[1:]) if args else args
        return super().call(__context, __obj, *args, **kwargs)

    def concat(self, pieces: Iterable[str]) -> str:
        """The text of a block, a macro or an imported template."""
        whole = list(pieces)
        self.meter.grown(sum(map(len, whole)))
        return "".join(whole)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """The same for ``format`` and ``format_map`` of texts."""
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None
        formatted: Callable[..., str] = wrapped

        def check(*args: Any, **kwargs: Any) -> str:
            given = args[0] if args and isinstance(args[0], Mapping) else kwargs
            size = size_of_format(BRACES, value.__self__, (*args, *given.values()))
            self.meter.grown(size)
            return formatted(*args, **kwargs)

        return check


_models: dict[tuple[tuple[str, str], ...], SaltEnvironment] = {}
"""Environments without a template by their options; they hold nobody's data."""


def _comparable_options(options: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, repr(value)) for name, value in options.items()))


def _printable_value(value: object) -> Any:
    """What is printed for a value.

    Mappings that load on first use are the maps they stand for. Texts with line feeds or tabs in
    maps are in double quotes, in which YAML understands their escapes. Source: observed on Salt
    3006.30.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and not isinstance(value, dict):
        value = dict(value)
    if not isinstance(value, (dict, list, tuple)):
        return value
    shown = repr(value)
    return _format_value(value) if _ESCAPES.search(shown) else shown


_ESCAPES = regex(r"\\[nrt]")


def _format_value(value: object) -> str:
    if type(value) is list:
        return f"[{', '.join(map(_format_value, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(_format_value, value))}{',' * (len(value) == 1)})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_format_entry(each)}' for key, each in value.items())}}}"
    return repr(value)


def _format_entry(value: object) -> str:
    if isinstance(value, str) and not {"\n", "\r", "\t"}.isdisjoint(value):
        return json.dumps(value, ensure_ascii=False)
    return _format_value(value)


def _filename_of(template: Template) -> str:
    return template.path or "<template>"


def name_of_import(path: str, saltenv: str) -> str:
    """What errors call a template that another one imports."""
    return f"salt://{path}" if saltenv == "base" else f"salt://{path}?saltenv={saltenv}"


class _FileLoader(jinja2.BaseLoader):
    """Templates that others import, from the file server."""

    def __init__(self, template: Template, ctx: MinionContext) -> None:
        self._saltenv = template.saltenv
        self._ctx = ctx
        self._files: set[str] | None = None

    def load(
        self,
        environment: jinja2.Environment,
        name: str,
        globals: MutableMapping[str, Any] | None = None,
    ) -> jinja2.Template:
        """The template at ``name`` below the roots; it is told its own place.

        Raises:
            jinja2.TemplateNotFound: there is no such file, or it is no text.
        """
        assert isinstance(environment, SaltEnvironment)  # noqa: S101 - for the type checker
        path = name.removeprefix("salt://").lstrip("/")
        text = self._read_template(path)
        if text is None:
            raise jinja2.TemplateNotFound(name)
        own = {"tplfile": path, "tpldir": posixpath.dirname(path) or "."}
        filename = name_of_import(path, self._saltenv)
        return environment.compile_text(text, path, filename, {**(globals or {}), **own})

    def _read_template(self, path: str) -> str | None:
        from saltlite.fileserver.client import template_client

        client = template_client(self._ctx)
        if not client.is_local and self._files is None:
            self._files = set(client.list_files(self._saltenv))
        known = self._files is None or path in self._files
        data = client.read(f"salt://{path}", self._saltenv) if known else None
        if data is None:
            return None
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data.decode("latin-1")


class TemplateError(Exception):
    """A template called ``raise``; Salt has it in its errors by this name."""


def _raise_error(message: object = "") -> NoReturn:
    """Stop rendering with this message."""
    raise TemplateError(message)


@jinja2.pass_context
def _full_context(context: Context) -> dict[str, Any]:
    """All that the template sees, functions as text."""
    plain = (str, int, float, bool, list, dict, tuple, type(None))
    return {
        name: value
        if isinstance(value, plain)
        else dict(value)
        if isinstance(value, Mapping) and not isinstance(value, SaltFunctions)
        else str(value)
        for name, value in context.get_all().items()
    }


GLOBALS: Mapping[str, Callable[..., Any]] = {
    "raise": _raise_error,
    "lipsum": lorem_ipsum,
    "odict": dict,
    "show_full_context": _full_context,
}


def _explain_error(
    error: Exception, template: Template, environment: SaltEnvironment
) -> RenderError:
    """Salt's words for what went wrong, with the lines around the place."""
    filename, line = _place_of_error(error, template, environment)
    hint = _hint_at_remedy(error, environment)
    text = environment.source(filename) or template.text
    return RenderError(
        _words_of_error(error),
        path=filename,
        line=line,
        excerpt=excerpt(text, line, hint) if line else hint,
        imported=filename != _filename_of(template),
        brief=f"Jinja syntax error: {error.brief}" if isinstance(error, DataError) else "",
        hint=hint,
    )


def _hint_at_remedy(error: Exception, environment: SaltEnvironment) -> str:
    """A sentence that tells what was probably meant; empty if nobody knows."""
    if isinstance(error, DataError):
        line = f", line {error.line} when it is rendered" if error.line else ""
        return f"The text is in {error.source}{line}." if error.source else ""
    if isinstance(error, jinja2.TemplateNotFound):
        return "There is no such file, or it is no text."
    unknown = _UNKNOWN.match(str(error))
    if unknown and isinstance(error, jinja2.TemplateAssertionError):
        names = environment.filters if unknown.group(1) == "filter" else environment.tests
        return similar(unknown.group(2), names, unknown.group(1))
    return nearest(error, environment.globals)


_UNKNOWN = regex(r"No (filter|test) named '(.*)'")


def _place_of_error(
    error: Exception, template: Template, environment: SaltEnvironment
) -> tuple[str, int | None]:
    """The innermost template that the error passed through, and the line in it."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.filename or _filename_of(template), error.lineno
    if isinstance(error, SyntaxError):  # of the compiled code, whose lines are not the template's
        filename = error.filename or _filename_of(template)
        return filename, _stray_line(environment, environment.source(filename) or "")
    place: tuple[str, int | None] = (_filename_of(template), None)
    frame = error.__traceback__
    while frame is not None:
        filename = frame.tb_frame.f_code.co_filename
        if environment.source(filename) is not None:
            place = (filename, frame.tb_lineno)
        frame = frame.tb_next
    return place


def _stray_line(environment: SaltEnvironment, text: str) -> int | None:
    """Where the first ``break`` or ``continue`` stands outside a loop."""
    tree = environment.parse(text)
    jumps = (jinja2.nodes.Break, jinja2.nodes.Continue)
    within = {id(jump) for loop in tree.find_all(jinja2.nodes.For) for jump in loop.find_all(jumps)}
    return next((jump.lineno for jump in tree.find_all(jumps) if id(jump) not in within), None)


def _words_of_error(error: Exception) -> str:
    if isinstance(error, jinja2.UndefinedError):
        return f"Jinja variable {error}"
    if isinstance(error, (jinja2.TemplateSyntaxError, jinja2.TemplateRuntimeError)):
        return f"Jinja syntax error: {error.message}"
    if isinstance(error, (FunctionError, CommandError)):
        return f"Problem running salt function in Jinja template: {error}"
    if isinstance(error, SyntaxError):
        return f"Jinja syntax error: {error.msg}"
    if isinstance(error, TemplateError):
        return f"Jinja error: {error} (TemplateError)"  # the word that Salt's traceback has
    return f"Jinja error: {error}"
