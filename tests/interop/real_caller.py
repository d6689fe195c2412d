"""Answer function calls with real Salt, as JSON lines. Run by the Python of its own environment.

    python real_caller.py CONFIG_DIR

One request per line on stdin: ``{"fun": ..., "args": [...], "kwargs": {...}}``, one answer each:
``{"ok": true, "return": ...}`` or ``{"ok": false, "type": ..., "message": ...}``.
"""

import json
import os
import sys


def answer(caller, request):
    try:
        value = caller.cmd(request["fun"], *request["args"], **request["kwargs"])
        return {"ok": True, "return": plain(value)}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - every end is an answer
        return {"ok": False, "type": type(error).__name__, "message": str(error)}


def plain(value):
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value), key=str)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return [plain(item) for item in value] if hasattr(value, "__iter__") else str(value)


def main():
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # functions keep off the two lines of talk
    os.dup2(2, 1)
    import salt.client
    import salt.config

    opts = salt.config.minion_config(os.path.join(sys.argv[1], "minion"))
    caller = salt.client.Caller(mopts=opts)
    for line in requests:
        answers.write(json.dumps(answer(caller, json.loads(line)), default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
