"""Chunks of a lowstate become typed calls, or the refusal that names what is wrong.

Pure. A chunk is looked at as a whole before anything runs; what it may not say is refused, what
Salt drops is dropped. Source: docs/api.md, "Clients".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias

from saltlite.api.messages import HttpError
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.fields import read_fields
from saltlite.core.ids import valid_function, valid_jid
from saltlite.core.lazyregex import regex
from saltlite.loader.arguments import parse_argument, split_keyword

CLIENTS: Final = (
    "local", "local_async", "local_batch", "local_subset",
    "runner", "runner_async", "wheel", "wheel_async",
)  # fmt: skip
_OTHERS_IN_SALT: Final = ("ssh", "destroy")
"""Names that Salt has and that are never enabled here."""

CHUNKS_MOST: Final = 100
TIMEOUT_MOST_S: Final = 600.0
CREDENTIALS: Final = ("token", "username", "password", "eauth")
_BATCH = regex(r"[0-9]{1,9}|%[0-9]{1,3}(\.[0-9]{1,6})?|[0-9]{1,3}(\.[0-9]{1,6})?%")
_TOKEN = regex(r"[0-9a-f]{32,128}")

_OPTIONS: Final = (
    "delimiter", "metadata", "ret_config", "ret_kwargs", "module_executors", "executor_opts",
)  # fmt: skip
"""Keys of a local chunk that go along with the job."""

_NO_ARGUMENTS: Final = frozenset(
    (*CREDENTIALS, "client", "fun", "arg", "kwarg", "timeout", "full_return", "print_event",
     "cmd", "user", "key", "raw_shell", "batch", "tgt_type", "__current_eauth")
)  # fmt: skip
"""Keys of a runner's or wheel function's chunk that are none of its arguments."""

SYNTAX: Final = "A command invocation error occurred: Check syntax."

Credentials: TypeAlias = Mapping[str, str]
"""``token``, or ``username``, ``password`` and ``eauth``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalCall:
    """A job for minions."""

    client: str
    tgt: str | list[str]
    fun: str | list[str]
    arg: list[Any] = field(default_factory=list)
    tgt_type: str = "glob"
    ret: str = ""
    jid: str = ""
    timeout_s: float | None = None
    gather_job_timeout_s: float | None = None
    full_return: bool = False
    batch: str = "10%"
    subset: int = 3
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCall:
    """A runner or a wheel function (``kind``), waited for unless ``is_async``."""

    client: str
    kind: str
    fun: str
    arg: list[Any] = field(default_factory=list)
    kwarg: Mapping[str, Any] = field(default_factory=dict)
    timeout_s: float | None = None
    full_return: bool = False
    is_async: bool = False


Call: TypeAlias = LocalCall | RunCall


def read_calls(
    chunks: Sequence[object], enabled: Collection[str], *, client: str = ""
) -> list[Call]:
    """The calls of a lowstate; ``client`` takes the place of what the chunks name, if enabled.

    Raises:
        HttpError: 400 or 401, for the first chunk that cannot be run.
    """
    if len(chunks) > CHUNKS_MOST:
        raise HttpError(400, f"A request may have {CHUNKS_MOST} chunks, this one has {len(chunks)}")
    return [_read_call(as_chunk(chunk), enabled, client) for chunk in chunks]


def as_chunk(chunk: object) -> Mapping[str, Any]:
    """One chunk, which is a map with text keys.

    Raises:
        HttpError: 400, it is not.
    """
    if not isinstance(chunk, Mapping) or not all(isinstance(key, str) for key in chunk):
        raise HttpError(400, "Each lowstate chunk must be a map")
    return chunk


def _read_call(chunk: Mapping[str, object], enabled: Collection[str], client: str) -> Call:
    name = check_client(client or chunk.get("client"), enabled)
    if chunk.get("raw_shell"):
        raise HttpError(401, "Raw shell option not allowed.")
    return _read_local(name, chunk) if name.startswith("local") else _read_run(name, chunk)


def check_client(name: object, enabled: Collection[str]) -> str:
    """The name of a client that may be used.

    Raises:
        HttpError: 400, there is none of that name, or it is not enabled.
    """
    if not isinstance(name, str) or name not in (*CLIENTS, *_OTHERS_IN_SALT):
        raise HttpError(400, f"Invalid client specified: '{str(name)[:80]}'")
    if name not in enabled or name not in CLIENTS:
        raise HttpError(
            400,
            f"Client disabled: '{name}'. Add to 'netapi_enable_clients' master config option to "
            "enable.",
        )
    return name


def read_credentials(chunk: Mapping[str, Any]) -> Credentials:
    """Who asks, from the chunk itself.

    Raises:
        HttpError: 401, the chunk does not say, or shows what cannot be a token.
    """
    if "token" in chunk:
        token = chunk["token"]
        if not is_token(token):
            raise HttpError(401, "Invalid token")
        return {"token": token}
    names = ("username", "password", "eauth")
    if "eauth" not in chunk or "username" not in chunk:
        raise HttpError(401, "No authentication credentials given")
    found = {name: chunk.get(name, "") for name in names}
    if not all(isinstance(value, str) for value in found.values()):
        raise HttpError(401, "Authentication error occurred.")
    return found


def is_token(value: object) -> bool:
    """Whether a value has the form of a token, or of a session id."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


# --- local -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fields:
    """What a chunk says, unread; ``None`` is what it does not say."""

    fun: object = None
    tgt: object = None
    arg: object = None
    ret: object = None
    jid: object = None
    full_return: object = None
    batch: object = None
    subset: object = None


def _read_local(client: str, given: Mapping[str, object]) -> LocalCall:
    chunk = read_fields(_Fields, given)
    fun = _read_functions(chunk.fun)
    return LocalCall(
        client=client,
        tgt=_read_target(chunk.tgt),
        fun=fun,
        arg=_read_job_arguments(fun, given),
        tgt_type=_read_text(given, "tgt_type", _read_text(given, "expr_form", "glob")),
        ret=_read_ret(chunk.ret),
        jid=_read_jid(chunk.jid),
        timeout_s=_read_seconds(given, "timeout"),
        gather_job_timeout_s=_read_seconds(given, "gather_job_timeout"),
        full_return=bool(chunk.full_return),
        batch=_read_batch(chunk.batch),
        subset=_read_subset(chunk.subset),
        options={name: given[name] for name in _OPTIONS if given.get(name) is not None},
    )


def _read_target(tgt: object) -> str | list[str]:
    if isinstance(tgt, str):
        return tgt
    if isinstance(tgt, list) and all(isinstance(one, str) for one in tgt):
        return tgt
    raise HttpError(400, "tgt: a text or a list of texts is needed")


def _read_functions(fun: object) -> str | list[str]:
    if isinstance(fun, str) and "," in fun:
        fun = [name.strip() for name in fun.split(",")]
    names = [fun] if isinstance(fun, str) else fun
    if not isinstance(names, list) or not names or not all(isinstance(one, str) for one in names):
        raise HttpError(400, "fun: the name of a function is needed")
    for name in names:
        if not valid_function(name):
            raise HttpError(400, f"fun: '{name[:80]}' is not the name of a function")
    return names if isinstance(fun, list) else names[0]


def _read_job_arguments(fun: str | list[str], chunk: Mapping[str, object]) -> list[Any]:
    arg, kwarg = _as_list(chunk.get("arg")), _read_kwarg(chunk)
    if isinstance(fun, list):
        arg = [_as_list(one) for one in arg]
        arg += [[] for _ in fun[len(arg) :]]
        return [[*one, {**kwarg, "__kwarg__": True}] if kwarg else one for one in arg]
    return [*arg, {**kwarg, "__kwarg__": True}] if kwarg else arg


def _read_ret(ret: object) -> str:
    if isinstance(ret, list) and all(isinstance(one, str) for one in ret):
        return ",".join(ret)
    if ret is None or isinstance(ret, str):
        return ret or ""
    raise HttpError(400, "ret: the name of a returner is needed")


def _read_jid(jid: object) -> str:
    if jid is None or jid == "":
        return ""
    if not valid_jid(jid):
        raise HttpError(400, "jid: a job id has 20 digits")
    return str(jid)


def _read_batch(batch: object) -> str:
    text = "10%" if batch in (None, "", 0) else str(batch).strip()
    if not _BATCH.fullmatch(text):
        raise HttpError(400, "batch: a number or a share such as 10% is needed")
    return text


def _read_subset(subset: object) -> int:
    if subset is None or subset is True:
        return 3
    try:
        return max(0, int(str(subset)[:9]))
    except ValueError:
        raise HttpError(400, "subset: a number is needed") from None


# --- runners and wheel functions ---------------------------------------------------------


def _read_run(client: str, given: Mapping[str, object]) -> RunCall:
    chunk = read_fields(_Fields, given)
    kind, _, is_async = client.partition("_")
    fun = chunk.fun
    if not isinstance(fun, str) or not fun:
        raise HttpError(400, "fun: the name of a function is needed")
    if fun.count(".") != 1 or not valid_function(fun):
        raise HttpError(400, SYNTAX)
    words, arg = _split_words(_as_list(chunk.arg))
    beside = {
        name: value
        for name, value in given.items()
        if name not in _NO_ARGUMENTS and not name.startswith("__")
    }
    return RunCall(
        client=client,
        kind=kind,
        fun=fun,
        arg=arg,
        kwarg={**words, **beside, **_read_kwarg(given)},
        timeout_s=_read_seconds(given, "timeout"),
        full_return=bool(chunk.full_return),
        is_async=bool(is_async),
    )


def _split_words(arg: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    """Words like ``k=v`` are keywords, as on the command line; so is a marked map."""
    words: dict[str, Any] = {}
    positional: list[Any] = []
    for one in arg:
        name, text = split_keyword(one) if isinstance(one, str) else (None, "")
        if name is not None:
            words[name] = parse_argument(text)
        elif isinstance(one, Mapping) and one.get("__kwarg__") is True:
            words |= {str(key): value for key, value in one.items() if key != "__kwarg__"}
        else:
            positional.append(one)
    return words, positional


# --- single fields -----------------------------------------------------------------------


def _as_list(value: object) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _read_kwarg(chunk: Mapping[str, object]) -> dict[str, Any]:
    kwarg = chunk.get("kwarg")
    if not kwarg:
        return {}
    if not isinstance(kwarg, Mapping) or not all(isinstance(key, str) for key in kwarg):
        raise HttpError(400, "kwarg: a map is needed")
    return {key: value for key, value in kwarg.items() if key != "__kwarg__"}


def _read_text(chunk: Mapping[str, object], name: str, default: str) -> str:
    value = chunk.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise HttpError(400, f"{name}: a text is needed")
    return value


def _read_seconds(chunk: Mapping[str, object], name: str) -> float | None:
    value = chunk.get(name)
    if value is None:
        return None
    try:
        seconds = float(value) if isinstance(value, (int, float, str)) else -1.0
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf") or isinstance(value, bool):
        raise HttpError(400, f"{name}: a number of seconds is needed")
    return min(seconds, TIMEOUT_MOST_S)
