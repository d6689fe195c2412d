"""The commands: what is typed and what is printed. Nothing else prints or exits."""

from saltlite.cli.lazy import put_off
from saltlite.cli.process_start import prepare

prepare()
put_off()
