"""Needs what is not there."""

import no_such_library


def f():
    return no_such_library.x
