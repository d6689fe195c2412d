"""What the firmware says of the machine, and its graphics processors."""

from __future__ import annotations

from typing import Any

from saltlite.errors import CommandError
from saltlite.host import Host

DMI = "/sys/class/dmi/id"
COMMAND_TIMEOUT_S = 5.0

_DMI_FILES = {
    "biosversion": "bios_version",
    "biosreleasedate": "bios_date",
    "biosvendor": "bios_vendor",
    "boardname": "board_name",
    "manufacturer": "sys_vendor",
    "productname": "product_name",
    "serialnumber": "product_serial",
    "uuid": "product_uuid",
}

_GRAPHICS = ("vga compatible controller", "3d controller", "display controller")
_VENDORS = ("nvidia", "amd", "ati", "intel", "cirrus", "vmware", "matrox", "aspeed")


def read(host: Host, *, gpus: bool = True) -> dict[str, Any]:
    """The grains of this machine; without ``gpus`` graphics processors are not looked for."""
    found = dmi_grains({name: host.read_text(f"{DMI}/{file}") for name, file in _DMI_FILES.items()})
    return {**found, **(_read_gpus(host) if gpus else {})}


def dmi_grains(values: dict[str, str | None]) -> dict[str, Any]:
    """Only what the firmware has; the UUID in lower case."""
    grains = {name: value.strip() for name, value in values.items() if value and value.strip()}
    if "uuid" in grains:
        grains["uuid"] = grains["uuid"].lower()
    return grains


def _read_gpus(host: Host) -> dict[str, Any]:
    text = ""
    if host.which("lspci"):
        try:
            text = host.run(["lspci", "-vmm"], timeout_s=COMMAND_TIMEOUT_S).stdout
        except CommandError:
            text = ""
    gpus = parse_lspci(text)
    return {"gpus": gpus, "num_gpus": len(gpus)}


def parse_lspci(text: str) -> list[dict[str, str]]:
    """The graphics processors in the output of ``lspci -vmm``."""
    gpus = []
    for block in text.split("\n\n"):
        entry = {
            name.strip(): value.strip()
            for name, _, value in (line.partition(":") for line in block.splitlines())
        }
        if entry.get("Class", "").lower() in _GRAPHICS:
            gpus.append(
                {"vendor": _find_vendor(entry.get("Vendor", "")), "model": entry.get("Device", "")}
            )
    return gpus


def _find_vendor(text: str) -> str:
    words = text.lower().replace("[", " ").replace("]", " ").replace("/", " ").split()
    return next((vendor for vendor in _VENDORS if vendor in words), "unknown")
