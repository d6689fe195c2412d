"""What the states of archives share."""
