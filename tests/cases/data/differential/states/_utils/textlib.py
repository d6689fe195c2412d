"""Texts."""

import re


def slug(text):
    """A text as part of an address."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
