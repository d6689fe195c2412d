"""``doctor``: look at an installation, and name each cause with the command that mends it.

Nothing is changed, nothing is asked of a minion. Source: docs/doctor.md.
"""
