"""Rules of iptables: from the options of a state to words, and from ``iptables-save`` to maps.

All of this is pure. Source of the order of options and of the names: observed on Salt 3006.30.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.errors import FunctionError

PROGRAMS = {"ipv4": "iptables", "ipv6": "ip6tables"}

_DECLARED = """
name state save table chain position family rules aggregate order require require_in watch
watch_in onchanges onfail onlyif unless prereq use listen names fun sfun failhard
"""
"""What a state is declared with and is no option of a rule."""

_OF_TARGETS = """
add-set and-mark and-tos checksum-fill clamp-mss-to-pmtu clustermac ctevents ctmask del-set
dst-pfx ecn-tcp-remove exist expevents gateway hash-init hashmode helper hl-dec hl-inc hl-set
hmark-dport-mask hmark-dst-prefix hmark-mod hmark-offset hmark-proto-mask hmark-rnd
hmark-sport-mask hmark-src-prefix hmark-tuple label led-always-blink led-delay led-trigger-id
local-node log-ip-options log-level log-prefix log-tcp-options log-tcp-sequence log-uid map-set
mask new nfmask nflog-group nflog-prefix nflog-range nflog-threshold nodst notrack on-ip on-port
or-mark or-tos persistent queue-balance queue-bypass queue-cpu-fanout queue-num random
random-fully rateest-ewmalog rateest-interval rateest-name reject-with reset restore
restore-mark save-mark selctx set-class set-dscp set-dscp-class set-mark set-mss set-tos
set-xmark src-pfx strip-options timeout to to-destination to-port to-ports to-source total-nodes
tproxy-mark ttl-dec ttl-inc ttl-set type ulog-cprange ulog-nlgroup ulog-prefix ulog-qthreshold
xor-mark xor-tos zone zone-orig zone-reply
"""
"""Options of targets, which iptables takes only behind the target."""

_NOT_OF_RULES = frozenset(_DECLARED.split())
_AFTER_JUMP = frozenset(_OF_TARGETS.split())

_SHORT = {"if": "-i", "of": "-o"}

_LONG = {
    "-p": "protocol",
    "-s": "source",
    "-d": "destination",
    "-j": "jump",
    "-g": "goto",
    "-m": "match",
    "-i": "in-interface",
    "-o": "out-interface",
    "-f": "fragment",
    "--dport": "destination-port",
    "--sport": "source-port",
    "--dports": "destination-ports",
    "--sports": "source-ports",
}

_NAMED = frozenset({"pknock", "quota2", "recent"})
"""The matches with a ``--name``, which states call ``name_``."""


_RENAMED = {"name": "name_", "state": "connstate"}
"""Options of rules that a state takes by another word, since these are its own."""


def rule_text(options: Mapping[str, object]) -> str:
    """The words of a rule as a shell would take them, from the options of a state.

    Raises:
        FunctionError: several ports without a protocol.
    """
    rest = {
        str(key): value
        for key, value in options.items()
        if key not in _NOT_OF_RULES and not str(key).startswith("__")
    }
    words = [_negate_word(_SHORT[key], rest.pop(key)) for key in ("if", "of") if key in rest]
    protocol = next((rest.pop(key) for key in ("proto", "protocol") if key in rest), None)
    if protocol is not None:
        words.append(_negate_word("-p", protocol))
    words += _match_words(rest)
    words += _port_words(rest, has_protocol=protocol is not None or "p" in rest)
    if "comment" in rest:
        words += _module_words(words, "comment", f"--comment {_quote_value(rest.pop('comment'))}")
    return " ".join([*words, *_other_words(rest)])


def _match_words(rest: dict[str, Any]) -> list[str]:
    given = rest.pop("match", None)
    given = rest.pop("m", None) if given is None else given
    names = given if isinstance(given, (list, tuple)) else str(given or "").split(",")
    words = []
    for name in (str(each).strip() for each in names):
        words += [f"-m {name}"] if name else []
        if name in _NAMED and "name_" in rest:  # ``name`` is that of the state
            words.append(f"--name {rest.pop('name_')}")
    sets = rest.pop("match-set", ())
    sets = [sets] if isinstance(sets, str) else sets
    words += [f"-m set {_negate_word('--match-set', each)}" for each in sets]
    if "connstate" in rest:
        state = rest.pop("connstate")
        state = ",".join(map(str, state)) if isinstance(state, (list, tuple)) else state
        words += _module_words(words, "state", _negate_word("--state", state))
    return words


def _port_words(rest: dict[str, Any], *, has_protocol: bool) -> list[str]:
    words = [_negate_word(f"--{key}", rest.pop(key)) for key in ("dport", "sport") if key in rest]
    for key in ("dports", "sports"):
        if key not in rest:
            continue
        if not has_protocol:
            raise FunctionError("Error: protocol must be specified")
        ports = rest.pop(key)
        ports = ",".join(map(str, ports)) if isinstance(ports, (list, tuple)) else str(ports)
        words += _module_words(words, "multiport", _negate_word(f"--{key}", ports))
    return words


def _module_words(words: list[str], name: str, option: str) -> list[str]:
    """An option of a match, and the match before it unless it is there already."""
    return [option] if f"-m {name}" in words else [f"-m {name}", option]


def _other_words(rest: dict[str, Any]) -> list[str]:
    if rest.get("set"):
        rest["match-set"] = rest.pop("set")
    targets = [(key, rest.pop(key)) for key in sorted(_AFTER_JUMP & rest.keys())]
    jump = next((rest.pop(key) for key in ("jump", "j") if key in rest), None)
    words = [_negate_word(_dash_key(key), value) for key, value in rest.items()]
    if jump is not None:
        words.append(f"--jump {jump}")
    return words + [_option_word(f"--{key}", value) for key, value in targets]


def _dash_key(key: str) -> str:
    return f"-{key}" if len(key) == 1 else f"--{key}"


def _option_word(name: str, value: object) -> str:
    if value is None or value == "":
        return name
    text = str(value)
    return f"{name} {_quote_value(text) if ' ' in text else text}"


def _negate_word(name: str, value: object) -> str:
    """``! name value`` for a value that begins with ``!`` or ``not``."""
    if value is None or value == "":
        return name
    text = str(value)
    for sign in ("!", "not "):
        if text.startswith(sign):
            return f"! {name} {text.removeprefix(sign).strip()}"
    return f"{name} {text}"


def _quote_value(value: object) -> str:
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'


def parse_saved(text: str) -> dict[str, dict[str, Any]]:
    """The output of ``iptables-save``: chains by table, with policy, counts and rules.

    A rule is a map of long option names to lists; a negated value begins with ``!``.
    """
    tables: dict[str, dict[str, Any]] = {}
    chains: dict[str, Any] = {}
    for line in text.splitlines():
        if line.startswith("*"):
            chains = tables.setdefault(line[1:].strip(), {})
        elif line.startswith(":"):
            chain, policy, counts = line[1:].split()
            packets, _, size = counts.strip("[]").partition(":")
            chains[chain] = {
                "policy": policy,
                "packet count": packets,
                "byte count": size,
                "rules": [],
                "rules_comment": {},
            }
        elif line.startswith("-A "):
            _, chain, *words = shlex.split(line)
            rule = _parse_rule(words)
            chains[chain]["rules"].append(rule)
            if "comment" in rule:
                chains[chain]["rules_comment"][rule["comment"][0]] = rule
    return tables


def _parse_rule(words: list[str]) -> dict[str, list[str]]:
    rule: dict[str, list[str]] = {}
    sign, rest = "", list(words)
    while rest:
        word = rest.pop(0)
        if word == "!":
            sign = "! "
            continue
        values: list[str] = []
        while rest and not rest[0].startswith("-") and rest[0] != "!":
            values.append(rest.pop(0))
        name = _LONG.get(word, word.lstrip("-"))
        rule.setdefault(name, []).append(sign + " ".join(values))
        sign = ""
    return rule


def rule_options(rule: Mapping[str, Sequence[str]]) -> dict[str, Any] | None:
    """The options with which a state declares a rule of :func:`parse_saved`.

    ``None`` where an option stands in it twice, which no state can say.
    """
    options: dict[str, Any] = {}
    for name, values in rule.items():
        if name == "match":  # a set brings its own match
            options[name] = [each for each in values if each != "set" or "match-set" not in rule]
        elif name == "match-set":
            options[name] = list(values)
        elif len(values) > 1:
            return None
        else:
            options[_RENAMED.get(name, name)] = values[0]
    return {name: value for name, value in options.items() if value != []}


def without_counts(text: str) -> list[str]:
    """What ``iptables-save`` says without times and numbers: what is to be compared."""
    lines = (line.strip() for line in text.splitlines() if not line.startswith("#"))
    return [line.rpartition(" [")[0] if line.startswith(":") else line for line in lines if line]
