"""What stands behind the states of Docker."""
