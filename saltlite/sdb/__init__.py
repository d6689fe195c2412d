"""Databases of ``sdb://``: ``get(key, profile)``, and perhaps ``set_`` and ``delete``."""
