"""The commands: what is typed and what is printed. Nothing else prints or exits."""

from saltlite.cli.deferred_imports import defer_imports
from saltlite.cli.process_start import prepare

prepare()
defer_imports()
