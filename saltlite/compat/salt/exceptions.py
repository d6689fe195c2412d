"""``salt.exceptions``: what Salt files raise and catch.

They are kin of saltlite's own errors, so that the job runner words them as Salt does, and
:func:`as_salt` turns ours into these where a Salt file calls a function of ours.
"""

from __future__ import annotations

from typing import Any

from saltlite.errors import (
    AccessDenied,
    AuthError,
    CommandError,
    ConfigError,
    FunctionError,
    FunctionUnavailable,
    MasterAbsent,
    MasterRefused,
    RenderError,
    RequestTimeout,
    SaltliteError,
    UsageError,
)


class SaltException(SaltliteError):
    """The root of what Salt raises."""

    def __init__(self, message: object = "") -> None:
        self.message = self.strerror = message if isinstance(message, str) else str(message)
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def pack(self) -> dict[str, Any]:
        """The exception as it travels."""
        return {"message": str(self), "args": self.args}


class CommandExecutionError(FunctionError, SaltException):
    """A function cannot do what was asked. ``info`` has more, for states."""

    def __init__(self, message: object = "", info: object = None) -> None:
        SaltException.__init__(self, message)
        self.retcode = 1
        self.error = self.message
        self.info = info


class CommandNotFoundError(CommandError, SaltException):
    """A program is not there."""

    def __init__(self, message: object = "") -> None:
        SaltException.__init__(self, message)
        self.argv, self.exit_code, self.stderr = (), None, ""


class SaltInvocationError(UsageError, SaltException):
    """A function was called wrongly."""


class ArgumentValueError(CommandExecutionError):
    """An argument has a value that is not allowed."""


class CheckError(CommandExecutionError):
    """A check of a state's file went wrong."""


class TimeoutError(SaltException):
    """Something took too long."""


class SaltClientError(SaltException):
    """Something is wrong on the master's side."""


class SaltClientTimeout(SaltException):
    """A job did not return in time."""

    def __init__(self, message: object = "", jid: object = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(message)
        self.jid = jid


class SaltReqTimeoutError(SaltException):
    """The master did not answer in time."""


class SaltMasterError(SaltException):
    """The master does not run as it should."""


class SaltMasterUnresolvableError(SaltException):
    """The master's name has no address."""


class SaltSystemExit(SystemExit):
    """The command has to end."""

    def __init__(self, code: int = 0, msg: object = None) -> None:
        super().__init__(msg or code)


class SaltConfigurationError(SaltException):
    """An option is wrong."""


class SaltRenderError(SaltException):
    """A file does not render."""

    def __init__(
        self, message: object = "", line_num: object = None, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__(message)
        self.error, self.line_num = self.message, line_num


class SaltRunnerError(SaltException):
    """A runner cannot go on."""


class SaltWheelError(SaltException):
    """A wheel function cannot go on."""


class SaltDeserializationError(SaltException):
    """Bytes do not decode."""


class SaltCacheError(SaltException):
    """The cache cannot be used."""


class SaltDaemonNotRunning(SaltException):
    """A daemon is needed and not there."""


class AuthenticationError(SaltException):
    """The master did not believe who it was."""


class AuthorizationError(SaltException):
    """That is not allowed."""


class EauthAuthenticationError(SaltException):
    """External authentication failed."""


class TokenAuthenticationError(SaltException):
    """A token is not valid."""


class LoaderError(SaltException):
    """A module cannot be loaded."""


class MinionError(SaltException):
    """A file or URL cannot be had."""


class FileserverConfigError(SaltException):
    """An option of the file server is wrong."""


class FileLockError(SaltException):
    """A file's lock cannot be had."""

    def __init__(self, message: object = "", time_start: object = None, **kwargs: Any) -> None:
        super().__init__(message)
        self.time_start = time_start


class GitLockError(SaltException):
    """A repository's lock cannot be had."""


class NotImplemented(SaltException):
    """That is not there yet."""


class PkgParseError(SaltException):
    """The answer of a package manager cannot be read."""


class PublishError(SaltException):
    """A job cannot be published."""


class MissingSmb(SaltException):
    """A library for Windows shares is not there."""


class TimedProcTimeoutError(SaltException):
    """A program took too long."""


class VMwareSaltError(CommandExecutionError):
    """Something of VMware went wrong."""


class InvalidEntityError(CommandExecutionError):
    """Something does not have the form that it must have."""


class GetPassMissingError(SaltException):
    """A password cannot be asked for."""


class NetapiException(SaltException):
    """The HTTP API was asked for the impossible."""


class UnsupportedError(SaltException):
    """That cannot be done here."""


def as_salt(error: SaltliteError) -> Exception:
    """An error of saltlite as the exception that Salt would have raised."""
    if isinstance(error, SaltException):
        return error
    if isinstance(error, FunctionUnavailable):
        return KeyError(error.name)
    if isinstance(error, CommandError) and error.exit_code is None:
        return CommandNotFoundError(str(error))
    kin: Exception = _KIN.get(type(error), CommandExecutionError)(str(error))
    return kin


_KIN: dict[type[SaltliteError], Any] = {
    UsageError: SaltInvocationError,
    RenderError: SaltRenderError,
    RequestTimeout: SaltReqTimeoutError,
    AuthError: AuthenticationError,
    ConfigError: SaltConfigurationError,
    MasterAbsent: SaltClientError,
    MasterRefused: AuthorizationError,
    AccessDenied: SaltClientError,
}
