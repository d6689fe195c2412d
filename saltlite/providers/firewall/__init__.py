"""Packet filters: the words of rules, and the output of their programs."""
