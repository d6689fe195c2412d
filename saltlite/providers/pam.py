"""PAM: whether a password is right, and whether the account may be used. By libpam itself.

A module of PAM may take as long as it likes and leave behind what it likes, so a caller has to be
a process that ends soon. Source: pam(3), pam_start(3), pam_conv(3).
"""

from __future__ import annotations

import ctypes
import grp
import os
import pwd
from collections.abc import Callable
from typing import Any, Final

from saltlite.errors import FunctionError

SUCCESS: Final = 0
BUFFER_ERROR: Final = 5
CONVERSATION_ERROR: Final = 19

_PROMPT_SILENT, _PROMPT_SHOWN = 1, 2
_FAIL_DELAY: Final = 10
_DISALLOW_EMPTY: Final = 0x1
_SILENT: Final = 0x8000
_MESSAGES_MOST: Final = 32


class _Message(ctypes.Structure):
    _fields_ = (("style", ctypes.c_int), ("text", ctypes.c_char_p))


class _Response(ctypes.Structure):
    _fields_ = (("text", ctypes.c_void_p), ("code", ctypes.c_int))


_CONVERSE = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(ctypes.POINTER(_Message)),
    ctypes.POINTER(ctypes.POINTER(_Response)),
    ctypes.c_void_p,
)
_DELAY = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p)


class _Conversation(ctypes.Structure):
    _fields_ = (("converse", _CONVERSE), ("data", ctypes.c_void_p))


def check_password(service: str, username: str, password: str) -> bool:
    """Whether the password is right and the account is neither locked nor expired.

    Raises:
        FunctionError: there is no PAM here.
    """
    return _ask_pam(service, username, password, authenticate=True)


def check_account(service: str, username: str) -> bool:
    """Whether the account may be used now, whatever its password.

    Raises:
        FunctionError: there is no PAM here.
    """
    return _ask_pam(service, username, "", authenticate=False)


def find_groups(username: str) -> list[str]:
    """The groups of an account, by name."""
    try:
        account = pwd.getpwnam(username)
        numbers = os.getgrouplist(username, account.pw_gid)
    except (KeyError, OSError):
        return []
    return [name for name in map(_group_name, numbers) if name]


def _group_name(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return ""


def may_check_others() -> bool:
    """Whether this process may check the passwords of others: it has to read their hashes."""
    if os.geteuid() == 0:
        return True
    try:
        shadow = grp.getgrnam("shadow").gr_gid
    except KeyError:
        return False
    return shadow in {os.getegid(), *os.getgroups()}


def _ask_pam(service: str, username: str, password: str, *, authenticate: bool) -> bool:
    pam, libc = _load_libraries()
    converse = _CONVERSE(_make_converse(libc, username, password))
    delay = _DELAY(lambda _status, _microseconds, _data: None)
    handle = ctypes.c_void_p()
    conversation = _Conversation(converse, None)
    code = pam.pam_start(
        service.encode(), username.encode(), ctypes.byref(conversation), ctypes.byref(handle)
    )
    if code != SUCCESS:
        raise FunctionError(f"PAM has no service {service}: error {code}")
    # How long a failure takes is our own matter, see master/loginline.py.
    pam.pam_set_item(handle, _FAIL_DELAY, ctypes.cast(delay, ctypes.c_void_p))
    try:
        if authenticate:
            code = pam.pam_authenticate(handle, _DISALLOW_EMPTY | _SILENT)
        if code == SUCCESS:
            code = pam.pam_acct_mgmt(handle, _SILENT)
        return bool(code == SUCCESS)
    finally:
        pam.pam_end(handle, code)


def _make_converse(libc: Any, username: str, password: str) -> Callable[..., int]:
    """What answers the questions of PAM: the password where nothing is shown, else the name."""
    answers = {_PROMPT_SILENT: password.encode(), _PROMPT_SHOWN: username.encode()}

    def converse(number: int, messages: Any, responses: Any, _data: Any) -> int:
        if not 0 < number <= _MESSAGES_MOST:
            return CONVERSATION_ERROR
        memory = libc.calloc(number, ctypes.sizeof(_Response))
        if not memory:
            return BUFFER_ERROR
        found = ctypes.cast(memory, ctypes.POINTER(_Response))
        for index in range(number):
            answer = answers.get(messages[index].contents.style)
            # PAM frees the answers itself.
            found[index].text = None if answer is None else libc.strdup(answer)
        responses[0] = found
        return SUCCESS

    return converse


def _load_libraries() -> tuple[Any, Any]:
    try:
        pam, libc = ctypes.CDLL("libpam.so.0"), ctypes.CDLL(None)
    except OSError as error:
        raise FunctionError(f"there is no PAM here: {error}") from error
    libc.calloc.restype = ctypes.c_void_p
    libc.calloc.argtypes = (ctypes.c_size_t, ctypes.c_size_t)
    libc.strdup.restype = ctypes.c_void_p
    libc.strdup.argtypes = (ctypes.c_char_p,)
    pam.pam_start.argtypes = (
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p,
    )  # fmt: skip
    pam.pam_set_item.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    for function in (pam.pam_authenticate, pam.pam_acct_mgmt, pam.pam_end):
        function.argtypes = (ctypes.c_void_p, ctypes.c_int)
    return pam, libc
