"""Asking minions to do something and collecting what they say."""
