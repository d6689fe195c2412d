"""A directory that says who somebody is, and in which groups. Through ldap3, imported when asked.

Whatever comes from a login is escaped where it goes, by the rules of that place: filters and names
have different ones. Source: RFC 4514, RFC 4515; the options ``auth.ldap.*`` of Salt.
"""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from saltlite.errors import FunctionError

log = logging.getLogger(__name__)

PREFIX: Final = "auth.ldap."
TIMEOUT_S: Final = 4
ENTRIES_MOST: Final = 10_000
_SCOPES: Final = ("BASE", "LEVEL", "SUBTREE")
_USERNAME = re.compile(r"\{\{\s*username\s*\}\}")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that was found: its name, and the values of its attributes as texts."""

    dn: str
    attributes: Mapping[str, list[str]] = field(default_factory=dict)

    def values(self, name: str) -> list[str]:
        """The values of one attribute, whose name may be written in any case."""
        wanted = name.lower()
        return next((all_ for one, all_ in self.attributes.items() if one.lower() == wanted), [])


class Directory:
    """The directory that the options name."""

    def __init__(self, opts: Mapping[str, Any]) -> None:
        self._opts = opts
        self._user: Any = None
        self._user_dn = ""

    def bind_user(self, username: str, password: str) -> bool:
        """Whether this is the user's password. Without one nobody is let in."""
        if not password:
            return False
        dn = self._find_user(username)
        if not dn:
            return False
        connection = self._connect(dn, password)
        if connection is None:
            return False
        self._user, self._user_dn = connection, dn
        return True

    def find_groups(self, username: str) -> list[str]:
        """The names of the user's groups."""
        connection = self._bind_for_search() or self._user
        if connection is None:
            return []
        if self._flag("activedirectory"):
            return self._active_directory(connection, username)
        if self._flag("freeipa"):
            found = self._search(
                connection,
                self._text("group_basedn") or self._text("basedn"),
                fill_filter(self._text("group_filter"), username),
                [self._text("groupattribute", "memberOf"), "cn"],
            )
            return [name for one in found for name in one.values("cn")]
        return self._posix(connection, username)

    # --- the user ------------------------------------------------------------------------

    def _find_user(self, username: str) -> str:
        """The name of the user's entry, ``""`` if there is not exactly one."""
        binddn, bindpw = self._text("binddn"), self._text("bindpw")
        if binddn and not bindpw:
            return fill_name(binddn, username)
        connection = self._bind_for_search()
        if connection is None:
            return ""
        self._user_dn = self._search_user(connection, username)
        return self._user_dn

    def _search_user(self, connection: Any, username: str) -> str:
        wanted = self._text("filter")
        if not wanted:
            raise FunctionError(f"{PREFIX}filter is needed to find users")
        found = self._search(connection, self._text("basedn"), fill_filter(wanted, username), [])
        if len(found) > 1:
            log.warning("ldap: %sfilter finds %d entries for one user", PREFIX, len(found))
        return found[0].dn if len(found) == 1 else ""

    def _bind_for_search(self) -> Any:
        """A connection to search with; ``None`` if there is no account for that."""
        binddn, bindpw = self._text("binddn"), self._text("bindpw")
        if binddn and bindpw:
            connection = self._connect(binddn, bindpw)
            if connection is None:
                raise FunctionError(f"the directory refuses {PREFIX}binddn")
            return connection
        return self._connect("", "") if self._flag("anonymous") else None

    # --- groups --------------------------------------------------------------------------

    def _active_directory(self, connection: Any, username: str) -> list[str]:
        account = self._text("accountattributename", "memberUid")
        person = escape_filter(self._text("persontype", "person"))
        wanted = f"(&({account}={escape_filter(username)})(objectClass={person}))"
        users = self._search(connection, self._text("basedn"), wanted, [])
        if len(users) != 1:
            return []
        kind = escape_filter(self._text("groupclass", "posixGroup"))
        wanted = f"(&(member={escape_filter(users[0].dn)})(objectClass={kind}))"
        found = self._search(connection, self._text("basedn"), wanted, ["cn"])
        return [name for one in found for name in one.values("cn")]

    def _posix(self, connection: Any, username: str) -> list[str]:
        account = self._text("accountattributename", "memberUid")
        kind = escape_filter(self._text("groupclass", "posixGroup"))
        below = self._text("groupou", "Groups")
        base = ",".join(filter(None, (below and f"ou={below}", self._text("basedn"))))
        wanted = f"(&({account}={escape_filter(username)})(objectClass={kind}))"
        found = self._search(connection, base, wanted, ["cn", account])
        names = [
            name for one in found if username in one.values(account) for name in one.values("cn")
        ]
        return [*names, *self._listed_groups(connection)]

    def _listed_groups(self, connection: Any) -> list[str]:
        """The groups that the user's own entry names."""
        if not self._user_dn:
            return []
        attribute = self._text("groupattribute", "memberOf")
        found = self._search(connection, self._user_dn, "(objectClass=*)", [attribute], "BASE")
        return [first_value(name) for one in found for name in one.values(attribute)]

    # --- the connection ------------------------------------------------------------------

    def _text(self, name: str, default: str = "") -> str:
        return str(self._opts.get(PREFIX + name) or default)

    def _flag(self, name: str) -> bool:
        return self._opts.get(PREFIX + name) is True

    def _connect(self, dn: str, password: str) -> Any:
        """A connection that is bound; ``None`` if the directory refuses it.

        Raises:
            FunctionError: the directory does not answer, or cannot be trusted.
        """
        ldap3 = _library()
        if self._flag("starttls") and self._flag("tls"):
            raise FunctionError(f"{PREFIX}starttls and {PREFIX}tls exclude each other")
        verify = ssl.CERT_NONE if self._flag("no_verify") else ssl.CERT_REQUIRED
        try:
            server = ldap3.Server(
                self._address(),
                tls=ldap3.Tls(validate=verify),
                get_info=ldap3.NONE,
                connect_timeout=TIMEOUT_S,
            )
            connection = ldap3.Connection(
                server,
                user=dn or None,
                password=password or None,
                auto_referrals=False,
                receive_timeout=TIMEOUT_S,
            )
            connection.open()
            if self._flag("starttls") and not connection.start_tls():
                raise FunctionError("the directory refuses StartTLS")
            return connection if connection.bind() else None
        except ldap3.core.exceptions.LDAPException as error:
            raise FunctionError(f"the directory does not answer: {type(error).__name__}") from error

    def _address(self) -> str:
        uri = self._text("uri")
        if uri:
            return uri
        scheme = "ldaps" if self._flag("tls") else "ldap"
        return f"{scheme}://{self._text('server', 'localhost')}:{self._text('port', '389')}"

    def _search(
        self, connection: Any, base: str, wanted: str, attributes: list[str], scope: str = ""
    ) -> list[Entry]:
        ldap3 = _library()
        try:
            connection.search(
                base,
                wanted,
                search_scope=scope or self._scope(),
                attributes=attributes,
                size_limit=ENTRIES_MOST,
                time_limit=TIMEOUT_S,
            )
        except ldap3.core.exceptions.LDAPException as error:
            raise FunctionError(f"the directory cannot be searched: {error}") from error
        return [
            Entry(one["dn"], {name: _texts(all_) for name, all_ in one["attributes"].items()})
            for one in connection.response or ()
            if one.get("type") == "searchResEntry"
        ]

    def _scope(self) -> str:
        scope = self._opts.get(f"{PREFIX}scope", 2)
        if type(scope) is not int or scope not in range(len(_SCOPES)):
            raise FunctionError(f"{PREFIX}scope: found {scope!r}, allowed: 0, 1 or 2")
        return _SCOPES[scope]


def fill_filter(template: str, username: str) -> str:
    """A filter for one user."""
    return _USERNAME.sub(lambda _found: escape_filter(username), template)


def fill_name(template: str, username: str) -> str:
    """The name of a user's entry."""
    return _USERNAME.sub(lambda _found: escape_name(username), template)


def escape_filter(text: str) -> str:
    """A text as a value in a filter. Source: RFC 4515, 3."""
    return re.sub(r"[*()\\\x00]", lambda found: f"\\{ord(found[0]):02x}", text)


def escape_name(text: str) -> str:
    """A text as a value in a name. Source: RFC 4514, 2.4."""
    found = re.sub(r'[,+"\\<>;=]', lambda one: "\\" + one[0], text).replace("\0", "\\00")
    if found.startswith((" ", "#")):
        found = "\\" + found
    return f"{found[:-1]}\\ " if found.endswith(" ") and found != "\\ " else found


def first_value(name: str) -> str:
    """The first value in the name of an entry: ``ops`` of ``cn=ops,ou=Groups,dc=x``."""
    first = re.split(r"(?<!\\),", name, maxsplit=1)[0]
    return first.partition("=")[2]


def _texts(values: Any) -> list[str]:
    listed = values if isinstance(values, (list, tuple)) else [values]
    return [
        one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in listed
    ]


def _library() -> Any:
    try:
        import ldap3
    except ImportError as error:
        raise FunctionError("ldap needs the package ldap3: pip install saltlite[ldap]") from error
    return ldap3
