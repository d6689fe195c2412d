"""The master: one process per job to do, and the state on disk they share."""
