"""The table of host names, ``/etc/hosts``."""
