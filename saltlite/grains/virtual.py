"""Whether this is a real machine, a virtual one or a container."""

from __future__ import annotations

from typing import Any

from saltlite.errors import CommandError
from saltlite.host import Host

COMMAND_TIMEOUT_S = 5.0

_DETECTED = {
    "amazon": ("Nitro", "Amazon EC2"),
    "bochs": ("bochs", None),
    "docker": ("container", "Docker"),
    "kvm": ("kvm", None),
    "lxc": ("container", "LXC"),
    "lxc-libvirt": ("container", "LXC"),
    "microsoft": ("VirtualPC", None),
    "oracle": ("oracle", None),
    "podman": ("container", "Podman"),
    "qemu": ("qemu", None),
    "systemd-nspawn": ("systemd-nspawn", None),
    "uml": ("uml", None),
    "vmware": ("VMware", None),
    "xen": ("xen", None),
}
"""``virtual`` and ``virtual_subtype`` for what ``systemd-detect-virt`` says; others are physical.

Source: observed on Salt 3006.30.
"""

_PRODUCTS = (
    ("VirtualBox", "VirtualBox"),
    ("VMware", "VMware"),
    ("KVM", "kvm"),
    ("Bochs", "kvm"),
    ("QEMU", "kvm"),
    ("Virtual Machine", "VirtualPC"),
    ("HVM domU", "xen"),
)
"""What the firmware calls the machine, for systems without systemd."""


def read(host: Host) -> dict[str, Any]:
    """The grains of this machine."""
    if host.which("systemd-detect-virt"):
        try:
            done = host.run(["systemd-detect-virt"], timeout_s=COMMAND_TIMEOUT_S)
        except CommandError:
            return virtual_grains("")
        return virtual_grains(done.stdout.strip())
    return _without_systemd(host)


def virtual_grains(detected: str) -> dict[str, Any]:
    """The grains for what ``systemd-detect-virt`` says."""
    kind, subtype = _DETECTED.get(detected, ("physical", None))
    return {"virtual": kind} if subtype is None else {"virtual": kind, "virtual_subtype": subtype}


def _without_systemd(host: Host) -> dict[str, Any]:
    container = container_kind(
        host.read_text("/proc/1/cgroup") or "", docker=host.exists("/.dockerenv")
    )
    if container is not None:
        return {"virtual": "container", "virtual_subtype": container}
    product = host.read_text("/sys/class/dmi/id/product_name") or ""
    vendor = host.read_text("/sys/class/dmi/id/sys_vendor") or ""
    named = f"{vendor} {product}"
    kind = next((kind for word, kind in _PRODUCTS if word in named), "physical")
    return {"virtual": kind}


def container_kind(cgroup: str, *, docker: bool) -> str | None:
    """Docker or LXC, from the control group of the first process; ``None`` for no container."""
    if docker or "/docker/" in cgroup:
        return "Docker"
    return "LXC" if "/lxc/" in cgroup else None
