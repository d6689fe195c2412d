"""Servers that keep jobs, returns and events: what is written, how, and what waits for it."""
