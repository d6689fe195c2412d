"""A module of several files."""

from .names import first


def name():
    return first()
