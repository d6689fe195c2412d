"""What users' files get for ``import salt.…``: our own code under Salt's names.

Names, arguments and results are Salt's, as its documentation and its users' files show them. Only
what public trees of states import is here. Nothing in saltlite itself uses these modules.
"""

from __future__ import annotations

from collections.abc import Mapping

ANSWERS: Mapping[str, str] = {
    "salt.exceptions": "exceptions",
}
"""Salt's name of a module → ours in this package."""
