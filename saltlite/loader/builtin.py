"""The execution modules that come with saltlite: the one table between a name and an import.

A function name comes from a peer. It chooses among these names and can never choose what is
imported.
"""

from __future__ import annotations

from collections.abc import Mapping

MODULES: Mapping[str, str] = {
    name: f"saltlite.modules.{name}"
    for name in (
        "alternatives",
        "archive",
        "cmd",
        "config",
        "cp",
        "cron",
        "data",
        "debconf",
        "defaults",
        "disk",
        "environ",
        "event",
        "file",
        "git",
        "grains",
        "group",
        "hashutil",
        "hosts",
        "http",
        "ini",
        "jinja",
        "key",
        "kmod",
        "locale",
        "log",
        "match",
        "mine",
        "mount",
        "network",
        "pillar",
        "pip",
        "pkg",
        "ps",
        "publish",
        "random",
        "saltutil",
        "sdb",
        "service",
        "shadow",
        "slsutil",
        "ssh",
        "state",
        "status",
        "sys",
        "sysctl",
        "system",
        "test",
        "timezone",
        "user",
        "virtualenv",
    )
}
"""Salt's name of a module and the Python module that has its functions."""

NAMED_OTHERWISE = frozenset(
    {
        "archive",
        "cmd",
        "debconf",
        "group",
        "ini",
        "locale",
        "pkg",
        "random",
        "service",
        "shadow",
        "sys",
        "sysctl",
        "user",
        "virtualenv",
    }
)
"""Modules whose file in Salt has another name: a user's file of this name adds to them.

A user's file that is called as one of Salt's own files takes its place whole. Source: observed on
Salt 3006.30.
"""
