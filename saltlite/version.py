"""The version, and nothing that costs time to import."""

__version__ = "0.1.0"

SALT_COMPATIBLE = "3006.30"
"""The Salt release whose behaviour is matched; what ``test.version`` reports to Salt's tools."""
