"""saltlite: Salt's core on Salt's own wire, small and fast."""
