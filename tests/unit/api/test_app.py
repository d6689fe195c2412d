"""The routes with a master that is none: who may use them, how much of them, and what is left."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import zmq
from tornado.websocket import websocket_connect

from saltlite.api import limits, websockets
from saltlite.api.app import App
from saltlite.api.events import EventFeed
from saltlite.api.lowstate import CLIENTS, Call, Credentials
from saltlite.api.messages import Answer, HttpError, Request
from saltlite.api.options import ServerOptions
from saltlite.api.server import ApiServer

PASSWORDS = {"anna": "right", "ben": "right"}
TOKEN = "a" * 64


class Master:
    """Answers as a master would, and remembers what it was asked."""

    is_salts = False

    def __init__(self) -> None:
        self.feed = EventFeed(Path("/nowhere"), zmq.Context.instance())
        self.logins: list[str] = []
        self.tokens: dict[str, str] = {}
        self.asked: list[tuple[str, Credentials]] = []
        self.authorized: list[tuple[int, Credentials]] = []
        self.answers = asyncio.Event()
        self.answers.set()

    def require_master(self) -> None:
        pass

    async def make_token(self, fields: Mapping[str, Any]) -> dict[str, Any] | None:
        self.logins.append(fields["username"])
        await self.answers.wait()
        if PASSWORDS.get(fields["username"].strip().lower()) != fields["password"]:
            return None
        token = f"{len(self.logins):064x}"
        self.tokens[token] = fields["username"]
        return {"token": token, "name": fields["username"], "eauth": "auto", "start": 0.0,
                "expire": 9e9}  # fmt: skip

    async def look_up_token(self, token: str) -> dict[str, Any] | None:
        name = self.tokens.get(token)
        return name and {"name": name, "eauth": "auto", "start": 0.0, "expire": 9e9}  # type: ignore[return-value]

    async def remove_token(self, token: str) -> None:
        self.tokens.pop(token, None)

    async def authorize(self, calls: Sequence[Call], credentials: Credentials) -> None:
        self.authorized.append((len(calls), credentials))

    async def run(self, call: Call, credentials: Credentials) -> list[Any]:
        if "token" in credentials and credentials["token"] not in self.tokens:
            raise HttpError(401, "Authentication error occurred.")
        self.asked.append((call.client, credentials))
        return [{"jid": "1", "minions": [], "data": {"return": {"pub": "p", "priv": "q"}}}]


def make_app(master: Master, enabled: Sequence[str] = CLIENTS, **options: Any) -> App:
    return App(
        ServerOptions(**options),
        list(enabled),
        master,  # type: ignore[arg-type]
        list_rights=lambda *_: [],
        external_auth={},
    )


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(work(), 20))  # type: ignore[arg-type]


async def until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        await asyncio.sleep(0.005)


async def ask(
    app: App, method: str, path: str, body: Any = None, *, session: str = "", peer: str = "10.0.0.1"
) -> Answer:
    headers = {"content-type": "application/json"}
    if session:
        headers["x-auth-token"] = session
    data = b"" if body is None else json.dumps(body).encode()
    request = Request(method=method, path=path, headers=headers, body=data, peer=peer)
    return await app.answer(request)


async def log_in(app: App, name: str = "anna") -> str:
    fields = {"username": name, "password": "right", "eauth": "auto"}
    answer = await ask(app, "POST", "/login", fields)
    assert answer.status == 200, answer.body
    return answer.header("X-Auth-Token")


def login(name: str = "anna", password: str = "right") -> dict[str, str]:
    return {"username": name, "password": password, "eauth": "auto"}


PING = {"client": "local", "tgt": "*", "fun": "test.ping"}

# --- clients that are not enabled --------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "client", "body"),
    [
        ("GET", "/minions", "local", None),
        ("GET", "/minions/m1", "local", None),
        ("POST", "/minions", "local_async", [{"tgt": "*", "fun": "test.ping"}]),
        ("GET", "/jobs", "runner", None),
        ("GET", "/jobs/20260101000000000000", "runner", None),
        ("GET", "/jobs/no-jid", "runner", None),
        ("GET", "/keys", "wheel", None),
        ("GET", "/keys/m1", "wheel", None),
        ("POST", "/keys", "wheel", {"mid": "m1", **login()}),
        ("POST", "/run", "local", [{**PING, **login()}]),
        ("POST", "/", "local", [PING]),
    ],
)
def test_a_client_that_is_not_enabled_is_not_used_by_any_path(
    method: str, path: str, client: str, body: Any
) -> None:
    async def work() -> None:
        master = Master()
        others = [one for one in CLIENTS if one != client]
        for enabled, wanted in ((others, 400), ([client], None)):
            app = make_app(master, enabled)
            answer = await ask(app, method, path, body, session=await log_in(app))
            if wanted is None:
                assert answer.status in (200, 202), answer.body
            else:
                assert answer.status == wanted, answer.body
                assert f"Client disabled: '{client}'".encode() in answer.body
                assert master.asked == []

    run(work)


# --- credentials beside the chunks -------------------------------------------------------


def test_a_password_travels_once_and_its_token_ends_with_the_request() -> None:
    async def work() -> None:
        master = Master()
        app = make_app(master)
        answer = await ask(app, "POST", "/run", [{**PING, **login()}] * 3)
        assert answer.status == 200
        assert master.logins == ["anna"]
        assert [set(shown) for _client, shown in master.asked] == [{"token"}] * 3
        assert [(count, set(shown)) for count, shown in master.authorized] == [(3, {"token"})]
        assert master.tokens == {}

    run(work)


def test_all_chunks_are_authorised_first_whoever_asks_for_each() -> None:
    async def work() -> None:
        master = Master()
        app = make_app(master)
        chunks = [{**PING, **login()}, {**PING, **login("ben")}, {**PING, **login()}]
        assert (await ask(app, "POST", "/run", chunks)).status == 200
        assert sorted(count for count, _shown in master.authorized) == [1, 2]
        wrong = [{**PING, **login()}, {**PING, **login("ben", "wrong")}]
        before = len(master.asked)
        assert (await ask(app, "POST", "/run", wrong)).status == 401
        assert len(master.asked) == before
        assert master.tokens == {}

    run(work)


@pytest.mark.parametrize("path", ["/login", "/run", "/keys", "/token"])
def test_wrong_passwords_are_counted_wherever_they_are_shown(path: str) -> None:
    async def work() -> None:
        app = make_app(Master())
        body = {**PING, "mid": "m1", **login("anna", "wrong")}
        statuses = []
        for name in ("anna", "Anna", "ANNA ", "anna"):
            answer = await ask(app, "POST", path, {**body, "username": name})
            statuses.append(answer.status)
        assert statuses == [401, 401, 401, 429]
        answer = await ask(app, "POST", path, {**body, **login()})
        assert answer.status == 429

    run(work)


def test_a_name_that_cannot_be_one_is_not_remembered() -> None:
    async def work() -> None:
        master = Master()
        app = make_app(master)
        statuses = [
            (await ask(app, "POST", "/login", login("a" * 10_000 + str(number)))).status
            for number in range(5)
        ]
        assert statuses == [401, 401, 401, 429, 429]
        assert master.logins == []
        assert len(app._guard._failures) == 2  # nobody from there, and the address
        assert (await ask(app, "POST", "/login", login())).status == 200

    run(work)


def test_how_many_logins_one_request_may_hold() -> None:
    async def work() -> None:
        master = Master()
        app = make_app(master)
        many = [{**PING, **login(f"u{number}")} for number in range(21)]
        assert (await ask(app, "POST", "/run", many)).status == 400
        assert (await ask(app, "POST", "/token", many)).status == 400
        assert master.logins == []
        two = [login(), login("ben", "wrong")]
        assert (await ask(app, "POST", "/token", two)).status == 401
        assert master.tokens == {}, "a token that nobody was given"

    run(work)


def test_logins_of_one_client_keep_nobody_else_out() -> None:
    async def work() -> None:
        master = Master()
        app = make_app(master)
        master.answers.clear()
        slow = [
            asyncio.create_task(ask(app, "POST", "/login", login(f"u{number}", "wrong")))
            for number in range(40)
        ]
        await until(lambda: sum(one.done() for one in slow) == 20)
        assert len(master.logins) == limits.LOGINS_OF_ADDRESS_MOST
        assert [one.result().status for one in slow if one.done()] == [429] * 20
        honest = asyncio.create_task(ask(app, "POST", "/login", login(), peer="10.0.0.2"))
        await until(lambda: master.logins[-1] == "anna")
        master.answers.set()
        assert (await honest).status == 200
        await asyncio.gather(*slow)

    run(work)


def test_who_hangs_up_keeps_his_place_until_the_master_has_answered() -> None:
    """Else a client could have any number of logins checked at once, by going away each time."""

    async def work() -> None:
        master = Master()
        app = make_app(master)
        master.answers.clear()
        for _ in range(60):
            going = asyncio.create_task(ask(app, "POST", "/login", login()))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            going.cancel()
            await asyncio.gather(going, return_exceptions=True)
        assert len(master.logins) == 1
        assert app._logins._pending == limits.LOGINS_OF_ADDRESS_MOST
        master.answers.set()
        await until(lambda: not app._login_tasks)
        assert app._logins._pending == 0
        assert master.tokens == {}, "nobody was there to take them"

    run(work)


# --- event streams -----------------------------------------------------------------------


async def listen(app: App, shown: str) -> Answer:
    return await ask(app, "GET", "/events", session=shown)


def test_streams_of_a_user_are_bounded_however_he_shows_who_he_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "STREAMS_OF_USER_MOST", 25)

    async def work() -> None:
        master = Master()
        app = make_app(master)
        sessions = [await log_in(app) for _ in range(2)]
        tokens = list(master.tokens)
        statuses = [(await listen(app, tokens[0])).status for _ in range(12)]
        assert statuses == [200] * 10 + [503] * 2, "of one token, by session or itself"
        assert (await listen(app, sessions[0])).status == 503
        third = await log_in(app)
        statuses = [(await listen(app, shown)).status for shown in (sessions[1], third) * 10]
        assert statuses.count(200) == 15
        assert (await listen(app, await log_in(app, "ben"))).status == 200
        for stream in list(master.feed.streams):
            stream.end()
        assert not app._streams
        assert not app._streams_of_user

    run(work)


def test_a_logout_ends_the_streams_of_its_token_too() -> None:
    async def work() -> None:
        master = Master()
        app = make_app(master)
        session = await log_in(app)
        (token,) = master.tokens
        other = await log_in(app, "ben")
        for shown in (session, token, other):
            assert (await listen(app, shown)).status == 200
        assert len(master.feed.streams) == 3
        assert (await ask(app, "POST", "/logout", {}, session=session)).status == 200
        assert len(master.feed.streams) == 1

    run(work)


def test_a_stream_ends_with_a_token_that_somebody_else_removed() -> None:
    async def work() -> None:
        master = Master()
        app = make_app(master)
        anna, ben = await log_in(app), await log_in(app, "ben")
        for shown in (anna, ben):
            await listen(app, shown)
        await app.end_dead_streams()
        assert len(master.feed.streams) == 2
        master.tokens = {token: name for token, name in master.tokens.items() if name == "ben"}
        await app.end_dead_streams()
        assert len(master.feed.streams) == 1

    run(work)


# --- before a body is read ---------------------------------------------------------------


async def serve(app: App) -> tuple[ApiServer, int]:
    from tornado.netutil import bind_sockets

    server = ApiServer(app)
    sockets = bind_sockets(0, "127.0.0.1")
    server.add_sockets(sockets)
    return server, int(sockets[0].getsockname()[1])


async def send(port: int, head: str, body: bytes = b"") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.replace("\n", "\r\n").encode() + b"\r\n" + body)
    line = await reader.readline()
    writer.close()
    return line


class FullMachine:
    """A listener of a machine that has no room for another open file, for a while."""

    def __init__(self, listener: socket.socket, *, refused: int) -> None:
        self._listener, self._refused = listener, refused
        self.asked = 0

    def fileno(self) -> int:
        return self._listener.fileno()

    def close(self) -> None:
        self._listener.close()

    def accept(self) -> Any:
        self.asked += 1
        if self.asked <= self._refused:
            raise OSError(errno.ENFILE, os.strerror(errno.ENFILE))
        return self._listener.accept()


def test_without_room_for_a_connection_it_waits_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tornado.netutil import bind_sockets

    monkeypatch.setattr("saltlite.api.server.ACCEPT_PAUSE_S", 0.02)

    async def work() -> int:
        server = ApiServer(make_app(Master()))
        (listener,) = bind_sockets(0, "127.0.0.1")
        full: Any = FullMachine(listener, refused=5)
        server.add_sockets([full])
        line = await send(listener.getsockname()[1], "GET / HTTP/1.1\nHost: x\n")
        assert line.startswith(b"HTTP/1.1 ")
        server.stop()
        return int(full.asked)

    begun_s = time.monotonic()
    asked = run(work)
    assert time.monotonic() - begun_s >= 5 * 0.02
    # Five times without room, the connection, and that there is no other.
    assert asked == 7
    said = [one for one in caplog.records if "cannot be accepted" in one.getMessage()]
    assert len(said) == 1


@pytest.mark.parametrize("path", ["/login", "/token", "/keys", "/logout"])
def test_a_body_that_anybody_may_send_is_small(path: str) -> None:
    async def work() -> None:
        server, port = await serve(make_app(Master()))
        large = f"POST {path} HTTP/1.1\nHost: x\nContent-Length: {65 * 1024}\n"
        small = f"POST {path} HTTP/1.1\nHost: x\nContent-Length: 4\n"
        assert b" 413 " in await send(port, large)
        assert b" 413 " not in await send(port, small, b"null")
        chunked = f"POST {path} HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n"
        piece = b"8000\r\n" + b" " * 0x8000 + b"\r\n"
        assert b" 413 " in await send(port, chunked, piece * 3)
        server.stop()

    run(work)


def test_what_a_body_may_hold_elsewhere() -> None:
    def most(path: str, **options: Any) -> int:
        app = make_app(Master(), **options)
        return app.body_bytes_most(Request(method="POST", path=path))

    assert most("/") == most("/run") == most("/minions") == 1024 * 1024
    assert most("/salt/login", root_prefix="/salt") == 64 * 1024
    assert most("/salt/", root_prefix="/salt") == 1024 * 1024
    assert most("/hook/x") == 1024 * 1024
    assert most("/hook/x", webhook_disable_auth=True) == limits.HOOK_BYTES_MOST
    assert most("/login", max_request_body_size=2048) == 2048


def test_an_address_that_may_not_connect_gets_nothing_from_any_path() -> None:
    async def work() -> None:
        master = Master()
        app = make_app(master, authorized_ips=["10.0.0.0/8"])
        session = await log_in(app)
        server, port = await serve(app)
        for method, path in (
            ("GET", "/"), ("OPTIONS", "/"), ("POST", "/login"), ("GET", "/events"), ("GET", "/x"),
            ("POST", "/hook/x"), ("GET", "/stats"), ("GET", "/static/x"), ("DELETE", "/"),
        ):  # fmt: skip
            head = f"{method} {path} HTTP/1.1\nHost: x\nX-Auth-Token: {session}\n"
            assert b" 403 " in await send(port, head), (method, path)
        for path in ("/ws", "/all_events"):
            with pytest.raises(Exception, match="403"):
                await websocket_connect(f"ws://127.0.0.1:{port}{path}/{session}")
        server.stop()
        open_to_us = make_app(master, authorized_ips=["127.0.0.1"])
        server, port = await serve(open_to_us)
        session = await log_in(open_to_us)
        await websocket_connect(f"ws://127.0.0.1:{port}/ws/{session}")
        assert b" 200 " in await send(port, "GET / HTTP/1.1\nHost: x\nAccept: application/json\n")
        server.stop()

    run(work)


# --- how much of all bodies --------------------------------------------------------------


async def begin_body(port: int, size: int, peer: str) -> asyncio.StreamReader:
    """Send a part of a body, as somebody at ``peer`` would by way of a proxy."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: {peer}\r\nContent-Length: {size + 1}"
    writer.write(head.encode() + b"\r\n\r\n" + b" " * size)
    reader.writer = writer  # type: ignore[attr-defined]  # what closes with it
    return reader


def test_bodies_have_a_bound_in_all_and_who_sends_the_most_gives_way() -> None:
    async def work() -> None:
        server, port = await serve(make_app(Master(), trusted_proxies=["127.0.0.1"]))
        server.gateway.room = room = limits.BodyRoom(1000, 700)
        first = await begin_body(port, 300, "10.0.0.1")
        await until(lambda: room.size_bytes == 300)
        second = await begin_body(port, 300, "10.0.0.1")
        await until(lambda: room.size_bytes == 600)
        third = await begin_body(port, 300, "10.0.0.1")
        assert b" 503 " in await third.readline(), "more than one client may have"
        honest = [await begin_body(port, 200, f"10.0.0.{number}") for number in (2, 3)]
        await until(lambda: room.share_of("10.0.0.3") == 200)
        await begin_body(port, 200, "10.0.0.4")
        assert b" 503 " in await first.readline()
        await until(lambda: room.size_bytes == 900)
        for one in (second, *honest):
            one.writer.write(b" ")  # type: ignore[attr-defined]
            assert b" 401 " in await one.readline()
        await until(lambda: room.size_bytes == 200)
        server.stop()

    run(work)


def test_a_body_counts_until_its_answer_is_made_and_no_longer() -> None:
    async def work() -> None:
        master = Master()
        server, port = await serve(make_app(master))
        server.gateway.room = room = limits.BodyRoom()
        master.answers.clear()
        body = json.dumps(login()).encode()
        head = "POST /login HTTP/1.1\nHost: x\nContent-Type: application/json\n"
        head += f"Content-Length: {len(body)}\n"
        asked = [asyncio.create_task(send(port, head, body)) for _ in range(2)]
        await until(lambda: room.size_bytes == 2 * len(body))
        master.answers.set()
        await asyncio.gather(*asked)
        assert room.size_bytes == 0
        gone = await begin_body(port, 500, "10.0.0.1")
        await until(lambda: room.size_bytes == 500)
        gone.writer.close()  # type: ignore[attr-defined]
        await until(lambda: room.size_bytes == 0)
        server.stop()

    run(work)


def test_a_proxy_that_names_nobody_is_no_single_client() -> None:
    async def work() -> None:
        for trusted, status in (((), b" 503 "), (("127.0.0.1",), b" 401 ")):
            server, port = await serve(make_app(Master(), trusted_proxies=list(trusted)))
            server.gateway.room = limits.BodyRoom(1000, 100)
            head = "POST / HTTP/1.1\nHost: x\nContent-Length: 200\n"
            assert status in await send(port, head, b" " * 200)
            server.stop()

    run(work)


# --- websockets --------------------------------------------------------------------------


def test_a_websocket_without_events_ends_with_its_session_and_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def work() -> None:
        app = make_app(Master())
        server, port = await serve(app)
        session = await log_in(app)
        client = await websocket_connect(f"ws://127.0.0.1:{port}/ws/{session}")
        found = app.sessions.find(session, 0.0)
        assert found is not None
        await until(lambda: bool(found.watchers))
        app.sessions.end(found)
        assert await client.read_message() is None
        monkeypatch.setattr(websockets, "READY_WITHIN_S", 0.05)
        client = await websocket_connect(f"ws://127.0.0.1:{port}/ws/{await log_in(app)}")
        assert await client.read_message() is None
        assert client.close_code == 1008
        server.stop()

    run(work)
