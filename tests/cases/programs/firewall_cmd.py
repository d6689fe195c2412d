"""firewall-cmd(1) with zones and services in /etc/fakefirewalld: what holds, and what is kept."""

import json
import sys
from pathlib import Path

KEPT = Path("/etc/fakefirewalld")
LISTS = {  # what is added and removed: its name in a listing
    "service": "services",
    "port": "ports",
    "protocol": "protocols",
    "forward-port": "forward-ports",
    "icmp-block": "icmp-blocks",
    "interface": "interfaces",
    "source": "sources",
    "rich-rule": "rich rules",
}
SERVICES = ("dhcpv6-client", "dns", "http", "https", "mdns", "ssh")
ICMP = ("echo-reply", "echo-request", "redirect", "timestamp-reply")


def fresh():
    zones = {name: {"services": ["ssh"]} for name in ("public", "work")}
    zones |= {"block": {}, "drop": {}, "trusted": {}}
    zones["public"]["services"] = ["ssh", "dhcpv6-client"]
    services = {name: {"ports": [], "protocols": []} for name in SERVICES}
    return {"default": "public", "zones": zones, "services": services}


def fail(code, text):
    print(f"Error: {text}", file=sys.stderr)
    sys.exit(code)


def main(words):
    options = dict(word.removeprefix("--").partition("=")[::2] for word in words)
    both = json.loads(KEPT.read_text()) if KEPT.exists() else {"now": fresh(), "kept": fresh()}
    which = "kept" if options.pop("permanent", None) is not None else "now"
    before = json.dumps(both)
    answer(both, both[which], options)
    if json.dumps(both) != before:
        KEPT.write_text(json.dumps(both))


def answer(both, config, options):
    zone_name = options.pop("zone", config["default"])
    if "service" in options and len(options) == 2:
        name = options.pop("service")
        if name not in config["services"]:
            fail(101, f"INVALID_SERVICE: {name}")
        place = config["services"][name]
    else:
        place = config["zones"].get(zone_name)
        if place is None:
            fail(112, f"INVALID_ZONE: {zone_name}")
    ((verb, value),) = options.items()
    if verb in ("new-zone", "new-service", "delete-zone", "delete-service"):
        made(config, verb, value)
    elif verb == "set-default-zone":
        if value not in config["zones"]:
            fail(112, f"INVALID_ZONE: {value}")
        both["now"]["default"] = both["kept"]["default"] = value
        print("success")
    elif verb in ("reload", "runtime-to-permanent"):
        carried(both, verb)
    elif verb.endswith("-masquerade"):
        masquerade(place, verb)
    elif verb.startswith(("add-", "remove-", "change-")):
        changed(config, place, zone_name, verb, value)
    else:
        told(config, place, zone_name, verb)


def carried(both, verb):
    if verb == "reload":
        both["now"] = both["kept"] | {"default": both["now"]["default"]}
    else:
        both["kept"] = both["now"]
    print("success")


def made(config, verb, value):
    action, _, kind = verb.partition("-")
    there = config[f"{kind}s"]
    if (value in there) is (action == "new"):
        fail(26, f"NAME_CONFLICT: new_{kind}(): '{value}'") if action == "new" else None
        fail(112 if kind == "zone" else 101, f"INVALID_{kind.upper()}: {value}")
    if action == "new":
        there[value] = {}
    else:
        del there[value]
    print("success")


def masquerade(place, verb):
    has = place.get("masquerade", False)
    if verb == "query-masquerade":
        print("yes" if has else "no")
        sys.exit(0 if has else 1)
    wanted = verb.startswith("add")
    if has is wanted:
        what = "ALREADY_ENABLED" if wanted else "NOT_ENABLED"
        print(f"Warning: {what}: masquerade", file=sys.stderr)
    place["masquerade"] = wanted
    print("success")


def changed(config, place, zone_name, verb, value):
    action, _, what = verb.partition("-")
    if what == "service" and value not in config["services"]:
        fail(101, f"INVALID_SERVICE: '{value}' not among existing services")
    if what == "icmp-block" and value not in ICMP:
        fail(107, f"INVALID_ICMPTYPE: '{value}' not among existing icmp types")
    if what == "port" and "/" not in value:
        fail(102, "INVALID_PORT: bad port (most likely missing protocol), correct syntax is "
             "portid[-portid]/protocol")  # fmt: skip
    has = place.setdefault(LISTS[what], [])
    if (value in has) is (action != "remove"):
        why = "NOT_ENABLED" if action == "remove" else "ALREADY_ENABLED"
        print(f"Warning: {why}: '{value}' already in '{zone_name}'", file=sys.stderr)
    elif action == "remove":
        has.remove(value)
    else:
        has.append(value)
    print("success")


def told(config, place, zone_name, verb):
    lists = {f"list-{name}s": key for name, key in LISTS.items()} | {
        "get-ports": "ports",
        "get-protocols": "protocols",
    }
    if verb in lists:
        found = place.get(lists[verb], [])
        print(("\n" if verb in ("list-rich-rules", "list-forward-ports") else " ").join(found))
    elif verb in ("get-zones", "get-services"):
        print(" ".join(sorted(config[verb.removeprefix("get-")])))
    elif verb == "list-all-zones":
        for name in sorted(config["zones"]):
            listed(config, name, config["zones"][name])
            print()
    elif verb == "list-all":
        listed(config, zone_name, place)
    else:
        known = {
            "state": "running",
            "version": "1.3.3",
            "get-default-zone": config["default"],
            "get-icmptypes": " ".join(ICMP),
        }
        print(known.get(verb) or fail(2, f"unrecognized arguments: --{verb}"))


def listed(config, name, place):
    active = place.get("interfaces") or place.get("sources")
    marks = ["default"] * (name == config["default"]) + ["active"] * bool(active)
    print(name + (f" ({', '.join(marks)})" if marks else ""))
    print("  target: default")
    print("  icmp-block-inversion: no")
    for what in ("interfaces", "sources", "services", "ports", "protocols"):
        print(f"  {what}: {' '.join(place.get(what, []))}")
    print("  forward: yes")
    print(f"  masquerade: {'yes' if place.get('masquerade') else 'no'}")
    ports = "".join(f"\n\t{one}" for one in place.get("forward-ports", []))
    print(f"  forward-ports: {ports}")
    print("  source-ports: ")
    print(f"  icmp-blocks: {' '.join(place.get('icmp-blocks', []))}")
    print("  rich rules: " + "".join(f"\n\t{rule}" for rule in place.get("rich rules", [])))


if __name__ == "__main__":
    main(sys.argv[1:])
