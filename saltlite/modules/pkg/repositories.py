"""Where packages come from, and the keys of those places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.keywords import own_keywords
from saltlite.errors import FunctionError, UsageError
from saltlite.modules.pkg._backend import able, apt_alone, local_file
from saltlite.providers.pkg import provider
from saltlite.providers.pkg.names import truth
from saltlite.providers.pkg.options import SourceOptions
from saltlite.providers.pkg.protocol import NO_OPTIONS, Configuring, Repositories
from saltlite.providers.pkg.shortcuts import shortcut


def list_repos(ctx: MinionContext, **kwargs: Any) -> dict[str, Any]:
    """Where packages come from.

    On Debian by address, with each source's type, distribution, components and file; elsewhere by
    the name of the repository.

    CLI Example:

        salt '*' pkg.list_repos
    """
    back_end = able(ctx, Repositories, "list_repos")  # type: ignore[type-abstract]
    return back_end.list_repos(own_keywords(kwargs))


def get_repo(ctx: MinionContext, repo: str, **kwargs: Any) -> dict[str, Any]:
    """One source of packages, ``{}`` if it is not there.

    CLI Example:

        salt '*' pkg.get_repo "deb http://deb.debian.org/debian bookworm main"
    """
    back_end = able(ctx, Repositories, "get_repo")  # type: ignore[type-abstract]
    short = shortcut(ctx, str(repo))
    if short is not None:
        return short.get()
    return back_end.get_repo(str(repo), own_keywords(kwargs))


def mod_repo(
    ctx: MinionContext, repo: str, saltenv: str = "base", aptkey: bool = True, **kwargs: Any
) -> dict[str, Any]:
    """Make or change a source of packages; what it is then.

    On Debian ``repo`` is the whole line; keywords: ``comps``, ``architectures``, ``disabled``,
    ``file``, ``comments``, ``signedby``, ``dist``, ``refresh``, ``key_url``, ``key_text``,
    ``keyid`` with ``keyserver``, ``consolidate``; on Ubuntu also ``ppa:owner/archive``. With dnf
    and zypper it is the name (with dnf also ``copr:owner/project``), and keywords are options of the repository (``baseurl`` …).

    CLI Example:

        salt '*' pkg.mod_repo "deb http://deb.debian.org/debian sid main" file=/etc/apt/sources.list.d/sid.list
    """  # noqa: E501 - the command is one line
    back_end = able(ctx, Configuring, "mod_repo")  # type: ignore[type-abstract]
    options = own_keywords(kwargs)
    asked = SourceOptions.of({**options, "aptkey": aptkey})
    short = shortcut(ctx, str(repo))
    if short is not None:
        made = {str(repo): short.make(asked)}
        if asked.refresh:
            provider(ctx).refresh(NO_OPTIONS)
        return made
    _keys_of_repo(ctx, str(repo), asked, saltenv)
    return back_end.mod_repo(str(repo), options)


def _keys_of_repo(ctx: MinionContext, repo: str, options: SourceOptions, saltenv: str) -> None:
    """Trust the keys that come with a source: in apt's ring, or in the file that it names."""
    keyids = options.keyid
    if keyids and not options.keyserver:
        raise FunctionError("both keyserver and keyid options required.")
    if not (keyids or options.key_text or options.key_url):
        return
    from saltlite.providers.pkg import apt_keys

    apt_alone(ctx, "add_repo_key")
    ring = apt_keys.ring_of(ctx, repo, options)
    if keyids:
        _receive_keys(ctx, str(options.keyserver), keyids, ring)
    keydir, _, keyfile = (ring or "").rpartition("/")

    def add(path: str | None = None, text: str | None = None) -> bool:
        place = (ring is None, keydir or None, keyfile or None)
        return add_repo_key(ctx, path, text, None, None, saltenv, *place)

    if options.key_text and not add(text=str(options.key_text)):
        raise FunctionError("Error: failed to add the key in key_text")
    for url in options.key_url:
        if not add(url):
            raise FunctionError(f"Error: failed to add key from {url}")


def _receive_keys(ctx: MinionContext, server: str, keyids: Sequence[str], ring: str | None) -> None:
    from saltlite.providers.pkg import apt_keys

    if ring is not None:
        apt_keys.receive(ctx, server, keyids, ring)
        return
    for keyid in keyids:
        if apt_keys.is_known(ctx, keyid):
            continue
        if not add_repo_key(ctx, keyserver=server, keyid=keyid):
            raise FunctionError(f"Error: Could not add key: {keyid}")


def del_repo(ctx: MinionContext, repo: str, **kwargs: Any) -> Any:
    """Remove a source of packages; a sentence about it.

    CLI Example:

        salt '*' pkg.del_repo "deb http://deb.debian.org/debian sid main"
    """
    back_end = able(ctx, Configuring, "del_repo")  # type: ignore[type-abstract]
    short = shortcut(ctx, str(repo))
    if short is not None:
        return short.remove()
    return back_end.del_repo(str(repo), own_keywords(kwargs))


def get_repo_keys(
    ctx: MinionContext, aptkey: bool = True, keydir: str | None = None
) -> dict[str, Any]:
    """The keys apt trusts, by their ids.

    With ``aptkey=False`` those of the files in ``keydir``.

    CLI Example:

        salt '*' pkg.get_repo_keys
    """
    from saltlite.providers.pkg import apt_keys

    apt_alone(ctx, "get_repo_keys")
    return apt_keys.list_keys(ctx, truth(aptkey), keydir)


def add_repo_key(
    ctx: MinionContext,
    path: str | None = None,
    text: str | None = None,
    keyserver: str | None = None,
    keyid: str | None = None,
    saltenv: str = "base",
    aptkey: bool = True,
    keydir: str | None = None,
    keyfile: str | None = None,
) -> bool:
    """Trust a key: from a file or URL, from text, or from a key server; whether that succeeded.

    With ``aptkey=False`` the key becomes the file ``keyfile`` in ``keydir``
    (``/etc/apt/keyrings``).

    CLI Example:

        salt '*' pkg.add_repo_key salt://apt/sources/test.key
        salt '*' pkg.add_repo_key keyserver=keyserver.example keyid=0000AAAA
    """
    from saltlite.providers.pkg import apt_keys

    apt_alone(ctx, "add_repo_key")
    source = local_file(ctx, path, saltenv) if path else None
    key = apt_keys.KeySource(source, text, keyserver, keyid, path)
    return apt_keys.add(ctx, key, truth(aptkey), keydir, keyfile)


def del_repo_key(
    ctx: MinionContext,
    name: str | None = None,
    aptkey: bool = True,
    keydir: str | None = None,
    **kwargs: Any,
) -> bool:
    """Stop trusting a key, named by ``keyid``; with ``keyid_ppa`` that of the PPA ``name``.

    CLI Example:

        salt '*' pkg.del_repo_key keyid=0123ABCD
    """
    from saltlite.providers.pkg import apt_keys, shortcuts

    apt_alone(ctx, "del_repo_key")
    keyid = kwargs.get("keyid")
    if not keyid and name and truth(kwargs.get("keyid_ppa", False)):
        keyid = shortcuts.ppa_key(ctx, str(name))
    if not keyid:
        raise UsageError("keyid or keyid_ppa and PPA name must be passed")
    return apt_keys.delete(ctx, str(keyid), truth(aptkey), keydir)
