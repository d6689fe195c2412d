"""File systems: what is mounted, what is to be mounted at the start."""
