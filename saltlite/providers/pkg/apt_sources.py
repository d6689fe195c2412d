"""The files that say where apt gets packages: lines and deb822 stanzas, read and changed.

Pure: text in, text out. What is not changed keeps every byte. Source: sources.list(5); the keys of
:meth:`AptSource.as_map` observed on Salt 3006.30, which reads lines only (deb822 as Salt 3008.5
does).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from saltlite.core.dataclasses import dataclass, field, replace
from saltlite.core.lazyregex import regex

_TYPES = ("deb", "deb-src")
_OPTIONS = regex(r"\[([^\]]*)\]\s*")


@dataclass(frozen=True, slots=True)
class AptSource:
    """One source of packages. ``options`` are those in brackets, values as written.

    ``at`` is the number of its line in a ``.list`` file, or of its stanza in a ``.sources`` file.
    """

    kind: str
    uri: str
    dist: str
    components: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    disabled: bool = False
    comment: str = ""
    file: str = ""
    at: int = -1
    text: str = ""

    @property
    def architectures(self) -> list[str]:
        """The architectures it is limited to."""
        return [one for one in self.options.get("arch", "").split(",") if one]

    @property
    def key_file(self) -> str:
        """The key file that must have signed it, ``""`` for any of apt's."""
        return self.options.get("signed-by", "")

    def line(self) -> str:
        """The one-line form; whatever is in the fields, it is one line."""
        options = " ".join(f"{name}={value}" for name, value in self.options.items())
        words = [self.kind, f"[{options}]" if options else "", self.uri, self.dist]
        line = " ".join(word for word in (*words, *self.components) if word)
        comment = f" #{self.comment}" if self.comment else ""
        return " ".join(f"{'# ' if self.disabled else ''}{line}{comment}".split())

    def as_map(self) -> dict[str, Any]:
        """As ``pkg.list_repos`` shows it."""
        return {
            "file": self.file,
            "comps": list(self.components),
            "disabled": self.disabled,
            "dist": self.dist,
            "type": self.kind,
            "uri": self.uri,
            "line": self.text or self.line(),
            "architectures": self.architectures,
            "signedby": self.key_file,
        }

    def same_place(self, other: AptSource) -> bool:
        """Whether both are of one type, address and distribution."""
        ours = (self.kind, self.uri.rstrip("/"), self.dist)
        return ours == (other.kind, other.uri.rstrip("/"), other.dist)


def parse_line(line: str) -> AptSource | None:
    """One line, also one that is commented out; ``None`` if it is no source of packages."""
    text = line.strip()
    disabled = text.startswith("#")
    kind, _, rest = text.lstrip("# \t").partition(" ")
    if kind not in _TYPES:
        return None
    rest, _, comment = rest.strip().partition("#")
    bracket = _OPTIONS.match(rest)
    options = dict(_parse_pairs(bracket.group(1))) if bracket else {}
    words = (rest[bracket.end() :] if bracket else rest).split()
    if len(words) < 2 or ":" not in words[0]:
        return None
    return AptSource(
        kind=kind,
        uri=words[0],
        dist=words[1],
        components=tuple(words[2:]),
        options=options,
        disabled=disabled,
        comment=comment.strip() if comment.strip() else "",
        text=text,
    )


def _parse_pairs(text: str) -> Iterator[tuple[str, str]]:
    for word in text.split():
        name, equals, value = word.partition("=")
        if equals:
            yield name, value


def parse_list(text: str, path: str) -> list[AptSource]:
    """The sources of a ``.list`` file."""
    found = []
    for number, line in enumerate(text.splitlines()):
        entry = parse_line(line)
        if entry is not None:
            found.append(replace(entry, file=path, at=number))
    return found


def change_list(text: str, changed: Mapping[int, AptSource | None]) -> str:
    """A ``.list`` file with some lines replaced; ``None`` drops a line."""
    lines: list[str] = []
    for number, line in enumerate(text.splitlines()):
        if number not in changed:
            lines.append(line)
            continue
        entry = changed[number]
        if entry is not None:
            lines.append(entry.line())
    return "".join(f"{line}\n" for line in lines)


def merge_entries(found: Sequence[AptSource]) -> list[AptSource]:
    """Sources of one type, address and distribution as one, with the components of all.

    Those with other options, or that are switched off, stay apart.
    """
    places: dict[tuple[object, ...], AptSource] = {}
    for each in found:
        options = tuple(sorted(each.options.items()))
        place = (each.kind, each.uri.rstrip("/"), each.dist, options, each.disabled)
        known = places.get(place)
        components = (*(known.components if known else ()), *each.components)
        places[place] = replace(
            known or each, components=tuple(dict.fromkeys(components)), comment="", text=""
        )
    return list(places.values())


def append_to_list(text: str, entry: AptSource) -> str:
    """A ``.list`` file with one more line."""
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{end}{entry.line()}\n"


def parse_stanzas(text: str, path: str) -> list[AptSource]:
    """The sources of a ``.sources`` file: one for each type, address and suite of a stanza."""
    found: list[AptSource] = []
    for number, stanza in enumerate(_split_stanzas(text)):
        found += _stanza_entries(_parse_fields(stanza), path, number)
    return found


def _stanza_entries(fields: Mapping[str, str], path: str, number: int) -> list[AptSource]:
    options = {}
    if fields.get("architectures"):
        options["arch"] = ",".join(fields["architectures"].split())
    if fields.get("signed-by"):
        options["signed-by"] = fields["signed-by"].split("\n")[0]
    disabled = fields.get("enabled", "yes").lower() in ("no", "false", "off", "0", "without")
    return [
        AptSource(
            kind=kind,
            uri=uri,
            dist=dist,
            components=tuple(fields.get("components", "").split()),
            options=options,
            disabled=disabled,
            file=path,
            at=number,
        )
        for uri in fields.get("uris", "").split()
        for dist in fields.get("suites", "").split()
        for kind in fields.get("types", "").split()
    ]


def _split_stanzas(text: str) -> list[list[str]]:
    """The lines of each stanza, line ends included; blank lines are a stanza's last."""
    stanzas: list[list[str]] = []
    open_ = False
    for line in text.splitlines(keepends=True):
        if not line.strip():
            open_ = False
            if stanzas:
                stanzas[-1].append(line)
            continue
        if not open_:
            stanzas.append([])
            open_ = True
        stanzas[-1].append(line)
    return [stanza for stanza in stanzas if stanza]


def _parse_fields(stanza: Sequence[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    last = ""
    for line in stanza:
        if line.startswith("#") or not line.strip():
            continue
        if line[0].isspace():
            fields[last] = f"{fields.get(last, '')}\n{line.strip()}".lstrip("\n")
            continue
        name, _, value = line.partition(":")
        last = name.strip().lower()
        fields[last] = value.strip()
    return fields


def change_stanza(text: str, number: int, values: Mapping[str, str] | None) -> str:
    """A ``.sources`` file with fields of one stanza set; ``None`` drops the stanza.

    Field names are compared without regard to case; a new one is put at the stanza's end.
    """
    stanzas = _split_stanzas(text)
    if values is None:
        stanzas[number] = []
    else:
        stanzas[number] = _with_fields(stanzas[number], dict(values))
    return "".join(line for stanza in stanzas for line in stanza)


def _with_fields(stanza: Sequence[str], values: dict[str, str]) -> list[str]:
    kept: list[str] = []
    replacing = False
    for line in stanza:
        if replacing and line[:1].isspace() and line.strip():
            continue
        name = line.partition(":")[0].strip()
        given = next((key for key in values if key.lower() == name.lower()), None)
        replacing = given is not None and not line.startswith("#")
        kept.append(f"{name}: {values.pop(given)}\n" if given is not None and replacing else line)
    blank = [line for line in kept if not line.strip()]
    body = [line if line.endswith("\n") else f"{line}\n" for line in kept if line.strip()]
    return [*body, *(f"{name}: {value}\n" for name, value in values.items()), *blank]
