"""What recording scripts share: where the recorded data are, and modules of ``tests/support``.

A script finds this module beside itself; importing it lets the script import those of
``tests/support``, and our own code where that is not installed.
"""

import pathlib
import sys

RECORD = pathlib.Path(__file__).resolve().parent
DATA = RECORD.parent / "data"
TESTS = RECORD.parents[1]

sys.path[:0] = [str(TESTS.parent), str(TESTS / "support")]
