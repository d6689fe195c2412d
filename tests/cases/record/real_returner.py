"""Call the functions of real Salt's returners, as JSON lines; run by its Python.

    python real_returner.py OPTIONS

OPTIONS is JSON, the master's options that the returners read. One request per line on stdin,
``{"name": ..., "fun": ..., "args": [...]}``, one answer each: ``{"return": ...}`` or
``{"error": ...}``.
"""

import json
import logging
import sys

import salt.config
import salt.loader


def main(options):
    logging.disable()
    opts = salt.config.master_config(None)
    opts.update(json.loads(options))
    functions = salt.loader.minion_mods(opts)
    returners = salt.loader.returners(opts, functions)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            said = {"return": returners[f"{asked['name']}.{asked['fun']}"](*asked["args"])}
        except Exception as error:  # noqa: BLE001 - every end is an answer
            said = {"error": type(error).__name__}
        print("SAID " + json.dumps(said, default=str), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
