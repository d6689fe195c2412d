"""Answer the requests of ``isolated_states`` with real Salt; run by the Python of its environment.

python real_states.py CONFIG_DIR
"""

import json
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))


def main():
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    import salt.client
    import salt.config

    os.makedirs("/mnt/conf", exist_ok=True)
    config = os.path.join(sys.argv[1], "minion")
    caller = salt.client.Caller(mopts=salt.config.minion_config(config))
    for line in requests:
        request = json.loads(line)
        if request.get("state", "").startswith("grains."):  # they are collected once
            caller = salt.client.Caller(mopts=salt.config.minion_config(config))
        answer = applied(caller, request) if "state" in request else plain_request(request)
        answers.write(json.dumps(answer, default=str) + "\n")
        answers.flush()


def applied(caller, request):
    try:
        said = caller.cmd("state.high", high(request), test=request["test"])
    except Exception as error:  # noqa: BLE001 - every end is an answer
        return str(error)
    if not isinstance(said, dict):
        return "\n".join(said)
    (answer,) = said.values()
    comment = answer["comment"]
    if "Traceback" in comment:
        comment = f"An exception occurred: {comment.strip().splitlines()[-1].partition(': ')[2]}"
    return {"result": answer["result"], "changes": answer["changes"], "comment": comment}


def high(request):
    module, function = request["state"].split(".")
    args = [{key: value} for key, value in request["args"].items()]
    return {"id": {module: [function, *args]}}


def plain_request(request):
    if "write" in request:
        for path, text in request["write"].items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        return True
    if "env" in request:
        return os.environ.get(request["env"])
    if "mode" in request:
        return oct(os.stat(request["mode"]).st_mode & 0o7777)
    if not os.path.exists(request["read"]):
        return None
    with open(request["read"]) as file:
        return file.read()


if __name__ == "__main__":
    main()
