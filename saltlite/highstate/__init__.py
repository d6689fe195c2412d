"""States: from SLS files over high and low data to a run, and what a resource is.

Knows nothing of packages, files or services; those are in ``states`` and met by name.
"""
