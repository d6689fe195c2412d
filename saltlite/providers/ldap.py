"""A directory that says who somebody is, and in which groups. Through ldap3, imported when asked.

Whatever comes from a login is escaped where it goes, by the rules of that place: filters and names
have different ones. Certificates are verified by what OpenLDAP's own tools trust, so that a
directory that Salt trusts is trusted here: ``LDAPTLS_CACERT``, else ``TLS_CACERT`` of
``ldap.conf``, else the system's. Source: RFC 4514, RFC 4515, ldap.conf(5); the
options ``auth.ldap.*``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from saltlite.core.access import name_key
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.ids import valid_minion_id
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError

log = logging.getLogger(__name__)

PREFIX: Final = "auth.ldap."
TIMEOUT_S: Final = 4
ENTRIES_MOST: Final = 10_000
OPTIONS: Final = frozenset(
    ("uri", "server", "port", "starttls", "tls", "no_verify", "binddn", "bindpw", "basedn",
     "filter", "scope", "anonymous", "activedirectory", "freeipa", "persontype", "groupou",
     "groupclass", "groupattribute", "accountattributename", "group_basedn", "group_filter",
     "minion_stripdomains")
)  # fmt: skip
"""The options that are obeyed, without :data:`PREFIX`."""

CONFIGURATIONS: Final = (Path("/etc/ldap/ldap.conf"), Path("/etc/openldap/ldap.conf"))
COMPUTERS: Final = "(objectClass=computer)"
SIZE_EXCEEDED: Final = 4
"""The result of a search that found more than the directory tells."""

_SCOPES: Final = ("BASE", "LEVEL", "SUBTREE")
_USERNAME = regex(r"\{\{\s*username\s*\}\}")
_NAMED = regex(r"([A-Za-z][\w.;-]*)(?::[^=]*)?=([^(),=]*\{\{\s*username\s*\}\}[^(),]*)")
"""What a template says of the user's entry: an attribute, and the value that it is to have."""


MEMBERSHIP_ONLY: Final = "auth_by_group_membership_only"
"""With ``anonymous``, Salt then lets in everybody whose name has groups, whatever the password."""


@dataclass(frozen=True, slots=True)
class LdapEntry:
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
        self.opts = opts
        self._user: Any = None
        self._user_dn = ""

    def bind_user(self, username: str, password: str) -> bool:
        """Whether this is the user's password. Without one nobody is let in."""
        if not password:
            return False
        dn = self._find_user(username)
        if not dn:
            return False
        connection = self._bind_connection(dn, password)
        if connection is None or not self._is_named(connection, dn, username):
            return False
        self._user, self._user_dn = connection, dn
        return True

    def find_groups(self, username: str) -> list[str]:
        """The names of the user's groups."""
        connection = self._bind_for_search() or self._user
        if connection is None:
            return []
        if self._flag_option("activedirectory"):
            return self._active_directory(connection, username)
        if self._flag_option("freeipa"):
            found = self._search_entries(
                connection,
                self._text_option("group_basedn") or self._text_option("basedn"),
                fill_filter(self._text_option("group_filter"), username),
                [self._text_option("groupattribute", "memberOf"), "cn"],
            )
            return [name for one in found for name in one.values("cn")]
        return self._find_posix_groups(connection, username)

    def find_computers(self, base: str) -> list[str]:
        """The ids of the minions below an entry: its computers, in lower case.

        Of the domains in ``minion_stripdomains`` the first that fits is cut off.
        """
        connection = self._bind_for_search() or self._user
        if connection is None:
            raise FunctionError(f"{PREFIX}binddn, bindpw or anonymous is needed to find computers")
        found = self._search_entries(connection, base, COMPUTERS, ["cn"], "SUBTREE")
        names = {one.values("cn")[0].lower() for one in found if one.values("cn")}
        ids = {self._without_domain(one) for one in names}
        return sorted(one for one in ids if valid_minion_id(one))

    def _without_domain(self, name: str) -> str:
        domains = self.opts.get(f"{PREFIX}minion_stripdomains") or ()
        listed = [domains] if isinstance(domains, str) else domains
        domain = next((one for one in map(str, listed) if one and name.endswith(one)), "")
        return name.removesuffix(domain)

    # --- the user ------------------------------------------------------------------------

    def _find_user(self, username: str) -> str:
        """The name of the user's entry, ``""`` if there is not exactly one."""
        binddn, bindpw = self._text_option("binddn"), self._text_option("bindpw")
        if binddn and not bindpw:
            return fill_name(binddn, username)
        connection = self._bind_for_search()
        if connection is None:
            return ""
        self._user_dn = self._search_user(connection, username)
        return self._user_dn

    def _is_named(self, connection: Any, dn: str, username: str) -> bool:
        """Whether the entry has the name that was given, but for its spelling.

        A directory may find more: an entry ``alice`` for ``álice``, who has no rights of her own
        here. Of an entry that may not be read the directory's word is taken.
        """
        is_searched = bool(self._text_option("bindpw")) or not self._text_option("binddn")
        template = self._text_option("filter" if is_searched else "binddn")
        claims = list(_NAMED.findall(template))
        found = self._search_entries(
            connection, dn, "(objectClass=*)", [name for name, _value in claims], "BASE"
        )
        known = [
            (name_key(value), _value_pattern(claimed, username))
            for one in found
            for name, claimed in claims
            for value in one.values(name)
        ]
        if not known or any(pattern.fullmatch(value) for value, pattern in known):
            return True
        log.warning("ldap: the entry that was found does not have the name of the login")
        return False

    def _search_user(self, connection: Any, username: str) -> str:
        wanted = self._text_option("filter")
        if not wanted:
            raise FunctionError(f"{PREFIX}filter is needed to find users")
        found = self._search_entries(
            connection, self._text_option("basedn"), fill_filter(wanted, username), []
        )
        if len(found) > 1:
            log.warning("ldap: %sfilter finds %d entries for one user", PREFIX, len(found))
        return found[0].dn if len(found) == 1 else ""

    def _bind_for_search(self) -> Any:
        """A connection to search with; ``None`` if there is no account for that."""
        binddn, bindpw = self._text_option("binddn"), self._text_option("bindpw")
        if binddn and bindpw:
            connection = self._bind_connection(binddn, bindpw)
            if connection is None:
                raise FunctionError(f"the directory refuses {PREFIX}binddn")
            return connection
        return self._bind_connection("", "") if self._flag_option("anonymous") else None

    # --- groups --------------------------------------------------------------------------

    def _active_directory(self, connection: Any, username: str) -> list[str]:
        account = self._text_option("accountattributename", "memberUid")
        person = escape_filter(self._text_option("persontype", "person"))
        wanted = f"(&({account}={escape_filter(username)})(objectClass={person}))"
        users = self._search_entries(connection, self._text_option("basedn"), wanted, [])
        if len(users) != 1:
            return []
        kind = escape_filter(self._text_option("groupclass", "posixGroup"))
        wanted = f"(&(member={escape_filter(users[0].dn)})(objectClass={kind}))"
        found = self._search_entries(connection, self._text_option("basedn"), wanted, ["cn"])
        return [name for one in found for name in one.values("cn")]

    def _find_posix_groups(self, connection: Any, username: str) -> list[str]:
        account = self._text_option("accountattributename", "memberUid")
        kind = escape_filter(self._text_option("groupclass", "posixGroup"))
        below = self._text_option("groupou", "Groups")
        base = ",".join(filter(None, (below and f"ou={below}", self._text_option("basedn"))))
        wanted = f"(&({account}={escape_filter(username)})(objectClass={kind}))"
        found = self._search_entries(connection, base, wanted, ["cn", account])
        names = [
            name for one in found if username in one.values(account) for name in one.values("cn")
        ]
        return [*names, *self._find_own_groups(connection)]

    def _find_own_groups(self, connection: Any) -> list[str]:
        """The groups that the user's own entry names."""
        if not self._user_dn:
            return []
        attribute = self._text_option("groupattribute", "memberOf")
        found = self._search_entries(
            connection, self._user_dn, "(objectClass=*)", [attribute], "BASE"
        )
        return [first_value(name) for one in found for name in one.values(attribute)]

    # --- the connection ------------------------------------------------------------------

    def _text_option(self, name: str, default: str = "") -> str:
        return str(self.opts.get(PREFIX + name) or default)

    def _flag_option(self, name: str) -> bool:
        return self.opts.get(PREFIX + name) is True

    def _bind_connection(self, dn: str, password: str) -> Any:
        """A connection that is bound; ``None`` if the directory refuses it.

        Raises:
            FunctionError: the directory does not answer, or cannot be trusted.
        """
        ldap3 = _load_library()
        if self._flag_option("starttls") and self._flag_option("tls"):
            raise FunctionError(f"{PREFIX}starttls and {PREFIX}tls exclude each other")
        verify = ssl.CERT_NONE if self._flag_option("no_verify") else ssl.CERT_REQUIRED
        try:
            server = ldap3.Server(
                self._server_address(),
                tls=ldap3.Tls(validate=verify, ca_certs_file=find_ca()),
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
            if self._flag_option("starttls") and not connection.start_tls():
                raise FunctionError("the directory refuses StartTLS")
            return connection if connection.bind() else None
        except ldap3.core.exceptions.LDAPException as error:
            raise FunctionError(f"the directory does not answer: {type(error).__name__}") from error

    def _server_address(self) -> str:
        uri = self._text_option("uri")
        if uri:
            return uri
        scheme = "ldaps" if self._flag_option("tls") else "ldap"
        host = self._text_option("server", "localhost")
        return f"{scheme}://{host}:{self._text_option('port', '389')}"

    def _search_entries(
        self, connection: Any, base: str, wanted: str, attributes: list[str], scope: str = ""
    ) -> list[LdapEntry]:
        ldap3 = _load_library()
        try:
            connection.search(
                base,
                wanted,
                search_scope=scope or self._search_scope(),
                attributes=attributes,
                size_limit=ENTRIES_MOST,
                time_limit=TIMEOUT_S,
            )
        except ldap3.core.exceptions.LDAPException as error:
            raise FunctionError(f"the directory cannot be searched: {error}") from error
        if (connection.result or {}).get("result") == SIZE_EXCEEDED:
            log.warning("ldap: the directory tells %s of %s only in part", wanted, base)
        return [
            LdapEntry(
                one["dn"], {name: _as_texts(all_) for name, all_ in one["attributes"].items()}
            )
            for one in connection.response or ()
            if one.get("type") == "searchResEntry"
        ]

    def _search_scope(self) -> str:
        scope = self.opts.get(f"{PREFIX}scope", 2)
        if type(scope) is not int or scope not in range(len(_SCOPES)):
            raise FunctionError(f"{PREFIX}scope: found {scope!r}, allowed: 0, 1 or 2")
        return _SCOPES[scope]


def find_ca() -> str | None:
    """The file of trusted authorities; ``None``: those of the system."""
    if named := os.environ.get("LDAPTLS_CACERT"):
        return named
    for path in CONFIGURATIONS:
        with contextlib.suppress(OSError):
            for line in path.read_text(errors="replace").splitlines():
                name, *rest = line.split(None, 1) or [""]
                if name.upper() == "TLS_CACERT" and rest and os.path.exists(rest[0].strip()):
                    return rest[0].strip()
    return None


def name_faults(opts: Mapping[str, Any]) -> list[str]:
    """What of ``auth.ldap.*`` is not obeyed, and why, a line each."""
    names = sorted(one for one in opts if one.startswith(PREFIX))
    found = [f"{one}: there is no such option" for one in names if not _is_known(one)]
    if opts.get(PREFIX + MEMBERSHIP_ONLY):
        found.append(f"{PREFIX}{MEMBERSHIP_ONLY} has no effect: a login needs its password")
    return found


def _is_known(name: str) -> bool:
    return name.removeprefix(PREFIX) in OPTIONS | {MEMBERSHIP_ONLY}


def fill_filter(template: str, username: str) -> str:
    """A filter for one user."""
    return _USERNAME.sub(lambda _found: escape_filter(username), template)


def fill_name(template: str, username: str) -> str:
    """The name of a user's entry."""
    return _USERNAME.sub(lambda _found: escape_name(username), template)


def _value_pattern(claimed: str, username: str) -> re.Pattern[str]:
    """What fits the value that a template claims for a user; a ``*`` of its own fits anything."""
    parts = (_USERNAME.sub(lambda _found: username, part) for part in claimed.split("*"))
    return re.compile(".*".join(re.escape(name_key(part)) for part in parts))


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


def _as_texts(values: Any) -> list[str]:
    listed = values if isinstance(values, (list, tuple)) else [values]
    return [
        one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in listed
    ]


def _load_library() -> Any:
    try:
        import ldap3
    except ImportError as error:
        raise FunctionError("ldap needs the package ldap3: pip install saltlite[ldap]") from error
    return ldap3
