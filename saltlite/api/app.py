"""What each path answers: requests go in, answers come out; no socket is here.

:class:`App` finds the route, checks who asks, and hands the work to a
:class:`~saltlite.api.clients.MasterClient`. Every error is an :class:`HttpError`, and every
request is answered. Source: docs/api.md; tests/cases/data/api.
"""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import gzip
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from saltlite.api import limits
from saltlite.api.addresses import covers
from saltlite.api.events import RETRY, EventStream
from saltlite.api.keypairs import pack_pair, read_pair_request
from saltlite.api.lowstate import (
    CLIENTS,
    Call,
    Credentials,
    RunCall,
    as_chunk,
    check_client,
    is_token,
    read_calls,
    read_credentials,
)
from saltlite.api.messages import NO_PERMISSION, Answer, HttpError, Request, too_many
from saltlite.api.negotiation import (
    HTML_PAGE,
    JSON,
    as_chunks,
    choose_type,
    encode,
    encode_error,
    read_body,
    wants_page,
)
from saltlite.api.options import ServerOptions, allowed_origins
from saltlite.api.own_page import serve_own_page
from saltlite.api.packed import unpack_all
from saltlite.api.sessions import (
    LoginToken,
    Session,
    Sessions,
    is_session_id,
    make_cookie,
    read_token,
    shown_session,
)
from saltlite.api.static_files import serve_below, serve_file
from saltlite.core.access import valid_login_name
from saltlite.core.dataclasses import dataclass, field
from saltlite.core.ids import valid_jid
from saltlite.core.lazyregex import regex
from saltlite.errors import WireError
from saltlite.transport.tcp import origin_of

if TYPE_CHECKING:
    from saltlite.api.clients import MasterClient

log = logging.getLogger(__name__)

WELCOME: Final = {"return": "Welcome", "clients": list(CLIENTS)}
WRONG_LOGIN: Final = "Could not authenticate using provided credentials"
NOT_AUTHENTICATED: Final = "Authentication error occurred."
LOGGED_OUT: Final = "Your token has been cleared"
UNEXPECTED: Final = "An unexpected error occurred"
NO_SUCH_JOB: Final = "Cannot contact returner or no job with this jid"
HOOK_TAG: Final = "salt/netapi/hook"
HOOK_TAG_MOST: Final = 256
_TAG_PART = regex(r"[A-Za-z0-9._:@+-]+")
_HIDDEN_FROM_EVENTS: Final = frozenset(("x-auth-token", "cookie", "authorization"))
CORS_HEADERS: Final = "Content-Type, X-Auth-Token, X-Requested-With, Cache-Control, Accept"
GZIP_LEAST: Final = 1024
_PLAIN: Final = (("X-Content-Type-Options", "nosniff"), ("Server", "saltlite"))

Handler = Callable[[Request], Awaitable[Answer]]
Lister = Callable[[Mapping[str, Any], LoginToken], list[Any]]
"""The rights that a login shows: ``external_auth`` and the token → list."""


@dataclass(slots=True)
class Counters:
    """What ``/stats`` shows."""

    start: float = field(default_factory=time.time)
    requests: int = 0
    bytes: int = 0
    errors: int = 0


class App:
    """All routes. ``clock`` gives seconds since 1970."""

    def __init__(
        self,
        options: ServerOptions,
        enabled: list[str],
        master: MasterClient,
        *,
        list_rights: Lister,
        external_auth: Mapping[str, object],
        event_acl: bool = False,
        query_token: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.options = options
        self.sessions = Sessions()
        self.counters = Counters()
        self.master = master
        self.slots = limits.CommandSlots(options.thread_pool)
        self._enabled = enabled
        self._list_rights = list_rights
        self._external_auth = external_auth
        self._event_acl = event_acl
        self._query_token = query_token
        self._clock = clock
        self._guard = limits.LoginGuard()
        self._hooks = limits.Rate(limits.HOOKS_PER_S)
        self._logins = limits.LoginTurns()
        self._login_tasks: set[asyncio.Task[Any]] = set()
        self._streams: dict[str, set[EventStream]] = {}  # by the master's token
        self._streams_of_user: Counter[tuple[str, str]] = Counter()
        self._formatted: Counter[tuple[str, str]] = Counter()
        self._origins = allowed_origins(options)
        self._prefix = [part for part in options.root_prefix.split("/") if part]
        self._routes = self._make_routes()
        self._welcome = encode(WELCOME, JSON)

    def _make_routes(self) -> dict[str, dict[str, Handler]]:
        """First part of the path → method → handler."""
        routes: dict[str, dict[str, Handler]] = {
            "": {"GET": self._welcome_page, "POST": self._run_lowstate},
            "run": {"POST": self._run_with_credentials},
            "token": {"POST": self._make_tokens},
            "keys": {"GET": self._show_keys, "POST": self._make_key},
            "events": {"GET": self._stream_events},
            "stats": {"GET": self._show_stats},
            "ws": {"GET": self._refuse_plain_websocket},
            "all_events": {"GET": self._refuse_plain_websocket},
        }
        if self.options.enable_sessions:
            routes |= {
                "login": {"GET": self._ask_for_login, "POST": self._log_in},
                "logout": {"POST": self._log_out},
                "minions": {"GET": self._show_minions, "POST": self._publish},
                "jobs": {"GET": self._show_jobs},
            }
        return routes

    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock()

    # --- one request ---------------------------------------------------------------------

    async def answer(self, request: Request) -> Answer:
        """Answer a request, whatever it is."""
        started = time.monotonic()
        try:
            answer = await self._answer(request)
        except HttpError as error:
            answer = self.explain(request, error)
        except Exception:
            log.exception("%s %s failed", request.method, request.path[:200])
            answer = self.explain(request, HttpError(500, UNEXPECTED))
        self.finish(request, answer)
        self._count(request, answer, started)
        return answer

    def explain(self, request: Request, error: HttpError) -> Answer:
        """The answer that an error is."""
        kind, body = encode_error(error.status, error.text, request.header("accept"))
        return Answer(
            status=error.status, body=body, headers=[("Content-Type", kind), *error.headers]
        )

    def finish(self, request: Request, answer: Answer) -> None:
        """Add what every answer has: headers of safety and CORS, and gzip where it is wanted."""
        answer.headers += _PLAIN
        answer.headers += self._cors(request)
        is_long = len(answer.body) >= GZIP_LEAST and answer.status == 200
        if len(answer.body) > limits.ANSWER_BYTES_MOST:
            shown = self.explain(request, HttpError(500, "The answer is too large"))
            answer.status, answer.body, answer.headers = 500, shown.body, shown.headers
        elif is_long and answer.stream is None and _accepts_gzip(request):
            answer.body = gzip.compress(answer.body, 5, mtime=0)
            answer.headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]

    def _count(self, request: Request, answer: Answer, started: float) -> None:
        self.counters.requests += 1
        self.counters.bytes += len(answer.body)
        self.counters.errors += answer.status >= 500
        if access.isEnabledFor(logging.INFO):
            session = self._session_of(request)
            access.info(
                "%s %s %s %d %d %.1f ms %s",
                request.peer,
                request.method,
                request.path[:200],
                answer.status,
                len(answer.body),
                (time.monotonic() - started) * 1000,
                session.user if session else "-",
            )

    async def _answer(self, request: Request) -> Answer:
        if request.method == "OPTIONS":
            return self._preflight(request)
        parts = self.below_prefix(request)
        page = self._page_for(request, parts)
        if page is not None:
            return page
        handler = self._find(request, parts)
        return await handler(request)

    def check_address(self, request: Request) -> None:
        """Refuse who may not connect, whatever he wants; before his body is read.

        Raises:
            HttpError: 403, ``authorized_ips`` does not have his address.
        """
        authorized = self.options.authorized_ips
        if authorized is not None and not any(covers(one, request.peer) for one in authorized):
            raise HttpError(403, "Bad IP")

    def body_bytes_most(self, request: Request) -> int:
        """How large the body of a request may be: small where anybody may send one."""
        most = self.options.max_request_body_size
        parts = request.parts
        if parts[: len(self._prefix)] != self._prefix:
            return min(most, limits.LOGIN_BYTES_MOST)
        parts = parts[len(self._prefix) :]
        if parts and parts[0] in ("login", "logout", "token", "keys"):
            return min(most, limits.LOGIN_BYTES_MOST)
        if (
            self.options.webhook_disable_auth
            and _below(parts, self.options.webhook_url) is not None
        ):
            return min(most, limits.HOOK_BYTES_MOST)
        return most

    def below_prefix(self, request: Request) -> list[str]:
        """The parts of a path below ``root_prefix``.

        Raises:
            HttpError: 404, it is not below it.
        """
        parts = request.parts
        if parts[: len(self._prefix)] != self._prefix:
            raise _no_such_path(request)
        return parts[len(self._prefix) :]

    def _find(self, request: Request, parts: list[str]) -> Handler:
        hook = [part for part in self.options.webhook_url.split("/") if part]
        if hook and parts[: len(hook)] == hook:
            return self._of_method(request, {"POST": self._fire_hook})
        methods = self._routes.get(parts[0] if parts else "")
        if methods is None or len(parts) > 2 or (len(parts) == 2 and not _takes_name(parts[0])):
            raise _no_such_path(request)
        return self._of_method(request, methods)

    @staticmethod
    def _of_method(request: Request, methods: Mapping[str, Handler]) -> Handler:
        method = "GET" if request.method == "HEAD" else request.method
        if method not in methods:
            allowed = [*methods, *(["HEAD"] if "GET" in methods else []), "OPTIONS"]
            raise HttpError(
                405,
                "Specified method is invalid for this resource",
                headers=(("Allow", ", ".join(sorted(allowed))),),
            )
        return methods[method]

    # --- pages ---------------------------------------------------------------------------

    def _page_for(self, request: Request, parts: list[str]) -> Answer | None:
        """The file for a path of the app, and for browsers on any other path."""
        if request.method not in ("GET", "HEAD"):
            return None
        options = self.options
        if options.static:
            below = _below(parts, options.static_path)
            if below is not None:
                return serve_below(options.static, below, request)
        if options.favicon and parts == ["favicon.ico"]:
            return serve_file(options.favicon, request)
        if not options.app:
            return serve_own_page(request, parts)
        is_app = _below(parts, options.app_path) is not None
        if is_app or wants_page(request.headers.get("accept")):
            return serve_file(options.app, request, media_type=HTML_PAGE)
        return None

    async def _welcome_page(self, request: Request) -> Answer:
        kind = choose_type(request.header("accept"))
        body = self._welcome if kind == JSON else encode(WELCOME, kind)
        return Answer(body=body, headers=[("Content-Type", kind), *_allow("GET, HEAD, POST")])

    # --- CORS ----------------------------------------------------------------------------

    def _cors(self, request: Request) -> list[tuple[str, str]]:
        origin = request.header("origin")
        if not origin or not self._origins:
            return []
        if origin in self._origins:
            return [
                ("Access-Control-Allow-Origin", origin),
                ("Access-Control-Allow-Credentials", "true"),
                ("Access-Control-Expose-Headers", "X-Auth-Token"),
                ("Vary", "Origin"),
            ]
        if "*" in self._origins:
            return [
                ("Access-Control-Allow-Origin", "*"),
                ("Access-Control-Expose-Headers", "X-Auth-Token"),
            ]
        return [("Vary", "Origin")]

    def _preflight(self, request: Request) -> Answer:
        headers = [("Allow", "GET, HEAD, OPTIONS, POST")]
        is_allowed = bool({request.header("origin"), "*"} & set(self._origins))
        if request.header("access-control-request-method") and is_allowed:
            headers += [
                ("Access-Control-Allow-Methods", "GET, POST"),
                ("Access-Control-Allow-Headers", CORS_HEADERS),
                ("Access-Control-Max-Age", "1400"),
            ]
        return Answer(headers=headers)

    # --- sessions ------------------------------------------------------------------------

    def _session_of(self, request: Request) -> Session | None:
        shown, _ = shown_session(request.header("x-auth-token"), request.header("cookie"))
        return self.sessions.find(shown, self._clock()) if shown else None

    def require_session(self, request: Request) -> Session:
        """The session of a request.

        Raises:
            HttpError: 401, it has none; 403, only a cookie, and from a page of another origin.
        """
        shown, by_cookie = shown_session(request.header("x-auth-token"), request.header("cookie"))
        session = self.sessions.find(shown, self._clock()) if shown else None
        if session is None or (by_cookie and not self._may_use_cookie(request)):
            raise HttpError(401, NO_PERMISSION)
        return session

    def _may_use_cookie(self, request: Request) -> bool:
        """Whether a cookie alone will do: not for a form of somebody else's page."""
        if request.method in ("GET", "HEAD"):
            return True
        content_type = request.header("content-type").partition(";")[0].strip().lower()
        return content_type == JSON or self.is_own_origin(request)

    def is_own_origin(self, request: Request) -> bool:
        """Whether a request comes from no page, or from one that may use this server."""
        origin = request.header("origin")
        return not origin or origin == request.origin or origin in self._origins

    async def _ask_for_login(self, request: Request) -> Answer:
        answer = self._encode(request, {"status": None, "return": "Please log in"})
        answer.headers += [("WWW-Authenticate", "Session"), *_allow("GET, HEAD, POST")]
        return answer

    async def _log_in(self, request: Request) -> Answer:
        kind = choose_type(request.header("accept"))
        self.master.require_master()
        fields = self._read_login(request)
        token = await self._check_login(request, fields)
        if token is None:
            raise HttpError(401, WRONG_LOGIN)
        rights = self._list_rights(self._external_auth, token)
        session = self.sessions.open(
            token=str(token.token),
            user=str(token.name),
            eauth=str(token.eauth),
            start=float(self._clock() if token.start is None else token.start),
            expire=float(token.expire),
            rights=rights,
        )
        shown = {
            "token": session.id,
            "expire": session.expire,
            "start": session.start,
            "user": session.user,
            "eauth": session.eauth,
            "perms": rights or {},
        }
        return Answer(
            body=encode({"return": [shown]}, kind),
            headers=[
                ("Content-Type", kind),
                ("X-Auth-Token", session.id),
                ("Set-Cookie", self._cookie(request, session)),
                ("Cache-Control", "no-store"),
            ],
        )

    def _cookie(self, request: Request, session: Session | None) -> str:
        """The cookie of a session, or the one that ends it."""
        left_s = int(session.expire - self._clock()) if session else 0
        expires = email.utils.formatdate(session.expire if session else 0, usegmt=True)
        return make_cookie(
            session.id if session else "",
            expires=expires,
            max_age_s=max(0, left_s),
            secure=request.scheme == "https",
        )

    def _read_login(self, request: Request) -> Mapping[str, Any]:
        body = read_body(request.header("content-type"), request.body)
        if isinstance(body, list):
            body = body[0] if body else None
        if not isinstance(body, Mapping):
            raise HttpError(400, "Require username, password and eauth")
        return body

    async def _check_login(
        self, request: Request, fields: Mapping[str, object]
    ) -> LoginToken | None:
        """The token of a login; ``None`` if it is wrong, which is counted.

        A client that goes away does not get its place back before the master has answered.

        Raises:
            HttpError: 429, it comes too soon, or there are too many.
        """
        names = ("username", "password", "eauth")
        if not all(isinstance(fields.get(name), str) for name in names):
            return None
        user = str(fields["username"])
        if not valid_login_name(user):  # of megabytes, perhaps: it is not to be remembered
            self._check_pace(request.peer, "")
            self._note_login(request.peer, "", good=False)
            return None
        if not self._may_log_in_from(user, request.peer):
            return None
        login = asyncio.create_task(self._log_in_by_turns(request.peer, user, fields))
        self._login_tasks.add(login)
        login.add_done_callback(self._login_tasks.discard)
        try:
            return await asyncio.shield(login)
        except asyncio.CancelledError:
            login.add_done_callback(self._forget_login)
            raise

    async def _log_in_by_turns(
        self, address: str, user: str, fields: Mapping[str, object]
    ) -> LoginToken | None:
        async with self._logins.turn(address, user):
            self._check_pace(address, user)
            told = await self.master.make_token(fields)
            self._note_login(address, user, good=told is not None)
        return None if told is None else read_token(told)

    def _forget_login(self, done: asyncio.Task[LoginToken | None]) -> None:
        """Remove the token of a login that nobody waits for any more."""
        if done.cancelled() or done.exception() is not None:
            return
        token = done.result()
        if token is not None:
            removal = asyncio.create_task(self.master.remove_token(str(token.token)))
            self._login_tasks.add(removal)
            removal.add_done_callback(self._login_tasks.discard)

    def _check_pace(self, address: str, user: str) -> None:
        """Refuse a password that comes too soon after wrong ones.

        Raises:
            HttpError: 429, with the time to wait.
        """
        wait_s = self._guard.wait_s(address, user, self._clock())
        if wait_s > 0:
            raise too_many("Too many failed logins", wait_s)

    def _note_login(self, address: str, user: str, *, good: bool) -> None:
        if good:
            self._guard.note_success(address, user)
        else:
            self._guard.note_failure(address, user, self._clock())

    def _may_log_in_from(self, user: str, peer: str) -> bool:
        """What ``api_acl`` says: the addresses of the user, or those of everybody."""
        users = self.options.api_acl.get("users")
        if not isinstance(users, Mapping):
            return not self.options.api_acl
        allowed = users.get(user, users.get("*"))
        listed = [allowed] if isinstance(allowed, str) else allowed
        return isinstance(listed, list) and any(covers(str(one), peer) for one in listed)

    async def _log_out(self, request: Request) -> Answer:
        session = self.require_session(request)
        read_body(request.header("content-type"), request.body)
        kind = choose_type(request.header("accept"))
        self.sessions.end(session)
        self.end_streams(session.token)
        await self.master.remove_token(session.token)
        answer = Answer(body=encode({"return": LOGGED_OUT}, kind), headers=_private(kind))
        answer.headers.append(("Set-Cookie", self._cookie(request, None)))
        return answer

    # --- commands ------------------------------------------------------------------------

    async def _run_lowstate(self, request: Request) -> Answer:
        session = self.require_session(request)
        chunks = self._read_chunks(request)
        calls = read_calls(chunks, self._enabled)
        results = await self._run(session, calls, {"token": session.token})
        return self._encode(request, {"return": results}, private=True)

    async def _run_with_credentials(self, request: Request) -> Answer:
        chunks = [as_chunk(chunk) for chunk in self._read_chunks(request)]
        shown = [read_credentials(chunk) for chunk in chunks]
        calls = read_calls(chunks, self._enabled)
        results: list[Any] = []
        async with contextlib.AsyncExitStack() as stack:
            proven = await self._prove_all(request, shown, stack)
            await self._authorize_all(calls, proven)
            for call, credentials in zip(calls, proven, strict=True):
                async with self.slots.turn(_owner(credentials)):
                    results += await self._run_counted(request, call, credentials)
        return self._encode(request, {"return": results})

    async def _prove_all(
        self, request: Request, shown: Sequence[Credentials], stack: contextlib.AsyncExitStack
    ) -> list[Credentials]:
        """Who asks for each chunk, proven once: a password becomes a token, which ends with it.

        Raises:
            HttpError: 401, one of them is wrong; 429 or 400, there are too many.
        """
        different = {tuple(sorted(one.items())): one for one in shown}
        if sum("username" in one for one in different.values()) > limits.LOGINS_OF_REQUEST_MOST:
            raise HttpError(400, f"At most {limits.LOGINS_OF_REQUEST_MOST} logins in one request")
        proven: dict[Any, Credentials] = {}
        for key, credentials in different.items():
            proven[key] = await self._prove(request, credentials, stack)
        return [proven[tuple(sorted(one.items()))] for one in shown]

    async def _prove(
        self, request: Request, credentials: Credentials, stack: contextlib.AsyncExitStack
    ) -> Credentials:
        user = credentials.get("username")
        if user is None:
            return credentials
        if self.master.is_salts:  # real Salt cannot end a token; see _run_counted
            if not self._may_log_in_from(user, request.peer):
                raise HttpError(401, NOT_AUTHENTICATED)
            self._check_pace(request.peer, user)
            return credentials
        token = await self._check_login(request, credentials)
        if token is None:
            raise HttpError(401, NOT_AUTHENTICATED)
        stack.push_async_callback(self.master.remove_token, str(token.token))
        return {"token": str(token.token)}

    async def _authorize_all(self, calls: Sequence[Call], shown: Sequence[Credentials]) -> None:
        """Ensure that all calls are allowed to whoever asks for each.

        Raises:
            HttpError: 401, one of them is not.
        """
        if len(calls) < 2:
            return  # it is looked at when it runs, and there is nothing before it
        by_owner: dict[Any, list[int]] = {}
        for number, credentials in enumerate(shown):
            by_owner.setdefault(tuple(sorted(credentials.items())), []).append(number)
        for numbers in by_owner.values():
            await self.master.authorize([calls[one] for one in numbers], shown[numbers[0]])

    async def _run_counted(
        self, request: Request, call: Call, credentials: Credentials
    ) -> list[Any]:
        """One call; a password that goes to a real Salt master with it is counted as a login."""
        user = credentials.get("username")
        if user is None:
            return await self.master.run(call, credentials)
        with self._logins.place(request.peer):
            try:
                results = await self.master.run(call, credentials)
            except HttpError as error:
                if error.status == 401 and "uthenticat" in error.text:
                    self._note_login(request.peer, user, good=False)
                raise
        self._note_login(request.peer, user, good=True)
        return results

    async def _run(self, session: Session, calls: list[Call], shown: Credentials) -> list[Any]:
        await self._authorize_all(calls, [shown] * len(calls))
        results: list[Any] = []
        for call in calls:
            async with self.slots.turn(session):
                results += await self.master.run(call, shown)
        return results

    def _read_chunks(self, request: Request) -> list[Any]:
        choose_type(request.header("accept"))
        body = read_body(request.header("content-type"), request.body)
        return list(as_chunks(body))

    async def _make_tokens(self, request: Request) -> Answer:
        chunks = [as_chunk(chunk) for chunk in self._read_chunks(request)]
        names = ("username", "password", "eauth")
        for chunk in chunks:
            if not all(name in chunk for name in names):
                raise HttpError(400, 'Require "username", "password", and "eauth" params')
        if len(chunks) > limits.LOGINS_OF_REQUEST_MOST:
            raise HttpError(400, f"At most {limits.LOGINS_OF_REQUEST_MOST} logins in one request")
        tokens: list[dict[str, Any]] = []
        try:
            for chunk in chunks:
                tokens.append(await self._make_token(request, chunk))  # noqa: PERF401 - see below
        except BaseException:
            for one in tokens:  # nobody gets them
                await self.master.remove_token(one["token"])
            raise
        answer = self._encode(request, tokens)
        answer.headers.append(("Cache-Control", "no-store"))
        return answer

    async def _make_token(self, request: Request, chunk: Mapping[str, object]) -> dict[str, Any]:
        token = await self._check_login(request, chunk)
        if token is None:
            user = str(chunk["username"])[:80]
            raise HttpError(
                401, f'Authentication failure of type "eauth" occurred for user {user}.'
            )
        return {name: token.told[name] for name in _TOKEN_FIELDS if name in token.told}

    # --- minions, jobs, keys -------------------------------------------------------------

    async def _run_one(self, session: Session, **chunk: Any) -> Any:
        """One call of our own making, with the session's rights."""
        calls = read_calls([chunk], self._enabled)
        return (await self._run(session, calls, {"token": session.token}))[0]

    async def _show_minions(self, request: Request) -> Answer:
        session = self.require_session(request)
        tgt = _name_in(request, self._prefix) or "*"
        choose_type(request.header("accept"))
        grains = await self._run_one(session, client="local", tgt=tgt, fun="grains.items")
        return self._encode(request, {"return": [grains]}, private=True)

    async def _publish(self, request: Request) -> Answer:
        session = self.require_session(request)
        calls = read_calls(self._read_chunks(request), self._enabled, client="local_async")
        results = await self._run(session, calls, {"token": session.token})
        links = [{"href": f"/jobs/{one['jid']}"} for one in results if one]
        shown = {"return": results, "_links": {"jobs": links}}
        answer = self._encode(request, shown, private=True)
        answer.status = 202
        return answer

    async def _show_jobs(self, request: Request) -> Answer:
        session = self.require_session(request)
        jid = _name_in(request, self._prefix)
        choose_type(request.header("accept"))
        if not jid:
            jobs = await self._run_one(session, client="runner", fun="jobs.list_jobs")
            return self._encode(request, {"return": [jobs]}, private=True)
        if not valid_jid(jid):  # who may not look at jobs learns nothing about the form either
            await self._run_one(session, client="runner", fun="jobs.list_job", jid="0" * 20)
            info: Any = {"jid": jid, "Error": NO_SUCH_JOB, "StartTime": "", "Result": {}}
        else:
            found = await self._run_one(session, client="runner", fun="jobs.list_job", jid=jid)
            info = unpack_all(found)
        results = info.get("Result", {}) if isinstance(info, Mapping) else {}
        returns = {minion: _return_of(one) for minion, one in results.items()}
        return self._encode(request, {"info": [info], "return": [returns]}, private=True)

    async def _show_keys(self, request: Request) -> Answer:
        session = self._session_of(request)
        if session is None:
            raise HttpError(401, "No authentication credentials given")
        minion = _name_in(request, self._prefix)
        choose_type(request.header("accept"))
        chunk = {"fun": "key.finger", "match": minion} if minion else {"fun": "key.list_all"}
        answer = await self._run_one(session, client="wheel", **chunk)
        return self._encode(request, {"return": answer["data"]["return"]})

    async def _make_key(self, request: Request) -> Answer:
        body = read_body(request.header("content-type"), request.body)
        wanted = read_pair_request(body)
        credentials = read_credentials(wanted.credentials)
        check_client("wheel", self._enabled)
        call = RunCall(client="wheel", kind="wheel", fun="key.gen_accept", kwarg=wanted.arguments)
        async with contextlib.AsyncExitStack() as stack:
            proven = await self._prove(request, credentials, stack)
            async with self.slots.turn(_owner(proven)):
                pair = (await self._run_counted(request, call, proven))[0]["data"]["return"]
        return Answer(
            body=pack_pair(pair, int(self._clock())),
            headers=[
                ("Content-Type", "application/x-tar"),
                ("Content-Disposition", f'attachment; filename="saltkeys-{wanted.id}.tar"'),
                ("Cache-Control", "no-cache"),
            ],
        )

    # --- events --------------------------------------------------------------------------

    async def _stream_events(self, request: Request) -> Answer:
        if request.query and not self._query_token:
            raise HttpError(400, "This path takes no query; log in and send the session's cookie")
        session = await self._listener_session(request)
        self.master.require_master()
        stream = self.open_stream(session)
        return Answer(
            body=RETRY,
            headers=[
                ("Content-Type", "text/event-stream;charset=utf-8"),
                ("Cache-Control", "no-cache"),
                ("X-Accel-Buffering", "no"),
            ],
            stream=stream.blocks(),
        )

    async def _listener_session(self, request: Request) -> Session:
        """Whoever listens: by session, or by a token of the master in ``X-Auth-Token``."""
        header = request.header("x-auth-token") or self._token_in_query(request)
        if header and not is_session_id(header) and is_token(header):
            found = await self.master.look_up_token(header)
            if found is not None:
                return self._visitor(header, read_token(found))
        by_id = self.sessions.find(header, self._clock())
        session = by_id if header else self._session_of(request)
        if session is None or not self.is_own_origin(request):
            raise HttpError(401, NO_PERMISSION)
        return session

    def _token_in_query(self, request: Request) -> str:
        if not self._query_token:
            return ""
        values = parse_qs(request.query, max_num_fields=10)
        return next(iter([*values.get("token", []), *values.get("salt_token", [])]), "")

    def _visitor(self, token: str, found: LoginToken) -> Session:
        """A session of its own for a token, as long as the stream."""
        return Session(
            "",
            token,
            str(found.name),
            str(found.eauth),
            float(found.start or 0),
            float(found.expire),
            self._list_rights(self._external_auth, found),
        )

    def open_stream(self, session: Session) -> EventStream:
        """A stream of events for a session; it ends with it.

        Raises:
            HttpError: 401, the session has ended meanwhile; 503, there are too many.
        """
        if session.id and self.sessions.find(session.id, self._clock()) is not session:
            raise HttpError(401, NO_PERMISSION)
        user, own = (session.eauth, session.user), self._streams.get(session.token, set())
        if len(self.master.feed.streams) >= limits.STREAMS_MOST:
            raise HttpError(503, "Too many event streams are open")
        if self._streams_of_user[user] >= limits.STREAMS_OF_USER_MOST:
            raise HttpError(503, "Too many event streams of this user are open")
        if len(own) >= limits.STREAMS_OF_SESSION_MOST:
            raise HttpError(503, "Too many event streams of this session are open")

        def on_end() -> None:
            own.discard(stream)
            if not own:
                self._streams.pop(session.token, None)
            self._streams_of_user[user] -= 1
            if not self._streams_of_user[user]:
                del self._streams_of_user[user]
            if stream.end in session.watchers:
                session.watchers.remove(stream.end)

        heard = self._heard_by(session) if self._event_acl else None
        stream = EventStream(self.master.feed, on_end=on_end, heard_by=heard, expire=session.expire)
        self._streams.setdefault(session.token, own).add(stream)
        self._streams_of_user[user] += 1
        session.watchers.append(stream.end)
        return stream

    @contextlib.contextmanager
    def place_of_formatted_stream(self, session: Session) -> Iterator[None]:
        """Have one of the few streams for each of which the master's jobs are put together.

        Raises:
            HttpError: 503, there are too many.
        """
        user = (session.eauth, session.user)
        if (
            self._formatted.total() >= limits.FORMATTED_STREAMS_MOST
            or self._formatted[user] >= limits.FORMATTED_STREAMS_OF_USER_MOST
        ):
            raise HttpError(503, "Too many formatted event streams are open")
        self._formatted[user] += 1
        try:
            yield
        finally:
            self._formatted[user] -= 1
            if not self._formatted[user]:
                del self._formatted[user]

    def end_streams(self, token: str) -> None:
        """End the event streams that were opened by a token, or by its session."""
        for stream in list(self._streams.get(token, ())):
            stream.end()

    async def end_dead_streams(self) -> None:
        """End the event streams whose token the master does not know any more."""
        for token in list(self._streams):
            with contextlib.suppress(HttpError):  # the master is away: nobody is locked out
                if await self.master.look_up_token(token) is None:
                    self.end_streams(token)

    @staticmethod
    def _heard_by(session: Session) -> str | None:
        """With ``api_event_acl``, whose jobs alone are heard; ``None`` for all events."""
        full = {".*", "@runner", "@runners", "@events"}
        return (
            None
            if any(isinstance(one, str) and one in full for one in session.rights)
            else (session.user)
        )

    async def _refuse_plain_websocket(self, request: Request) -> Answer:
        self.require_session(request)
        raise HttpError(400, "This path takes websockets only")

    async def _fire_hook(self, request: Request) -> Answer:
        if self.options.webhook_disable_auth:
            self._check_open_hook(request)
        else:
            self.require_session(request)
        kind = choose_type(request.header("accept"))
        post = read_body(request.header("content-type"), request.body)
        data = {
            "body": request.body.decode("utf-8", "replace"),
            "post": {} if post is None else post,
            "headers": self._headers_to_show(request),
        }
        try:
            fired = self.master.fire(self._hook_tag(request), data)
        except WireError as error:
            raise HttpError(400, f"The event {error}") from None
        if not fired:
            raise HttpError(503, "The master takes no events now")
        return Answer(body=encode({"success": True}, kind), headers=_private(kind))

    def _check_open_hook(self, request: Request) -> None:
        if not self._hooks.allows(origin_of(request.peer), self._clock()):
            raise too_many(f"At most {limits.HOOKS_PER_S} events a second may be fired here")
        if len(request.body) > limits.HOOK_BYTES_MOST:
            raise HttpError(413, f"At most {limits.HOOK_BYTES_MOST} bytes are taken here")

    def _hook_tag(self, request: Request) -> str:
        hook = [part for part in self.options.webhook_url.split("/") if part]
        parts = self.below_prefix(request)[len(hook) :]
        tag = "/".join([HOOK_TAG, *parts])
        if len(tag) > HOOK_TAG_MOST or not all(map(_TAG_PART.fullmatch, parts)):
            raise HttpError(400, "A tag has 256 characters, each part of A-Za-z0-9._:@+-")
        return tag

    @staticmethod
    def _headers_to_show(request: Request) -> dict[str, str]:
        """The headers for the event, without what lets others in."""
        shown = {
            name.title(): value
            for name, value in request.headers.items()
            if name not in _HIDDEN_FROM_EVENTS
        }
        return {"Remote-Addr": request.peer, **shown}

    async def _show_stats(self, request: Request) -> Answer:
        if not self.options.stats_disable_auth:
            self.require_session(request)
        shown: dict[str, Any] = {}
        if self.options.collect_stats:
            counters = self.counters
            shown["saltlite"] = {
                "Start Time": counters.start,
                "Requests": counters.requests,
                "Bytes Written": counters.bytes,
                "Errors": counters.errors,
                "Sessions": len(self.sessions),
                "Event Listeners": len(self.master.feed.streams),
                "Running Commands": self.slots.running,
            }
        return self._encode(request, shown, private=True)

    def _encode(self, request: Request, value: object, *, private: bool = False) -> Answer:
        kind = choose_type(request.header("accept"))
        headers = _private(kind) if private else [("Content-Type", kind)]
        return Answer(body=encode(value, kind), headers=headers)


access = logging.getLogger("saltlite.api.access")
_TOKEN_FIELDS: Final = ("start", "expire", "name", "eauth", "token", "groups", "auth_list")


def _owner(credentials: Credentials) -> str:
    """Whose command a call with its own credentials is."""
    return credentials.get("token") or f"{credentials['eauth']} {credentials['username']}"


def _takes_name(route: str) -> bool:
    return route in ("minions", "jobs", "keys", "ws", "all_events", "events")


def _name_in(request: Request, prefix: list[str]) -> str:
    """What comes after the route: ``/minions/<id>``."""
    parts = request.parts[len(prefix) :]
    return parts[1] if len(parts) > 1 else ""


def _below(parts: list[str], mount: str) -> list[str] | None:
    """The rest of a path below a mount point, ``None`` if it is not below it."""
    mounted = [part for part in mount.split("/") if part]
    return parts[len(mounted) :] if mounted and parts[: len(mounted)] == mounted else None


def _no_such_path(request: Request) -> HttpError:
    return HttpError(404, f"The path '{request.path[:200]}' was not found.")


def _private(kind: str) -> list[tuple[str, str]]:
    return [("Content-Type", kind), ("Cache-Control", "private")]


def _allow(methods: str) -> list[tuple[str, str]]:
    return [("Allow", methods)]


def _accepts_gzip(request: Request) -> bool:
    wanted = request.header("accept-encoding").lower()
    return any(part.strip().partition(";")[0] == "gzip" for part in wanted.split(","))


def _return_of(one: object) -> Any:
    return one.get("return") if isinstance(one, Mapping) else one
