"""Salt's own tags: values loaded from blocks and files, and timed blocks."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateRuntimeError, nodes
from jinja2.ext import Extension
from jinja2.runtime import Context

from saltlite.errors import ConfigError

if TYPE_CHECKING:
    from jinja2.parser import Parser

log = logging.getLogger(__name__)


class SerializedBlocks(Extension):
    """``load_yaml``, ``load_json``, ``load_text``, ``import_...`` of the same, and ``profile``."""

    tags = {  # noqa: RUF012 - Jinja's own declaration
        "import_json",
        "import_text",
        "import_yaml",
        "load_json",
        "load_text",
        "load_yaml",
        "profile",
    }

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """The nodes for one of the tags."""
        tag = next(parser.stream)
        if tag.value == "profile":
            return self._parse_profile(parser, tag.lineno)
        action, _, kind = tag.value.partition("_")
        if action == "load":
            return self._parse_load(parser, kind, tag.lineno)
        return self._parse_import(parser, kind, tag.lineno)

    def _parse_load(self, parser: Parser, kind: str, line: int) -> list[nodes.Node]:
        parser.stream.expect("name:as")
        target = parser.parse_assign_target()
        body = parser.parse_statements(("name:endload",), drop_needle=True)
        block = nodes.AssignBlock(target, None, body).set_lineno(line)
        text = nodes.Name(target.name, "load")
        return [block, self._make_assignment(target, "_load_text", [nodes.Const(kind), text], line)]

    def _parse_import(self, parser: Parser, kind: str, line: int) -> nodes.Node:
        source = parser.parse_expression()
        parser.stream.expect("name:as")
        target = parser.parse_assign_target()
        with_context = _with_context(parser)
        arguments: list[nodes.Expr] = [
            nodes.Const(kind),
            source,
            nodes.Const(with_context),
            nodes.ContextReference(),
        ]
        return self._make_assignment(target, "_import_template", arguments, line)

    def _make_assignment(
        self, target: nodes.Expr, method: str, arguments: list[nodes.Expr], line: int
    ) -> nodes.Node:
        value = self.call_method(method, arguments, lineno=line)
        return nodes.Assign(target, value).set_lineno(line)

    def _parse_profile(self, parser: Parser, line: int) -> list[nodes.Node]:
        parser.stream.expect("name:as")
        label = parser.parse_expression()
        body = parser.parse_statements(("name:endprofile",), drop_needle=True)
        begun = parser.free_identifier(lineno=line)
        start = self._make_assignment(begun, "_clock_s", [], line)
        end = self.call_method("_log_time", [label, begun], lineno=line)
        return [start, *body, nodes.ExprStmt(end).set_lineno(line)]

    def _clock_s(self) -> float:
        return time.monotonic()

    def _log_time(self, label: object, begun: float) -> None:
        log.log(15, "Time (in seconds) to render block '%s': %s", label, time.monotonic() - begun)

    def _load_text(self, kind: str, text: str) -> Any:
        return LOADERS[kind](text)

    def _import_template(self, kind: str, source: str, with_context: bool, context: Context) -> Any:
        template = self.environment.get_template(source, context.name)
        variables = context.get_all() if with_context else {}
        text = template.render(variables)
        try:
            return LOADERS[kind](text)
        except DataError as error:
            error.source = source
            raise


def _with_context(parser: Parser) -> bool:
    word = parser.stream.current
    if not word.test_any("name:with", "name:without"):
        return False
    if not parser.stream.look().test("name:context"):
        return False
    parser.stream.skip(2)
    return word.value == "with"


class DataError(TemplateRuntimeError):
    """A text is no YAML or JSON. ``brief`` is without the text; ``source`` is a file's name.

    ``line`` counts from 1, 0 if it is not known.
    """

    def __init__(self, message: str, brief: str = "", line: int | None = 0) -> None:
        self.brief = brief or message
        self.line = line or 0
        self.source = ""
        super().__init__(message)


def load_yaml(text: object) -> Any:
    """The value of a YAML text.

    Raises:
        DataError: it is none.
    """
    from saltlite.config.yaml import YamlError
    from saltlite.templates import parsed

    try:
        return parsed.load_yaml(str(text), "")
    except ConfigError as error:
        finding = error.finding if isinstance(error, YamlError) else error.problem
        line = f", line {error.line}" if error.line else ""
        raise DataError(
            f"Encountered error loading yaml: {finding}{line}", line=error.line
        ) from error


def load_json(text: Any) -> Any:
    """The value of a JSON text.

    Raises:
        DataError: it is none.
    """
    try:
        return json.loads(text)
    except (ValueError, TypeError, AttributeError) as error:
        shown = str(text).rstrip("\n")
        brief, line = "Unable to load json", 0
        if isinstance(error, json.JSONDecodeError):
            line = error.lineno
            brief += f": {error.msg}, line {line}"
        raise DataError(f"Unable to load json from {shown}", brief, line) from error


def load_text(text: object) -> Any:
    """The text itself."""
    return text


LOADERS: Mapping[str, Callable[[Any], Any]] = {
    "yaml": load_yaml,
    "json": load_json,
    "text": load_text,
}
