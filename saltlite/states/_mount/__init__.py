"""What the states of file systems declare: mounts, lines of the table, swap spaces."""
