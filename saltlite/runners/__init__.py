"""Runners: functions that run on the master, for ``salt-run`` and for what asks like it."""
