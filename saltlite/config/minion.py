"""The minion's options, in sections. A component is handed its section, never the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.config.display import LogOptions, OutputOptions
from saltlite.config.schema import OptionSource, find_sections, option
from saltlite.core.dataclasses import dataclass, field

MASTER_TYPES = ("str", "failover", "func", "disable", "distributed")
SIGNING_ALGORITHMS = ("PKCS1v15-SHA1", "PKCS1v15-SHA224")
ENCRYPTION_ALGORITHMS = ("OAEP-SHA1", "OAEP-SHA224")
HASH_TYPES = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")
PILLAR_MERGES = ("smart", "recurse", "aggregate", "overwrite", "list", "none")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class NetworkOptions:
    """Which master, and how its connections behave."""

    master: str | Sequence[str] = option(
        "salt", "The master: a name, `host:port`, an address, or a list of them."
    )
    master_port: int = option(4506, "Where requests go.", minimum=1, maximum=65535)
    publish_port: int = option(4505, "Where jobs come from.", minimum=1, maximum=65535)
    master_type: str = option(
        "str",
        "What `master` is: one, a list to fail over, a function, or none.",
        choices=MASTER_TYPES,
    )
    master_uri_format: str = option(
        "default",
        "`ip_only` takes the port from `master_port` alone.",
        choices=("default", "ip_only"),
    )
    ipv6: bool | None = option(None, "Prefer IPv6 when the master's name has both.")
    source_interface_name: str = option("", "Connect from this network interface.")
    source_address: str = option("", "Connect from this address.")
    source_ret_port: int = option(
        0, "Connect from this port to `master_port`; 0 for any.", minimum=0, maximum=65535
    )
    source_publish_port: int = option(
        0, "Connect from this port to `publish_port`; 0 for any.", minimum=0, maximum=65535
    )
    tcp_keepalive: bool = option(True, "Let the kernel probe silent connections.")
    tcp_keepalive_idle: int = option(300, "Silence before the first probe.", unit="s", minimum=-1)
    tcp_keepalive_cnt: int = option(-1, "Probes before giving up; -1 for the kernel's.", minimum=-1)
    tcp_keepalive_intvl: int = option(
        -1, "Time between probes; -1 for the kernel's.", unit="s", minimum=-1
    )
    retry_dns: float = option(
        30,
        "Longest wait between two looks for the master's name; 0 to end after the first.",
        unit="s",
        minimum=0,
    )
    retry_dns_count: int | None = option(
        None,
        "How often the name is looked up again, after `retry_dns` each; without it, for ever.",
        minimum=0,
    )
    resolve_dns_fallback: bool = option(True, "Go on with a name that does not resolve.")
    zmq_filtering: bool = option(False, "Subscribe only to what is meant for this minion.")
    zmq_monitor: bool = option(False, "Log what happens to the sockets.")
    transport: str = option("zeromq", "The transport; saltlite has one.", choices=("zeromq",))
    master_alive_interval: float = option(
        0, "Between two looks whether the master is alive; 0 for none.", unit="s", minimum=0
    )
    master_failback: bool = option(False, "Go back to the first master once it is there.")
    master_failback_interval: float = option(
        0, "Between two tries to go back.", unit="s", minimum=0
    )
    master_shuffle: bool = option(False, "Shuffle the list of masters; older name.")
    random_master: bool = option(False, "Shuffle the list of masters.")
    master_tries: int = option(-1, "Rounds through the masters; -1 for ever.", minimum=-1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class IdentityOptions:
    """The minion's id: set, remembered from the last start, or the full name of the machine."""

    id: str = option("", "The minion's id; found out without it.")
    minion_id_caching: bool = option(True, "Keep an id that was found out in `minion_id`.")
    minion_id_lowercase: bool = option(False, "Turn an id that was found out into lower case.")
    minion_id_remove_domain: bool | Sequence[str] = option(
        False, "Drop the domain, or these domains, from an id that was found out."
    )
    append_domain: str = option("", "Append this domain to an id that has none.")
    id_function: Mapping[str, Any] = option(
        {}, "A function that gives the id: `{mod.fun: kwargs}`."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PathOptions:
    """Files and directories."""

    root_dir: str = option("/", "Everything that is marked as rooted lives below this directory.")
    conf_file: str = option("/etc/salt/minion", "The main file; set by where it was found.")
    default_include: str = option("minion.d/*.conf", "Further files, beside the main file.")
    pki_dir: str = option("/etc/salt/pki/minion", "Keys.", rooted=True)
    cachedir: str = option(
        "/var/cache/salt/minion", "Files, job ids, spooled returns.", rooted=True
    )
    sock_dir: str = option("/var/run/salt/minion", "Unix sockets.", rooted=True)
    pidfile: str = option("/var/run/salt-minion.pid", "The daemon's process id.", rooted=True)
    extension_modules: str = option(
        "/var/cache/salt/minion/extmods", "Synchronised custom code.", rooted=True
    )
    append_minionid_config_dirs: Sequence[str] = option(
        [], "Of these directories, each minion has its own, named by its id."
    )
    module_dirs: Sequence[str] = option([], "Further directories of execution modules.")
    states_dirs: Sequence[str] = option([], "Further directories of state modules.")
    grains_dirs: Sequence[str] = option([], "Further directories of grains.")
    render_dirs: Sequence[str] = option([], "Further directories of renderers.")
    returner_dirs: Sequence[str] = option([], "Further directories of returners.")
    outputter_dirs: Sequence[str] = option([], "Further directories of outputters.")
    utils_dirs: Sequence[str] = option([], "Further directories of utilities.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ProcessOptions:
    """The daemon and its jobs."""

    user: str = option("", "Run as this user; without it, as whoever starts it.")
    sudo_user: str = option("", "Run functions through sudo as this user.")
    multiprocessing: bool = option(True, "A process per job; otherwise a thread.")
    process_count_max: int = option(-1, "Jobs at one time; -1 for no limit.", minimum=-1)
    minion_jid_queue_hwm: int = option(100, "Job ids remembered against repeats.", minimum=0)
    loop_interval: float = option(1, "Between two looks at what is due.", unit="s", minimum=0)
    verify_env: bool = option(True, "Make missing directories and mend their permissions.")
    strict_config: bool = option(
        False, "An option that looks misspelt is an error. Not in Salt, which never says so."
    )
    cache_jobs: bool = option(False, "Keep jobs and their returns on the minion too.")
    restart_on_error: bool = option(False, "Start again after an error instead of ending.")
    minion_restart_command: Sequence[str] = option([], "The command that restarts the minion.")
    engines: Mapping[str, Any] | Sequence[Any] = option(
        [], "Engines that run beside the minion: names, or maps of a name and its arguments."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AuthOptions:
    """How the minion gets in, and what it demands of the master."""

    auth_timeout: float = option(5, "How long one try may take.", unit="s", minimum=0)
    auth_tries: int = option(7, "Tries before a round counts as failed.", minimum=0)
    auth_safemode: bool = option(False, "Never end because of a failed authentication.")
    acceptance_wait_time: float = option(
        10, "Between two tries while the key is pending, at most.", unit="s", minimum=0
    )
    acceptance_wait_time_max: float = option(
        0, "Let that grow up to this; 0 for no growth.", unit="s", minimum=0
    )
    random_reauth_delay: float = option(
        10, "Wait a random time up to this before authenticating again.", unit="s", minimum=0
    )
    rejected_retry: bool = option(False, "Go on trying after a rejection.")
    open_mode: bool = option(False, "Take any master key. Never in production.")
    master_finger: str = option("", "The master key's fingerprint.")
    syndic_finger: str = option("", "That of the master above, for salt-syndic.")
    verify_master_pubkey_sign: bool = option(False, "Demand a signed master key.")
    always_verify_signature: bool = option(False, "Check it every time, not only when it changed.")
    master_sign_key_name: str = option("master_sign", "Name of the signing key.")
    autosign_grains: Sequence[str] = option([], "Grains sent along for automatic acceptance.")
    permissive_pki_access: bool = option(False, "Let the group read the keys.")
    keysize: int = option(2048, "New RSA keys.", unit="bit", minimum=2048, maximum=16384)
    encryption_algorithm: str = option(
        "OAEP-SHA1", "How keys are encrypted.", choices=ENCRYPTION_ALGORITHMS
    )
    signing_algorithm: str = option(
        "PKCS1v15-SHA1", "How messages are signed.", choices=SIGNING_ALGORITHMS
    )
    minion_sign_messages: bool = option(False, "Sign returns and events.")
    sign_pub_messages: bool = option(
        True, "Run only jobs with a good signature. Off in Salt's minions, on here."
    )
    tcp_authentication_retries: int = option(5, "Tries over TCP; -1 for ever.", minimum=-1)
    fips_mode: bool = option(False, "Only algorithms that FIPS allows.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReturnOptions:
    """Returns, requests, and how patience is measured."""

    return_retry_timer: float = option(
        5, "Wait at least this before a return is sent again.", unit="s", minimum=0
    )
    return_retry_timer_max: float = option(
        10, "Wait at most this before a return is sent again.", unit="s", minimum=0
    )
    return_retry_tries: int = option(3, "Tries of one return before it is put off.", minimum=0)
    request_channel_timeout: float = option(60, "How long a request may take.", unit="s", minimum=1)
    request_channel_tries: int = option(3, "Tries of one request.", minimum=1)
    recon_default: int = option(
        1000, "First wait before reconnecting; unset, it is tried sooner.", unit="ms", minimum=0
    )
    recon_max: int = option(10000, "Longest wait before reconnecting.", unit="ms", minimum=0)
    recon_randomize: bool = option(True, "Spread the first wait over all minions.")
    ping_interval: float = option(
        0, "Ping the master this often; 0 for never.", unit="min", minimum=0
    )
    random_startup_delay: float = option(
        0, "Wait a random time up to this at start.", unit="s", minimum=0
    )
    multifunc_ordered: bool = option(False, "Returns of several functions are keyed by index.")
    enable_legacy_startup_events: bool = option(True, "Also fire `minion_start`.")
    start_event_grains: Sequence[str] = option([], "Grains sent with the start event.")
    pub_ret: bool = option(True, "Send returns to the master.")
    max_event_size: int = option(1048576, "Larger events are cut.", unit="bytes", minimum=1024)
    return_: str | Sequence[str] = option(
        "", "Returners that every return also goes to.", name="return"
    )
    returners_retry_interval: float = option(
        30,
        "Between two tries to give a server what waits for it. Not in Salt, where it is lost.",
        unit="s",
        minimum=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GrainOptions:
    """Grains."""

    grains: Mapping[str, Any] = option({}, "Grains set here.")
    grains_cache: bool = option(False, "Keep grains on disk.")
    grains_cache_expiration: float = option(300, "For how long.", unit="s", minimum=0)
    grains_deep_merge: bool = option(False, "Merge maps of different sources.")
    grains_refresh_every: float = option(
        0, "Look for changed grains this often; 0 for never.", unit="min", minimum=0
    )
    grains_blacklist: Sequence[str] = option([], "Grains (globs) that are dropped.")
    enable_fqdns_grains: bool = option(False, "Look up all names of all addresses.")
    enable_gpu_grains: bool = option(True, "Look for graphics processors.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class FileOptions:
    """Where files come from, and how states are found and run."""

    http_connect_timeout: float = option(20.0, "For a connection to a web server.", unit="s")
    http_request_timeout: float = option(
        3600.0, "For all of a request to a web server, to its last byte.", unit="s", minimum=0
    )
    http_max_body: int = option(
        107374182400, "The largest file that is fetched from the web.", unit="bytes", minimum=0
    )
    file_client: str = option(
        "remote", "Files from the master, or from this machine.", choices=("remote", "local")
    )
    use_master_when_local: bool = option(False, "Keep the master even so.")
    file_roots: Mapping[str, Sequence[str]] = option(
        {"base": ["/srv/salt", "/srv/spm/salt"]}, "Directories of each environment; globs allowed."
    )
    fileserver_backend: Sequence[str] = option(["roots"], "File server back ends, in order.")
    file_buffer_size: int = option(262144, "A piece of a file.", unit="bytes", minimum=1)
    hash_type: str = option("sha256", "Hash of files.", choices=HASH_TYPES)
    file_ignore_regex: Sequence[str] = option([], "Files that are not served (search).")
    file_ignore_glob: Sequence[str] = option([], "Files that are not served (fnmatch).")
    fileserver_followsymlinks: bool = option(True, "Follow links.")
    fileserver_ignoresymlinks: bool = option(False, "Do not list links.")
    saltenv: str | None = option(None, "The environment, unless a call names one.")
    lock_saltenv: bool = option(False, "Calls may not name another one.")
    state_top: str = option("top.sls", "Name of the top file.")
    state_top_saltenv: str | None = option(None, "Read the top file of this environment only.")
    top_file: str = option("", "The top file for `startup_states: top`.")
    default_top: str = option("base", "Environment of the top file with `same`.")
    env_order: Sequence[str] = option([], "Order of environments when top files are merged.")
    top_file_merging_strategy: str = option(
        "merge", "How top files join.", choices=("merge", "same", "merge_all")
    )
    startup_states: str = option(
        "", "What to apply at start.", choices=("", "highstate", "sls", "top")
    )
    sls_list: Sequence[str] = option([], "The files for `startup_states: sls`.")
    renderer: str = option("jinja|yaml", "How SLS files are rendered.")
    renderer_whitelist: Sequence[str] = option([], "Only these renderers.")
    renderer_blacklist: Sequence[str] = option([], "Not these renderers.")
    jinja_time_limit: float = option(
        30, "Time on the processor for one template; 0 for no limit.", unit="s", minimum=0
    )
    failhard: bool = option(False, "Stop at the first failed state.")
    test: bool = option(False, "Dry run by default.")
    state_noop: bool | Sequence[str] = option(
        False, "Plan states and do nothing: all, or those of these SLS (globs). Not in Salt."
    )
    state_reports: bool = option(
        True, "Keep here what runs of states without a master have done. Not in Salt."
    )
    state_events: bool = option(False, "Fire an event per state.")
    state_mask_secrets: bool = option(True, "Mask secrets of the pillar in returns of states.")
    state_mask_keys: Sequence[str] = option(
        [], "Keys of the pillar (globs of `a:b`) to mask too; also as a pillar. Not in Salt."
    )
    state_queue: bool | str = option(False, "Let state runs wait for one another.")
    state_aggregate: bool | Sequence[str] = option(False, "Join states that can be joined.")
    state_max_parallel: int = option(
        0, "So many states marked `parallel` run at once; 0 is 16.", minimum=0
    )
    state_auto_order: bool = option(True, "Run states in the order they are written.")
    saltcheck_test_location: str = option(
        "saltcheck-tests", "Where the tests of a state are, below its directory."
    )
    saltcheck_parallel: bool = option(False, "Let `saltcheck` run tests at the same time.")
    saltcheck_processes: int = option(
        0, "So many tests at a time; 0 is one per processor, at most 16.", minimum=0
    )
    autoload_dynamic_modules: bool = option(True, "Synchronise custom code before states.")
    clean_dynamic_modules: bool = option(True, "Remove custom code that is gone.")
    backup_mode: str = option("", "Keep the old file: `minion`, `master` or `both`.")
    file_bucket: bool = option(True, "Keep what states replace in the file bucket.")
    file_bucket_max_bytes: int = option(
        104857600, "All that is kept there; the oldest goes first.", unit="bytes", minimum=1
    )
    file_bucket_file_max_bytes: int = option(
        10485760, "The largest file that is kept.", unit="bytes", minimum=1
    )
    file_bucket_keep_days: float = option(30.0, "How long it is kept.", unit="days", minimum=0)
    file_bucket_master: bool = option(
        False, "Push it to the master as well, which needs `file_recv`."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class PillarOptions:
    """Pillar."""

    pillar_roots: Mapping[str, Sequence[str]] = option(
        {"base": ["/srv/pillar", "/srv/spm/pillar"]},
        "Directories of each environment, with `file_client: local`.",
    )
    pillarenv: str | None = option(None, "Pillar of this environment only.")
    pillarenv_from_saltenv: bool = option(False, "As `saltenv`.")
    ext_pillar: Sequence[Any] = option([], "Further sources of pillar, with `file_client: local`.")
    ext_pillar_first: bool = option(False, "Ask them before the files.")
    pass_to_ext_pillars: Any = option(
        [],
        "A list of options, `name` or `a:b`, that sources of the master's `ext_pillar` get.",
    )
    pillar_source_merging_strategy: str = option(
        "smart", "How sources join.", choices=PILLAR_MERGES
    )
    pillar_merge_lists: bool = option(False, "Append lists when sources join.")
    pillar_includes_override_sls: bool = option(False, "Included files win.")
    pillar_safe_render_error: bool = option(True, "Keep details of errors out of pillar.")
    pillar_opts: bool = option(False, "Put the options into pillar, under `master`.")
    pillar_mask_output: bool = option(True, "Mask values that `pillar.*` prints.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MineOptions:
    """What the minion tells the others through the mine."""

    mine_functions: Mapping[str, Any] | Sequence[Any] | None = option(
        None, "Functions whose returns are stored on the master."
    )
    mine_interval: float = option(60, "Between two updates.", unit="min", minimum=0)
    mine_enabled: bool = option(True, "Update the mine.")
    mine_return_job: bool = option(False, "Record the updates as jobs.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class BeaconOptions:
    """What the minion keeps an eye on."""

    beacons: Mapping[str, Any] = option(
        {}, "Beacons by name, each a list of its options; `enabled` switches them all."
    )
    beacons_before_connect: bool = option(
        False, "Start them before a master answers; their events are kept until one does."
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ModuleOptions:
    """Which functions there are."""

    whitelist_modules: Sequence[str] = option([], "Only these modules.")
    disable_modules: Sequence[str] = option([], "Not these modules.")
    disable_returners: Sequence[str] = option([], "Not these returners.")
    providers: Mapping[str, Any] = option({}, "Which back end serves a module: `{pkg: aptpkg}`.")
    cmd_safe: bool = option(True, "`cmd.run` uses a shell only where asked to.")
    cmd_blacklist_glob: Sequence[str] = option([], "Commands (globs) that `cmd.*` refuses.")
    cmd_whitelist_glob: Sequence[str] = option([], "Only commands (globs) that `cmd.*` runs.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class MinionLogOptions(LogOptions):
    """As on the master, but for the name of the file."""

    log_file: str = option(
        "/var/log/salt/minion",
        "The log file; `file:///dev/log`, `udp://host:port` or `tcp://host:port` log to syslog.",
        rooted=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MinionConfig:
    """All that a minion was told, checked.

    ``extra`` has the options that saltlite does not know (modules read them); ``source`` says where
    each option that is not a default was set.
    """

    network: NetworkOptions = field(default_factory=NetworkOptions)
    identity: IdentityOptions = field(default_factory=IdentityOptions)
    paths: PathOptions = field(default_factory=PathOptions)
    process: ProcessOptions = field(default_factory=ProcessOptions)
    auth: AuthOptions = field(default_factory=AuthOptions)
    returns: ReturnOptions = field(default_factory=ReturnOptions)
    grains: GrainOptions = field(default_factory=GrainOptions)
    files: FileOptions = field(default_factory=FileOptions)
    pillar: PillarOptions = field(default_factory=PillarOptions)
    mine: MineOptions = field(default_factory=MineOptions)
    beacons: BeaconOptions = field(default_factory=BeaconOptions)
    modules: ModuleOptions = field(default_factory=ModuleOptions)
    output: OutputOptions = field(default_factory=OutputOptions)
    log: MinionLogOptions = field(default_factory=MinionLogOptions)
    extra: Mapping[str, Any] = field(default_factory=dict)
    source: Mapping[str, OptionSource] = field(default_factory=dict)


SECTIONS = find_sections(MinionConfig)
"""The sections by their name in MinionConfig, in the order of the reference page."""
