"""External authentication: who says that a name and a password belong together, and its groups."""
