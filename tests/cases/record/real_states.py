"""Answer the requests of ``isolated_states`` with real Salt; run by the Python of its environment.

python real_states.py CONFIG_DIR
"""

import json
import os
import subprocess
import sys
import time

import recording  # noqa: F401 - for tests/support


def main():
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    asked = [json.loads(line) for line in requests]
    if any(request.get("state", "").startswith("selinux.") for request in asked):
        have_selinux()
    if any(request.get("state", "").startswith("network.") for request in asked):
        have_interfaces()
    if any(request.get("state", "").startswith("service.") for request in asked):
        have_systemd()
    if any(request.get("state", "").startswith("http.") for request in asked):
        from web_answers import serve

        serve()
    import salt.client
    import salt.config

    os.makedirs("/mnt/conf", exist_ok=True)
    config = os.path.join(sys.argv[1], "minion")
    caller = salt.client.Caller(mopts=salt.config.minion_config(config))
    for request in asked:
        if request.get("state", "").startswith("grains."):  # they are collected once
            caller = salt.client.Caller(mopts=salt.config.minion_config(config))
        answer = applied(caller, request) if "state" in request else plain_request(request)
        answers.write(json.dumps(answer, default=str) + "\n")
        answers.flush()


def have_selinux():
    """Its file system is /etc/fakeselinux, in this namespace."""
    os.makedirs("/etc/fakeselinux", exist_ok=True)
    for words in ("-t tmpfs none /sys/fs", "--bind /etc/fakeselinux /sys/fs/selinux"):
        place = words.split()[-1]
        os.makedirs(place, exist_ok=True)
        subprocess.run(["mount", *words.split()], check=True)


def have_systemd():
    """One that runs nothing: tests/cases/programs/states/systemctl."""
    os.makedirs("/run/systemd", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/run/systemd"], check=True)
    os.makedirs("/run/systemd/system")


def have_interfaces():
    """A pair of this namespace, and nothing that could install packages."""
    os.environ["FAKE_LINKS"] = "1"
    subprocess.run(
        ["ip", "link", "add", "eth7", "type", "veth", "peer", "name", "eth8"], check=True
    )
    os.makedirs("/mnt/bin")
    for program in ("apt-get", "apt-cache", "dpkg"):
        os.symlink("/bin/true", f"/mnt/bin/{program}")
    os.environ["PATH"] = f"/mnt/bin:{os.environ['PATH']}"


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


def mode_of(path):
    """The mode of what is there, ``None`` for nothing."""
    return oct(os.stat(path).st_mode & 0o7777) if os.path.exists(path) else None


def lines_of(path, name):
    """The line of an account, and which lines have it as a member; this day is ``today``."""
    today = str(int(time.time() // 86400))
    with open(path) as file:
        lines = [line.rstrip("\n").split(":") for line in file]
    return [
        ":".join("today" if field == today else field for field in each)
        if each[0] == name
        else each[0]
        for each in lines
        if name in {each[0], *each[-1].split(",")}
    ]


def printed_by(argv):
    """What a command prints, without comments (``iptables-save`` tells the time in them)."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


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
        return mode_of(request["mode"])
    if "lines" in request:
        return lines_of(request["lines"], request["of"])
    if "command" in request:
        return printed_by(request["command"])
    if "run" in request:
        script = ["sh", "-ec", request["run"]]
        return subprocess.run(script, check=True, stdout=subprocess.PIPE, text=True).stdout
    if not os.path.isfile(request["read"]):
        return None
    with open(request["read"], errors="backslashreplace") as file:
        return file.read()


if __name__ == "__main__":
    main()
