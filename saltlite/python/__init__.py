"""What scripts of users work with: saltlite's own interface, and Salt's names in plain Python."""
