"""``salt-key``, in this process, on a key directory: what it asks, prints and changes.

The expected texts are those of real Salt 3006.30 for the same commands (docs/cli.md#salt-key).
"""

import io
import json
import stat

import pytest

from saltlite.cli import salt_key
from saltlite.core import tags
from saltlite.crypto.keys import PrivateKey
from saltlite.keyring import KeyClient, states_of

FOLDERS = {
    "minions": ["db1", "web1"],
    "minions_pre": ["pend1", "pend2"],
    "minions_rejected": ["rej1"],
    "minions_denied": ["den1"],
}
PEM = PrivateKey.generate(2048).public.pem


@pytest.fixture
def pki(tmp_path):
    folder = tmp_path / "pki"
    for name, minions in FOLDERS.items():
        (folder / name).mkdir(parents=True)
        for minion in minions:
            (folder / name / minion).write_text(PEM)
    (tmp_path / "master").write_text(
        f"pki_dir: {folder}\ncachedir: {tmp_path / 'cache'}\nsock_dir: {tmp_path / 'sock'}\n"
        f"key_logfile: {tmp_path / 'keylog'}\nlog_file: {tmp_path / 'log'}\n"
    )
    return folder


@pytest.fixture
def run(pki, capsys, monkeypatch):
    def call(*words, answer=None):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer or ""))
        code = salt_key.main(["-c", str(pki.parent), *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def where(pki, minion):
    return [name for name in FOLDERS if (pki / name / minion).exists()]


ALL = (
    "Accepted Keys:\ndb1\nweb1\nDenied Keys:\nden1\nUnaccepted Keys:\npend1\npend2\n"
    "Rejected Keys:\nrej1\n"
)


@pytest.mark.parametrize(
    ("words", "out"),
    [
        ([], ALL),
        (["-L"], ALL),
        (["-q", "-L"], ALL),
        (["-l", "all"], ALL),
        (["-l", "acc"], "Accepted Keys:\ndb1\nweb1\n"),
        (["-l", "pre"], "Unaccepted Keys:\npend1\npend2\n"),
        (["-l", "unaccepted"], "Unaccepted Keys:\npend1\npend2\n"),
        (["-l", "rej"], "Rejected Keys:\nrej1\n"),
        (["-l", "den"], "Denied Keys:\nden1\n"),
        (["-p", "web1"], f"Accepted Keys:\nweb1:  {PEM}\n"),
        (["-p", "zzz"], ""),
        (["-p", "zzz", "--out", "json"], "{}\n"),
        (["-f", "zzz"], ""),
        (["-l", "rej", "--out=json", "--out-indent=-1"], '{"minions_rejected": ["rej1"]}\n'),
        (["-l", "rej", "--out=yaml"], "minions_rejected:\n- rej1\n"),
    ],
)
def test_listing(run, words, out):
    assert run(*words) == (0, out, "")


def test_colours(run):
    assert run("-l", "acc", "--force-color")[1] == (
        "\033[0;1;32mAccepted Keys:\033[0;0m\n\033[0;32mdb1\033[0;0m\n\033[0;32mweb1\033[0;0m\n"
    )


def test_json_of_everything(run):
    code, out, _err = run("-L", "--out", "json")
    assert code == 0
    assert json.loads(out) == FOLDERS


def test_a_word_that_list_does_not_know(run, capsys):
    with pytest.raises(SystemExit) as end:
        run("-l", "bogus")
    assert end.value.code == 64
    assert capsys.readouterr().err == (
        "Usage: salt-key [options]\n\n"
        "salt-key: error: 'bogus' is not a valid argument to '--list'\n"
    )
    assert states_of("bogus") == ()


@pytest.mark.parametrize("answer", ["\n", "y\n", "Y\n", "yes\n"])
def test_accepting_asks_and_enter_means_yes(run, pki, answer):
    assert run("-a", "pend1", answer=answer) == (
        0,
        "The following keys are going to be accepted:\nUnaccepted Keys:\npend1\n"
        "Proceed? [n/Y] Key for minion pend1 accepted.\n",
        "",
    )
    assert where(pki, "pend1") == ["minions"]


@pytest.mark.parametrize("answer", ["n\n", "no\n", "bogus\n", None])
def test_accepting_can_be_declined(run, pki, answer):
    code, out, _err = run("-a", "pend1", answer=answer)
    assert code == 0
    assert "accepted." not in out
    assert where(pki, "pend1") == ["minions_pre"]


def test_what_is_no_key_stays_where_it_is(run, pki):
    """Said after the list and before what was accepted; the exit code is Salt's."""
    (pki / "minions_pre" / "pend1").write_text("")
    (pki / "minions_pre" / "pend0").write_text("junk")
    code, out, err = run("-y", "-A")
    assert code == 0
    assert out.endswith("pend0\npend1\npend2\nKey for minion pend2 accepted.\n")
    said = [line for line in err.splitlines() if line.startswith("Unable")]
    assert said == [f"Unable to accept invalid key for pend{n}." for n in (0, 1)]
    assert where(pki, "pend0") == where(pki, "pend1") == ["minions_pre"]
    assert where(pki, "pend2") == ["minions"]


def test_a_key_that_was_moved_during_the_question_is_left_alone(run, pki, monkeypatch):
    def answer(*_args, **_options):
        (pki / "minions_pre" / "pend1").rename(pki / "minions" / "pend1")
        return True

    monkeypatch.setattr(salt_key._SaltKey, "_ask_for_consent", answer)
    assert run("-d", "pend1") == (0, "", "")
    assert where(pki, "pend1") == ["minions"]


@pytest.mark.parametrize("answer", ["\n", "n\n", "bogus\ny\n", None])
def test_deleting_asks_and_enter_means_no(run, pki, answer):
    code, out, _err = run("-d", "pend*", answer=answer)
    assert code == 0
    assert out.startswith(
        "The following keys are going to be deleted:\nUnaccepted Keys:\npend1\npend2\n"
        "Proceed? [N/y] "
    )
    assert where(pki, "pend1") == ["minions_pre"]


def test_deleting_goes_through_all_states(run, pki):
    (pki / "minions_rejected" / "pend3").write_text(PEM)
    assert run("-y", "-d", "[pr]e*") == (
        0,
        "The following keys are going to be deleted:\nUnaccepted Keys:\npend1\npend2\n"
        "Rejected Keys:\npend3\nrej1\nKey for minion pend1 deleted.\n"
        "Key for minion pend2 deleted.\nKey for minion pend3 deleted.\n"
        "Key for minion rej1 deleted.\n",
        "",
    )
    assert where(pki, "pend1") == where(pki, "rej1") == []


def test_deleting_from_two_states_is_said_twice(run, pki):
    (pki / "minions_denied" / "web1").write_text(PEM)
    assert run("-y", "-d", "web1") == (
        0,
        "The following keys are going to be deleted:\nAccepted Keys:\nweb1\nDenied Keys:\nweb1\n"
        "Key for minion web1 deleted.\nKey for minion web1 deleted.\n",
        "",
    )
    assert where(pki, "web1") == []


def test_deleting_an_accepted_key_asks_for_another_publication_key(run, pki):
    run("-y", "-d", "web1")
    request = pki.parent / "cache" / ".dfn"
    assert stat.S_IMODE(request.stat().st_mode) == 0o400
    request.unlink()
    run("-y", "-d", "db1", "--rotate-aes-key", "False")
    assert not request.exists()


def test_rejecting(run, pki):
    code, out, _err = run("-r", "pend2", answer="\n")
    assert code == 0
    assert out.endswith("Proceed? [n/Y] Key for minion pend2 rejected.\n")
    assert where(pki, "pend2") == ["minions_rejected"]
    run("-y", "-r", "web1", "--include-accepted")
    assert where(pki, "web1") == ["minions_rejected"]


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (["-a", "zzz"], "unaccepted"),
        (["-r", "zzz"], "unaccepted"),
        (["-d", "zzz"], "unaccepted"),
        (["-a", "web1"], "unaccepted"),
        (["-a", "rej1"], "unaccepted"),
        (["-r", "web1"], "unaccepted"),
        (["-y", "-a", "zzz", "--include-all"], "unaccepted or rejected"),
        (["-y", "-a", "zzz", "--include-denied"], "unaccepted or denied"),
        (
            ["-y", "-r", "zzz", "--include-accepted", "--include-denied"],
            "unaccepted, accepted or denied",
        ),
    ],
)
def test_nothing_fits(run, words, kinds):
    glob = next(word for word in words if not word.startswith("-"))
    assert run(*words) == (0, f"The key glob '{glob}' does not match any {kinds} keys.\n", "")


@pytest.mark.parametrize(
    ("words", "minion"),
    [
        (["-a", "rej1", "--include-rejected"], "rej1"),
        (["-a", "rej1", "--include-all"], "rej1"),
        (["-a", "den1", "--include-denied"], "den1"),
        (["-a", "pend1,zzz"], "pend1"),
    ],
)
def test_accepting_more(run, pki, words, minion):
    code, out, _err = run("-y", *words)
    assert code == 0
    assert out.endswith(f"Key for minion {minion} accepted.\n")
    assert where(pki, minion) == ["minions"]


def test_accept_all_and_reject_all_and_delete_all(run, pki):
    run("-y", "-A")
    assert where(pki, "pend1") == where(pki, "pend2") == ["minions"]
    assert where(pki, "rej1") == ["minions_rejected"]
    run("-y", "-R")
    assert where(pki, "web1") == ["minions"]
    run("-y", "-D")
    assert run()[1] == "Accepted Keys:\nDenied Keys:\nUnaccepted Keys:\nRejected Keys:\n"


def test_quiet_and_yes_say_nothing(run, pki):
    assert run("-q", "-y", "-a", "pend1") == (0, "", "")
    assert where(pki, "pend1") == ["minions"]


def test_actions_show_keys_with_the_outputter_asked_for(run):
    assert run("-y", "-a", "pend2", "--out", "json") == (
        0,
        'The following keys are going to be accepted:\n{\n    "minions_pre": [\n'
        '        "pend2"\n    ]\n}\nKey for minion pend2 accepted.\n',
        "",
    )


def test_events_are_fired(run, monkeypatch):
    from saltlite.cli.stores import LazyEvents

    fired = []
    monkeypatch.setattr(LazyEvents, "fire", lambda self, tag, data: fired.append((tag, data)))
    run("-y", "-a", "pend1")
    run("-y", "-r", "pend2")
    run("-y", "-d", "web1")
    assert fired == [
        (tags.KEY, {"result": True, "act": "accept", "id": "pend1"}),
        (tags.KEY, {"result": True, "act": "reject", "id": "pend2"}),
        (tags.KEY, {"result": True, "act": "delete", "id": "web1"}),
    ]


def test_a_stranger_in_the_folder_is_not_listed(run, pki):
    (pki / "minions" / "..hidden?").write_text("x")
    (pki / "minions" / ".key_cache").write_text("x")
    assert run("-l", "acc")[1] == "Accepted Keys:\ndb1\nweb1\n"


# --- fingerprints and making keys ----------------------------------------------------------------


@pytest.fixture(scope="module")
def key():
    return PrivateKey.generate(2048)


def test_fingerprints(run, pki, key):
    (pki / "minions" / "web1").write_text(key.public.pem)
    (pki / "master.pem").write_bytes(key.pem)
    (pki / "master.pub").write_text(key.public.pem + "\n")
    print_ = key.public.fingerprint()
    assert run("-f", "web1") == (0, f"Accepted Keys:\nweb1:  {print_}\n", "")
    code, out, _err = run("-F")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "Local Keys:"
    assert lines[1].startswith("master.pem:  ")
    assert lines[2] == f"master.pub:  {print_}"
    assert f"web1:  {print_}" in lines


def test_generating_a_pair(run, tmp_path):
    folder = tmp_path / "new" / "dir"
    code, out, _err = run("--gen-keys", "k1", "--gen-keys-dir", str(folder))
    assert code == 0
    private = folder / "k1.pem"
    assert stat.S_IMODE(private.stat().st_mode) == 0o400
    public = PrivateKey.from_pem(private.read_bytes()).public
    assert (folder / "k1.pub").read_text() == public.pem + "\n"
    assert out == f"return:\n    {public.fingerprint()}\n"


def test_a_pair_has_a_plain_name(run, tmp_path):
    code, _out, err = run("--gen-keys", "../k1", "--gen-keys-dir", str(tmp_path / "x"))
    assert code == 1
    assert "not a file name" in err


@pytest.mark.parametrize(
    ("size", "text"),
    [
        ("100", "The minimum value for keysize is 2048"),
        ("99999", "The maximum value for keysize is 32768"),
    ],
)
def test_sizes_of_keys(run, capsys, size, text):
    with pytest.raises(SystemExit) as end:
        run("--gen-keys", "k", "--keysize", size)
    assert end.value.code == 64
    assert capsys.readouterr().err.endswith(f"salt-key: error: {text}\n")


def test_a_signature_of_the_masters_key(run, pki, key):
    (pki / "master.pub").write_text(key.public.pem + "\n")
    assert run("--gen-signature") == (0, "return:\n    No usable private-key found\n", "")
    assert run("--gen-signature", "--auto-create") == (0, "return:\n    True\n", "")
    import base64

    signer = PrivateKey.from_pem((pki / "master_sign.pem").read_bytes())
    signature = base64.b64decode((pki / "master_pubkey_signature").read_text())
    assert signer.public.verify(key.public.pem.encode(), signature, "PKCS1v15-SHA1")


def test_a_signature_needs_a_public_key(run):
    code, _out, err = run("--gen-signature", "--auto-create")
    assert code == 1
    assert "there is no public key" in err


def test_version(capsys):
    assert salt_key.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("salt-key ")


def test_the_client_forms_that_wheel_needs():
    class Files:
        def list(self, state):
            return FOLDERS[state]

        def key(self, minion_id, state):
            return f"key of {minion_id}"

    keys = KeyClient(Files())
    assert keys.list_all() == FOLDERS
    assert keys.name_match("*1") == {
        "minions": ["db1", "web1"],
        "minions_pre": ["pend1"],
        "minions_rejected": ["rej1"],
        "minions_denied": ["den1"],
    }
    assert keys.name_match(["pend1", "rej1"]) == {
        "minions_pre": ["pend1"],
        "minions_rejected": ["rej1"],
    }
    assert keys.key_str("web1") == {"minions": {"web1": "key of web1"}}
    assert keys.finger("web1", len) == {"minions": {"web1": 11}}


def test_delete_all_takes_no_names(run, capsys):
    with pytest.raises(SystemExit) as end:
        run("-D", "junk")
    assert end.value.code == 64
    assert "salt-key: error: Delete all takes no arguments\n" in capsys.readouterr().err
