"""The commands: what is typed and what is printed. Nothing else prints or exits."""

from saltlite.cli.lazy import put_off

put_off()
