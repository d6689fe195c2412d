"""Docstrings without the indentation of the source, and without loading ``inspect`` for it."""

from __future__ import annotations


def clean_docstring(text: str) -> str:
    """Return what ``inspect.cleandoc`` makes of a docstring.

    Lines after the first one lose the indentation that they have in common, the whole loses empty
    lines at both ends. ``inspect`` takes longer to load than most functions take.
    """
    # Tabs first: indentation is counted in columns.
    first, *others = text.expandtabs().split("\n")
    indents = [len(line) - len(line.lstrip()) for line in others if line.strip()]
    if indents:
        common = min(indents)
        others = [line[common:] for line in others]
    lines = [first.lstrip(), *others]
    while lines and not lines[-1]:
        lines.pop()
    begin = next((number for number, line in enumerate(lines) if line), 0)
    return "\n".join(lines[begin:])
