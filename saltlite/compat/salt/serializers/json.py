"""``salt.serializers.json``: the same as ``salt.utils.json``."""

from saltlite.compat.salt.utils.json import *  # noqa: F403 - all of it
