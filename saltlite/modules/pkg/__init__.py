"""Install, upgrade and remove packages, and ask about them.

One module for all package managers: what differs is in ``saltlite/providers/pkg``, chosen by the
grain ``os_family`` or by the option ``providers``. A function that this system's package manager
cannot serve is not available. Source: observed on Salt 3006.30 (Debian).
"""

from __future__ import annotations

from collections.abc import Mapping

PARTS: Mapping[str, tuple[str, ...]] = {
    "asking": (
        "available_version",
        "info_installed",
        "latest_version",
        "list_pkgs",
        "list_repo_pkgs",
        "list_upgrades",
        "normalize_name",
        "parse_arch",
        "refresh_db",
        "show",
        "upgrade_available",
        "version",
        "version_cmp",
    ),
    "changing": ("autoremove", "download", "install", "purge", "remove", "upgrade"),
    "files": (
        "file_dict",
        "file_list",
        "list_downloaded",
        "owner",
        "services_need_restart",
        "verify",
        "which",
    ),
    "groups": ("group_diff", "group_info", "group_install", "group_list", "groupinstall"),
    "holding": ("get_selections", "hold", "list_holds", "list_locks", "set_selections", "unhold"),
    "patches": ("list_installed_patches", "list_patches"),
    "repositories": (
        "add_repo_key",
        "del_repo",
        "del_repo_key",
        "get_repo",
        "get_repo_keys",
        "list_repos",
        "mod_repo",
    ),
}
"""The functions, by the file that has them."""
