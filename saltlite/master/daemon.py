"""Master: checks that it can run, makes what its processes share, and watches over them.

The parent binds nothing and parses nothing that comes from outside. Source:
docs/reliability.md#processes-die, #start-stop-configuration.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import pwd
import socket
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Final

import zmq

from saltlite import disk, process
from saltlite.config.master import EventOptions, MasterConfig
from saltlite.core.jid import latest_stored, latest_usable
from saltlite.crypto.cipher import new_key_string
from saltlite.crypto.keys import PrivateKey
from saltlite.errors import ConfigError, NoSuchUser, StoreError
from saltlite.jobs.marks import Marks
from saltlite.jobs.stored import OWN
from saltlite.master import noncefile
from saltlite.master.acl import Access, process_user, write_keys
from saltlite.master.acl_files import let_through, user_ids
from saltlite.master.child import Life
from saltlite.master.context import Shared, make_context
from saltlite.master.dispatch import Dispatcher
from saltlite.master.embedded import make_jid_source, open_stores
from saltlite.master.eventpublisher import EventPublisher
from saltlite.master.eventqueue import WINDOW
from saltlite.master.job_mirror import event_returners
from saltlite.master.keystore import load_or_make_key
from saltlite.master.maintenance import Maintenance
from saltlite.master.mworker import MWorker
from saltlite.master.publisher import Publisher
from saltlite.master.rehearsal import rehearse
from saltlite.master.reqserver import ReqServer
from saltlite.master.runs import Execute, RunServer
from saltlite.master.stores import JobFinder
from saltlite.master.supervisor import ChildSpec, Supervisor
from saltlite.pillar.precompiled import precompile_pillar
from saltlite.transport.addresses import MasterSockets, ipc
from saltlite.transport.bus import EventPusher
from saltlite.version import __version__

if TYPE_CHECKING:
    from saltlite.master.engine import OpenContext
    from saltlite.master.reactor import MakeRenderer

log = logging.getLogger(__name__)

UMASK: Final = 0o077
LOCK_FILE: Final = ".master.lock"
WORKERS_GRACE_S: Final = 10.0
# A second more than ReqServer takes to answer what is in its line (reqserver.DRAIN_S).
REQSERVER_GRACE_S: Final = 11.0
RUNS_GRACE_S: Final = 5.0
# More than EventPublisher's QUEUE_S, after which it gives up what waits for EventReturn.
EVENTS_GRACE_S: Final = 10.0


class Master:
    """The daemon. ``run`` is its whole life; the exit code is its value.

    ``reload`` re-opens the logs; it is called on SIGHUP, in every process. ``execute`` runs one
    runner or wheel function, ``make_renderer`` what renders the files of reactions, both in a
    process of its own; ``engine_context`` opens what an engine gets.
    """

    def __init__(
        self,
        config: MasterConfig,
        *,
        execute: Execute,
        make_renderer: MakeRenderer,
        engine_context: OpenContext,
        reload: Callable[[], None] = lambda: None,
    ) -> None:
        self._config = config
        self._execute = execute
        self._make_renderer = make_renderer
        self._engine_context = engine_context
        self._reload = reload
        self._lock_fd = -1

    def run(self) -> int:
        """Serve until SIGTERM.

        Raises:
            SaltliteError: it cannot start; the text is the one line for the user.
        """
        # Before anything is made: nothing is open to others even for a moment.
        os.umask(UMASK)
        process.set_title("salt-master")
        config = self._config
        check_socket_paths(Path(config.paths.sock_dir), self._worker_count)
        # Directories first, as root: the user that the daemon becomes could not make them.
        self._make_dirs()
        self._become_user()
        # The lock before the ports: a second master is told of the first one, not of a port.
        self._lock_fd = take_lock(Path(config.paths.cachedir) / LOCK_FILE)
        # The children bind them later; checked here, a taken port is one clear line.
        for port in (config.network.publish_port, config.network.ret_port):
            check_port(config.network.interface, port)
        shared = self._prepare_shared()
        process.write_pid_file(Path(config.paths.pidfile))
        log.info("salt-master %s starts with %d workers", __version__, self._worker_count)
        try:
            code = self._run_supervisor(shared)
        finally:
            process.remove_pid_file(Path(config.paths.pidfile))
            # All workers have ended, so that no nonce is missing.
            noncefile.save(shared.cachedir, shared.replay_table(), time.monotonic())
            self._remove_sockets(shared)
            shared.close()
            # Last: the next master makes its own sockets as soon as this lock is free.
            os.close(self._lock_fd)
        log.info("salt-master has ended")
        return code

    @property
    def _listening_users(self) -> list[int]:
        """The numbers of the users who may listen to the event bus."""
        access = Access(self._config.access, Path(self._config.paths.cachedir), process_user())
        return user_ids(access.listeners())

    @property
    def _firing_users(self) -> list[int]:
        """The numbers of the users who may put events on the bus."""
        access = Access(self._config.access, Path(self._config.paths.cachedir), process_user())
        return user_ids(access.firing_users())

    @property
    def _worker_count(self) -> int:
        return self._config.process.worker_threads

    # --- before the children -------------------------------------------------------------

    def _make_dirs(self) -> None:
        """The directories of the daemon, private, and its own."""
        paths = self._config.paths
        owner = self._owner_to_be()
        for name in (paths.pki_dir, paths.cachedir, paths.sock_dir, paths.token_dir):
            path = Path(name)
            made = not path.is_dir()
            make_way(path)
            disk.make_dir(path)
            if made and owner is not None:
                os.chown(path, *owner)
            check_private(path, owner)
        disk.make_dir(Path(paths.pidfile).parent, 0o755)
        if owner is not None:
            process.prepare_pid_file(Path(paths.pidfile), owner)

    def _owner_to_be(self) -> tuple[int, int] | None:
        """Whom the directories are to belong to, if that is not who we are."""
        name = self._config.process.user
        if not name or os.geteuid() != 0 or name == process_user():
            return None
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            raise NoSuchUser(name) from None
        return account.pw_uid, account.pw_gid

    def _become_user(self) -> None:
        name = self._config.process.user
        process.raise_file_limit(self._config.process.max_open_files)
        if name and name != process_user():
            process.become_user(name)

    def _prepare_shared(self) -> Shared:
        """Keys and shared memory: all that must be there before the first child."""
        config = self._config
        open_stores(config).keys.prepare()
        shared = self._join_cluster() if config.cluster.cluster_id else self._be_alone()
        access = Access(config.access, shared.cachedir, shared.user)
        verify = config.access.client_acl_verify
        write_keys(shared.cachedir, access.users(), new_key_string, verify=verify)
        # Keys are in cachedir and the bus is in sock_dir, which are closed to other users.
        let_through(shared.cachedir, user_ids(access.list_named_users()))
        users = sorted({*self._listening_users, *self._firing_users})
        let_through(Path(config.paths.sock_dir), users)
        jobs = shared.job_store()
        # Where the clock was set back, jids go on above those that are on record.
        shared.jids.seed(last_jid(jobs, datetime.now(timezone.utc)))
        # Before the fork, which a connection of SQLite must not cross.
        jobs.close()
        warn_of_open_doors(config)
        rehearse(shared.key)
        precompile_pillar(config)
        return shared

    def _be_alone(self) -> Shared:
        """What the processes of a master share that shares nothing with other masters."""
        config = self._config
        shared = Shared(
            config=config,
            key=load_master_key(config),
            sign_key=load_sign_key(config),
            pub_sig=read_pub_sig(config),
            user=process_user(),
        )
        if not noncefile.load(shared.cachedir, shared.replay_table(), time.monotonic()):
            # An old request could be a repeat of one that nobody remembers.
            shared.stores().sessions.clear()
        # It is never on disk: minions learn the new one when they sign in again.
        shared.publication.rotate(new_key_string(), time.monotonic())
        return shared

    def _join_cluster(self) -> Shared:
        """What the processes of a node share; key and publication key are the cluster's."""
        from saltlite.cluster.membership import join_cluster

        config = self._config
        member = join_cluster(config, f"{config.network.interface}:{config.network.ret_port}")
        shared = Shared(
            config=config,
            key=member.key,
            sign_key=load_sign_key(config),
            pub_sig=read_pub_sig(config),
            user=process_user(),
            member=member,
            publication=member.ring,
            # Also while nodes do not hear of each other, with clocks that are off.
            jids=make_jid_source(member.number),
        )
        # Sessions are the cluster's, and go on.
        noncefile.load(shared.cachedir, shared.replay_table(), time.monotonic())
        return shared

    def _run_supervisor(self, shared: Shared) -> int:
        return Supervisor(
            self._child_specs(shared),
            on_ready=self._on_ready,
            reload=self._reload,
            # A flock lasts as long as any copy of its descriptor: a child that outlives
            # the master would keep the next one from starting.
            after_fork=lambda: os.close(self._lock_fd),
        ).run()

    def _child_specs(self, shared: Shared) -> Sequence[ChildSpec]:
        """In the order of their start. They stop in another: first who takes requests."""
        config = self._config
        workers = self._worker_count
        return [
            # Starts first and stops after all that fire events: without a bus an event is lost.
            ChildSpec(
                "EventPublisher",
                EventPublisher(
                    shared.sockets,
                    config.network.salt_event_pub_hwm,
                    self._listening_users,
                    self._firing_users,
                    window=events_window(config.events),
                ).run,
                stop_group=4,
                grace_s=EVENTS_GRACE_S,
            ),
            ChildSpec("Publisher", Publisher(shared).run, stop_group=3),
            ChildSpec(
                "ReqServer",
                ReqServer(
                    config.network,
                    shared.sockets,
                    workers,
                    processors=len(os.sched_getaffinity(0)),
                ).run,
                # First: no more requests are read, while workers answer those that were.
                stop_group=0,
                grace_s=REQSERVER_GRACE_S,
            ),
            *(
                ChildSpec(
                    f"MWorker-{number}",
                    MWorker(number, shared.sockets, answerer_maker(shared, workers, number)).run,
                    stop_group=1,
                    grace_s=WORKERS_GRACE_S,
                )
                for number in range(workers)
            ),
            ChildSpec(
                "RunServer",
                RunServer(shared, self._execute).run,
                stop_group=1,
                grace_s=RUNS_GRACE_S,
            ),
            # Each of these exists only with its option, and only then is its code imported.
            *self._login_children(shared),
            *self._event_return(shared),
            *self._reactor_children(shared),
            *self._engine_children(shared),
            *self._return_writers(),
            *self._schedule_children(shared),
            *self._fileserver_update(),
            *self._cluster_bridge(shared),
            ChildSpec("Maintenance", Maintenance(shared).run, stop_group=2),
        ]

    def _login_children(self, shared: Shared) -> list[ChildSpec]:
        """The process that checks logins, if there is any way to log in."""
        if not self._config.access.external_auth:
            return []
        from saltlite.master.loginserver import LoginServer

        return [ChildSpec("LoginServer", LoginServer(shared).run, stop_group=1)]

    def _event_return(self, shared: Shared) -> list[ChildSpec]:
        """The process that gives events to returners, if there are any."""
        if not event_returners(self._config.events):
            return []
        from saltlite.master.eventreturn import EventReturn

        # It stops after the bus, which gives it all that is left.
        return [
            ChildSpec(
                "EventReturn",
                EventReturn(self._config, shared.sockets).run,
                stop_group=5,
                grace_s=EVENTS_GRACE_S,
            )
        ]

    def _reactor_children(self, shared: Shared) -> list[ChildSpec]:
        """The process that reacts to events, and the one that runs what takes long."""
        if not self._config.reactor.reactor:
            return []
        from saltlite.master.reactor import Reactor, run_limits

        runs = RunServer(
            shared,
            self._execute,
            path=shared.sockets.reactor_runs,
            limits=run_limits(self._config),
        )
        return [
            # After the Reactor, which hands its work to this process.
            ChildSpec("ReactorRuns", runs.run, stop_group=2, grace_s=RUNS_GRACE_S),
            ChildSpec("Reactor", Reactor(shared, self._make_renderer).run, stop_group=1),
        ]

    def _engine_children(self, shared: Shared) -> list[ChildSpec]:
        """A process for each engine, if there are any."""
        if not self._config.process.engines:
            return []
        from saltlite.loader.engines import select_engines
        from saltlite.master.engine import Engine

        bus, config = shared.sockets.event_pull, self._config
        return [
            ChildSpec(
                f"Engine({entry.name})",
                Engine(entry, config, bus, self._engine_context).run,
                polls=False,
            )
            for entry in select_engines(config)
        ]

    def _return_writers(self) -> list[ChildSpec]:
        """The processes that write to database servers, one for each returner that does."""
        jobs = self._config.jobs
        named = [one for one in (jobs.ext_job_cache, jobs.master_job_cache) if one not in OWN]
        named += event_returners(self._config.events)
        if not named:
            return []
        from saltlite.master.returnwriter import ReturnWriter, server_returners

        return [
            # Last of all: EventReturn writes to its files up to its own end.
            ChildSpec(f"ReturnWriter-{name}", ReturnWriter(self._config, name).run, stop_group=6)
            for name in server_returners(self._config, named)
        ]

    def _schedule_children(self, shared: Shared) -> list[ChildSpec]:
        """The process that runs what the master's schedule says, if there is one."""
        if not self._config.schedule.schedule:
            return []
        from saltlite.master.schedule import MasterSchedule

        runs = RunServer(
            shared, self._execute, source=MasterSchedule(self._config, shared.jids.next)
        )
        return [ChildSpec("Schedule", runs.run, stop_group=1, grace_s=RUNS_GRACE_S)]

    def _cluster_bridge(self, shared: Shared) -> list[ChildSpec]:
        """The process that listens to the cluster's PostgreSQL, in a cluster."""
        if shared.member is None:
            return []
        # Before the bus and the Publisher, which it hands things to.
        return [ChildSpec("ClusterBridge", shared.member.make_bridge().run, stop_group=2)]

    def _fileserver_update(self) -> list[ChildSpec]:
        """The process that fetches what files come from elsewhere, if any do."""
        if "gitfs" not in self._config.files.fileserver_backend:
            return []
        from saltlite.master.fileserverupdate import FileserverUpdate

        return [ChildSpec("FileserverUpdate", FileserverUpdate(self._config).run, stop_group=3)]

    def _on_ready(self) -> None:
        network = self._config.network
        log.info(
            "salt-master is ready on %s, ports %d and %d",
            network.interface,
            network.publish_port,
            network.ret_port,
        )
        process.notify("READY=1")
        # This process waits from here on, and needs none of what started it.
        process.rest()

    def _remove_sockets(self, shared: Shared) -> None:
        sockets = shared.sockets
        numbered = [sockets.workers(number) for number in range(self._worker_count)]
        # Real salt-api takes this link for a sign that a master runs.
        numbered.append(sockets.workers_link)
        buses = (sockets.event_pull, sockets.event_pub, sockets.event_return)
        served = (sockets.runs, sockets.reactor_runs, sockets.logins, sockets.late)
        for path in (*numbered, sockets.publish_pull, *buses, *served):
            with contextlib.suppress(StoreError):
                disk.remove(path)


def answerer_maker(
    shared: Shared, workers: int, number: int = 0
) -> Callable[[Life, zmq.Context[zmq.Socket[bytes]]], Dispatcher]:
    """What makes a worker's dispatcher, in the worker's own process."""

    # A closure, since sockets and stores have to be opened after the fork.
    def make(life: Life, context: zmq.Context[zmq.Socket[bytes]]) -> Dispatcher:
        events = EventPusher(
            shared.sockets.event_pull,
            context=context,
            max_bytes=shared.config.events.max_event_size,
        )
        stores = shared.stores()
        ctx = make_context(
            shared,
            stores=stores,
            events=events,
            publisher=stores.open_publisher(context),
            workers=workers,
            extend=life.extend,
            marks=Marks(shared.cachedir, f"MWorker-{number}"),
        )
        return Dispatcher(ctx)

    return make


# --- checks and preparations, one thing each --------------------------------------------


def events_window(options: EventOptions) -> int:
    """How many events EventReturn may have in hand: the gathered and the next; 0 without it."""
    if not event_returners(options):
        return 0
    return WINDOW + max(0, int(options.event_return_queue))


def last_jid(jobs: JobFinder, now: datetime) -> str | None:
    """The highest jid on record that can be one: a damaged store must not prevent a start."""
    try:
        return latest_usable(jobs.last_jids(latest_stored(now)), now)
    except StoreError as error:
        log.error("The last job id is not known: %s", error)
        return None


def make_way(path: Path) -> None:
    """Make what is missing above a directory of ours: open to all, as packages make it.

    The umask of the daemon would keep the users of ``publisher_acl`` from passing.
    """
    for above in reversed(path.parents):
        if not above.is_dir():
            disk.make_dir(above)
            above.chmod(0o755)


def take_lock(path: Path) -> int:
    """Hold the lock that says a master runs here; a descriptor, to be kept open.

    Raises:
        StoreError: another master has it; the text names its process.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, disk.PRIVATE_FILE)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
        os.close(fd)
        raise StoreError(
            f"salt-master is running already as process {holder or 'unknown'} ({path})"
        ) from None
    # Only under the lock: until then the text is the process id of the holder.
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd


def check_port(interface: str, port: int) -> None:
    """Whether we could listen there.

    Raises:
        StoreError: the address is taken or not ours.
    """
    family = socket.AF_INET6 if ":" in interface else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As ZeroMQ does: old connections of the last master (TIME_WAIT) take no address.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            # ZeroMQ's form of an IPv6 address has brackets, the system's has none.
            probe.bind((interface.strip("[]"), port))
        except OSError as error:
            raise StoreError(
                f"cannot listen on {interface}, port {port}: {error.strerror}"
            ) from error


def check_socket_paths(sock_dir: Path, workers: int) -> None:
    """Unix sockets have short names.

    Raises:
        ConfigError: ``sock_dir`` is too long for them.
    """
    sockets = MasterSockets(sock_dir)
    try:
        for path in (sockets.workers(workers), sockets.event_pull, sockets.event_return):
            ipc(path)
    except ValueError as error:
        raise ConfigError(str(error), option="sock_dir") from error


def check_private(path: Path, owner: tuple[int, int] | None) -> None:
    """A directory with secrets must be ours, and not be open to others' writing.

    Raises:
        ConfigError: it is not; the text says what to do.
    """
    status = path.stat()
    allowed = {0, os.geteuid()} | ({owner[0]} if owner else set())
    if status.st_uid not in allowed:
        raise ConfigError(f"{path} belongs to user {status.st_uid}; give it to the master's user")
    if status.st_mode & 0o022:
        try:
            path.chmod(status.st_mode & 0o7755)
        except OSError as error:
            raise ConfigError(f"{path} may be written by others: {error.strerror}") from error
        log.warning("%s could be written by others; mended", path)


def load_master_key(config: MasterConfig) -> PrivateKey:
    """The master's key pair, made at the first start.

    Raises:
        CryptoError: there is a key that cannot be used.
    """
    path = Path(config.paths.pki_dir) / "master.pem"
    return load_or_make_key(
        path, keysize=config.keys.keysize, passphrase=config.keys.key_pass or None
    )


def load_sign_key(config: MasterConfig) -> PrivateKey | None:
    """The pair that signs the public key, with ``master_sign_pubkey``.

    Raises:
        CryptoError: there is a key that cannot be used.
    """
    keys = config.keys
    if not keys.master_sign_pubkey or keys.master_use_pubkey_signature:
        return None
    path = Path(config.paths.pki_dir) / f"{keys.master_sign_key_name}.pem"
    return load_or_make_key(path, keysize=keys.keysize, passphrase=keys.signing_key_pass or None)


def read_pub_sig(config: MasterConfig) -> str | None:
    """The signature prepared for ``master_use_pubkey_signature``.

    Raises:
        ConfigError: it is asked for and not there.
    """
    keys = config.keys
    if not (keys.master_sign_pubkey and keys.master_use_pubkey_signature):
        return None
    path = Path(config.paths.pki_dir) / (keys.master_pubkey_signature or "master_pubkey_signature")
    data = disk.read_regular(path, limit_bytes=64 * 1024)
    if data is None:
        raise ConfigError(f"there is no {path}", option="master_use_pubkey_signature")
    # On the wire the base64 of the signature ends with a newline.
    return data.decode("ascii", "replace").strip() + "\n"


def warn_of_open_doors(config: MasterConfig) -> None:
    """Settings that let strangers in are said at every start."""
    if config.keys.open_mode:
        log.warning("open_mode is on: every minion is let in, with whatever key")
    if config.keys.auto_accept:
        log.warning("auto_accept is on: every new key is accepted unseen")
