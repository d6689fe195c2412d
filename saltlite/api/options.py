"""The options of the HTTP server: the map ``rest_cherrypy``, checked and typed. Pure.

``rest_tornado`` is another name for it, with other names for some options. Source: docs/api.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from saltlite.config.schema import OptionSource, check, option, option_name
from saltlite.core import dataclasses
from saltlite.core.dataclasses import dataclass
from saltlite.errors import ConfigError

if TYPE_CHECKING:
    from saltlite.config.master import MasterConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """What ``rest_cherrypy`` may hold."""

    port: int = option(0, "Where to listen; without it there is no server.", maximum=65535)
    host: str = option("0.0.0.0", "The address to listen on.")  # noqa: S104 - Salt's default
    ssl_crt: str | None = option(None, "The certificate, PEM.")
    ssl_key: str | None = option(None, "Its private key, PEM.")
    ssl_chain: str | None = option(None, "Certificates between it and a root, PEM.")
    disable_ssl: bool = option(False, "Speak plain HTTP.")
    app: str | None = option(None, "A page that browsers get on every path.")
    app_path: str = option("/app", "Where that page is in any case.")
    static: str | None = option(None, "A directory of files.")
    static_path: str = option("/static", "Where these files are.")
    favicon: str | None = option(None, "The file for `/favicon.ico`.")
    root_prefix: str = option("/", "What all paths begin with.")
    webhook_url: str = option("/hook", "Where events can be fired.")
    webhook_disable_auth: bool = option(False, "Let anybody fire events there.")
    thread_pool: int = option(100, "Commands that run at once.", minimum=1, maximum=10000)
    queue_size: int = option(30, "Connections that wait to be accepted.", minimum=1, maximum=4096)
    max_request_body_size: int = option(
        1048576, "The largest body.", unit="bytes", minimum=1024, maximum=67108864
    )
    collect_stats: bool = option(False, "Count requests for `/stats`.")
    stats_disable_auth: bool = option(False, "Show `/stats` to anybody.")
    authorized_ips: Sequence[str] | None = option(None, "Addresses that may connect; others 403.")
    api_acl: Mapping[str, Any] = option({}, "`users:` name → addresses it may log in from.")
    enable_sessions: bool = option(True, "Off: no `/login`, `/logout`, `/minions`, `/jobs`.")
    cors_origin: str | Sequence[str] = option([], "Origins whose pages may use this server.")
    trusted_proxies: Sequence[str] = option([], "Addresses whose `X-Forwarded-For` counts.")
    log_access_file: str = option("", "Where requests are logged.")
    log_error_file: str = option("", "Accepted, no effect: errors are in the log file.")
    expire_responses: bool = option(True, "Accepted, no effect.")
    debug: bool = option(False, "Accepted, no effect: no trace ever goes over HTTP.")
    websockets: bool = option(True, "Accepted, no effect: they are always there.")


_TORNADO_NAMES: Final = {"address": "host", "backlog": "queue_size"}


def read_server_options(config: MasterConfig) -> ServerOptions:
    """The options of the server, from whichever of the two sections there is.

    Raises:
        ConfigError: one of them has a value that it cannot have; the error names it.
    """
    section = "rest_cherrypy" if config.api.rest_cherrypy else "rest_tornado"
    given = dict(config.api.rest_cherrypy or config.api.rest_tornado)
    source = config.source.get(section, OptionSource("the configuration"))
    for theirs, ours in _TORNADO_NAMES.items():
        if section == "rest_tornado" and theirs in given:
            given[ours] = given.pop(theirs)
    fields = {option_name(field): field for field in dataclasses.fields(ServerOptions)}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in fields:
            _refuse_unknown(section, str(name), fields, source)
            continue
        try:
            values[name] = check(fields[name], value, source)
        except ConfigError as error:
            raise ConfigError(
                error.problem, path=error.path, line=error.line, option=f"{section}: {name}"
            ) from error
    return ServerOptions(**values)


def _refuse_unknown(
    section: str, name: str, fields: Mapping[str, object], source: OptionSource
) -> None:
    """Warn of an option that nobody knows: Salt's CherryPy takes dozens more."""
    import logging

    known = ", ".join(sorted(fields))
    logging.getLogger(__name__).warning(
        "%s: %s: %s is not an option of the server; there are %s", source, section, name, known
    )


def allowed_origins(options: ServerOptions) -> tuple[str, ...]:
    """``cors_origin`` as a list."""
    origins = options.cors_origin
    listed = [origins] if isinstance(origins, str) else list(origins)
    return tuple(one.rstrip("/") for one in listed if one)
