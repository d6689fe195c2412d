"""semanage, setsebool, getsebool, semodule and restorecon, with what they keep in
/etc/fakeselinux/policy. What is said is said as of policycoreutils 3."""

import marshal
import os
import sys

KEPT = "/etc/fakeselinux/policy"
KINDS = {
    "a": "all files", "f": "regular file", "d": "directory", "c": "character device",
    "b": "block device", "s": "socket", "l": "symbolic link", "p": "named pipe",
}  # fmt: skip
FILE_TYPES = ("default_t", "etc_t", "httpd_sys_content_t", "mnt_t", "tmp_t", "var_t")
PORT_TYPES = ("http_cache_port_t", "http_port_t", "ssh_port_t")
FRESH = {
    "booleans": {"httpd_enable_cgi": ["on", "on"], "httpd_can_network_connect": ["off", "off"]},
    "files": [
        ["/", "d", "system_u", "root_t", "s0"],
        ["/.*", "a", "system_u", "default_t", "s0"],
        ["/mnt(/.*)?", "a", "system_u", "mnt_t", "s0"],
    ],
    "local_files": [],
    "ports": [
        ["http_cache_port_t", "tcp", "8080"],
        ["http_cache_port_t", "tcp", "10001-10010"],
        ["http_port_t", "tcp", "80"],
        ["http_port_t", "tcp", "443"],
        ["ssh_port_t", "tcp", "22"],
    ],
    "local_ports": [],
    "modules": {"abrt": True, "my_mod": False},
    "labels": {},
}


def fail(text, code=1):
    print(text, file=sys.stderr)
    sys.exit(code)


def options(words):
    """Long options with their values, and the last word."""
    given, rest = {}, []
    words = list(words)
    while words:
        word = words.pop(0)
        if word in ("--add", "--modify", "--delete"):
            given["verb"] = word[2:]
        elif word.startswith("--"):
            given[word[2:]] = words.pop(0)
        else:
            rest.append(word)
    return given, rest[-1] if rest else ""


def semanage(kept, words):
    kind, *words = words
    if words == ["-l"]:
        {"boolean": list_booleans, "fcontext": list_files, "port": list_ports}[kind](kept)
    elif words == ["-l", "-C"]:  # without what the policy itself says
        own = {**kept, "files": [], "ports": []}
        {"fcontext": list_files, "port": list_ports}[kind](own)
    elif kind == "fcontext":
        files(kept, *options(words))
    elif kind == "port":
        ports(kept, *options(words))


def list_booleans(kept):
    print("SELinux boolean                State  Default Description\n")
    for name, (state, default) in sorted(kept["booleans"].items()):
        print(f"{name:<30} ({state:<5},{default:>5})  Allow what {name} says")


def list_files(kept):
    print(f"{'SELinux fcontext':<50} {'type':<18} Context\n")
    rows = {tuple(row[:2]): row for row in kept["files"] + kept["local_files"]}
    for path, ftype, user, stype, level in rows.values():
        print(f"{path:<50} {KINDS[ftype]:<18} {user}:object_r:{stype}:{level} ")
    print("\nSELinux Distribution fcontext Equivalence \n\n/run = /var/run")


def list_ports(kept):
    print(f"{'SELinux Port Type':<30} {'Proto':<8} Port Number\n")
    rows = {}
    for stype, protocol, port in kept["local_ports"] + kept["ports"]:
        rows.setdefault((stype, protocol), []).append(port)
    for (stype, protocol), numbers in sorted(rows.items()):
        print(f"{stype:<30} {protocol:<8} {', '.join(numbers)}")


def files(kept, given, path):
    key = [path, given.get("ftype", "a")]
    local = [row for row in kept["local_files"] if row[:2] == key]
    known = local or [row for row in kept["files"] if row[:2] == key]
    what = f"File context for {path}"
    if given["verb"] == "delete":
        if not local:
            how = "defined in policy, cannot be deleted" if known else "not defined"
            fail(f"ValueError: {what} is {how}")
        kept["local_files"].remove(local[0])
        return
    if given["verb"] == "add" and known:
        fail(f"ValueError: {what} already defined")
    if given["verb"] == "modify" and not known:
        fail(f"ValueError: {what} is not defined")
    stype = given.get("type") or (known[0][3] if known else "")
    if stype not in FILE_TYPES:
        fail(f"ValueError: Type {stype} is invalid, must be a file or device type")
    old = known[0] if known else [*key, "system_u", stype, "s0"]
    if local:
        kept["local_files"].remove(local[0])
    row = [*key, given.get("seuser", old[2]), stype, given.get("range", old[4])]
    kept["local_files"].append(row)


def ports(kept, given, port):
    protocol = given["proto"]
    local = [row for row in kept["local_ports"] if row[1:] == [protocol, port]]
    known = local or [row for row in kept["ports"] if row[1:] == [protocol, port]]
    what = f"Port {protocol}/{port}"
    if given["verb"] == "delete":
        if not local:
            how = "defined in policy, cannot be deleted" if known else "not defined"
            fail(f"ValueError: {what} is {how}")
        kept["local_ports"].remove(local[0])
        return
    if given["verb"] == "add" and known:
        fail(f"ValueError: {what} already defined")
    if given["verb"] == "modify" and not known:
        fail(f"ValueError: {what} is not defined")
    if given.get("type") not in PORT_TYPES:
        fail(f"ValueError: Type {given.get('type')} is invalid, must be a port type")
    if local:
        kept["local_ports"].remove(local[0])
    kept["local_ports"].append([given["type"], protocol, port])


def setsebool(kept, words):
    keeps = words[0] == "-P"
    words = words[1:] if keeps else words
    pairs = [word.split("=") for word in words] if "=" in words[0] else [words]
    for name, value in pairs:
        if name not in kept["booleans"]:
            fail(f"Boolean {name} is not defined", 255)
        state = {"1": "on", "true": "on", "0": "off", "false": "off"}.get(value.lower(), value)
        if state not in ("on", "off"):
            fail(f"setsebool:  illegal value {value} for boolean {name}", 1)
        kept["booleans"][name] = [state, state if keeps else kept["booleans"][name][1]]


def semodule(kept, words):
    if words == ["-h"]:
        print("usage:  semodule [option]... MODE...\n  -l, --list-modules=[KIND]")
        print("      KIND:  standard  list highest priority, enabled modules")
        print("             full      list all modules")
    elif words[0] == "-lfull":
        for name, is_on in sorted(kept["modules"].items()):
            print(f"{100 if is_on else 400} {name:<17} pp{'' if is_on else '    disabled'}")
    elif words[0] == "-i":
        if not os.path.exists(words[1]):
            fail(f"libsemanage.map_file: Unable to open {words[1]}\n (No such file or directory).")
        kept["modules"][os.path.splitext(os.path.basename(words[1]))[0]] = True
    elif words[1] not in kept["modules"]:
        fail(f"libsemanage.semanage_direct_get_module_info: Unable to find module: {words[1]}.")
    elif words[0] == "-r":
        del kept["modules"][words[1]]
    else:
        kept["modules"][words[1]] = words[0] == "-e"


def restorecon(kept, words):
    path = words[-1]
    if not os.path.lexists(path):
        fail(f"restorecon: lstat({path}) failed: No such file or directory", 255)
    places = [path]
    if "-R" in words:
        places += [os.path.join(top, each) for top, ds, fs in os.walk(path) for each in ds + fs]
    for place in sorted(places):
        was = kept["labels"].get(place, "unconfined_u:object_r:mnt_t:s0")
        user, stype, level = wanted(kept, place)
        label = f"{user}:object_r:{stype}:{level}"
        if "-F" not in words:
            label = ":".join([*was.split(":")[:2], stype, *was.split(":")[3:]])
        if label != was:
            does = "Would relabel" if "-n" in words else "Relabeled"
            print(f"{does} {place} from {was} to {label}")
            if "-n" not in words:
                kept["labels"][place] = label


def wanted(kept, path):
    import re

    ftype = "d" if os.path.isdir(path) else "f"
    for each, kind, user, stype, level in reversed(kept["files"] + kept["local_files"]):
        if kind in ("a", ftype) and re.fullmatch(each, path):
            return user, stype, level
    raise LookupError(path)


def main(program, *words):
    kept = FRESH
    if os.path.exists(KEPT):
        with open(KEPT, "rb") as file:
            kept = marshal.load(file)
    before = repr(kept)
    {"semanage": semanage, "setsebool": setsebool, "semodule": semodule,
     "restorecon": restorecon}[program](kept, list(words))  # fmt: skip
    if repr(kept) != before:
        os.makedirs(os.path.dirname(KEPT), exist_ok=True)
        with open(KEPT, "wb") as file:
            marshal.dump(kept, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
