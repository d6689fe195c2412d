"""Every option of both roles: well declared, and every wrong type refused in one line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from repository import DATA

from saltlite.config import master, minion
from saltlite.config.load import load_master, load_minion
from saltlite.config.schema import (
    KINDS,
    OptionSource,
    check,
    default_of,
    describe_allowed,
    option_name,
    options,
)
from saltlite.errors import ConfigError

HERE = OptionSource("/etc/salt/x", 7)
DECLARED = [
    (role, option_name(field), field)
    for role, module in (("master", master), ("minion", minion))
    for section in module.SECTIONS.values()
    for field in options(section)
]
EACH = pytest.mark.parametrize(
    ("role", "name", "field"), DECLARED, ids=[f"{role} {name}" for role, name, _ in DECLARED]
)

ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)


@EACH
def test_the_default_is_what_the_option_allows(role, name, field):
    assert str(field.type) in KINDS
    default = default_of(field)
    assert check(field, default, HERE) == default or name == "user"


@EACH
def test_each_option_has_one_sentence(role, name, field):
    sentence = field.metadata["sentence"]
    assert sentence[0].isupper() or sentence[0] == "`"
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize("role", ["master", "minion"])
def test_no_option_is_declared_twice(role):
    names = [name for owner, name, _ in DECLARED if owner == role]
    assert len(names) == len(set(names))


@EACH
@pytest.mark.parametrize(
    "value",
    [{"a": [{}]}, [{}], "\0", b"\xff", object()],
    ids=["map", "list", "NUL", "bytes", "object"],
)
def test_a_wrong_type_is_one_line_that_names_the_place(role, name, field, value):
    try:
        taken = check(field, value, HERE)
    except ConfigError as error:
        text = str(error)
        assert text.startswith(f"/etc/salt/x:7: {name}: found ")
        assert f"allowed: {describe_allowed(field)}" in text
        assert "\n" not in text
    else:
        assert "Any" in str(field.type)  # what is inside such lists and maps is free
        assert taken == value


@given(st.sampled_from(DECLARED), ANYTHING)
@settings(max_examples=500, deadline=None)
def test_any_value_is_taken_or_refused_in_one_line(declared, value):
    _, name, field = declared
    try:
        taken = check(field, value, HERE)
    except ConfigError as error:
        assert str(error).startswith(f"/etc/salt/x:7: {name}: found ")
        assert "\n" not in str(error)
    else:
        assert check(field, taken, HERE) == taken


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("worker_threads", "5", 5),
        ("worker_threads", 5.0, 5),
        ("loop_interval", "0.5", 0.5),
        ("loop_interval", 7, 7),
        ("keysize", None, 2048),
        ("ipv6", None, None),
        ("max_minions", False, 0),
        ("auto_accept", "True", True),
        ("auto_accept", "no", False),
        ("auto_accept", 1, True),
        ("user", 1000, "1000"),
        ("fileserver_backend", "roots", ["roots"]),
        ("module_dirs", None, []),
        ("module_dirs", "", []),
        ("module_dirs", [1], ["1"]),
        ("file_roots", {"base": "/srv", "dev": None}, {"base": ["/srv"], "dev": []}),
        ("state_aggregate", ["pkg"], ["pkg"]),
        ("state_aggregate", "on", True),
    ],
)
def test_what_users_write_is_understood(name, value, taken):
    field = next(f for role, n, f in DECLARED if n == name)
    result = check(field, value, HERE)
    assert result == taken
    assert type(result) is type(taken)


def test_a_default_is_a_fresh_copy():
    one, two = master.FileOptions(), master.FileOptions()
    assert one.jinja_env == two.jinja_env
    assert one.jinja_env is not two.jinja_env
    field = next(f for f in options(master.FileOptions) if f.name == "file_roots")
    assert default_of(field) == default_of(field)
    assert default_of(field)["base"] is not default_of(field)["base"]


def test_sections_are_frozen():
    with pytest.raises(AttributeError):
        master.KeyOptions().auto_accept = True  # type: ignore[misc]


def test_a_config_does_not_show_its_secrets():
    assert "hunter2" not in repr(master.MasterConfig(keys=master.KeyOptions(key_pass="hunter2")))


def test_defaults_are_those_of_real_salt():
    """Recorded: tests/cases/data/salt_defaults.json. Knowing departures are listed here."""
    import json

    cases = json.loads((DATA / "salt_defaults.json").read_text())
    departures = {
        "minion": {"sign_pub_messages", "zmq_monitor", "utils_dirs", "log_fmt_logfile"},
        "master": {"log_fmt_logfile"},
    }
    for role, recorded in cases.items():
        own = {name: default_of(field) for owner, name, field in DECLARED if owner == role}
        differing = {name for name, value in recorded.items() if own[name] != value}
        assert differing == departures[role]


@pytest.mark.parametrize("load", [load_master, load_minion])
def test_the_command_line_is_checked_too(load, tmp_path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, {"log_level": "loud", "id": "x"}, environ={})
    assert str(caught.value).startswith("command line: log_level: found 'loud' (text), allowed: ")
