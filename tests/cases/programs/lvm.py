"""The commands of lvm2, with the volumes they make in /etc/fakelvm; no device is opened.

There a line is a volume: ``pv DEVICE GROUP``, ``vg NAME``, ``lv GROUP/NAME SECTORS``. What has
changed something is noted in /etc/fakelvm.log. Devices have 1 GiB.
"""

import os
import sys

KEPT = "/etc/fakelvm"
EXTENT = 8192  # sectors of 512 bytes: 4 MiB
WITH_VALUE = (
    "-n", "-L", "-l", "-V", "--thinpool", "--dataalignment", "--physicalextentsize", "--contiguous",
    "--wipesignatures",
)  # fmt: skip
UNITS = {"k": 2, "m": 2048, "g": 2 << 20, "t": 2 << 30}


def fail(text, code=5):
    print(f"  {text}", file=sys.stderr)
    sys.exit(code)


def words_of(argv):
    """Options with their values, and the other words."""
    given, rest = {}, []
    argv = list(argv)
    while argv:
        word = argv.pop(0)
        if word.startswith("-"):
            given[word] = argv.pop(0) if word in WITH_VALUE else True
        else:
            rest.append(word)
    return given, rest


def path(name):
    return name.removeprefix("/dev/")


def sectors(text, kept, vg):
    """``1G``, ``+1g``, extents, ``100%FREE``."""
    text = str(text)
    if text.endswith("%FREE"):
        return free(kept, vg) * int(text.removesuffix("%FREE")) // 100 * EXTENT
    if text[-1:].lower() in UNITS:
        wanted = float(text[:-1]) * UNITS[text[-1].lower()]
    elif text.isdecimal():
        wanted = float(text) * 2048
    else:
        fail(f"Invalid argument for --size: {text}", 3)
    return -(-int(wanted) // EXTENT) * EXTENT


def size_of(given, kept, vg):
    if "-l" in given:
        text = given["-l"]
        return sectors(text, kept, vg) if "%" in text else int(text) * EXTENT
    return sectors(given.get("-L") or given["-V"], kept, vg)


def extents(kept, vg):
    return 255 * sum(1 for each in kept["pvs"].values() if each == vg)


def free(kept, vg):
    used = sum(size // EXTENT for name, size in kept["lvs"].items() if name.startswith(f"{vg}/"))
    return extents(kept, vg) - used


def pvdisplay(kept, given, names):
    for name in names:
        if name not in kept["pvs"]:
            fail(f'Failed to find physical volume "{name}".')
    for number, (device, vg) in enumerate(sorted(kept["pvs"].items())):
        if names and device not in names:
            continue
        if not vg:
            print(f'  "{device}" is a new physical volume of "1.00 GiB"')
            print(f"  {device}:#orphans_lvm2:2097152:-1:0:0:-1:0:0:0:0:uuid-{number}")
        else:
            print(f"  {device}:{vg}:2097152:-1:8:8:-1:4096:255:{free(kept, vg)}:0:uuid-{number}")


def vgdisplay(kept, given, names):
    for name in names:
        if name not in kept["vgs"]:
            fail(f'Volume group "{name}" not found\n  Cannot process volume group {name}')
    for vg in names or kept["vgs"]:
        pvs = sum(1 for each in kept["pvs"].values() if each == vg)
        lvs = sum(1 for name in kept["lvs"] if name.startswith(f"{vg}/"))
        total, left = extents(kept, vg), free(kept, vg)
        print(f"  {vg}:r/w:772:-1:0:{lvs}:0:-1:0:{pvs}:{pvs}:{total * 4096}:4096:{total}:"
              f"{total - left}:{left}:uuid-{vg}")  # fmt: skip


def lvdisplay(kept, given, names):
    for name in names:
        if path(name) not in kept["lvs"] and path(name) not in kept["vgs"]:
            vg, _, lv = path(name).partition("/")
            fail(f'Failed to find logical volume "{vg}/{lv}"')
    for number, (name, size) in enumerate(kept["lvs"].items()):
        vg = name.partition("/")[0]
        if not names or name in map(path, names) or vg in map(path, names):
            print(f"  /dev/{name}:{vg}:3:1:-1:0:{size}:{size // EXTENT}:-1:0:-1:254:{number}")


def pvcreate(kept, given, names):
    for device in names:
        if not os.path.exists(device):
            fail(f"No device found for {device}.")
        if kept["pvs"].get(device):
            fail(f"Can't initialize physical volume \"{device}\" of volume group "
                 f'"{kept["pvs"][device]}" without -ff')  # fmt: skip
        kept["pvs"][device] = ""
        print(f'  Physical volume "{device}" successfully created.')


def pvremove(kept, given, names):
    for device in names:
        if device not in kept["pvs"]:
            fail(f"No PV found on device {device}.")
        if kept["pvs"][device]:
            fail(f"PV {device} is used by VG {kept['pvs'][device]} so please use vgreduce first.")
        del kept["pvs"][device]
        print(f'  Labels on physical volume "{device}" successfully wiped.')


def vgcreate(kept, given, names):
    vg = names[0]
    if vg in kept["vgs"]:
        fail(f"A volume group called {vg} already exists.")
    vgextend({**kept, "vgs": [*kept["vgs"], vg]}, given, names)
    kept["vgs"].append(vg)
    print(f'  Volume group "{vg}" successfully created')


def vgextend(kept, given, names):
    vg, *devices = names
    for device in devices:
        if not os.path.exists(device):
            fail(f"No device found for {device}.")
        if kept["pvs"].get(device):
            fail(f"Physical volume '{device}' is already in volume group '{kept['pvs'][device]}'")
        kept["pvs"][device] = vg


def vgremove(kept, given, names):
    for vg in names:
        if vg not in kept["vgs"]:
            fail(f'Volume group "{vg}" not found')
        kept["vgs"].remove(vg)
        kept["lvs"] = {k: v for k, v in kept["lvs"].items() if not k.startswith(f"{vg}/")}
        kept["pvs"] = {k: "" if v == vg else v for k, v in kept["pvs"].items()}
        print(f'  Volume group "{vg}" successfully removed')


def lvcreate(kept, given, names):
    vg, _, other = names[0].partition("/")
    if vg not in kept["vgs"]:
        fail(f'Volume group "{vg}" not found')
    if other and names[0] not in kept["lvs"]:
        fail(f'Failed to find logical volume "{names[0]}"')
    lv = given.get("-n") or given["--thinpool"]
    name, size = f"{vg}/{lv}", size_of(given, kept, vg)
    if name in kept["lvs"]:
        fail(f'Logical Volume "{lv}" already exists in volume group "{vg}"')
    if size // EXTENT > free(kept, vg):
        fail(f'Volume group "{vg}" has insufficient free space ({free(kept, vg)} extents): '
             f"{size // EXTENT} required.")  # fmt: skip
    kept["lvs"][name] = size
    print(f'  Logical volume "{lv}" created.')


def lvremove(kept, given, names):
    for name in names:
        if path(name) not in kept["lvs"]:
            fail(f'Failed to find logical volume "{path(name)}"')
        del kept["lvs"][path(name)]
        print(f'  Logical volume "{path(name).partition("/")[2]}" successfully removed')


def lvresize(kept, given, names):
    name = path(names[0])
    if name not in kept["lvs"]:
        fail(f'Failed to find logical volume "{name}"')
    vg = name.partition("/")[0]
    old, size = kept["lvs"][name], size_of(given, kept, vg)
    if size == old:
        fail(
            f"New size ({size // EXTENT} extents) matches existing size ({old // EXTENT} extents)."
        )
    if (size - old) // EXTENT > free(kept, vg):
        fail(f"Insufficient free space: {(size - old) // EXTENT} extents needed, but only "
             f"{free(kept, vg)} available")  # fmt: skip
    kept["lvs"][name] = size
    print(f"  Logical volume {name} successfully resized.")


def volumes():
    kept = {"pvs": {}, "vgs": [], "lvs": {}}
    if os.path.exists(KEPT):
        with open(KEPT) as file:
            for kind, name, *rest in (line.split() for line in file):
                if kind == "vg":
                    kept["vgs"].append(name)
                elif kind == "pv":
                    kept["pvs"][name] = "".join(rest)
                else:
                    kept["lvs"][name] = int(rest[0])
    return kept


def lines(kept):
    return [
        *(f"pv {device} {vg}\n" for device, vg in kept["pvs"].items()),
        *(f"vg {vg}\n" for vg in kept["vgs"]),
        *(f"lv {name} {size}\n" for name, size in kept["lvs"].items()),
    ]


def main(program, *argv):
    if program == "lvm":
        print("  LVM version:     2.03.16(2) (2022-05-18)\n  Library version: 1.02.185")
        return
    kept = volumes()
    before = lines(kept)
    given, names = words_of(argv)
    commands = {
        each.__name__: each
        for each in (pvdisplay, vgdisplay, lvdisplay, pvcreate, pvremove, vgcreate, vgextend,
                     vgremove, lvcreate, lvremove, lvresize)
    }  # fmt: skip
    commands[{"lvextend": "lvresize"}.get(program, program)](kept, given, names)
    if lines(kept) != before:
        with open(KEPT, "w") as file:
            file.writelines(lines(kept))
        with open(f"{KEPT}.log", "a") as file:
            file.write(" ".join([program, *argv]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
