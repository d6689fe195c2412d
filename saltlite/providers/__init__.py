"""Back ends: one folder or file per kind; how this machine does what modules offer."""
