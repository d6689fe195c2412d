"""Look at files, change them, and make them what they shall be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_NAMES = {
    "names": "basename dirname join normpath pardir",
    "looking": (
        "access directory_exists diskusage file_exists find get_devmm is_blkdev is_chrdev "
        "is_fifo is_hardlink is_link lstat open_files path_exists_glob readdir readlink stats "
        "statvfs"
    ),
    "ownership": (
        "check_perms chgrp chown get_gid get_group get_mode get_uid get_user gid_to_group "
        "group_to_gid lchown set_mode uid_to_user user_to_uid"
    ),
    "labels": "chattr get_selinux_context lsattr restorecon set_selinux_context",
    "sums": "check_hash extract_hash get_hash get_source_sum get_sum",
    "content": "append prepend read seek_read seek_write touch truncate write",
    "searching": "contains contains_glob contains_regex grep search sed_contains",
    "editing": "blockreplace comment comment_line line patch psed replace sed uncomment",
    "making": (
        "link makedirs makedirs_perms mkdir mknod mknod_blkdev mknod_chrdev mknod_fifo symlink"
    ),
    "moving": "copy move remove rename rmdir",
    "backups": (
        "delete_backup list_backup list_backups list_backups_dir remove_backup restore_backup"
    ),
    "managed": (
        "apply_template_on_contents check_file_meta check_managed check_managed_changes "
        "get_diff get_managed manage_file source_list"
    ),
}
PARTS: Mapping[str, Sequence[str]] = {part: names.split() for part, names in _NAMES.items()}
