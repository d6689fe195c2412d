"""Attacks on salt-api: what a client must not get by HTTP. Each ends with the server unharmed."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from api import CLIENTS, RECORDED_AUTH, ApiCluster
from programs import need
from replay import WRONG_SESSION, Client

from cluster import eventually
from saltlite.api import limits

JSON = {"Accept": "application/json"}
OPENING = (
    "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    "X-Auth-Token: {}\r\n\r\n"
)
PING = {"client": "local", "tgt": "*", "fun": "test.ping"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[ApiCluster]:
    options = {"sharedsecret": "s3cret", "external_auth": RECORDED_AUTH}
    with ApiCluster(
        master_options=options, api_options={"max_request_body_size": 100_000}
    ) as cluster:
        yield cluster.start()


@pytest.fixture
def anna(cluster: ApiCluster) -> str:
    return cluster.client.log_in("anna")


@pytest.fixture(autouse=True)
def unharmed(cluster: ApiCluster) -> Iterator[None]:
    """Whatever a test does, an honest call is answered afterwards, by the same process."""
    pid = cluster.api.pid
    yield
    session = cluster.client.log_in("ben")
    assert cluster.client.run(session, PING).body == {"return": [{"m1": True}]}
    assert cluster.api.alive()
    assert cluster.api.pid == pid
    assert "Traceback" not in cluster.api.log()


def jobs_of(cluster: ApiCluster, fun: str) -> int:
    session = cluster.client.log_in("anna")
    chunk = {"client": "runner", "fun": "jobs.list_jobs", "search_function": fun}
    return len(cluster.client.run(session, chunk).body["return"][0])


def raw(cluster: ApiCluster, data: bytes, *, wait_s: float = 5.0) -> bytes:
    """Bytes as they are; what comes back until the server closes or ``wait_s`` is over."""
    with socket.create_connection(("127.0.0.1", cluster.api_port), timeout=wait_s) as connection:
        connection.sendall(data)
        found = b""
        with contextlib.suppress(TimeoutError, ConnectionError):
            while piece := connection.recv(65536):
                found += piece
        return found


# --- who is nobody -----------------------------------------------------------------------

NO_CREDENTIALS: list[dict[str, Any]] = [
    {},
    {"token": 1337},
    {"token": ""},
    {"token": None},
    {"token": "a" * 64},
    {"token": "../../pki/master.pem"},
    {"token": ["a" * 64]},
    {"username": "anna", "password": "x", "eauth": "nosuch"},
    {"username": "anna", "password": "x", "eauth": ["auto"]},
    {"username": "anna", "password": "x", "eauth": "pki"},
    {"username": "anna", "password": "no", "eauth": "sharedsecret"},
]


@pytest.mark.parametrize("client", CLIENTS)
def test_no_client_runs_without_credentials(cluster: ApiCluster, client: str) -> None:
    """CVE-2020-25592, CVE-2021-25281, CVE-2019-17361, CVE-2018-15751, CVE-2017-5192."""
    before = jobs_of(cluster, "test.echo")
    chunk = {"client": client, "tgt": "*", "fun": "test.echo", "arg": ["pwned"]}
    if "local" not in client:
        chunk = {"client": client, "fun": "key.list_all" if "wheel" in client else "test.arg"}
    for shown in NO_CREDENTIALS:
        if client != "local" and "username" in shown:
            continue  # each wrong password costs a second and more
        reply = cluster.client.ask("POST", "/run", JSON, [{**chunk, **shown}])
        assert reply.status == 401, (shown, reply.raw)
    headers = {**JSON, "X-Auth-Token": WRONG_SESSION}
    assert cluster.client.ask("POST", "/", headers, [chunk]).status == 401
    assert jobs_of(cluster, "test.echo") == before


def test_the_ssh_client_is_not_there(cluster: ApiCluster, anna: str, tmp_path: Path) -> None:
    """CVE-2020-16846, CVE-2021-3197, CVE-2021-3148, CVE-2017-5200."""
    mark = tmp_path / "PWNED"
    chunk = {
        "client": "ssh", "tgt": f"-oProxyCommand=touch {mark}", "fun": "test.ping",
        "ssh_priv": f"x;touch {mark}", "ssh_options": [f"ProxyCommand=touch {mark}"],
    }  # fmt: skip
    assert cluster.client.run(anna, chunk).status == 400
    assert not mark.exists()


def test_one_refused_chunk_keeps_all_from_running(cluster: ApiCluster) -> None:
    ben = cluster.client.log_in("ben")
    before = jobs_of(cluster, "test.echo")
    echo = {"client": "local", "tgt": "*", "fun": "test.echo", "arg": ["x"]}
    for refused in (
        {"client": "local", "tgt": "*", "fun": "cmd.run", "arg": ["id"]},
        {"client": "runner", "fun": "manage.up"},
        {"client": "wheel_async", "fun": "key.delete", "match": "m1"},
    ):
        assert cluster.client.run(ben, echo, refused).status == 401
    assert jobs_of(cluster, "test.echo") == before
    assert cluster.client.run(ben, echo, echo).body == {"return": [{"m1": "x"}, {"m1": "x"}]}


def test_a_compound_job_needs_every_right(cluster: ApiCluster) -> None:
    """CVE-2013-4435."""
    ben = cluster.client.log_in("ben")
    before = jobs_of(cluster, "cmd.run")
    for fun, arg in (
        ("test.ping,cmd.run", [[], ["id"]]),
        (["test.ping", "cmd.run"], [[], ["id"]]),
        ("test.ping\ncmd.run", ["id"]),
    ):
        chunk = {"client": "local", "tgt": "*", "fun": fun, "arg": arg}
        assert cluster.client.run(ben, chunk).status in (400, 401)
    assert jobs_of(cluster, "cmd.run") == before


def test_a_session_is_no_token_and_a_token_no_session(cluster: ApiCluster, anna: str) -> None:
    login = {"username": "anna", "password": "x", "eauth": "auto"}
    (token,) = cluster.client.ask("POST", "/token", JSON, login).body
    headers = {**JSON, "X-Auth-Token": token["token"]}
    assert cluster.client.ask("POST", "/", headers, [PING]).status == 401
    assert cluster.client.ask("POST", "/run", JSON, [{**PING, "token": anna}]).status == 401
    assert cluster.client.ask("POST", "/run", JSON, [{**PING, "token": token["token"]}]).body


def test_logout_ends_the_token_on_the_master(cluster: ApiCluster) -> None:
    """#69067."""
    tokens = cluster.cache_dir / "tokens"
    before = set(tokens.iterdir())
    session = cluster.client.log_in("anna")
    assert len(set(tokens.iterdir()) - before) == 1
    headers = {**JSON, "X-Auth-Token": session}
    assert cluster.client.ask("POST", "/logout", headers, {}).status == 200
    assert set(tokens.iterdir()) == before
    assert cluster.client.run(session, PING).status == 401


def test_no_query_lets_anybody_in(cluster: ApiCluster, anna: str) -> None:
    for query in (f"token={anna}", f"salt_token={anna}", f"X-Auth-Token={anna}", "x"):
        assert cluster.client.ask("GET", f"/events?{query}", JSON).status == 400
    assert cluster.client.ask("POST", f"/?token={anna}", JSON, [PING]).status == 401


def test_paths_lead_nowhere(cluster: ApiCluster, anna: str) -> None:
    """CVE-2018-15750."""
    headers = {**JSON, "X-Auth-Token": anna}
    ask = cluster.client.ask
    for path in (
        "/static/../../etc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd", "/static/..%2f..%2fetc",
        "//etc/passwd", "/app/../../etc/passwd", "/%00", "/static/%00",
    ):  # fmt: skip
        reply = ask("GET", path, headers)
        assert reply.status in (403, 404), path
        assert b"root:" not in reply.raw
    known = ask("GET", "/jobs/..%2f..%2fpki", headers)
    assert known.status == 200
    assert known.body["return"] == [{}]


# --- pages of others ---------------------------------------------------------------------


def test_a_form_of_another_page_cannot_use_the_cookie(cluster: ApiCluster, anna: str) -> None:
    before = jobs_of(cluster, "test.echo")
    cookie = {**JSON, "Cookie": f"session_id={anna}", "Origin": "https://evil.example"}
    form = {**cookie, "Content-Type": "application/x-www-form-urlencoded"}
    body = "client=local&tgt=*&fun=test.echo&arg=x"
    assert cluster.client.ask("POST", "/", form, body).status == 401
    text = {**cookie, "Content-Type": "text/plain"}
    assert cluster.client.ask("POST", "/", text, json.dumps(PING)).status == 401
    assert cluster.client.ask("GET", "/events", cookie).status == 401
    assert jobs_of(cluster, "test.echo") == before
    own = {**text, "Origin": f"http://127.0.0.1:{cluster.api_port}"}
    assert cluster.client.ask("POST", "/", own, json.dumps(PING)).status == 200


def test_no_origin_is_allowed_by_itself(cluster: ApiCluster) -> None:
    headers = {**JSON, "Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for method in ("GET", "OPTIONS"):
        reply = cluster.client.ask(method, "/", headers)
        assert not [name for name in reply.headers if name.startswith("Access-Control")]


# --- bytes that are no request -----------------------------------------------------------


def head(*lines: str) -> bytes:
    return "\r\n".join(("POST / HTTP/1.1", "Host: x", *lines, "", "")).encode()


@pytest.mark.parametrize(
    "data",
    [
        head("Content-Length: 5", "Transfer-Encoding: chunked")
        + b"0\r\n\r\nGET /keys HTTP/1.1\r\n\r\n",
        head("Content-Length: 5", "Content-Length: 6") + b"hello",
        head("Content-Length: -1"),
        head("Content-Length: +5") + b"hello",
        head("Content-Length: 5_0") + b"hello",
        head("Content-Length: 5").replace(b"5", b"\xb2") + b"hello",
        head("Transfer-Encoding: xchunked") + b"0\r\n\r\n",
        head("Transfer-Encoding: chunked") + b"FFFFFFFFFFFFFFFFFFFF\r\n",
        head("Transfer-Encoding: chunked") + b"-5\r\nhello\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX : y\r\n\r\n",
        b"GET /\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\r\n\r\n\r\n",
        b"GET\r\n\r\n",
    ],
)  # fmt: skip
def test_smuggled_and_broken_requests_are_refused(cluster: ApiCluster, data: bytes) -> None:
    answer = raw(cluster, data, wait_s=2.0)
    assert answer.count(b"HTTP/1.1 ") <= 1
    assert b" 200 " not in answer.split(b"\r\n")[0]


def test_what_is_too_large_is_refused_before_it_is_read(cluster: ApiCluster) -> None:
    announced = raw(cluster, head("Content-Type: application/json", "Content-Length: 3000000"))
    assert announced.startswith(b"HTTP/1.1 413 ")
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    with contextlib.suppress(ConnectionError):
        chunked = raw(cluster, head("Transfer-Encoding: chunked") + chunk * 20)
        assert chunked.startswith(b"HTTP/1.1 413 ") or chunked == b""
    assert raw(cluster, f"GET /{'a' * 9000} HTTP/1.1\r\nHost: x\r\n\r\n".encode()).startswith(
        b"HTTP/1.1 414 "
    )
    assert raw(
        cluster, f"GET / HTTP/1.1\r\nHost: x\r\nX: {'a' * 17000}\r\n\r\n".encode()
    ).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", "[" * 50_000),
        ("application/json", '[{"client": "local", "tgt": ' + "9" * 5000 + "}]"),
        ("application/x-yaml", "a: &a [" + "x," * 9000 + "]\nb: [*a, *a, *a]\n"),
        ("application/x-yaml", "!!python/object/apply:os.system ['id']"),
        ("application/x-www-form-urlencoded", "a=1&" * 5000),
    ],
)
def test_bombs_are_400(cluster: ApiCluster, anna: str, content_type: str, body: str) -> None:
    headers = {**JSON, "X-Auth-Token": anna, "Content-Type": content_type}
    started = time.monotonic()
    assert cluster.client.ask("POST", "/", headers, body).status == 400
    assert time.monotonic() - started < 5


def test_deep_arguments_are_refused_and_not_passed_on(cluster: ApiCluster, anna: str) -> None:
    deep: Any = "x"
    for _ in range(90):
        deep = [deep]
    headers = {**JSON, "X-Auth-Token": anna}
    chunk = {"client": "local", "tgt": "*", "fun": "test.echo", "arg": [deep]}
    assert cluster.client.ask("POST", "/", headers, [chunk]).status in (200, 400)
    assert cluster.client.ask("POST", "/", headers, [{**chunk, "arg": [[deep] * 2]}]).status < 500


# --- slow and many -----------------------------------------------------------------------


@pytest.mark.slow
def test_silent_and_slow_clients_are_let_go(cluster: ApiCluster) -> None:
    def connected(data: bytes) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", cluster.api_port), timeout=20)
        connection.sendall(data)
        return connection

    silent = [connected(b"") for _ in range(20)]
    half = [connected(b"GET / HTTP/1.1\r\nHost:") for _ in range(20)]
    drip = [connected(head("Content-Length: 50000") + b"x") for _ in range(20)]
    started = time.monotonic()
    session = cluster.client.log_in("ben")
    assert cluster.client.run(session, PING).status == 200
    assert time.monotonic() - started < 2
    for connection in (*silent, *half, *drip):
        assert connection.recv(1000) == b""
        connection.close()
    assert time.monotonic() - started < 16


def test_one_address_cannot_take_all_connections(cluster: ApiCluster) -> None:
    with contextlib.ExitStack() as stack:
        answers = []
        for _ in range(230):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", cluster.api_port)))
            answers.append(one)
        answers[-1].settimeout(5)
        assert answers[-1].recv(100).startswith(b"HTTP/1.1 503 ")
    eventually(lambda: cluster.client.ask("GET", "/", JSON).status == 200, within_s=10)


def test_a_thousand_wrong_logins_cost_honest_callers_nothing(cluster: ApiCluster) -> None:
    session = cluster.client.log_in("anna")
    attacker = Client(cluster.api_port, source="127.0.0.66")
    statuses: list[int] = []

    def attack(number: int) -> None:
        for turn in range(25):
            fields = {"username": f"u{number}-{turn}", "password": "no", "eauth": "sharedsecret"}
            with contextlib.suppress(OSError):
                statuses.append(attacker._ask("POST", "/login", JSON, fields).status)

    threads = [threading.Thread(target=attack, args=(n,), daemon=True) for n in range(40)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            started = time.monotonic()
            assert cluster.client.run(session, PING).body == {"return": [{"m1": True}]}
            assert time.monotonic() - started < 2
            started = time.monotonic()
            cluster.client.log_in("anna")
            assert time.monotonic() - started < 5
            time.sleep(0.2)  # honest callers come now and then
    finally:
        for thread in threads:
            thread.join(60)
    assert set(statuses) <= {401, 429}
    assert statuses.count(429) > statuses.count(401)


def test_requests_leave_no_memory_behind(cluster: ApiCluster) -> None:
    process = psutil.Process(cluster.api.pid)

    def work(count: int) -> None:
        for number in range(count):
            cluster.client.ask("GET", "/minions", {**JSON, "X-Auth-Token": f"{number:040x}"})
            cluster.client.ask("POST", "/", JSON, "{")

    work(300)
    before, files = process.memory_info().rss, process.num_fds()
    work(1500)
    assert process.memory_info().rss - before < 5 * 1024 * 1024
    assert process.num_fds() - files <= 2


# --- what leaks --------------------------------------------------------------------------


def test_hooks_tell_nobody_who_called(cluster: ApiCluster, anna: str) -> None:
    with events_of(cluster, anna) as stream:
        headers = {**JSON, "X-Auth-Token": anna, "Authorization": "Basic abc", "X-Hub": "sig"}
        assert cluster.client.ask("POST", "/hook/a/b", headers, {"a": 1}).body == {"success": True}
        tag, data = next(stream)
    assert tag == "salt/netapi/hook/a/b"
    assert data["body"] == '{"a": 1}'
    assert data["post"] == {"a": 1}
    assert {"X-Auth-Token", "Authorization", "Cookie"} & set(data["headers"]) == set()
    assert data["headers"]["X-Hub"] == "sig"
    assert data["headers"]["Remote-Addr"] == "127.0.0.1"


@pytest.mark.parametrize("path", ["/hook/a%0ab", "/hook/a%20b", "/hook/%00", "/hook/" + "a" * 300])
def test_hooks_choose_no_odd_tags(cluster: ApiCluster, anna: str, path: str) -> None:
    headers = {**JSON, "X-Auth-Token": anna}
    assert cluster.client.ask("POST", path, headers, {"a": 1}).status == 400


def test_a_stream_ends_with_its_session(cluster: ApiCluster) -> None:
    session = cluster.client.log_in("ben")
    with events_of(cluster, session) as stream:
        headers = {**JSON, "X-Auth-Token": session}
        assert cluster.client.ask("POST", "/logout", headers, {}).status == 200
        assert list(stream) == []


def test_streams_of_a_session_are_few(cluster: ApiCluster) -> None:
    session = cluster.client.log_in("ben")
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            stack.enter_context(events_of(cluster, session))
        headers = {**JSON, "X-Auth-Token": session}
        assert cluster.client.ask("GET", "/events", headers).status == 503


LEFT = {
    "once it is open": ("GET /events HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {}\r\n\r\n", True),
    "before the answer": ("GET /events HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {}\r\n\r\n", False),
    "asked for by HEAD": ("HEAD /events HTTP/1.1\r\nHost: x\r\nX-Auth-Token: {}\r\n\r\n", True),
    "a websocket": (OPENING, True),
    "a websocket before the answer": (OPENING, False),
}


@pytest.mark.parametrize("how", LEFT)
def test_whoever_leaves_gives_back_his_streams(cluster: ApiCluster, how: str) -> None:
    """Each was counted, and fed, until its session ended: after ten there were no more."""
    session = cluster.client.log_in("ben")
    request, is_answered = LEFT[how]
    for _ in range(2 * limits.STREAMS_OF_SESSION_MOST):
        with socket.create_connection(("127.0.0.1", cluster.api_port), timeout=20) as connection:
            ready = websocket_text(b"websocket client ready") if "websocket" in how else b""
            connection.sendall(request.format(session).encode() + ready)
            if is_answered:
                assert connection.recv(4096)

    def opens() -> bool:
        with contextlib.suppress(AssertionError), events_of(cluster, session):
            return True
        return False

    eventually(opens, within_s=5, what="a stream of the session opens")


def websocket_text(text: bytes) -> bytes:
    """A text from a client; masked by zeros."""
    return bytes([0x81, 0x80 | len(text)]) + bytes(4) + text


def test_passwords_are_in_no_log(cluster: ApiCluster) -> None:
    fields = {"username": "anna", "password": "s3cr3t-4", "eauth": "sharedsecret"}
    cluster.client.ask("POST", "/login", JSON, fields)
    cluster.client.ask("POST", "/run", JSON, [{**PING, **fields}])
    logs = cluster.api.log() + cluster.master.log()
    logs += (cluster.root / "master" / "api.log").read_text()
    assert "s3cr3t-4" not in logs


def test_answers_are_compressed_when_wanted(cluster: ApiCluster, anna: str) -> None:
    headers = {**JSON, "X-Auth-Token": anna, "Accept-Encoding": "gzip"}
    reply = cluster.client.ask("GET", "/minions", headers)
    assert reply.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(reply.raw))["return"][0]["m1"]["id"] == "m1"


@contextlib.contextmanager
def events_of(cluster: ApiCluster, session: str) -> Iterator[Iterator[tuple[str, Any]]]:
    """An open stream: tag and data of each event."""
    connection = socket.create_connection(("127.0.0.1", cluster.api_port), timeout=20)
    request = f"GET /events HTTP/1.0\r\nHost: x\r\nCookie: session_id={session}\r\n\r\n"
    connection.sendall(request.encode())
    file = connection.makefile("rb")
    assert file.readline().startswith(b"HTTP/1.1 200 ")
    while file.readline() != b"retry: 400\n":
        pass
    try:
        yield _events_in(file)
    finally:
        file.close()
        connection.close()


def _events_in(file: Any) -> Iterator[tuple[str, Any]]:
    for line in file:
        if line.startswith(b"data: "):
            event = json.loads(line[6:])
            assert set(event) == {"data", "tag"}
            yield event["tag"], event["data"]


# --- TLS ---------------------------------------------------------------------------------


def make_certificate(folder: Path, name: str) -> None:
    need("openssl")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", f"/CN={name}", "-keyout", str(folder / "key.pem"),
         "-out", str(folder / "crt.pem")],
        check=True, capture_output=True, timeout=60,
    )  # fmt: skip


def shown_name(port: int) -> str:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        context.wrap_socket(plain) as secured,
    ):
        from cryptography import x509

        certificate = secured.getpeercert(binary_form=True)
        assert certificate is not None
        return x509.load_der_x509_certificate(certificate).subject.rfc4514_string()


def test_a_new_certificate_is_taken_and_a_broken_one_is_not(tmp_path: Path) -> None:
    make_certificate(tmp_path, "one")
    options = {
        "disable_ssl": False, "ssl_crt": str(tmp_path / "crt.pem"),
        "ssl_key": str(tmp_path / "key.pem"),
    }  # fmt: skip
    with ApiCluster(minions=0, api_options=options) as cluster:
        cluster.start_master()
        cluster.api.start()
        eventually(lambda: "is ready on https" in cluster.api.log(), what="salt-api is ready")
        assert shown_name(cluster.api_port) == "CN=one"
        (tmp_path / "crt.pem").write_text("no certificate")
        cluster.api.process.send_signal(1)
        eventually(lambda: "is not read again" in cluster.api.log(), what="it says so")
        assert shown_name(cluster.api_port) == "CN=one"
        make_certificate(tmp_path, "two")
        cluster.api.process.send_signal(1)
        eventually(lambda: shown_name(cluster.api_port) == "CN=two", what="the new one is shown")
