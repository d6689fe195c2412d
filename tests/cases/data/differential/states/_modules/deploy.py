"""
Deploy releases of an application
=================================

Written as custom modules in public trees are.
"""

import logging
import os

import salt.utils.files
import salt.utils.path
from salt.exceptions import CommandExecutionError, SaltInvocationError

log = logging.getLogger(__name__)

__virtualname__ = "release"
__func_alias__ = {"list_": "list", "set_": "set"}
__outputter__ = {"current": "txt"}
__opts__ = {"release.root": "/srv/release", "id": "never seen"}

RELEASES = ["1.0", "1.1", "2.0"]


def __virtual__():
    """Only where there is a shell."""
    if not salt.utils.path.which("sh"):
        return False, "release needs a shell"
    return __virtualname__


def _place(name):
    return os.path.join(__opts__["release.root"], name)


def list_():
    """
    List the releases

    CLI Example:

    .. code-block:: bash

        salt '*' release.list
    """
    return RELEASES


def current(path, default=None):
    """The release that a link names."""
    if not os.path.islink(path):
        return default
    return os.path.basename(os.readlink(path))


def set_(path, name, force=False, **kwargs):
    """
    Point a link at a release

    path
        The link.
    name
        The release.
    """
    unknown = [key for key in kwargs if not key.startswith("__")]
    if unknown:
        raise SaltInvocationError(f"unknown arguments: {', '.join(sorted(unknown))}")
    if name not in RELEASES and not force:
        raise CommandExecutionError(f"no release {name}")
    if __salt__["test.false"]():
        raise CommandExecutionError("never")
    if os.path.islink(path):
        os.remove(path)
    os.symlink(_place(name), path)
    return {"result": True, "changes": {"new": name}}


def where(name):
    """Where a release lies, and whose minion this is."""
    return [_place(name), __opts__["id"], __grains__["kernel"]]


def echo(*args, **kwargs):
    """Arguments through another module."""
    return __salt__["test.arg_clean"](*args, **kwargs)


def counted():
    """How often it was called, as the context knows."""
    __context__.setdefault("release.count", 0)
    __context__["release.count"] += 1
    return __context__["release.count"] > 0


def known(*names):
    """Which functions are there."""
    return [name in __salt__ for name in names]


def absent(name):
    """Call a function that may not be there."""
    try:
        return __salt__[name]()
    except KeyError as error:
        return ["KeyError", str(error)]


def careful(command):
    """Run something and say how it ended."""
    try:
        return __salt__["cmd.run"](command, cwd="/no/such/directory")
    except CommandExecutionError as error:
        return f"failed: {type(error).__name__}"


def checked(name, **kwargs):
    """Raise what a caller did wrong."""
    raise CommandExecutionError({"bad": name})


def through_utils(text):
    """A custom utility."""
    return __utils__["textlib.slug"](text)


def listed():
    """What the globals have."""
    names = "__salt__ __opts__ __grains__ __pillar__ __context__ __utils__ __states__ __env__"
    return [name in globals() for name in names.split()]


def pillared(key):
    """A value of the pillar."""
    return __pillar__.get(key, "nothing")


def attribute():
    """Functions as attributes."""
    return __salt__.test.echo("x")


class Helper:
    """No function."""


shout = lambda text: text.upper()  # noqa: E731 - as some write it
