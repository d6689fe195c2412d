"""What ``file.*`` is made of: pure editing, finding and comparing, and the few that touch the disk.

The states about files build on the same functions. Nothing here is called by name from outside.
"""
