"""The commands: they parse, ask and print; nothing else prints or ends the process."""
