"""Beside it."""


def first():
    return "alpha"
