"""From files, environment and command line to a checked MasterConfig or MinionConfig.

Called by commands and daemons at their start. Reads files and writes none, except for the id that a
minion found out. Later wins: defaults, main file, ``default_include``, ``include``, ``~/.saltrc``
(client commands), command line. Source: docs/config.md.
"""

from __future__ import annotations

import logging
import os
import pwd
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from saltlite.config import paths
from saltlite.config.files import (
    Includes,
    Origins,
    RawSetting,
    Settings,
    find_paths,
    patterns_of,
    read_file,
)
from saltlite.config.schema import OptionSource, check, default_of, option_name, options
from saltlite.core import dataclasses
from saltlite.core.dataclasses import dataclass
from saltlite.errors import ConfigError, StoreError, UntrustedFile, WrongType

if TYPE_CHECKING:  # each costs milliseconds, and a command needs one of them
    from saltlite.config.master import MasterConfig
    from saltlite.config.minion import MinionConfig

log = logging.getLogger(__name__)

NONE: Mapping[str, Any] = MappingProxyType({})
COMMAND_LINE = OptionSource("command line")

BACKENDS = {"git": "gitfs", "hg": "hgfs", "svn": "svnfs", "minion": "minionfs"}
"""Short names in ``fileserver_backend``."""


def load_master(
    config_dir: Path | str | None = None,
    overrides: Mapping[str, object] = NONE,
    *,
    environ: Mapping[str, str] | None = None,
    client: bool = False,
    daemon: bool = False,
) -> MasterConfig:
    """The master's configuration.

    ``overrides`` are options from the command line. ``config_dir`` may also be the file itself;
    ``None`` means ``SALT_CONFIG_DIR``, else ``/etc/salt``. A ``client`` command also reads
    ``~/.saltrc``. A ``daemon`` also names files that a group may write.

    Raises:
        ConfigError: the first thing that is wrong, in one line with file, line and option.
    """
    from saltlite.config.master import SECTIONS, MasterConfig

    environ = os.environ if environ is None else environ
    found = _gather_files("master", config_dir, environ)
    if client:
        found.settings.update(_client_settings(environ))
    found.override(overrides)
    if daemon:
        found.warn_of_groups()
    schema = _Schema("master", SECTIONS)
    values, extra = schema.check_settings(found.settings)
    _prefer_hours(values)
    if not values.get("id"):
        values["id"] = f"{os.uname().nodename}_master"
    _finish_options(values, schema, found)
    sections = schema.sections(values)
    return MasterConfig(**sections, extra=extra, source=found.sources())


def load_minion(
    config_dir: Path | str | None = None,
    overrides: Mapping[str, object] = NONE,
    *,
    environ: Mapping[str, str] | None = None,
    cache_id: bool = True,
    daemon: bool = False,
) -> MinionConfig:
    """The minion's configuration, its id found out if none is set; see :func:`load_master`.

    ``cache_id`` off keeps an id that was found out from being written to ``minion_id``.
    """
    from saltlite.config import identity
    from saltlite.config.minion import SECTIONS, MinionConfig

    environ = os.environ if environ is None else environ
    found = _gather_files("minion", config_dir, environ)
    found.override(overrides)
    if daemon:
        found.warn_of_groups()
    _rename_environment(found.settings)
    _forget_odd_grains(found.settings)
    schema = _Schema("minion", SECTIONS)
    values, extra = schema.check_settings(found.settings)
    _finish_options(values, schema, found)
    wishes = identity.Wishes(**{name: values[name] for name in identity.OPTIONS if name in values})
    values["id"], was_found_out = identity.minion_id(wishes, Path(values["root_dir"]))
    _check_id(values["id"], found.settings)
    if was_found_out:
        _warn_of_shared_id(values["id"])
    paths.add_minion_id(values, values["id"])
    config = MinionConfig(**schema.sections(values), extra=extra, source=found.sources())
    if was_found_out and cache_id and config.identity.minion_id_caching:
        _keep_id(wishes, values)
    return config


def _warn_of_shared_id(minion_id: str) -> None:
    """Say that this machine has no name of its own: every other one without has the same id."""
    if minion_id == "localhost":
        log.warning(
            "No name of this machine was found: its id is localhost, as that of any other without "
            "a name. Set id in the minion's configuration, or the machine's host name"
        )


def load_over(config: MinionConfig, path: str, *, without: Collection[str] = ()) -> MinionConfig:
    """The configuration of a minion that runs, with the options of another file lying over it.

    A value takes the place of the whole of another. ``without`` names options that do not count.
    The file includes others as the minion's own does; ``conf_file`` stays. Paths in it lie below
    ``root_dir``. Source: ``localconfig`` of Salt 3006.30, observed.

    Raises:
        ConfigError: the file is not there, or another user could have written it or one that it
            includes; or something is wrong in it.
    """
    from saltlite.config.minion import SECTIONS, MinionConfig
    from saltlite.config.opts import flat_opts

    path = os.path.realpath(os.path.expanduser(path))
    _check_origin(path)
    found = _read_main(path, config.paths.default_include)
    for each in {setting.source.path for setting in found.settings.values()}:
        _check_origin(each)
    for name in without:
        found.settings.pop(name, None)
    _rename_environment(found.settings)
    _forget_odd_grains(found.settings)
    schema = _Schema("minion", SECTIONS)
    values, extra = schema.check_settings(found.settings)
    if "id" in values:
        _check_id(values["id"], found.settings)
    _expand_options(values)
    root = os.path.abspath(os.path.expanduser(values.get("root_dir") or config.paths.root_dir))
    for name in schema.list_rooted_options().keys() & values.keys():
        values[name] = paths.put_below_root(values[name], root)
    known = schema.pick_known(flat_opts(config))
    return MinionConfig(
        **schema.sections({**known, **values}),
        extra={**config.extra, **extra},
        source={**config.source, **found.sources()},
    )


def _check_origin(path: str) -> None:
    from saltlite.disk import check_origin  # a start needs it not

    try:
        check_origin(path)
    except OSError as error:
        raise ConfigError(f"is not used: {error.strerror or error}", path=path) from error


def _keep_id(wishes: Any, values: Mapping[str, Any]) -> None:
    from saltlite.config import identity

    try:
        identity.cache(Path(values["root_dir"]), wishes, values["id"])
    except StoreError as error:
        log.debug("The minion id is not kept: %s", error)


# --- finding and reading -------------------------------------------------------------------------


@dataclass(slots=True)
class _Found:
    """What was read, before it is checked."""

    path: str
    settings: Settings
    origins: Origins

    def override(self, values: Mapping[str, object]) -> None:
        for name, value in values.items():
            self.settings[name] = RawSetting(value, COMMAND_LINE)
        user = self.settings.get("user")
        self.origins.refuse_strangers(user.value if user else None)

    def warn_of_groups(self) -> None:
        """Name in one line what members of groups may change."""
        user = self.settings.get("user")
        found = self.origins.open_to_groups(user.value if user else None)
        if found:
            log.warning(
                "Whoever is in a group that may write the configuration decides what this daemon "
                "does; chmod g-w if that is not meant: %s",
                ", ".join(found),
            )

    def sources(self) -> dict[str, OptionSource]:
        return {name: setting.source for name, setting in self.settings.items()}


def config_file(name: str, config_dir: Path | str | None, environ: Mapping[str, str]) -> str:
    """The path of the main file, whether it is there or not.

    ``name`` is ``master`` or ``minion``. The environment's ``SALT_<NAME>_CONFIG`` counts only where
    no directory was given, and only if it is a file.
    """
    given = str(config_dir) if config_dir is not None else environ.get("SALT_CONFIG_DIR", "")
    directory = absolute(given or paths.DEFAULT_DIR)
    named = environ.get(f"SALT_{name.upper()}_CONFIG", "")
    if config_dir is None and directory == paths.DEFAULT_DIR and os.path.isfile(named):
        return absolute(named)
    if os.path.isfile(directory):
        directory = os.path.dirname(directory)
    if given and not os.path.isdir(directory):
        log.info("The directory %s does not exist", directory)  # commands say so themselves
    return os.path.join(directory, name)


def absolute(path: str) -> str:
    """The path in full, ``~`` expanded.

    Raises:
        ConfigError: it is relative, and the working directory is gone.
    """
    try:
        return os.path.abspath(os.path.expanduser(path))
    except OSError as error:
        raise ConfigError(
            f"is relative to a working directory that is not there: {error.strerror}", path=path
        ) from error


def _client_settings(environ: Mapping[str, str]) -> Settings:
    """What ``SALT_CLIENT_CONFIG`` or ``~/.saltrc`` says.

    Under ``sudo`` the home directory may be another user's: their file does not count.
    """
    named = environ.get("SALT_CLIENT_CONFIG", "")
    if os.path.isfile(named):
        return read_file(named) or {}
    try:
        home = environ.get("HOME") or os.path.expanduser("~")
        return read_file(os.path.join(home, ".saltrc")) or {}
    except UntrustedFile as error:
        log.warning("Not used: %s", error)
        return {}


def _gather_files(name: str, config_dir: Path | str | None, environ: Mapping[str, str]) -> _Found:
    """The main file and all that it includes; a missing main file counts as an empty one."""
    return _read_main(config_file(name, config_dir, environ), f"{name}.d/*.conf")


def _read_main(path: str, default_include: str) -> _Found:
    log.debug("Reading configuration from %s", path)
    origins = Origins()
    settings = read_file(path, origins)
    if settings is None:
        settings = _from_template(path, origins)
    include = settings.pop("include", None)
    default = settings.get("default_include")
    pattern = default_include if default is None else str(default.value or "")
    for patterns, silent in (
        ([pattern] if pattern else [], True),
        (patterns_of(include) if include else [], False),
    ):
        _include_files(_Found(path, settings, origins), patterns, silent=silent)
    return _Found(path, settings, origins)


def _from_template(path: str, origins: Origins) -> Settings:
    template = read_file(path + ".template", origins)
    if template is None:
        log.debug("There is no %s; defaults are used", path)
        return {}
    return template


def _include_files(found: _Found, patterns: Iterable[str], *, silent: bool) -> None:
    """One pass; against the main file each key of it replaces the whole value."""
    included = Includes(found.path, found.origins)
    included.add(patterns)
    for pattern in [] if silent else included.unmatched:
        log.warning("No file matches the include %s", pattern)
    found.settings.update(included.settings)


# --- checking ------------------------------------------------------------------------------------


class _Schema:
    """The options of one role by name."""

    def __init__(self, role: str, sections: Mapping[str, type[Any]]) -> None:
        self._role = role
        self._sections = sections
        self._places: dict[str, tuple[str, dataclasses.Field[Any]]] = {
            option_name(field): (section, field)
            for section, declared in sections.items()
            for field in options(declared)
        }

    def check_settings(self, settings: Settings) -> tuple[dict[str, Any], dict[str, Any]]:
        """The known options, checked, and the unknown ones as they are."""
        values: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        strict = self._is_strict(settings)
        for name, setting in list(settings.items()):
            place = self._places.get(name)
            if place is None:
                extra[name] = setting.value
                continue
            try:
                values[name] = check(place[1], setting.value, setting.source)
            except WrongType as error:
                if strict or _must_be_right(name, place[0], setting):
                    raise
                log.warning("%s; the default is used", error)
                del settings[name]
        if extra:
            self._look_for_typos(extra, settings, strict=strict)
        return values, extra

    def _is_strict(self, settings: Settings) -> bool:
        given = settings.get("strict_config")
        if given is None:
            return False
        return bool(check(self._places["strict_config"][1], given.value, given.source))

    def list_rooted_options(self) -> dict[str, str | None]:
        """The rooted options with their defaults."""
        return {
            name: default_of(field)
            for name, (_, field) in self._places.items()
            if field.metadata["rooted"]
        }

    def pick_known(self, values: Mapping[str, object]) -> dict[str, Any]:
        """Those of the values that are of known options."""
        return {name: value for name, value in values.items() if name in self._places}

    def default(self, name: str) -> Any:
        """A fresh copy of an option's default."""
        return default_of(self._places[name][1])

    def sections(self, values: Mapping[str, object]) -> dict[str, Any]:
        """The sections, made."""
        given: dict[str, dict[str, Any]] = {section: {} for section in self._sections}
        for name, value in values.items():
            section, field = self._places[name]
            given[section][field.name] = value
        return {name: made(**given[name]) for name, made in self._sections.items()}

    def _look_for_typos(
        self, extra: Mapping[str, object], settings: Settings, *, strict: bool
    ) -> None:
        from saltlite.config.known import nearest  # most files need it not

        for name in extra:
            near = nearest(name, self._places)
            if near is None:
                continue
            error = ConfigError(
                f"no such option; did you mean {near}?",
                path=settings[name].source.path,
                line=settings[name].source.line,
                option=name,
            )
            if strict:
                raise error
            log.warning("%s", error)


_EXACT_SECTIONS = frozenset({"keys", "access", "auth", "paths", "identity"})
_EXACT = frozenset(
    (
        "cmd_blacklist_glob", "cmd_safe", "cmd_whitelist_glob", "disable_modules",
        "disable_returners", "ext_pillar", "file_client", "file_ignore_glob", "file_ignore_regex",
        "file_recv", "file_recv_max_size", "file_roots", "fileserver_backend",
        "fileserver_followsymlinks", "fileserver_ignoresymlinks", "interface",
        "jinja_time_limit", "master", "on_demand_ext_pillar", "pillar_roots",
        "renderer_blacklist", "renderer_whitelist", "strict_config", "sudo_user", "user",
        "whitelist_modules",
    )
)  # fmt: skip
"""Options whose default may open what somebody meant to close, or serve what nobody meant."""


def _must_be_right(name: str, section: str, setting: RawSetting) -> bool:
    """Whether a value of a wrong type is no reason to go on with the default."""
    return section in _EXACT_SECTIONS or name in _EXACT or setting.source == COMMAND_LINE


# --- values that follow from others --------------------------------------------------------------


def _finish_options(values: dict[str, Any], schema: _Schema, found: _Found) -> None:
    """Apply what Salt applies to options after reading them."""
    values["conf_file"] = found.path
    if not values.get("user"):
        values["user"] = _current_user()
    _expand_options(values)
    values["root_dir"] = absolute(values.get("root_dir") or "/")
    paths.place(values, schema.list_rooted_options())


def _expand_options(values: dict[str, Any]) -> None:
    """Short names of back ends, and patterns among the roots."""
    if "fileserver_backend" in values:
        values["fileserver_backend"] = [
            BACKENDS.get(name, name) for name in values["fileserver_backend"]
        ]
    for name in ("file_roots", "pillar_roots"):
        if name in values:
            values[name] = {env: _expand_globs(dirs) for env, dirs in values[name].items()}


def _expand_globs(directories: Iterable[str]) -> list[str]:
    """``/srv/formulas/*`` is every directory there; a pattern without a match stays."""
    all_dirs: list[str] = []
    for directory in directories:
        all_dirs.extend(find_paths(directory) or [directory])
    return all_dirs


def _current_user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container without an entry for its user
        return str(os.geteuid())


def _prefer_hours(values: dict[str, Any]) -> None:
    """``keep_jobs`` is in hours and older; the newer name wins where both are set."""
    if "keep_jobs" in values and "keep_jobs_seconds" not in values:
        values["keep_jobs_seconds"] = values["keep_jobs"] * 3600


def _rename_environment(settings: Settings) -> None:
    old = settings.pop("environment", None)
    if old is None:
        return
    log.warning("%s: environment: this option is called saltenv now", old.source)
    settings.setdefault("saltenv", old)


def _forget_odd_grains(settings: Settings) -> None:
    """``grains`` without a map: no reason for a minion not to start. Source: Salt 3006.30."""
    odd = settings.get("grains")
    if odd is not None and odd.value is not None and not isinstance(odd.value, dict):
        del settings["grains"]
        log.warning("%s: grains: is no map, and not used", odd.source)


def _check_id(minion_id: str, settings: Settings) -> None:
    from saltlite.core.ids import valid_minion_id

    if valid_minion_id(minion_id):
        return
    source = settings["id"].source if "id" in settings else OptionSource("minion_id")
    raise ConfigError(
        f"found {minion_id!r}, allowed: letters, digits and . _ - : @ +, at most 253 of them",
        path=source.path,
        line=source.line,
        option="id",
    )
