"""Engines: what runs beside a daemon all the time, each in a process of its own."""
