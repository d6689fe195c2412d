"""``salt.serializers.msgpack``: the same as ``salt.utils.msgpack``."""

from saltlite.compat.salt.utils.msgpack import *  # noqa: F403 - all of it
