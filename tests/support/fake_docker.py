"""A Docker Engine on a Unix socket that keeps state as the real one does. Runs nothing.

Images come from a registry of its own (``REGISTRY``). Source: Docker Engine API v1.43.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import re
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

REGISTRY = {"busybox:latest": "1", "busybox:1.36": "2", "alpine:latest": "3"}
VERSION = {"Version": "24.0.7", "ApiVersion": "1.43", "MinAPIVersion": "1.12", "Os": "linux",
           "GitCommit": "311b9ff", "GoVersion": "go1.20.10", "Arch": "amd64"}  # fmt: skip
STATUS = {"created": "Created", "running": "Up 2 minutes", "paused": "Up 2 minutes (Paused)",
          "exited": "Exited (0) 2 minutes ago"}  # fmt: skip
HOST_CONFIG = {
    "NetworkMode": "default", "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
    "Binds": None, "PortBindings": {}, "Privileged": False, "AutoRemove": False, "CapAdd": None,
    "CapDrop": None, "CpuShares": 0, "CpusetCpus": "", "Devices": [], "Dns": [], "DnsOptions": [],
    "DnsSearch": [], "ExtraHosts": None, "GroupAdd": None, "IpcMode": "private", "Links": None,
    "LogConfig": {"Type": "json-file", "Config": {}}, "Memory": 0, "MemorySwap": 0, "PidMode": "",
    "PidsLimit": None, "PublishAllPorts": False, "ReadonlyRootfs": False, "SecurityOpt": None,
    "ShmSize": 67108864, "Ulimits": None, "UsernsMode": "", "VolumesFrom": None,
}  # fmt: skip
"""What an engine has for a container that is asked for without any of it."""


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(message)


class Engine:
    """What there is."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.images: dict[str, dict[str, Any]] = {}
        self.containers: dict[str, dict[str, Any]] = {}
        self.volumes: dict[str, dict[str, Any]] = {}
        self.networks: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, str]] = []
        self.numbers = itertools.count()
        self.execs: dict[str, dict[str, Any]] = {}
        for name in ("bridge", "host", "none"):
            self.add_network({"Name": name, "Driver": "null" if name == "none" else name})

    # images

    def image(self, name: str) -> dict[str, Any]:
        bare = name.removeprefix("sha256:")
        for ident, found in self.images.items():
            if len(bare) >= 4 and ident.removeprefix("sha256:").startswith(bare):
                return found
        tagged = name if ":" in name.rpartition("/")[2] else f"{name}:latest"
        for found in self.images.values():
            if tagged in found["RepoTags"]:
                return found
        raise Refused(404, f"No such image: {tagged}")

    def pull(self, name: str) -> list[dict[str, Any]]:
        if name not in REGISTRY:
            raise Refused(
                404,
                f"pull access denied for {name.partition(':')[0]}, repository does not exist or"
                " may require 'docker login': denied: requested access to the resource is denied",
            )
        ident = f"sha256:{digest(REGISTRY[name])}"
        layer = digest("layer" + REGISTRY[name])[:12]
        repository, _, tag = name.rpartition(":")
        start = {"status": f"Pulling from library/{repository}", "id": tag}
        if ident in self.images and name in self.images[ident]["RepoTags"]:
            return [
                start,
                {"status": f"Digest: {ident}"},
                {"status": f"Status: Image is up to date for {name}"},
            ]
        self.untag(name)
        image = self.images.setdefault(
            ident,
            {"Id": ident, "RepoTags": [], "RepoDigests": [], "Parent": "", "Comment": "",
             "Created": "2023-05-01T10:00:00.5Z", "Size": 4261550, "Architecture": "amd64",
             "Os": "linux", "Config": {"Env": ["PATH=/bin"], "Cmd": ["sh"], "Labels": None},
             "RootFS": {"Type": "layers", "Layers": [f"sha256:{layer}"]}},
        )  # fmt: skip
        image["RepoTags"].append(name)
        return [
            start,
            {"status": "Pulling fs layer", "progressDetail": {}, "id": layer},
            {"status": "Pull complete", "progressDetail": {}, "id": layer},
            {"status": f"Digest: {ident}"},
            {"status": f"Status: Downloaded newer image for {name}"},
        ]

    def untag(self, name: str) -> None:
        for image in self.images.values():
            if name in image["RepoTags"]:
                image["RepoTags"].remove(name)

    def remove_image(self, name: str, force: bool) -> list[dict[str, str]]:
        image = self.image(name)
        users = [each for each in self.containers.values() if each["Image"] == image["Id"]]
        tagged = name if ":" in name.rpartition("/")[2] else f"{name}:latest"
        if tagged in image["RepoTags"] and len(image["RepoTags"]) > 1:
            image["RepoTags"].remove(tagged)
            return [{"Untagged": tagged}]
        if users and not force:
            raise Refused(
                409,
                f'conflict: unable to remove repository reference "{name}" (must force) - container'
                f" {users[0]['Id'][:12]} is using its referenced image {image['Id'][7:19]}",
            )
        del self.images[image["Id"]]
        return [*({"Untagged": tag} for tag in image["RepoTags"]), {"Deleted": image["Id"]}]

    # containers

    def container(self, name: str) -> dict[str, Any]:
        bare = name.removeprefix("/")
        for found in self.containers.values():
            if found["Name"] == f"/{bare}":
                return found
        for ident, found in self.containers.items():
            if bare and ident.startswith(bare):
                return found
        raise Refused(404, f"No such container: {name}")

    def create(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        image = self.image(body.get("Image") or "")
        name = name or f"dreamy_{len(self.containers)}"
        for other in self.containers.values():
            if other["Name"] == f"/{name}":
                raise Refused(
                    409,
                    f'Conflict. The container name "/{name}" is already in use by container'
                    f' "{other["Id"]}". You have to remove (or rename) that container to be able'
                    " to reuse that name.",
                )
        ident = digest(f"{name}{next(self.numbers)}")
        host = {**HOST_CONFIG, **(body.get("HostConfig") or {})}
        own = {
            key: value
            for key, value in body.items()
            if key not in ("HostConfig", "NetworkingConfig")
        }
        config = {"Hostname": ident[:12], "User": "", "WorkingDir": "", "Tty": False,
                  "OpenStdin": False, "AttachStdin": False, "StdinOnce": False, "Labels": {},
                  "Entrypoint": None, "Volumes": None,
                  **{key: value for key, value in own.items() if value is not None}}  # fmt: skip
        config["Env"] = _merged(own.get("Env"), image["Config"]["Env"])
        inherited = None if own.get("Entrypoint") else image["Config"]["Cmd"]
        config["Cmd"] = own.get("Cmd") or inherited
        words = [*(config["Entrypoint"] or []), *(config["Cmd"] or [])]
        asked = ((body.get("NetworkingConfig") or {}).get("EndpointsConfig")) or {}
        mode = host["NetworkMode"]
        attached = list(asked) or ["bridge" if mode in ("default", "") else mode]
        self.containers[ident] = {
            "Id": ident, "Name": f"/{name}", "Created": "2024-01-02T03:04:05.678901234Z",
            "Image": image["Id"], "Path": words[0], "Args": words[1:],
            "State": {"Status": "created", "Running": False, "Paused": False, "Restarting": False,
                      "Pid": 0, "ExitCode": 0, "Error": ""},
            "Config": config, "HostConfig": host, "Mounts": [], "RestartCount": 0,
            "NetworkSettings": {"Ports": {}, "Networks": {}},
        }  # fmt: skip
        for each in attached:
            self.connect(self.network(each), self.containers[ident], asked.get(each) or {})
        return {"Id": ident, "Warnings": []}

    def act(self, container: dict[str, Any], what: str, query: dict[str, str]) -> int:
        state = container["State"]
        if what in ("pause", "kill") and not state["Running"]:
            verb = {"pause": "Container", "kill": "Cannot kill container:"}[what]
            raise Refused(409, f"{verb} {container['Id']} is not running")
        if what == "unpause" and not state["Paused"]:
            raise Refused(500, f"Container {container['Id']} is not paused")
        if (what == "start" and state["Running"]) or (what == "stop" and not state["Running"]):
            return 304
        if what in ("start", "restart"):
            ports = container["HostConfig"]["PortBindings"] or {}
            container["NetworkSettings"]["Ports"] = {
                port: [{"HostIp": one.get("HostIp") or "0.0.0.0",
                        "HostPort": one.get("HostPort") or "32768"} for one in bound or []]
                for port, bound in ports.items()
            }  # fmt: skip
            program = container["Path"]
            runs = program not in ("true", "false")
            state.update(Status="running" if runs else "exited", Running=runs, Pid=4711)
            state["ExitCode"] = int(program == "false")
        elif what == "kill" and query.get("signal", "SIGKILL") in ("SIGHUP", "HUP"):
            pass  # a program that takes it as "read your configuration again"
        elif what in ("stop", "kill"):
            state.update(Status="exited", Running=False, Paused=False, Pid=0, ExitCode=137)
            container["NetworkSettings"]["Ports"] = {}
        elif what == "pause":
            state.update(Status="paused", Paused=True)
        elif what == "unpause":
            state.update(Status="running", Paused=False)
        return 204

    def rename(self, container: dict[str, Any], name: str) -> None:
        container["Name"] = f"/{name}"
        for network in self.networks.values():
            if container["Id"] in network["Containers"]:
                network["Containers"][container["Id"]]["Name"] = name

    def remove_container(self, container: dict[str, Any], force: bool) -> None:
        if container["State"]["Running"] and not force:
            raise Refused(
                409,
                f"You cannot remove a running container {container['Id']}. Stop the container"
                " before attempting removal or force remove",
            )
        for network in self.networks.values():
            network["Containers"].pop(container["Id"], None)
        del self.containers[container["Id"]]

    def summary(self, container: dict[str, Any]) -> dict[str, Any]:
        image = self.images.get(container["Image"], {"RepoTags": []})
        return {
            "Id": container["Id"], "Names": [container["Name"]],
            "Image": container["Config"]["Image"], "ImageID": container["Image"],
            "Command": " ".join([container["Path"], *container["Args"]]), "Created": 1704164645,
            "Ports": [], "Labels": container["Config"]["Labels"] or {}, "Mounts": [],
            "State": container["State"]["Status"],
            "Status": STATUS[container["State"]["Status"]],
            "HostConfig": {"NetworkMode": container["HostConfig"]["NetworkMode"]},
            "NetworkSettings": {"Networks": container["NetworkSettings"]["Networks"]},
            **({} if image["RepoTags"] else {"Image": container["Image"]}),
        }  # fmt: skip

    # networks and volumes

    def network(self, name: str) -> dict[str, Any]:
        for ident, found in self.networks.items():
            if found["Name"] == name or (name and ident.startswith(name)):
                return found
        raise Refused(404, f"network {name} not found")

    def add_network(self, body: dict[str, Any]) -> dict[str, Any]:
        name = body["Name"]
        if any(each["Name"] == name for each in self.networks.values()):
            raise Refused(409, f"network with name {name} already exists")
        ident = digest(f"net{name}{next(self.numbers)}")
        number = len(self.networks) + 16
        ipam = body.get("IPAM") or {}
        pools = ipam.get("Config") or [
            {"Subnet": f"172.{number}.0.0/16", "Gateway": f"172.{number}.0.1"}
        ]
        self.networks[ident] = {
            "Name": name, "Id": ident, "Created": "2024-01-02T03:04:05.6Z", "Scope": "local",
            "Driver": body.get("Driver") or "bridge", "EnableIPv6": bool(body.get("EnableIPv6")),
            "IPAM": {"Driver": ipam.get("Driver") or "default", "Options": ipam.get("Options"),
                     "Config": [] if name in ("host", "none") else pools},
            "Internal": bool(body.get("Internal")), "Attachable": bool(body.get("Attachable")),
            "Ingress": False, "Containers": {}, "Options": body.get("Options") or {},
            "Labels": body.get("Labels") or {},
        }  # fmt: skip
        return {"Id": ident, "Warning": ""}

    def connect(
        self, network: dict[str, Any], container: dict[str, Any], given: dict[str, Any]
    ) -> None:
        name = container["Name"][1:]
        there = container["NetworkSettings"]["Networks"]
        if network["Name"] in there:
            raise Refused(
                403, f"endpoint with name {name} already exists in network {network['Name']}"
            )
        ipam = given.get("IPAMConfig")
        there[network["Name"]] = {
            "NetworkID": network["Id"], "Aliases": given.get("Aliases"),
            "Links": given.get("Links"),
            "IPAMConfig": ipam, "IPAddress": (ipam or {}).get("IPv4Address", ""),
        }  # fmt: skip
        network["Containers"][container["Id"]] = {
            "Name": name, "EndpointID": digest(name + network["Id"]), "MacAddress": "",
            "IPv4Address": (ipam or {}).get("IPv4Address", ""), "IPv6Address": "",
        }  # fmt: skip

    def disconnect(self, network: dict[str, Any], container: dict[str, Any]) -> None:
        if container["Id"] not in network["Containers"]:
            raise Refused(
                500, f"container {container['Id']} is not connected to network {network['Name']}"
            )
        del network["Containers"][container["Id"]]
        del container["NetworkSettings"]["Networks"][network["Name"]]

    def remove_network(self, network: dict[str, Any]) -> None:
        if network["Name"] in ("bridge", "host", "none"):
            raise Refused(
                403,
                f"{network['Name']} is a pre-defined network and cannot be removed",
            )
        if network["Containers"]:
            raise Refused(
                403, f"error while removing network: network {network['Name']} id {network['Id']}"
                " has active endpoints",
            )  # fmt: skip
        del self.networks[network["Id"]]

    def add_volume(self, body: dict[str, Any]) -> dict[str, Any]:
        name = body.get("Name") or digest(str(next(self.numbers)))
        driver = body.get("Driver") or "local"
        if driver not in ("local", "other"):
            raise Refused(404, f"create {name}: error looking up volume plugin {driver}: plugin"
                               f' "{driver}" not found')  # fmt: skip
        return self.volumes.setdefault(
            name,
            {"Name": name, "Driver": driver, "Mountpoint": f"/var/lib/docker/volumes/{name}/_data",
             "CreatedAt": "2024-01-02T03:04:05Z", "Labels": body.get("Labels"), "Scope": "local",
             "Options": body.get("DriverOpts") or None},
        )  # fmt: skip

    def volume(self, name: str) -> dict[str, Any]:
        if name not in self.volumes:
            raise Refused(404, f"get {name}: no such volume")
        return self.volumes[name]


def _merged(own: list[str] | None, image: list[str]) -> list[str]:
    own = own or []
    names = {each.partition("=")[0] for each in own}
    return [*own, *(each for each in image if each.partition("=")[0] not in names)]


def _frame(stream: int, text: str) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(text).to_bytes(4, "big") + text.encode()


class Answer:
    """One request, routed."""

    def __init__(self, engine: Engine, method: str, target: str, body: Any) -> None:
        parts = urlsplit(target)
        self.engine, self.method, self.body = engine, method, body or {}
        self.path = re.sub(r"^/v[0-9.]+", "", unquote(parts.path))
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        engine.asked.append((method, self.path))

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in ("1", "true")

    def filters(self) -> dict[str, list[str]]:
        found = json.loads(self.query.get("filters") or "{}")
        return {key: list(value) for key, value in found.items()}

    def give(self) -> tuple[int, Any]:
        words = self.path.strip("/").split("/")
        if self.path in ("/_ping", "/version", "/info"):
            counts = {
                "Containers": len(self.engine.containers),
                "Images": len(self.engine.images),
            }
            facts = {**counts, "Name": "fake", "Driver": "overlay2"}
            known = {"/_ping": "OK", "/version": VERSION, "/info": facts}
            return 200, known[self.path]
        kind = getattr(self, f"of_{words[0]}", None)
        if kind is None:
            raise Refused(404, "page not found")
        found: tuple[int, Any] = kind(words[1:])
        return found

    def of_images(self, words: list[str]) -> tuple[int, Any]:
        engine = self.engine
        if words == ["json"]:
            return 200, [
                {"Id": each["Id"], "RepoTags": each["RepoTags"], "RepoDigests": [], "ParentId": "",
                 "Created": 1682935200, "Size": each["Size"], "VirtualSize": each["Size"],
                 "SharedSize": -1, "Labels": None, "Containers": -1}
                for each in engine.images.values()
            ]  # fmt: skip
        if words == ["create"]:
            name = f"{self.query['fromImage']}:{self.query.get('tag') or 'latest'}"
            return 200, engine.pull(name)
        name = "/".join(words[:-1] if self.method != "DELETE" else words)
        if self.method == "DELETE":
            return 200, engine.remove_image(name, self.flag("force"))
        pushed = f"{name}:{self.query.get('tag') or 'latest'}"
        image = engine.image(pushed if words[-1] == "push" else name)
        if words[-1] == "tag":
            tagged = f"{self.query['repo']}:{self.query.get('tag') or 'latest'}"
            engine.untag(tagged)
            image["RepoTags"].append(tagged)
            return 201, None
        if words[-1] == "push":
            return 200, [
                {"status": f"The push refers to repository [docker.io/{name}]"},
                {"status": "Pushed", "progressDetail": {}, "id": "5f70bf18a086"},
                {"status": "latest: digest: sha256:aa size: 1"},
            ]
        return 200, image

    def of_containers(self, words: list[str]) -> tuple[int, Any]:
        engine = self.engine
        if words == ["json"]:
            return 200, [
                engine.summary(each)
                for each in engine.containers.values()
                if self.flag("all") or each["State"]["Running"]
            ]
        if words == ["create"]:
            return 201, engine.create(self.query.get("name", ""), self.body)
        container = engine.container(words[0])
        if self.method == "DELETE":
            engine.remove_container(container, self.flag("force"))
            return 204, None
        what = words[1]
        if what == "json":
            return 200, container
        if what == "logs":
            return 200, _frame(1, "out 1\n") + _frame(2, "err 1\n") + _frame(1, "out 2\n")
        if what == "wait":
            return 200, {"StatusCode": container["State"]["ExitCode"], "Error": None}
        if what == "rename":
            engine.rename(container, self.query["name"])
            return 204, None
        if what == "exec":
            ident = digest(str(next(engine.numbers)))
            engine.execs[ident] = {"Cmd": self.body["Cmd"], "container": container["Id"]}
            return 201, {"Id": ident}
        return engine.act(container, what, self.query), None

    def of_exec(self, words: list[str]) -> tuple[int, Any]:
        found = self.engine.execs[words[0]]
        shell = found["Cmd"][-1] if isinstance(found["Cmd"], list) else found["Cmd"]
        if words[1] == "start":
            return 200, _frame(1, f"ran {shell}\n") + _frame(2, "complaint\n")
        return 200, {"ExitCode": 3 if "exit 3" in shell else 0, "Running": False}

    def of_networks(self, words: list[str]) -> tuple[int, Any]:
        engine = self.engine
        if not words or words == [""]:
            wanted = self.filters()
            return 200, [
                each
                for each in engine.networks.values()
                if not wanted.get("name") or any(one in each["Name"] for one in wanted["name"])
                if not wanted.get("id") or any(each["Id"].startswith(one) for one in wanted["id"])
            ]
        if words == ["create"]:
            return 201, engine.add_network(self.body)
        network = engine.network(words[0])
        if self.method == "DELETE":
            engine.remove_network(network)
            return 204, None
        if len(words) == 1:
            return 200, network
        container = engine.container(self.body["Container"])
        if words[1] == "connect":
            engine.connect(network, container, self.body.get("EndpointConfig") or {})
        else:
            engine.disconnect(network, container)
        return 200, None

    def of_volumes(self, words: list[str]) -> tuple[int, Any]:
        engine = self.engine
        if not words:
            wanted = self.filters().get("name", [""])
            found = [
                one for one in engine.volumes.values() if any(w in one["Name"] for w in wanted)
            ]
            return 200, {"Volumes": found or None, "Warnings": None}
        if words == ["create"]:
            return 201, engine.add_volume(self.body)
        volume = engine.volume(words[0])
        if self.method == "DELETE":
            users = [
                each["Id"]
                for each in engine.containers.values()
                if any(str(b).startswith(f"{words[0]}:") for b in each["HostConfig"]["Binds"] or [])
            ]
            if users:
                raise Refused(
                    409, f"remove {words[0]}: volume is in use - [{', '.join(users)}]"
                )  # fmt: skip
            del engine.volumes[words[0]]
            return 204, None
        return 200, volume


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine: Engine

    def _answer(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        sent = self.rfile.read(size)
        try:
            with self.engine.lock:
                asked = Answer(self.engine, self.command, self.path, json.loads(sent or b"{}"))
                status, value = asked.give()
                data = self._bytes(status, value, asked.path)
        except Refused as refused:
            status, data = refused.status, json.dumps({"message": refused.message}).encode()
        self.send_response(status)
        stream = status == 200 and urlsplit(self.path).path.endswith(("/images/create", "/push"))
        raw = data[:1] in (b"\x01", b"\x02")
        kind = "application/vnd.docker.raw-stream" if raw else "application/json"
        self.send_header("Content-Type", kind)
        if stream:
            self._stream(data)
            return
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if data and self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, data: bytes) -> None:
        """One line in each chunk, as while something goes on."""
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in [*data.splitlines(keepends=True), b""]:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def _bytes(self, status: int, value: Any, path: str) -> bytes:
        if isinstance(value, bytes):
            return value
        if value == "OK":
            return b"OK"
        if value is None or status in (204, 304):
            return b""
        if path.endswith(("/images/create", "/push")):
            return b"".join(json.dumps(line).encode() + b"\r\n" for line in value)
        return json.dumps(value).encode()

    do_GET = do_POST = do_DELETE = do_HEAD = _answer

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: Any) -> None:
        return


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


@contextlib.contextmanager
def serve(path: Path) -> Iterator[Engine]:
    """An engine that listens at ``path``, which has to be short."""
    engine = Engine()
    handler = type("Bound", (Handler,), {"engine": engine})
    with Server(str(path), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield engine
        finally:
            server.shutdown()
            thread.join()
