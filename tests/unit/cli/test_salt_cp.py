"""``salt-cp``, in this process: what it publishes and prints, as real Salt 3006.30 does."""

import base64
import gzip
import hashlib
from functools import partial

import pytest
from standin import StandIn

from saltlite.cli import salt_cp

RECEIVED = {}


def receives(load):
    if load["fun"] == "cp.recv":
        files, dest = load["arg"]
        return {"return": {dest + path.rpartition("/")[2]: True for path in files}}
    if load["fun"] == "file.get_hash":
        assert load["arg"][1] == "sha256"
        return {"return": hashlib.sha256(RECEIVED[load["arg"][0]]).hexdigest()}
    dest, piece, append, compressed, _mode = load["arg"]
    data = base64.b64decode(piece)
    before = RECEIVED.get(dest, b"") if append else b""
    RECEIVED[dest] = before + (gzip.decompress(data) if compressed else data)
    return {"return": not dest.startswith("/nodir")}


@pytest.fixture
def master():
    with StandIn({"web1": receives, "db1": receives}) as standin:
        yield standin


@pytest.fixture
def run(call_with_master):
    return partial(call_with_master, salt_cp.main)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "f1"
    path.write_text("hello é\n")
    path.chmod(0o644)
    return path


def test_a_text_goes_in_one_job(run, master, text):
    assert run("web1", text, "/m/") == (
        0,
        "web1:\n    ----------\n    /m/f1:\n        True\n",
        "",
    )
    load = master.published[0]
    assert (load["fun"], load["arg"]) == ("cp.recv", [{str(text): "hello é\n"}, "/m/"])


def test_several_minions_and_files(run, master, text, tmp_path):
    other = tmp_path / "f2"
    other.write_text("x")
    code, out, _err = run("-L", "web1,db1", text, other, "/m/", "--out=json", "--out-indent=-1")
    assert code == 0
    assert '"web1": {"/m/f1": true, "/m/f2": true}' in out
    assert master.published[0]["tgt"] == ["web1", "db1"]


def test_what_needs_pieces_is_said(run, master, tmp_path):
    code, out, _err = run("web1", tmp_path, "/m/")
    assert code == 1
    assert out == (
        f"{tmp_path} is a directory, only files are supported in non-chunked mode. "
        'Use "--chunked" command line argument.\n'
    )
    binary = tmp_path / "b"
    binary.write_bytes(b"\xff\xfe")
    assert run("web1", binary, "/m/")[0] == 1
    assert master.published == []


def test_nobody_matches(run, text):
    expected = "No minions matched the target. No command was sent, no jid was assigned.\n"
    assert run("nomatch", text, "/x") == (2, expected, "")
    assert run("-C", "nomatch", text, "/x") == (2, expected, "")


def test_too_few_words(run, capsys):
    with pytest.raises(SystemExit) as end:
        run("web1", "x")
    assert end.value.code == 64
    captured = capsys.readouterr()
    assert captured.out.startswith("Usage: salt-cp [options] '<target>' SOURCE DEST\n")
    assert captured.err.endswith("\n\nsalt-cp: error: Insufficient arguments\n")


def test_pieces(run, master, tmp_path):
    big = tmp_path / "big"
    data = bytes(range(256)) * 800
    big.write_bytes(data)
    big.chmod(0o600)
    assert run("-C", "web1", big, "/m/big") == (
        0,
        "web1:\n    ----------\n    /m/big:\n        True\n",
        "",
    )
    *pieces, last = master.published
    loads = [load["arg"] for load in pieces]
    assert [arg[0] for arg in loads] == ["/m/big"] * 3
    assert [arg[2] for arg in loads] == [False, True, True]
    assert {arg[4] for arg in loads} == {0o600}
    assert b"".join(gzip.decompress(base64.b64decode(arg[1])) for arg in loads) == data
    assert (last["fun"], last["arg"], last["tgt"]) == (
        "file.get_hash", ["/m/big", "sha256"], ["web1"]
    )  # fmt: skip


def test_a_file_that_did_not_arrive_whole_is_said(run, master, tmp_path):
    big = tmp_path / "big"
    big.write_bytes(b"x" * 200_000)
    master.minions["web1"] = lambda load: {
        "return": "0" * 64 if load["fun"] == "file.get_hash" else True
    }
    code, out, err = run("-C", "web1", big, "/m/big")
    assert code == 1
    assert out == "web1:\n    ----------\n    /m/big:\n        False\n"
    assert "web1: /m/big is not what was sent" in err


def test_pieces_without_compression(run, master, text):
    run("-C", "-n", "web1", text, "/m/out")
    assert master.published[0]["arg"] == ["/m/out", "aGVsbG8gw6kK", False, False, 0o644]


def test_an_empty_file_is_one_piece(run, master, tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    run("-C", "-n", "web1", empty, "/m/out")
    assert master.published[0]["arg"][1:4] == ["", False, False]


def test_folders(run, master, tmp_path):
    (tmp_path / "d1" / "sub").mkdir(parents=True)
    (tmp_path / "d1" / "a").write_text("x")
    (tmp_path / "d1" / "sub" / "b").write_text("y")
    code, out, _err = run("-C", "web1", tmp_path / "d1", "/m/dir/")
    assert code == 0
    assert out == (
        "web1:\n    ----------\n    /m/dir/d1/a:\n        True\n"
        "    /m/dir/d1/sub/b:\n        True\n"
    )


def test_who_failed_gets_no_more_pieces(run, master, tmp_path):
    big = tmp_path / "big"
    big.write_bytes(b"x" * 300000)
    code, out, _err = run("-C", "*", big, "/nodir/x")
    assert code == 1
    assert out.count("False") == 2
    assert len(master.published) == 1


@pytest.mark.parametrize("options", [[], ["-C"]])
def test_a_minion_that_does_not_return_is_named(run, master, text, options):
    master.minions["db1"] = None
    assert run(*options, "*", text, "/m/f1") == (
        1,
        f"web1:\n    ----------\n    {'/m/f1' if options else '/m/f1f1'}:\n        True\n",
        "db1: Minion did not return. [No response]\n",
    )


def test_nobody_returns(run, master, text):
    master.minions["web1"] = None
    assert run("web1", text, "/m/") == (1, "", "web1: Minion did not return. [No response]\n")


@pytest.mark.parametrize("last", ["cp.recv_chunked", "file.get_hash"])
def test_who_falls_silent_has_not_got_the_file(run, master, tmp_path, last):
    """After the first piece, or after all of them."""
    big = tmp_path / "big"
    big.write_bytes(b"x" * 200_000)

    def falls_silent(load):
        if load["fun"] == last and (last == "file.get_hash" or load["arg"][2]):
            return None
        return {"return": True}

    master.minions["web1"] = falls_silent
    code, out, err = run("-C", "web1", big, "/m/big")
    assert code == 1
    assert out == "web1:\n    ----------\n    /m/big:\n        False\n"
    assert err == "web1: Minion did not return. [No response]\n"


@pytest.mark.parametrize("options", [["-C"], []])
def test_a_missing_source(run, master, text, tmp_path, options):
    path = tmp_path / "nosuch"
    told = (42, "", f"{path} does not exist\n")
    assert run(*options, "web1", path, "/x") == told
    assert run(*options, "web1", text, path, "/x") == told
    assert master.published == []


def test_no_master(run, master, text):
    (master.folder / "master_event_pub.ipc").unlink()
    assert run("web1", text, "/x")[0] == 69


def test_a_nodegroup_that_is_not_there_matches_nobody(run, text):
    assert run("-N", "none", text, "/y")[0] == 2


def test_version(capsys):
    assert salt_cp.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("salt-cp ")


@pytest.mark.parametrize("kind", ["-R", "-H"])
def test_ranges_and_rosters_are_refused(run, master, text, kind):
    with pytest.raises(SystemExit) as end:
        run(kind, "web1", text, "/m/")
    assert end.value.code == 64
    assert master.published == []
