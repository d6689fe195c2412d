"""A second file for the same name."""

__virtualname__ = "release"


def __virtual__():
    return __virtualname__


def latest():
    return __salt__["release.list"]()[-1]
