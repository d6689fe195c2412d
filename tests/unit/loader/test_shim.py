"""``import salt.…`` in users' files."""

from __future__ import annotations

import importlib
import subprocess
import sys
import types

import pytest
from salt_names import answered_names

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.errors import (
    CommandError,
    FunctionError,
    FunctionUnavailable,
    RenderError,
    RequestTimeout,
    UsageError,
)
from saltlite.host import Host
from saltlite.loader import shim
from saltlite.loader.registry import Registry
from saltlite.loader.surroundings import surroundings
from saltlite.version import __version__


@pytest.fixture(autouse=True)
def _salt():
    shim.uninstall()
    shim.install()
    yield
    shim.uninstall()


@pytest.mark.parametrize("name", sorted(answered_names()))
def test_every_answer_can_be_imported(name):
    module = importlib.import_module(name)
    assert isinstance(module, types.ModuleType)
    assert module is importlib.import_module(f"saltlite.compat.{name}")
    assert module.__doc__.startswith("``salt.")


def test_packages_give_what_is_below_them():
    import salt
    import salt.utils

    assert salt.__version__ == __version__
    assert salt.utils.files.fopen is importlib.import_module("salt.utils.files").fopen
    assert salt.utils.decorators.path.which


@pytest.mark.parametrize("name", ["salt.cloud", "salt.utils.nosuch", "salt.modules"])
def test_what_is_not_answered_says_so(name):
    words = f"saltlite has no {name} "
    with pytest.raises(ImportError, match=words):
        importlib.import_module(name)
    package, _, last = name.rpartition(".")
    if package:
        with pytest.raises(AttributeError, match=words):
            getattr(importlib.import_module(package), last)


def test_other_modules_that_begin_so_are_nobodys():
    with pytest.raises(ModuleNotFoundError, match="No module named 'saltbox'"):
        importlib.import_module("saltbox")


def test_six():
    from salt.ext import six
    from salt.ext.six.moves import range as numbers
    from salt.ext.six.moves.urllib.parse import quote

    assert (six.text_type, list(numbers(2)), quote("a b")) == (str, [0, 1], "a%20b")


def test_ours_goes_before_an_installed_one(tmp_path):
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt/__init__.py").write_text("REAL = True\n")
    code = (
        "from saltlite.loader import shim; shim.install(); import salt;"
        "assert not hasattr(salt, 'REAL'), salt"
    )
    run(code, tmp_path)


def test_a_real_one_that_was_imported_before_stays(tmp_path):
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt/__init__.py").write_text("REAL = True\n")
    run(
        "import salt; from saltlite.loader import shim; shim.install(); import salt;"
        "assert salt.REAL",
        tmp_path,
    )


def test_without_a_users_file_there_is_no_salt():
    run("import saltlite.loader.registry, saltlite.loader.shim\ntry:\n    import salt\n"
        "except ModuleNotFoundError: pass\nelse: assert 0", "")  # fmt: skip


def run(code, path):
    environ = {"PYTHONPATH": f"{path}:{':'.join(sys.path)}", "PATH": "/bin"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# --- what needs a running function ---------------------------------------------------------------


class Events:
    def __init__(self):
        self.fired = []

    def fire(self, tag, data):
        self.fired.append((tag, data))


@pytest.fixture
def ctx(tmp_path):
    (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\nfile_client: local\n")
    ctx = MinionContext(
        config=load_minion(tmp_path), host=Host(), grains={"os": "Debian"}, pillar={},
        events=Events(),
    )  # fmt: skip
    ctx.functions = Registry(ctx)
    return ctx


@pytest.fixture
def running(ctx):
    with surroundings(ctx).enter():
        yield


def test_events(running, ctx):
    import salt.utils.event

    with salt.utils.event.get_event("minion", opts={}) as event:
        assert event.fire_event({"a": 1}, "my/tag")
    assert ctx.events.fired == [("my/tag", {"a": 1})]


def test_a_caller(running):
    import salt.client

    assert salt.client.Caller().cmd("test.echo", "x") == "x"
    with pytest.raises(importlib.import_module("salt.exceptions").SaltClientError):
        salt.client.LocalClient()


def test_options_and_functions(running):
    import salt.config
    import salt.loader
    import salt.syspaths

    assert salt.config.minion_config("/etc/salt/minion")["id"] == "m1"
    assert salt.loader.minion_mods({})["test.echo"]("x") == "x"
    assert salt.loader.grains({}) == {"os": "Debian"}
    assert salt.syspaths.CONFIG_DIR == "/etc/salt"


def test_output(running):
    import salt.output

    assert salt.output.out_format({"a": 1}, "json") == '{\n    "a": 1\n}'


def test_files_of_the_master(running, tmp_path):
    import salt.fileclient

    client = salt.fileclient.get_file_client({})
    assert client.cache_file("salt://no/such/file") == ""
    assert client.hash_file("salt://no/such/file") == {}


def test_without_a_running_function_they_say_so():
    import salt.client

    with pytest.raises(importlib.import_module("salt.exceptions").SaltClientError):
        salt.client.Caller()


@pytest.mark.parametrize(
    ("ours", "name"),
    [
        (FunctionError("x"), "CommandExecutionError"),
        (UsageError("x"), "SaltInvocationError"),
        (CommandError(["x"], 1, "bad"), "CommandExecutionError"),
        (CommandError(["x"], None, "no such program"), "CommandNotFoundError"),
        (RenderError("x", path="a"), "SaltRenderError"),
        (RequestTimeout("x", 1), "SaltReqTimeoutError"),
        (FunctionUnavailable("a.b"), "KeyError"),
    ],
)
def test_errors_of_ours_as_salts(ours, name):
    from saltlite.compat.salt.exceptions import as_salt

    assert type(as_salt(ours)).__name__ == name


def test_exceptions_may_be_given_anything():
    import salt.exceptions as e

    assert str(e.CommandExecutionError({"a": 1})) == "{'a': 1}"
    assert e.CommandExecutionError("x", info={"b": 2}).info == {"b": 2}
    assert (str(e.SaltException()), e.SaltException("x").strerror) == ("", "x")


# --- what real Salt cannot be asked, or answers by chance ----------------------------------------


def test_yaml_makes_no_objects():
    import salt.utils.yaml

    with pytest.raises(salt.utils.yaml.YAMLError):
        salt.utils.yaml.load("!!python/object/apply:os.system ['true']")
    assert type(salt.utils.yaml.safe_load("a: {b: 1}")["a"]) is dict


@pytest.mark.parametrize(
    ("value", "plain"),
    [(None, "null"), ("a", "a"), (1.5, "1.5"), ([None], "[null]")],
)
def test_only_dump_without_a_dumper_marks_the_end_of_a_plain_value(value, plain):
    import salt.serializers.yaml
    import salt.utils.yaml as y

    end = "" if isinstance(value, list) else "...\n"
    assert y.dump(value) == f"{plain}\n{end}"
    assert y.safe_dump(value) == f"{plain}\n"
    for dumper in (y.SafeOrderedDumper, y.OrderedDumper, y.IndentedSafeOrderedDumper):
        assert y.dump(value, Dumper=dumper, default_flow_style=None) == f"{plain}\n"
    assert salt.serializers.yaml.serialize(value) == plain


def test_files(tmp_path):
    import salt.utils.files

    path = tmp_path / "a"
    with salt.utils.files.fpopen(str(path), "w", mode=0o640) as file:
        file.write("x")
    assert path.stat().st_mode & 0o777 == 0o640
    with salt.utils.files.flopen(str(path)) as file:
        assert file.read() == "x"
    with pytest.raises(TypeError):
        salt.utils.files.fopen(1)
    with salt.utils.files.set_umask(0o077):
        made = salt.utils.files.mkstemp(dir=str(tmp_path))
    assert [name for name in made.split("/") if name.startswith("__salt.tmp.")]
    salt.utils.files.rm_rf(str(tmp_path / "nosuch"))
    salt.utils.files.rm_rf(made)
    assert salt.utils.files.list_files(str(tmp_path)) != [str(tmp_path)]


def test_dates():
    import salt.utils.dateutils

    assert salt.utils.dateutils.strftime("2020-01-02 03:04:05", "%H:%M") == "03:04"
    with pytest.raises(ValueError, match="Unable to parse"):
        salt.utils.dateutils.date_cast("someday")


def test_warnings_have_a_release_at_which_they_are_errors():
    import salt.utils.versions

    with pytest.warns(DeprecationWarning, match="gone in 3010"):
        salt.utils.versions.warn_until(3010, "gone in {version}")
    with pytest.raises(RuntimeError, match="3005"):
        salt.utils.versions.warn_until("Phosphorus", "gone")


def test_functions_with_other_globals():
    from salt.utils.functools import alias_function, call_function, namespaced_function

    def f(a, b=2):
        return [a, b, WHERE]  # noqa: F821

    there = namespaced_function(f, {"WHERE": "here"})
    assert there(1) == [1, 2, "here"]
    assert alias_function(there, "g").__name__ == "g"
    assert call_function(there, [1, {"b": 3}]) == [1, 3, "here"]


def test_ordered_dicts_with_defaults():
    from salt.utils.odict import DefaultOrderedDict

    found = DefaultOrderedDict(list)
    found["a"].append(1)
    assert dict(found) == {"a": [1]}


def test_decorators():
    from salt.exceptions import CommandExecutionError, SaltInvocationError
    from salt.utils.decorators import allow_one_of, is_deprecated, require_one_of, timing

    @timing
    @require_one_of("a", "b")
    def f(a=None, b=None):
        return a or b

    assert f(b=1) == 1
    with pytest.raises(SaltInvocationError):
        f(a=1, b=1)
    with pytest.raises(SaltInvocationError):
        f()
    assert allow_one_of("a")(lambda a=None: a)() is None

    @is_deprecated(globals(), "Phosphorus", with_successor="g")
    def old():
        return 1

    with pytest.raises(CommandExecutionError, match="Please use 'g' instead"):
        old()
