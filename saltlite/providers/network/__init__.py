"""The machine's network: pure parsers of commands' output and of files below ``/proc/net``."""
