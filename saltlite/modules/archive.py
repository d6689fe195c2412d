"""Make archives, list them and unpack them.

ZIP files are handled by Python itself; the others by the programs of the machine. Every function
gives back lines: members, or what the program said. Source: observed on Salt
3006.30.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from saltlite.context import MinionContext
from saltlite.errors import FunctionError
from saltlite.fileserver.client import file_client
from saltlite.openat import refuse_misleading
from saltlite.providers import archives, command
from saltlite.providers.command import CommandOptions
from saltlite.providers.file import content

_UNKNOWN_TAR = (
    "Unable to list contents of {}. If this is an XZ-compressed tar archive, install XZ Utils to "
    "enable listing its contents. If it is compressed using something other than XZ, it may be "
    "necessary to specify CLI options to decompress the archive. See the documentation for "
    "details."
)


def list_(
    ctx: MinionContext,
    name: str,
    archive_format: str | None = None,
    options: str | None = None,
    strip_components: int | None = None,
    clean: bool = False,
    verbose: bool = False,
    saltenv: str = "base",
    source_hash: str | None = None,
    use_etag: bool = False,
) -> list[str] | dict[str, list[str]]:
    """List what is in an archive, named by its path or address.

    ``verbose`` tells directories, files and links apart. ``options`` is the command that
    decompresses a tar file which Python cannot read: ``zstd -dc``. ``clean`` removes the copy of
    an archive that was fetched.

    CLI Example:

        salt '*' archive.list /path/to/myfile.tar.gz
        salt '*' archive.list salt://foo.tar.gz strip_components=1
    """
    with _fetch_archive(ctx, name, saltenv, source_hash, use_etag, clean) as path:
        kind = archive_format or archives.format_of(name)
        if kind is None:
            raise FunctionError(
                "Unable to guess archive format, please pass an 'archive_format' argument."
            )
        if kind not in _READERS:
            raise FunctionError(f"Unsupported archive format '{kind}'")
        try:
            found = _READERS[kind](ctx, name, path, options or "")
        except OSError as error:
            raise FunctionError(f"Failed to list contents of {name}: {error}") from error
        found = found.strip_components(_parse_components(strip_components))
    return found.verbose() if verbose else found.names()


def is_encrypted(
    ctx: MinionContext,
    name: str,
    clean: bool = False,
    saltenv: str = "base",
    source_hash: str | None = None,
    use_etag: bool = False,
) -> bool:
    """Return whether a ZIP file needs a password.

    CLI Example:

        salt '*' archive.is_encrypted /path/to/myfile.zip
    """
    with _fetch_archive(ctx, name, saltenv, source_hash, use_etag, clean) as path, _no_zip(name):
        try:
            return archives.is_encrypted(path)
        except OSError as error:
            raise FunctionError(str(error)) from error


def tar(
    ctx: MinionContext,
    options: str,
    tarfile: str,
    sources: object = None,
    dest: str | None = None,
    cwd: str | None = None,
    template: str | None = None,
    runas: str | None = None,
) -> list[str]:
    """Call ``tar`` and return what it said.

    ``sources`` are paths or globs, in a list or with commas; ``dest`` is where it works.

    CLI Example:

        salt '*' archive.tar cjvf /tmp/tarfile.tar.bz2 /tmp/file_1,/tmp/file_2
        salt '*' archive.tar xf foo.tar dest=/target/directory
    """
    if not options:
        raise FunctionError("Tar options can not be empty")
    words = shlex.split(options)
    words[0] = words[0] if words[0].startswith("-") else f"-{words[0]}"
    into = ["-C", dest] if dest else []
    argv = ["tar", *words, tarfile, *into, *_expand_sources(sources, cwd)]
    return _run_lines(ctx, _render_texts(ctx, argv, template), cwd, runas, dest or ".", tarfile)


def gzip(
    ctx: MinionContext,
    sourcefile: str,
    template: str | None = None,
    runas: str | None = None,
    options: str | None = None,
) -> list[str]:
    """Compress a file in its place.

    CLI Example:

        salt '*' archive.gzip /tmp/sourcefile.txt
    """
    argv = ["gzip", *shlex.split(options or ""), sourcefile]
    return _run_lines(ctx, _render_texts(ctx, argv, template), None, runas, sourcefile)


def gunzip(
    ctx: MinionContext,
    gzipfile: str,
    template: str | None = None,
    runas: str | None = None,
    options: str | None = None,
) -> list[str]:
    """Decompress a file in its place.

    CLI Example:

        salt '*' archive.gunzip /tmp/sourcefile.txt.gz
    """
    argv = ["gunzip", *shlex.split(options or ""), gzipfile]
    return _run_lines(ctx, _render_texts(ctx, argv, template), None, runas, gzipfile)


def zip_(
    ctx: MinionContext,
    zip_file: str,
    sources: object,
    template: str | None = None,
    cwd: str | None = None,
    runas: str | None = None,
    zip64: bool = False,
) -> list[str]:
    """Make a ZIP file of files and directories; its members, none if a source is missing.

    CLI Example:

        salt '*' archive.zip /tmp/zipfile.zip /tmp/sourcefile1,/tmp/sourcefile2
    """
    zip_file, *names = _render_texts(ctx, [zip_file, *_split_texts(sources)], template)
    if not cwd and not all(os.path.isabs(name) for name in names):
        raise FunctionError("Relative paths require the 'cwd' parameter")
    with _as_user(ctx, runas):
        paths = [path for name in names for path in _expand_glob(os.path.join(cwd or "/", name))]
        if not paths or not os.path.isdir(os.path.dirname(os.path.abspath(zip_file))):
            return []
        if not runas:
            refuse_misleading(zip_file)
        try:
            return archives.make_zip(zip_file, paths, cwd, large=zip64)
        except OSError as error:
            words = f"Exception encountered creating zipfile: {error}"
            raise FunctionError(words) from error


def unzip(
    ctx: MinionContext,
    zip_file: str,
    dest: str,
    excludes: object = None,
    options: str | None = None,
    template: str | None = None,
    runas: str | None = None,
    trim_output: bool | int = False,
    password: str | None = None,
    extract_perms: bool = True,
) -> list[str]:
    """Unpack a ZIP file into ``dest``; its members, cut to ``trim_output`` lines (``True``: 100).

    CLI Example:

        salt '*' archive.unzip /tmp/zipfile.zip /home/strongbad/ excludes=file_1,file_2
    """
    zip_file, dest = _render_texts(ctx, [zip_file, dest], template)
    with _as_user(ctx, runas):
        try:
            names = archives.unzip(
                zip_file,
                dest,
                excludes=_split_texts(excludes),
                password=password,
                modes=extract_perms,
            )
        except (OSError, FunctionError) as error:
            words = f"Exception encountered unpacking zipfile: {error}"
            raise FunctionError(words) from error
    return _trim_names(names, trim_output)


def cmd_zip(
    ctx: MinionContext,
    zip_file: str,
    sources: object,
    template: str | None = None,
    cwd: str | None = None,
    runas: str | None = None,
) -> list[str]:
    """Call ``zip`` and return what it said.

    CLI Example:

        salt '*' archive.cmd_zip /tmp/zipfile.zip foo/bar cwd=/path
    """
    argv = [_find_program(ctx, "zip"), "-r", zip_file, *_expand_sources(sources, cwd)]
    return _run_lines(ctx, _render_texts(ctx, argv, template), cwd, runas, zip_file)


def cmd_unzip(
    ctx: MinionContext,
    zip_file: str,
    dest: str,
    excludes: object = None,
    options: str | None = None,
    template: str | None = None,
    runas: str | None = None,
    trim_output: bool | int = False,
    password: str | None = None,
) -> list[str]:
    """Call ``unzip`` and return what it said; an error if it failed.

    CLI Example:

        salt '*' archive.cmd_unzip /tmp/zipfile.zip /home/strongbad/ excludes=file_1,file_2
    """
    words = shlex.split(options or "")
    secret = ["-P", password] if password else []
    left_out = ["-x", *_split_texts(excludes)] if excludes else []
    if not runas:
        refuse_misleading(dest)
    argv = [_find_program(ctx, "unzip"), *secret, *words, zip_file, "-d", dest, *left_out]
    settings = CommandOptions(
        python_shell=False, runas=runas, redirect_stderr=True, output_loglevel="quiet"
    )
    outcome = command.run(ctx, _render_texts(ctx, argv, template), settings, shown="unzip")
    if outcome.retcode:
        raise FunctionError(outcome.stdout)
    return _trim_names(outcome.stdout.splitlines(), trim_output)


def rar(
    ctx: MinionContext,
    rarfile: str,
    sources: object,
    template: str | None = None,
    cwd: str | None = None,
    runas: str | None = None,
) -> list[str]:
    """Call ``rar`` to make an archive and return what it said.

    CLI Example:

        salt '*' archive.rar /tmp/rarfile.rar /tmp/sourcefile1,/tmp/sourcefile2
    """
    argv = [_find_program(ctx, "rar"), "a", "-idp", rarfile, *_expand_sources(sources, cwd)]
    return _run_lines(ctx, _render_texts(ctx, argv, template), cwd, runas, rarfile)


def unrar(
    ctx: MinionContext,
    rarfile: str,
    dest: str,
    excludes: object = None,
    template: str | None = None,
    runas: str | None = None,
    trim_output: bool | int = False,
) -> list[str]:
    """Call ``unrar`` to unpack an archive and return what it said.

    CLI Example:

        salt '*' archive.unrar /tmp/rarfile.rar /home/strongbad/ excludes=file_1,file_2
    """
    left_out = [word for name in _split_texts(excludes) for word in ("-x", name)]
    argv = [_find_program(ctx, "unrar", "rar"), "x", "-idp", rarfile, *left_out, dest]
    said = _run_lines(ctx, _render_texts(ctx, argv, template), None, runas, dest)
    return _trim_names(said, trim_output)


@contextlib.contextmanager
def _fetch_archive(
    ctx: MinionContext,
    name: str,
    saltenv: str,
    source_hash: str | None,
    use_etag: bool,
    clean: bool,
) -> Iterator[str]:
    """The path of an archive; errors name it, and its copy goes with ``clean``."""
    is_path = os.path.isabs(name)
    path = name
    if not is_path:
        path = file_client(ctx).cache_file(
            name, saltenv, source_hash=source_hash, use_etag=use_etag
        )
    if not path:
        raise FunctionError(f"Failed to cache {name}")
    try:
        yield path
    except FunctionError as error:
        raise FunctionError(_with_place(str(error), path)) from error
    finally:
        if clean and not is_path and not name.startswith("file://"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


def _with_place(problem: str, path: str) -> str:
    text = problem if problem.endswith((".", "?")) else f"{problem}."
    return f"{text} Additional info follows:\n\narchive location:\n    {path}"


@contextlib.contextmanager
def _no_zip(name: str) -> Iterator[None]:
    try:
        yield
    except FunctionError as error:
        if "not a zip file" not in str(error):
            raise
        raise FunctionError(f"{name} is not a ZIP file") from error


def _read_tar(ctx: MinionContext, name: str, path: str, options: str) -> archives.Contents:
    found = archives.tar_contents(path)
    if found is None and options:
        with content.scratch(b"") as plain:
            _write_decompressed(ctx, shlex.split(options), path, plain)
            found = archives.tar_contents(plain)
    if found is None:
        raise FunctionError(_UNKNOWN_TAR.format(name))
    return found


def _write_decompressed(ctx: MinionContext, words: list[str], path: str, plain: str) -> None:
    """Let a command (its words) write what is in ``path`` to ``plain``."""
    into = 'out=$1; shift; exec "$@" > "$out"'
    done = ctx.host.run(["sh", "-c", into, "sh", plain, *words, path])
    if done.exit_code:
        raise FunctionError(f"Failed to decompress {path}: {done.stderr.strip()}")


def _read_zip(_ctx: MinionContext, name: str, path: str, _options: str) -> archives.Contents:
    with _no_zip(name):
        return archives.zip_contents(path)


def _read_rar(ctx: MinionContext, _name: str, path: str, _options: str) -> archives.Contents:
    program = ctx.host.which("unrar") or ctx.host.which("rar")
    if program is None:
        raise FunctionError("rar command not available, is it installed?")
    return archives.contents_of_names(ctx.host.run([program, "lb", path]).stdout.splitlines())


_READERS: dict[str, Callable[[MinionContext, str, str, str], archives.Contents]] = {
    "tar": _read_tar,
    "zip": _read_zip,
    "rar": _read_rar,
}


def _parse_components(wanted: object) -> int:
    if wanted is None:
        return 0
    if not isinstance(wanted, int) or wanted < 0:
        raise FunctionError("'strip_components' must be a positive integer")
    return wanted


def _split_texts(wanted: Any) -> list[str]:
    if wanted is None:
        return []
    if isinstance(wanted, str):
        return [part.strip() for part in wanted.split(",")]
    return [str(part) for part in wanted]


def _expand_sources(sources: object, cwd: str | None) -> list[str]:
    """Sources with their globs expanded, where they lie: a program without a shell does not."""
    found = []
    for name in _split_texts(sources):
        matches = glob.glob(name, root_dir=cwd) if glob.has_magic(name) else []
        found += matches or [name]
    return found


def _expand_glob(path: str) -> list[str]:
    return glob.glob(path)


def _render_texts(ctx: MinionContext, texts: list[str], template: str | None) -> list[str]:
    if not template:
        return [str(text) for text in texts]
    from saltlite.templates.template import render_template

    return [render_template(str(text), template, ctx) for text in texts]


def _run_lines(
    ctx: MinionContext, argv: list[str], cwd: str | None, runas: str | None, *written: str
) -> list[str]:
    """The lines of a program; ``written`` are the paths in ``cwd`` that it works on."""
    for path in () if runas else written:
        refuse_misleading(path, cwd)
    options = CommandOptions(cwd=cwd, runas=runas, python_shell=False, redirect_stderr=True)
    return command.run(ctx, argv, options).stdout.splitlines()


def _find_program(ctx: MinionContext, *names: str) -> str:
    for name in names:
        if ctx.host.which(name):
            return name
    if len(names) == 1:
        raise FunctionError(f"The '{names[0]}' binary was not found in $PATH.")
    tried = [f"'{name}'" for name in names]
    raise FunctionError(f"None of provided binaries({tried}) were found in $PATH.")


def _trim_names(names: list[str], wanted: bool | int) -> list[str]:
    if wanted is False:
        return names
    count = archives.TRIMMED_TO if wanted is True else int(wanted)
    if len(names) <= count:
        return names
    return [*names[:count], f"List trimmed after {count} files."]


@contextlib.contextmanager
def _as_user(ctx: MinionContext, runas: str | None) -> Iterator[None]:
    """Work with another user's rights; a job is a process of its own, so nobody else is hit."""
    if not runas:
        yield
        return
    try:
        account = ctx.host.account(runas)
    except LookupError as error:
        raise FunctionError(f"User '{runas}' does not exist") from error
    uid, gid, groups = os.geteuid(), os.getegid(), os.getgroups()
    if uid != 0 and account.uid != uid:
        raise FunctionError(f"only root may work as {runas}")
    if uid != 0:
        yield
        return
    os.setgroups(account.groups)
    os.setegid(account.gid)
    os.seteuid(account.uid)
    try:
        yield
    finally:
        os.seteuid(uid)
        os.setegid(gid)
        os.setgroups(groups)
