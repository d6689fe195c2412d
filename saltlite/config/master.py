"""The master's options, in sections. A component is handed its section, never the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.config.display import LogOptions, OutputOptions
from saltlite.config.schema import OptionSource, find_sections, option
from saltlite.core.dataclasses import dataclass, field

SIGNING_ALGORITHMS = ("PKCS1v15-SHA1", "PKCS1v15-SHA224")
HASH_TYPES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
PILLAR_MERGES = ("smart", "recurse", "aggregate", "overwrite", "list", "none")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NetworkOptions:
    """Where the master listens and how its sockets behave."""

    interface: str = option("0.0.0.0", "The address to listen on.")  # noqa: S104 - Salt's default
    ipv6: bool | None = option(None, "Listen on IPv6; also needs `interface: '::'`.")
    publish_port: int = option(4505, "Where jobs are published.", minimum=1, maximum=65535)
    ret_port: int = option(4506, "Where requests are answered.", minimum=1, maximum=65535)
    tcp_keepalive: bool = option(True, "Let the kernel probe silent connections.")
    tcp_keepalive_idle: int = option(300, "Silence before the first probe.", unit="s", minimum=-1)
    tcp_keepalive_cnt: int = option(-1, "Probes before giving up; -1 for the kernel's.", minimum=-1)
    tcp_keepalive_intvl: int = option(
        -1, "Time between probes; -1 for the kernel's.", unit="s", minimum=-1
    )
    zmq_backlog: int = option(1000, "Connections that may wait to be accepted.", minimum=1)
    pub_hwm: int = option(1000, "Publications kept for a slow minion.", minimum=0)
    zmq_filtering: bool = option(False, "Send list-targeted jobs only to the listed minions.")
    zmq_heartbeat_ivl: int = option(
        10000, "ZeroMQ's own ping on the publish port; 0 for none.", unit="ms", minimum=0
    )
    zmq_heartbeat_timeout: int = option(
        30000,
        "Silence after a ping before a connection is dropped; 0 for `zmq_heartbeat_ivl`.",
        unit="ms",
        minimum=0,
    )
    salt_event_pub_hwm: int = option(20000, "Events kept for a slow listener.", minimum=0)
    transport: str = option("zeromq", "The transport; saltlite has one.", choices=("zeromq",))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PathOptions:
    """Files and directories."""

    root_dir: str = option("/", "Everything that is marked as rooted lives below this directory.")
    conf_file: str = option("/etc/salt/master", "The main file; set by where it was found.")
    default_include: str = option("master.d/*.conf", "Further files, beside the main file.")
    pki_dir: str = option("/etc/salt/pki/master", "Keys.", rooted=True)
    cachedir: str = option("/var/cache/salt/master", "Jobs, minion data, tokens.", rooted=True)
    sock_dir: str = option("/var/run/salt/master", "Unix sockets.", rooted=True)
    pidfile: str = option("/var/run/salt-master.pid", "The daemon's process id.", rooted=True)
    extension_modules: str = option(
        "/var/cache/salt/master/extmods", "Synchronised custom code.", rooted=True
    )
    module_dirs: Sequence[str] = option([], "Further directories of custom code.")
    runner_dirs: Sequence[str] = option([], "Further directories of runners.")
    outputter_dirs: Sequence[str] = option([], "Further directories of outputters.")
    key_logfile: str = option("/var/log/salt/key", "The log of salt-key.", rooted=True)
    token_dir: str = option(
        "/var/cache/salt/master/tokens",
        "Tokens of external authentication; always below cachedir.",
        rooted=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ProcessOptions:
    """The daemon and its processes."""

    user: str = option("", "Run as this user; without it, as whoever starts it.")
    id: str = option("", "The master's own name; `<host>_master` without it.")
    worker_threads: int = option(5, "Processes that answer requests.", minimum=1)
    max_open_files: int = option(100000, "Wanted limit of open files.", minimum=0)
    loop_interval: float = option(60, "Between two looks of maintenance.", unit="s", minimum=0)
    maintenance_interval: float = option(
        3600, "Between two rounds of cleaning.", unit="s", minimum=1
    )
    verify_env: bool = option(True, "Make missing directories and mend their permissions.")
    strict_config: bool = option(
        False, "An option that looks misspelt is an error. Not in Salt, which never says so."
    )
    engines: Mapping[str, Any] | Sequence[Any] = option(
        [], "Engines that run beside the master: names, or maps of a name and its arguments."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class KeyOptions:
    """Who may join, and how messages are protected."""

    auto_accept: bool = option(False, "Accept new keys unseen.")
    open_mode: bool = option(False, "Accept everybody, changed keys too. Never in production.")
    autosign_file: str | None = option(None, "Ids (globs) whose keys are accepted.", rooted=True)
    autoreject_file: str | None = option(None, "Ids (globs) whose keys are rejected.", rooted=True)
    autosign_timeout: float = option(
        120, "How long a file in `minions_autosign` counts.", unit="min", minimum=0
    )
    autosign_grains_dir: str | None = option(
        None, "One file per grain, with the values that are accepted."
    )
    permissive_pki_access: bool = option(False, "Let the group read the keys.")
    keysize: int = option(2048, "New RSA keys.", unit="bit", minimum=2048, maximum=16384)
    max_minions: int = option(0, "Refuse more minions than this; 0 for no limit.", minimum=0)
    max_pending_keys: int = option(
        10000, "Keys that may wait to be accepted; 0 for no limit. Not in Salt.", minimum=0
    )
    auth_events: bool = option(True, "Fire an event for each authentication.")
    rotate_aes_key: bool = option(True, "New session key when a minion's key is deleted.")
    preserve_minion_cache: bool = option(False, "Keep a minion's data when its key is deleted.")
    key_pass: str | None = option(None, "Passphrase of master.pem.", secret=True)
    signing_key_pass: str | None = option(None, "Passphrase of the signing key.", secret=True)
    master_sign_pubkey: bool = option(False, "Sign the public key in replies to `_auth`.")
    master_sign_key_name: str = option("master_sign", "Name of the signing key pair.")
    master_use_pubkey_signature: bool = option(False, "Use the signature that was made before.")
    master_pubkey_signature: str | None = option(None, "The file of that signature.")
    minimum_auth_version: int = option(3, "Refuse minions that speak an older protocol.", minimum=0)
    publish_session: float = option(86400, "Life of the session key.", unit="s", minimum=60)
    ping_on_rotate: bool = option(False, "Ping all minions when the session key was rotated.")
    sign_pub_messages: bool = option(True, "Sign publications.")
    publish_signing_algorithm: str = option(
        "PKCS1v15-SHA1", "How publications are signed.", choices=SIGNING_ALGORITHMS
    )
    signing_algorithm: str = option(
        "PKCS1v15-SHA1", "How replies are signed.", choices=SIGNING_ALGORITHMS
    )
    request_server_ttl: float = option(
        0, "Refuse requests that are older; 0 for no check.", unit="s", minimum=0
    )
    request_ttl: float = option(
        300, "How long a nonce is remembered, against replays. Not in Salt.", unit="s", minimum=0
    )
    require_minion_sign_messages: bool = option(False, "Refuse returns without a signature.")
    drop_messages_signature_fail: bool = option(False, "Drop returns whose signature is wrong.")
    allow_minion_key_revoke: bool = option(True, "Let a minion delete its own key.")
    fips_mode: bool = option(False, "Only algorithms that FIPS allows.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class JobOptions:
    """Jobs: how long they are waited for, and how long they are kept."""

    keep_jobs: float = option(24, "How long jobs are kept; the older name.", unit="h", minimum=0)
    keep_jobs_seconds: float = option(86400, "How long jobs are kept.", unit="s", minimum=0)
    job_cache: bool = option(True, "Keep jobs and their returns.")
    ext_job_cache: str = option("", "A returner that minions send their returns to as well.")
    master_job_cache: str = option("local_cache", "Where the master keeps jobs.")
    job_cache_sync: str = option(
        "group",
        "When the disk is waited for before a job or return is acknowledged. Not in Salt.",
        choices=("always", "group", "never"),
    )
    job_cache_max: int = option(
        100000, "Jobs kept at most; 0 for no limit. Not in Salt.", minimum=0
    )
    unasked_returns_max_bytes: int = option(
        268435456,
        "Returns kept of one minion that nobody asked for (`salt-call`, `schedule`): the oldest go "
        "first; 0 for no limit. Not in Salt.",
        unit="bytes",
        minimum=0,
    )
    job_cache_max_bytes: int = option(
        2 * 1024**3,
        "What jobs and returns may take on disk; the oldest jobs go. 0 for no limit. Not in Salt.",
        unit="byte",
        minimum=0,
    )
    state_reports: bool = option(
        True, "Keep what runs of states have done, for `salt-run changes`. Not in Salt."
    )
    state_reports_keep: float = option(
        720, "How long that is kept; 0: until its bytes are too many.", unit="h", minimum=0
    )
    state_reports_max_bytes: int = option(
        512 * 1024**2,
        "What it may take on disk; the oldest runs go. 0 for no limit. Not in Salt.",
        unit="byte",
        minimum=0,
    )
    job_not_after: int = option(
        600,
        "Minions do not begin a job that reaches them later; 0: they do. Not in Salt.",
        unit="s",
        minimum=0,
    )
    timeout: float = option(5, "How long a command waits before it asks.", unit="s", minimum=0)
    gather_job_timeout: float = option(
        10, "How long it waits for an answer to `saltutil.find_job`.", unit="s", minimum=0
    )
    publish_timeout: float = option(30, "How long a publish may take.", unit="s", minimum=0)
    salt_cp_chunk_size: int = option(98304, "A piece of salt-cp.", unit="bytes", minimum=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FileOptions:
    """What the file server serves, and what states are rendered from."""

    http_connect_timeout: float = option(20.0, "For a connection to a web server.", unit="s")
    http_request_timeout: float = option(
        3600.0, "For all of a request to a web server, to its last byte.", unit="s", minimum=0
    )
    http_max_body: int = option(
        107374182400, "The largest file that is fetched from the web.", unit="bytes", minimum=0
    )
    file_roots: Mapping[str, Sequence[str]] = option(
        {"base": ["/srv/salt", "/srv/spm/salt"]}, "Directories of each environment; globs allowed."
    )
    fileserver_backend: Sequence[str] = option(["roots"], "File server back ends, in order.")
    file_buffer_size: int = option(1048576, "A piece of a file.", unit="bytes", minimum=1)
    hash_type: str = option("sha256", "Hash of served files.", choices=HASH_TYPES)
    file_ignore_regex: Sequence[str] = option([], "Files that are not served (search).")
    file_ignore_glob: Sequence[str] = option([], "Files that are not served (fnmatch).")
    fileserver_followsymlinks: bool = option(True, "Follow links.")
    fileserver_ignoresymlinks: bool = option(False, "Do not list links.")
    fileserver_interval: float = option(3600, "Between two updates.", unit="s", minimum=1)
    file_recv: bool = option(False, "Let minions push files (`cp.push`).")
    file_recv_max_size: int = option(100, "Largest pushed file.", unit="MB", minimum=0)
    state_top: str = option("top.sls", "Name of the top file.")
    state_top_saltenv: str | None = option(None, "Read the top file of this environment only.")
    default_top: str = option("base", "Environment of the top file with `same`.")
    env_order: Sequence[str] = option([], "Order of environments when top files are merged.")
    top_file_merging_strategy: str = option(
        "merge", "How top files join.", choices=("merge", "same", "merge_all")
    )
    renderer: str = option("jinja|yaml", "How SLS files are rendered.")
    renderer_whitelist: Sequence[str] = option([], "Only these renderers.")
    renderer_blacklist: Sequence[str] = option([], "Not these renderers.")
    failhard: bool = option(False, "Stop at the first failed state.")
    test: bool = option(False, "Dry run by default.")
    state_events: bool = option(False, "Fire an event per state.")
    state_aggregate: bool | Sequence[str] = option(False, "Join states that can be joined.")
    state_auto_order: bool = option(True, "Run states in the order they are written.")
    jinja_trim_blocks: bool = option(False, "Drop the newline after a block.")
    jinja_lstrip_blocks: bool = option(False, "Drop blanks before a block.")
    jinja_env: Mapping[str, Any] = option({}, "Jinja's options, but for SLS files.")
    jinja_sls_env: Mapping[str, Any] = option({}, "Jinja's options for SLS files.")
    jinja_time_limit: float = option(
        30, "Time on the processor for one template; 0 for no limit.", unit="s", minimum=0
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PillarOptions:
    """Pillar."""

    pillar_roots: Mapping[str, Sequence[str]] = option(
        {"base": ["/srv/pillar", "/srv/spm/pillar"]}, "Directories of each environment."
    )
    ext_pillar: Sequence[Any] = option([], "Further sources of pillar.")
    ext_pillar_first: bool = option(False, "Ask them before the files.")
    on_demand_ext_pillar: Sequence[str] = option(
        ["libvirt", "virtkey"], "Sources that a minion may ask for."
    )
    pillar_source_merging_strategy: str = option(
        "smart", "How sources join.", choices=PILLAR_MERGES
    )
    pillar_merge_lists: bool = option(False, "Append lists when sources join.")
    pillar_includes_override_sls: bool = option(False, "Included files win.")
    pillar_safe_render_error: bool = option(True, "Keep details of errors from minions.")
    pillar_opts: bool = option(False, "Put the master's options into pillar, under `master`.")
    pillar_cache: bool = option(False, "Keep rendered pillar.")
    pillar_cache_ttl: float = option(3600, "For how long.", unit="s", minimum=0)
    pillar_cache_backend: str = option("disk", "Where.", choices=("disk", "memory"))
    pillarenv: str | None = option(None, "Pillar of this environment only.")
    pillar_mask_output: bool = option(True, "Mask values that `pillar.*` prints.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AccessOptions:
    """Who may do what."""

    publisher_acl: Mapping[str, Any] = option({}, "Functions that local users may publish.")
    publisher_acl_blacklist: Mapping[str, Any] = option({}, "Users and modules that may not.")
    external_auth: Mapping[str, Any] = option({}, "Functions that authenticated users may call.")
    peer: Mapping[str, Any] = option({}, "Functions that minions may publish.")
    peer_run: Mapping[str, Any] = option({}, "Runners that minions may call.")
    client_acl_verify: bool = option(
        True, "Names in `publisher_acl` need an account, and expressions mean accounts."
    )
    sudo_acl: bool = option(False, "Apply `publisher_acl` to users of sudo.")
    permissive_acl: bool = option(
        False, "Give the rights of `*` in `external_auth` to users that are named there, too."
    )
    eauth_acl_module: str = option(
        "", "The module whose `acl` says what a login may, in place of the login's own."
    )
    sharedsecret: str = option("", "What `eauth: sharedsecret` takes for a password.", secret=True)
    token_expire: float = option(43200, "Life of a token.", unit="s", minimum=0)
    token_expire_user_override: bool | Mapping[str, Any] = option(
        False, "Who may ask for another life: all, or users by module."
    )
    keep_acl_in_token: bool = option(False, "Keep a token's rights as they were when it was made.")
    token_file: str = option("", "Where commands keep a token: `salt_token` in one's own home.")
    eauth_tokens: str = option("localfs", "Where tokens are kept.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EventOptions:
    """The event bus."""

    presence_events: bool = option(False, "Fire who is connected, every `loop_interval`.")
    max_event_size: int = option(1048576, "Larger events are cut.", unit="bytes", minimum=1024)
    event_return: str | Sequence[str] = option("", "Returners that get the events.")
    event_return_queue: int = option(0, "Events gathered before they are given.", minimum=0)
    event_return_queue_max_seconds: float = option(
        0, "How long they are gathered at most.", unit="s", minimum=0
    )
    event_return_niceness: int | None = option(
        None, "Added to the niceness of the process.", minimum=-40, maximum=39
    )
    event_return_whitelist: Sequence[str] = option([], "Only events with these tags.")
    event_return_blacklist: Sequence[str] = option([], "Not events with these tags.")
    minion_data_cache_events: bool = option(True, "Fire an event when a minion's data change.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReactorOptions:
    """What the master does when an event comes."""

    reactor: Any = option(
        [],
        "Tag patterns (shell globs), each with the SLS files that say what is done; or the path "
        "of a file that holds this list.",
    )
    reactor_worker_threads: int = option(
        10, "Runners and wheel functions of reactions at once.", minimum=1, maximum=1000
    )
    reactor_worker_hwm: int = option(
        10000, "How many more wait; beyond that they are dropped.", minimum=1
    )
    reactor_refresh_interval: float = option(
        60, "How old the pillar may be that the files of reactions see.", unit="s", minimum=0
    )
    reactor_niceness: int | None = option(
        None, "Added to the niceness of the reactor.", minimum=-40, maximum=39
    )
    reactor_strict: bool = option(
        False,
        "In the files of reactions everything that is printed is quoted as JSON, unless it is "
        "marked `|safe`. Not in Salt.",
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ScheduleOptions:
    """What the master runs by itself, and when."""

    schedule: Mapping[str, Any] = option(
        {}, "Jobs by name: each a runner, and when it runs; as on minions."
    )
    schedule_returner: str = option("", "A returner that gets what all of them return.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class TargetOptions:
    """Who is meant."""

    nodegroups: Mapping[str, Any] = option({}, "Names for compound expressions.")
    minion_data_cache: bool = option(True, "Keep the minions' grains and pillar.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SyndicOptions:
    """A tree of masters. See [syndic.md](syndic.md)."""

    order_masters: bool = option(
        False, "Other masters are below this one: jobs go down to their syndics as well."
    )
    syndics: Sequence[str] = option(
        [],
        "Ids (globs) of the minions that are syndics and may speak for others. Not in Salt, where "
        "each minion may.",
    )
    syndic_wait: float = option(
        5, "How much longer commands wait for the minions of syndics.", unit="s", minimum=0
    )
    syndic_master: str | Sequence[str] = option(
        "masterofmasters", "Of salt-syndic: the master above, or a list of them."
    )
    syndic_master_port: int = option(
        0, "Its port for requests; 0 for the minion's `master_port`.", minimum=0, maximum=65535
    )
    syndic_user: str = option("", "Who salt-syndic runs as; without it, as the master.")
    syndic_pidfile: str = option(
        "/var/run/salt-syndic.pid", "The process id of salt-syndic.", rooted=True
    )
    syndic_log_file: str = option("/var/log/salt/syndic", "Where salt-syndic logs.", rooted=True)
    syndic_failover: str = option(
        "random",
        "Which of several masters above gets what none of them has asked for.",
        choices=("random", "ordered"),
    )
    syndic_forward_all_events: bool = option(
        False, "Tell several masters above all events, not only who belongs to a job."
    )
    syndic_event_forward_timeout: float = option(
        0.5, "The least time between two requests to a master above.", unit="s", minimum=0
    )
    syndic_jid_forward_cache_hwm: int = option(
        100, "Jobs that are known to be on record above.", minimum=1
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ClusterOptions:
    """Several masters as one, on PostgreSQL. See [cluster.md](cluster.md)."""

    cluster_id: str = option("", "Turns all this on: the cluster's name.")
    cluster_pki_dir: str | None = option(
        None, "Where `cluster.pem` and `cluster.pub` are; `pki_dir` without it.", rooted=True
    )
    cluster_key_pass: str | None = option(None, "Passphrase of cluster.pem.", secret=True)
    cluster_engine: str = option(
        "postgres", "What holds the shared state. Not in Salt.", choices=("postgres",)
    )
    cluster_dsn: str = option(
        "",
        "Where PostgreSQL is: a connection string or URL of libpq, several hosts allowed; "
        "`returner.postgres.host`, `.port`, `.user`, `.passwd` and `.db` fill in what it lacks. "
        "Not in Salt.",
        secret=True,
    )
    cluster_node: str = option(
        "", "This master's name in the cluster; `id` without it. Not in Salt."
    )
    cluster_degraded: str = option(
        "serve",
        "What a node does while PostgreSQL is away: goes on with its own minions, or refuses. Not "
        "in Salt.",
        choices=("serve", "refuse"),
    )
    cluster_lease: float = option(
        15,
        "How long a node that is not heard of counts as alive. Not in Salt.",
        unit="s",
        minimum=3,
    )
    cluster_timeout: float = option(
        5,
        "How long PostgreSQL may take before it counts as away. Not in Salt.",
        unit="s",
        minimum=1,
    )
    cluster_spool_max: int = option(
        1024**3,
        "What may wait on a node's disk while PostgreSQL is away; beyond that returns are refused, "
        "and minions keep them. Not in Salt.",
        unit="bytes",
        minimum=1048576,
    )
    cluster_events: Sequence[str] = option(
        [
            "salt/job/*/new",
            "salt/job/*/error",
            "salt/key",
            "salt/auth",
            "salt/minion/*/start",
            "salt/presence/*",
            "salt/run/*",
            "salt/wheel/*",
            "salt/custom/*",
        ],
        "Events (globs of tags) that all nodes hear. Not in Salt.",
    )
    cluster_cache_pillar: bool = option(True, "Share compiled pillar among the nodes. Not in Salt.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ApiOptions:
    """salt-api: the master over HTTP. See [api.md](api.md)."""

    netapi_enable_clients: Sequence[str] = option(
        [], "Clients that requests may name: `local`, `local_async`, `runner`, `wheel` ..."
    )
    rest_cherrypy: Mapping[str, Any] = option(
        {}, "The server: `port`, `host`, `ssl_crt`, `ssl_key` ...; see [api.md](api.md#options)."
    )
    rest_tornado: Mapping[str, Any] = option(
        {}, "Another name for `rest_cherrypy`, with Salt's other names for its options."
    )
    rest_timeout: float = option(
        300, "How long a request waits for a runner or wheel function.", unit="s", minimum=1
    )
    api_logfile: str = option("/var/log/salt/api", "Where salt-api logs.", rooted=True)
    api_pidfile: str = option("/var/run/salt-api.pid", "The process id of salt-api.", rooted=True)
    api_event_acl: bool = option(
        False, "Without all rights, only events of one's own jobs are heard. Not in Salt."
    )
    api_events_query_token: bool = option(
        False, "Let `/events?token=` in, for SaltGUI before mid-2026."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MasterConfig:
    """All that a master was told, checked.

    ``extra`` has the options that saltlite does not know (modules read them); ``source`` says where
    each option that is not a default was set.
    """

    network: NetworkOptions = field(default_factory=NetworkOptions)
    paths: PathOptions = field(default_factory=PathOptions)
    process: ProcessOptions = field(default_factory=ProcessOptions)
    keys: KeyOptions = field(default_factory=KeyOptions)
    jobs: JobOptions = field(default_factory=JobOptions)
    files: FileOptions = field(default_factory=FileOptions)
    pillar: PillarOptions = field(default_factory=PillarOptions)
    access: AccessOptions = field(default_factory=AccessOptions)
    events: EventOptions = field(default_factory=EventOptions)
    reactor: ReactorOptions = field(default_factory=ReactorOptions)
    schedule: ScheduleOptions = field(default_factory=ScheduleOptions)
    targets: TargetOptions = field(default_factory=TargetOptions)
    syndic: SyndicOptions = field(default_factory=SyndicOptions)
    cluster: ClusterOptions = field(default_factory=ClusterOptions)
    api: ApiOptions = field(default_factory=ApiOptions)
    output: OutputOptions = field(default_factory=OutputOptions)
    log: LogOptions = field(default_factory=LogOptions)
    extra: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, OptionSource] = field(default_factory=dict)


SECTIONS = find_sections(MasterConfig)
"""The sections by their name in MasterConfig, in the order of the reference page."""
