"""ifup, ifdown and service: which interfaces are up is kept in /etc/fakenet, as in /sys/class/net.

Real Salt asks the kernel: with FAKE_LINKS the interface of this namespace comes up, too.
"""

import os
import subprocess
import sys

KEPT = "/etc/fakenet"
REFUSED = "nosuch"


def main(program, *argv):
    if program == "service":
        sys.exit(0 if argv in (("networking", "stop"), ("networking", "start")) else 1)
    name = argv[-1]
    if name == REFUSED:
        print(f"{program}: unknown interface {name}", file=sys.stderr)
        sys.exit(1)
    is_up = program == "ifup"
    os.makedirs(os.path.join(KEPT, name), exist_ok=True)
    with open(os.path.join(KEPT, name, "flags"), "w") as file:
        file.write("0x1003\n" if is_up else "0x1002\n")
    if os.environ.get("FAKE_LINKS"):
        state = "up" if is_up else "down"
        subprocess.run(["ip", "link", "set", name, state], check=False, capture_output=True)


if __name__ == "__main__":
    main(os.path.basename(sys.argv[1]), *sys.argv[2:])
