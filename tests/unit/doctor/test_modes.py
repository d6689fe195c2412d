import os

import pytest
from doctor_facts import show

from saltlite.config.schema import OptionSource
from saltlite.doctor.machine import FileFacts, Machine
from saltlite.doctor.modes import (
    OTHERS_READ,
    OTHERS_WRITE,
    Place,
    judge_config,
    judge_places,
    sounds_secret,
)


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "master.pem"
    path.write_text("x")
    path.chmod(0o400)
    return path


class OwnedBy(Machine):
    """Everything belongs to somebody."""

    def __init__(self, owner, uid):
        self._owner, self._uid = owner, uid

    def file(self, path):
        return FileFacts(path, 0o600, self._uid, self._owner, is_directory=False)


def test_a_closed_key(key):
    user = Machine().file(str(key)).owner
    assert show(judge_places(Machine(), [Place(str(key), OTHERS_READ, "400")], user)) == []
    assert show(judge_places(Machine(), [Place("/not/there", OTHERS_READ, "400")], user)) == []


@pytest.mark.parametrize(
    ("mode", "words"), [(0o440, "others may read it"), (0o606, "others may write it")]
)
def test_an_open_key(key, mode, words):
    key.chmod(mode)
    user = Machine().file(str(key)).owner
    assert show(judge_places(Machine(), [Place(str(key), OTHERS_READ, "400")], user)) == [
        ("error", f"{words}: its mode is {mode:04o}", str(key), f"chmod 400 {key}")
    ]


def test_the_group_may_read_where_that_is_an_option(key):
    key.chmod(0o440)
    places = [Place(str(key), OTHERS_READ, "400")]
    user = Machine().file(str(key)).owner
    assert show(judge_places(Machine(), places, user, group_reads=True)) == []


def test_a_directory_that_others_write_to(tmp_path):
    tmp_path.chmod(0o777)
    user = Machine().file(str(tmp_path)).owner
    ((severity, what, _where, mend),) = show(
        judge_places(Machine(), [Place(str(tmp_path), OTHERS_WRITE, "go-w")], user)
    )
    assert (severity, what) == ("error", "others may write it: its mode is 0777")
    assert mend == f"chmod go-w {tmp_path}"


def test_a_file_of_another_user():
    place = [Place("/c", OTHERS_WRITE, "go-w")]
    assert show(judge_places(OwnedBy("bob", 1007), place, "salt")) == [
        ("error", "belongs to bob, allowed: root or salt", "/c", "chown salt /c")
    ]
    assert show(judge_places(OwnedBy("salt", 1008), place, "salt")) == []
    assert show(judge_places(OwnedBy("root", 0), place, "salt")) == []


def test_a_configuration_with_secrets(tmp_path):
    path = tmp_path / "master"
    path.write_text("")
    path.chmod(0o644)
    sources = {
        "mysql.passwd": OptionSource(str(path), 2),
        "interface": OptionSource(str(path), 1),
        "sharedsecret": OptionSource("command line"),
    }
    assert show(judge_config(Machine(), sources, sounds_secret)) == [
        (
            "warning",
            "everybody may read it, and it has secrets: mysql.passwd",
            str(path),
            f"chmod o-r {path}",
        )
    ]
    os.chmod(path, 0o640)
    assert show(judge_config(Machine(), sources, sounds_secret)) == []
