"""git on this machine: how it is run, and its output taken apart.

No password gets into a log line, an error or (unless asked for) an answer: commands are not
logged, and what stands before ``@`` in an address is hidden in every text. Called by
``modules/git/``. Source: git(1); observed on Salt 3006.30.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from saltlite import openat
from saltlite.core.dataclasses import dataclass
from saltlite.core.keywords import own_keywords
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, UsageError
from saltlite.providers import command
from saltlite.providers.command import CommandOptions, Outcome

if TYPE_CHECKING:
    from saltlite.context import MinionContext

_AUTH = regex(r"(https?)://[^\s'\"]*@")
_FETCHED = regex(
    r"^\s*[ +*t=!-]?\s*(?:\[(?P<new>new tag|new branch|new ref|tag update)\]"
    r"|(?P<old>[0-9a-f]{4,40})\.{2,3}(?P<now>[0-9a-f]{4,40}))\s+(?P<source>\S+)\s+->"
)
_STATES = {"M": "modified", "A": "new", "D": "deleted", "??": "untracked"}

SSH = "ssh -o StrictHostKeyChecking=accept-new -o BatchMode=yes -o IdentitiesOnly=yes"
"""ssh with one key and without questions: hosts are believed at first sight only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitCaller:
    """Who runs git, and how. ``cwd`` ``None`` means the user's home."""

    cwd: str | None = None
    user: str | None = None
    identity: Any = None
    output_encoding: str | None = None
    saltenv: str = "base"
    fail: bool = True


def git(ctx: MinionContext, words: Sequence[str], run: GitCaller) -> Outcome:
    """Run git to its end; with ``identity`` with each of these keys until one is let in.

    Raises:
        FunctionError: it failed, unless ``run.fail`` is off; its words, without passwords.
    """
    if not run.identity:
        return _judge_outcome(_run_once(ctx, words, run, None), words, run)
    keys = _find_identities(ctx, run)
    outcome = _run_once(ctx, words, run, keys[0])
    for key in keys[1:]:
        if outcome.retcode == 0:
            break
        outcome = _run_once(ctx, words, run, key)
    return _judge_outcome(outcome, words, run)


def _run_once(ctx: MinionContext, words: Sequence[str], run: GitCaller, key: str | None) -> Outcome:
    refuse_misleading(run.cwd, run.user)
    # without the locks a look at a clone does not write its index anew
    env = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "LANG": "C"}
    if key is not None:
        env["GIT_SSH_COMMAND"] = f"{SSH} -i {shlex.quote(key)}"
    options = CommandOptions(  # noqa: S604 - the shell of a user's login, not one that reads a command
        cwd=run.cwd,
        runas=run.user,
        python_shell=False,
        env=env,
        rstrip=False,
        output_encoding=run.output_encoding,
        output_loglevel="quiet",
        ignore_retcode=True,
        shell="/bin/sh",
    )
    return command.run(ctx, list(words), options)


def refuse_misleading(path: str | None, user: str | None) -> None:
    """Raise UntrustedPath if root would be led to a directory by another user's link.

    git itself refuses repositories of others. What it does as ``user`` that user may do.
    """
    if path and not user:
        openat.refuse_misleading(path)


def _judge_outcome(outcome: Outcome, words: Sequence[str], run: GitCaller) -> Outcome:
    if outcome.retcode == 0 or not run.fail:
        return outcome
    said = outcome.stderr.strip()
    failed = f"Command '{' '.join(words)}' failed"
    raise FunctionError(redact_text(f"{failed}: {said}" if said else failed))


def _find_identities(ctx: MinionContext, run: GitCaller) -> list[str]:
    """The files of the keys; those of the master are fetched.

    Raises:
        FunctionError: one is not there.
    """
    wanted = [run.identity] if isinstance(run.identity, str) else list(run.identity)
    found, absent = [], []
    for each in map(str, wanted):
        path = each
        if "://" in each:
            path = str(ctx.functions.call("cp.cache_file", each, run.saltenv) or "")
            if path:
                os.chmod(path, 0o600)
        if path and ctx.host.exists(path):
            found.append(path)
        else:
            absent.append(each)
    if absent:
        raise FunctionError(
            "Unable to authenticate using identity file:\n\n"
            f"The following identity file(s) were not found: {', '.join(absent)}"
        )
    return found


def redact_text(text: str) -> str:
    """A text without names and passwords in addresses."""
    return _AUTH.sub(r"\1://<redacted>@", text)


def with_login(url: str, user: str | None, password: str | None) -> str:
    """An address with a name and a password for it.

    Raises:
        UsageError: there is a password without a name, or the address is not ``https``.
    """
    if user is None and password is None:
        return url
    if user is None:
        raise UsageError("https_user is required if https_pass is specified")
    scheme, separator, rest = url.partition("://")
    if not separator or scheme.lower() != "https":
        raise UsageError("Basic Auth only supported for HTTPS")
    login = ":".join(quote(str(part), safe="") for part in (user, password) if part is not None)
    host, slash, path = rest.partition("/")
    return f"{scheme}://{login}@{host.rpartition('@')[2]}{slash}{path}"


def option_words(opts: object) -> list[str]:
    """Options of the command line: a list, or text as a shell would split it.

    Raises:
        UsageError: it is neither.
    """
    if opts is None or opts == "":
        return []
    if isinstance(opts, (list, tuple)):
        return [str(each) for each in opts]
    try:
        words = shlex.split(str(opts))
    except ValueError as error:
        raise UsageError(f"options cannot be split into words: {error}") from error
    return words[1:] if words[:1] == ["--"] else words


def directory(cwd: object) -> str:
    """A directory as a user names it: ``~`` and relative paths are possible."""
    return os.path.abspath(os.path.expanduser(str(cwd)))


def parse_fetched(text: str) -> dict[str, Any]:
    """What ``git fetch`` says it did: new and updated branches and tags."""
    found: dict[str, Any] = {}
    for line in text.splitlines():
        match = _FETCHED.match(line)
        if match is None:
            continue
        name, kind = match["source"], match["new"]
        if match["old"]:
            updated = found.setdefault("updated branches", {})
            updated[name] = {"old": match["old"], "new": match["now"]}
        elif kind == "tag update":
            found.setdefault("updated tags", []).append(name)
        else:
            what = "new tags" if kind == "new tag" else "new branches"
            found.setdefault(what, []).append(name)
    return found


def parse_status(text: str) -> dict[str, list[str]]:
    """``git status -z --porcelain``: the files of each state."""
    found: dict[str, list[str]] = {}
    fields = iter(text.split("\0"))
    for field in fields:
        code, path = field[:2].strip(), field[3:]
        if not path:
            continue
        if code[:1] in ("R", "C"):
            next(fields, None)  # the name it had before
        state = _STATES.get(code, _STATES.get(code[:1], "modified"))
        found.setdefault(state, []).append(path)
    return found


def parse_remotes(text: str, hide: bool) -> dict[str, dict[str, str]]:
    """``git remote --verbose``: the addresses to fetch from and push to."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        name, _, rest = line.partition("\t")
        url, _, kind = rest.rpartition(" (")
        if url:
            shown = redact_text(url) if hide else url
            found.setdefault(name, {})[kind.rstrip(")")] = shown
    return found


def parse_refs(text: str) -> dict[str, str]:
    """``git ls-remote``: references and what they stand for."""
    pairs = (line.partition("\t") for line in text.splitlines())
    return {name.strip(): sha for sha, tab, name in pairs if tab}


def parse_worktrees(text: str) -> dict[str, dict[str, Any]]:
    """``git worktree list --porcelain``: head and branch of each, the main one first."""
    found: dict[str, dict[str, Any]] = {}
    for block in text.strip().split("\n\n"):
        fields = dict(_word_and_rest(line) for line in block.splitlines())
        path = fields.get("worktree")
        if path is None:
            continue
        tree: dict[str, Any] = {"stale": False}
        if "HEAD" in fields:
            tree["HEAD"] = fields["HEAD"]
        tree["detached"] = "detached" in fields
        branch = fields.get("branch", "").removeprefix("refs/heads/")
        tree["branch"] = branch or None
        if "bare" in fields:
            tree["bare"] = True
        found[path] = tree
    return found


def _word_and_rest(line: str) -> tuple[str, str]:
    word, _, rest = line.partition(" ")
    return word, rest


def parse_config(text: str) -> dict[str, list[str]]:
    """``git config --null --get-regexp``: the values of each key."""
    found: dict[str, list[str]] = {}
    for entry in text.split("\0"):
        key, newline, value = entry.partition("\n")
        if key:
            found.setdefault(key, []).append(value if newline else "")
    return found


def own(kwargs: Mapping[str, object], *known: str) -> dict[str, Any]:
    """Keyword arguments without what the job brings along.

    Raises:
        UsageError: there is one that the function does not know.
    """
    given = own_keywords(kwargs)
    stray = [f"{name}={value}" for name, value in given.items() if name not in known]
    if stray:
        raise UsageError(f"The following keyword arguments are not valid: {', '.join(stray)}")
    return given
