"""``salt-call``, in this process: options, exit codes and texts; alone and with a master."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest
from ports import free_port

from fakemaster import FakeMaster
from saltlite.channel.handshake import MasterHandshake
from saltlite.cli import salt_call
from saltlite.core.messages import AuthRequest
from saltlite.crypto.keys import PrivateKey
from saltlite.transport.codec import pack

MASTER_KEY = PrivateKey.generate(2048)
MINION_KEY = PrivateKey.generate(2048)


pytestmark = pytest.mark.usefixtures("logging_as_before")


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "minion").write_text(f"id: m1\nroot_dir: {tmp_path}\nlog_file: {tmp_path}/log\n")
    return tmp_path


@pytest.fixture
def run(directory, capsys):
    def call(*words):
        try:
            code = salt_call.main(["-c", str(directory), *words])
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


# --- alone ---------------------------------------------------------------------------------------


def test_prints_what_the_function_gives_back(run):
    assert run("--local", "test.ping") == (0, "local:\n    True\n", "")
    assert run("--local", "--out=json", "--out-indent=-1", "test.echo", "1.5") == (
        0, '{"local": 1.5}\n', "",
    )  # fmt: skip


def test_returners_of_the_command_line(run, directory):
    code, out, err = run("--local", "test.ping", "--return", "local", "--out=quiet")
    assert (code, err) == (0, "")
    assert "'fun': 'test.ping'" in out
    assert "'success': True" in out
    with open(directory / "minion", "a") as file:
        file.write("return: local\n")
    assert run("--local", "test.ping", "--return", "local", "--out=quiet")[1].count("'jid'") == 1


def test_states_without_a_master_leave_a_report_and_others_nothing(run, directory):
    run("--local", "test.ping")
    run("--local", "state.show_top")
    assert not [*directory.rglob("reports*")]
    assert run("--local", "state.single", "test.succeed_with_changes", "a")[0] == 0
    told = json.loads(run("--local", "changes.list", "--out=json")[1])["local"]
    assert [(one["minion"], one["name"]) for one in told] == [("m1", "a")]
    with open(directory / "minion", "a") as file:
        file.write("state_reports: false\n")
    assert run("--local", "state.single", "test.succeed_with_changes", "b")[0] == 0
    assert len(json.loads(run("--local", "changes.list", "--out=json")[1])["local"]) == 1


def test_only_the_direct_executor(run):
    assert run("--local", "test.ping", "--module-executors", "direct_call")[0] == 0
    code, out, err = run("--local", "test.ping", "--module-executors", "sudo")
    assert (code, out) == (1, "")
    assert "'sudo' executor is not available" in err


@pytest.mark.parametrize("option", ["--priv", "--proxyid"])
def test_nothing_runs_as_somebody_else_than_was_asked(run, option):
    code, out, err = run("--local", option, "nobody", "test.ping")
    assert (code, out) == (64, "")
    assert "--priv and --proxyid are not supported yet" in err


def test_the_outputter_of_the_function(run):
    assert run("--local", "test.outputter", "a")[1] == "local: a\n"


def test_file_client_local_needs_no_option(run, directory):
    with open(directory / "minion", "a") as file:
        file.write("file_client: local\n")
    assert run("test.true")[0] == 0


def test_output_file(run, directory):
    assert run("--local", f"--out-file={directory}/out", "test.ping")[1] == ""
    assert (directory / "out").read_text() == "local:\n    True\n"


@pytest.mark.parametrize(
    ("words", "code", "err"),
    [
        (["test.nosuch"], 255, "'test.nosuch' is not available.\n"),
        (["os.system", "id"], 255, "'os.system' is not available.\n"),
        (["test.ping", "a=1"], 1, "The following keyword arguments are not valid: a=1\n"),
        (["cmd.run", "true", "cwd=/nosuch"], 1,
         "Error running 'cmd.run': Specified cwd '/nosuch' either not absolute or does not exist"
         "\n"),
        (["test.echo"], 1,
         "\nPassed invalid arguments: echo() missing 1 required positional argument: 'text'."
         "\n\nUsage:\n"),
    ],
)  # fmt: skip
def test_failures(run, words, code, err):
    ended, _, said = run("--local", *words)
    assert (ended, said) == (code, err)


def test_an_exception_is_shown_from_the_function_on(run):
    code, out, err = run("--local", "test.exception", "Oh noes")
    assert (code, out) == (1, "")
    assert err.startswith("Traceback")
    assert err.endswith("Exception: Oh noes\n")
    assert "salt_call.py" not in err


def test_hard_crash_lets_it_out(run):
    with pytest.raises(ValueError, match="x"):
        run("--local", "--hard-crash", "test.raise_exception", "ValueError", "x")


def test_the_beginning_of_a_name_shows_documentation(run):
    code, out, _ = run("--local", "--out=json", "test.arg_")
    answer = json.loads(out)["local"]
    assert code == 1
    assert answer.pop("test.arg_") == "'test.arg_' is not available."
    assert sorted(answer) == ["test.arg_clean", "test.arg_repr", "test.arg_type"]


@pytest.mark.parametrize(
    ("retcode", "options", "code"),
    [
        ("0", [], 0), ("3", [], 1), ("3", ["--retcode-passthrough"], 3),
        ("256", ["--retcode-passthrough"], 1), ("0", ["--retcode-passthrough"], 0),
    ],
)  # fmt: skip
def test_exit_codes_of_functions(run, retcode, options, code):
    assert run("--local", *options, "test.retcode", retcode)[0] == code


def test_false_is_no_failure(run):
    assert run("--local", "test.false")[0] == 0


def test_metadata(run):
    _, out, _ = run("--local", "--metadata", "--out=json", "--id=x", "test.arg_clean", "1", "b=2")
    fields = json.loads(out)["local"]
    assert len(fields.pop("jid")) == 20
    assert fields == {
        "fun": "test.arg_clean", "fun_args": ["1", "b=2"], "id": "x", "retcode": 0,
        "return": {"args": [1], "kwargs": {"b": 2}},
    }  # fmt: skip


def test_no_function(run):
    code, out, err = run("--local")
    assert code == 64
    assert out.startswith("Usage: salt-call [options] <function> [arguments]\n")
    assert err.endswith("salt-call: error: Requires function, --grains or --doc\n")


def test_wrong_option(run):
    code, _, err = run("--bogus")
    assert code == 64
    assert err.endswith("salt-call: error: no such option: --bogus\n")


def test_wrong_configuration_is_one_line(run, directory):
    (directory / "minion").write_text("master_port: 0\n")
    code, out, err = run("--local", "test.ping")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "master_port" in err


def test_documentation(run):
    code, out, _ = run("--local", "-d", "test.ping")
    assert code == 0
    assert out.startswith("test.ping:\n\n    Answer ``True``")
    assert run("--local", "-d", "nosuch") == (1, "", "there is no function nosuch\n")
    assert run("--local", "-d")[1].count("CLI Example") > 50


def test_grains(run, directory):
    (directory / "grains").write_text("mine: yes it is\n")
    code, out, _ = run("--local", "-g", "--out=json")
    grains = json.loads(out)["local"]
    assert (code, grains["mine"], grains["kernel"]) == (0, "yes it is", "Linux")


def test_grains_take_no_words(run):
    code, out, err = run("--local", "-g", "test.ping")
    assert (code, out) == (64, "")
    assert "-g/--grains does not accept any arguments" in err


def test_skip_grains(run):
    assert (
        run("--local", "--skip-grains", "--out=json", "grains.items")[1]
        == '{\n    "local": {}\n}\n'
    )


def test_arguments_from_stdin(run, monkeypatch, tmp_path):
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("a b\nc=2\n"))
    _, out, _ = run("--local", "--args-stdin", "--out=json", "test.arg_clean", "1")
    assert json.loads(out)["local"] == {"args": [1, "a b"], "kwargs": {"c": 2}}


def test_options_reach_the_configuration(run):
    _, out, _ = run(
        "--local", "--file-root=/f", "--pillar-root=/p", "-m", "/a", "-m", "/b", "--master=other",
        "--out=json", "test.get_opts",
    )  # fmt: skip
    opts = json.loads(out)["local"]
    assert opts["file_roots"] == {"base": ["/f"]}
    assert opts["pillar_roots"] == {"base": ["/p"]}
    assert opts["module_dirs"] == ["/a", "/b"]
    assert opts["master"] == "other"


def test_alone_it_pays_for_nothing_of_the_network(directory):
    code = (
        "import sys; from saltlite.cli.salt_call import main; "
        f"main(['-c', {str(directory)!r}, '--local', 'test.ping']); "
        "print(sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    # `subprocess` itself has a stand-in; this is what the real one loads
    unused = "zmq", "msgpack", "cryptography", "asyncio", "jinja2", "tornado", "_posixsubprocess"
    for name in unused:
        assert f"'{name}'" not in done.stderr
    assert "saltlite.grains.collect" not in done.stderr


# --- with a master -------------------------------------------------------------------------------


@pytest.fixture
def master(directory):
    master = FakeMaster(free_port(), free_port(), key=MASTER_KEY)
    with open(directory / "minion", "a") as file:
        file.write(
            f"master: 127.0.0.1\nmaster_port: {master.ret_port}\npki_dir: {directory}/pki\n"
            "request_channel_timeout: 1\n"
        )
    pki = directory / "pki"
    pki.mkdir(mode=0o700)
    (pki / "minion.pem").write_bytes(MINION_KEY.pem)
    (pki / "minion.pem").chmod(0o400)
    yield master
    master.close()


def worded(name):
    """An answer to ``_auth``: pending, refused or full."""

    def answer(master, asked):
        handshake = MasterHandshake(master.key)
        words = {"pending": handshake.pending, "refused": handshake.refuse, "full": handshake.full}
        return words[name](AuthRequest.from_wire(asked.load))

    return answer


def test_authenticates_and_returns(run, master, directory):
    assert run("test.echo", "hi", "--set-metadata={a: 1}") == (0, "local:\n    hi\n", "")
    (returned,) = master.requests("m1", "_return")
    assert returned.load["jid"] == "req"
    assert returned.load["return"] == "hi"
    assert returned.load["fun_args"] == ["hi"]
    assert returned.load["retcode"] == 0
    assert returned.load["success"] is True
    assert returned.load["metadata"] == {"a": 1}
    (pillar,) = master.requests("m1", "_pillar")
    assert pillar.load["grains"]["id"] == "m1"
    assert (directory / "pki/minion_master.pub").exists()
    assert (directory / "pki/minion_master.pub").stat().st_mode & 0o777 == 0o600


def test_pillar_of_the_master(run, master):
    assert run("pillar.get", "a") == (0, "local:\n    1\n", "")


def test_no_return_event(run, master):
    assert run("--no-return-event", "test.ping")[0] == 0
    assert master.requests("m1", "_return") == []


def test_a_failing_function_returns_nothing(run, master):
    assert run("test.nosuch")[0] == 255
    assert master.requests("m1", "_return") == []


def test_a_pending_key(run, master):
    master.script("m1", "_auth", worded("pending"))
    assert run("test.ping") == (2, f"{salt_call.NOT_ACCEPTED}\n", "")


@pytest.mark.parametrize("name", ["refused", "full"])
def test_let_in_by_nobody(run, master, name):
    master.script("m1", "_auth", worded(name))
    code, out, err = run("test.ping")
    assert (code, out) == (1, "")
    assert err.startswith("salt-call: the master ")
    assert err.count("\n") == 1


def test_another_master_than_the_known_one(run, master, directory):
    (directory / "pki/minion_master.pub").write_text(PrivateKey.generate(2048).public.pem)
    code, out, err = run("test.ping")
    assert (code, out) == (1, "")
    assert "master" in err
    assert master.requests("m1", "_return") == []


def test_a_rotated_session_is_asked_for_again(run, master):
    master.script("m1", "_pillar", pack("bad load"))
    assert run("test.ping")[0] == 0
    assert len(master.requests("m1", "_auth")) == 2


def test_a_master_that_loses_the_return(run, master):
    master.script("m1", "_return", pack("bad load"), pack("bad load"))
    code, out, err = run("test.ping")
    assert (code, out) == (0, "local:\n    True\n")
    assert err.startswith("salt-call: the master did not get the return: ")


def test_nobody_there(run, directory):
    with open(directory / "minion", "a") as file:
        file.write(f"master: 127.0.0.1\nmaster_port: {free_port()}\n")
    begun_s = time.monotonic()
    code, out, err = run("-t", "1", "test.ping")
    assert (code, out) == (1, "")
    assert err.startswith("salt-call: no reply from tcp://127.0.0.1:")
    assert err.count("\n") == 1
    assert time.monotonic() - begun_s < 10


def test_the_first_master_that_answers(run, master, directory):
    with open(directory / "minion", "a") as file:
        file.write(f"master: ['127.0.0.1:{free_port()}', '127.0.0.1:{master.ret_port}']\n")
    text = (directory / "minion").read_text().replace("master: 127.0.0.1\n", "")
    (directory / "minion").write_text(text)
    code, out, _ = run("-t", "2", "-l", "error", "test.ping")
    assert (code, out) == (0, "local:\n    True\n")


def test_a_broken_key_is_one_line_and_stays(run, master, directory):
    pem = directory / "pki/minion.pem"
    pem.chmod(0o600)
    pem.write_text("no key")
    code, _, err = run("test.ping")
    assert code == 1
    assert "minion.pem" in err
    assert err.count("\n") == 1
    assert pem.read_text() == "no key"
