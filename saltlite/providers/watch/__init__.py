"""What beacons look at: changes of files and directories, lines of logs, logins, certificates.

Each file reads one thing of the machine, or is pure; the beacons in ``saltlite/beacons`` make
events of it.
"""
