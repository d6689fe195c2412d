"""Names of Salt's options that saltlite has no section for, so that they are not taken for typos.

Read only when a file has an option that saltlite does not know, and by daemons at their start.
Source: the names in ``salt --config-dump`` and ``test.get_opts`` of 3006.30 and 3008.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_NAMES = """
archive_jobs arg args_stdin auth_dirs auth_events_pend_autosign_grains auth_mode auth_retries
azurefs_update_interval cache cache_dirs cache_sreqs caller
cluster_auto_replace_voters cluster_demote_cooldown cluster_encryption_algorithm
cluster_isolated_filesystem cluster_max_log_size cluster_max_voters
cluster_min_voters cluster_mode cluster_peers cluster_pool_port
cluster_pub_fingerprint cluster_secret cluster_voter_health_check_interval cluster_voter_timeout
con_cache config_dir cython_enable decrypt_pillar decrypt_pillar_default decrypt_pillar_delimiter
decrypt_pillar_renderers default_user detect_remote_minions disable_aes_with_tls
disabled_requisites discovery django_auth_path django_auth_settings doc dummy_pub
eauth_tokens.cache_driver eauth_tokens.cluster_id enable_grains enable_ssh_minions
enable_zip_modules enforce_mine_cache environment event_match_type
event_publisher_niceness events executors_dirs extmod_blacklist extmod_whitelist
features file_recv_quota fileserver_dirs fileserver_update_niceness fileserver_verify_config
force_color fun git_pillar_base git_pillar_branch git_pillar_depth
git_pillar_disable_saltenv_mapping git_pillar_env git_pillar_fallback git_pillar_global_lock
git_pillar_includes git_pillar_insecure_auth git_pillar_passphrase git_pillar_password
git_pillar_privkey git_pillar_provider git_pillar_proxy git_pillar_pubkey git_pillar_ref_types
git_pillar_refspecs git_pillar_root git_pillar_ssl_verify git_pillar_update_interval
git_pillar_user git_pillar_verify_config gitfs_base gitfs_depth gitfs_disable_saltenv_mapping
gitfs_fallback gitfs_global_lock gitfs_insecure_auth gitfs_mountpoint gitfs_passphrase
gitfs_password gitfs_privkey gitfs_provider gitfs_proxy gitfs_pubkey gitfs_ref_types
gitfs_refspecs gitfs_remotes gitfs_root gitfs_saltenv gitfs_saltenv_blacklist
gitfs_saltenv_whitelist gitfs_ssl_verify gitfs_update_interval gitfs_user global_state_conditions
gpg_cache gpg_cache_backend gpg_cache_ttl gpg_decrypt_must_succeed gpg_keydir grains_run
hard_crash hgfs_base hgfs_branch_method hgfs_mountpoint hgfs_remotes hgfs_root
hgfs_saltenv_blacklist hgfs_saltenv_whitelist hgfs_update_interval
include ipc_mode ipc_write_buffer job_cache_store_endtime
key_cache keys.cache_driver local log_fmt_minion_id log_rotate_backup_count log_rotate_max_bytes
maintenance_niceness master_async_mworker master_mworker_max_inflight master_roots master_stats
master_stats_event_iter master_tops master_tops_first memcache_debug memcache_expire_seconds
memcache_full_cleanup memcache_max_items metrics min_extra_mods minion_memory_headroom
minion_memory_max minionfs_blacklist minionfs_env minionfs_mountpoint minionfs_update_interval
minionfs_whitelist modules_max_memory multiprocessing_logging mworker_niceness
mworker_queue_niceness netapi_allow_raw_shell no_color no_parse no_proxy
no_return_event optimization_order output_file_append pass_dir pass_gnupghome
pass_strict_fetch pass_variable_prefix password pillar pillar.cache_driver
pillar_dirs pillar_version print_metadata profiling_enabled profiling_path proxy proxy_host
proxy_password proxy_port proxy_username pub_server_niceness pub_server_write_queue_size
publish_drain_timeout queue_dirs range_server reactor refresh_grains_cache regen_thin
remote_minions_port
req_server_niceness request_server_aes_session resource_pillar_key resources resources_dispatch
resources_tgt resources_tgt_type rest_wsgi retcode_passthrough returner
roots_update_interval roster_defaults roster_dirs roster_file rosters runner_returns
s3fs_update_interval saltpip_allow_find_links saltpip_disable_pip_version_check saltpip_no_deps
saltpip_no_index saltpip_use_pythonpath schedule schedule_returner scheduler_before_connect
sdb_dirs search
selected_output_option serial serializers_dirs skip_grains snapper_states snapper_states_config
sock_pool_size sqlite_queue_dir ssh_config_file ssh_identities_only ssh_keepalive
ssh_keepalive_count_max ssh_keepalive_interval ssh_list_nodegroups ssh_log_file ssh_merge_pillar
ssh_minion_opts ssh_passwd ssh_port ssh_priv_passwd ssh_scan_ports ssh_scan_timeout ssh_sudo
ssh_sudo_user ssh_timeout ssh_use_home_key ssh_user ssl svnfs_branches
svnfs_mountpoint svnfs_remotes svnfs_root svnfs_saltenv_blacklist svnfs_saltenv_whitelist
svnfs_tags svnfs_trunk svnfs_update_interval syndic_dir
syndic_retries
tcp_master_pub_port tcp_master_publish_pull tcp_master_pull_port tcp_master_workers tcp_pub_port
tcp_pull_port tcp_reconnect_backoff thin_exclude_saltexts thin_extra_mods thin_saltext_allowlist
thin_saltext_blocklist thorium thorium_interval thorium_roots thorium_top thoriumenv
top_dirs tracing unique_jid update_restart_services update_url use_os_truststore username
webhook_url wheel_dirs whitelist_state_modules winrepo_branch winrepo_cache_expire_max
winrepo_cache_expire_min winrepo_cachefile winrepo_depth winrepo_dir winrepo_dir_ng
winrepo_fallback winrepo_insecure_auth winrepo_installer_cache_expire winrepo_passphrase
winrepo_password winrepo_privkey winrepo_provider winrepo_proxy winrepo_pubkey winrepo_refspecs
winrepo_remotes winrepo_remotes_ng winrepo_source_dir winrepo_ssl_verify winrepo_user worker_pools
worker_pools_enabled
"""

OTHER_OPTIONS = frozenset(_NAMES.split())

_UNREAD = """
auth_safemode eauth_tokens
fileserver_interval fips_mode
id_function master_tries mine_return_job
minion_restart_command
pillar_mask_output publish_timeout resolve_dns_fallback restart_on_error
return_retry_tries source_address source_interface_name source_publish_port source_ret_port
tcp_authentication_retries
verify_env zmq_monitor
"""

WITHOUT_EFFECT = frozenset(_UNREAD.split())
"""Options that are checked and shown to modules, but that nothing obeys yet.

A test holds this to the code, and docs/differences.md to this.
"""

_OBEYED_NAMES = """
auth_dirs
decrypt_pillar decrypt_pillar_default decrypt_pillar_delimiter decrypt_pillar_renderers
executors_dirs extmod_blacklist extmod_whitelist git_pillar_base git_pillar_branch git_pillar_env
git_pillar_fallback git_pillar_includes git_pillar_insecure_auth git_pillar_password
git_pillar_privkey git_pillar_proxy git_pillar_refspecs git_pillar_root git_pillar_ssl_verify
git_pillar_update_interval git_pillar_user git_pillar_verify_config gitfs_base
gitfs_disable_saltenv_mapping gitfs_fallback gitfs_insecure_auth gitfs_mountpoint gitfs_password
gitfs_privkey gitfs_proxy gitfs_ref_types gitfs_refspecs gitfs_remotes gitfs_root gitfs_saltenv
gitfs_saltenv_blacklist gitfs_saltenv_whitelist gitfs_ssl_verify gitfs_update_interval gitfs_user
gpg_decrypt_must_succeed gpg_keydir include master_tops master_tops_first minionfs_blacklist
minionfs_env minionfs_mountpoint minionfs_whitelist pillar_dirs sdb_dirs top_dirs wheel_dirs
"""

_OBEYED = frozenset(_OBEYED_NAMES.split())
"""Those of the options without a section that are obeyed all the same, where they are used."""

_OF_BOTH = frozenset(("reactor", "schedule", "schedule_returner"))
"""A minion's reactor is an engine, and its schedule may come from the pillar too."""

_OBEYED_BY = {
    "minion": _OBEYED | _OF_BOTH | {"scheduler_before_connect"},
    "master": _OBEYED | _OF_BOTH | {"archive_jobs"},
}

_OF_THE_OTHERS = {
    "master": frozenset(("clean_dynamic_modules", "enable_gpu_grains", "file_client")),
    "minion": frozenset(
        (
            "auto_accept", "autosign_timeout", "ext_job_cache", "file_recv",
            "file_recv_max_size", "interface", "on_demand_ext_pillar", "pillar_cache",
            "pillar_cache_backend", "pillar_cache_ttl", "publisher_acl",
            "publisher_acl_blacklist", "reactor_niceness", "reactor_refresh_interval",
            "reactor_worker_hwm", "reactor_worker_threads", "salt_cp_chunk_size",
        )
    ),
}  # fmt: skip
"""Options that Salt's daemon of this role has too, but that here are the other one's."""

LIKENESS = 0.88
"""How like a name must be to count as misspelt: one letter in eight or so."""


def without_effect(places: Mapping[str, object], role: str) -> str:
    """The warning that goes with options that are set, ``""`` if none of them is without effect.

    ``places`` are the names with the place where each is set; ``role`` is whose they are.
    """
    unread = [
        f"{name} ({places[name]})" for name in sorted(places) if is_without_effect(name, role)
    ]
    return f"Set, but without effect yet: {', '.join(unread)}" if unread else ""


def list_needless(places: Mapping[str, object]) -> list[str]:
    """What a master says of options for Salt's own cluster, which this one does without."""
    return [
        f"{name} ({places[name]}) is not needed: the nodes of a cluster meet in PostgreSQL"
        for name in sorted(places)
        if _is_needless(name)
    ]


def _is_needless(name: str) -> bool:
    return name.startswith("cluster_") and name in OTHER_OPTIONS


def is_without_effect(name: str, role: str) -> bool:
    """Whether an option is one of Salt's that the daemon of this role does not obey."""
    if role == "master" and _is_needless(name):
        return False
    if name in WITHOUT_EFFECT or name in _OF_THE_OTHERS[role]:
        return True
    return name in OTHER_OPTIONS and name not in _OBEYED_BY[role]


def nearest(name: str, options: Iterable[str]) -> str | None:
    """The option that ``name`` looks like; ``None`` if it is one of Salt's, or like none."""
    if name in OTHER_OPTIONS or len(name) < 4:
        return None
    import difflib

    names = [*options, *OTHER_OPTIONS]
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=LIKENESS)
    return close[0] if close else None
