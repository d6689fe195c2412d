"""What the states of packages declare."""
