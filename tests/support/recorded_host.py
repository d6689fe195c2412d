"""A host that answers from text, and functions that look at it."""

from __future__ import annotations

from saltlite.config.minion import MinionConfig
from saltlite.context import MinionContext
from saltlite.host import Completed, Host
from saltlite.loader.registry import Registry


class Recorded(Host):
    """Commands answer from ``said``, files from ``files``; both are kept."""

    def __init__(self, said=None, files=None, missing=(), links=()):
        self.said, self.files, self.missing = said or {}, files or {}, missing
        self.told_links = list(links)
        self.ran = []

    def run(self, command, **options):
        line = " ".join(command)
        self.ran.append(line)
        out, code = self.said.get(line, ("", 0)) if line in self.said else ("", 0)
        return Completed(1, code, out, "")

    def links(self):
        return self.told_links

    def which(self, name):
        return None if name in self.missing else f"/bin/{name}"

    def read_bytes(self, path, **options):
        text = self.files.get(path)
        return text if isinstance(text, bytes) or text is None else text.encode()

    def read_link(self, path):
        return self.files.get(f"link {path}")

    def is_dir(self, path):
        return False

    def exists(self, path):
        return path in self.files


def caller(host, grains=None):
    ctx = MinionContext(config=MinionConfig(), host=host, grains=grains or {}, pillar={})
    ctx.functions = Registry(ctx)
    return ctx.functions.call
