"""Answer the steps of docker/states.yaml with real Salt; run by the Python of its environment.

python real_docker.py CONFIG_DIR
"""

import json
import os
import sys


def main():
    steps, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    import salt.client
    import salt.config

    opts = salt.config.minion_config(os.path.join(sys.argv[1], "minion"))
    caller = salt.client.Caller(mopts=opts)
    for line in steps:
        caller.sminion.functions.pack["__context__"].clear()  # what it knows of the engine
        answers.write(json.dumps(answer(caller, json.loads(line)), default=str) + "\n")
        answers.flush()


def answer(caller, step):
    try:
        if "state" in step:
            return applied(caller, step)
        return caller.cmd(step["fun"], *step.get("args", []), **step.get("kwargs", {}))
    except Exception as error:  # noqa: BLE001 - every end is an answer
        return f"{type(error).__name__}: {error}"


def applied(caller, step):
    module, function = step["state"].split(".")
    args = [{key: value} for key, value in step["args"].items()]
    said = caller.cmd("state.high", {"id": {module: [function, *args]}}, test=step["test"])
    if not isinstance(said, dict):
        return said
    (found,) = said.values()
    names = ("result", "changes", "comment", "warnings")
    return {name: found[name] for name in names if name in found}


if __name__ == "__main__":
    main()
