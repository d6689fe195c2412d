"""Pure logic: no socket, file, clock or environment. Time and chance come in as arguments."""
