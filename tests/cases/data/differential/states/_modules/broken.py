"""Does not parse."""


def f(:
    return 1
