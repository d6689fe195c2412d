"""``--version`` and ``--versions-report``, answered before anything costly is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from saltlite.version import __version__

CODE_NAME = "saltlite"


def version_line(prog: str) -> str:
    """``salt 0.1.0 (saltlite)``."""
    return f"{prog} {__version__} ({CODE_NAME})"


def answer_version(prog: str, argv: Sequence[str]) -> bool:
    """Answer if all that is asked for is the version; the first thing each command does."""
    if list(argv) != ["--version"]:
        return False
    sys.stdout.write(version_line(prog) + "\n")
    return True


LIBRARIES = (
    ("cryptography", "cryptography"),
    ("Jinja2", "jinja2"),
    ("msgpack", "msgpack"),
    ("PyYAML", "PyYAML"),
    ("PyZMQ", "pyzmq"),
    ("setproctitle", "setproctitle"),
    ("Tornado", "tornado"),
)


def versions() -> dict[str, dict[str, str | None]]:
    """The versions of saltlite, Python, libraries and system; ``None`` for what is not there."""
    import platform

    libraries = {name: _read_installed_version(package) for name, package in LIBRARIES}
    libraries["ZMQ"] = _libzmq_version()
    return {
        "Salt Version": {"Salt": __version__},
        "Python Version": {"Python": sys.version.replace("\n", "")},
        "Dependency Versions": dict(sorted(libraries.items(), key=lambda item: item[0].lower())),
        "System Versions": {
            "machine": platform.machine(),
            "release": platform.release(),
            "system": platform.system(),
            "version": _distribution_name(),
        },
    }


def versions_report() -> str:
    """The block that ``--versions-report`` prints, in Salt's form."""
    blocks = versions()
    width = max(len(name) for block in blocks.values() for name in block)
    lines = []
    for title, block in blocks.items():
        lines.append(f"{title}:")
        lines += [
            f"{name:>{width}}: {version or 'Not Installed'}" for name, version in block.items()
        ]
        lines.append(" ")
    return "\n".join(lines[:-1])


def _read_installed_version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _libzmq_version() -> str | None:
    try:
        import zmq
    except ImportError:
        return None
    return zmq.zmq_version()


def _distribution_name() -> str:
    import platform

    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ""
    return release.get("PRETTY_NAME", "")
