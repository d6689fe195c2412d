"""docs/ as a site: every page is in it, and all links and headings that it names are there."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest
from repository import ROOT

BUILDER = runpy.run_path(str(ROOT / "scripts/build-site"))


def test_every_page_is_named_once() -> None:
    named = [
        page
        for part in BUILDER["navigation"]()
        for pages in part.values()
        for page in ([pages] if isinstance(pages, str) else pages)
    ]
    assert len(named) == len(set(named))
    assert set(named) >= {path.name for path in (ROOT / "docs").glob("*.md")}


def test_no_part_names_a_page_that_is_gone() -> None:
    named = {name for names in BUILDER["NAVIGATION"].values() for name in names}
    assert [name for name in named if not (ROOT / f"docs/{name}.md").exists()] == []


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("README.md", "docs/api.md", "api.md"),
        ("README.md", "docs/images/page-minions.png", "images/page-minions.png"),
        ("docs/states.md", "../README.md", "index.md"),
        ("docs/states.md", "../saltlite/errors.py", "source/saltlite/errors.py.txt"),
        ("docs/states.md", "pillar.md", "pillar.md"),
        ("docs/states.md", "../../etc/passwd", "../../etc/passwd"),
    ],
)
def test_links_lead_to_the_same_place(page: str, link: str, expected: str) -> None:
    assert BUILDER["target_on_site"](ROOT / page, link)[0] == expected


class Links(HTMLParser):
    """Addresses that a page names, and its anchors."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value and tag in ("a", "img", "link", "script"):
                self.targets.append(value)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mkdocs") is None, reason="mkdocs is not installed: saltlite[docs]")
def test_the_site_has_no_link_that_leads_nowhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/build-site"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    pages = {path: Links(path) for path in tmp_path.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 30
    lost = []
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"[a-z]+:|//", target):
                continue
            name, _, anchor = unquote(target).partition("#")
            place = (path.parent / name).resolve() if name else path
            ids = pages[place].anchors if place in pages else set()
            if not place.exists() or (anchor and place.suffix == ".html" and anchor not in ids):
                lost.append(f"{path.name}: {target}")
    assert lost == []


PICTURES = runpy.run_path(str(ROOT / "scripts/terminal_picture"))


def test_the_recording_is_what_the_picture_shows(tmp_path: Path) -> None:
    cast = ROOT / "docs/images/first-minutes.cast"
    PICTURES["render"](cast, tmp_path / "drawn.svg")
    drawn = (tmp_path / "drawn.svg").read_text()
    assert drawn == cast.with_suffix(".svg").read_text(), "run scripts/terminal_picture render"
    frames, _, _ = PICTURES["frames"](cast)
    seen = "\n".join("".join(cell[0] for cell in line) for _, lines in frames for line in lines)
    for command in PICTURES["COMMANDS"]:
        assert f"$ {command}" in seen
    assert "Welcome to web1." in seen
    assert "/tmp/" not in seen


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one\r\ntwo", ["one", "two"]),
        ("half\rtwo", ["twof"]),
        ("gone\r\x1b[Knew", ["new"]),
        ("\x1b]0;title\x07a\bb", ["b"]),
        ("12345678", ["12345", "678"]),
        ("a\r\nb\r\nc\r\nd", ["b", "c", "d"]),
        ("x\x1b[H\x1b[2Jy", ["y"]),
    ],
)
def test_the_screen_does_what_a_terminal_does(text: str, shown: list[str]) -> None:
    screen = PICTURES["Screen"](5, 3)
    screen.feed(text)
    assert ["".join(cell[0] for cell in line) for line in screen.shown()] == shown


def test_colours_are_kept_and_an_unknown_control_is_an_error() -> None:
    screen = PICTURES["Screen"](9, 3)
    screen.feed("\x1b[1;32mup\x1b[0m it")
    ((up, _, *_, it),) = screen.shown()
    assert (up[1].bold, up[1].colour) == (True, PICTURES["COLOURS"][32])
    assert it[1] == PICTURES["Look"]()
    with pytest.raises(ValueError, match="no such control"):
        screen.feed("\x1b[5L")
