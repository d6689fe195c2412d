"""Look after the minion itself: its jobs, its grains and pillar, its keys and caches."""

from __future__ import annotations

from collections.abc import Mapping

PARTS: Mapping[str, tuple[str, ...]] = {
    "jobs": (
        "find_cached_job",
        "find_job",
        "is_running",
        "kill_all_jobs",
        "kill_job",
        "received",
        "running",
        "signal_job",
        "term_all_jobs",
        "term_job",
    ),
    "refreshing": (
        "pillar_refresh",
        "refresh_beacons",
        "refresh_grains",
        "refresh_matchers",
        "refresh_modules",
        "refresh_pillar",
    ),
    "syncing": (
        "list_extmods",
        "mmodule",
        "sync_all",
        "sync_beacons",
        "sync_clouds",
        "sync_engines",
        "sync_executors",
        "sync_grains",
        "sync_log_handlers",
        "sync_matchers",
        "sync_modules",
        "sync_output",
        "sync_outputters",
        "sync_pillar",
        "sync_proxymodules",
        "sync_renderers",
        "sync_returners",
        "sync_sdb",
        "sync_serializers",
        "sync_states",
        "sync_thorium",
        "sync_tops",
        "sync_utils",
        "sync_wrapper",
    ),
    "masterside": ("cmd", "cmd_iter", "runner", "wheel"),
    "upkeep": ("clear_cache", "clear_job_cache", "regen_keys", "revoke_auth"),
}
