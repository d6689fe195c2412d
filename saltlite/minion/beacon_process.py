"""The process that runs beacons: the loop says which, and hears the events of each pass.

It lives until the loop closes the pipe, so that beacons keep what they need between two runs: an
inotify descriptor, a place in a log file. Whatever one beacon does, the next one runs; one that
takes too long is ended from outside, with this process.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from saltlite.context import BeaconContext, MinionContext
from saltlite.core.beacons import RUN_LIMIT_S, SLOW_S, BadBeacon, Beacon, Changes, read_beacon
from saltlite.core.dataclasses import dataclass
from saltlite.core.fields import read_fields
from saltlite.core.messages import TAG_LIMIT
from saltlite.errors import SaltliteError
from saltlite.loader import catalogue
from saltlite.loader.catalogue import BEACONS
from saltlite.minion.beacon_messages import BeaconSettings, CodeQuestion, PassOrder
from saltlite.minion.job import as_plain
from saltlite.minion.pipe import LoopGone, Pipe
from saltlite.process import set_title

log = logging.getLogger(__name__)

EVENTS_LIMIT: Final = 1000
"""So many events of one run go out; what gives more is cut."""

OURS_TO_KILL_S: Final = 15
"""So much later than the loop should, the kernel ends this process itself."""


SALTS_OTHERS: Final = frozenset(
    ("adb", "aix_account", "avahi_announce", "bonjour_announce", "glxinfo",
     "junos_rre_keys", "napalm", "proxy_example", "salt_proxy", "sensehat", "smartos_imgadm",
     "smartos_vmadm", "telegram_bot_msg", "twilio_txt_msg")
)  # fmt: skip
"""Beacons of Salt 3006 that are not here. Source: the files of its ``beacons``."""

NOT_HERE: Final = "It is one of Salt's that saltlite does not have."


class InvalidBeacon(SaltliteError):
    """A beacon cannot run as it is configured; the text is for the log."""


@dataclass(frozen=True, slots=True)
class Code:
    """The functions of one module of beacons, ours or a user's."""

    beacon: Callable[[BeaconContext, Beacon], Any]
    validate: Callable[[Beacon], Any] | None
    close: Callable[[BeaconContext, Beacon], Any] | None
    own_options: Sequence[str] = ()
    is_ours: bool = False


@dataclass(slots=True)
class _Loaded:
    """A beacon that is ready to run."""

    beacon: Beacon
    code: Code
    context: BeaconContext
    changes: Changes
    complaint: str = ""


def find_code(name: str, ctx: MinionContext) -> Code | None:
    """The module of that name: a user's comes first; ``None`` if there is none."""
    return _users_code(name, ctx) or _our_code(name)


def _our_code(name: str) -> Code | None:
    module = BEACONS.load(name)
    if module is None:
        return None
    run, validate = module.beacon, getattr(module, "validate", None)
    close = getattr(module, "close", None)
    return Code(
        # Ours have the context handed in; users' modules find it in their globals.
        beacon=lambda context, beacon: run(context, beacon.options),
        validate=None if validate is None else lambda beacon: validate(beacon.options),
        close=None if close is None else lambda context, beacon: close(context, beacon.options),
        own_options=getattr(module, "OWN_OPTIONS", ()),
        is_ours=True,
    )


def _users_code(name: str, ctx: MinionContext) -> Code | None:
    """A user's module, which is called as Salt does: with a list, and the name at its end."""
    if not catalogue.has_custom_code(ctx.config, BEACONS.name):
        return None
    from saltlite.loader.surroundings import surroundings

    source = surroundings(ctx).modules(BEACONS.name).source(name)
    run = source.functions.get("beacon") if source is not None else None
    # A file without a function ``beacon`` does not hide the built-in module of that name.
    if source is None or run is None:
        return None
    validate, close = source.functions.get("validate"), source.functions.get("close")
    return Code(
        beacon=lambda _context, beacon: run(_list_form(beacon)),
        validate=None if validate is None else lambda beacon: validate(_list_form(beacon)),
        close=None if close is None else lambda _context, beacon: close(_list_form(beacon)),
    )


def _forget_users_code(ctx: MinionContext) -> None:
    if catalogue.has_custom_code(ctx.config, BEACONS.name):
        from saltlite.loader.surroundings import surroundings

        surroundings(ctx).forget()


def _list_form(beacon: Beacon) -> list[dict[str, Any]]:
    # As Salt hands it over: without ``interval``, and without a part that held nothing else.
    data = [{k: v for k, v in part.items() if k != "interval"} for part in beacon.data]
    return [*filter(None, data), {"_beacon_name": beacon.name}]


def names_of(ctx: MinionContext) -> list[str]:
    """The names of all beacons there are, sorted."""
    found = set(BEACONS)
    if catalogue.has_custom_code(ctx.config, BEACONS.name):
        from saltlite.loader.surroundings import surroundings

        # Loads every file: what a module calls itself is known only then.
        found |= set(surroundings(ctx).modules(BEACONS.name).modules())
    return sorted(found)


def check(beacon: Beacon, ctx: MinionContext) -> Code:
    """The code of a beacon whose configuration is right.

    Raises:
        InvalidBeacon: it is not, or there is no such module.
    """
    code = find_code(beacon.module, ctx)
    if code is None:
        whose = f" {NOT_HERE}" if beacon.module in SALTS_OTHERS else ""
        raise InvalidBeacon(f'Beacon "{beacon.module}" is not available.{whose}')
    if code.validate is None:
        return code
    try:
        is_valid, text = code.validate(beacon)
    except Exception as error:  # a user's validate, or one of ours with odd data
        log.debug("beacon %s", beacon.name, exc_info=True)
        raise InvalidBeacon(f"its validate raised {type(error).__name__}: {error}") from error
    if not is_valid:
        raise InvalidBeacon(str(text))
    return code


class BeaconProcess:
    """The beacons of one process."""

    def __init__(self, pipe: Pipe, ctx: MinionContext, minion_id: str) -> None:
        self._pipe = pipe
        self._ctx = ctx
        self._minion_id = minion_id
        self._configured: Mapping[str, Mapping[str, Any]] = {}
        self._loaded: dict[str, _Loaded] = {}

    def run(self, settings: Mapping[str, object]) -> None:
        """Do what the loop says until it has gone."""
        # The first settings come with the task; a message has them only when they have changed.
        self._take_settings(read_fields(BeaconSettings, settings))
        set_title(_process_title(""))
        try:
            while True:
                self._serve_order(read_fields(PassOrder, self._pipe.receive()))
        except LoopGone:
            for name in list(self._loaded):
                self._close_beacon(name)

    def _serve_order(self, order: PassOrder) -> None:
        if order.reload:
            self._reload_code()
        if order.settings is not None:
            self._take_settings(read_fields(BeaconSettings, order.settings))
        # Beacons that pause while states are applied, or that move to a process of their own.
        for name in order.close:
            self._close_beacon(name)
        self._pipe.send({"op": "passed", **self._run_pass(order.run)})

    def _take_settings(self, settings: BeaconSettings) -> None:
        """Take a configuration; beacons that it has otherwise, or not at all, begin anew."""
        self._ctx.grains, self._ctx.pillar = settings.grains, settings.pillar
        before, self._configured = self._configured, settings.beacons
        for name in list(self._loaded):
            # Only these: one that is as before keeps its descriptors and its place in a file.
            if self._configured.get(name) != before.get(name):
                self._close_beacon(name)

    def _reload_code(self) -> None:
        """Have users' code read anew; beacons of ours that it does not replace go on."""
        self._ctx.functions.reload()
        _forget_users_code(self._ctx)
        for name, loaded in list(self._loaded.items()):
            module = loaded.beacon.module
            if not loaded.code.is_ours or _users_code(module, self._ctx) is not None:
                self._close_beacon(name)

    def _close_beacon(self, name: str) -> None:
        loaded = self._loaded.pop(name, None)
        if loaded is None or loaded.code.close is None:
            return
        try:
            loaded.code.close(loaded.context, loaded.beacon)
        except Exception:  # a plug-in: closing one beacon must not keep the others from running
            log.exception("beacon %s cannot be closed", name)

    # --- a pass --------------------------------------------------------------------------------

    def _run_pass(self, names: Sequence[str]) -> dict[str, Any]:
        """Run beacons, and say what came of it."""
        events: list[dict[str, Any]] = []
        slow, invalid, wrong = [], [], []
        for name in names:
            began_s = time.monotonic()
            try:
                with _at_work(name):
                    events += self._run_beacon(name)
            except InvalidBeacon as error:
                invalid.append(name)
                wrong.append(_say_invalid(name, error))
            if time.monotonic() - began_s >= SLOW_S:
                slow.append(name)
        found = {"events": events, "slow": slow, "invalid": invalid, "wrong": wrong}
        return {key: value for key, value in found.items() if value}

    def _run_beacon(self, name: str) -> list[dict[str, Any]]:
        """The events of one beacon, ready to be sent; raises InvalidBeacon."""
        loaded = self._ready_beacon(name)
        if loaded is None:
            return []
        try:
            found = list(loaded.code.beacon(loaded.context, loaded.beacon) or ())
        # SystemExit too: ``sys.exit`` in a user's beacon must not end the others of this process.
        except (Exception, SystemExit) as error:
            text = f"{type(error).__name__}: {error}"
            if text != loaded.complaint:  # one that fails in the same way at each run says so once
                log.error("beacon %s: %s", name, text, exc_info=log.isEnabledFor(logging.DEBUG))
            loaded.complaint = text
            return [
                self._make_event(loaded, "", {}) | {"error": str(error) or type(error).__name__}
            ]
        # More of one run than is kept for a master would push out all other events.
        if len(found) > EVENTS_LIMIT:
            log.error("beacon %s: %d events in one run are too many", name, len(found))
            del found[EVENTS_LIMIT:]
        maps = [event for each in found if (event := _read_event(name, each)) is not None]
        # After the events were made plain: what is compared is what would be sent.
        chosen = loaded.changes.choose(maps, time.monotonic())
        return [
            self._make_event(loaded, str(each.pop("tag", "")), self._with_id(each))
            for each in map(dict, chosen)
        ]

    def _make_event(self, loaded: _Loaded, tag: str, data: Mapping[str, object]) -> dict[str, Any]:
        """One event as it goes to the loop; one that fails has no data, not even our id."""
        named = f"salt/beacon/{self._minion_id}/{loaded.beacon.name}/{tag}"
        return {
            # A tag that is too long or does not print makes a master refuse the whole request.
            "tag": "".join(c if c.isprintable() else "?" for c in named)[:TAG_LIMIT].rstrip(),
            "data": dict(data),
            "beacon_name": loaded.beacon.module,
        }

    def _with_id(self, data: Mapping[str, object]) -> dict[str, Any]:
        return dict(data) if "id" in data else {**data, "id": self._minion_id}

    def _ready_beacon(self, name: str) -> _Loaded | None:
        """A beacon that may run; raises InvalidBeacon."""
        if name in self._loaded:
            return self._loaded[name]
        if name not in self._configured:
            return None
        data = self._configured[name]["data"]
        code, beacon = _prepare_beacon(name, data, self._ctx)
        changes = Changes.of(beacon, code.own_options)
        context = BeaconContext(self._ctx, name, time.monotonic)
        self._loaded[name] = _Loaded(beacon, code, context, changes)
        return self._loaded[name]


def _prepare_beacon(name: str, data: object, ctx: MinionContext) -> tuple[Code, Beacon]:
    """A beacon that may run, and its code; raises InvalidBeacon."""
    try:
        beacon = read_beacon(name, data)
        code = check(beacon, ctx)
        # Made again when the beacon is loaded; here only to find options of a wrong type.
        Changes.of(beacon, code.own_options)
    except BadBeacon as error:
        raise InvalidBeacon(str(error)) from error
    return code, beacon


def _say_invalid(name: str, error: InvalidBeacon) -> str:
    return f"Beacon {name} configuration invalid, not running. {error}"


@contextlib.contextmanager
def _at_work(name: str) -> Iterator[None]:
    """Show which beacon runs, and have the kernel end this process if it never comes back."""
    set_title(_process_title(name))
    # The loop kills earlier and can say which beacon it was; this is for a loop that has gone.
    signal.alarm(int(RUN_LIMIT_S) + OURS_TO_KILL_S)
    try:
        yield
    finally:
        signal.alarm(0)


def _read_event(name: str, found: object) -> dict[str, Any] | None:
    """What a beacon gave as a map that can be sent; ``None``, with a line, if it is none."""
    if not isinstance(found, Mapping):
        log.error("beacon %s: %.80r is no event: it must be a map", name, found)
        return None
    try:
        event: dict[str, Any] = as_plain(found)
    except SaltliteError as error:
        log.error("beacon %s: an event is left out: %s", name, error)
        return None
    return event


def _process_title(name: str) -> str:
    return f"salt-minion beacons: {name}"


def answer(question: Mapping[str, object], ctx: MinionContext) -> dict[str, Any]:
    """What ``manage_beacons`` asks of the code of beacons; see CodeAnswer."""
    asked = read_fields(CodeQuestion, question)
    if asked.func == "list_available":
        return {"names": names_of(ctx)}
    if asked.func == "check":
        return _check_all(asked.beacons, ctx)
    name = str(asked.name)
    try:
        code, _ = _prepare_beacon(name, asked.data, ctx)
    except InvalidBeacon as error:
        return {"valid": False, "text": str(error)}
    if code.validate is None:
        text = f"Beacon {name} does not have a validate function, skipping validation."
        return {"valid": True, "text": text}
    return {"valid": True, "text": "Valid beacon configuration"}


def _check_all(beacons: Mapping[str, Any], ctx: MinionContext) -> dict[str, Any]:
    """Which of the configured beacons cannot run, and a line about each."""
    checked = {name: _find_fault(name, entry["data"], ctx) for name, entry in beacons.items()}
    wrong = {name: error for name, error in checked.items() if error is not None}
    return {"invalid": list(wrong), "wrong": [_say_invalid(*each) for each in wrong.items()]}


def _find_fault(name: str, data: object, ctx: MinionContext) -> InvalidBeacon | None:
    try:
        _prepare_beacon(name, data, ctx)
    except InvalidBeacon as error:
        return error
    return None
