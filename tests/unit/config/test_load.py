"""Finding, joining and finishing: which value counts, and where paths end up."""

from __future__ import annotations

import json
import logging
import os
import re
import time
from pathlib import Path

import pytest
from repository import DATA

from saltlite.config import paths
from saltlite.config.load import load_master, load_minion
from saltlite.config.opts import flat_opts
from saltlite.errors import ConfigError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def master(directory: Path | None, overrides=None, **environ):
    return load_master(directory, overrides or {}, environ=environ)


def minion(directory: Path | None, overrides=None, **environ):
    return load_minion(directory, overrides or {}, environ=environ)


# --- which file ----------------------------------------------------------------------------------


def test_no_file_gives_defaults(tmp_path):
    config = master(tmp_path)
    assert config.process.worker_threads == 5
    assert config.paths.conf_file == str(tmp_path / "master")
    assert config.source == {}


def test_the_directory_may_be_the_file_itself(tmp_path):
    path = write(tmp_path / "master", "timeout: 9")
    assert master(path).jobs.timeout == 9


def test_environment_directory(tmp_path):
    write(tmp_path / "master", "timeout: 9")
    assert master(None, SALT_CONFIG_DIR=str(tmp_path)).jobs.timeout == 9
    other = tmp_path / "other"
    other.mkdir()
    assert master(other, SALT_CONFIG_DIR=str(tmp_path)).jobs.timeout == 5


def test_environment_file_counts_only_where_no_directory_is_given(tmp_path):
    named = write(tmp_path / "elsewhere", "timeout: 9")
    assert master(None, SALT_MASTER_CONFIG=str(named)).jobs.timeout == 9
    assert master(tmp_path, SALT_MASTER_CONFIG=str(named)).jobs.timeout == 5
    assert (
        master(None, SALT_MASTER_CONFIG=str(tmp_path)).paths.conf_file
        == f"{paths.DEFAULT_DIR}/master"
    )


def test_a_directory_that_is_not_there_is_told(tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        assert master(tmp_path / "no").jobs.timeout == 5
    assert f"The directory {tmp_path}/no does not exist" in caplog.text


def test_which_file_is_read_is_in_the_log(tmp_path, caplog):
    with caplog.at_level(logging.DEBUG):
        load_master(tmp_path, environ={})
    assert f"Reading configuration from {tmp_path}/master" in caplog.text


def test_template_stands_in(tmp_path):
    write(tmp_path / "master.template", "timeout: 9")
    assert master(tmp_path).jobs.timeout == 9


def test_client_commands_read_saltrc_on_top(tmp_path):
    write(tmp_path / "d/master", "timeout: 9\ngather_job_timeout: 3")
    write(tmp_path / ".saltrc", "timeout: 11")
    environ = {"HOME": str(tmp_path)}
    config = load_master(tmp_path / "d", environ=environ, client=True)
    assert (config.jobs.timeout, config.jobs.gather_job_timeout) == (11, 3)
    assert load_master(tmp_path / "d", environ=environ).jobs.timeout == 9
    named = write(tmp_path / "rc", "timeout: 12")
    environ["SALT_CLIENT_CONFIG"] = str(named)
    assert load_master(tmp_path / "d", environ=environ, client=True).jobs.timeout == 12


# --- which value ---------------------------------------------------------------------------------


def test_later_wins(tmp_path):
    write(tmp_path / "master", "a: main\nb: main\nc: main\nd: main\ninclude: extra\ntimeout: 1")
    write(tmp_path / "master.d/x.conf", "b: default\nc: default\nd: default\ntimeout: 2")
    write(tmp_path / "extra", "c: include\nd: include\ntimeout: 3")
    config = master(tmp_path, {"d": "command", "timeout": 4})
    assert config.extra == {"a": "main", "b": "default", "c": "include", "d": "command"}
    assert config.jobs.timeout == 4
    assert str(config.source["c"]) == f"{tmp_path}/extra:1"
    assert str(config.source["b"]) == f"{tmp_path}/master.d/x.conf:1"
    assert str(config.source["timeout"]) == "command line"


def test_includes_join_as_in_real_salt(tmp_path):
    """Recorded with ``salt --config-dump`` of 3006.30 and 3008.5."""
    case = json.loads((DATA / "includes.json").read_text())
    for name, text in case["files"].items():
        write(tmp_path / name, text)
    opts = flat_opts(master(tmp_path))
    assert {name: opts.get(name) for name in case["dump"]} == case["dump"]


def test_included_files_include_relative_to_the_main_file(tmp_path):
    write(tmp_path / "minion", "id: m\ninclude: sub/one")
    write(tmp_path / "sub/one", "one: 1\ninclude: [sub/two, sub/t*e]")
    write(tmp_path / "sub/two", "two: 2")
    write(tmp_path / "sub/three", "two: 3")
    assert minion(tmp_path).extra == {"one": 1, "two": 3}


def test_one_file_may_be_included_twice(tmp_path):
    write(tmp_path / "master", "include: [a, a]")
    write(tmp_path / "a", "l: [1]")
    assert master(tmp_path).extra == {"l": [1]}


def test_an_include_without_a_match_is_told_but_not_the_default_one(tmp_path, caplog):
    write(tmp_path / "master", "include: nothere*.conf")
    master(tmp_path)
    assert caplog.messages == [f"No file matches the include {tmp_path}/nothere*.conf"]


def test_default_include_can_be_changed_and_turned_off(tmp_path):
    write(tmp_path / "master", "default_include: conf/*")
    write(tmp_path / "conf/a", "a: 1")
    write(tmp_path / "master.d/b.conf", "b: 1")
    assert master(tmp_path).extra == {"a": 1}
    write(tmp_path / "master", "default_include: ''")
    assert master(tmp_path).extra == {}


def test_unknown_options_are_kept_and_near_misses_told(tmp_path, caplog):
    write(
        tmp_path / "master",
        "mysql.host: db\nfile_root: {base: [/x]}\nwhatever: 1\nautoaccept: true\n"
        "gitfs_remotes: []\npytest-master: {log: {}}\ninterfaces: x\nreactor: []\n",
    )
    config = master(tmp_path)
    assert config.extra["mysql.host"] == "db"
    assert [message.partition(": ")[2] for message in caplog.messages] == [
        "file_root: no such option; did you mean file_roots?",
        "autoaccept: no such option; did you mean auto_accept?",
        "interfaces: no such option; did you mean interface?",
    ]


@pytest.mark.parametrize("letter", range(9))
def test_misspellings_are_told(tmp_path, caplog, letter):
    names = ["worker_threads", "publish_port", "file_roots", "pillar_roots", "auto_accept"]
    for name in names:
        spelt = name[:letter] + name[letter + 1 :]
        write(tmp_path / "master", f"{spelt}: 1")
        caplog.clear()
        master(tmp_path)
        assert f"{spelt}: no such option; did you mean {name}?" in caplog.text


# --- what follows from other values --------------------------------------------------------------


def test_the_user_is_whoever_starts_it_if_none_is_set(tmp_path):
    import pwd

    assert master(tmp_path).process.user == pwd.getpwuid(os.geteuid()).pw_name
    write(tmp_path / "master", "user: salt")
    assert master(tmp_path).process.user == "salt"


def test_the_masters_id(tmp_path):
    assert master(tmp_path).process.id == f"{os.uname().nodename}_master"


def test_keep_jobs_in_hours_counts_where_the_newer_name_is_not_set(tmp_path):
    write(tmp_path / "master", "keep_jobs: 2")
    assert master(tmp_path).jobs.keep_jobs_seconds == 7200
    write(tmp_path / "master", "keep_jobs: 2\nkeep_jobs_seconds: 5")
    assert master(tmp_path).jobs.keep_jobs_seconds == 5


def test_short_names_of_back_ends(tmp_path):
    write(tmp_path / "master", "fileserver_backend: [git, roots, minion]")
    assert master(tmp_path).files.fileserver_backend == ["gitfs", "roots", "minionfs"]


def test_file_roots_may_be_patterns(tmp_path):
    for name in ("f/b", "f/a"):
        (tmp_path / name).mkdir(parents=True)
    write(tmp_path / "master", f"file_roots: {{base: ['{tmp_path}/f/*', /no/such/*]}}")
    assert master(tmp_path).files.file_roots == {
        "base": [f"{tmp_path}/f/a", f"{tmp_path}/f/b", "/no/such/*"]
    }


def test_environment_is_the_old_name_of_saltenv(tmp_path, caplog):
    write(tmp_path / "minion", "id: m\nenvironment: dev")
    assert minion(tmp_path).files.saltenv == "dev"
    assert f"{tmp_path}/minion:2: environment: this option is called saltenv now" in caplog.text
    write(tmp_path / "minion", "id: m\nenvironment: dev\nsaltenv: prod")
    assert minion(tmp_path).files.saltenv == "prod"


def test_return_is_an_option_though_python_has_the_word(tmp_path):
    write(tmp_path / "minion", "id: m\nreturn: [redis]")
    config = minion(tmp_path)
    assert config.returns.return_ == ["redis"]
    assert flat_opts(config)["return"] == ["redis"]


# --- root_dir ------------------------------------------------------------------------------------


def test_rooted_paths_are_where_real_salt_has_them(tmp_path):
    """Recorded with ``salt --config-dump`` of 3006.30 and 3008.5; ROOT stands for root_dir."""
    case = json.loads((DATA / "root_dir.json").read_text())
    for row in case["rows"]:
        text = row["text"].replace("ROOT", str(tmp_path / "r"))
        write(tmp_path / "master", text)
        opts = flat_opts(master(tmp_path))
        shown = {name: opts[name].replace(str(tmp_path / "r"), "ROOT") for name in row["dump"]}
        assert shown == row["dump"], text


def test_a_relative_root_is_below_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "minion", "root_dir: r\nid: m")
    paths = minion(tmp_path).paths
    assert paths.root_dir == f"{tmp_path}/r"
    assert paths.pki_dir == f"{tmp_path}/r/etc/salt/pki/minion"


def test_devices_and_log_addresses_stay(tmp_path):
    for target in ("/dev/null", "file:///dev/log", "udp://loghost:514"):
        write(tmp_path / "minion", f"root_dir: {tmp_path}/r\nid: m\nlog_file: {target}")
        assert minion(tmp_path).log.log_file == target


def test_home_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "master", "root_dir: ~/r\npki_dir: ~/r/keys")
    paths = master(tmp_path).paths
    assert (paths.root_dir, paths.pki_dir) == (f"{tmp_path}/r", f"{tmp_path}/r/keys")


def test_file_roots_are_not_rooted(tmp_path):
    write(tmp_path / "master", f"root_dir: {tmp_path}/r\nfile_roots: {{base: [/srv/x]}}")
    assert master(tmp_path).files.file_roots == {"base": ["/srv/x"]}


def test_a_socket_directory_that_is_far_too_long_moves_below_the_cache(tmp_path):
    write(tmp_path / "master", "cachedir: /c\nsock_dir: /var/run/salt/long/name")
    assert master(tmp_path).paths.sock_dir == "/c/.salt-unix"


def test_directories_with_the_minions_id(tmp_path):
    write(tmp_path / "minion", "id: web1\nappend_minionid_config_dirs: [cachedir, pki_dir]")
    paths = minion(tmp_path).paths
    assert paths.cachedir == "/var/cache/salt/minion/web1"
    assert paths.pki_dir == "/etc/salt/pki/minion/web1"
    assert paths.sock_dir == "/var/run/salt/minion"


# --- the minion's id -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("id: web1", "web1"),
        ("id: WEB1\nminion_id_lowercase: true\nminion_id_remove_domain: true", "WEB1"),
        ("id: web1\nappend_domain: ex.org", "web1.ex.org"),
        ("id: web1.ex.org\nappend_domain: ex.org", "web1.ex.org"),
        ("id: web1.\nappend_domain: ex.org", "web1."),
        ("id: 10.0.0.1\nappend_domain: ex.org", "10.0.0.1.ex.org"),
        ("id: 12345", "12345"),
    ],
)
def test_an_id_that_is_set(tmp_path, text, found):
    write(tmp_path / "minion", f"root_dir: {tmp_path}/r\n{text}")
    assert minion(tmp_path).identity.id == found
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("bad", ["a/b", "..", "a b", "../../x", "a,b", "*", "x" * 254, "a\\b"])
def test_a_bad_id_is_refused(tmp_path, bad):
    write(tmp_path / "minion", f"user: x\nid: '{bad}'")
    with pytest.raises(ConfigError) as caught:
        minion(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}/minion:2: id: found ")


def test_an_id_that_is_remembered(tmp_path):
    write(tmp_path / "minion", f"root_dir: {tmp_path}/r\nappend_domain: ex.org")
    write(tmp_path / "r/etc/salt/minion_id", "\ufeffdb7\nsecond line")
    assert minion(tmp_path).identity.id == "db7.ex.org"


def test_an_id_that_is_found_out_is_remembered_without_its_domain(tmp_path, monkeypatch):
    monkeypatch.setattr("socket.getfqdn", lambda: "WEB9.Example.org")
    text = f"root_dir: {tmp_path}/r\nminion_id_lowercase: true\nminion_id_remove_domain: true\n"
    write(tmp_path / "minion", text + "append_domain: lan")
    cache = tmp_path / "r/etc/salt/minion_id"
    assert load_minion(tmp_path, environ={}, cache_id=False).identity.id == "web9.lan"
    assert not cache.exists()
    assert minion(tmp_path).identity.id == "web9.lan"
    assert cache.read_text() == "web9"
    assert minion(tmp_path).identity.id == "web9.lan"


def test_nothing_is_remembered_of_a_broken_configuration(tmp_path, monkeypatch):
    monkeypatch.setattr("socket.getfqdn", lambda: "web9")
    write(tmp_path / "minion", f"root_dir: {tmp_path}/r\nmaster_port: 0")
    with pytest.raises(ConfigError):
        minion(tmp_path)
    assert not (tmp_path / "r").exists()


def test_an_id_that_cannot_be_remembered_is_no_reason_to_stop(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("socket.getfqdn", lambda: "web9")
    (tmp_path / "r").write_text("a file")
    write(tmp_path / "minion", f"root_dir: {tmp_path}/r")
    with caplog.at_level(logging.DEBUG):
        assert minion(tmp_path).identity.id == "web9"
    assert "The minion id is not kept" in caplog.text


def test_the_flat_dict_has_everything(tmp_path):
    write(tmp_path / "minion", "id: m\nmysql.host: db\nmaster: [a, b]")
    opts = flat_opts(minion(tmp_path))
    assert opts["mysql.host"] == "db"
    assert opts["master"] == ["a", "b"]
    assert opts["__role"] == "minion"
    assert opts["config_dir"] == str(tmp_path)
    assert opts["conf_file"] == str(tmp_path / "minion")


@pytest.mark.parametrize("value", ["foo", "42", "[1, 2]", "''", "[]", ""])
def test_grains_that_are_no_map_are_passed_over(tmp_path, value, caplog):
    (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\ngrains: {value}\n")
    assert load_minion(tmp_path).grains.grains == {}
    assert ("is no map" in caplog.text) is bool(value)


@pytest.mark.parametrize("text", ["many", "[5]", "2.5", "\u0665", "'\u0665'"])
def test_a_wrong_type_is_a_warning_and_the_default(tmp_path, caplog, text):
    (tmp_path / "master").write_text(f"root_dir: {tmp_path}\nworker_threads: {text}\n")
    config = load_master(tmp_path, environ={})
    assert config.process.worker_threads == 5
    assert "worker_threads" not in config.source
    (line,) = caplog.messages
    assert line.startswith(f"{tmp_path}/master:2: worker_threads: found ")
    assert line.endswith("allowed: whole number, 1 or more; the default is used")


@pytest.mark.parametrize(
    "text",
    [
        "auto_accept: maybe",
        "open_mode: 2",
        "publisher_acl: x",
        "peer: [a]",
        "pki_dir: [a]",
        "user: [a]",
        "interface: yes",
        "file_roots: [/srv]",
        "file_recv: 5",
        "worker_threads: 0",
        "log_level: loud",
        "{worker_threads: x, strict_config: true}",
    ],
)
def test_what_a_default_could_open_is_refused(tmp_path, text):
    (tmp_path / "master").write_text(text)
    with pytest.raises(ConfigError, match="allowed: "):
        load_master(tmp_path, environ={})


# Broken configuration files: one line each, naming file, line and option.
# docs/reliability.md#start-stop-configuration.


ROWS = json.loads((DATA / "broken_config.json").read_text())


def refusal(config_dir: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_master(config_dir, {"strict_config": True}, environ={})
    return caught.value


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
@pytest.mark.parametrize("where", ["main", "included"])
def test_broken_file(row, where, tmp_path):
    name = "master" if where == "main" else "master.d/x.conf"
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(bytes.fromhex(row["hex"]) if "hex" in row else row["text"].encode())
    if "size" in row:
        os.truncate(path, row["size"])
    if where == "included" and row["option"] == "include":
        pytest.skip("the include of the main file")
    started = time.process_time()
    error = refusal(tmp_path)
    assert time.process_time() - started < 2
    text = str(error)
    assert "\n" not in text
    assert row["says"] in text
    place = f"{path}:{row['line']}: " if row["line"] else f"{path}: "
    assert text.startswith(place)
    if row["option"]:
        assert text.startswith(f"{place}{row['option']}: ")
    assert row.get("silent", "\0") not in text
    assert sorted(p.name for p in tmp_path.iterdir()) == [name.split("/")[0]]


def test_empty_files_are_fine(tmp_path):
    for text in ("", "\n", "# nothing\n", "---\n", "~\n", "{}\n", "\ufeff", "   \n\n"):
        (tmp_path / "master").write_text(text, encoding="utf-8")
        assert load_master(tmp_path, environ={}).source == {}


def test_a_byte_order_mark_is_fine(tmp_path):
    (tmp_path / "master").write_bytes(b"\xef\xbb\xbfworker_threads: 7\r\nuser: x\r\n")
    config = load_master(tmp_path, environ={})
    assert (config.process.worker_threads, config.process.user) == (7, "x")


def test_include_loop(tmp_path):
    (tmp_path / "master").write_text("include: a.conf\n")
    (tmp_path / "a.conf").write_text("include: b.conf\n")
    (tmp_path / "b.conf").write_text("x: 1\ninclude: a.conf\n")
    text = str(refusal(tmp_path))
    assert re.match(rf"{re.escape(str(tmp_path))}/a.conf:1: include: include loop: ", text)
    (tmp_path / "master").write_text("include: master\n")
    assert "include loop" in str(refusal(tmp_path))


@pytest.mark.parametrize("kind", ["directory", "fifo", "socket"])
def test_what_is_not_a_file_is_not_waited_for(kind, tmp_path):
    path = tmp_path / "master"
    if kind == "directory":
        path.mkdir()
    else:
        os.mkfifo(path) if kind == "fifo" else os.mknod(path, 0o140600)
    assert str(refusal(tmp_path)).startswith(f"{path}: cannot be read: ")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path):
    path = tmp_path / "master"
    path.write_text("a: 1")
    path.chmod(0)
    assert str(refusal(tmp_path)) == f"{path}: cannot be read: Permission denied"
