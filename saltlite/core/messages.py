"""Every load that crosses the network, as a frozen dataclass.

``from_wire`` takes what the codec unpacked and checks names, types and grammars; whatever is wrong
is a :class:`~saltlite.errors.WireError`. ``to_wire`` gives back the map to pack. Past ``from_wire``
nobody handles a dict with string keys. The wire's spelling of every field is kept; ``return`` alone
becomes ``return_``.

Fields that a newer Salt adds are kept in ``extra``, so that events and returns pass through whole.
Pure: no clock, no keys, no encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeVar, cast

from saltlite.core.dataclasses import dataclass, field, fields
from saltlite.core.ids import UNASKED_JID, UNSTORED_JID, valid_jid, valid_minion_id
from saltlite.core.plain import Plain, PlainMap
from saltlite.errors import WireError

PROTOCOL_VERSION: Final = 3
"""The version saltlite speaks, and the lowest it accepts. Source: docs/wire.md#versions."""

NONCE_LENGTH: Final = 32
PUB_LIMIT: Final = 8 * 1024
"""Characters of a public key in ``_auth``. Source: docs/security.md#limits."""

EVENTS_LIMIT: Final = 100
TAG_LIMIT: Final = 256
AUTOSIGN_GRAINS_LIMIT: Final = 100

DEFAULT_ENCRYPTION: Final = "OAEP-SHA1"
DEFAULT_SIGNING: Final = "PKCS1v15-SHA1"

_T = TypeVar("_T")
_Default = TypeVar("_Default")


class LoadNotAMap(WireError):
    """The load decodes, but is not a map. Salt has a sentence of its own for that."""

    reply: ClassVar[str] = "payload and load must be a dict"


# --- reading single fields --------------------------------------------------------------


def as_map(value: object, what: str) -> dict[str, Any]:
    """``value`` if it is a map with text keys only.

    Raises:
        WireError: it is not.
    """
    if not isinstance(value, dict):
        raise WireError(f"{what} is not a map")
    for key in value:
        if not isinstance(key, str):
            raise WireError(f"{what} has a key that is not text")
    return value


def as_bytes(value: object, what: str) -> bytes:
    """A field that is binary by meaning; it arrives as text if it happens to be UTF-8.

    Source: docs/wire.md#encoding.
    """
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    raise WireError(f"{what} is not a byte string")


def as_int(value: object, what: str) -> int:
    """A whole number; a boolean or a float is none."""
    if type(value) is not int:
        raise WireError(f"{what} is not a whole number")
    return value


def as_text(value: object, what: str) -> str:
    """Text that could be written as UTF-8 again."""
    if not isinstance(value, str):
        raise WireError(f"{what} is not text")
    return value


def _read_list(value: object, what: str) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    raise WireError(f"{what} is not a list")


def _read_texts(value: object, what: str) -> list[str]:
    return [as_text(item, what) for item in _read_list(value, what)]


def _text_or_texts(value: object, what: str) -> str | list[str]:
    return value if isinstance(value, str) else _read_texts(value, what)


def _read_flag(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise WireError(f"{what} is not true or false")
    return value


def _read_anything(value: object, _what: str) -> Any:
    return value


def _take_field(load: Mapping[str, object], name: str, read: Callable[[Any, str], _T]) -> _T:
    if name not in load:
        raise WireError(f"{name} is missing")
    return read(load[name], name)


def _take_optional(
    load: Mapping[str, object], name: str, read: Callable[[Any, str], _T], default: object
) -> _T:
    return read(load[name], name) if name in load else cast(_T, default)


def _take_or(
    load: Mapping[str, object], name: str, read: Callable[[Any, str], _T], default: _Default
) -> _T | _Default:
    """``default`` where the field is missing or null: Salt leaves out some, and writes others."""
    value = load.get(name)
    return default if value is None else read(value, name)


def _other_fields(load: Mapping[str, object], known: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in load.items() if name not in known}


def _wire_names(cls: type) -> frozenset[str]:
    # ``return`` is a word of Python, so that its field has an underscore.
    return frozenset(one.name.rstrip("_") for one in fields(cls) if one.name != "extra")


# --- the envelope -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a request on 4506 is wrapped in.

    ``load`` is bytes under ``enc: aes`` and a map under ``enc: clear``. ``id`` is ``None`` in clear
    requests. Source: docs/wire.md#requests.
    """

    enc: str
    load: bytes | PlainMap
    version: int = PROTOCOL_VERSION
    id: str | None = None
    enc_algo: str = DEFAULT_ENCRYPTION
    sig_algo: str = DEFAULT_SIGNING

    @classmethod
    def from_wire(cls, plain: object) -> Envelope:
        """Read an envelope.

        Raises:
            LoadNotAMap: a clear request whose load is not a map.
            WireError: anything else is wrong with it.
        """
        envelope = as_map(plain, "request")
        enc = _take_field(envelope, "enc", as_text)
        if enc not in ("aes", "clear"):
            raise WireError("enc is neither aes nor clear")
        # Told apart from what is malformed: Salt answers it with a sentence.
        if enc == "clear" and not isinstance(envelope.get("load", {}), dict):
            raise LoadNotAMap("load is not a map")
        return cls(
            enc=enc,
            load=_read_sealed_or_clear(envelope, enc),
            version=_take_field(envelope, "version", as_int),
            id=_take_or(envelope, "id", as_text, None),
            enc_algo=_take_optional(envelope, "enc_algo", as_text, DEFAULT_ENCRYPTION),
            sig_algo=_take_optional(envelope, "sig_algo", as_text, DEFAULT_SIGNING),
        )

    def to_wire(self) -> dict[str, Plain]:
        """The map to pack; clear requests carry neither id nor algorithms."""
        if self.enc == "clear":
            return {"enc": "clear", "load": self.load, "version": self.version}
        return {
            "enc": self.enc,
            "load": self.load,
            "version": self.version,
            "id": self.id,
            "enc_algo": self.enc_algo,
            "sig_algo": self.sig_algo,
        }


def _read_sealed_or_clear(envelope: Mapping[str, object], enc: str) -> bytes | dict[str, Any]:
    if enc == "aes":
        return _take_field(envelope, "load", as_bytes)
    return _take_field(envelope, "load", as_map)


# --- authentication ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AuthRequest:
    """A minion asks to be let in. Source: docs/wire.md#_auth.

    A request that can be answered but must be refused (bad id, no readable key) has a ``problem``,
    a few words for the log; its ``id`` and ``pub`` are then not to be used.
    """

    id: str
    nonce: str
    pub: str
    token: bytes | None = None
    enc_algo: str = DEFAULT_ENCRYPTION
    sig_algo: str = DEFAULT_SIGNING
    autosign_grains: dict[str, Plain] = field(default_factory=dict)
    problem: str = ""

    @classmethod
    def from_wire(cls, plain: object) -> AuthRequest:
        """Read the load of an ``_auth`` request.

        Raises:
            WireError: no signed reply can be made, since nonce or algorithms are unreadable.
        """
        load = as_map(plain, "_auth")
        nonce = _take_field(load, "nonce", as_text)
        # Only this and the algorithms raise: without them no refusal can be signed.
        if len(nonce) != NONCE_LENGTH or not nonce.isascii():
            raise WireError("nonce is not 32 characters")
        enc_algo = _take_optional(load, "enc_algo", as_text, DEFAULT_ENCRYPTION)
        sig_algo = _take_optional(load, "sig_algo", as_text, DEFAULT_SIGNING)
        try:
            return cls(
                id=_take_field(load, "id", _minion_id),
                nonce=nonce,
                pub=_take_field(load, "pub", _read_pub),
                token=_take_or(load, "token", as_bytes, None),
                enc_algo=enc_algo,
                sig_algo=sig_algo,
                autosign_grains=_take_or(load, "autosign_grains", _autosign_grains, {}),
            )
        except WireError as error:
            return cls("", nonce, "", enc_algo=enc_algo, sig_algo=sig_algo, problem=str(error))

    def to_wire(self) -> dict[str, Plain]:
        """The load, in the order in which Salt writes it."""
        load: dict[str, Plain] = {
            "cmd": "_auth",
            "id": self.id,
            "nonce": self.nonce,
            "enc_algo": self.enc_algo,
            "sig_algo": self.sig_algo,
        }
        if self.autosign_grains:
            load["autosign_grains"] = self.autosign_grains
        # At first contact there is no key of the master's to encrypt one with.
        if self.token is not None:
            load["token"] = self.token
        load["pub"] = self.pub
        return load


def _minion_id(value: object, what: str) -> str:
    if not valid_minion_id(value):
        raise WireError(f"{what} is not a minion id")
    return str(value)


def _read_pub(value: object, what: str) -> str:
    text = as_text(value, what)
    # Before what parses keys sees it.
    if len(text) > PUB_LIMIT or not text.isascii():
        raise WireError(f"{what} is not a public key")
    return text


def _autosign_grains(value: object, what: str) -> dict[str, Plain]:
    grains = as_map(value, what)
    if len(grains) > AUTOSIGN_GRAINS_LIMIT:
        raise WireError(f"{what} has too many grains")
    for name, grain in grains.items():
        # On the master the name of a grain is that of a file with the values that are let in.
        if "/" in name or "\0" in name or name in ("", ".", ".."):
            raise WireError(f"{what} has a name that is none")
        if not isinstance(grain, (str, int, float, type(None))):
            raise WireError(f"{what} has a value that is not plain")
    return grains


# --- jobs -------------------------------------------------------------------------------


def _functions_of(fun: str | list[str]) -> list[str]:
    return [fun] if isinstance(fun, str) else list(fun)


def _arguments_of(fun: str | list[str], arg: list[Any]) -> list[list[Any]]:
    return [list(arg)] if isinstance(fun, str) else [list(one) for one in arg]


def _arguments_for(fun: str | list[str]) -> Callable[[Any, str], list[Any]]:
    """The reader of ``arg`` that goes with ``fun``."""
    return _read_list if isinstance(fun, str) else _lists_for(fun)


def _add_if_set(load: dict[str, Plain], message: object, names: Iterable[str]) -> None:
    """Fields that are ``None`` stay off the wire: Salt leaves them out, and peers look for that."""
    for name in names:
        value = getattr(message, name)
        if value is not None:
            load[name] = value


@dataclass(frozen=True, slots=True)
class Job:
    """The job map as it is published. Source: docs/wire.md#publications.

    Options that are ``None`` were not sent. A job with several functions has lists in ``fun`` and
    lists of lists in ``arg``; see :attr:`functions`.
    """

    jid: str
    fun: str | list[str]
    arg: list[Any]
    tgt: str | list[str]
    tgt_type: str = "glob"
    ret: str = ""
    user: str = ""
    delimiter: str = ":"
    metadata: dict[str, Any] | None = None
    module_executors: str | list[str] | None = None
    executor_opts: Any = None
    ret_config: str | None = None
    ret_kwargs: dict[str, Any] | None = None
    id: str | None = None
    master_id: str | None = None
    to: int | None = None
    start_event: bool | None = None
    not_after: int | None = None
    """When a job comes too late, in seconds since 1970 (UTC). Not in Salt.

    Source: docs/wire.md#publications.
    """
    extra: dict[str, Any] = field(default_factory=dict)

    FORBIDDEN: ClassVar[frozenset[str]] = frozenset(
        {
            "__ignore_process_count_max",
            "_job_queue_file",
            "_state_queue_file",
            "resource_target",
            "resource_job",
        }
    )
    """Names minions use in queues of their own and would obey; never taken, never sent."""

    @property
    def functions(self) -> list[str]:
        """The functions of the job, also where there is only one."""
        return _functions_of(self.fun)

    @property
    def arguments(self) -> list[list[Any]]:
        """One list of arguments for each of :attr:`functions`."""
        return _arguments_of(self.fun, self.arg)

    @classmethod
    def from_wire(cls, plain: object) -> Job:
        """Read a job map; ``serial`` has been taken out of it before.

        Raises:
            WireError: a field is missing or of the wrong type.
        """
        load = as_map(plain, "job")
        # First, since it decides what form ``arg`` has.
        fun = _take_field(load, "fun", _text_or_texts)
        return cls(
            jid=_take_field(load, "jid", _read_jid),
            fun=fun,
            arg=_take_field(load, "arg", _arguments_for(fun)),
            tgt=_take_field(load, "tgt", _text_or_texts),
            tgt_type=_take_optional(load, "tgt_type", as_text, "glob"),
            ret=_take_or(load, "ret", as_text, ""),
            user=_take_or(load, "user", as_text, ""),
            delimiter=_take_optional(load, "delimiter", as_text, ":"),
            metadata=_take_or(load, "metadata", as_map, None),
            module_executors=_take_or(load, "module_executors", _text_or_texts, None),
            executor_opts=load.get("executor_opts"),
            ret_config=_take_or(load, "ret_config", as_text, None),
            ret_kwargs=_take_or(load, "ret_kwargs", as_map, None),
            id=_take_or(load, "id", as_text, None),
            master_id=_take_or(load, "master_id", as_text, None),
            to=_take_or(load, "to", as_int, None),
            start_event=_take_or(load, "start_event", _read_flag, None),
            not_after=_take_or(load, "not_after", as_int, None),
            # Kept, since functions with ``**kwargs`` are given all fields of the job.
            extra=_other_fields(load, _JOB_FIELDS | cls.FORBIDDEN),
        )

    def to_wire(self) -> dict[str, Plain]:
        """The map to seal, in Salt's order; fields that were not set are left out."""
        job: dict[str, Plain] = {
            "fun": self.fun,
            "arg": self.arg,
            "tgt": self.tgt,
            "jid": self.jid,
            "ret": self.ret,
            "tgt_type": self.tgt_type,
        }
        if self.user:
            job["user"] = self.user
        # Salt leaves the usual one out.
        if self.delimiter != ":":
            job["delimiter"] = self.delimiter
        _add_if_set(job, self, _JOB_OPTIONS)
        job.update(self.extra)
        return job


_JOB_FIELDS = _wire_names(Job) | {"serial"}
_JOB_OPTIONS = (
    "metadata",
    "module_executors",
    "executor_opts",
    "ret_config",
    "ret_kwargs",
    "id",
    "master_id",
    "to",
    "start_event",
    "not_after",
)


def _read_jid(value: object, what: str) -> str:
    if not valid_jid(value):
        raise WireError(f"{what} is not a job id")
    return str(value)


def _lists_for(functions: Sequence[str]) -> Callable[[Any, str], list[Any]]:
    def read(value: object, what: str) -> list[Any]:
        lists = [_read_list(one, what) for one in _read_list(value, what)]
        # Rights are asked for each function with its own arguments: none may be without a function.
        if len(lists) != len(functions):
            raise WireError(f"{what} does not go with fun")
        return list(lists)

    return read


@dataclass(frozen=True, slots=True)
class JobReturn:
    """What a minion sends back for a job. Source: docs/wire.md#_return.

    For a job with several functions, ``return_``, ``retcode`` and ``success`` are maps by function
    name, or lists in order. ``jid`` may also be ``req`` (nobody asked) or ``nocache``.
    """

    jid: str
    id: str
    return_: Any
    fun: str | list[str] = ""
    fun_args: list[Any] = field(default_factory=list)
    retcode: int | dict[str, Any] | list[Any] = 0
    success: bool | dict[str, Any] | list[Any] = True
    out: str | None = None
    user: str | None = None
    metadata: dict[str, Any] | None = None
    master_id: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_wire(cls, plain: object) -> JobReturn:
        """Read the load of a ``_return`` request.

        Raises:
            WireError: a field is missing or of the wrong type.
        """
        load = as_map(plain, "_return")
        return cls(
            jid=_take_field(load, "jid", _return_jid),
            id=_take_field(load, "id", _minion_id),
            return_=_take_field(load, "return", _read_anything),
            fun=_take_optional(load, "fun", _text_or_texts, ""),
            fun_args=_take_or(load, "fun_args", _read_list, []),
            retcode=_take_or(load, "retcode", _read_retcode, 0),
            success=_take_or(load, "success", _read_success, True),
            out=_take_or(load, "out", as_text, None),
            user=_take_or(load, "user", as_text, None),
            metadata=_take_or(load, "metadata", as_map, None),
            master_id=_take_or(load, "master_id", as_text, None),
            extra=_other_fields(load, _RETURN_FIELDS),
        )

    def to_wire(self) -> dict[str, Plain]:
        """The load; the channel adds ``nonce``, ``ts`` and ``tok``."""
        load: dict[str, Plain] = {
            "cmd": "_return",
            "id": self.id,
            "success": self.success,
            "return": self.return_,
            "retcode": self.retcode,
            "jid": self.jid,
            "fun": self.fun,
            "fun_args": self.fun_args,
        }
        _add_if_set(load, self, ("out", "user", "metadata", "master_id"))
        load.update(self.extra)
        return load


_RETURN_FIELDS = _wire_names(JobReturn) | {"cmd"}


def _return_jid(value: object, what: str) -> str:
    return str(value) if value in (UNASKED_JID, UNSTORED_JID) else _read_jid(value, what)


def _read_retcode(value: object, what: str) -> int | dict[str, Any] | list[Any]:
    if isinstance(value, (dict, list)):
        return _of_several(value, what)
    return as_int(value, what)


def _read_success(value: object, what: str) -> bool | dict[str, Any] | list[Any]:
    if isinstance(value, (dict, list)):
        return _of_several(value, what)
    return _read_flag(value, what)


def _of_several(value: dict[Any, Any] | list[Any], what: str) -> dict[str, Any] | list[Any]:
    """What a job with several functions has: one value by name, or one in each place."""
    return as_map(value, what) if isinstance(value, dict) else value


@dataclass(frozen=True, slots=True)
class SyndicReturn:
    """What minions below a syndic returned to one job. Source: docs/wire.md#_syndic_return.

    ``returns`` has by minion ``return``, ``retcode``, ``success``, ``fun_args``. ``load`` is the
    job as its master has it on record; a syndic sends it once.
    """

    jid: str
    returns: dict[str, dict[str, Any]]
    id: str = ""
    """The syndic."""
    fun: str | list[str] = ""
    load: dict[str, Any] = field(default_factory=dict)
    out: str | None = None
    master_id: str | None = None

    @classmethod
    def from_wire(cls, plain: object) -> SyndicReturn:
        """Read one part of a ``_syndic_return``.

        Raises:
            WireError: a field is missing or of the wrong type.
        """
        part = as_map(plain, "_syndic_return")
        found = _take_field(part, "return", as_map)
        return cls(
            jid=_take_field(part, "jid", _return_jid),
            returns={name: as_map(one, "return") for name, one in found.items()},
            id=_take_optional(part, "id", as_text, ""),
            fun=_take_or(part, "fun", _text_or_texts, ""),
            load=_take_or(part, "load", as_map, {}),
            out=_take_or(part, "out", as_text, None),
            master_id=_take_or(part, "master_id", as_text, None),
        )

    def to_wire(self) -> dict[str, Plain]:
        """One part of the list, in Salt's order."""
        part: dict[str, Plain] = {
            "cmd": "_syndic_return",
            "id": self.id,
            "jid": self.jid,
            "fun": self.fun,
            "arg": None,
            "tgt": None,
            "tgt_type": None,
            "load": self.load,
            "return": self.returns,
        }
        _add_if_set(part, self, ("out", "master_id"))
        return part


SYNDIC_RETURNS_LIMIT: Final = 20_000


def read_syndic_returns(load: Mapping[str, object]) -> list[SyndicReturn]:
    """The parts of a ``_syndic_return``, in its list form or as one.

    Raises:
        WireError: malformed, or more than 20,000 returns.
    """
    listed = load.get("load")
    parts = listed if isinstance(listed, list) else [load]
    found = [SyndicReturn.from_wire(one) for one in parts]
    if sum(len(one.returns) for one in found) > SYNDIC_RETURNS_LIMIT:
        raise WireError(f"more than {SYNDIC_RETURNS_LIMIT} returns in one request")
    return found


# --- clear commands ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PublishLoad:
    """A user asks the master to publish a job. Source: docs/wire.md#clear-commands.

    ``jid`` is ``""`` where the master is to assign one. ``key`` is the user's local key; other
    credentials are in ``kwargs``.
    """

    tgt: str | list[str]
    fun: str | list[str]
    arg: list[Any] = field(default_factory=list)
    tgt_type: str = "glob"
    ret: str = ""
    jid: str = ""
    user: str = ""
    key: str | None = None
    kwargs: dict[str, Any] = field(default_factory=dict)
    to: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def functions(self) -> list[str]:
        """The functions asked for, also where there is only one."""
        return _functions_of(self.fun)

    @property
    def arguments(self) -> list[list[Any]]:
        """One list of arguments for each of :attr:`functions`."""
        return _arguments_of(self.fun, self.arg)

    @classmethod
    def from_wire(cls, plain: object) -> PublishLoad:
        """Read the load of a ``publish`` request.

        Raises:
            WireError: a field is missing or of the wrong type.
        """
        load = as_map(plain, "publish")
        fun = _take_field(load, "fun", _text_or_texts)
        return cls(
            tgt=_take_field(load, "tgt", _text_or_texts),
            fun=fun,
            arg=_take_optional(load, "arg", _arguments_for(fun), []),
            tgt_type=_take_optional(load, "tgt_type", as_text, "glob"),
            ret=_take_or(load, "ret", as_text, ""),
            jid=_take_or(load, "jid", _new_jid, ""),
            user=_take_or(load, "user", as_text, ""),
            key=_take_or(load, "key", as_text, None),
            kwargs=_take_or(load, "kwargs", as_map, {}),
            to=_take_or(load, "to", as_int, None),
            extra=_other_fields(load, _PUBLISH_FIELDS),
        )

    def to_wire(self) -> dict[str, Plain]:
        """The load, in Salt's order."""
        load: dict[str, Plain] = {
            "cmd": "publish",
            "tgt": self.tgt,
            "fun": self.fun,
            "arg": self.arg,
            "key": self.key,
            "tgt_type": self.tgt_type,
            "ret": self.ret,
            "jid": self.jid,
        }
        if self.kwargs:
            load["kwargs"] = self.kwargs
        if self.user:
            load["user"] = self.user
        if self.to is not None:
            load["to"] = self.to
        load.update(self.extra)
        return load


_PUBLISH_FIELDS = _wire_names(PublishLoad) | {"cmd"}


def _new_jid(value: object, what: str) -> str:
    return "" if value == "" else _read_jid(value, what)


FOLLOW = "__follow__"
"""In a ``publish`` or ``runner``: ``True`` where a ticket for the returns is wanted. In its reply:
the ticket. Not in Salt; docs/wire.md, "follow"."""

ASKED_AT = "__asked_at__"
"""In a ``publish``: when the client asked, in microseconds since the epoch. Not in Salt, whose
masters pass over it; docs/one-job.md."""

NO_MINIONS = "Master could not resolve minions for target"


@dataclass(frozen=True, slots=True)
class PublishReply:
    """The master's answer to ``publish``. Source: docs/wire.md#clear-commands.

    ``jid`` is ``None`` where nobody matched; ``error`` then says so, or what is wrong with
    the target. ``ticket`` is the right to follow the job, where it was asked for. ``notice`` is
    what who asked has to know of how it was published.
    """

    jid: str | None
    minions: list[str]
    missing: list[str] = field(default_factory=list)
    error: str | None = None
    ticket: str = ""
    notice: str = ""

    @classmethod
    def from_wire(cls, plain: object) -> PublishReply:
        """Read the whole reply; :func:`refusal` has been looked for before.

        Raises:
            WireError: it is not such a reply.
        """
        load = as_map(as_map(plain, "reply").get("load"), "load of the reply")
        return cls(
            # Null means nobody matched; without the field it is no such reply.
            jid=_take_field(load, "jid", _text_or_none),
            minions=_take_field(load, "minions", _read_texts),
            missing=_take_optional(load, "missing", _read_texts, []),
            error=_take_or(load, "error", as_text, None),
            ticket=_take_optional(load, FOLLOW, as_text, ""),
            notice=_take_optional(load, "notice", as_text, ""),
        )

    def to_wire(self) -> dict[str, Plain]:
        """The whole reply."""
        load: dict[str, Plain] = {"jid": self.jid, "minions": self.minions}
        if self.error is None:
            load["missing"] = self.missing
        else:
            load["error"] = self.error
        if self.ticket:
            load[FOLLOW] = self.ticket
        if self.notice:
            load["notice"] = self.notice
        return {"enc": "clear", "load": load}


def _text_or_none(value: object, what: str) -> str | None:
    return None if value is None else as_text(value, what)


def refusal(plain: object) -> tuple[str, str] | None:
    """``(name, message)`` if a reply to a clear command is an error, else ``None``.

    The name is ``""`` where the master sent a bare text. Source: docs/wire.md#clear-commands.
    """
    # What Salt answers to a load that it cannot even read.
    if isinstance(plain, str):
        return ("", plain)
    if not isinstance(plain, dict) or "error" not in plain:
        return None
    error = plain["error"]
    if isinstance(error, dict):
        return (str(error.get("name", "")), str(error.get("message", "")))
    return ("", str(error))


LOGINS_BUSY: Final = "LoginsBusyError"
"""The name of the error reply to who may ask again: his login was not checked."""

NOT_AUTHENTICATED: Final = "AuthenticationError"
USER_UNKNOWN: Final = "UserAuthenticationError"
TOKEN_UNKNOWN: Final = "TokenAuthenticationError"  # noqa: S105 - the name of an error
LOGIN_UNKNOWN: Final = "EauthAuthenticationError"
"""The names of error replies to who is not known: of a job, and of what was shown for a run."""


def clear_refusal(name: str, message: str) -> dict[str, Plain]:
    """The error reply to a clear command."""
    return {"error": {"name": name, "message": message}}


AUTHENTICATION_REFUSED: Final = clear_refusal(NOT_AUTHENTICATED, "Authentication error occurred.")
"""The reply to who may not publish, nor ask about a job, and is not told why."""


# --- events -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MinionEvent:
    """One event a minion wants on the master's bus."""

    tag: str
    data: Any


@dataclass(frozen=True, slots=True)
class MinionEvents:
    """The load of ``_minion_event``, in either of its forms. Source: docs/wire.md#_minion_event.

    In the single form the event's data is the whole load. Which tags a minion may use is for the
    master to decide; here only their form is checked.
    """

    id: str
    events: list[MinionEvent]
    pretag: str | None = None
    single: bool = True

    @classmethod
    def from_wire(cls, plain: object, *, most: int = EVENTS_LIMIT) -> MinionEvents:
        """Read either form.

        Raises:
            WireError: neither, more than ``most`` events, or a tag that cannot be one.
        """
        load = as_map(plain, "_minion_event")
        minion_id = _take_field(load, "id", _minion_id)
        pretag = _take_or(load, "pretag", as_text, None)
        if "events" not in load:
            return cls(minion_id, [MinionEvent(_take_field(load, "tag", _read_tag), load)], pretag)
        listed = _take_field(load, "events", _read_list)
        if len(listed) > most:
            raise WireError(f"more than {most} events in one request")
        return cls(minion_id, [_read_event(one) for one in listed], pretag, single=False)

    def to_wire(self) -> dict[str, Plain]:
        """The load; of a single event's data, only the parts that are its own are in the map."""
        load: dict[str, Plain] = {"cmd": "_minion_event", "id": self.id}
        if self.single:
            event = self.events[0]
            # Read from the wire the data are the whole load; made here they are a part of it.
            whole = event.data if isinstance(event.data, dict) and "tag" in event.data else None
            load.update(whole or {"tag": event.tag, "data": event.data, "pretag": self.pretag})
            return load
        load["events"] = [{"tag": one.tag, "data": one.data} for one in self.events]
        load["pretag"] = self.pretag
        return load


def event_refusal(reply: object) -> str | None:
    """Why the master did not put an event on its bus; ``None`` if it did.

    A master of Salt answers ``None`` always; ``False``, ``{}`` and ``""`` come without a reason.
    """
    if reply is None or reply is True:
        return None
    why = reply.get("refused") if isinstance(reply, dict) else None
    return why if isinstance(why, str) else "the master does not say why"


def _read_event(value: object) -> MinionEvent:
    event = as_map(value, "event")
    return MinionEvent(_take_field(event, "tag", _read_tag), event.get("data"))


def _read_tag(value: object, what: str) -> str:
    tag = as_text(value, what)
    # On the bus two line feeds end the tag: with one in it a minion could write its own data.
    if not 0 < len(tag) <= TAG_LIMIT or not tag.isprintable():
        raise WireError(f"{what} is not 1 to {TAG_LIMIT} printable characters")
    return tag
