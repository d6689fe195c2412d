"""What ``file.*`` leaves to programs: sed, grep, patch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.lazyregex import regex
from saltlite.errors import FunctionError, UsageError
from saltlite.openat import SHARED, keep_replaced_path, reach, reach_folder

_SPECIAL = regex(r"([\[\](){}.*+?^$|\\])")


def escape_sed(text: object, escape_all: bool = False) -> str:
    """Text for a place in a sed command, as Salt escapes it: also for a shell that is not there."""
    result = str(text)
    if escape_all:
        result = _SPECIAL.sub(r"\\\1", result)
    return result.replace("'", "'\"'\"'").replace("/", "\\/")


def run(ctx: MinionContext, argv: Sequence[str], cwd: str | None = None) -> dict[str, Any]:
    """Run a program; ``pid retcode stdout stderr``."""
    from saltlite.providers import command
    from saltlite.providers.command import CommandOptions

    return command.run(ctx, list(argv), CommandOptions(python_shell=False, cwd=cwd)).as_map()


def run_on(ctx: MinionContext, argv: Sequence[str], path: str) -> dict[str, Any]:
    """Run a program that changes the file ``path``, its last argument.

    Where other users may write to the directory, it runs in that directory, whatever is put at its
    path meanwhile; what it says of the file still has the path.
    """
    with reach(path, follow=True) as spot:
        if spot.is_trusted:
            return run(ctx, [*argv, path])
        found = spot.lstat()
        if found is not None and spot.is_foreign(found):
            raise FunctionError(f"{path}: {SHARED}")
        done = run(ctx, [*argv, f"./{spot.name}"], spot.folder)
    told = {part: done[part].replace(f"./{spot.name}", path) for part in ("stdout", "stderr")}
    return {**done, **told}


def sed(
    ctx: MinionContext,
    path: str,
    before: str,
    after: str,
    limit: str,
    backup: object,
    options: str,
    flags: str,
    negate: bool,
) -> dict[str, Any]:
    """Change a file with sed; the texts are escaped."""
    import shlex

    place = f"/{limit}/ " if limit else ""
    script = f"{place}{'!' if negate else ''}s/{before}/{after}/{flags}"
    argv = ["sed", f"-i{backup}" if backup else "-i", *shlex.split(str(options)), script]
    keep_replaced_path(path)
    return run_on(ctx, argv, path)


def sed_finds(ctx: MinionContext, path: str, text: str, limit: str, flags: str) -> bool:
    """Whether sed prints anything for a substitution."""
    place = f"/{limit}/ " if limit else ""
    argv = ["sed", "-n", "-r", "-e", f"{place}s/{text}/$/{flags}p", path]
    done = run(ctx, argv)
    return bool(done["stdout"] or done["stderr"])


def grep(ctx: MinionContext, path: str, pattern: object, opts: Sequence[object]) -> dict[str, Any]:
    """Search files with grep; a pattern is never an option."""
    import glob
    import shlex

    options = []
    for opt in opts:
        words = shlex.split(str(opt))
        if len(words) > 1:
            raise UsageError(
                "Passing multiple command line arguments in a single string is not supported,"
                f" please pass the following arguments separately: {opt}"
            )
        options += words
    paths = glob.glob(path) or [path]
    return run(ctx, ["grep", *options, "-e", str(pattern), "--", *paths])


def patch(
    ctx: MinionContext,
    path: str,
    patchfile: str,
    options: Any,
    dry_run: bool,
    *,
    rejects: str = "-",
    output: str = "",
) -> dict[str, Any]:
    """Apply a patch to a file or to the files of a directory.

    What cannot be applied goes to the file ``rejects``. With ``output`` the result goes there.
    """
    import shlex

    program = ctx.host.which("patch")
    if program is None:
        raise FunctionError(
            "patch executable not found in path. Is the corresponding package installed?"
        )
    given = shlex.split(options) if isinstance(options, str) else [str(opt) for opt in options]
    argv = [program, *given, "--forward", f"--reject-file={rejects}"]
    if dry_run:
        argv.append("--dry-run")
    if output:
        argv.append(f"--output={output}")
    argv += ["-i", patchfile]
    if os.path.isdir(path):
        depth = [] if any(opt.startswith(("-p", "--strip")) for opt in given) else ["-p0"]
        with reach_folder(path) as spot:
            if spot.is_trusted:
                return run(ctx, [*argv, "-d", path, *depth])
            return run(ctx, [*argv, *depth], spot.folder)
    if not dry_run and not output:
        keep_replaced_path(path)
    return run_on(ctx, argv, path)
