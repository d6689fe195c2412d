"""``network.*``: wake machines over the network."""

from __future__ import annotations

from pathlib import Path

from saltlite.runner_context import RunnerContext


def wol(mac: str, bcast: str = "255.255.255.255", destport: int = 9) -> bool:
    """Wake one machine.

    CLI Example:

        salt-run network.wol 08:00:27:13:69:77
        salt-run network.wol 08-00-27-13-69-77 bcast=192.0.2.255 destport=7
    """
    from saltlite.modules import network  # with all that looks at interfaces

    return network.wol(mac, bcast, destport)


def wollist(
    ctx: RunnerContext, maclist: str, bcast: str = "255.255.255.255", destport: int = 9
) -> list[str]:
    """Wake the machines whose addresses are in a file, one on each line; the addresses.

    CLI Example:

        salt-run network.wollist '/path/to/maclist'
    """
    woken: list[str] = []
    try:
        for line in Path(maclist).read_text(encoding="utf-8").splitlines():
            wol(line.strip(), bcast, destport)
            woken.append(line.strip())
            ctx.write(f"Waking up {line.strip()}")
    except (OSError, ValueError) as error:
        ctx.write(f"Failed to open the MAC file. Error: {error}")
        return []
    return woken


def wolmatch(
    ctx: RunnerContext,
    tgt: str,
    tgt_type: str = "glob",
    bcast: str = "255.255.255.255",
    destport: int = 9,
) -> list[str]:
    """Wake the minions of a target by the addresses in their cached grains; the addresses.

    CLI Example:

        salt-run network.wolmatch minion_id
    """
    woken: list[str] = []
    for minion in ctx.cached(tgt, tgt_type):
        grains = ctx.cache.fetch("grains", minion) or {}
        for interface, mac in (grains.get("hwaddr_interfaces") or {}).items():
            if interface != "lo":
                wol(str(mac), bcast, destport)
                ctx.write(f"Waking up {mac}")
                woken.append(str(mac))
    return woken
