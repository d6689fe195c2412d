"""The minion: one process that forks, one that talks to the masters, and one for each job."""
