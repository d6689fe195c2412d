"""``salt``, in this process, against a stand-in for the master: what it prints and how it ends.

The expected texts are those of real Salt 3006.30 for the same commands (docs/command-line.md).
"""

import io
import re
from functools import partial

import pytest
from repository import DATA, read_yaml
from standin import pings, says

from saltlite.cli import command, salt
from saltlite.client.jobs import JobClient
from saltlite.errors import MasterRefused

FAILED = "ERROR: Minions returned with non-zero exit code\n"
NOBODY = "ERROR: No return received\n"
NO_MATCH = "No minions matched the target. No command was sent, no jid was assigned.\n"
JID = "20260102030405000001"
LOST = (
    "    Minion did not return. [No response]\n"
    "    The minions may not have all finished running and any remaining minions will return upon "
    "completion. To look up the return data for this job later, run the following command:\n"
    "    \n"
    f"    salt-run jobs.lookup_jid {JID}\n"
)


def kwarg(**named):
    return {**named, "__kwarg__": True}


@pytest.fixture
def run(call_with_master):
    return partial(call_with_master, salt.main)


def published(master, fun=None):
    return [load for load in master.published if fun is None or load["fun"] == fun]


def test_ping(run, master):
    assert run("*", "test.ping") == (0, "web1:\n    True\n", "")
    load = master.published[0]
    assert (load["tgt"], load["tgt_type"], load["arg"]) == ("*", "glob", [])


@pytest.mark.parametrize(
    ("words", "out"),
    [
        (["--out", "json"], '{\n    "web1": true\n}\n'),
        (["--out=json", "--out-indent=-1"], '{"web1": true}\n'),
        (["--out", "yaml"], "web1: true\n"),
        (["--out", "raw"], "{'web1': True}\n"),
        (["--out", "txt"], "web1: True\n"),
        (["--out", "quiet"], ""),
        (["--force-color"], "\033[0;36mweb1\033[0;0m:\n    \033[0;1;33mTrue\033[0;0m\n"),
        (["--no-color"], "web1:\n    True\n"),
        (["-s"], "web1:\n    True\n"),
        (["--show-jid"], f"jid: {JID}\nweb1:\n    True\n"),
        (["-v"], f"Executing job with jid {JID}\n{'-' * 43}\n\nweb1:\n    True\n"),
        (["--async"], f"Executed command with job ID: {JID}\n"),
    ],
)
def test_ways_to_show(run, words, out):
    assert run("web1", "test.ping", *words) == (0, out, "")


def test_the_summary(run):
    dashes = "-" * 43
    code, out, _err = run("web1", "test.echo", "hi", "--summary")
    assert code == 0
    assert out == (
        f"web1:\n    hi\n\n\n{dashes}\nSummary\n{dashes}\n# of minions targeted: 1\n"
        "# of minions returned: 1\n# of minions that did not return: 0\n"
        f"# of minions with errors: 0\n{dashes}\n"
    )


def test_an_unknown_outputter(run, caplog):
    code, out, _err = run("web1", "test.ping", "--out", "bogus")
    assert (code, out) == (0, "web1:\n    True\n")
    assert "Invalid outputter bogus specified, fall back to nested" in caplog.text


def test_output_to_a_file(run, tmp_path):
    path = tmp_path / "out"
    assert run("web1", "test.ping", "--out-file", str(path)) == (0, "", "")
    assert path.read_text() == "web1:\n    True\n"
    run("web1", "test.ping", "--out-file", str(path), "--out-file-append")
    assert path.read_text() == "web1:\n    True\n" * 2


# --- failures ------------------------------------------------------------------------------------


def test_a_retcode_is_exit_code_1_and_a_line(run, master):
    master.minions["web1"] = says("", retcode=3)
    assert run("web1", "cmd.run", "exit 3") == (1, "web1:\n", FAILED)
    assert run("web1", "cmd.run", "exit 3", "--static") == (0, "web1:\n", "")
    code, out, _err = run("web1", "cmd.run", "exit 3", "--summary")
    assert code == 1
    assert "# of minions with errors: 1\n" in out


def test_false_is_no_failure(run, master):
    master.minions["web1"] = says(False)
    assert run("web1", "test.false") == (0, "web1:\n    False\n", "")


def test_retcodes_of_several_functions(run, master):
    master.minions["web1"] = says({"a.b": 1}, retcode={"a.b": 0, "c.d": 2})
    assert run("web1", "a.b,c.d", ",")[0] == 1


def test_nobody_matches(run):
    assert run("nomatch*", "test.ping") == (2, NO_MATCH, NOBODY)
    assert run("nomatch*", "test.ping", "--out", "json") == (2, NO_MATCH + "{}\n", NOBODY)
    assert run("nomatch*", "test.ping", "--async")[0] == 2


def test_one_that_does_not_return(run, master):
    master.minions["ghost"] = None
    assert run("ghost", "test.ping") == (1, "ghost:\n" + LOST, FAILED)
    master._count = 0
    code, out, err = run("ghost", "test.ping", "--out", "json")
    assert (code, err) == (1, FAILED)
    assert out.startswith('{\n    "ghost": "Minion did not return. [No response]\\nThe minions may')


def test_one_that_does_not_return_in_txt_and_in_static(run, master):
    master.minions["ghost"] = None
    code, out, _err = run("ghost", "test.ping", "--out", "txt")
    assert code == 1
    assert [line.partition(":")[0] for line in out.splitlines()] == ["ghost"] * 4
    assert run("ghost", "test.ping", "--static") == (2, "", NOBODY)
    assert run("*", "test.ping", "--static", "--out=json") == (0, '{\n    "web1": true\n}\n', "")


def test_lost_minions_can_be_hidden(run, master):
    master.minions["ghost"] = None
    assert run("ghost", "test.ping", "--hide-timeout") == (0, "", "")
    code, out, _err = run("ghost", "test.ping", "--hide-timeout", "-v")
    assert code == 1
    assert "Minion did not return" in out


@pytest.mark.parametrize("words", [["--static"], ["-b", "1"]])
def test_nobody_returned(run, master, words):
    master.minions = {"ghost": None}
    code, _out, err = run("ghost", "test.ping", *words)
    assert (code, err) == (2, NOBODY)


def test_a_refusal(run, master):
    master.refuse = {
        "error": {"name": "AuthorizationError", "message": "Authorization error occurred."}
    }
    assert run("*", "test.ping") == (0, "Authorization error occurred.\n", "")


def test_no_master(run, master):
    (master.folder / "master_event_pub.ipc").unlink()
    code, out, err = run("*", "test.ping")
    assert (code, err) == (69, "")
    assert out == "The salt master could not be contacted. Is master running?\n"


def test_a_broken_configuration_is_one_line(run, master):
    (master.folder / "master").write_text("timeout: [1\n")
    with pytest.raises(SystemExit) as end:
        run("*", "test.ping")
    assert end.value.code == 1


def test_stream_asks_for_output_and_nothing_else_does(run, master):
    assert run("web1", "test.ping", "--stream") == (0, "web1:\n    True\n", "")
    assert run("web1", "test.ping") == (0, "web1:\n    True\n", "")
    asked = [load.get("kwargs", {}).get("tell_output") for load in published(master, "test.ping")]
    assert asked == [True, None]


def test_stream_says_where_nothing_will_be_shown(run, master, monkeypatch):
    monkeypatch.setattr(salt, "TELLING_MOST", 0)
    code, out, err = run("web1", "test.ping", "--stream")
    assert (code, out, err) == (0, "web1:\n    True\n", f"{salt.STREAM_MANY.format(0)}\n")
    code, out, err = run("web1", "test.ping", "--stream", "--batch-safe-limit=1")
    assert err == f"{salt.STREAM_BATCHES}\n"
    assert "tell_output" not in published(master, "test.ping")[-1].get("kwargs", {})


def test_stream_says_who_may_not_hear_it(run, monkeypatch):
    follow = JobClient.follow

    def by_ticket(*words, **more):
        job = follow(*words, **more)
        job.hears_progress = False
        return job

    monkeypatch.setattr(JobClient, "follow", by_ticket)
    assert run("web1", "test.ping", "--stream")[2] == f"{salt.STREAM_UNHEARD}\n"


def test_ctrl_c_says_how_to_look_the_job_up(run, master, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(salt._Salt, "_as_they_come", interrupted)
    code, _out, err = run("web1", "test.ping")
    assert code == 1
    assert err.startswith(f"\nExiting gracefully on Ctrl-c\nThis job's jid is: {JID}\nThe minions")
    assert f"\n\nsalt-run jobs.lookup_jid {JID}\n" in err
    assert err.endswith(f"\n\nsalt-run jobs.follow {JID}\n")


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--bogus"], "no such option: --bogus"),
        (["-R", "x", "test.ping"], "range servers (-R) and rosters (-H) are not supported"),
        (["*", "test.ping", "-t", "x"], "option -t: invalid integer value: 'x'"),
        (["*", "test.ping", "--subset", "x"], "option --subset: invalid integer value: 'x'"),
    ],
)
def test_wrong_options(run, capsys, words, text):
    with pytest.raises(SystemExit) as end:
        run(*words)
    assert end.value.code == 64
    assert capsys.readouterr().err == (
        f"Usage: salt [options] '<target>' <function> [arguments]\n\nsalt: error: {text}\n"
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([], "\nCannot execute command without defining a target.\n\n"),
        (["web1"], "\nIncomplete options passed.\n\n"),
    ],
)
def test_incomplete_commands_get_the_help(run, words, text):
    code, out, err = run(*words)
    assert (code, err) == (42, text)
    assert out.startswith("Usage: salt [options] '<target>' <function> [arguments]\n")


def test_version_costs_nothing(capsys):
    assert salt.main(["--version"]) == 0
    assert re.fullmatch(r"salt \S+ \(\S+\)\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("flag", "kind", "tgt", "sent"),
    [
        ("-E", "pcre", "web.*", "web.*"),
        ("-L", "list", "web1,db1 x", ["web1", "db1", "x"]),
        ("-G", "grain", "os:Debian", "os:Debian"),
        ("-P", "grain_pcre", "os:Deb.*", "os:Deb.*"),
        ("-C", "compound", "web* or N@flat", "web* or web1 or db1"),
        ("-C", "compound", "web1 or N@ids", "web1 or L@web1,db1"),
        ("-I", "pillar", "a:b", "a:b"),
        ("-J", "pillar_pcre", "a:b", "a:b"),
        ("-S", "ipcidr", "192.0.2.0/24", "192.0.2.0/24"),
        ("-N", "compound", "flat", "web1 or db1"),
    ],
)
def test_kinds_of_targets(run, master, flag, kind, tgt, sent):
    run(flag, tgt, "test.ping")
    load = master.published[0]
    assert (load["tgt_type"], load["tgt"]) == (kind, sent)


def test_an_unknown_nodegroup(run, master):
    path = master.folder / "master"
    told = (0, f"Node group none unavailable in {path}\n", "")
    assert run("-N", "none", "test.ping") == told
    assert run("-C", "web1 or N@none", "test.ping") == told
    assert master.published == []


def test_a_nodegroup_that_contains_itself(run, master):
    code, out, err = run("-N", "loop", "test.ping", "--out=json")
    assert (code, out) == (2, f"{NO_MATCH}{{}}\n")
    assert err == "ERROR: nodegroup contains itself: loop -> loop\nERROR: No return received\n"
    assert master.published == []


@pytest.mark.parametrize("words", [(), ("--async",), ("-b", "1")])
def test_a_malformed_target_is_explained(run, master, words):
    master.malformed = "not a regular expression: '[': unterminated character set"
    code, out, err = run(*words, "-E", "[", "test.ping")
    assert code == 2
    assert NO_MATCH in out
    assert err == f"ERROR: {master.malformed}\nERROR: No return received\n"


def test_arguments_are_parsed(run, master):
    run("web1", "test.arg", "1", "two", "k=[1, 2]", "raw=5", "--no-parse=raw", JID)
    assert master.published[0]["arg"] == [
        1,
        "two",
        JID,
        {"k": [1, 2], "raw": "5", "__kwarg__": True},
    ]


@pytest.mark.parametrize(
    ("words", "arg"),
    [
        (["test.ping,test.echo", ",", "hello"], [[], ["hello"]]),
        (["test.ping,test.echo", ","], [[], []]),
        (["test.arg,test.arg,test.arg", "echo hi,,foo"], [["echo hi"], [], ["foo"]]),
        (["test.arg,test.arg,test.arg", "echo hi", ",,foo"], [["echo hi"], [], ["foo"]]),
        (
            ["test.arg,test.arg,test.arg", "echo hi", ",", "", ",", "foo"],
            [["echo hi"], [""], ["foo"]],
        ),
        (["test.arg,test.arg", "a,b"], [["a"], ["b"]]),
        (["test.arg,test.arg", "a , b"], [["a"], ["b"]]),
        (["test.arg,test.arg", "a", ", ", "b"], [["a"], [" ", "b"]]),
        (["test.arg,test.arg", "a,b", ",", "c"], [["a,b"], ["c"]]),
        (["test.arg,test.arg,test.arg", "a,b", ",", "c"], [["a"], ["b"], ["c"]]),
        (["test.arg,test.arg", "a,,b", ",", "d"], [["a,,b"], ["d"]]),
        (["test.arg,test.arg", "a", ",", "b,c"], [["a"], ["b,c"]]),
        (["test.arg,test.arg", "[1,2]", ",", "3"], [[[1, 2]], [3]]),
        (["test.arg,test.arg", "[1,2]"], [["[1"], ["2]"]]),
        (["test.arg,test.arg", "", "a,", ""], [["", "a"], [""]]),
        (["test.arg,test.arg", "a", "b,c", "d"], [["a", "b"], ["c", "d"]]),
        (["test.arg,test.arg,test.arg", ",,"], [[], [], []]),
        (["test.arg,test.arg", "--args-separator=::", "a,b::c,d"], [["a,b"], ["c,d"]]),
        (["test.arg,test.arg", "--args-separator=::", "a::b", "::", "c"], [["a::b"], ["c"]]),
        (["test.arg,test.arg", "x=1,y=2"], [[kwarg(x=1)], [kwarg(y=2)]]),
        (
            ["test.echo,test.echo", "a", ",", "b", "k=1"],
            [["a"], ["b", {"k": 1, "__kwarg__": True}]],
        ),
        (["test.echo,test.echo", "a", ",b"], [["a"], ["b"]]),
        (["a.b,c.d", "x", "+", "y", "--args-separator", "+"], [["x"], ["y"]]),
    ],
)
def test_several_functions(run, master, words, arg):
    run("web1", *words)
    assert master.published[0]["arg"] == arg
    assert master.published[0]["fun"] == words[0].split(",")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["a.b,c.d", ",", "x", ",", "y"],
            "Cannot execute compound command with more arguments than commands.\n",
        ),
        (
            ["a.b,c.d", "x"],
            "Cannot execute compound command without defining all arguments.\n",
        ),
    ],
)
def test_groups_that_do_not_fit(run, master, words, text):
    assert run("web1", *words) == (42, "", text)
    assert master.published == []


def test_what_goes_with_the_job(run, master):
    run(
        "web1", "test.ping", "--return", "local,x", "--metadata", "{a: 1}", "--delimiter", "|",
        "--return_config", "rc", "--return_kwargs", "{b: 2}", "--module-executors", "sudo",
        "--start-event",
    )  # fmt: skip
    load = master.published[0]
    assert load["ret"] == "local,x"
    assert load["kwargs"] == {
        "metadata": {"a": 1},
        "delimiter": "|",
        "ret_config": "rc",
        "ret_kwargs": {"b": 2},
        "module_executors": ["sudo"],
        "start_event": True,
    }


def test_metadata_that_is_no_dictionary_is_left_out(run, master):
    assert run("web1", "test.ping", "--metadata", "notadict")[0] == 0
    assert "kwargs" not in master.published[0]


def test_arguments_from_stdin(run, master, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("test.echo\nhi\n"))
    assert run("web1", "--args-stdin") == (0, "web1:\n    hi\n", "")


def test_timeout(run, master, monkeypatch):
    seen = []
    collector = JobClient.collector
    monkeypatch.setattr(
        JobClient,
        "collector",
        lambda self, events, timeout_s=None, credentials=None: (
            seen.append(timeout_s) or collector(self, events, timeout_s, credentials or {})
        ),
    )
    run("web1", "test.ping", "-t", "7")
    assert seen == [7]


# --- other ways of running -----------------------------------------------------------------------


def test_preview_sends_nothing(run, master):
    assert run("web1", "--preview-target", "test.ping") == (0, "- web1\n", "")
    assert run("*", "--preview-target", "test.ping") == (0, "- ghost\n- web1\n", "")
    assert run("x*", "--preview-target", "test.ping") == (2, "", NOBODY)
    assert run("web1", "--preview-target", "--out", "json") == (0, '[\n    "web1"\n]\n', "")
    assert master.published == []


def test_subset(run, master):
    assert run("*", "test.ping", "--subset", "1") == (0, "web1:\n    True\n", "")
    assert published(master, "test.ping")[0]["tgt"] == ["web1"]


def test_batch(run, master):
    master.minions = {"db1": pings, "web1": pings, "ghost": None}
    code, out, err = run("*", "test.echo", "hi", "-b", "1")
    assert (code, err) == (0, "")
    assert out == (
        "Minion ghost did not respond. No job will be sent.\n"
        f"\nExecuting run on ['db1']\n\ndb1:\n    hi\n{entries(master, 0)}"
        f"\nExecuting run on ['web1']\n\n{entries(master, 1)}web1:\n    hi\n"
    )


def jid_of(master, number):
    """The jid of the stand-in's number-th job that was no ping of a batch."""
    jobs = [load["fun"] for load in master.published].index("test.echo") + 1 + number
    return f"20260102030405{jobs:06}"


def entries(master, number):
    return f"jid:\n    {jid_of(master, number)}\nretcode:\n    0\n"


@pytest.mark.parametrize(
    ("out", "text"),
    [
        ("txt", "retcode: 3\njid: {jid}\nweb1: x\n"),
        ("raw", "{{'retcode': 3, 'jid': '{jid}', 'web1': 'x'}}\n"),
        ("json", '{{\n    "retcode": 3,\n    "jid": "{jid}",\n    "web1": "x"\n}}\n'),
        ("highstate", "retcode:\n    3\njid:\n    {jid}\nweb1:\n    x\n"),
    ],
)
def test_batch_has_jid_and_retcode_in_every_output(run, master, out, text):
    master.minions = {"web1": says("x", retcode=3)}
    code, told, _err = run("web1", "test.echo", "x", "-b", "1", f"--out={out}")
    assert code == 3
    assert told == f"\nExecuting run on ['web1']\n\n{text.format(jid=jid_of(master, 0))}"


def test_batch_and_static(run, master):
    assert run("web1", "test.ping", "-b", "1", "-s") == (0, "web1:\n    True\n", "")
    master.minions = {"web1": says("x", retcode=3)}
    assert run("web1", "test.echo", "x", "-b", "1", "-s") == (0, "web1:\n    x\n", "")


def test_batch_ends_with_the_highest_retcode(run, master):
    master.minions = {"a": says("x", retcode=3), "b": says("y", retcode=1)}
    code, out, err = run("*", "cmd.run", "x", "-b", "2")
    assert (code, err) == (3, "")
    assert "Executing run on ['a', 'b']" in out


def test_batch_with_failhard(run, master):
    master.minions = {"a": says("x", retcode=3), "b": says("y")}
    code, out, err = run("*", "cmd.run", "x", "-b", "1", "--failhard")
    assert code == 3
    assert "['b']" not in out
    assert err == (
        "[ERROR   ] Minion a returned with non-zero exit code. Batch run stopped due to failhard\n"
    )


def test_batch_of_no_size(run):
    assert run("*", "test.ping", "-b", "bogus") == (
        1,
        "Invalid batch data sent: bogus\nData must be in the form of %10, 10% or 3\n",
        "",
    )


def test_batch_safe_limit(run, master):
    code, out, _err = run("*", "test.ping", "--batch-safe-limit", "2", "--batch-safe-size", "1")
    assert code == 0
    assert "\nNOTICE: Too many minions targeted, switching to batch execution.\n" in out
    assert "Executing run on ['web1']" in out
    assert "Executing run" not in run("*", "test.ping", "--batch-safe-limit", "9")[1]


def test_nobody_matches_a_batch(run):
    assert run("nomatch", "test.ping", "-b", "1") == (2, NO_MATCH, NOBODY)


DOCS = {"test.ping": "\n    Ping.\n    ", "test.arg": "\n    Arg.\n    "}


def test_documentation(run, master):
    master.minions["web1"] = says(DOCS)
    text = "test.arg:\n\n    Arg.\n    \n\ntest.ping:\n\n    Ping.\n    \n\n"
    assert run("-d", "web1", "test") == (0, text, "")
    assert master.published[0]["fun"] == "sys.doc"
    assert master.published[0]["arg"] == ["test"]
    assert run("web1", "sys.doc") == (0, text, "")
    assert run("-d")[1] == text
    assert master.published[-1]["tgt"] == "*"
    code, out, _err = run("web1", "sys.doc", "--out=json", "--out-indent=-1")
    assert code == 0
    assert '"test.ping": "\\n    Ping.\\n    "' in out


def test_config_dump(run, master):
    code, out, _err = run("--config-dump")
    assert code == 0
    assert f"sock_dir: {master.folder}\n" in out


def test_a_state_run_is_shown_by_its_own_outputter(run, master):
    states = {
        "test_|-a_|-a_|-nop": {
            "name": "a",
            "result": False,
            "changes": {},
            "comment": "no",
            "__run_num__": 0,
        }
    }
    master.minions["web1"] = says(states, out="highstate", retcode=2)
    code, out, err = run("web1", "state.apply")
    assert (code, err) == (1, FAILED)
    assert "Summary for web1\n------------\nSucceeded: 0\nFailed:    1\n" in out
    code, out, _err = run("web1", "state.apply", "--state-output=terse", "--static")
    assert "  Name: a - Function: test.nop - Result: Failed\n" in out


def test_a_dead_minion_name_is_red_on_a_terminal(run, master):
    master.minions["web1"] = says("x", retcode=1)
    assert run("web1", "test.ping", "--force-color")[1].startswith("\033[0;31mweb1\033[0;0m:")


def test_complaints_come_after_what_was_printed(capsys):
    command.complain("x")
    assert capsys.readouterr().err == "x\n"


def test_there_is_no_progress_graph_where_there_is_no_terminal(run):
    assert run("web1", "test.ping", "--progress") == (0, "web1:\n    True\n", "")


def test_hard_crash_lets_the_error_out(run, master):
    master.refuse = {"error": {"name": "AuthorizationError", "message": "no"}}
    assert run("web1", "test.ping")[:2] == (0, "no\n")
    with pytest.raises(MasterRefused):
        run("web1", "test.ping", "--hard-crash")


# The samples of docs/command-line.md against ``salt``, byte for byte
# (tests/cases/data/cli_samples.yaml).


SAMPLES = read_yaml(DATA / "cli_samples.yaml")


def minion(value):
    """What a minion of the samples does."""
    if value is None:
        return None
    if isinstance(value, dict) and "return" in value:
        return says(value["return"], **{key: one for key, one in value.items() if key != "return"})
    return says(value)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["about"])
def test_sample(sample, call_with_master, master):
    master.minions = {name: minion(value) for name, value in sample["minions"].items()}
    run = partial(call_with_master, salt.main)
    code, out, err = run(*sample["words"])
    assert out == sample["out"].replace("JID", JID)
    assert (code, err) == (sample.get("code", 0), sample.get("err", ""))
