"""Compile pillars with real Salt, as JSON lines. Run by the Python of its own environment.

    python real_pillars.py CONFIG_DIR

One request per line on stdin: the options of one minion without a master; one pillar for each.
"""

import json
import os
import sys


def main():
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # templates keep off the two lines of talk
    os.dup2(2, 1)
    import salt.config
    import salt.pillar

    opts = salt.config.minion_config(os.path.join(sys.argv[1], "minion"))
    for line in requests:
        asked = {**opts, **json.loads(line)}
        # salt-call compiles at its start, and again for pillar.items; templates can tell
        for _ in range(2 if asked.pop("sees_itself") else 1):
            pillar = salt.pillar.get_pillar(asked, asked["grains"], asked["id"]).compile_pillar()
            asked["pillar"] = pillar
        answers.write(json.dumps(pillar, default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
