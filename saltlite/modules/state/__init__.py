"""``state.*``: compile, show and run states; watch the minion's own event bus."""

from __future__ import annotations

from collections.abc import Mapping

OUTPUTTERS = dict.fromkeys(
    (
        *("apply", "audit", "test", "highstate", "sls", "sls_id", "single", "top", "template"),
        *("template_str", "request", "run_request", "check_request"),
    ),
    "highstate",
)

PARTS: Mapping[str, tuple[str, ...]] = {
    "applying": (
        "apply_",
        "audit",
        "high",
        "highstate",
        "low",
        "single",
        "sls",
        "sls_id",
        "template",
        "template_str",
        "test",
        "top",
    ),
    "showing": (
        "id_exists",
        "running",
        "show_highstate",
        "show_low_sls",
        "show_lowstate",
        "show_sls",
        "show_state_usage",
        "show_states",
        "show_top",
        "sls_exists",
    ),
    "checking": ("check", "diff", "graph", "verify"),
    "control": (
        "clear_cache",
        "disable",
        "enable",
        "get_pauses",
        "list_disabled",
        "pause",
        "resume",
        "soft_kill",
    ),
    "requests": ("check_request", "clear_request", "request", "run_request"),
    "watching": ("event",),
}
