"""Says that it cannot be used."""


def __virtual__():
    return False, "it is for another system"


def f():
    return 1
