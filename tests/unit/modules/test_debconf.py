"""debconf from recorded answers."""

from __future__ import annotations

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import CommandError
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry


def make(host, **grains):
    ctx = MinionContext(config=MinionConfig(), host=host, grains=grains, pillar={})
    ctx.functions = Registry(ctx)
    return ctx.functions.call


class Recorded(Host):
    def __init__(self, answer="", programs=(), code=0):
        self.answer = answer
        self.programs = programs
        self.code = code
        self.done = []

    def run(self, command, **how):
        self.done.append((list(command), how.get("stdin")))
        return Completed(pid=1, exit_code=self.code, stdout=self.answer, stderr="no")

    def which(self, name):
        return name if name in self.programs else None


SELECTIONS = (
    "# Country: x\n"
    "tzdata\ttzdata/Areas\tselect\tEtc\n"
    "tzdata\ttzdata/Zones/Etc\tselect\tUTC\n"
    "man-db\tman-db/install-setuid\tboolean\tfalse\n"
    "mysql\tmysql/root_password\tpassword\t\n"
)


def test_answers_to_questions():
    call = make(Recorded(SELECTIONS))
    assert call("debconf.show", "tzdata") == [
        ["tzdata/Areas", "select", "Etc"],
        ["tzdata/Zones/Etc", "select", "UTC"],
    ]
    assert call("debconf.show", "nosuch") is None
    assert sorted(call("debconf.get_selections")) == ["man-db", "mysql", "tzdata"]
    assert sorted(call("debconf.get_selections", fetchempty=False)) == ["man-db", "tzdata"]


def test_questions_are_answered(tmp_path):
    host = Recorded()
    call = make(host)
    assert call("debconf.set", "tzdata", "tzdata/Areas", "select", "Europe") is True
    assert host.done == [(["debconf-set-selections"], "tzdata tzdata/Areas select Europe\n")]
    file = tmp_path / "x.selections"
    file.write_text("a b string c\n")
    assert call("debconf.set_file", str(file)) is True
    assert host.done[-1] == (["debconf-set-selections"], "a b string c\n")
    assert call("debconf.set_file", "/nosuch") is False


def test_questions_are_answered_from_a_template(tmp_path):
    host = Recorded()
    file = tmp_path / "x.jinja"
    file.write_text("a b string {{ word }}{{ more }}\n")
    call = make(host)
    done = call("debconf.set_template", str(file), "jinja", {"word": "x"}, {"more": "y"})
    assert done is True
    assert host.done[-1][1].strip() == "a b string xy"


def test_a_refused_password_is_in_no_error():
    with pytest.raises(CommandError) as caught:
        make(Recorded(code=1))("debconf.set", "m", "m/p", "password", "s3cr3t")
    assert "s3cr3t" not in str(caught.value)
