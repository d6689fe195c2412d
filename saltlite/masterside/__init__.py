"""Execution functions and states on the master itself: their context, and runs of them."""
