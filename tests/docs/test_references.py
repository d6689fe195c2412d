"""Every reference in code and pages leads to a file of this repository, and a heading in it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = ("saltlite", "tests", "scripts", "docs", ".ci")
# ``docs/wire.md#files, #mine`` names two headings of one page.
REFERENCE = re.compile(r"(?<![\w/.-])(docs/[\w-]+\.md)((?:#[\w-]+)?(?:,?\s+(?:and\s+)?#[\w-]+)*)")
LINK = re.compile(r"\]\((?!https?:|#)([\w./-]+)(#[\w-]+)?\)")
WIDTH = 100
WRITTEN_BY_SCRIPTS = ("benchmarks", "cli.md", "config.md", "states-reference.md")
OWN_HEADING = re.compile(r"\]\((#[\w-]+)\)")
SOURCE_PATH = re.compile(r"(?<![\w/.-])(?:tests|scripts)/[\w./-]*\w\.(?:py|json|yaml|md)\b")
# A page by its name alone, or by a number, leads nowhere: ``protocol.md 9.7``.
DANGLING = re.compile(r"(?<![\w/.#-])[a-z][\w-]*\.md,? \d|Source: [a-z][\w-]*\.md\b")


@cache
def texts() -> dict[Path, str]:
    files = [*ROOT.glob("*.md")]
    for place in PLACES:
        files += (ROOT / place).rglob("*")
    return {path: path.read_text() for path in files if is_source(path)}


def is_source(path: Path) -> bool:
    if path.suffix not in (".py", ".md", "") or not path.is_file() or path.is_symlink():
        return False
    return "cases" not in path.parts or path.suffix == ".md"


@cache
def headings(page: Path) -> frozenset[str]:
    """The anchors of a page, made from its headings as GitHub makes them."""
    found: dict[str, int] = {}
    anchors = set()
    fenced = False
    for line in page.read_text().splitlines():
        fenced ^= line.startswith("```")
        title = re.fullmatch(r"#+ (.*)", line)
        if fenced or title is None:
            continue
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title[1]).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        number = found[anchor] = found.get(anchor, -1) + 1
        anchors.add(f"{anchor}-{number}" if number else anchor)
    return frozenset(anchors)


def is_there(page: Path, anchor: str) -> bool:
    return page.is_file() and (not anchor or anchor in headings(page))


def code() -> dict[Path, str]:
    return {path: text for path, text in texts().items() if path.suffix != ".md"}


def pages() -> dict[Path, str]:
    return {path: text for path, text in texts().items() if path.suffix == ".md"}


def test_references_of_code_lead_to_a_heading():
    lost = []
    seen = 0
    for path, text in code().items():
        for match in REFERENCE.finditer(text):
            page = ROOT / match[1]
            anchors = re.findall(r"#([\w-]+)", match[2]) or [""]
            seen += len(anchors)
            lost += [
                f"{path.relative_to(ROOT)}: {match[1]}#{anchor}"
                for anchor in anchors
                if not is_there(page, anchor)
            ]
    assert lost == []
    assert seen > 250


def test_links_of_pages_lead_to_a_heading():
    lost = []
    for path, text in pages().items():
        for target, anchor in LINK.findall(text):
            place = (path.parent / target).resolve()
            there = place.exists() if place.suffix != ".md" else is_there(place, anchor[1:])
            if not there:
                lost.append(f"{path.relative_to(ROOT)}: {target}{anchor}")
        lost += [
            f"{path.relative_to(ROOT)}: {anchor}"
            for anchor in OWN_HEADING.findall(text)
            if anchor[1:] not in headings(path)
        ]
    assert lost == []


def test_nothing_refers_to_a_page_by_a_number():
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path, text in texts().items()
        if path != Path(__file__)
        for match in DANGLING.finditer(text)
    ]
    assert found == []


def test_files_named_as_sources_are_there():
    lost = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path, text in texts().items()
        if path.is_relative_to(ROOT / "saltlite") or path.suffix == ".md"
        for match in SOURCE_PATH.finditer(text)
        if "NAME" not in match[0] and not (ROOT / match[0]).exists()
    }
    assert lost == set()


def test_prose_of_pages_is_wrapped():
    long = []
    for path, text in pages().items():
        if "cases" in path.parts or path.name.startswith(WRITTEN_BY_SCRIPTS):
            continue
        fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            fenced ^= line.lstrip().startswith("```")
            free = fenced or line.startswith(("|", "#", "![", "    ")) or "](" in line
            if len(line) > WIDTH and not free and " " in line.strip("-* `"):
                long.append(f"{path.relative_to(ROOT)}:{number}")
    assert long == []
