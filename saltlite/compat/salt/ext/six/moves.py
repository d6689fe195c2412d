"""``salt.ext.six.moves``: what has another name in Python 2, and the one it has in Python 3."""

from __future__ import annotations

import builtins
import collections.abc
import functools
import io
import itertools
import shlex
import urllib

__all__ = ["builtins", "urllib"]

range = xrange = builtins.range
map = builtins.map
zip = builtins.zip
filter = builtins.filter
input = builtins.input
reduce = functools.reduce
zip_longest = itertools.zip_longest
filterfalse = itertools.filterfalse
StringIO = cStringIO = io.StringIO
collections_abc = collections.abc
shlex_quote = shlex.quote
