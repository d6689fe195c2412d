"""Volumes of lvm2: the output of its commands, and how they are called."""
