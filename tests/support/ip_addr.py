"""The output of ``ip addr show`` as the links that :meth:`saltlite.host.Host.links` gives."""

from __future__ import annotations

import re

from saltlite.core.netlink import IPV4, IPV6, Link, LinkAddress

HEAD = re.compile(r"\d+: ([^:@\s]+)(?:@([^:\s]+))?: <([^>]*)>")
HARDWARE = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2})+")


def links_of(text: str) -> list[Link]:
    """Interfaces in their order, each with its addresses."""
    found: list[Link] = []
    for line in text.splitlines():
        head, words = HEAD.match(line), line.split()
        if head:
            found.append(Link(head[1], up="UP" in head[3].split(","), parent=head[2]))
        elif words and words[0].startswith("link/"):
            hardware = words[1] if len(words) > 1 else ""
            found[-1].hardware = hardware if HARDWARE.fullmatch(hardware) else None
        elif words and words[0] in ("inet", "inet6"):
            found[-1].addresses.append(_address(words))
    return found


def _address(words: list[str]) -> LinkAddress:
    version = IPV4 if words[0] == "inet" else IPV6
    network = words[3] if words[2] == "peer" else words[1]
    return LinkAddress(
        version=version,
        address=words[1].partition("/")[0],
        prefix=int(network.partition("/")[2] or 32),
        scope=words[words.index("scope") + 1],
        broadcast=words[words.index("brd") + 1] if "brd" in words else None,
        label=words[-1] if version == IPV4 else "",
        secondary="secondary" in words,
    )
