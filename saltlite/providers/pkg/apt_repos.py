"""Apt's sources on this machine: found, changed and written, with keys for them.

The pure half is ``apt_sources``. Source: observed on Salt 3006.30.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltlite import disk
from saltlite.core.dataclasses import replace
from saltlite.errors import FunctionError, UsageError
from saltlite.providers import textfile
from saltlite.providers.pkg import apt_sources
from saltlite.providers.pkg.apt_sources import AptSource
from saltlite.providers.pkg.options import SourceOptions

if TYPE_CHECKING:
    from saltlite.context import MinionContext

MAIN = "/etc/apt/sources.list"
PARTS = "/etc/apt/sources.list.d"
SOURCES = "sources of packages"
"""The name under which a job holds all these files; see ``textfile.hold_name``."""


def entries(ctx: MinionContext) -> list[AptSource]:
    """All sources: those of the main file, then those of the parts by name."""
    host = ctx.host
    found = apt_sources.parse_list(host.read_text(MAIN) or "", MAIN)
    for name in host.names(PARTS):
        path = f"{PARTS}/{name}"
        if name.endswith(".list"):
            found += apt_sources.parse_list(host.read_text(path) or "", path)
        elif name.endswith(".sources"):
            found += apt_sources.parse_stanzas(host.read_text(path) or "", path)
    return found


def list_repos(ctx: MinionContext) -> dict[str, Any]:
    """The sources of each address."""
    repos: dict[str, list[dict[str, Any]]] = {}
    for entry in entries(ctx):
        repos.setdefault(entry.uri.rstrip("/"), []).append(entry.as_map())
    return repos


def get_repo(ctx: MinionContext, repo: str) -> dict[str, Any]:
    """The source of this type, address and distribution; ``{}`` for none."""
    wanted = apt_sources.parse_line(repo)
    if wanted is None:
        return {}
    found = next((one for one in entries(ctx) if one.same_place(wanted)), None)
    return {} if found is None else found.as_map()


def plan_repo(
    ctx: MinionContext, repo: str, options: SourceOptions
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a source is (``{}`` for none), and what :func:`mod_repo` would make of it.

    Raises:
        FunctionError: the line is none.
    """
    wanted = _wanted_entry(repo, options)
    there = [one for one in entries(ctx) if one.same_place(wanted)]
    file = options.file
    chosen = _choose_entry(there, wanted, None if file is None else str(file))
    if chosen is None:
        return {}, replace(wanted, file=str(file or MAIN)).as_map()
    changed = _merge_entry(chosen, wanted, repo, options)
    return chosen.as_map(), (changed if _are_different(chosen, changed) else chosen).as_map()


def mod_repo(ctx: MinionContext, repo: str, options: SourceOptions) -> dict[str, Any]:
    """Make or change a source; ``{repo: what it is}``."""
    wanted = _wanted_entry(repo, options)
    with textfile.hold_name(ctx, SOURCES):
        shown = _put_entry(ctx, wanted, repo, options).as_map()
    return {
        repo: {
            "architectures": shown["architectures"],
            "comps": shown["comps"],
            "disabled": shown["disabled"],
            "file": shown["file"],
            "type": shown["type"],
            "uri": shown["uri"],
            "line": f"{repo}\n",
            "signedby": shown["signedby"],
        }
    }


def _put_entry(
    ctx: MinionContext, wanted: AptSource, repo: str, options: SourceOptions
) -> AptSource:
    there = [one for one in entries(ctx) if one.same_place(wanted)]
    file = options.file
    chosen = _choose_entry(there, wanted, None if file is None else str(file))
    if chosen is None:
        made = replace(wanted, file=str(file or MAIN))
        _append_entry(ctx, made)
        return made
    changed = _merge_entry(chosen, wanted, repo, options)
    if _are_different(chosen, changed):
        _rewrite_entry(ctx, chosen, changed)
    return changed


def _choose_entry(
    there: Sequence[AptSource], wanted: AptSource, file: str | None
) -> AptSource | None:
    """The source to be changed: that of the file, or one elsewhere with the same components."""
    if file is None:
        return there[0] if there else None
    elsewhere = [one for one in there if set(one.components) == set(wanted.components)]
    here = [one for one in there if one.file == file]
    return next(iter(here or elsewhere), None)


def _wanted_entry(repo: str, options: SourceOptions) -> AptSource:
    if repo.startswith("ppa:"):
        raise FunctionError(f'cannot parse "ppa:" style repo definitions: {repo}')
    entry = apt_sources.parse_line(repo)
    if entry is None:
        raise UsageError(
            f"Name {repo} is not valid. This must be the complete repo entry as seen in the"
            " sources file"
        )
    named = dict(entry.options)
    if options.architectures:
        named["arch"] = ",".join(options.architectures)
    if options.signedby:
        named["signed-by"] = str(options.signedby)
    return replace(
        entry,
        dist=str(options.dist or entry.dist),
        components=tuple(options.comps) or entry.components,
        options=named,
        disabled=_is_disabled(entry.disabled, options),
        comment=" ".join(words_as_text(options.comments)),
        text="",
    )


def words_as_text(value: object) -> list[str]:
    """A comment, or a list of them, as it is."""
    if value is None:
        return []
    return [str(one) for one in value] if isinstance(value, (list, tuple)) else [str(value)]


def _is_disabled(now: bool, options: SourceOptions) -> bool:
    return now if options.disabled is None else options.disabled


def _merge_entry(
    there: AptSource, wanted: AptSource, repo: str, options: SourceOptions
) -> AptSource:
    """What is there, with what was asked for on top. A comment that nobody mentions stays."""
    return replace(
        wanted,
        options={**there.options, **wanted.options},
        comment=wanted.comment or there.comment,
        disabled=_is_disabled(False, options),
        file=there.file,
        at=there.at,
    )


def _are_different(first: AptSource, second: AptSource) -> bool:
    return first.line().replace("  ", " ") != second.line().replace("  ", " ")


def del_repo(ctx: MinionContext, repo: str) -> str:
    """Remove a source; of one with more components only those named. Salt's sentence about it.

    A file without sources goes with its last one.
    """
    with textfile.hold_name(ctx, SOURCES):
        return _delete_entry(ctx, repo)


def _delete_entry(ctx: MinionContext, repo: str) -> str:
    wanted = apt_sources.parse_line(repo)
    found = [] if wanted is None else [one for one in entries(ctx) if one.same_place(wanted)]
    if wanted is None or not found:
        raise FunctionError(f"Repo {repo} doesn't exist in the sources.list(s)")
    said = ""
    for entry in reversed(found):
        left = tuple(one for one in entry.components if one not in wanted.components)
        keep = bool(wanted.components) and bool(left)
        _rewrite_entry(ctx, entry, replace(entry, components=left, text="") if keep else None)
        said = f"Repo '{repo}' has been removed from {entry.file}.\n{said}"
        if entry.file != MAIN and not [one for one in entries(ctx) if one.file == entry.file]:
            disk.remove(Path(entry.file))
            said = f"File {entry.file} containing repo '{repo}' has been removed.\n{said}"
    return said


def consolidate(ctx: MinionContext, keep: str | None) -> None:
    """Put the one-line sources of all files but ``keep`` into the main one, each place once.

    Comments of the main file go; files that are left without a source go too.
    """
    with textfile.hold_name(ctx, SOURCES):
        _move_to_main(ctx, keep)


def _move_to_main(ctx: MinionContext, keep: str | None) -> None:
    found = [one for one in entries(ctx) if one.file.endswith(".list") and one.file != keep]
    if keep == MAIN or not found:
        return
    _write_file(MAIN, "".join(f"{each.line()}\n" for each in apt_sources.merge_entries(found)))
    for path in dict.fromkeys(each.file for each in found if each.file != MAIN):
        disk.remove(Path(path))


def _append_entry(ctx: MinionContext, entry: AptSource) -> None:
    if entry.file.endswith(".sources"):
        _write_file(entry.file, f"{_text_before(ctx, entry.file)}{stanza_of(entry)}")
        return
    _write_file(entry.file, apt_sources.append_to_list(ctx.host.read_text(entry.file) or "", entry))


def _text_before(ctx: MinionContext, path: str) -> str:
    text = ctx.host.read_text(path) or ""
    return f"{text.rstrip()}\n\n" if text.strip() else ""


def stanza_of(entry: AptSource) -> str:
    """A source as a deb822 stanza."""
    fields = {
        "Types": entry.kind,
        "URIs": entry.uri,
        "Suites": entry.dist,
        **({"Components": " ".join(entry.components)} if entry.components else {}),
        **({"Architectures": " ".join(entry.architectures)} if entry.architectures else {}),
        **({"Signed-By": entry.key_file} if entry.key_file else {}),
        **({"Enabled": "no"} if entry.disabled else {}),
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def _rewrite_entry(ctx: MinionContext, entry: AptSource, changed: AptSource | None) -> None:
    text = ctx.host.read_text(entry.file) or ""
    if entry.file.endswith(".sources"):
        _write_file(entry.file, _change_stanza(text, entry, changed))
    else:
        _write_file(entry.file, apt_sources.change_list(text, {entry.at: changed}))


def _change_stanza(text: str, entry: AptSource, changed: AptSource | None) -> str:
    """A stanza may stand for several sources; then only what leaves the others alone is done."""
    together = [one for one in apt_sources.parse_stanzas(text, entry.file) if one.at == entry.at]
    if changed is None:
        suites = list(dict.fromkeys(each.dist for each in together))
        if len(together) == 1:
            return apt_sources.change_stanza(text, entry.at, None)
        if len(together) == len(suites):
            rest = " ".join(suite for suite in suites if suite != entry.dist)
            return apt_sources.change_stanza(text, entry.at, {"Suites": rest})
        raise FunctionError(
            f"{entry.file}: the stanza of {entry.uri} {entry.dist} stands for"
            f" {len(together)} sources; edit it by hand"
        )
    values = {"Enabled": "no" if changed.disabled else "yes"}
    if changed.components:
        values["Components"] = " ".join(changed.components)
    if changed.architectures:
        values["Architectures"] = " ".join(changed.architectures)
    if changed.key_file:
        values["Signed-By"] = changed.key_file
    return apt_sources.change_stanza(text, entry.at, values)


def _write_file(path: str, text: str) -> None:
    disk.make_dir(Path(os.path.dirname(path)), 0o755)
    disk.write_file(Path(path), text.encode(), mode=0o644)
