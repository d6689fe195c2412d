"""Frames and addresses. Nothing here knows what a job is."""
