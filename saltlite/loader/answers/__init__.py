"""What users' files get for ``import salt.…``: our own code under Salt's names.

Names, arguments and results are Salt's, as its documentation and its users' files show them. Only
what public trees of states import is here. Nothing in saltlite itself uses these modules.
"""

from __future__ import annotations

from collections.abc import Mapping

ANSWERS: Mapping[str, str] = {
    "salt.client": "client",
    "salt.config": "config",
    "salt.defaults.exitcodes": "exitcodes",
    "salt.exceptions": "exceptions",
    "salt.ext.six": "six",
    "salt.ext.six.moves": "six_moves",
    "salt.fileclient": "fileclient",
    "salt.loader": "loaders",
    "salt.output": "output",
    "salt.serializers.json": "json_text",
    "salt.serializers.msgpack": "msgpack_bytes",
    "salt.serializers.yaml": "yaml_text",
    "salt.syspaths": "syspaths",
    "salt.utils.args": "args",
    "salt.utils.data": "data",
    "salt.utils.dateutils": "dateutils",
    "salt.utils.decorators": "decorators",
    "salt.utils.decorators.path": "decorators_path",
    "salt.utils.dictupdate": "dictupdate",
    "salt.utils.event": "event",
    "salt.utils.files": "files",
    "salt.utils.functools": "functions",
    "salt.utils.hashutils": "hashutils",
    "salt.utils.http": "http",
    "salt.utils.jid": "jid",
    "salt.utils.json": "json_text",
    "salt.utils.msgpack": "msgpack_bytes",
    "salt.utils.network": "network",
    "salt.utils.odict": "odict",
    "salt.utils.path": "path",
    "salt.utils.platform": "platform",
    "salt.utils.process": "process",
    "salt.utils.stringutils": "stringutils",
    "salt.utils.systemd": "systemd",
    "salt.utils.url": "url",
    "salt.utils.user": "user",
    "salt.utils.validate.net": "validate_net",
    "salt.utils.versions": "versions",
    "salt.utils.yaml": "yaml_text",
    "salt.version": "version",
}
"""Salt's name of a module → ours in this package."""

STANDARD: Mapping[str, str] = {
    f"salt.ext.six.moves.{name}": place
    for name, place in (
        ("builtins", "builtins"),
        ("configparser", "configparser"),
        ("http_client", "http.client"),
        ("queue", "queue"),
        ("urllib", "urllib"),
        ("urllib.error", "urllib.error"),
        ("urllib.parse", "urllib.parse"),
        ("urllib.request", "urllib.request"),
    )
}
"""Names below ``salt`` that stand for modules of Python."""
