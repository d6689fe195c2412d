"""What there is, told by kind; users' own among it."""

from __future__ import annotations

import pytest

from saltlite.config.load import load_minion
from saltlite.context import MinionContext
from saltlite.host import Host
from saltlite.loader import shim
from saltlite.loader.registry import Registry

STATE = '"""State docs"""\ndef present(name, a=1, **kwargs):\n    """Present docs"""\n'


@pytest.fixture
def call(tmp_path):
    (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\n")
    root = tmp_path / "var/cache/salt/minion/extmods"
    files = {
        "states/place.py": STATE,
        "returners/away.py": "def returner(ret):\n    pass\n",
        "renderers/odd.py": 'def render(data, saltenv="base", sls="", **kw):\n    """Odd."""\n',
        "modules/own.py": 'def f():\n    """\n    .. versionadded:: 2015.5\n\n    Do.\n\n'
        '    .. code-block:: bash\n\n        salt own.f\n    """\ndef g(): pass\n',
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    ctx = MinionContext(config=load_minion(tmp_path), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)
    yield ctx.functions.call
    shim.uninstall()


@pytest.mark.parametrize(
    ("function", "args", "value"),
    [
        ("list_modules", ["own", "tes?", "nosuch"], ["own", "test"]),
        ("list_functions", ["own", "test.ping"], ["own.f", "own.g", "test.ping"]),
        ("list_functions", ["sys.list_m*"], ["sys.list_modules"]),
        ("doc", ["own.g", "nosuch"], {"own.g": None}),
        ("doc", ["own.f"], {
            "own.f": "\n    New in version 2015.5\n\n    Do.\n\n        salt own.f\n    "
        }),
        ("argspec", ["own.g"], {
            "own.g": {"args": None, "defaults": None, "varargs": None, "kwargs": None}
        }),
        ("reload_modules", [], None),
        ("list_state_modules", ["pl*"], ["place"]),
        ("list_state_modules", ["pl"], []),
        ("list_state_functions", ["place"], ["place.present"]),
        ("state_doc", ["place"], {"place": "State docs", "place.present": "Present docs"}),
        ("list_state_functions", ["kmod"], ["kmod.absent", "kmod.present"]),
        ("list_state_modules", ["fil*"], ["file"]),
        ("state_argspec", ["kmod.present"], {"kmod.present": {
            "args": ["name", "persist", "mods"], "defaults": [False, None],
            "varargs": None, "kwargs": None
        }}),
        ("state_doc", ["nosuch"], {}),
        ("state_argspec", ["place.present"], {"place.present": {
            "args": ["name", "a"], "defaults": [1], "varargs": None, "kwargs": True
        }}),
        ("list_returners", ["away", "loc*"], ["away", "local", "local_cache"]),
        ("list_returner_functions", ["away"], ["away.returner"]),
        ("returner_doc", ["away"], {"away.returner": None}),
        ("returner_argspec", ["away"], {"away.returner": {
            "args": ["ret"], "defaults": None, "varargs": None, "kwargs": None
        }}),
        ("list_runners", ["jo*", "away"], ["jobs"]),
        ("list_runner_functions", ["jobs.active"], ["jobs.active"]),
        ("runner_argspec", ["test.arg"], {"test.arg": {
            "args": None, "defaults": None, "varargs": True, "kwargs": True
        }}),
        ("list_renderers", ["jinja", "o*"], ["jinja", "odd"]),
        ("renderer_doc", ["odd"], {"odd": "Odd."}),
    ],
)  # fmt: skip
def test_what_there_is(call, function, args, value):
    assert call(f"sys.{function}", *args) == value


def test_documentation_of_runners(call):
    found = call("sys.runner_doc", "jobs.active")
    assert list(found) == ["jobs.active"]
    assert found["jobs.active"].startswith("\n    ")


def test_documentation_of_our_states(call):
    found = call("sys.state_doc", "kmod.present")
    assert found["kmod"].startswith("Kernel modules")
    assert found["kmod.present"].startswith("\n    A module, or all of")
