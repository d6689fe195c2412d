"""Functions that need something."""

import json

from salt.utils.decorators import depends, memoize
from salt.utils.decorators.path import which

CALLS = []


def _instead():
    return "instead"


@depends("json")
def here():
    return json.dumps({"a": 1})


@depends("no_such_library")
def gone():
    return 1


@depends("no_such_library", fallback_function=_instead)
def replaced():
    return 1


@depends(True)
def always():
    return 1


@depends(False)
def never():
    return 1


@memoize
def slow(key):
    CALLS.append(key)
    return len(CALLS)


def twice():
    return [slow("a"), slow("a"), slow("b")]


@which("sh")
def shell():
    return "there is one"


@which("no-such-program-here")
def no_shell():
    return "there is none"
