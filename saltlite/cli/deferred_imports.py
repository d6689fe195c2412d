"""Put off modules of Python that others import at their top and our commands hardly ever use.

Each costs milliseconds at every start of a command, and every process of a daemon a tenth to a
third of a megabyte for as long as it runs. Loaded before anything else, it imports little itself.
"""

from __future__ import annotations

import importlib
import sys
import urllib  # the package alone is nothing; a module of it is put off below
from collections.abc import Callable, Mapping
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LATER = object()
"""Stands for a function or a class: its first use loads the module."""


class _Stand:
    """What a module has or gives, which is loaded when this is called or asked for anything.

    ``isinstance`` and inheritance go to the class that it stands for.
    """

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._found: Any = None

    def _find(self) -> Any:
        if self._found is None:
            self._found = self._load()
        return self._found

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._find()(*args, **kwargs)

    def __getattr__(self, name: str) -> object:
        return getattr(self._find(), name)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self._find())

    def __subclasscheck__(self, other: type) -> bool:
        return issubclass(other, self._find())

    def __or__(self, other: object) -> object:
        return self._find() | other

    def __mro_entries__(self, _bases: tuple[object, ...]) -> tuple[object, ...]:
        return (self._find(),)


class LaterLogger(_Stand):
    """A logger that loads ``logging`` with the first record that somebody wants.

    What else is asked of it, or set on it, is the logger's.
    """

    unwanted: frozenset[str] = frozenset()
    """Methods whose records nobody wants, as long as ``logging`` is not loaded."""

    def __init__(self, name: str | None = None) -> None:
        def make() -> object:
            load_now("logging")
            return sys.modules["logging"].getLogger(name)

        super().__init__(make)

    def __getattr__(self, name: str) -> object:
        if name in LaterLogger.unwanted and not is_loaded("logging"):
            return _pass_over
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in ("_load", "_found"):
            super().__setattr__(name, value)
        else:
            setattr(self._find(), name, value)


def _pass_over(*_args: object, **_kwargs: object) -> None:
    """Log nothing."""


def _leave_text(message: str) -> str:
    return message


def _leave_number(one: str, more: str, count: int) -> str:
    return one if count == 1 else more


def _name_implementation() -> str:
    return "PyPy" if sys.implementation.name == "pypy" else "CPython"


UNUSED: Mapping[str, Mapping[str, object]] = {
    "asyncio.sslproto": {},  # asyncio; TLS, which Salt's wire has not
    # cryptography, with its other formats of keys; loads inspect for a class without a docstring
    "cryptography.hazmat.primitives.serialization.ssh": dict.fromkeys(
        (
            "SSHCertPrivateKeyTypes",
            "SSHCertPublicKeyTypes",
            "SSHCertificate",
            "SSHCertificateBuilder",
            "SSHCertificateType",
            "SSHPrivateKeyTypes",
            "SSHPublicKeyTypes",
            "load_ssh_private_key",
            "load_ssh_public_identity",
            "load_ssh_public_key",
            "ssh_key_fingerprint",
        ),
        LATER,
    ),
    "difflib": {"get_close_matches": LATER},  # what a wrong name of a template resembles
    # optparse, for translations of its own messages, which nobody ships
    "gettext": {"gettext": _leave_text, "ngettext": _leave_number},
    "hashlib": {"sha1": LATER},  # file digests, and jinja2; loads OpenSSL
    "hmac": {},  # secrets, and filters of templates
    # dataclasses, for those without a docstring; jinja2, for one filter
    "inspect": {"getattr_static": LATER},
    "ipaddress": {},  # pathlib, by way of urllib.parse
    # jinja2 itself, which keeps compiled templates in a way that is not ours; loads tempfile
    "jinja2.bccache": dict.fromkeys(
        ("BytecodeCache", "FileSystemBytecodeCache", "MemcachedBytecodeCache"), LATER
    ),
    # and what compiles templates: most are compiled already
    "jinja2.compiler": dict.fromkeys(("CodeGenerator", "generate"), LATER),
    "jinja2.lexer": dict.fromkeys(("Lexer", "TokenStream", "get_lexer"), LATER),
    "jinja2.parser": {"Parser": LATER},
    "json": {},  # zmq's send_json
    "locale": {},  # subprocess, for text
    "logging": {"getLogger": LaterLogger},  # nearly all, and few commands log anything
    "pickle": {"DEFAULT_PROTOCOL": 5 if sys.version_info >= (3, 14) else 4},  # zmq's send_pyobj
    "platform": {"python_implementation": _name_implementation},  # zmq, to choose its backend
    "pprint": {},  # jinja2, for one filter; loads dataclasses
    # the same as hashlib, which it loads; jinja2, for texts without sense
    "random": dict.fromkeys(("choice", "random", "randrange"), LATER),
    "secrets": {},  # filters of templates
    "shlex": {},  # the same
    "shutil": {},  # the same
    "subprocess": {"DEVNULL": -3, "PIPE": -1, "STDOUT": -2},  # asyncio; the minion's loop runs none
    "textwrap": {},  # optparse and traceback, for help and for exceptions of several lines
    "tokenize": {},  # inspect and linecache, to read sources
    "urllib.parse": {"quote_from_bytes": LATER},  # pathlib, for paths as addresses
}
"""Name of a module → what its importers take from it at once, which does not load it.

Of a package nothing can be taken by ``from`` without loading it.
"""

PACKAGES = frozenset(["logging"])
"""Those of them that have modules below them, and of which something is known."""


HALVES: Mapping[str, str] = (
    {"datetime": "_datetime"} if sys.implementation.name == "cpython" else {}
)
"""Modules that are their compiled halves, as they are since Python 3.12.

Before that they first make all classes in Python, and then drop them for those.
"""


def defer_imports(modules: Mapping[str, Mapping[str, object]] = UNUSED) -> None:
    """Let ``import name`` give a module that is loaded with the first look into it.

    ``importlib.util.LazyLoader`` would do, if the import statement itself were no such look.
    """
    for name, known in {**{half: {} for half in HALVES}, **modules}.items():
        if name in sys.modules:
            continue
        sys.modules[name] = module = _stand_in(name, known)
        package, _, last = name.rpartition(".")
        if package == urllib.__name__:  # as an import would; other packages are not there yet
            setattr(urllib, last, module)


def is_loaded(name: str) -> bool:
    """Whether a module is there, and not only its stand-in."""
    return name in sys.modules and sys.modules[name] is not _stand_ins.get(name)


def load_now(name: str) -> None:
    """Load a module that was put off."""
    hasattr(importlib.import_module(name), "__file__")  # a look, whether it has a file or not


def when_loaded(name: str, action: Callable[[], object]) -> None:
    """Do something as soon as a module is loaded: now if it is, else in place of what waits."""
    _actions[name] = action
    if is_loaded(name):
        _act(name)


_stand_ins: dict[str, ModuleType] = {}
_actions: dict[str, Callable[[], object]] = {}


def _act(name: str) -> None:
    action = _actions.pop(name, None)
    if action is not None:
        action()


class _StandIn(ModuleType):
    """What is set on it is set on the module, for those who import that."""

    def __setattr__(self, attribute: str, value: object) -> None:
        load_now(self.__name__)
        setattr(sys.modules[self.__name__], attribute, value)
        super().__setattr__(attribute, value)


def _stand_in(name: str, known: Mapping[str, object]) -> ModuleType:
    module = _stand_ins[name] = _StandIn(name, "Stands for a module until it is needed.")

    def load(attribute: str) -> Any:
        # `from name import` asks.
        if attribute == "__path__" and known and name not in PACKAGES:
            raise AttributeError(attribute)
        if sys.modules.get(name) is module:
            del sys.modules[name]
            if name in HALVES:
                sys.modules[name] = importlib.import_module(HALVES[name])
        loaded = vars(importlib.import_module(name))
        vars(module).pop("__getattr__", None)
        vars(module).update(loaded)
        _act(name)
        if attribute not in loaded:
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        return loaded[attribute]

    def stand_for(attribute: str) -> _Stand:
        return _Stand(lambda: load(attribute))

    at_once = {word: stand_for(word) if it is LATER else it for word, it in known.items()}
    vars(module).update(at_once, __getattr__=load)
    return module
