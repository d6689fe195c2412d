"""Every option of docs/cli.md is there, with all its spellings, and does what it is for.

The list is tests/cases/data/cli_options.yaml. What an option does is in one of the tables below,
each a command line and what must come of it, or is tried in the file that :data:`ELSEWHERE` names.
"""

import base64
import io
import json
import re
import time
from importlib import import_module

import pytest
from repository import DATA, TESTS, read_yaml
from standin import StandIn, pings, says

from saltlite.cli import salt, salt_call, salt_cp, salt_key, salt_run
from saltlite.crypto.keys import PublicKey

ROWS = read_yaml(DATA / "cli_options.yaml")["commands"]
OPTIONS = {
    command: [row.split() for group in groups for row in group] for command, groups in ROWS.items()
}
EVERY = [
    pytest.param(command, spellings, id=f"{command} {spellings[-1]}")
    for command, rows in OPTIONS.items()
    for spellings in rows
]
JID = "20260102030405000001"
DASHES = "-" * 43


@pytest.mark.parametrize(("command", "spellings"), EVERY)
def test_it_is_there(command, spellings):
    parser = import_module(f"saltlite.cli.{command.replace('-', '_')}")._build_parser()
    options = [parser.get_option(spelling) for spelling in spellings]
    assert None not in options
    assert len(set(options)) == 1
    assert {*options[0]._short_opts, *options[0]._long_opts} == set(spellings)
    assert options[0].help


@pytest.mark.parametrize(("command", "spellings"), EVERY)
def test_it_is_tried(command, spellings):
    if command in TABLES and any(_in(TABLES[command], spelling) for spelling in spellings):
        return
    names = ELSEWHERE[command]
    text = "".join(path.read_text() for name in names for path in TESTS.rglob(name))
    found = [one for one in spellings if re.search(rf"['\"\s]{re.escape(one)}['\"\s=]", text)]
    assert found, f"{command} {spellings} is in none of {names}"


def _in(table, spelling):
    return any(spelling == word.partition("=")[0] for words, *_ in table for word in words)


# --- salt ----------------------------------------------------------------------------------------

PING = "web1:\n    True\n"
SALT = [
    # words, what is printed (None: anything), what is published
    (["web1", "test.ping", "--out=json"], '{\n    "web1": true\n}\n', {}),
    (["web1", "test.ping", "--out=json", "--out-indent=-1"], '{"web1": true}\n', {}),
    (["web1", "test.ping", "--output=json", "--output-indent=1"], '{\n "web1": true\n}\n', {}),
    (["web1", "test.ping", "--no-color"], PING, {}),
    (["web1", "test.ping", "--no-colour"], PING, {}),
    (
        ["web1", "test.ping", "--force-color"],
        "\033[0;36mweb1\033[0;0m:\n    \033[0;1;33mTrue\033[0;0m\n",
        {},
    ),
    (["web1", "test.ping", "--state-output=terse", "--state-verbose=False"], PING, {}),
    (["web1", "test.ping", "--state_output=terse", "--state_verbose=False"], PING, {}),
    (["web1", "test.ping", "-t", "3"], PING, {}),
    (["web1", "test.ping", "-s"], PING, {}),
    (["web1", "test.ping", "--async"], f"Executed command with job ID: {JID}\n", {}),
    (["web1", "test.ping", "-v"], f"Executing job with jid {JID}\n{DASHES}\n\n{PING}", {}),
    (["web1", "test.ping", "--show-jid"], f"jid: {JID}\n{PING}", {}),
    (["web1", "test.ping", "--progress"], PING, {}),
    (["web1", "test.ping", "--hide-timeout"], PING, {}),
    (["web1", "test.ping", "--hard-crash"], PING, {}),
    (["web1", "test.ping", "--output-diff"], PING, {}),
    (["web1", "test.ping", "--log-level=error"], PING, {}),
    (["web1", "test.ping", "--log-file-level=error", "--log-file={tmp}/log"], PING, {}),
    (["web.*", "-E", "test.ping"], None, {"tgt_type": "pcre", "tgt": "web.*"}),
    (["web1,db1", "-L", "test.ping"], None, {"tgt_type": "list", "tgt": ["web1", "db1"]}),
    (["os:x", "-G", "test.ping"], None, {"tgt_type": "grain"}),
    (["os:x", "-P", "test.ping"], None, {"tgt_type": "grain_pcre"}),
    (["flat", "-N", "test.ping"], None, {"tgt_type": "compound", "tgt": "web1 or db1"}),
    (["web*", "-C", "test.ping"], None, {"tgt_type": "compound"}),
    (["a:b", "-I", "test.ping"], None, {"tgt_type": "pillar"}),
    (["a:b", "-J", "test.ping"], None, {"tgt_type": "pillar_pcre"}),
    (["192.0.2.1", "-S", "test.ping"], None, {"tgt_type": "ipcidr"}),
    (["os;x", "-G", "test.ping", "--delimiter=;"], None, {"kwargs": {"delimiter": ";"}}),
    (
        ["web1", "test.ping,test.echo", "--args-separator=+", "+", "hi"],
        None,
        {"fun": ["test.ping", "test.echo"], "arg": [[], ["hi"]]},
    ),
    (["web1", "test.arg", "a=1", "--no-parse=a"], None, {"arg": [{"a": "1", "__kwarg__": True}]}),
    (["web1", "test.ping", "--return=local,x"], PING, {"ret": "local,x"}),
    (["web1", "test.ping", "--return_config=c"], PING, {"kwargs": {"ret_config": "c"}}),
    (["web1", "test.ping", "--return_kwargs={a: 1}"], PING, {"kwargs": {"ret_kwargs": {"a": 1}}}),
    (["web1", "test.ping", "--metadata={a: 1}"], PING, {"kwargs": {"metadata": {"a": 1}}}),
    (
        ["web1", "test.ping", "--module-executors=splay,direct_call"],
        PING,
        {"kwargs": {"module_executors": ["splay", "direct_call"]}},
    ),
    (
        ["web1", "test.ping", "--executor-opts={splaytime: 0}"],
        PING,
        {"kwargs": {"executor_opts": {"splaytime": 0}}},
    ),
    (["web1", "test.ping", "--start-event"], PING, {"kwargs": {"start_event": True}}),
]


@pytest.mark.parametrize(("words", "out", "load"), SALT, ids=lambda one: " ".join(one or ["-"]))
def test_salt(words, out, load, call_with_master, master, tmp_path):
    code, printed, err = call_with_master(salt.main, *[_put(word, tmp_path) for word in words])
    sent = [one for one in master.published if one["cmd"] == "publish"]
    if out is not None:
        assert (code, printed, err) == (0, out, "")
    assert {name: sent[0][name] for name in load} == load


def _put(word, tmp_path):
    return word.replace("{tmp}", str(tmp_path))


# --- salt-call -----------------------------------------------------------------------------------

LOCAL = "local:\n    True\n"
CALL = [
    # words, exit code, what the output must have
    (["--local", "test.ping"], 0, LOCAL),
    (["--local", "test.ping", "--out=json", "--out-indent=-1"], 0, '{"local": true}\n'),
    (
        ["--local", "test.ping", "--no-color", "--state-output=full", "--state-verbose=True"],
        0,
        LOCAL,
    ),
    (["--local", "test.ping", "--force-color"], 0, "\033[0;36mlocal"),
    (["--local", "test.ping", "-l", "error"], 0, LOCAL),
    (["--local", "test.ping", "--log-file={tmp}/l", "--log-file-level=debug"], 0, LOCAL),
    (["--local", "test.ping", "--no-return-event"], 0, LOCAL),
    (["--local", "test.ping", "--refresh-grains-cache"], 0, LOCAL),
    (["--local", "test.ping", "--hard-crash", "--output-diff", "-t", "5"], 0, LOCAL),
    (["--local", "test.ping", "--module-executors=direct_call"], 0, LOCAL),
    (["--local", "test.ping", "--executor-opts={a: 1}"], 0, LOCAL),
    (["--local", "--metadata", "test.ping"], 0, "    fun:\n        test.ping\n"),
    (
        ["--local", "--metadata", "--set-metadata={a: 1}", "test.ping"],
        0,
        "        a:\n            1\n",
    ),
    (["--local", "--id=other", "config.get", "id"], 0, "    other\n"),
    (["--local", "--master=m9", "config.get", "master"], 0, "m9\n"),
    (["--local", "--file-root={tmp}/s", "config.get", "file_roots"], 0, "- {tmp}/s\n"),
    (["--local", "--pillar-root={tmp}/p", "config.get", "pillar_roots"], 0, "- {tmp}/p\n"),
    (["--local", "--cachedir={tmp}/c", "config.get", "cachedir"], 0, "{tmp}/c\n"),
    (["--local", "--states-dir={tmp}/x", "config.get", "states_dirs"], 0, "- {tmp}/x\n"),
    (["--local", "-m", "{tmp}/m", "config.get", "module_dirs"], 0, "- {tmp}/m\n"),
    (["--local", "--skip-grains", "grains.get", "os"], 0, "local:\n"),
    (["--local", "-g"], 0, "    os:\n"),
    (["--local", "-d", "test.ping"], 0, "test.ping:\n"),
    (["--local", "--retcode-passthrough", "test.retcode", "7"], 7, LOCAL),
    (["--local", "--no-parse=a", "test.arg_clean", "a=1", "--out=raw"], 0, "'a': '1'"),
    (["--local", "--return=local", "test.ping"], 0, "'fun': 'test.ping'"),
]


@pytest.mark.parametrize(("words", "code", "out"), CALL, ids=lambda one: str(one))
def test_salt_call(words, code, out, tmp_path, capsys, logging_as_before):
    (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\nlog_file: {tmp_path}/log\n")
    assert salt_call.main(["-c", str(tmp_path), *[_put(word, tmp_path) for word in words]]) == code
    assert _put(out, tmp_path) in capsys.readouterr().out


# --- salt-run ------------------------------------------------------------------------------------

RUN = [
    (["test.arg", "x", "--out=raw"], "{'args': ['x'], 'kwargs': {}}\n"),
    (["test.arg", "a=1", "--no-parse=a", "--out=raw"], "{'args': [], 'kwargs': {'a': '1'}}\n"),
    (["test.arg", "--out=json", "--out-indent=-1"], '{"args": [], "kwargs": {}}\n'),
    (["test.arg", "--no-color", "--state-output=full", "--state-verbose=True"], "args:\n"),
    (["test.arg", "x", "--force-color"], "\033[0;36margs"),
    (["test.arg", "-l", "error", "--skip-grains", "-t", "5", "--hard-crash"], "args:\n"),
    (["test.arg", "--log-file={tmp}/l", "--log-file-level=debug"], "args:\n"),
    (["-d", "test.arg"], "test.arg:\n"),
    (["--jid=20260102030405000009", "test.arg"], "args:\n"),
]


@pytest.mark.parametrize(("words", "out"), RUN, ids=lambda one: str(one))
def test_salt_run(words, out, call_with_master, tmp_path):
    code, printed, _ = call_with_master(salt_run.main, *[_put(word, tmp_path) for word in words])
    assert code == 0
    assert out in printed


# --- salt-cp -------------------------------------------------------------------------------------

COPY = [
    (["web1", "{tmp}/f", "/x"], {"tgt": "web1", "tgt_type": "glob"}),
    (["-E", "web.", "{tmp}/f", "/x"], {"tgt_type": "pcre"}),
    (["-L", "web1,x", "{tmp}/f", "/x"], {"tgt_type": "list", "tgt": ["web1", "x"]}),
    (["-G", "os:x", "{tmp}/f", "/x"], {"tgt_type": "grain"}),
    (["-P", "os:x", "{tmp}/f", "/x"], {"tgt_type": "grain_pcre"}),
    (["-N", "flat", "{tmp}/f", "/x"], {"tgt_type": "compound"}),
    (["-G", "os;x", "--delimiter=;", "{tmp}/f", "/x"], {"kwargs": {"delimiter": ";"}}),
    (["web1", "-t", "5", "{tmp}/f", "/x"], {}),
    (["web1", "-l", "error", "--log-file={tmp}/l", "--log-file-level=debug", "{tmp}/f", "/x"], {}),
    (["web1", "--no-color", "--state-output=full", "--state-verbose=True", "{tmp}/f", "/x"], {}),
    (["web1", "--out=json", "--out-indent=-1", "--force-color", "{tmp}/f", "/x"], {}),
]


@pytest.mark.parametrize(("words", "load"), COPY, ids=lambda one: str(one))
def test_salt_cp(words, load, call_with_master, master, tmp_path):
    (tmp_path / "f").write_text("text")
    master.minions = {"web1": says({"/x": True})}
    call_with_master(salt_cp.main, *[_put(word, tmp_path) for word in words])
    sent = [one for one in master.published if one["cmd"] == "publish"]
    assert {name: sent[0].get(name) for name in load} == load


# --- all that write files or read them -----------------------------------------------------------

WRITERS = {
    "salt": (salt.main, ["web1", "test.ping"]),
    "salt-run": (salt_run.main, ["test.arg"]),
    "salt-key": (salt_key.main, ["-L"]),
}


@pytest.mark.parametrize("name", WRITERS)
def test_output_goes_to_a_file(name, call_with_master, tmp_path):
    main, words = WRITERS[name]
    path = tmp_path / "out"
    assert call_with_master(main, *words, "--out-file", path)[:2] == (0, "")
    once = path.read_text()
    assert once
    call_with_master(main, *words, "--output-file", path, "--out-file-append")
    assert path.read_text() == once * 2


@pytest.mark.parametrize("name", WRITERS)
def test_a_saltfile_gives_what_is_not_said(name, call_with_master, tmp_path):
    main, words = WRITERS[name]
    saltfile = tmp_path / "Saltfile"
    saltfile.write_text(f"{name}:\n  output: json\n  output_indent: -1\n")
    printed = call_with_master(main, *words, "--saltfile", saltfile)[1]
    assert printed.count("\n") == 1
    assert json.loads(printed)
    assert "{" not in call_with_master(main, *words, "--saltfile", saltfile, "--out=yaml")[1][:1]


@pytest.mark.parametrize("name", [*WRITERS, "salt-call", "salt-cp"])
def test_versions(name, capsys):
    main = import_module(f"saltlite.cli.{name.replace('-', '_')}").main
    for words, text in ((["--version"], rf"{name} \S+ \(\S+\)\n"), (["-V"], r"(?s).*Python: .*")):
        try:
            assert main(words) == 0
        except SystemExit as end:
            assert end.code == 0
        assert re.fullmatch(text, capsys.readouterr().out)


def test_arguments_on_stdin(call_with_master, master, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("test.echo\ntwo words\n"))
    assert call_with_master(salt.main, "web1", "--args-stdin")[1] == "web1:\n    two words\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("test.arg\nx\n"))
    assert "- x" in call_with_master(salt_run.main, "--args-stdin")[1]


def test_a_batch_waits_before_the_next(call_with_master, master):
    master.minions = {"a": pings, "b": pings}
    begun_s = time.monotonic()
    assert call_with_master(salt.main, "*", "test.ping", "-b", "1", "--batch-wait", "0.4")[0] == 0
    assert time.monotonic() - begun_s >= 0.4


@pytest.mark.parametrize("main", [salt.main, salt_run.main, salt_key.main])
def test_a_token_needs_a_login(call_with_master, master, main, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SystemExit) as end:
        call_with_master(main, "-T", *(["-L"] if main is salt_key.main else ["web1", "a.b"]))
    assert end.value.code == 64
    assert "-T, --make-token: say by --eauth" in capsys.readouterr().err
    assert master.published == []


@pytest.mark.parametrize("main", [salt.main, salt_run.main, salt_key.main])
def test_a_login_by_what_is_not_there(call_with_master, master, main, capsys, monkeypatch):
    """The two lines of Salt; the exit code is that of ``salt`` in all commands."""
    monkeypatch.setattr("sys.stdin", None)
    words = ["-L"] if main is salt_key.main else ["web1", "a.b"]
    code, out, err = call_with_master(main, "--eauth", "nosuch", *words)
    first, second = out.splitlines()
    assert code == 2
    assert first == 'The specified external authentication system "nosuch" is not available'
    assert second.startswith("Available eauth types: auto, file, ")
    assert err == "ERROR: Authentication failed\n"
    assert master.published == []


@pytest.mark.parametrize("keep", [True, False])
def test_what_is_known_of_a_deleted_minion_can_be_kept(call_with_master, master, keep):
    grains = master.folder / "grains/web1.p"
    grains.parent.mkdir()
    grains.write_bytes(b"\x80")
    words = ["-y", "-d", "web1", f"--preserve-minions={keep}"]
    assert call_with_master(salt_key.main, *words)[0] == 0
    assert not (master.folder / "pki/minions/web1").exists()
    assert grains.exists() is keep


def test_a_signature_of_any_key_anywhere(call_with_master, tmp_path):
    folder = tmp_path / "made"
    for name in ("signer", "other"):
        made = ["--gen-keys", name, "--gen-keys-dir", tmp_path]
        assert call_with_master(salt_key.main, *made)[0] == 0
    words = ["--priv", tmp_path / "signer.pem", "--pub", tmp_path / "other.pub"]
    words += ["--gen-signature", "--signature-path", folder]
    assert call_with_master(salt_key.main, *words)[0] == 0
    signer = PublicKey.from_pem((tmp_path / "signer.pub").read_text())
    signature = base64.b64decode((folder / "master_pubkey_signature").read_text())
    other = PublicKey.from_pem((tmp_path / "other.pub").read_text())
    assert signer.verify(other.pem.encode(), signature, "PKCS1v15-SHA1")


def test_silence_is_hidden_where_that_is_asked():
    with StandIn({"web1": pings, "ghost": None}) as standin:
        assert salt.main(["-c", str(standin.folder), "*", "test.ping", "--hide-timeout"]) == 0


TABLES = {"salt": SALT, "salt-call": CALL, "salt-run": RUN, "salt-cp": COPY}
DAEMONS = ["test_commands.py", "cluster.py", "test_quickstart.py", "master/test_daemon.py"]
ELSEWHERE = {
    "salt": [
        "cli/test_salt.py",
        "cli/test_every_option.py",
        "cli/test_options.py",
        "test_cli_logins.py",
    ],
    "salt-call": ["cli/test_salt_call.py", "cli/test_every_option.py", "cli/test_options.py"],
    "salt-key": [
        "cli/test_salt_key.py",
        "cli/test_every_option.py",
        "cli/test_options.py",
        "test_cli_logins.py",
    ],
    "salt-run": [
        "cli/test_salt_run.py",
        "cli/test_every_option.py",
        "cli/test_options.py",
        "test_cli_logins.py",
    ],
    "salt-cp": ["cli/test_salt_cp.py", "cli/test_every_option.py", "cli/test_options.py"],
    "salt-master": [*DAEMONS, "cli/test_options.py", "cli/test_every_option.py"],
    "salt-minion": [*DAEMONS, "cli/test_options.py", "cli/test_every_option.py"],
}
"""Where the options that are in no table are tried."""
