"""The process: sockets, signals, chores. ``run`` is its whole life.

Source: docs/api.md; docs/architecture.md, "Processes".
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import logging.handlers
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tornado.netutil import bind_sockets

from saltlite import process
from saltlite.api import limits
from saltlite.api.app import App, access
from saltlite.api.clients import MasterClient
from saltlite.api.options import ServerOptions, read_server_options
from saltlite.api.server import ApiServer
from saltlite.api.tls import Certificates
from saltlite.errors import ConfigError, SaltliteError, StoreError
from saltlite.version import __version__

if TYPE_CHECKING:
    from saltlite.api.app import Lister
    from saltlite.client.collect import ReturnStore
    from saltlite.config.master import MasterConfig

log = logging.getLogger(__name__)

UMASK: Final = 0o077
SWEEP_S: Final = 1.0
CERTIFICATES_S: Final = 10.0
RELEASE_S: Final = 30.0
"""How often memory is given back that requests have left; it takes a few milliseconds."""

TOKENS_S: Final = 60.0
"""How long an event stream may outlive its token, where that was not ended by its own session."""

DRAIN_S: Final = 5.0


class Api:
    """salt-api. ``reload`` opens the logs anew, on SIGHUP."""

    def __init__(
        self,
        config: MasterConfig,
        *,
        list_rights: Lister,
        store: Callable[[], ReturnStore] | None = None,
        reload: Callable[[], None] = lambda: None,
    ) -> None:
        self._config = config
        self._list_rights = list_rights
        self._store = store
        self._reload = reload
        self._options = read_server_options(config)
        self._certificates: Certificates | None = None

    def run(self) -> int:
        """Serve until SIGTERM.

        Raises:
            SaltliteError: it cannot start; the text is the one line for the user.
        """
        os.umask(UMASK)
        process.limit_heap()
        process.set_title("salt-api")
        check_options(self._options)
        if not self._options.disable_ssl:
            self._certificates = Certificates(self._options)
        sockets = listen(self._options)
        self._become_user()
        self._log_accesses()
        self._write_pid_file()
        try:
            asyncio.run(self._serve(sockets))
        finally:
            process.remove_pid_file(Path(self._config.api.api_pidfile))
        log.info("salt-api has ended")
        return 0

    def _become_user(self) -> None:
        from saltlite.client.identity import process_user

        name = self._config.process.user
        if name and os.geteuid() == 0 and name != process_user():
            process.become_user(name)

    def _write_pid_file(self) -> None:
        """Tell where this process is; a user of its own may have no right to, and systemd knows."""
        try:
            process.write_pid_file(Path(self._config.api.api_pidfile))
        except StoreError as error:
            log.warning("%s (api_pidfile)", error)

    def _log_accesses(self) -> None:
        """Send the lines about requests to a file of their own, if there is to be one."""
        if not self._options.log_access_file:
            return
        handler = logging.handlers.WatchedFileHandler(self._options.log_access_file)
        handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
        access.addHandler(handler)
        access.setLevel(logging.INFO)
        access.propagate = False

    async def _serve(self, sockets: list[socket.socket]) -> None:
        master = MasterClient(self._config, store=self._store)
        app = self._make_app(master)
        server = ApiServer(
            app,
            ssl_options=self._certificates.context if self._certificates else None,
            connections_most=find_connections_most(),
        )
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._on_hangup)
        master.open()
        server.add_sockets(sockets)
        self._say_ready()
        chores = [
            asyncio.create_task(self._do_chores(app, server)),
            asyncio.create_task(self._watch_tokens(app)),
        ]
        try:
            await stop.wait()
        finally:
            for chore in chores:
                chore.cancel()
            await self._end(server, master)

    def _make_app(self, master: MasterClient) -> App:
        api = self._config.api
        return App(
            self._options,
            list(api.netapi_enable_clients),
            master,
            list_rights=self._list_rights,
            external_auth=self._config.access.external_auth,
            event_acl=api.api_event_acl,
            query_token=api.api_events_query_token,
        )

    def _say_ready(self) -> None:
        scheme = "http" if self._options.disable_ssl else "https"
        address = f"{scheme}://{self._options.host}:{self._options.port}"
        log.info("salt-api %s is ready on %s", __version__, address)
        process.notify("READY=1")

    async def _end(self, server: ApiServer, master: MasterClient) -> None:
        """Take no more connections; what is under way has a moment."""
        server.stop()
        for stream in list(master.feed.streams):
            stream.end()
        tasks = list(server.gateway.tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=DRAIN_S)
        await server.close_all_connections()
        master.close()

    async def _do_chores(self, app: App, server: ApiServer) -> None:
        seconds = 0.0
        served = 0
        while True:
            await asyncio.sleep(SWEEP_S)
            seconds += SWEEP_S
            server.sweep()
            app.master.feed.follow_master()
            app.sessions.end_expired(app.now())
            if self._certificates is not None and seconds % CERTIFICATES_S < SWEEP_S:
                self._certificates.reload_if_changed()
            if seconds % RELEASE_S < SWEEP_S and served != app.counters.requests:
                served = app.counters.requests
                process.release_memory()

    async def _watch_tokens(self, app: App) -> None:
        while True:
            await asyncio.sleep(TOKENS_S)
            await app.end_dead_streams()

    def _on_hangup(self) -> None:
        self._reload()
        if self._certificates is not None:
            self._certificates.reload_if_changed(always=True)


def check_options(options: ServerOptions) -> None:
    """Warn of what lets strangers in; refuse what cannot work.

    Raises:
        ConfigError: there is no port, or a file of the options is not there.
    """
    if not options.port:
        raise ConfigError(
            "not set; salt-api has nothing to listen on. Set for example: rest_cherrypy: "
            "{port: 8000, host: 127.0.0.1, disable_ssl: True}",
            option="rest_cherrypy: port",
        )
    for name, path in (("app", options.app), ("favicon", options.favicon)):
        if path and not os.path.isfile(path):
            raise ConfigError(f"there is no file {path}", option=f"rest_cherrypy: {name}")
    if options.static and not os.path.isdir(options.static):
        raise ConfigError(f"there is no directory {options.static}", option="rest_cherrypy: static")
    if options.disable_ssl and not _is_loopback(options.host):
        log.warning("Passwords travel in the clear: disable_ssl is on, and the host is not local")
    if options.webhook_disable_auth:
        log.warning("Anybody may fire events at %s: webhook_disable_auth", options.webhook_url)


def find_connections_most() -> int:
    """How many connections there may be: fewer than wanted where descriptors are short."""
    wanted = limits.CONNECTIONS_MOST + limits.OTHER_FILES_MOST
    allowed = process.raise_file_limit(wanted)
    if allowed < wanted:
        log.warning("%d descriptors are allowed, %d are wanted; see LimitNOFILE", allowed, wanted)
    return max(1, min(allowed, wanted) - limits.OTHER_FILES_MOST)


def listen(options: ServerOptions) -> list[socket.socket]:
    """The sockets that are listened on.

    Raises:
        SaltliteError: the address cannot be had.
    """
    backlog = max(options.queue_size, limits.CONNECTIONS_WAITING_LEAST)
    try:
        return bind_sockets(options.port, options.host, backlog=backlog)
    except OSError as error:
        where = f"{options.host}:{options.port}"
        raise SaltliteError(f"cannot listen on {where}: {error.strerror or error}") from error


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
