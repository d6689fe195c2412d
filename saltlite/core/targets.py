"""Who is meant: one set of matchers, for the master's expectation and the minion's own decision.

Pure: an expression, and facts about minions. A target is compiled once and then asked about each
minion. Where the master does not know (no cached grains or pillar) the answer is ``None``; answers
are combined as in Kleene's logic, so that "unknown" never turns into "not meant".

Source: docs/command-line.md#targets; tests/cases/data/targets.json has its tables, and answers of
real Salt.
"""

from __future__ import annotations

import copy
import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from saltlite.core.dataclasses import dataclass, field
from saltlite.core.lazyregex import regex
from saltlite.core.numbers import is_digits
from saltlite.core.patterns import MAX_PATTERN_CHARS, QUICK_STEPS, compile_pattern
from saltlite.errors import TargetError

Answer = bool | None
"""Meant, not meant, or (``None``) not known."""

Matcher = Callable[["MinionFacts"], Answer]

NO_GROUPS: Mapping[str, Any] = {}

MAX_WORDS = 100_000
"""Words of a compound expression after all nodegroups are put in."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target as it travels: the expression, its kind, and the delimiter of nested keys."""

    tgt: str | Sequence[str]
    tgt_type: str = "glob"
    delimiter: str = ":"


@dataclass(frozen=True, slots=True)
class MinionFacts:
    """What is known of one minion; ``None`` where the master has nothing cached."""

    id: str
    grains: Mapping[str, Any] | None = None
    pillar: Mapping[str, Any] | None = None


class _NoFacts(dict[str, Any]):
    """Grains or pillar that are taken for empty since nobody knows them."""


NO_FACTS = _NoFacts()


class FactsUnread(Exception):
    """Grains or pillar that are read with the first look at them turn out not to be readable."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The minions that a job is waited for, and listed ids that the master does not know.

    ``unsure`` are those that nothing is known about which would say that they are not meant. Nobody
    waits for them, but they may return. ``problem`` says what is wrong with a malformed target.
    """

    minions: set[str] = field(default_factory=set)
    missing: list[str] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)
    problem: str = ""

    @property
    def all_asked(self) -> set[str]:
        """All that may find that they are meant."""
        return self.minions | self.unsure


def matches(
    target: Target, facts: MinionFacts, *, nodegroups: Mapping[str, object] = NO_GROUPS
) -> bool:
    """Whether this minion is meant: its own decision, on live data.

    Raises:
        TargetError: the target is not well formed; nobody is meant.
    """
    # A minion knows itself: what it does not have is not there, and not unknown.
    known = facts
    if not facts.grains or facts.pillar is None or facts.pillar is NO_FACTS:
        known = MinionFacts(facts.id, facts.grains or {}, facts.pillar or {})
    return _compile_cached(target, nodegroups).matcher(known) is True


def find_expected(
    target: Target,
    facts_of_all: Iterable[MinionFacts],
    *,
    greedy: bool = True,
    nodegroups: Mapping[str, object] = NO_GROUPS,
) -> Expected:
    """The minions that the master expects to be meant.

    ``greedy`` takes minions without cached grains or pillar for minions that have none, and expects
    them where their addresses are asked for, as Salt does; mine, peer and access checks turn it
    off. As in Salt, a parenthesis that is not closed is closed here, though not on minions.

    Raises:
        TargetError: the target is not well formed; nobody is meant.
    """
    compiled = _compile_target(target, nodegroups, lenient=True)
    minions: set[str] = set()
    unsure: set[str] = set()
    unknown = dict.fromkeys(compiled.listed)
    for facts in facts_of_all:
        unknown.pop(facts.id, None)
        answer = _ask_matcher(compiled.matcher, facts)
        if answer or (answer is None and greedy and _is_presumed(compiled.matcher, facts)):
            minions.add(facts.id)
        elif answer is None:
            unsure.add(facts.id)
    # A word that was taken for an id is no mistake if there is such a minion.
    problem = "" if minions or unsure else compiled.doubt
    return Expected(minions, list(unknown), unsure, problem)


def _is_presumed(matcher: Matcher, facts: MinionFacts) -> bool:
    """Whether a minion of which too little is known is meant if what is not known is not there."""
    grains = NO_FACTS if facts.grains is None else facts.grains
    pillar = NO_FACTS if facts.pillar is None else facts.pillar
    try:
        return matcher(MinionFacts(facts.id, grains, pillar)) is not False
    except FactsUnread:
        # A cache that cannot be read is as good as none.
        return matcher(MinionFacts(facts.id, NO_FACTS, NO_FACTS)) is not False


def _ask_matcher(matcher: Matcher, facts: MinionFacts) -> Answer:
    try:
        return matcher(facts)
    except FactsUnread:
        return None


def looks_at(tgt_type: str) -> tuple[bool, bool]:
    """Whether targets of a kind may look at grains, and at pillar."""
    by_name = tgt_type in ("glob", "list", "pcre")
    by_grains = tgt_type in ("grain", "grain_pcre", "ipcidr")
    by_pillar = tgt_type in ("pillar", "pillar_pcre", "pillar_exact")
    return not (by_name or by_pillar), not (by_name or by_grains)


_EXACT_KINDS: Mapping[str, str] = {
    "pillar": "pillar_exact",
    "pillar_pcre": "pillar_exact",
    "compound": "compound_pillar_exact",
}


def compare_whole(target: Target, *, nodegroups: Mapping[str, object] = NO_GROUPS) -> Target:
    """The target with whole values where it compares some of pillar; any other as it is.

    With patterns one finds out the pillar of minions letter by letter.
    """
    kind = _EXACT_KINDS.get(target.tgt_type, target.tgt_type)
    # Only where it matters: no minion of Salt knows the other kind.
    if kind == "compound_pillar_exact" and not _has_pillar_term(target, nodegroups):
        return target
    return Target(target.tgt, kind, target.delimiter)


def is_compared_whole(tgt_type: str) -> bool:
    """Whether a target of this kind compares whole values of pillar; no minion of Salt knows it."""
    return tgt_type in _EXACT_KINDS.values()


def has_pillar_pattern(target: Target) -> bool:
    """Whether a target compares pillar with a pattern of its own; nodegroups are the master's."""
    if target.tgt_type == "pillar":
        return isinstance(target.tgt, str) and _MAGIC.search(target.tgt) is not None
    if target.tgt_type != "compound":
        return target.tgt_type == "pillar_pcre"
    return any(
        letter == "J" or _MAGIC.search(pattern) is not None
        for letter, pattern in _pillar_terms(_parse_words(target.tgt))
    )


def _has_pillar_term(target: Target, nodegroups: Mapping[str, object]) -> bool:
    try:
        words = list(_expand_nodegroups(_parse_words(target.tgt), nodegroups, ()))
    except TargetError:
        return True  # whoever compiles it will say what is wrong
    return any(_pillar_terms(words))


def _pillar_terms(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Letter and pattern of each term that compares pillar."""
    for match in filter(None, map(_TERM.fullmatch, words)):
        if match["letter"] in ("I", "J"):
            yield match["letter"], match["pattern"]


def takes_long(
    target: Target, minions: int, *, nodegroups: Mapping[str, object] = NO_GROUPS
) -> bool:
    """Whether asking about so many minions may take more than a moment, for its expressions."""
    try:
        found = _regexes_in(target, nodegroups)
        steps = sum(compile_pattern(one).steps for one in found)
    except TargetError:
        return False  # and so it will be refused at once
    return steps > QUICK_STEPS or steps * minions > MOMENT_STEPS


# A fifth of a second, by what QUICK_STEPS are.
MOMENT_STEPS = 20_000_000


def _regexes_in(target: Target, nodegroups: Mapping[str, object]) -> list[str]:
    """The regular expressions in a target; of one that may be read in several ways, each."""
    kind = target.tgt_type
    if kind == "pcre":
        return [_require_text(target.tgt)]
    if kind in ("grain_pcre", "pillar_pcre"):
        return _possible_patterns(_require_text(target.tgt), target.delimiter)
    if kind == "nodegroup":
        words = _group_words(_require_text(target.tgt), nodegroups, ())
    elif kind in ("compound", "compound_pillar_exact"):
        words = list(_expand_nodegroups(_parse_words(target.tgt), nodegroups, ()))
    else:
        return []
    found: list[str] = []
    for match in filter(None, map(_TERM.fullmatch, words)):
        if match["plain"] == "E":
            found.append(match["pattern"])
        elif match["letter"] in ("P", "J"):
            found += _possible_patterns(match["pattern"], match["delimiter"] or ":")
    return found


def _possible_patterns(expression: str, delimiter: str) -> list[str]:
    if not delimiter:
        raise TargetError("the delimiter is empty")
    parts = expression.split(delimiter)[:_MAX_PARTS]
    found = [delimiter.join(parts[at:]).lower() for at in range(1, len(parts))]
    return [one for one in found if _is_regex(one)]


def _is_regex(text: str) -> bool:
    try:
        compile_pattern(text)
    except TargetError:
        return False
    return True


def expand_nodegroup(name: str, nodegroups: Mapping[str, object]) -> str:
    """A nodegroup as a compound expression, as ``salt -N`` publishes it.

    Raises:
        TargetError: there is no such group, or it contains itself.
    """
    return " ".join(_group_words(name, nodegroups, ()))


# --- kinds of targets ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Compiled:
    """What decides, and the ids that the expression names itself.

    ``doubt`` is what may be wrong with it if it means nobody.
    """

    matcher: Matcher
    listed: Sequence[str] = ()
    doubt: str = ""


def _compile_cached(target: Target, nodegroups: Mapping[str, object]) -> _Compiled:
    """What was compiled before, for targets that do not depend on nodegroups.

    A top file's targets are asked about each minion anew.
    """
    tgt = target.tgt
    # Nodegroups are not part of the key, and may change with the configuration.
    if not isinstance(tgt, str) or len(tgt) > _REMEMBERED_CHARS or "N@" in tgt:
        return _compile_target(target, nodegroups)
    if target.tgt_type == "nodegroup":
        return _compile_target(target, nodegroups)
    return _compile_without_groups(tgt, target.tgt_type, target.delimiter)


@lru_cache(maxsize=1024)
def _compile_without_groups(tgt: str, tgt_type: str, delimiter: str) -> _Compiled:
    return _compile_target(Target(tgt, tgt_type, delimiter), NO_GROUPS)


# Longer ones are mostly lists that programs make, each for one use.
_REMEMBERED_CHARS = 1000


def _compile_target(
    target: Target, nodegroups: Mapping[str, object], *, lenient: bool = False
) -> _Compiled:
    kind = target.tgt_type
    if kind == "list":
        ids = _parse_ids(target.tgt)
        return _Compiled(_one_of(ids), ids)
    if kind in ("compound", "compound_pillar_exact"):
        exact = kind == "compound_pillar_exact"
        return _compile_compound(_parse_words(target.tgt), nodegroups, exact=exact, lenient=lenient)
    tgt = _require_text(target.tgt)
    if kind == "nodegroup":
        words = _group_words(tgt, nodegroups, ())
        return _compile_compound(words, nodegroups, exact=False, lenient=lenient)
    if kind in _TERM_KINDS:
        return _Compiled(_TERM_KINDS[kind](tgt, target.delimiter))
    raise TargetError(f"no such kind of target: {kind!r:.80}")


def _require_text(tgt: str | Sequence[str]) -> str:
    if not isinstance(tgt, str):
        raise TargetError("the target is not text")
    return tgt


def _parse_ids(tgt: str | Sequence[str]) -> list[str]:
    ids = tgt.split(",") if isinstance(tgt, str) else tgt
    if not isinstance(ids, Sequence) or not all(isinstance(name, str) for name in ids):
        raise TargetError("the target is not a list of ids")
    return [name for name in ids if name]


def _parse_words(tgt: str | Sequence[str]) -> list[str]:
    words = tgt.split() if isinstance(tgt, str) else tgt
    if not isinstance(words, Sequence) or not all(isinstance(word, str) for word in words):
        raise TargetError("the target is not a compound expression")
    return list(words)


# --- single terms --------------------------------------------------------------------------------


def _match_glob(tgt: str, delimiter: str = "") -> Matcher:
    fits = _compile_glob(tgt)
    return lambda facts: bool(fits(facts.id))


def _match_pcre(tgt: str, delimiter: str = "") -> Matcher:
    fits = compile_pattern(tgt).match
    return lambda facts: fits(facts.id)


def _one_of(ids: Collection[str]) -> Matcher:
    known = frozenset(ids)
    return lambda facts: facts.id in known


def _match_grain(tgt: str, delimiter: str) -> Matcher:
    return _by_grains(_Search(tgt, delimiter, _compile_glob))


def _grain_pcre(tgt: str, delimiter: str) -> Matcher:
    return _by_grains(_regex_search(tgt, delimiter))


def _match_pillar(tgt: str, delimiter: str) -> Matcher:
    return _by_pillar(_Search(tgt, delimiter, _compile_glob))


def _pillar_pcre(tgt: str, delimiter: str) -> Matcher:
    return _by_pillar(_regex_search(tgt, delimiter))


def _pillar_exact(tgt: str, delimiter: str) -> Matcher:
    return _by_pillar(_Search(tgt, delimiter, _equal_to))


def _by_grains(search: _Search) -> Matcher:
    find = search.find
    return lambda facts: None if facts.grains is None else find(facts.grains)


def _by_pillar(search: _Search) -> Matcher:
    find = search.find
    return lambda facts: None if facts.pillar is None else find(facts.pillar)


def _match_ipcidr(tgt: str, delimiter: str = "") -> Matcher:
    import ipaddress  # few targets need it

    try:
        network = ipaddress.ip_network(tgt)
        plain = "/" not in tgt
    except ValueError as error:
        raise TargetError(f"not an address or network: {tgt!r:.80}") from error
    grain = f"ipv{network.version}"

    def inside(address: object) -> bool:
        try:
            return ipaddress.ip_address(str(address)) in network
        except ValueError:
            return False

    def decide(facts: MinionFacts) -> Answer:
        # Salt expects minions whose addresses it does not know, so they are not taken to have none.
        if facts.grains is None or facts.grains is NO_FACTS:
            return None
        addresses = facts.grains.get(grain)
        if isinstance(addresses, str):
            addresses = [addresses]
        if not isinstance(addresses, list | tuple):
            return False
        # A single address is only looked up, an address in a network has to be read.
        return tgt in addresses if plain else any(map(inside, addresses))

    return decide


_TERM_KINDS: Mapping[str, Callable[[str, str], Matcher]] = {
    "glob": _match_glob,
    "pcre": _match_pcre,
    "grain": _match_grain,
    "grain_pcre": _grain_pcre,
    "pillar": _match_pillar,
    "pillar_pcre": _pillar_pcre,
    "pillar_exact": _pillar_exact,
    "ipcidr": _match_ipcidr,
}

# --- texts against patterns ----------------------------------------------------------------------

TextTest = Callable[[str], object]
"""Truthy if the text fits."""

_MAGIC = regex(r"[*?\[]")


def _compile_glob(pattern: str) -> TextTest:
    if not _MAGIC.search(pattern):
        return pattern.__eq__
    return _glob_regex(pattern).match


def _equal_to(pattern: str) -> TextTest:
    return pattern.__eq__


def _matcher_of_regex(pattern: str) -> TextTest:
    return compile_pattern(pattern).match


def _glob_regex(pattern: str) -> re.Pattern[str]:
    """What a glob means; its stars never go back, so it is quick on any text."""
    if len(pattern) > MAX_PATTERN_CHARS:
        raise TargetError(f"pattern longer than {MAX_PATTERN_CHARS} characters")
    try:
        return re.compile(fnmatch.translate(pattern))
    except (re.error, RecursionError, OverflowError) as error:
        raise TargetError(f"not a glob: {pattern!r:.80}: {error}") from error


# --- nested data ---------------------------------------------------------------------------------

_MISSING = object()
_MANY_PARTS = 6
_MAX_PARTS = 64


def _regex_search(tgt: str, delimiter: str) -> _Search:
    """A search by regular expression, of which at least one way to read it must be well formed."""
    search = _Search(tgt, delimiter, _matcher_of_regex)
    search.demand_one_pattern()
    return search


class _Search:
    """``key:pattern`` in nested maps and lists: the sub-dict rule of docs/command-line.md#targets.

    Where the key ends and the pattern begins is not known: the longest key is tried first. All
    positions are indices into the parts between delimiters, so nothing is split twice.
    """

    def __init__(self, expression: str, delimiter: str, make: Callable[[str], TextTest]) -> None:
        if not delimiter:
            raise TargetError("the delimiter is empty")
        self._parts = expression.split(delimiter)
        self._count = len(self._parts)
        if self._count > _MAX_PARTS:
            raise TargetError(f"more than {_MAX_PARTS} parts: {expression!r:.80}")
        self._delimiter = delimiter
        self._make = make
        self._tests: dict[int, TextTest | None] = {}
        self._failed: set[tuple[int, int]] = set()

    def find(self, data: Mapping[str, object]) -> bool:
        """Whether the expression fits anywhere it may."""
        if self._count < 2:
            return False
        if self._count <= _MANY_PARTS:
            return self._find_anywhere(data)
        alone = copy.copy(self)  # what has failed is of this one look; others may be under way
        alone._failed = set()
        return alone._find_anywhere(data)

    def _find_anywhere(self, data: Mapping[str, object]) -> bool:
        if self._parts[0] == "*":
            return self._in_map(data, 0)
        return self._fits_below(data, 0)

    def demand_one_pattern(self) -> None:
        """Refuse an expression of which no reading is a pattern.

        Raises:
            TargetError: that is so.
        """
        if self._parts[-1] == "*":
            return
        if self._count > 1 and all(self._test_from(at) is None for at in range(1, self._count)):
            self._make(self._parts[-1].lower())

    def _test_from(self, at: int) -> TextTest | None:
        """The test for the pattern that begins at a part; ``None`` if that is no pattern."""
        if at not in self._tests:
            try:
                self._tests[at] = self._make(self._delimiter.join(self._parts[at:]).lower())
            except TargetError:
                self._tests[at] = None
        return self._tests[at]

    def _value_fits(self, value: object, at: int) -> bool:
        test = self._test_from(at)
        return test is not None and bool(test(str(value).lower()))

    def _fits_below(self, data: object, start: int) -> bool:
        """Whether the parts from ``start`` are a key in ``data`` and a pattern for its value."""
        for end in range(self._count - 1, start, -1):
            value = _value_at(data, self._parts[start:end])
            # An empty map is as good as none: a shorter key may still fit.
            if value is not _MISSING and value != {} and self._in_value(value, end):
                return True
        return False

    def _in_value(self, value: object, at: int) -> bool:
        if isinstance(value, Mapping):
            return self._in_map(value, at)
        if isinstance(value, list | tuple):
            return self._in_list(value, at)
        return self._value_fits(value, at)

    def _in_list(self, items: Sequence[object], at: int) -> bool:
        test = self._test_from(at)
        for item in items:
            if type(item) is str:  # most are, and a top file asks each minion about hundreds
                if test is not None and test(item.lower()):
                    return True
            elif (
                self._in_map(item, at) if isinstance(item, Mapping) else self._value_fits(item, at)
            ):
                return True
        return False

    def _in_map(self, data: Mapping[Any, Any], at: int) -> bool:
        """Whether the pattern is ``*``, one of the keys, or fits deeper; ``*:`` skips a level."""
        if self._count <= _MANY_PARTS:
            return self._search_map(data, at)
        place = (id(data), at)  # the same place can be reached by many readings
        if place in self._failed:
            return False
        found = self._search_map(data, at)
        if not found:
            self._failed.add(place)
        return found

    def _search_map(self, data: Mapping[Any, Any], at: int) -> bool:
        skips = self._parts[at] == "*" and at < self._count - 1
        at += skips
        if at == self._count - 1 and self._parts[at] == "*":
            return True
        if any(self._value_fits(key, at) for key in data) or self._fits_below(data, at):
            return True
        return skips and any(self._one_down(value, at) for value in data.values())

    def _one_down(self, value: object, at: int) -> bool:
        if isinstance(value, Mapping):
            return self._in_map(value, at)
        if isinstance(value, list | tuple):
            return any(self._value_fits(item, at) for item in value)
        return self._value_fits(value, at)


def _value_at(data: object, keys: Sequence[str]) -> Any:
    """The value below nested keys; in a list a key is looked up in its maps, else is an index."""
    for key in keys:
        if isinstance(data, dict) or isinstance(data, Mapping):  # noqa: SIM101 - the first is quick
            data = _item_of(data, key)
        elif isinstance(data, list | tuple):
            data = _list_item(data, key)
        else:
            return _MISSING
        if data is _MISSING:
            return _MISSING
    return data


def _item_of(data: Mapping[Any, Any], key: str) -> Any:
    value = data.get(key, _MISSING)
    if value is _MISSING and _is_index(key):
        return data.get(int(key), _MISSING)
    return value


def _list_item(data: Sequence[object], key: str) -> Any:
    for item in data:
        if isinstance(item, Mapping) and key in item:
            return item[key]
    if _is_index(key) and int(key) < len(data):
        return data[int(key)]
    return _MISSING


def _is_index(key: str) -> bool:
    return is_digits(key) and len(key) < 10


# --- compound expressions ------------------------------------------------------------------------

# A character before the ``@`` is the delimiter; only kinds with nested keys have one.
_TERM = regex(r"(?:(?P<letter>[GPIJ])(?P<delimiter>[^@])?|(?P<plain>[ELSNRD]))@(?P<pattern>.+)")

_OTHER_LETTER = regex(r"[A-Z]@.")

_LETTERS: Mapping[str, Callable[[str, str], Matcher]] = {
    "G": _match_grain,
    "P": _grain_pcre,
    "I": _match_pillar,
    "J": _pillar_pcre,
    "E": _match_pcre,
    "S": _match_ipcidr,
}
_EXACT_LETTERS = {**_LETTERS, "I": _pillar_exact, "J": _pillar_exact}

_BINDS = {"or": 1, "and": 2, "not": 3}
_SYNTAX = frozenset((*_BINDS, "(", ")"))


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of an expression in reverse Polish order: a term, or an operator on answers."""

    operator: str
    term: Matcher | None = None


def _compile_compound(
    words: Sequence[str], nodegroups: Mapping[str, object], *, exact: bool, lenient: bool
) -> _Compiled:
    parser = _CompoundParser(_LETTERS if not exact else _EXACT_LETTERS)
    for word in _expand_nodegroups(words, nodegroups, ()):
        parser.feed(word)
    steps = parser.finish(lenient=lenient)
    if len(steps) == 1 and steps[0].term is not None:
        return _Compiled(steps[0].term, parser.listed, parser.doubt)
    return _Compiled(lambda facts: _evaluate_steps(steps, facts), parser.listed, parser.doubt)


class _CompoundParser:
    """Words in, steps out (Dijkstra's shunting yard): no recursion, whatever is sent."""

    def __init__(self, letters: Mapping[str, Callable[[str, str], Matcher]]) -> None:
        self.listed: list[str] = []
        self.doubt = ""
        self._letters = letters
        self._steps: list[_Step] = []
        self._operators: list[str] = []
        self._last = ""  # the kind of the last word: "", "term", "(", ")", "and", "or", "not"

    def feed(self, word: str) -> None:
        """Take the next word.

        Raises:
            TargetError: it cannot stand where it stands.
        """
        if word == "not" and self._last in ("term", ")"):
            self.feed("and")  # `web* not db*`
        if word in ("and", "or"):
            self._require_after(word, ("term", ")"))
            self._reduce_operators(_BINDS[word])
            self._operators.append(word)
        elif word == "not":
            self._require_after(word, ("", "(", "and", "or"))
            self._operators.append(word)
        elif word == "(":
            self._require_after(word, ("", "(", "and", "or", "not"))
            self._operators.append(word)
        elif word == ")":
            self._close_parenthesis()
        else:
            self._require_after(word, ("", "(", "and", "or", "not"))
            self._steps.append(_Step("", self._compile_term(word)))
            word = "term"
        self._last = word

    def finish(self, *, lenient: bool) -> list[_Step]:
        """All steps. ``lenient`` closes parentheses that are open.

        Raises:
            TargetError: something is missing.
        """
        # Salt's master forgives this; its minions do not.
        while lenient and "(" in self._operators:
            self.feed(")")
        if self._last not in ("term", ")") or "(" in self._operators:
            raise TargetError("the compound target ends too early")
        self._reduce_operators(0)
        return self._steps

    def _require_after(self, word: str, after: Collection[str]) -> None:
        if self._last not in after:
            place = f"after {self._last!r}" if self._last else "at the start"
            raise TargetError(f"the compound target has {word!r:.80} {place}")

    def _close_parenthesis(self) -> None:
        if self._last == "(":  # Salt takes `( )` for a group of nobody
            self._steps.append(_Step("", _match_nobody))
        else:
            self._require_after(")", ("term", ")"))
        self._reduce_operators(0)
        if not self._operators:
            raise TargetError("the compound target closes a parenthesis that is not open")
        self._operators.pop()

    def _reduce_operators(self, binding: int) -> None:
        """Turn operators that bind at least so tightly into steps, up to an open parenthesis."""
        while self._operators and self._operators[-1] != "(":
            if _BINDS[self._operators[-1]] < binding:
                return
            self._steps.append(_Step(self._operators.pop()))

    def _compile_term(self, word: str) -> Matcher:
        match = _TERM.fullmatch(word)
        if match is None:
            if _OTHER_LETTER.match(word):  # and yet it may be an id
                self.doubt = f"{word[:2]} is no kind of target, so {word!r:.80} is taken for an id"
            return _match_glob(word)
        pattern = match["pattern"]
        letter = match["letter"] or match["plain"]
        if letter == "L":
            ids = _parse_ids(pattern)
            # Of ids that are excluded none is missing.
            if self._last != "not":
                self.listed.extend(ids)
            return _one_of(ids)
        # Letters of Salt's: as an id the term would mean nobody, without a word.
        if letter not in self._letters:
            raise TargetError(f"{letter}@ is not supported")
        return self._letters[letter](pattern, match["delimiter"] or ":")


def _match_nobody(facts: MinionFacts) -> Answer:
    return False


def _evaluate_steps(steps: Sequence[_Step], facts: MinionFacts) -> Answer:
    answers: list[Answer] = []
    for step in steps:
        if step.term is not None:
            answers.append(step.term(facts))
        elif step.operator == "not":
            answer = answers.pop()
            answers.append(None if answer is None else not answer)
        else:
            right, left = answers.pop(), answers.pop()
            answers.append(
                _combine_and(left, right) if step.operator == "and" else _combine_or(left, right)
            )
    return answers.pop()


def _combine_and(left: Answer, right: Answer) -> Answer:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _combine_or(left: Answer, right: Answer) -> Answer:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _expand_nodegroups(
    words: Iterable[str], nodegroups: Mapping[str, object], inside: tuple[str, ...]
) -> Iterator[str]:
    """The words, with ``N@group`` replaced by the group's own."""
    count = 0
    for word in words:
        more = [word]
        if word.startswith("N@") and len(word) > 2:
            more = _group_words(word[2:], nodegroups, inside)
        # Groups of groups may double at each level.
        count += len(more)
        if count > MAX_WORDS:
            raise TargetError(f"more than {MAX_WORDS} words once nodegroups are expanded")
        yield from more


def _is_id(word: str) -> bool:
    return word not in _SYNTAX and "@" not in word and not _MAGIC.search(word)


def _group_words(name: str, nodegroups: Mapping[str, Any], inside: tuple[str, ...]) -> list[str]:
    """A nodegroup's words; in parentheses if it has groups in it, else without. Salt does so.

    Words that are all ids are a list of them.
    """
    # By name and not by depth: a group may well stand in several others.
    if name in inside:
        raise TargetError(f"nodegroup contains itself: {' -> '.join([*inside, name])}")
    group = nodegroups.get(name)
    if group is None:
        raise TargetError(f"no such nodegroup: {name!r:.80}")
    own = _parse_words(group)
    if own and all(map(_is_id, own)):
        return [f"L@{','.join(own)}"]
    words = list(_expand_nodegroups(own, nodegroups, (*inside, name)))
    return ["(", *words, ")"] if any(word.startswith("N@") for word in own) else words
