"""The types of what is on a machine, each with its way from there to a declaration."""
