"""Whether an entry that a directory found is the one of the name that was given."""

from __future__ import annotations

from typing import Any

import pytest

from saltlite.providers.ldap import Directory, LdapEntry

PEOPLE = "ou=People,dc=x"
SEARCHED = {"binddn": "cn=admin", "bindpw": "x", "filter": "(&(uid={{ username }})(objectClass=p))"}
NAMED = {"bindpw": "", "binddn": f"uid={{{{username}}}},{PEOPLE}"}


class OneEntry(Directory):
    """A directory that finds the same entry whatever the name, as some collations nearly do."""

    def __init__(self, attributes: dict[str, list[str]], options: dict[str, str]) -> None:
        super().__init__({f"auth.ldap.{name}": value for name, value in options.items()})
        self.entry = LdapEntry(f"uid=anna,{PEOPLE}", attributes)
        self.asked: list[list[str]] = []

    def _bind_connection(self, dn: str, password: str) -> Any:
        return object()

    def _search_entries(
        self, connection: Any, base: str, wanted: str, attributes: list[str], scope: str = ""
    ) -> list[LdapEntry]:
        self.asked.append(attributes)
        return [self.entry]


@pytest.mark.parametrize(
    ("username", "attributes", "more", "right"),
    [
        ("anna", {"uid": ["anna"]}, {}, True),
        ("anna", {"uid": ["x", "anna"]}, {}, True),
        ("Anna", {"UID": ["anna"]}, {}, True),
        ("\u00e1nna", {"uid": ["anna"]}, {}, False),
        ("ann", {"uid": ["anna"]}, {}, False),
        ("ben", {"uid": ["anna"]}, {}, False),
        ("ben", {}, {}, True),  # it may not be read
        ("anna", {"mail": ["anna@x.example"]}, {"filter": "(mail={{username}}@x.example)"}, True),
        ("ben", {"mail": ["anna@x.example"]}, {"filter": "(mail={{username}}@x.example)"}, False),
        ("anna", {"mail": ["anna@y"]}, {"filter": "(mail={{username}}@*)"}, True),
        ("a", {"mail": ["anna@y"]}, {"filter": "(mail={{username}}@*)"}, False),
        ("a@y", {"uid": ["a"], "mail": ["a@y"]},
         {"filter": "(|(uid={{username}})(mail={{username}}))"}, True),
        ("anna", {"uid": ["anna"]}, NAMED, True),
        ("ben", {"uid": ["anna"]}, NAMED, False),
    ],
)  # fmt: skip
def test_an_entry_of_another_name_lets_in_nobody(
    username: str, attributes: dict[str, list[str]], more: dict[str, str], right: bool
) -> None:
    directory = OneEntry(attributes, {**SEARCHED, **more})
    assert directory.bind_user(username, "pw") is right
    assert directory.asked[-1], "which attributes"
