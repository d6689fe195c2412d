"""Wheel functions: keys, configuration and files of the master, changed from afar."""
