"""Every exception saltlite raises on purpose.

The tree::

    SaltliteError
    ├── ConfigError          a configuration file, option or id is wrong
    │   └── NoSuchUser       the user that a daemon is to be is not there
    ├── WireError            bytes from a peer do not have the form they must have
    ├── CryptoError          a key, signature or ciphertext is wrong
    ├── AuthError            the master did not let the minion in
    │   ├── KeyPending       an operator has to accept the key first
    │   ├── KeyRejected      the key was rejected or denied
    │   ├── MasterFull       the master has max_minions already
    │   └── MasterUntrusted  the master's key is not the one that was pinned or demanded
    ├── RequestTimeout       no reply in time, after the last retry
    │   └── ConnectionBroke  no reply will come: the connection broke meanwhile
    ├── MasterAbsent         no master runs on this machine
    ├── AccessDenied         a file of a daemon is closed to whoever runs a command
    ├── MasterRefused        a clear command was answered with an error (name, message)
    ├── LoginsBusy           a login cannot be checked now, right or wrong
    ├── LoginUnchecked       the module that checks a login has failed over it
    ├── StoreError           something could not be recorded on disk
    │   ├── ServerAway       a database server cannot be reached or used now
    │   └── RecordRefused    a database server does not take what it was given
    ├── TargetError          a target expression is not well formed
    │   └── PatternTooSlow   a regular expression takes longer than it may
    ├── RenderError          an SLS, template or pillar file does not render (path, line)
    ├── DeclarationError     a state declaration is not well formed
    ├── CommandError         a command on the host failed (argv, exit code, stderr)
    │   └── ProgramMissing   a program that a function needs is not on this machine
    ├── FunctionUnavailable  no such execution module, runner or state function
    └── FunctionError        a function refuses to go on; Salt's CommandExecutionError
        ├── UsageError       it was called wrongly; Salt's SaltInvocationError
        └── UntrustedPath    a path leads where another user wants it to (path)

Errors carry fields, not only text. ``str(error)`` is one line that a user can act upon.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence


class SaltliteError(Exception):
    """Anything that saltlite itself found wrong."""


class ConfigError(SaltliteError):
    """A configuration file, option or minion id is wrong.

    ``path``, ``line`` and ``option`` are ``None`` where they do not apply; the text is
    ``file:line: option: what was found, what is allowed``.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | None = None,
        line: int | None = None,
        option: str | None = None,
    ) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        self.option = option
        place = path or ""
        if path and line is not None:
            place = f"{path}:{line}"
        super().__init__(": ".join(part for part in (place, option, problem) if part))


class WrongType(ConfigError):
    """The value of an option is of another type than the option's."""


class UntrustedFile(ConfigError):
    """Somebody else wrote a configuration file, or could have done so."""


class NoSuchUser(ConfigError):
    """The user that a daemon is to be is not there; Salt's sentence, exit code 67."""

    def __init__(self, name: str) -> None:
        super().__init__(f"The user is not available. There is no user {name}", option="user")


class WireError(SaltliteError):
    """Bytes from a peer do not decode to the form the protocol prescribes."""


class CryptoError(SaltliteError):
    """A key cannot be used, or a signature, MAC or ciphertext does not hold."""


class AuthError(SaltliteError):
    """The master did not let this minion in; subclasses say why."""


class KeyPending(AuthError):
    """The key waits for an operator (``salt-key -a``)."""


class KeyRejected(AuthError):
    """The key was rejected or denied."""


class MasterFull(AuthError):
    """The master serves ``max_minions`` already."""


class MasterUntrusted(AuthError):
    """The master's key is not the pinned, signed or fingerprinted one."""


class RequestTimeout(SaltliteError):
    """No reply came in time, after the last retry."""

    def __init__(self, address: str, waited_s: float) -> None:
        self.address = address
        self.waited_s = waited_s
        super().__init__(f"no reply from {address} within {waited_s:g} s")


class ConnectionBroke(RequestTimeout):
    """The connection broke with a request under way: asking again at once may help."""


class MasterAbsent(SaltliteError):
    """No master runs on this machine; the text is Salt's sentence about it.

    Source: docs/command-line.md#missing-returns.
    """


class AccessDenied(SaltliteError):
    """A file or socket that a command needs is not open to the user who runs it."""

    def __init__(self, path: object) -> None:
        self.path = str(path)
        super().__init__(f"no permission to use {path}")


class MasterRefused(SaltliteError):
    """The master answered a clear command with an error.

    ``name`` is the wire's error name, e.g. ``AuthenticationError``. Source:
    docs/wire.md#clear-commands.
    """

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        self.message = message
        super().__init__(message)


class LoginUnchecked(SaltliteError):
    """A module of external authentication failed over a login, which counts as wrong."""


class LoginsBusy(SaltliteError):
    """A name and a password cannot be checked now; whether they are right is not known.

    Source: docs/wire.md#clear-commands.
    """


class StoreError(SaltliteError):
    """Something that must be recorded could not be written or read."""


class ServerAway(StoreError):
    """A database server cannot be reached or used now; later it may be."""


class RecordRefused(StoreError):
    """A database server does not take what it was given, and never will."""


class TargetError(SaltliteError):
    """A target expression is not well formed; nobody matches it."""


class PatternTooSlow(TargetError):
    """A regular expression of somebody else takes longer than it may; what it fits is not known."""


class RenderError(SaltliteError):
    """A file does not render. ``line`` is ``None`` where the engine does not tell.

    ``problem`` is in Salt's words; ``brief`` takes its place in the one line, where those have what
    is in the file. ``excerpt`` has the lines around the place. ``hint`` is a sentence that tells
    what was probably meant. ``imported``: it is another file than the one that was to be rendered.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str,
        line: int | None = None,
        excerpt: str = "",
        imported: bool = False,
        brief: str = "",
        hint: str = "",
    ) -> None:
        self.problem = problem
        self.path = path
        self.line = line
        self.excerpt = excerpt
        self.imported = imported
        place = path if line is None else f"{path or '<template>'}:{line}"
        text = brief or problem
        if hint:
            text = f"{text.rstrip('.')}. {hint}"
        super().__init__(f"{place}: {text}" if place else text)

    @property
    def salt_text(self) -> str:
        """Salt's own words for it, of several lines. Source: observed on Salt 3006.30."""
        if self.line is None:
            return "\n".join(part for part in (self.problem, self.excerpt) if part)
        if self.imported:
            return f"{self.problem}\n{self.path}({self.line}):\n{self.excerpt}"
        return f"{self.problem}; line {self.line}\n\n{self.excerpt}"


class DeclarationError(SaltliteError):
    """A state declaration is not well formed."""


class CommandError(SaltliteError):
    """A command on the host could not be started (``exit_code`` ``None``) or failed."""

    def __init__(self, argv: Sequence[str], exit_code: int | None, stderr: str) -> None:
        self.argv = tuple(argv)
        self.exit_code = exit_code
        self.stderr = stderr
        said = stderr.strip()
        ended = f"{argv[0] if argv else ''}: exit code {exit_code}: {said}"
        super().__init__(said if exit_code is None else ended)


class ProgramMissing(CommandError):
    """A program that a function needs is not there; Salt's ``CommandNotFoundError``."""

    def __init__(self, program: str) -> None:
        super().__init__((program,), None, "")
        self.args = (f"The '{program}' binary was not found in $PATH.",)


class FunctionUnavailable(SaltliteError):
    """No function of that name here. ``str()`` is Salt's own text for it."""

    def __init__(self, name: str, reason: str | None = None) -> None:
        self.name = name
        self.reason = reason
        super().__init__(reason or f"'{name}' is not available.")


class FunctionError(SaltliteError):
    """A function refuses to go on; returned as ``ERROR: <text>`` with retcode 1.

    The counterpart of Salt's ``CommandExecutionError``. ``retcode`` is the job's.
    """

    def __init__(self, message: str, *, retcode: int = 1) -> None:
        self.retcode = retcode
        super().__init__(message)


class UsageError(FunctionError, TypeError):
    """A function was called with arguments that make no sense to it.

    The counterpart of Salt's ``SaltInvocationError``, which is a ``TypeError`` too.
    """


class UntrustedPath(FunctionError, PermissionError):
    """A path leads, or may lead, to where another user wants root to be; the text says why.

    It is what the system might have answered as well, and is handled where that is.
    """

    def __init__(self, path: str, reason: str) -> None:
        PermissionError.__init__(self, errno.EPERM, reason, path)

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"
