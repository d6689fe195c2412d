"""Modules that are put off: nobody notices, and nobody pays for what is not used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from saltlite.cli.deferred_imports import LATER, UNUSED, defer_imports

STAND_IN = "Stands for a module until it is needed."


def run_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    ).stdout


@pytest.mark.parametrize("name", UNUSED)
def test_what_is_known_beforehand_is_so(name: str) -> None:
    module = vars(importlib.import_module(name))
    later = {key for key, value in UNUSED[name].items() if value is LATER}
    known = {key: it for key, it in UNUSED[name].items() if key not in later and not callable(it)}
    assert {key: module[key] for key in known} == known
    assert later <= set(module)


def test_texts_that_are_not_translated_are_as_python_has_them() -> None:
    code = """
import saltlite.cli, gettext
def texts():
    return [gettext.gettext("no %s"), *(gettext.ngettext("a", "b", count) for count in (0, 1, 2))]
first = texts()
gettext.find
print(first == texts(), first)
"""
    assert run_python(code) == "True ['no %s', 'b', 'a', 'b']\n"


def test_a_function_that_is_put_off_loads_its_module() -> None:
    code = """
import sys
from saltlite.cli.deferred_imports import LATER, defer_imports
defer_imports({"colorsys": {"rgb_to_hsv": LATER}})
from colorsys import rgb_to_hsv
import colorsys
print(sorted(set(vars(colorsys)) & {"rgb_to_hsv", "ONE_SIXTH"}), rgb_to_hsv(0, 0, 1)[2])
print(colorsys.hsv_to_rgb(0, 0, 1), "ONE_SIXTH" in vars(colorsys))
"""
    assert run_python(code).splitlines() == ["['rgb_to_hsv'] 1", "(1, 1, 1) True"]


def test_a_class_that_is_put_off() -> None:
    code = """
import sys
from saltlite.cli.deferred_imports import LATER, defer_imports
defer_imports({"fractions": {"Fraction": LATER}})
from fractions import Fraction
print("numbers" in sys.modules)
print(Fraction.from_float(0.5), Fraction(1, 2), (Fraction | None) == (type(Fraction(1)) | None))
print(isinstance(Fraction(1), Fraction), isinstance(1, Fraction), issubclass(bool, Fraction))
class Half(Fraction):
    pass
print(Half(1, 2) + 1, Half.__mro__[1] is type(Fraction(1)))
"""
    expected = ["False", "1/2 1/2 True", "True False False", "3/2 True"]
    assert run_python(code).splitlines() == expected


def test_keys_of_ssh_can_be_read() -> None:
    code = """
import sys, saltlite.cli
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
key = Ed25519PrivateKey.generate().public_key()
print("cryptography.hazmat.primitives.serialization.ssh" in sys.modules, "dis" in sys.modules)
form = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
print(serialization.load_ssh_public_key(key.public_bytes(*form)) == key)
print(serialization.SSHCertificateType.USER.name, serialization.ssh.SSHCertificateType.HOST.name)
"""
    assert run_python(code).splitlines() == ["True False", "True", "USER HOST"]


def test_the_name_of_the_interpreter() -> None:
    code = """
import saltlite.cli, platform
name = platform.python_implementation()
platform.system
print(name == platform.python_implementation())
"""
    assert run_python(code) == "True\n"


def test_paths_become_addresses() -> None:
    code = """
import saltlite.cli, urllib.parse
from pathlib import Path
print(Path("/a b").as_uri(), urllib.parse.quote(" "))
"""
    assert run_python(code) == "file:///a%20b %20\n"


def test_a_look_loads_the_module_for_all_who_have_it() -> None:
    code = """
import sys, saltlite.cli
import json, tokenize
first = json
print(sys.modules["json"].__doc__)
print(first.loads("[1]"), first.JSONDecodeError is json.JSONDecodeError)
import json
print(json.dumps({}), sys.modules["json"].__doc__ == first.__doc__ != tokenize.__doc__)
from ipaddress import ip_address
print(ip_address("::1"))
"""
    assert run_python(code).splitlines() == [STAND_IN, "[1] True", "{} True", "::1"]


def test_something_is_done_once_a_module_is_loaded() -> None:
    code = """
from saltlite.cli.deferred_imports import defer_imports, is_loaded, when_loaded
defer_imports({"colorsys": {}})
import colorsys
for word in ("first", "second"):
    when_loaded("colorsys", lambda word=word: print(word, is_loaded("colorsys")))
print(is_loaded("colorsys"))
colorsys.ONE_SIXTH
when_loaded("colorsys", lambda: print("at once"))
"""
    assert run_python(code).splitlines() == ["False", "second True", "at once"]


def test_a_logger_is_made_with_the_first_record_that_is_wanted() -> None:
    code = """
import saltlite.cli, logging
from saltlite.cli.deferred_imports import LaterLogger, is_loaded
log = logging.getLogger("a")
LaterLogger.unwanted = frozenset(["debug"])
log.debug("nobody wants this")
print(is_loaded("logging"))
log.info("perhaps")
print(is_loaded("logging"), log.name, log.parent is logging.getLogger())
logging.basicConfig(level=1, format="%(message)s", stream=__import__("sys").stdout)
log.debug("now")
"""
    assert run_python(code).splitlines() == ["False", "True a True", "now"]


def test_what_is_set_on_a_logger_is_the_loggers() -> None:
    code = """
import saltlite.cli, logging
log = logging.getLogger("a")
log.propagate = False
print(logging.getLogger("a").propagate, logging.LoggerAdapter(log, {}).name, log.level)
"""
    assert run_python(code) == "False a 0\n"


def test_what_is_set_on_a_module_is_set_for_all() -> None:
    code = """
import saltlite.cli, logging
mine = logging
mine.TRACE = 5
from logging import TRACE, getLogger
import logging.handlers
logging.handlers.later = mine.later = 6
import logging
print(TRACE, logging.TRACE, logging.later, mine.later, getLogger is mine.getLogger)
"""
    assert run_python(code) == "5 5 6 6 True\n"


def test_an_attribute_that_is_not_there() -> None:
    code = "import saltlite.cli, json\nprint(hasattr(json, 'nothing'), json.loads('2'))"
    assert run_python(code).split() == ["False", "2"]


def test_a_module_that_is_loaded_stays() -> None:
    defer_imports({"subprocess": {}})
    assert sys.modules["subprocess"] is subprocess


def test_processes_can_be_run_where_they_were_put_off() -> None:
    code = """
import asyncio, saltlite.cli, subprocess
from subprocess import PIPE
async def run():
    made = await asyncio.create_subprocess_exec("echo", "a", stdout=PIPE)
    return (await made.communicate())[0]
print(asyncio.run(run()), subprocess.run(["true"], stdout=PIPE).returncode, PIPE == subprocess.PIPE)
"""
    for order in (
        code,
        code.replace("import asyncio, saltlite.cli,", "import saltlite.cli, asyncio,"),
    ):
        assert run_python(order) == "b'a\\n' 0 True\n"


def test_a_number_by_chance_where_it_was_put_off() -> None:
    code = """
import saltlite.cli, random
chance = random.random
print(0 <= chance() < 1, 0 <= random.random() < 1, random.choice([3]))
"""
    assert run_python(code) == "True True 3\n"


@pytest.mark.parametrize(
    ("modules", "used"),
    [
        ("saltlite.cli.salt_minion, saltlite.minion.daemon", []),
        ("saltlite.minion.minion", ["logging"]),  # asyncio makes a handler
        ("saltlite.cli.salt_master, saltlite.master.daemon, saltlite.master.mworker", []),
    ],
)
def test_the_daemons_do_without(modules: str, used: list[str]) -> None:
    code = f"""
import sys, saltlite.cli
import {modules}
print([name for name in {list(UNUSED)} if sys.modules[name].__doc__ != {STAND_IN!r}])
"""
    assert run_python(code).strip() == repr(used)


def test_datetime_is_its_compiled_half_and_complete() -> None:
    code = """
import saltlite.cli.deferred_imports as deferred
deferred.defer_imports()
import sys
import datetime as stand
print("_datetime" in sys.modules)
from datetime import datetime
taken = sys.modules.pop("datetime")
import datetime as whole
print(taken.__name__, [one for one in whole.__all__ if not hasattr(taken, one)])
print(whole.datetime is taken.datetime is stand.datetime is datetime, datetime.__module__)
"""
    assert run_python(code).split("\n")[:3] == ["False", "_datetime []", "True datetime"]
