"""SELinux: what its tools print, and where the kernel and its configuration are."""
