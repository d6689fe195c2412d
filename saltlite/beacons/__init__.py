"""Beacons: what a minion watches on its machine, and tells the master when it changes."""
