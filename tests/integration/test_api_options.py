"""Options of salt-api that no other test sets, each by what a client sees of it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from api import RECORDED_AUTH, ApiCluster

from cluster import eventually

JSON = {"Accept": "application/json"}
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}
GUI = "https://gui.example"
PREFLIGHT = {"Origin": GUI, "Access-Control-Request-Method": "POST"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApiCluster]:
    """Its server is configured as ``rest_tornado``."""
    one = ApiCluster(
        master_options={
            "external_auth": RECORDED_AUTH,
            "api_event_acl": True,
            "api_events_query_token": True,
        }
    )
    favicon = one.pages / "favicon.ico"
    favicon.write_bytes(b"icon")
    server = {
        "port": one.api_port, "address": "127.0.0.1", "backlog": 50, "disable_ssl": True,
        "cors_origin": [GUI], "favicon": str(favicon), "collect_stats": True,
        "stats_disable_auth": True, "log_access_file": str(one.root / "access.log"),
        "static": str(one.pages / "static"), "trusted_proxies": ["127.0.0.1"],
        "authorized_ips": ["127.0.0.1", "192.0.2.0/24"],
        "api_acl": {"users": {"*": ["127.0.0.1"], "ben": ["192.0.2.7", "127.0.0.1"],
                              "cara": ["192.0.2.7"]}},
    }  # fmt: skip
    one.reconfigure(one.master_dir / "master", rest_cherrypy={}, rest_tornado=server)
    with one:
        yield one.start()


def log_in(cluster: ApiCluster, user: str, **headers: str) -> int:
    fields = {"username": user, "password": "x", "eauth": "auto"}
    return cluster.client.ask("POST", "/login", {**JSON, **headers}, fields).status


def test_pages_of_a_named_origin_may_use_it(cluster: ApiCluster) -> None:
    headers = cluster.client.ask("GET", "/", {**JSON, "Origin": GUI}).headers
    assert headers["Access-Control-Allow-Origin"] == GUI
    assert headers["Access-Control-Allow-Credentials"] == "true"
    assert headers["Vary"] == "Origin"
    other = cluster.client.ask("GET", "/", {**JSON, "Origin": "https://evil.example"}).headers
    assert "Access-Control-Allow-Origin" not in other


def test_a_preflight_needs_no_login_and_makes_no_session(cluster: ApiCluster) -> None:
    reply = cluster.client.ask("OPTIONS", "/run", PREFLIGHT)
    assert (reply.status, reply.raw) == (200, b"")
    assert reply.headers["Access-Control-Allow-Methods"] == "GET, POST"
    assert reply.headers["Access-Control-Max-Age"] == "1400"
    assert "Set-Cookie" not in reply.headers


def test_who_may_log_in_from_where(cluster: ApiCluster) -> None:
    behind = {"X-Forwarded-For": "192.0.2.7"}
    assert log_in(cluster, "ben") == 200
    assert log_in(cluster, "ben", **behind) == 200
    assert log_in(cluster, "anna") == 200
    assert log_in(cluster, "anna", **behind) == 401
    assert log_in(cluster, "cara") == 401
    assert log_in(cluster, "cara", **behind) == 200


def test_other_addresses_are_refused_on_each_path(cluster: ApiCluster) -> None:
    outside = {"X-Forwarded-For": "203.0.113.9"}
    for method, path in (("GET", "/"), ("POST", "/login"), ("GET", "/nowhere"), ("GET", "/ws")):
        assert cluster.client.ask(method, path, {**JSON, **outside}).status == 403
    assert cluster.client.ask("GET", "/", {**JSON, "X-Forwarded-For": "192.0.2.9"}).status == 200


def test_the_cookie_and_the_question_for_a_login(cluster: ApiCluster) -> None:
    reply = cluster.client.ask("GET", "/login", JSON)
    assert reply.headers["Www-Authenticate"] == "Session"
    assert reply.body == {"status": None, "return": "Please log in"}
    fields = {"username": "anna", "password": "x", "eauth": "auto"}
    cookie = cluster.client.ask("POST", "/login", JSON, fields).headers["Set-Cookie"]
    assert "; HttpOnly; SameSite=Strict" in cookie
    assert "Secure" not in cookie


def test_the_icon_and_files_that_are_known(cluster: ApiCluster) -> None:
    assert cluster.client.ask("GET", "/favicon.ico").raw == b"icon"
    path = "/static/scripts/config.js"
    whole = cluster.client.ask("GET", path)
    assert whole.status == 200
    known = {"If-Modified-Since": whole.headers["Last-Modified"]}
    assert cluster.client.ask("GET", path, known).status == 304
    part = cluster.client.ask("GET", path, {"Range": "bytes=2-5"})
    assert (part.status, part.raw) == (206, whole.raw[2:6])


def test_statistics_for_everybody(cluster: ApiCluster) -> None:
    shown = cluster.client.ask("GET", "/stats", JSON).body["saltlite"]
    assert shown["Requests"] > 0


def test_a_token_in_the_query_of_events_is_in_no_log(cluster: ApiCluster) -> None:
    session = cluster.client.log_in("anna")
    with listen(cluster, f"/events?token={session}") as events:
        cluster.client.run(session, PING)
        assert any(tag.endswith("/ret/m1") for tag, _ in events)
    log = cluster.root / "access.log"
    eventually(lambda: "GET /events" in log.read_text(), what="the line")
    assert session not in log.read_text()
    line = next(one for one in log.read_text().splitlines() if "POST / 200" in one)
    assert line.endswith(" anna")


def test_with_an_access_list_a_limited_user_hears_of_his_own_jobs(cluster: ApiCluster) -> None:
    ben, anna = cluster.client.log_in("ben"), cluster.client.log_in("anna")
    with listen(cluster, "/events", ben) as events:
        cluster.client.run(anna, {**PING, "fun": "test.version"})
        cluster.client.run(ben, PING)
        heard = []
        for tag, data in events:
            heard.append(data.get("fun"))
            if tag.endswith("/ret/m1"):
                break
    assert "test.ping" in heard
    assert "test.version" not in heard


@contextlib.contextmanager
def listen(
    cluster: ApiCluster, path: str, session: str = ""
) -> Iterator[Iterator[tuple[str, dict[str, Any]]]]:
    """An open event stream."""
    with socket.create_connection(("127.0.0.1", cluster.api_port), timeout=20) as connection:
        shown = f"X-Auth-Token: {session}\r\n" if session else ""
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n{shown}\r\n".encode())
        with connection.makefile("rb") as file:
            assert b" 200 " in file.readline()
            while file.readline().strip() != b"retry: 400":
                pass
            lines = (one for one in file if one.startswith(b"data: "))
            events = (json.loads(one[6:]) for one in lines)
            yield ((one["tag"], one["data"]) for one in events)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiCluster]:
    """No sessions, below a prefix, one command at a time."""
    server = {"enable_sessions": False, "root_prefix": "/salt", "thread_pool": 1}
    options = {"external_auth": RECORDED_AUTH}
    with ApiCluster(master_options=options, api_options=server) as one:
        one._api_listens = one.api.alive  # type: ignore[method-assign]  # GET / is no path here
        one.start()
        eventually(lambda: Path(one.root / "master" / "api.log").exists(), what="its log")
        eventually(lambda: asks(one) == 200, what="salt-api answers")
        yield one


def asks(cluster: ApiCluster) -> int:
    with contextlib.suppress(OSError):
        return cluster.client.ask("GET", "/salt", JSON).status
    return 0


def test_without_sessions_there_are_no_paths_for_them(small: ApiCluster) -> None:
    assert small.client.ask("GET", "/", JSON).status == 404
    assert small.client.ask("GET", "/salt/", JSON).body["return"] == "Welcome"
    for path in ("login", "logout", "minions", "jobs"):
        assert small.client.ask("POST", f"/salt/{path}", JSON, {}).status == 404
    assert run(small, PING).body == {"return": [{"m1": True}]}


def run(cluster: ApiCluster, chunk: dict[str, Any]) -> Any:
    shown = {"username": "anna", "password": "x", "eauth": "auto"}
    return cluster.client.ask("POST", "/salt/run", JSON, [{**chunk, **shown}])


def test_so_many_commands_at_once(small: ApiCluster) -> None:
    """The second one waits for the first."""
    slow = {"client": "local", "tgt": "*", "fun": "test.sleep", "arg": [2]}
    first = threading.Thread(target=run, args=(small, slow))
    first.start()
    eventually(lambda: "test.sleep" in small.master.log(), what="the first one runs")
    started = time.monotonic()
    assert run(small, PING).status == 200
    assert not first.is_alive() or time.monotonic() - started > 1
    first.join(30)
