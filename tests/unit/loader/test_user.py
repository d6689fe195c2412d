"""Files that users wrote for Salt, loaded from a directory of their own."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, FunctionUnavailable, UsageError
from saltlite.host import Host
from saltlite.loader import shim
from saltlite.loader.registry import Registry
from saltlite.loader.surroundings import CURRENT, surroundings
from saltlite.loader.user import UserModules
from saltlite.minion.job import call_function, run_job
from saltlite.minion.taken_job import TakenJob
from saltlite.templates.names import SaltFunctions


@pytest.fixture(autouse=True)
def _no_trace():
    paths = list(sys.path)
    yield
    shim.uninstall()
    sys.path[:] = paths


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


@dataclass
class Tree:
    """A minion's directories."""

    root: Path
    options: str = ""
    grains: dict = field(default_factory=lambda: {"os": "Debian"})

    def write(self, text: str, name: str = "custom.py", kind: str = "modules") -> Path:
        path = self.root / "var/cache/salt/minion/extmods" / kind / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def ctx(self) -> MinionContext:
        (self.root / "minion").write_text(f"id: m1\nroot_dir: {self.root}\n{self.options}")
        ctx = MinionContext(
            config=load_minion(self.root), host=Host(), grains=self.grains, pillar={"a": 1}
        )
        ctx.functions = Registry(ctx)
        return ctx

    def call(self, name: str, *args, **kwargs):
        return self.ctx().functions.call(name, *args, **kwargs)


def reason_of(tree: Tree, name: str) -> str:
    with pytest.raises(FunctionUnavailable) as caught:
        tree.call(name)
    return str(caught.value)


def test_a_file_is_a_module(tree):
    tree.write("def f(a, b=2):\n    return [a, b]\n")
    assert tree.call("custom.f", 1) == [1, 2]


@pytest.mark.parametrize(
    "name",
    ["custom._own", "custom.K", "custom.join", "custom.V", "custom.nosuch", "custom", "custom.f.f"],
)
def test_only_its_own_public_functions_are_there(tree, name):
    tree.write(
        "from os.path import join\ndef _own(): return 1\nclass K: pass\nV = 1\ndef f(): return 1\n"
    )
    assert reason_of(tree, name) == f"'{name}' is not available."


def test_a_list_may_say_what_is_there(tree):
    tree.write("__load__ = ['a']\ndef a(): return 1\ndef b(): return 2\n")
    assert tree.ctx().functions.names().count("custom.a") == 1
    assert reason_of(tree, "custom.b")


def test_functions_have_other_names_where_python_has_the_word(tree):
    tree.write("__func_alias__ = {'list_': 'list'}\ndef list_(): return 1\n")
    assert tree.call("custom.list") == 1
    assert reason_of(tree, "custom.list_") == "'custom.list_' is not available."


# --- what it stands for --------------------------------------------------------------------------


VIRTUALS = {
    "True": "custom",
    "'other'": "other",
    "__virtualname__": "named",
    "'oth' + 'er'": "other",
    "__grains__['os'].lower()": "debian",
}


@pytest.mark.parametrize(("said", "name"), VIRTUALS.items())
def test_what_virtual_says(tree, said, name):
    extra = "__virtualname__ = 'named'\n" if "virtualname" in said else ""
    tree.write(f"{extra}def __virtual__():\n    return {said}\ndef f(): return 1\n")
    assert tree.call(f"{name}.f") == 1
    if name != "custom":
        assert reason_of(tree, "custom.f") == "'custom.f' is not available."


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("False", "'custom' __virtual__ returned False"),
        ("None", "'custom' __virtual__ returned False"),
        ("False, 'no such tool'", "'custom' __virtual__ returned False: no such tool"),
        ("(False, 'no such tool')", "'custom' __virtual__ returned False: no such tool"),
        (
            "1 / 0",
            "'custom' __virtual__ returned False: Exception raised when processing __virtual__"
            " function for salt.loaded.ext.module.custom. Module will not be loaded:"
            " division by zero",
        ),
    ],
)
def test_the_reason_why_it_is_not_there(tree, said, reason):
    tree.write(f"def __virtual__():\n    return {said}\ndef f(): return 1\n")
    assert reason_of(tree, "custom.f") == reason


def test_a_name_counts_only_with_a_function_that_says_it(tree):
    tree.write("__virtualname__ = 'named'\ndef f(): return 1\n")
    assert tree.call("custom.f") == 1
    assert reason_of(tree, "named.f")


def test_two_files_of_one_name_are_one_module_and_the_first_wins(tree):
    for name in ("a", "b"):
        tree.write(
            "__virtualname__ = 'both'\ndef __virtual__():\n    return __virtualname__\n"
            f"def same(): return '{name}'\ndef only_{name}(): return 1\n",
            f"{name}.py",
        )
    assert tree.call("both.same") == "a"
    assert tree.call("both.only_b") == 1


def test_aliases(tree):
    tree.write("__virtual_aliases__ = ('too',)\ndef f(): return 1\n")
    assert tree.call("too.f") == tree.call("custom.f") == 1


# --- beside ours ---------------------------------------------------------------------------------


def test_a_file_of_the_same_name_replaces_ours_whole(tree):
    tree.write("def ping(): return 'custom'\n", "test.py")
    assert tree.call("test.ping") == "custom"
    assert reason_of(tree, "test.echo") == "'test.echo' is not available."


def test_a_broken_file_of_the_same_name_hides_ours_too(tree):
    tree.write("def ping(:\n", "test.py")
    assert reason_of(tree, "test.ping").startswith("'test' __virtual__ returned False: invalid")


@pytest.mark.parametrize("name", ["cmd.py", "anything.py"])
def test_a_file_that_only_says_our_name_adds_to_it(tree, name):
    """Salt's own file for ``cmd`` is not called so: a user's ``cmd.py`` does not replace it."""
    tree.write("def __virtual__():\n    return 'cmd'\ndef run(cmd): return 'custom'\n", name)
    assert tree.call("cmd.run", "x") == "custom"
    assert tree.call("cmd.has_exec", "sh") is True


@pytest.mark.parametrize(
    ("name", "module", "stays"),
    [("cmdmod", "cmd", False), ("archive", "archive", False), ("log", "log", True)],
)
def test_a_file_called_as_salts_own_takes_the_place_of_the_whole(tree, name, module, stays):
    tree.write(
        f"__virtualname__ = {module!r}\ndef __virtual__(): return {module!r}\ndef f(): return 1\n",
        f"{name}.py",
    )
    ours = {"cmd": "cmd.run", "archive": "archive.tar", "log": "log.info"}[module]
    names = tree.ctx().functions.names()
    assert f"{module}.f" in names
    assert (ours in names) is stays


def test_ours_call_theirs(tree):
    tree.write("def ping(): return 'custom'\n", "test.py")
    tree.write("def f(): return __salt__['test.ping']()\n")
    assert tree.call("custom.f") == "custom"


@pytest.mark.parametrize(
    "options", [f"disable_modules: [{name}]" for name in ("custom", "said", "deploy")]
)
def test_the_options_that_disable_modules_count(tree, options):
    tree.options = options
    tree.write("def __virtual__():\n    return 'said'\ndef f(): return 1\n", "deploy.py")
    tree.write("def f(): return 1\n")
    names = [name for name in ("custom.f", "said.f") if name in tree.ctx().functions.names()]
    assert names == (["said.f"] if "[custom]" in options else ["custom.f"])


def test_a_module_that_jobs_may_call_may_itself_call_others(tree):
    tree.options = "whitelist_modules: [custom]"
    tree.write("def f(): return __salt__['test.echo']('hello')\n")
    job = {"fun": "custom.f", "arg": [], "jid": "1"}
    assert run_job(TakenJob.of(job), tree.ctx())["return"] == "hello"
    refused = run_job(TakenJob.of({**job, "fun": "test.echo", "arg": ["hello"]}), tree.ctx())
    assert refused["success"] is False
    assert refused["return"] == {"test.echo": "'test.echo' is not available."}


def test_templates_may_call_what_jobs_may_call(tree):
    tree.options = "whitelist_modules: [custom]"
    tree.write("def f(): return 1\n")
    found = SaltFunctions(tree.ctx())
    assert found["custom.f"]() == 1
    assert list(found) == ["custom.f"]
    assert "test.echo" not in found


# --- what it finds in its globals ----------------------------------------------------------------


def test_the_options_have_the_modules_own_where_they_have_none(tree):
    tree.options = "custom.a: 7\n"
    tree.write("__opts__ = {'custom.a': 1, 'custom.b': 2}\ndef f(k): return __opts__[k]\n")
    assert [tree.call("custom.f", key) for key in ("custom.a", "custom.b", "id")] == [7, 2, "m1"]


def test_the_options_are_a_dict_with_grains_and_pillar(tree):
    tree.write(
        "def f(): return [type(__opts__).__name__, __opts__['grains']['os'],"
        " __opts__['pillar']['a'], __opts__['test'], __opts__['file_client']]\n"
    )
    assert tree.call("custom.f") == ["dict", "Debian", 1, False, "remote"]


def test_grains_pillar_and_context(tree):
    tree.write("def f():\n    __context__['n'] = 1\n    return __grains__['os'], __pillar__['a']\n")
    ctx = tree.ctx()
    assert ctx.functions.call("custom.f") == ("Debian", 1)
    assert ctx.state["n"] == 1


def test_grains_collected_anew_are_seen_at_once(tree):
    tree.write("def f(): return __grains__.get('os')\n")
    ctx = tree.ctx()
    ctx.functions.call("custom.f")
    ctx.grains = {"os": "Fedora"}
    assert ctx.functions.call("custom.f") == "Fedora"


def test_nothing_is_there_while_the_file_is_executed(tree):
    tree.write("HAS = '__salt__' in globals()\ndef f(): return HAS, '__salt__' in globals()\n")
    assert tree.call("custom.f") == (False, True)


def test_init_is_called_with_the_options_first(tree):
    tree.write(
        "SAID = []\ndef __init__(opts): SAID.append(opts['id'])\n"
        "def __virtual__():\n    SAID.append('virtual')\n    return True\ndef f(): return SAID\n"
    )
    assert tree.call("custom.f") == ["m1", "virtual"]


def test_an_init_that_fails(tree):
    tree.write("def __init__(opts): 1 / 0\ndef f(): return 1\n")
    assert reason_of(tree, "custom.f") == "'custom' __virtual__ returned False: __init__ failed"


def test_functions_of_others_by_name_and_as_attributes(tree):
    tree.write(
        "def f(): return [__salt__['test.echo']('a'), __salt__.test.echo('b'),"
        " 'nope.f' in __salt__, __salt__.get('nope.f'), 'test.ping' in list(__salt__),"
        " __salt__['test.echo'].__name__]\n"
        "def g(name): return __salt__[name]\n"
    )
    assert tree.call("custom.f") == ["a", "b", False, None, True, "echo"]
    with pytest.raises(KeyError, match=r"'nope\.f'"):
        tree.call("custom.g", "nope.f")
    with pytest.raises(KeyError, match=r"The key 'nodot' should contain a '\.'"):
        tree.call("custom.g", "nodot")


def test_utilities(tree):
    tree.write("def twice(n): return [2 * n, __opts__['id']]\n", "tools.py", "utils")
    tree.write(
        "import tools\ndef f(): return __utils__['tools.twice'](2)\ndef g(): return tools.twice\n"
    )
    assert tree.call("custom.f") == [4, "m1"]
    assert callable(tree.call("custom.g"))


def test_options_for_a_while(tree):
    tree.write("__opts__ = {'own': 1}\ndef f(): return __opts__['test'], __opts__.get('own')\n")
    ctx = tree.ctx()
    assert ctx.functions.call("custom.f") == (False, 1)
    with surroundings(ctx).with_opts(test=True, own=2):
        assert ctx.functions.call("custom.f") == (True, 2)
    assert ctx.functions.call("custom.f") == (False, 1)


def test_threads_see_their_own_values(tree, tmp_path):
    tree.write("def f(): return __grains__['os'], __opts__['id']\n")
    other = Tree(tmp_path / "other", "", {"os": "Fedora"})
    other.root.mkdir()
    other.write("def f(): return __grains__['os'], __opts__['id']\n")
    contexts = [tree.ctx(), other.ctx()] * 4
    found = [None] * len(contexts)

    def run(at: int) -> None:
        found[at] = contexts[at].functions.call("custom.f")

    threads = [threading.Thread(target=run, args=(at,)) for at in range(len(contexts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert found == [("Debian", "m1"), ("Fedora", "m1")] * 4


def test_the_current_surroundings_end_with_the_call(tree):
    tree.write("def f(): return 1\n")
    ctx = tree.ctx()
    ctx.functions.call("custom.f")
    assert CURRENT.get(None) is None


# --- errors --------------------------------------------------------------------------------------


def outcome(tree: Tree, text: str):
    tree.write(f"from salt.exceptions import *\ndef f():\n    {text}\n")
    fields = run_job(TakenJob.of({"fun": "custom.f", "jid": "1"}), tree.ctx())
    return fields["return"], fields["retcode"]


def test_salts_exceptions_are_worded_as_salt_does(tree):
    assert outcome(tree, "raise CommandExecutionError('bad')") == ("ERROR: bad", 1)
    said, retcode = outcome(tree, "raise SaltInvocationError('bad')")
    assert (said, retcode) == ("ERROR executing 'custom.f': bad", 1)
    said, _ = outcome(tree, "raise CommandNotFoundError('bad')")
    assert said == "Command required for 'custom.f' not found: bad"
    assert outcome(tree, "raise SaltException('bad')") == ("ERROR: bad", 1)
    said, _ = outcome(tree, "raise ValueError('bad')")
    assert said.startswith("The minion function caused an exception: Traceback")
    assert "custom.py" in said


def test_what_ours_raise_can_be_caught_as_salts(tree):
    tree.write(
        "from salt.exceptions import CommandExecutionError\ndef f():\n    try:\n"
        "        return __salt__['cmd.run']('x', cwd='/no/such/directory')\n"
        "    except CommandExecutionError as error:\n        return type(error).__name__\n"
    )
    assert tree.call("custom.f") == "CommandExecutionError"


def test_salts_exceptions_are_kin_of_ours(tree):
    tree.write("import salt.exceptions as e\ndef f(): return e\n")
    exceptions = tree.call("custom.f")
    assert issubclass(exceptions.CommandExecutionError, FunctionError)
    assert issubclass(exceptions.SaltInvocationError, (UsageError, TypeError))


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("def f():\n    return 1\n\ndef g(:\n", 4, "SyntaxError: invalid syntax"),
        ("import os\nimport nosuchlibrary\n", 2, "No module named 'nosuchlibrary'"),
        ("x = 1\n\n1 / 0\n", 3, "ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)\n", 2, "SystemExit: 3"),
        ("import salt.cloud\n", 1, "saltlite has no salt.cloud"),
    ],
)
def test_a_broken_file_is_one_line_and_the_rest_loads(tree, caplog, text, line, said):
    path = tree.write(text, "broken.py")
    tree.write("def f(): return 1\n")
    ctx = tree.ctx()
    with caplog.at_level(logging.ERROR):
        names = ctx.functions.names()
        ctx.functions.names()
    assert "custom.f" in names
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1
    assert lines[0].startswith(f"{path}:{line}: ")
    assert said in lines[0]
    assert "\n" not in lines[0]


def test_a_file_that_others_can_write_is_refused(tree, caplog):
    path = tree.write("def f(): return 1\n")
    path.chmod(0o666)
    assert "writable by everybody" in reason_of(tree, "custom.f")
    path.chmod(0o644)
    path.parent.chmod(0o777)
    assert "writable by everybody" in reason_of(tree, "custom.f")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(tree):
    path = tree.write("def f(): return 1\n")
    os.chown(path, 12345, 12345)
    assert "belongs to user 12345" in reason_of(tree, "custom.f")


# --- files and directories -----------------------------------------------------------------------


def test_a_package(tree):
    tree.write("from .inner import g\ndef f(): return g()\n", "pack/__init__.py")
    tree.write("from . import other\ndef g(): return other.V\n", "pack/inner.py")
    tree.write("V = 3\n", "pack/other.py")
    assert tree.call("pack.f") == tree.call("pack.g") == 3


def test_a_file_beside_it_can_be_imported(tree):
    tree.write("V = 4\n", "beside.py")
    tree.write("import beside\ndef f(): return beside.V\n")
    assert tree.call("custom.f") == 4


def test_what_is_no_python_is_no_module(tree):
    for name in (
        "custom.pyc",
        "custom.txt",
        ".custom.py.swp",
        "__pycache__/custom.py",
        "_custom.py",
    ):
        tree.write("def f(): return 1\n", name)
    assert "custom" not in tree.ctx().functions.modules()
    assert reason_of(tree, "custom.f") == "'custom.f' is not available."


def test_further_directories(tree, tmp_path):
    for place in ("more", "more/modules", "last"):
        (tmp_path / place).mkdir()
    (tmp_path / "more/one.py").write_text("def f(): return 'one'\n")
    (tmp_path / "more/modules/two.py").write_text("def f(): return 'two'\n")
    (tmp_path / "last/one.py").write_text("def f(): return 'last'\n")
    tree.options = f"module_dirs: [{tmp_path}/more, {tmp_path}/last]\n"
    assert tree.call("one.f") == "one"
    assert tree.call("two.f") == "two"


def test_changed_files_are_read_again_when_asked_for(tree):
    tree.write("def f(): return 1\n")
    ctx = tree.ctx()
    assert ctx.functions.call("custom.f") == 1
    tree.write("def f(): return 2\n")
    tree.write("def f(): return 3\n", "new.py")
    assert ctx.functions.call("custom.f") == 1
    ctx.functions.reload()
    assert ctx.functions.call("custom.f") == 2
    assert ctx.functions.call("new.f") == 3


def test_a_file_that_is_not_meant_stays_unread(tree, tmp_path):
    tree.write(f"open('{tmp_path}/read', 'w').close()\ndef f(): return 1\n", "other.py")
    tree.write("def f(): return 1\n")
    tree.call("custom.f")
    assert not (tmp_path / "read").exists()


def test_no_bytecode_is_left(tree):
    path = tree.write("def f(): return 1\n")
    tree.call("custom.f")
    assert [each.name for each in path.parent.iterdir()] == ["custom.py"]


def test_without_custom_code_nothing_of_the_loader_is_imported(tree):
    tree.ctx()
    code = (
        "import sys\nfrom saltlite.cli.salt_call import main\n"
        f"assert main(['-c', {str(tree.root)!r}, '--local', 'test.ping']) == 0\n"
        "bad = [n for n in sys.modules if n.startswith('saltlite.loader.')"
        " and n.rpartition('.')[2] in ('user', 'dunders', 'shim', 'sync', 'answers')]\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


# --- how it is shown -----------------------------------------------------------------------------


def test_the_outputter_it_asks_for(tree):
    tree.write("__outputter__ = {'f': 'txt'}\ndef f(): return 1\ndef g(): return 1\n")
    ctx = tree.ctx()
    assert call_function("custom.f", [], TakenJob.of({"fun": "custom.f"}), ctx).out == "txt"
    assert call_function("custom.g", [], TakenJob.of({"fun": "custom.g"}), ctx).out is None


def test_documentation_and_arguments(tree):
    tree.write('def f(a, b=1, *c, **d):\n    """One.\n\n    Two.\n    """\ndef g(): pass\n')
    functions = tree.ctx().functions
    assert functions.doc("custom.f") == "One.\n\n    Two.\n    "
    assert functions.doc("custom.g") is None
    assert functions.argspec("custom.f") == {
        "args": ["a", "b"], "defaults": [1], "varargs": True, "kwargs": True,
    }  # fmt: skip


def test_keywords_of_the_job_go_to_those_who_take_any(tree):
    tree.write("def f(**kwargs): return sorted(kwargs)\ndef g(a): return a\n")
    ctx = tree.ctx()
    job = {"fun": "custom.f", "jid": "1"}
    assert call_function("custom.f", [], TakenJob.of(job), ctx).value == ["__pub_fun", "__pub_jid"]
    assert call_function("custom.g", ["a=5"], TakenJob.of(job), ctx).value == 5


def test_a_kind_of_its_own_for_a_master(tmp_path):
    @dataclass
    class Ctx:
        config: object
        functions: object = None
        local: object = None

    from saltlite.config.load import load_master

    (tmp_path / "master").write_text(f"root_dir: {tmp_path}\nrunner_dirs: [{tmp_path}/custom]\n")
    (tmp_path / "custom").mkdir()
    (tmp_path / "custom/fleet.py").write_text(
        "import salt.client\ndef ids():\n"
        "    return sorted(salt.client.LocalClient().cmd('*', 'test.ping', timeout=1))\n"
    )

    class Local:
        def cmd(self, tgt, fun, arg=(), **kwargs):
            return {"b": (tgt, fun), "a": kwargs}

    ctx = Ctx(load_master(tmp_path), local=Local())
    found = UserModules(ctx, "runners", surroundings(ctx)).resolve("fleet.ids")
    assert found.call() == ["a", "b"]


# --- what a function needs -----------------------------------------------------------------------

NEEDS = """
from salt.utils.decorators import depends
import os
FALSY = 0
def _instead(*args): return "instead"
"""


@pytest.mark.parametrize(
    ("needs", "is_there"),
    [
        ("'os', 'FALSY_NOT'", False),
        ("'FALSY'", False),
        ("'later'", True),
        ("'os.path'", False),
        ("'test.ping'", False),  # functions are not looked for, only names of the file
        ("lambda: True", False),
        ("True, 'os'", True),
        ("False", False),
        ("'true', retcode=0", True),
        ("'false', retcode=0", False),
        ("'true', 'false', retcode=0", False),
        ("\"sh -c 'exit 4'\", retcode=4", True),
        ("'exit 3', retcode=3", False),  # no shell
        ("'false', nonzero_retcode=True", True),
        ("'true', nonzero_retcode=True", False),
        ("'false', nonzero_retcode=False", False),
        ("'true', nonzero_retcode=False", True),
        ("'no-such-program-here', nonzero_retcode=True", True),
        ("'no-such-program-here', retcode=127", False),
        ("'os', params={'x': 1}", True),
    ],
)
def test_a_function_is_there_with_what_it_needs(tree, needs, is_there):
    tree.write(f"{NEEDS}\n@depends({needs})\ndef f(): return 'f'\nlater = 1\n")
    if is_there:
        assert tree.call("custom.f") == "f"
    else:
        assert "custom.f" in reason_of(tree, "custom.f")


@pytest.mark.parametrize("needs", ["'nothing'", "'false', retcode=0", "False"])
def test_another_function_stands_in_for_one_that_lacks_something(tree, needs):
    tree.write(f"{NEEDS}\n@depends({needs}, fallback_function=_instead)\ndef f(): return 'f'\n")
    assert tree.call("custom.f") == "instead"
