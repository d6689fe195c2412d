"""The filters and tests that Salt adds to Jinja.

All are pure but for those that say so. Source: observed on Salt
3006.30 for what they give.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import operator
import os
import pprint
import pwd
import re
import secrets
import shlex
import shutil
import string
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, cast

from jinja2 import Undefined, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

from saltlite.core import digest
from saltlite.core.data import (
    DELIMITER,
    append_below,
    extend_below,
    set_below,
    traverse,
    update_below,
)
from saltlite.core.lazyregex import regex
from saltlite.templates.blocks import load_json, load_text, load_yaml
from saltlite.templates.expressions import (
    check_whitelist_blacklist,
    is_match,
    regex_match,
    regex_replace,
    regex_search,
)
from saltlite.templates.netfilters import NETWORK_FILTERS
from saltlite.templates.xml import to_xml

_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"}
_TRUE_WORDS = frozenset({"yes", "1", "true"})
_SIZE = regex(r"(?P<value>[0-9.]*)\s*(?P<unit>.*)")
_LETTERS = string.ascii_letters + string.digits
_UNITS = "bkmgtpezy"
_NAMESPACE = "91633ebf-1c86-5e33-935a-28061f4b480e"
"""What Salt's UUIDs are made in. Source: compared with Salt 3006.30."""


# Serialized forms


def _without_copies(value: object) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Undefined):
        return str(value)  # says in its own words what is missing
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def to_json(value: object, sort_keys: bool = True, indent: int | None = None) -> str:
    """JSON with sorted keys, and without escapes for what is not ASCII."""
    return json.dumps(
        value, sort_keys=sort_keys, indent=indent, ensure_ascii=False, default=_without_copies
    ).strip()


def tojson(value: object, indent: int | None = None, **options: Any) -> str:
    """JSON that can stand in HTML, keys in their order."""
    text = json.dumps(value, indent=indent, default=_without_copies, **options)
    for character, escape in _HTML.items():
        text = text.replace(character, escape)
    return text


def to_yaml(value: object, flow_style: bool = True) -> str:
    """YAML: on one line, or a block with ``yaml(false)``."""
    from saltlite.config.yaml import dump

    return dump(value, flow=flow_style, unknown="NULL").strip()


def to_python(value: object) -> str:
    """The value as Python writes it."""
    return pprint.pformat(value).strip()


def yaml_dquote(text: object) -> str:
    """A YAML text in double quotes."""
    from saltlite.config.yaml import dump_scalar

    return dump_scalar(str(text), '"')


def yaml_squote(text: object) -> str:
    """A YAML text in single quotes; they let all characters stand as they are."""
    quoted = str(text).replace("'", "''")
    return "'" + re.sub(r"(\n+)", r"\n\1", quoted) + "'"


def yaml_encode(value: object) -> str:
    """One YAML value that needs no more quoting.

    Raises:
        TypeError: it is a list or a map.
    """
    if isinstance(value, (str, Undefined)):
        return yaml_dquote(value)
    if value is None or isinstance(value, (bool, int, float)):
        from saltlite.config.yaml import dump

        return dump(value).strip()
    raise TypeError(f"yaml_encode() only works with YAML scalar data; failed for {type(value)}")


def dict_to_sls_yaml_params(value: Mapping[str, object], flow_style: bool = False) -> str:
    """A map as the list of parameters that a state takes."""
    from saltlite.config.yaml import dump

    return dump([{key: item} for key, item in value.items()], flow=flow_style).strip()


# Text


def to_bool(value: object) -> bool:
    """``yes``, ``1`` and ``true`` in any case; positive numbers; what is not empty."""
    if value is None:
        return False
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.lower() in _TRUE_WORDS
    if isinstance(value, int):
        return value > 0
    return not isinstance(value, Hashable) and len(value) > 0


def uuid_of(value: object) -> str:
    """The same UUID for the same text, the one that Salt has for it."""
    import uuid

    return str(uuid.uuid5(uuid.UUID(_NAMESPACE), digest.as_bytes(value).decode()))


def is_hex(value: Any) -> bool:
    """Whether it is a hexadecimal number."""
    try:
        int(value, 16)
    except (TypeError, ValueError):
        return False
    return True


def contains_whitespace(text: str) -> bool:
    """Whether there is a blank in it."""
    return any(character.isspace() for character in text)


def substring_in_list(text: str, values: Iterable[str]) -> bool:
    """Whether the text is part of one of the values."""
    return any(text in value for value in values)


@pass_context
def strftime(context: Context, value: object, format: str = "%Y-%m-%d") -> str:
    """A moment in the words of ``format``: seconds since 1970, a date and time, or now.

    Salt 3006 takes numbers only, 3008 also dates.

    Raises:
        RuntimeError: it is neither; Salt's sentence about it.
    """
    return _read_moment(value).strftime(format)


def _read_moment(value: Any) -> datetime:
    if value is None:
        return datetime.now(tz=timezone.utc).astimezone()
    with contextlib.suppress(TypeError, ValueError):
        return datetime.fromtimestamp(float(value), tz=timezone.utc).astimezone()
    try:
        return datetime.fromisoformat(str(value).replace("/", "-"))
    except ValueError:
        raise RuntimeError(f"Unable to parse {value}. Consider installing timelib") from None


def to_num(text: Any) -> Any:
    """A number, if the text is one."""
    with contextlib.suppress(TypeError, ValueError):
        return int(text)
    with contextlib.suppress(TypeError, ValueError):
        return float(text)
    return text


def to_snake_case(text: str) -> str:
    """``camelCase`` as ``camel_case``."""
    apart = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", text)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", apart).lower()


def to_camelcase(text: str, uppercamel: bool = False) -> str:
    """``snake_case`` as ``snakeCase``."""
    first, *others = text.split("_")
    return "".join([first.title() if uppercamel else first, *(each.title() for each in others)])


def human_to_bytes(size: object, default_unit: str = "B", handle_metric: bool = False) -> int:
    """``32GB`` in bytes: 1024 by 1024, or by 1000 with ``handle_metric``; 0 if it is no size."""
    found = _SIZE.fullmatch(str(size).strip())
    if found is None or not found["value"]:
        return 0
    unit = (found["unit"].strip() or default_unit).lower()
    metric = handle_metric and unit.endswith("b") and not unit.endswith("ib")
    power = _UNITS.find(unit[:1])
    if power < 0 or unit.removesuffix("b").removesuffix("i") not in ("", unit[0]):
        return 0
    try:
        return int(float(found["value"]) * (1000 if metric else 1024) ** power)
    except ValueError:
        return 0


def to_bytes(value: object) -> bytes:
    """The text in UTF-8."""
    return digest.as_bytes(value)


# Lists and maps


def unique(values: object) -> Any:
    """Each value once: a set, or for lists a list in its order."""
    if isinstance(values, Hashable):
        return set(values)  # type: ignore[call-overload]  # what cannot be iterated is an error
    seen: list[Any] = []
    for value in values:
        if value not in seen:
            seen.append(value)
    return seen


def _both_sets(first: object, second: object) -> bool:
    return isinstance(first, Hashable) and isinstance(second, Hashable)


def union(first: Any, second: Any) -> Any:
    """What is in one of two lists."""
    if _both_sets(first, second):
        return set(first) | set(second)
    return unique(first + second)


def intersect(first: Any, second: Any) -> Any:
    """What is in both lists."""
    if _both_sets(first, second):
        return set(first) & set(second)
    return unique([value for value in first if value in second])


def difference(first: Any, second: Any) -> Any:
    """What is in the first list alone."""
    if _both_sets(first, second):
        return set(first) - set(second)
    return unique([value for value in first if value not in second])


def symmetric_difference(first: Any, second: Any) -> Any:
    """What is in one list alone."""
    if _both_sets(first, second):
        return set(first) ^ set(second)
    common = intersect(first, second)
    return unique([value for value in union(first, second) if value not in common])


def average(values: Any) -> float:
    """The mean of numbers."""
    if isinstance(values, (int, float, str)):
        return float(values)
    return float(sum(values) / len(values))


def largest(values: Iterable[Any]) -> Any:
    """The largest value; of texts capital letters count less, unlike with Jinja's own filter."""
    return max(values)


def smallest(values: Iterable[Any]) -> Any:
    """The smallest value."""
    return min(values)


def flatten(values: Any, levels: int | None = None, preserve_nulls: bool = False) -> list[Any]:
    """Lists in a list (maps: their keys) taken apart, ``levels`` deep; without what is null."""
    flat: list[Any] = []
    for value in values:
        if value in (None, "None", "null") and not preserve_nulls:
            continue
        if not is_iterable(value) or levels == 0:
            flat.append(value)
        else:
            deeper = None if levels is None else levels - 1
            flat.extend(flatten(value, deeper, preserve_nulls))
    return flat


def as_sequence(value: object) -> Any:
    """A list with the value in it, unless it is a list or map."""
    return value if isinstance(value, (list, tuple, set, Mapping)) else [value]


def exactly_n_true(values: Iterable[object], amount: int = 1) -> bool:
    """Whether so many values count as true."""
    return sum(1 for value in values if value) == amount


def is_iterable(value: Any, ignore: Any = (str, bytes)) -> bool:
    """Whether it is a list, map or the like; a text is none."""
    return not isinstance(value, ignore) and isinstance(value, Iterable)


def value_below(
    value: object, key: object, default: object = None, delimiter: str = DELIMITER
) -> Any:
    """The value below ``a:b:c``, or below a list of keys."""
    return traverse(value, key, default, delimiter)


def sorted_ignorecase(values: Iterable[str]) -> list[str]:
    """Sorted, whatever the case."""
    return sorted(values, key=lambda value: value.lower())


def json_query(value: object, expression: str) -> Any:
    """What a JMESPath expression finds; needs ``jmespath``.

    Raises:
        RuntimeError: that is not installed.
    """
    try:
        import jmespath  # type: ignore[import-untyped]  # has no types
    except ImportError:
        raise RuntimeError("json_query requires jmespath module installed") from None
    return jmespath.search(expression, value)


def _encode_texts(value: object) -> Any:
    """Text as bytes, wherever it is."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, Mapping):
        return {_encode_texts(key): _encode_texts(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode_texts(item) for item in value]
    return value


@pass_context
def method_call(context: Context, value: object, name: str, *args: Any, **kwargs: Any) -> Any:
    """Call a method, if the sandbox lets it through; ``None`` if there is none."""
    method = context.environment.getattr(value, name)
    if isinstance(method, Undefined) and not name.startswith("_"):
        return None
    sandbox = cast("SandboxedEnvironment", context.environment)
    return sandbox.call(context, method, *args, **kwargs)


def compare_dicts(old: Mapping[Any, Any], new: Mapping[Any, Any]) -> dict[Any, Any]:
    """``{key: {"old": ..., "new": ...}}`` of what differs; absent is an empty text."""
    keys = [*(key for key in new if key not in old), *old]
    return {
        key: {"old": old.get(key, ""), "new": new.get(key, "")}
        for key in keys
        if old.get(key, "") != new.get(key, "")
    }


def compare_lists(old: Sequence[object], new: Sequence[object]) -> dict[str, list[Any]]:
    """``{"new": [...], "old": [...]}``: what only one list has."""
    added = [value for value in new if value not in old]
    gone = [value for value in old if value not in new]
    return {name: values for name, values in (("new", added), ("old", gone)) if values}


def mysql_to_dict(lines: Any, key: str) -> dict[Any, dict[str, Any]]:
    """The rows of a table as ``mysql`` draws it, by the value of one column."""
    if isinstance(lines, str):
        lines = lines.splitlines()
    drawn = [line for line in lines if line.lstrip().startswith("|")]
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in drawn]
    if not rows:
        return {}
    header, *others = rows
    table = [dict(zip(header, map(to_num, row), strict=False)) for row in others]
    return {row[key]: row for row in table if key in row}


# This machine


def path_join(first: str, *parts: str) -> str:
    """A path of these parts; a leading slash of a later one does not begin anew."""
    return os.path.normpath(os.path.join(first, *(part.lstrip("/") for part in parts)))


@pass_context
def which(context: Context, name: str | None) -> str | None:
    """Where a program is."""
    return shutil.which(name) if name else None


@pass_context
def list_files(context: Context, path: str) -> list[str]:
    """All that is below a directory, and itself."""
    found = [path]
    for directory, directories, names in os.walk(path):
        found += [os.path.join(directory, name) for name in (*directories, *names)]
    return found


@pass_context
def is_text_file(context: Context, path: str) -> bool:
    """Whether a file begins with text."""
    try:
        with open(path, "rb") as file:
            begin = file.read(512)
    except OSError:
        return False
    if b"\0" in begin:
        return False
    try:
        begin.decode()
    except UnicodeDecodeError as error:
        return error.start > len(begin) - 4
    return True


@pass_context
def is_bin_file(context: Context, path: str) -> bool:
    """Whether a file begins with what is no text."""
    return os.path.isfile(path) and os.path.getsize(path) > 0 and not is_text_file(context, path)


@pass_context
def is_empty(context: Context, path: str) -> bool:
    """Whether a file is there and empty."""
    return os.path.isfile(path) and os.path.getsize(path) == 0


@pass_context
def get_uid(context: Context, user: Any = None) -> int | None:
    """The number of a user, ``None`` without one of that name."""
    if user is None:
        return os.geteuid()
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        return None


@pass_context
def file_hashsum(context: Context, path: str, form: str = "sha256") -> str:
    """The digest of a file."""
    with open(path, "rb") as file:
        return digest.digest(file.read(), form)


@pass_context
def http_query(context: Context, url: str, *args: Any, **kwargs: Any) -> Any:
    """What ``http.query`` gives."""
    return context["salt"]["http.query"](url, *args, **kwargs)


# Chance


@pass_context
def random_hash(context: Context, size: Any = 9999999999, hash_type: str | None = None) -> str:
    """The digest of a random number."""
    return digest.digest(str(secrets.randbelow(int(size) + 1)), hash_type or "md5")


@pass_context
def random_str(context: Context, length: int) -> str:
    """A random text of letters and digits."""
    return "".join(secrets.choice(_LETTERS) for _ in range(operator.index(length)))


@pass_context
def random_sample(context: Context, values: Any, size: int, seed: Any = None) -> list[Any]:
    """Some of the values."""
    return digest.sample(values, size, seed)


@pass_context
def random_shuffle(context: Context, values: Any, seed: Any = None) -> list[Any]:
    """The values in another order."""
    return digest.shuffle(values, seed)


def _hash_filter(algorithm: str) -> Callable[[Any], str]:
    return _of_given(lambda value: digest.digest(value, algorithm))


def _of_given(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that says of what is undefined which name that is."""

    def check(value: object, *args: Any, **kwargs: Any) -> Any:
        return function(str(value) if isinstance(value, Undefined) else value, *args, **kwargs)

    return check


FILTERS: Mapping[str, Callable[..., Any]] = {
    "append_dict_key_value": append_below,
    "avg": average,
    "base64_decode": _of_given(digest.base64_decode),
    "base64_encode": _of_given(digest.base64_encode),
    "check_whitelist_blacklist": check_whitelist_blacklist,
    "combinations": itertools.combinations,
    "combinations_with_replacement": itertools.combinations_with_replacement,
    "compare_dicts": compare_dicts,
    "compare_lists": compare_lists,
    "compress": itertools.compress,
    "contains_whitespace": contains_whitespace,
    "date_format": strftime,
    "dict_to_sls_yaml_params": dict_to_sls_yaml_params,
    "difference": difference,
    "exactly_n_true": exactly_n_true,
    "exactly_one_true": exactly_n_true,
    "extend_dict_key_value": extend_below,
    "file_hashsum": file_hashsum,
    "flatten": flatten,
    "get_uid": get_uid,
    "hmac": _of_given(digest.hmac_matches),
    "hmac_compute": _of_given(digest.hmac_compute),
    "http_query": http_query,
    "human_to_bytes": human_to_bytes,
    "intersect": intersect,
    "is_bin_file": is_bin_file,
    "is_empty": is_empty,
    "is_hex": is_hex,
    "is_iter": is_iterable,
    "is_list": lambda value: isinstance(value, list),
    "is_text_file": is_text_file,
    "json": to_json,
    "json_decode_dict": lambda value: _encode_texts(value),
    "json_decode_list": lambda value: _encode_texts(value),
    "json_encode_dict": lambda value: _encode_texts(value),
    "json_encode_list": lambda value: _encode_texts(value),
    "json_query": json_query,
    "list_files": list_files,
    "load_json": load_json,
    "load_text": load_text,
    "load_yaml": load_yaml,
    "max": largest,
    "md5": _hash_filter("md5"),
    "method_call": method_call,
    "min": smallest,
    "mysql_to_dict": mysql_to_dict,
    "path_join": _of_given(path_join),
    "permutations": itertools.permutations,
    "product": itertools.product,
    "python": to_python,
    "quote": lambda text: shlex.quote(text),
    "rand_str": random_hash,
    "random_hash": random_hash,
    "random_sample": random_sample,
    "random_shuffle": random_shuffle,
    "random_str": random_str,
    "regex_escape": lambda text: re.escape(text),
    "regex_match": _of_given(regex_match),
    "regex_replace": _of_given(regex_replace),
    "regex_search": _of_given(regex_search),
    "sequence": as_sequence,
    "set_dict_key_value": set_below,
    "sha1": _hash_filter("sha1"),
    "sha256": _hash_filter("sha256"),
    "sha512": _hash_filter("sha512"),
    "skip": lambda value: "",
    "sorted_ignorecase": sorted_ignorecase,
    "str_to_num": to_num,
    "strftime": strftime,
    "substring_in_list": substring_in_list,
    "symmetric_difference": symmetric_difference,
    "to_bool": to_bool,
    "to_bytes": _of_given(to_bytes),
    "to_camelcase": to_camelcase,
    "to_num": to_num,
    "to_snake_case": to_snake_case,
    "tojson": tojson,
    "traverse": value_below,
    "union": union,
    "unique": unique,
    "update_dict_key_value": update_below,
    "uuid": _of_given(uuid_of),
    "which": which,
    "xml": to_xml,
    "yaml": to_yaml,
    "yaml_dquote": yaml_dquote,
    "yaml_encode": yaml_encode,
    "yaml_squote": yaml_squote,
    "zip": zip,
    "zip_longest": itertools.zip_longest,
    **NETWORK_FILTERS,
}

TESTS: Mapping[str, Callable[..., bool]] = {
    "equalto": lambda value, other: value == other,
    "list": lambda value: isinstance(value, list),
    "match": is_match,
}
