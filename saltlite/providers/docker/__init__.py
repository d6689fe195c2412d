"""A Docker Engine: its API on a Unix socket, and what options of Salt are in its words."""
