"""Answer calls of runners and wheel functions with real Salt, as JSON lines; run by its Python.

    python real_master.py CONFIG_DIR

One request per line on stdin, ``{"kind": "runner", "fun": ..., "args": [...], "kwargs": {...}}``
(``kind`` may be ``wheel``), one answer each: ``{"ok": true, "return": ...}``, or ``ok`` false and
a ``message``.
"""

import json
import os
import sys


def answer(opts, request):
    import salt.runner
    import salt.wheel

    try:
        if request["kind"] == "wheel":
            client = salt.wheel.WheelClient(opts)
        else:
            client = salt.runner.RunnerClient(opts)
        low = {"arg": request["args"], "kwarg": request["kwargs"]}
        said = client.cmd(request["fun"], print_event=False, full_return=True, **low)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - every end is an answer
        return {"ok": False, "message": str(error)}
    if not isinstance(said, dict) or "return" not in said:
        return {"ok": True, "return": plain(said)}
    if not said.get("success", True):
        return {"ok": False, "message": str(said["return"])}
    value = said["return"]
    if isinstance(value, dict) and set(value) == {"outputter", "data"}:
        value = value["data"]
    return {"ok": True, "return": plain(value)}


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
    import salt.config

    opts = salt.config.master_config(os.path.join(sys.argv[1], "master"))
    opts["config_dir"] = sys.argv[1]  # as the parser of the command line does for salt-master
    opts["quiet"] = True
    for line in requests:
        answers.write(json.dumps(answer(opts, json.loads(line)), default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
