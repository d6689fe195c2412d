"""Dataclasses that cost nothing until they are used.

Python's own decorator writes the source of six methods and compiles it, for every class, when its
module is imported: a quarter of a millisecond for each, and a command imports a hundred of them to
use ten. Here ``__init__`` is a loop, and compiled for a class of which many values are made; the
other methods are shared by all classes. A type checker sees Python's own decorator.

What a class may ask for is what saltlite uses: ``frozen``, ``slots``, ``kw_only``, ``eq`` and
``repr``; of a field ``default``, ``default_factory``, ``init``, ``repr``, ``compare`` and
``metadata``. The functions of Python's ``dataclasses`` take such classes for their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

TYPE_CHECKING = False  # typing is not imported: it would cost as much as what is saved here
if TYPE_CHECKING:
    import dataclasses as standard
    from typing import Any

COMPILE_AT = 24
"""Values of a class that are made by the loop; compiling costs as much as some dozens of them."""

_MISSING: Any = type("MISSING", (), {"__repr__": lambda _self: "MISSING"})()
# Past ``__setattr__`` of a frozen class, which refuses.
_put = object.__setattr__


class _Field:
    """What a class says of one field; the attributes are those of Python's ``Field``."""

    __slots__ = (
        "compare",
        "default",
        "default_factory",
        "init",
        "kw_only",
        "metadata",
        "name",
        "repr",
        "type",
    )

    def __init__(
        self,
        default: Any,
        default_factory: Any,
        init: bool,
        repr: bool,
        compare: bool,
        metadata: Mapping[str, Any],
    ) -> None:
        self.name = ""
        self.type = ""
        self.kw_only = False
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr
        self.compare = compare
        self.metadata = metadata


def _field(
    *,
    default: Any = _MISSING,
    default_factory: Any = _MISSING,
    init: bool = True,
    repr: bool = True,
    compare: bool = True,
    metadata: Mapping[str, Any] | None = None,
) -> _Field:
    """Say more of a field than its default."""
    return _Field(default, default_factory, init, repr, compare, metadata or {})


def _dataclass(
    cls: type[Any] | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    eq: bool = True,
    repr: bool = True,
) -> Any:
    """Make a class one of values, as Python's decorator of this name does."""

    def decorate(cls: Any) -> Any:
        own = _collect_declared(cls, kw_only)
        # From the root down: a field that is declared again keeps its place.
        inherited = {one.name: one for base in cls.__mro__[:0:-1] for one in _fields_of(base)}
        all_fields = tuple({**inherited, **own}.values())
        if slots:
            cls = _with_slots(cls, own)
        _add_methods(cls, all_fields, frozen=frozen, slots=slots, eq=eq, repr=repr)
        return cls

    return decorate if cls is None else decorate(cls)


def _fields_of(cls: type[Any]) -> Sequence[_Field]:
    found: Sequence[_Field] = cls.__dict__.get("__saltlite_fields__", ())
    return found


def _collect_declared(cls: type[Any], kw_only: bool) -> dict[str, _Field]:
    """The fields that the body of the class declares."""
    found = {}
    for name, kind in cls.__annotations__.items():
        # Annotations are text, since every module has ``from __future__ import annotations``.
        if kind.startswith("ClassVar"):
            continue
        default = cls.__dict__.get(name, _MISSING)
        if not isinstance(default, _Field):
            if isinstance(default, list | dict | set):
                raise ValueError(f"{cls.__qualname__}.{name}: all values would share this default")
            default = _field(default=default)
        elif default.default is _MISSING:
            # What stands in the class is read as the default, and this field has none.
            delattr(cls, name)
        else:
            setattr(cls, name, default.default)
        default.name, default.type, default.kw_only = name, kind, kw_only
        found[name] = default
    return found


def _with_slots(cls: Any, own: Mapping[str, _Field]) -> Any:
    """The class once more, with ``__slots__``: they cannot be added to one that is there."""
    taken = {name for base in cls.__mro__[1:-1] for name in _slots_of(base)}
    members = {
        name: member
        for name, member in cls.__dict__.items()
        # A default that stays in the class would be in the way of its slot.
        if name not in own and name not in ("__dict__", "__weakref__")
    }
    # A slot that a base has would be there twice, and the first one hidden.
    members["__slots__"] = tuple(name for name in own if name not in taken)
    # ``super()`` without arguments would still mean the class of before in its methods.
    made = type(cls)(cls.__name__, cls.__bases__, members)
    made.__qualname__ = cls.__qualname__
    return made


def _slots_of(cls: type[Any]) -> Sequence[str]:
    slots: str | Sequence[str] = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _add_methods(
    cls: Any,
    fields: tuple[_Field, ...],
    *,
    frozen: bool,
    slots: bool,
    eq: bool,
    repr: bool,
) -> None:
    cls.__saltlite_fields__ = fields
    cls.__dataclass_fields__ = _AS_STANDARD
    cls.__dataclass_params__ = _FROZEN if frozen else _NOT_FROZEN
    positional = tuple(one.name for one in fields if one.init and not one.kw_only)
    setattr(cls, "__match_args__", positional)  # noqa: B010 - mypy takes it for this function's
    own = cls.__dict__
    if "__init__" not in own:
        cls.__init__ = _looping_init(cls, fields, frozen)
    if repr and "__repr__" not in own:
        cls.__repr__ = _repr
    if eq:
        if "__eq__" not in own:
            cls.__eq__ = _eq
        if own.get("__hash__") is None:  # Python has put None there for a class with __eq__
            cls.__hash__ = _hash if frozen else None
    if frozen:
        cls.__setattr__ = _make_refusal(cls, fields, "assign to", _put)
        cls.__delattr__ = _make_refusal(cls, fields, "delete", object.__delattr__)
        # What copies or unpickles a value sets its attributes, which is refused.
        if slots:
            cls.__getstate__ = _getstate
            cls.__setstate__ = _setstate


# --- __init__ ------------------------------------------------------------------------------------


_LOOPING: list[Callable[[], Callable[..., None]]] = []


def compile_all() -> None:
    """Compile ``__init__`` of the classes so far, for processes that are forked next."""
    while _LOOPING:
        _LOOPING.pop()()


def _looping_init(cls: Any, fields: Sequence[_Field], frozen: bool) -> Callable[..., None]:
    """``__init__`` without a source of its own, which gives way to one that has it."""
    names = tuple(one.name for one in fields if one.init and not one.kw_only)
    after = getattr(cls, "__post_init__", None)
    left = COMPILE_AT
    made: Callable[..., None] | None = None

    def __init__(self: Any, *values: Any, **named: Any) -> None:
        nonlocal left
        given = {**named, **dict(zip(names, values, strict=False))}
        # Too many values, or one by place and by name: the compiled form says what is wrong.
        unique = len(given) == len(values) + len(named)
        if left and unique and _fill_fields(self, fields, given):
            left -= 1
            if after is not None:
                after(self)
        else:
            init_compiled(self, *values, **named)  # of what is wrong it speaks as Python does

    def init_compiled(self: Any, *values: Any, **named: Any) -> None:
        install()(self, *values, **named)

    def install() -> Callable[..., None]:
        nonlocal made
        if made is None:
            made = _compile_init(cls, fields, frozen)
            # Not where somebody has wrapped it since.
            if cls.__dict__.get("__init__") is __init__:
                cls.__init__ = made
        return made

    _LOOPING.append(install)
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


def _fill_fields(value: Any, fields: Sequence[_Field], given: dict[str, Any]) -> bool:
    """Set the fields to what is given or their defaults; whether that is all, and all right."""
    for one in fields:
        name = one.name
        if name in given:
            if not one.init:
                return False
            _put(value, name, given.pop(name))
        elif one.default is not _MISSING:
            _put(value, name, one.default)
        elif one.default_factory is not _MISSING:
            _put(value, name, one.default_factory())
        elif one.init:
            return False
    # What is left over is no field.
    return not given


def _compile_init(cls: Any, fields: Sequence[_Field], frozen: bool) -> Callable[..., None]:
    """``__init__`` as one would write it."""
    known: dict[str, Any] = {"_MISSING": _MISSING, "_put": _put}
    heads: dict[bool, list[str]] = {False: [], True: []}
    body = []
    for number, one in enumerate(fields):
        name = one.name
        value = name
        if one.default is not _MISSING:
            known[f"_default{number}"] = one.default
            value = name if one.init else f"_default{number}"
            head = f"{name}=_default{number}"
        elif one.default_factory is not _MISSING:
            known[f"_make{number}"] = one.default_factory
            value = f"_make{number}()"
            value += f" if {name} is _MISSING else {name}" if one.init else ""
            # Made at each call: a list that were the default would be the same for all values.
            head = f"{name}=_MISSING"
        elif one.init:
            head = name
        else:
            continue
        if one.init:
            heads[one.kw_only].append(head)
        slot: Any = getattr(cls, name, None)
        if not frozen:
            body.append(f"    _self.{name} = {value}")
        elif type(slot).__name__ == "member_descriptor":
            # The slot's own setter needs no look-up of the name.
            known[f"_put{number}"] = slot.__set__
            body.append(f"    _put{number}(_self, {value})")
        else:
            body.append(f"    _put(_self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("    _self.__post_init__()")
    heads[True][:0] = ["*"] if heads[True] else []
    source = f"def __init__({', '.join(['_self', *heads[False], *heads[True]])}):\n"
    exec(source + "\n".join(body or ["    pass"]), known)  # noqa: S102 - names of our own fields
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


# --- what all classes share ----------------------------------------------------------------------


def _field_values(one: Any) -> tuple[Any, ...]:
    return tuple([getattr(one, field.name) for field in one.__saltlite_fields__])


def _values_to_compare(one: Any) -> tuple[Any, ...]:
    fields = one.__saltlite_fields__
    return tuple([getattr(one, field.name) for field in fields if field.compare])


def _repr(self: Any) -> str:
    shown = [
        f"{one.name}={getattr(self, one.name)!r}" for one in self.__saltlite_fields__ if one.repr
    ]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: Any) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    return _values_to_compare(self) == _values_to_compare(other)


def _hash(self: Any) -> int:
    return hash(_values_to_compare(self))


def _make_refusal(
    cls: type[Any], fields: Sequence[_Field], verb: str, otherwise: Callable[..., None]
) -> Callable[..., None]:
    """``__setattr__`` or ``__delattr__`` for a frozen class; subclasses may have other names."""
    names = frozenset(one.name for one in fields)

    def refuse(self: Any, name: str, *value: Any) -> None:
        if type(self) is cls or name in names:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot {verb} field {name!r}")
        otherwise(self, name, *value)

    return refuse


def _getstate(self: Any) -> list[Any]:
    return list(_field_values(self))


def _setstate(self: Any, state: Sequence[Any]) -> None:
    for one, value in zip(self.__saltlite_fields__, state, strict=True):
        _put(self, one.name, value)


class _AsStandard:
    """``__dataclass_fields__`` of a class, made when Python's ``dataclasses`` asks for it."""

    def __get__(self, _value: object, owner: type[Any]) -> dict[str, standard.Field[Any]]:
        import dataclasses as standard

        made = dict(self._convert_fields(standard, owner.__saltlite_fields__))
        # In the place of this descriptor, so it is made once for a class.
        owner.__dataclass_fields__ = made
        return made

    def _convert_fields(
        self, standard: Any, fields: Sequence[_Field]
    ) -> Iterator[tuple[str, standard.Field[Any]]]:
        for one in fields:
            more = {"default": one.default, "default_factory": one.default_factory}
            given = {name: value for name, value in more.items() if value is not _MISSING}
            made: Any = standard.field(
                init=one.init,
                repr=one.repr,
                compare=one.compare,
                metadata=one.metadata,
                kw_only=one.kw_only,
                **given,
            )
            made.name, made.type, made._field_type = one.name, one.type, standard._FIELD
            yield one.name, made


class _Parameters:
    """What Python's decorator asks of the classes above one of its own."""

    __slots__ = ("frozen",)

    def __init__(self, frozen: bool) -> None:
        self.frozen = frozen


_AS_STANDARD: Any = _AsStandard()
_FROZEN = _Parameters(True)
_NOT_FROZEN = _Parameters(False)


# --- what Python's module offers under these names ------------------------------------------------


def _all_fields(value: Any) -> tuple[_Field, ...]:
    """The fields of a class or of a value, in order."""
    found: tuple[_Field, ...] = value.__saltlite_fields__
    return found


def _replace_fields(value: Any, /, **changes: Any) -> Any:
    """A value like this one but for some fields."""
    same = {
        one.name: getattr(value, one.name)
        for one in value.__saltlite_fields__
        if one.init and one.name not in changes
    }
    return type(value)(**same, **changes)


def _has_fields(value: object) -> bool:
    """Whether this is such a class, or a value of one."""
    return hasattr(value, "__saltlite_fields__")


def _as_dict(value: Any) -> dict[str, Any]:
    """Names and values, those within too."""
    import dataclasses as standard

    return standard.asdict(value)


if TYPE_CHECKING:
    from dataclasses import MISSING as MISSING
    from dataclasses import Field as Field
    from dataclasses import asdict as asdict
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace
else:
    MISSING, Field, dataclass, field = _MISSING, _Field, _dataclass, _field
    asdict, fields, is_dataclass, replace = _as_dict, _all_fields, _has_fields, _replace_fields
