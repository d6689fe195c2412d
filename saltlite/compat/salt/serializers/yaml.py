"""``salt.serializers.yaml``: the same as ``salt.utils.yaml``."""

from saltlite.compat.salt.utils.yaml import *  # noqa: F403 - all of it
