"""Replays recorded exchanges with salt-api against a server, and compares what comes back.

The recordings are in tests/cases/data/api. ``RECORDED`` demands what real Salt answered; ``OURS``
what docs/api.md says where that is something else: tests/cases/data/api/differ/expected.json.
"""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from repository import DATA

CASES = DATA / "api"
FILES = (
    "root", "login", "auth", "acl", "lowstate", "minions", "jobs", "run", "hook", "cors", "misc",
    "keys", "saltgui",
)  # fmt: skip
WRONG_SESSION = "0123456789abcdef" * 2 + "01234567"
UNKNOWN_JID = "20010101000000000000"

COMPARED = ("Content-Type", "Cache-Control", "X-Auth-Token", "Www-Authenticate")
LEFT_OUT = ("__grains__", "__config__", "__cut__", "__more__", "__keys__", "__tar__")

FINGERPRINT = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){31}")
VOLATILE = ("seconds", "days", "time", "users", "start_time", "duration")
"""Keys whose values are those of the day of the recording: types alone are compared."""

PLACEHOLDERS = {
    "<session>": r"[0-9a-f]{40}",
    "<token>": r"[0-9a-f]{64}",
    "<jid>": r"\d{20}",
    "<stamp>": r"\d{4}-\d\d-\d\dT[\d:.]+(\+00:00)?",
    "<start time>": r"\d{4}, [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d\.\d{6}",
}

WRONG_TOKENS = {
    ("auth", "wrong token"),
    ("auth", "header beats cookie"),
    ("auth", "token in query string is not looked at"),
    ("auth", "token in the body does not replace the session"),
    ("misc", "events wrong token"),
    ("misc", "ws/token wrong"),
    ("misc", "events with query"),
    ("misc", "events with salt_token query"),
}
"""Exchanges whose ``<session>`` is to be one that nobody has; a cookie is right all the same."""


@dataclass
class Reply:
    """What a server answered."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        kind = self.headers.get("Content-Type", "").partition(";")[0]
        text = self.raw.decode("utf-8", "replace")
        if kind == "application/json" and text:
            return json.loads(text)
        if kind == "application/x-yaml":
            return yaml.safe_load(text)
        return text


@dataclass
class Client:
    """Speaks HTTP to one server, a connection for each request; ``source`` is its own address."""

    port: int
    host: str = "127.0.0.1"
    timeout_s: float = 60.0
    source: str = "127.0.0.1"

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] = {}, body: Any = None
    ) -> Reply:
        """One request; again where a limit says when."""
        for _ in range(5):
            reply = self._ask(method, path, headers, body)
            if reply.status != 429:
                break
            time.sleep(float(reply.headers.get("Retry-After", "1")))
        return reply

    def _ask(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> Reply:
        connection = http.client.HTTPConnection(
            self.host, self.port, timeout=self.timeout_s, source_address=(self.source, 0)
        )
        headers = dict(headers)
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            data = (body or "").encode()
            if data or method in ("POST", "PUT"):
                connection.putheader("Content-Length", str(len(data)))
            connection.endheaders(data or None)
            response = connection.getresponse()
            if "event-stream" in response.headers.get("Content-Type", ""):
                return Reply(response.status, _titled(response), b"")
            return Reply(response.status, _titled(response), response.read())
        finally:
            connection.close()

    def log_in(self, user: str, eauth: str = "auto", password: str = "x") -> str:
        fields = {"username": user, "password": password, "eauth": eauth}
        reply = self.ask("POST", "/login", {"Accept": "application/json"}, fields)
        assert reply.status == 200, (reply.status, reply.raw)
        return reply.headers["X-Auth-Token"]

    def run(self, session: str, *chunks: Mapping[str, Any], path: str = "/") -> Reply:
        headers = {"Accept": "application/json", "X-Auth-Token": session}
        return self.ask("POST", path, headers, list(chunks))


def _titled(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.title(): value for name, value in response.getheaders()}


@dataclass
class Replay:
    """One file of exchanges, in order."""

    client: Client
    name: str
    ours: bool
    app_file: Path
    sessions: dict[str, str] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    jid: str = UNKNOWN_JID
    has_left: bool = False

    def exchanges(self) -> Iterator[dict[str, Any]]:
        yield from json.loads((CASES / f"{self.name}.json").read_text())["exchanges"]

    def play(self, exchange: Mapping[str, Any]) -> list[str]:
        """Ask, compare; what is wrong, one line each."""
        request = exchange["request"]
        user = self._user(exchange["name"])
        if self.has_left and exchange["response"]["status"] == 200:
            self.sessions.clear()
        self.has_left = False
        headers = {
            name: self._filled(exchange, value, user, in_header=True)
            for name, value in (request.get("headers") or {}).items()
        }
        body = request.get("body")
        if body is not None:
            body = json.loads(self._filled(exchange, json.dumps(body), user))
        path = self._filled(exchange, request["path"], user)
        if "<jid>" in f"{request['path']}{request.get('body')}" and _shows_result(exchange):
            self._wait_for_result(user)
        reply = self.client.ask(request["method"], path, headers, body)
        self._learn(reply)
        self.has_left = request["path"] == "/logout" and self.name == "auth"
        return compare(reply, self._expected(exchange), app=self.app_file.read_text())

    def _wait_for_result(self, user: str, within_s: float = 30.0) -> None:
        """Wait until the job has a result: when it was recorded it had been run long before."""
        chunk = {"client": "runner", "fun": "jobs.list_job", "jid": self.jid}
        until_s = time.monotonic() + within_s
        while not self.client.run(self._session(user), chunk).body["return"][0].get("Result"):
            assert time.monotonic() < until_s, f"job {self.jid} has no result"
            time.sleep(0.1)

    def _expected(self, exchange: Mapping[str, Any]) -> dict[str, Any]:
        recorded = exchange["response"]
        expected = {
            "status": recorded["status"],
            "headers": {n: v for n, v in recorded["headers"].items() if n in COMPARED},
            "body": recorded["body"],
        }
        if not self.ours:
            return expected
        return {
            **as_ours(expected, exchange),
            **DIFFER.get(self.name, {}).get(exchange["name"], {}),
        }

    def _user(self, name: str) -> str:
        head = name.partition(":")[0]
        return head if self.name == "acl" and head in ("ben", "cara", "zed") else "anna"

    def _session(self, user: str) -> str:
        if user not in self.sessions:
            self.sessions[user] = self.client.log_in(user)
        return self.sessions[user]

    def _filled(
        self, exchange: Mapping[str, Any], text: str, user: str, *, in_header: bool = False
    ) -> str:
        """A text of the recording with what stands in it for values of the day."""
        if "<session>" in text:
            is_cookie = in_header and "session_id=" in text
            wrong = (self.name, exchange["name"]) in WRONG_TOKENS and not is_cookie
            text = text.replace("<session>", WRONG_SESSION if wrong else self._session(user))
        if "<token>" in text:
            text = text.replace("<token>", self.tokens[-1])
        if "<jid>" in text:
            text = text.replace("<jid>", UNKNOWN_JID if "unknown" in exchange["name"] else self.jid)
        return text

    def _learn(self, reply: Reply) -> None:
        found = re.search(rb'"jid": "(\d{20})"', reply.raw)
        if found and reply.status in (200, 202):
            self.jid = found.group(1).decode()
        found = re.search(rb'"token": "([0-9a-f]{64})"', reply.raw)
        if found:
            self.tokens.append(found.group(1).decode())


def _shows_result(exchange: Mapping[str, Any]) -> bool:
    """Whether the recorded answer has what a minion returned for a job."""
    body = exchange["response"]["body"]
    shown = (body.get("info") or body.get("return") or []) if isinstance(body, dict) else []
    first = shown[0] if isinstance(shown, list) and shown else None
    return isinstance(first, dict) and bool(first.get("Result"))


DIFFER: dict[str, dict[str, dict[str, Any]]] = {}
if (CASES / "differ" / "expected.json").exists():
    DIFFER = json.loads((CASES / "differ" / "expected.json").read_text())


def as_ours(expected: dict[str, Any], exchange: Mapping[str, Any]) -> dict[str, Any]:
    """What holds for all answers of ours: errors in the negotiated form, the clients there are."""
    body = expected["body"]
    headers = dict(expected["headers"])
    if isinstance(body, dict) and "__html__" in body:
        accept = (exchange["request"].get("headers") or {}).get("Accept", "")
        kind = "application/json"
        if accept == "application/x-yaml":
            kind = "application/x-yaml"
        elif accept.startswith("text/html"):
            kind = "text/html;charset=utf-8"
        body = {"status": expected["status"], "return": "<any text>"}
        if kind.startswith("text/html"):
            body = "<any text>"
        headers = {"Content-Type": kind}
    if isinstance(body, dict) and body.get("return") == "Welcome":
        body = {**body, "clients": [c for c in body["clients"] if c not in ("destroy", "ssh")]}
    if isinstance(body, str) and body.startswith("clients:"):
        body = body.replace("- destroy\n", "").replace("- ssh\n", "")
    headers.pop("Cache-Control", None) if "X-Auth-Token" in headers else None
    return {**expected, "headers": headers, "body": body}


def compare(reply: Reply, expected: Mapping[str, Any], *, app: str) -> list[str]:
    """What differs between an answer and what is expected."""
    wrong = []
    if reply.status != expected["status"]:
        wrong.append(f"status {reply.status}, not {expected['status']}: {reply.raw[:300]!r}")
        return wrong
    for name, value in expected.get("headers", {}).items():
        if not matches_text(value, reply.headers.get(name, "")):
            wrong.append(f"{name}: {reply.headers.get(name)!r}, not {value!r}")
    want = expected["body"]
    if isinstance(want, dict) and "__file__" in want:
        return wrong + ([] if reply.raw.decode() == app else [f"not the app: {reply.raw[:80]!r}"])
    if isinstance(want, dict) and "__html__" in want:
        ends = reply.headers.get("Content-Type", "").startswith("text/html")
        return wrong + ([] if ends else ["not an HTML page"])
    if isinstance(want, dict) and "__tar__" in want:
        names = [n for n in want["__tar__"] if n.encode() not in reply.raw]
        return wrong + [f"not in the archive: {n}" for n in names]
    if isinstance(want, str) and "application/x-yaml" in expected["headers"].get(
        "Content-Type", ""
    ):
        want = yaml.safe_load(want)
    wrong += list(differences(want, reply.body, "body"))
    return wrong


def matches_text(want: str, found: str) -> bool:
    """Whether a text fits a recorded one with its placeholders."""
    if want == "<any text>" or want == found:
        return True
    if not any(mark in want for mark in PLACEHOLDERS):
        return False
    pattern = re.escape(want)
    for mark, form in PLACEHOLDERS.items():
        pattern = pattern.replace(re.escape(mark), form)
    return re.fullmatch(pattern, found) is not None


def differences(want: Any, found: Any, where: str) -> Iterator[str]:
    """What differs, one line each. Keys that stand for what was left out match anything."""
    if isinstance(want, dict):
        yield from _map_differences(want, found, where)
    elif isinstance(want, list):
        yield from _list_differences(want, found, where)
    elif not _is_as(want, found):
        yield f"{where}: {str(found)[:200]!r}, not {str(want)[:200]!r}"


def _is_as(want: Any, found: Any) -> bool:
    if isinstance(want, str) and FINGERPRINT.fullmatch(want):
        return FINGERPRINT.fullmatch(str(found)) is not None
    if want == "<time>":
        return isinstance(found, (int, float))
    if want in ("<str>", "<docstring>"):
        return isinstance(found, str)
    if not isinstance(want, str):
        return bool(want == found) and type(want) is type(found)
    if want.startswith("<text that begins"):
        return str(found).startswith("\nPassed invalid arguments: ")
    return matches_text(want, found if isinstance(found, str) else repr(found))


def _list_differences(want: list[Any], found: Any, where: str) -> Iterator[str]:
    if not isinstance(found, list) or len(found) != len(want):
        yield f"{where}: {str(found)[:300]}, not {str(want)[:300]}"
        return
    for number, (one, other) in enumerate(zip(want, found, strict=True)):
        yield from differences(one, other, f"{where}[{number}]")


def _map_differences(want: dict[str, Any], found: Any, where: str) -> Iterator[str]:
    if not isinstance(found, dict):
        if not any(mark in want for mark in LEFT_OUT):
            yield f"{where}: {str(found)[:300]!r}, not {str(want)[:300]}"
    elif "__more__" in want:
        yield from _entry_differences(want, found, where)
    elif not any(mark in want for mark in LEFT_OUT):
        yield from _key_differences(want, found, where)


def _entry_differences(want: dict[str, Any], found: dict[str, Any], where: str) -> Iterator[str]:
    """One recorded entry shows the form of all."""
    (key, example), *_ = want.items()
    for name, value in found.items():
        if not matches_text(key, name) or not isinstance(value, dict):
            yield f"{where}.{name}: {str(value)[:200]}"
        elif set(value) != set(example):
            yield f"{where}.{name}: keys {sorted(value)}, not {sorted(example)}"


def _key_differences(want: dict[str, Any], found: dict[str, Any], where: str) -> Iterator[str]:
    names = {name: _key_of(name, found) for name in want}
    for name, ours in names.items():
        if ours is None:
            yield f"{where}.{name}: missing"
        elif name in VOLATILE:
            if type(want[name]) is not type(found[ours]):
                yield f"{where}.{name}: {found[ours]!r} is of another type"
        else:
            yield from differences(want[name], found[ours], f"{where}.{name}")
    extra = set(found) - set(names.values())
    if "__grains__" in json.dumps(want):  # who did not answer was left out
        extra = {name for name in extra if found[name] is not False}
    if extra:
        yield f"{where}: more than recorded: {sorted(map(str, extra))}"


def _key_of(name: str, found: Mapping[str, Any]) -> str | None:
    if name in found:
        return name
    return next((key for key in found if matches_text(name, str(key))), None)


def quote(text: str) -> str:
    return urllib.parse.quote(text, safe="")
