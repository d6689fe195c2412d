"""git on repositories made here. What real Salt answers is in tests/cases/data/differential."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.errors import FunctionError, UsageError
from saltlite.host import Host
from saltlite.loader.registry import Registry
from saltlite.providers import git as git_provider

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git")

SECRET = "s3cr3t/@word"


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n name = A\n email = a@b.c\n[init]\n defaultBranch = main\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    return home


@pytest.fixture
def git(home):
    ctx = MinionContext(config=MinionConfig(), host=Host(), grains={}, pillar={})
    ctx.functions = Registry(ctx)

    def call(function, *args, **kwargs):
        return ctx.functions.call(f"git.{function}", *map(str, args), **kwargs)

    call.ctx = ctx
    return call


def run(cwd, *words):
    subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def bare(home, tmp_path):
    up = tmp_path / "up"
    up.mkdir()
    run(up, "init", "-q", "-b", "main")
    (up / "a").write_text("1\n")
    run(up, "add", ".")
    run(up, "commit", "-qm", "one")
    run(up, "tag", "v1", "-m", "v1")
    run(up, "branch", "dev")
    run(tmp_path, "clone", "-q", "--bare", "up", "bare.git")
    return tmp_path / "bare.git"


@pytest.fixture
def work(git, bare, tmp_path):
    assert git("clone", tmp_path / "w", bare) is True
    return tmp_path / "w"


def test_a_clone_and_what_is_known_of_it(git, work, bare):
    assert git("current_branch", work) == "main"
    assert git("list_branches", work, remote=True) == ["origin/HEAD", "origin/dev", "origin/main"]
    assert git("list_tags", work) == ["v1"]
    assert git("describe", work) == "v1"
    assert git("remotes", work) == {"origin": {"fetch": str(bare), "push": str(bare)}}
    assert git("revision", work) == git("rev_parse", work, rev="HEAD")
    assert git("revision", work).startswith(git("revision", work, short=True))
    assert git("status", work) == {}
    assert git("ls_remote", work, ref="main") == {"refs/heads/main": git("revision", work)}


def test_changes_are_made_committed_and_sent(git, work, bare):
    (work / "new").write_text("x\n")
    (work / "a").write_text("2\n")
    assert git("status", work) == {"modified": ["a"], "untracked": ["new"]}
    assert git("add", work, "new") == "add 'new'"
    git("commit", work, "two", opts="-q")
    git("commit", work, "three", filename="a")
    assert git("status", work) == {}
    git("push", work, "origin", "main")
    assert git("remote_refs", bare)["refs/heads/main"] == git("revision", work)
    assert git("diff", work, "v1", "main", opts="--name-only") == "a\nnew"


def test_a_fetch_says_what_is_new(git, work, bare, tmp_path):
    up = tmp_path / "up"
    assert git("fetch", work, remote="origin") == {}
    old = git("rev_parse", work, "origin/dev", opts="--short")
    run(up, "checkout", "-q", "dev")
    (up / "c").write_text("3\n")
    run(up, "add", ".")
    run(up, "commit", "-qm", "three")
    run(up, "tag", "v2")
    run(up, "push", "-q", str(bare), "dev", "dev:extra", "v2")
    found = git("fetch", work, remote="origin")
    new = git("rev_parse", work, "origin/dev", opts="--short")
    assert found == {
        "updated branches": {"dev": {"old": old, "new": new}},
        "new branches": ["extra"],
        "new tags": ["v2"],
    }
    assert git("pull", work) == "Already up to date."
    assert git("merge", work, "origin/dev", opts="-q") == ""
    assert git("merge_base", work, refs="v1,main", is_ancestor=True) is True
    assert git("merge_base", work, refs=["main", "v1"], is_ancestor=True) is False


def test_branches_tags_and_checkouts(git, work):
    assert git("branch", work, "b1") is True
    assert git("checkout", work, "b1") == "Switched to branch 'b1'"
    assert git("tag", work, "t1", message="two words") == ""
    assert git("symbolic_ref", work, "HEAD") == "refs/heads/b1"
    git("symbolic_ref", work, "HEAD", value="refs/heads/main")
    assert git("current_branch", work) == "main"
    git("branch", work, "b1", opts="-D")
    assert git("list_branches", work) == ["main"]
    with pytest.raises(UsageError, match="'rev' argument is required unless -b or -B in opts"):
        git("checkout", work)


def test_settings(git, work):
    assert git("config_get", "user.name", cwd=str(work)) is None
    assert git("config_get", "user.name", **{"global": True}) == "A"
    assert git("config_set", "user.name", "B C", cwd=str(work)) == ["B C"]
    assert git("config_set", "m.x", cwd=str(work), multivar=["a", "b"]) == ["a", "b"]
    assert git("config_set", "m.x", "c", cwd=str(work), add=True) == ["a", "b", "c"]
    assert git("config_get_regexp", "^m.*", cwd=str(work)) == {"m.x": ["a", "b", "c"]}
    with pytest.raises(FunctionError, match=r"Multiple values exist for key 'm\.x'"):
        git("config_unset", "m.x", cwd=str(work))
    assert git("config_unset", "m.x", cwd=str(work), all=True) is True
    with pytest.raises(FunctionError, match=r"Key 'm\.x' does not exist"):
        git("config_unset", "m.x", cwd=str(work))


def test_work_trees(git, work, tmp_path):
    git("worktree_add", work, tmp_path / "wt", ref="v1", detach=True)
    assert git("is_worktree", tmp_path / "wt") is True
    assert git("is_worktree", work) is False
    trees = git("list_worktrees", work)
    assert trees[str(work)]["branch"] == "main"
    assert trees[str(tmp_path / "wt")]["tags"] == ["v1"]
    assert git("worktree_rm", tmp_path / "wt") is True
    assert list(git("list_worktrees", work, stale=True)) == [str(tmp_path / "wt")]
    assert "wt" in git("worktree_prune", work)
    assert git("list_worktrees", work, stale=True) == {}
    with pytest.raises(FunctionError, match="is not a git worktree"):
        git("worktree_rm", work)
    assert work.exists()


def test_archives_and_new_repositories(git, work, tmp_path):
    assert git("archive", work, tmp_path / "x.tar") is True
    assert (tmp_path / "x.tar").stat().st_size > 0
    made = git("init", tmp_path / "i", bare=True)
    assert made == f"Initialized empty Git repository in {tmp_path / 'i'}/"


def test_what_git_says_is_in_the_error(git, tmp_path):
    with pytest.raises(FunctionError) as caught:
        git("clone", tmp_path / "x", "/nosuch/x.git")
    assert str(caught.value) == (
        f"Command 'git clone -- /nosuch/x.git {tmp_path}/x' failed:"
        " fatal: repository '/nosuch/x.git' does not exist"
    )
    with pytest.raises(FunctionError, match="Specified cwd '/nosuch' either not absolute"):
        git("status", "/nosuch")


def test_an_address_is_no_option(git, tmp_path):
    with pytest.raises(FunctionError):
        git("clone", tmp_path / "x", f"--upload-pack=touch {tmp_path}/PWNED")
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        ("clone", ["{tmp}/x", "https://127.0.0.1:1/x"], {}),
        ("ls_remote", [], {"remote": "https://127.0.0.1:1/x"}),
        ("remote_refs", ["https://127.0.0.1:1/x"], {}),
        ("clone", ["{tmp}/x", "http://h.example/x"], {}),
        ("remote_set", ["{tmp}/w", "https://h.example/x"], {"remote": "up"}),
    ],
)
def test_a_password_is_in_no_log_no_error_and_no_answer(
    git, work, tmp_path, caplog, function, args, kwargs
):
    args = [each.replace("{tmp}", str(tmp_path)) for each in args]
    quoted = git_provider.quote(SECRET, safe="")
    with caplog.at_level(0):
        try:
            said = git(function, *args, https_user="u", https_pass=SECRET, **kwargs)
        except FunctionError as error:
            said = error
        shown = git("remotes", work)
    for text in (str(said), caplog.text, str(shown)):
        assert SECRET not in text
        assert quoted not in text


def test_a_password_in_an_address_is_hidden_unless_asked_for(git, work):
    git("remote_set", work, f"https://u:{SECRET.replace('/', '%2F')}@h.example/x", remote="up")
    assert git("remote_get", work, remote="up")["fetch"] == "https://<redacted>@h.example/x"
    assert "s3cr3t" in git("remote_get", work, remote="up", redact_auth=False)["fetch"]


@pytest.mark.parametrize(
    ("url", "user", "password", "found"),
    [
        ("https://h/x", None, None, "https://h/x"),
        ("https://h/x", "u", None, "https://u@h/x"),
        ("https://h/x@y", "u", "p", "https://u:p@h/x@y"),
        ("https://a:b@h/x", "u", "p@:/", "https://u:p%40%3A%2F@h/x"),
    ],
)
def test_addresses_with_a_login(url, user, password, found):
    assert git_provider.with_login(url, user, password) == found


@pytest.mark.parametrize("url", ["http://h/x", "git@h:x", "/srv/x"])
def test_no_password_goes_over_an_open_line(url):
    with pytest.raises(UsageError, match="Basic Auth only supported for HTTPS"):
        git_provider.with_login(url, "u", "p")


def test_keys_for_ssh(git, tmp_path, monkeypatch):
    seen = []

    def ssh(ctx, cmd, options, *, shown=None):
        seen.append(options.env.get("GIT_SSH_COMMAND"))
        return git_provider.Outcome(1, 0 if "two" in str(seen[-1]) else 128, "", "denied")

    monkeypatch.setattr(git_provider.command, "run", ssh)
    for name in ("one", "two words", "three"):
        (tmp_path / name).write_text("key")
    keys = [str(tmp_path / name) for name in ("one", "two words", "three")]
    git("ls_remote", remote="git@h:x", identity=keys)
    assert len(seen) == 2
    assert seen[1].endswith(f"-i '{tmp_path}/two words'")
    with pytest.raises(FunctionError, match="not found: /nosuch"):
        git("ls_remote", remote="git@h:x", identity="/nosuch")


def test_the_directory_may_be_relative(git, work, monkeypatch):
    monkeypatch.chdir(work.parent)
    assert git("current_branch", "w") == "main"
    assert os.path.isabs(git_provider.directory("~/x"))
