"""The commands of shadow-utils: useradd, usermod, groupadd, gpasswd, chage and passwd."""

from __future__ import annotations

from collections.abc import Sequence

from saltlite.providers.accounts.plans import NewGroup, NewUser

_AGE_FLAGS = {
    "maxdays": "-M",
    "mindays": "-m",
    "inactdays": "-I",
    "warndays": "-W",
    "date": "-d",
    "expire": "-E",
}


class ShadowTools:
    """The family that all but the smallest systems have."""

    def add_user(self, user: NewUser) -> list[str]:
        """``useradd``. Source: observed on Salt 3006.30."""
        argv = ["useradd"]
        if user.shell:
            argv += ["-s", user.shell]
        if user.uid not in (None, ""):
            argv += ["-u", str(user.uid)]
        if user.gid not in (None, ""):
            argv += ["-g", str(user.gid)]
        elif user.usergroup is not None:
            argv.append("-U" if user.usergroup else "-N")
        argv.append("-m" if user.createhome else "-M")
        if user.nologinit:
            argv.append("-l")
        if user.home is not None:
            argv += ["-d", user.home]
        if not user.unique:
            argv.append("-o")
        if user.system:
            argv.append("-r")
        return [*argv, *_root_words("-R", user.root), user.name]

    def delete_user(self, name: str, *, remove: bool, force: bool, root: str | None) -> list[str]:
        """``userdel``."""
        flags = ["-r"] * bool(remove) + ["-f"] * bool(force)
        return ["userdel", *flags, *_root_words("-R", root), name]

    def set_groups(
        self,
        name: str,
        wanted: Sequence[str],
        now: Sequence[str],
        *,
        append: bool,
        root: str | None,
    ) -> list[list[str]]:
        """``usermod -G``, once."""
        flags = [*["-a"] * bool(append), "-G", ",".join(wanted)]
        return [change_user(flags, name, root)]

    def add_group(self, group: NewGroup) -> list[str]:
        """``groupadd``."""
        argv = ["groupadd"]
        if group.gid not in (None, ""):
            argv += ["-g", str(group.gid), *["-o"] * bool(group.non_unique)]
        argv += ["-r"] * bool(group.system)
        return [*argv, *_root_words("-R", group.root), group.name]

    def delete_group(self, name: str, *, root: str | None) -> list[str]:
        """``groupdel``."""
        return ["groupdel", *_root_words("-R", root), name]

    def add_member(self, group: str, user: str, *, root: str | None) -> list[str]:
        """``gpasswd --add``."""
        return ["gpasswd", *_root_words("--root", root), "--add", user, group]

    def delete_member(self, group: str, user: str, *, root: str | None) -> list[str]:
        """``gpasswd --del``."""
        return ["gpasswd", *_root_words("--root", root), "--del", user, group]


def change_user(flags: list[str], name: str, root: str | None) -> list[str]:
    """``usermod`` with ``flags``."""
    return ["usermod", *_root_words("-R", root), *flags, name]


def change_gid(name: str, gid: object, *, non_unique: bool, root: str | None) -> list[str]:
    """``groupmod -g``."""
    flags = ["-o"] * bool(non_unique)
    return ["groupmod", *_root_words("-R", root), *flags, "-g", str(gid), name]


def set_members(group: str, members: str, root: str | None) -> list[str]:
    """``gpasswd --members``."""
    return ["gpasswd", *_root_words("--root", root), "--members", members, group]


def change_age(what: str, value: object, name: str, root: str | None) -> list[str]:
    """``chage``; ``what`` is ``maxdays``, ``mindays``, ``inactdays``, ``warndays``, ``date`` ..."""
    return ["chage", *_root_words("-R", root), _AGE_FLAGS[what], str(value), name]


def change_password(flag: str, name: str, root: str | None) -> list[str]:
    """``passwd`` with ``-l`` (lock), ``-u`` (unlock) or ``-d`` (delete)."""
    return ["passwd", *_root_words("-R", root), flag, name]


def _root_words(flag: str, root: str | None) -> list[str]:
    return [flag, root] if root is not None else []
